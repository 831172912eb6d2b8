"""The first thing to look at: every verdict, judges by languages, a matrix a criterion."""

from __future__ import annotations

import re
from dataclasses import dataclass

from metal.auditing.verdict import NOT_BETTER, TOO_FEW, USABLE, VERDICTS, WITH_CARE
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import MINUS, UNDEFINED, name, within
from metal.runs.audit_run import AuditRun

# Sign, word and style of a verdict: shape and word say it without the colour.
SIGNS = {
    USABLE: ("●", "usable", "usable"),
    WITH_CARE: ("◐", "care", "care"),
    NOT_BETTER: ("○", "no", "no"),
    TOO_FEW: ("…", "few", "few"),
}


@dataclass(frozen=True)
class VerdictCell:
    """A verdict as a button. reason: the whole sentence shown on click or focus; place: its anchor on the page."""

    sign: str
    word: str
    style: str
    reason: str
    place: str


@dataclass(frozen=True)
class Matrix:
    """The verdicts on one criterion: judges in rows, languages in columns; None where there is none."""

    criterion: Criterion
    languages: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str, tuple[VerdictCell | None, ...]], ...]


def legend() -> list[tuple[str, str, str, str]]:
    """Sign, word, style and meaning of each verdict, best first."""
    return [(*SIGNS[verdict], verdict) for verdict in VERDICTS]


def matrices(run: AuditRun) -> list[Matrix]:
    """One matrix of verdicts, judges by languages, per criterion; none without judges."""
    shown: list[Matrix] = []
    for criterion in run.audited:
        records = run.records("verdicts", criterion=criterion.name)
        by = {(row["judge"], row["language"]): row for row in records}
        rows: list[tuple[str, str, tuple[VerdictCell | None, ...]]] = []
        for judge in dict.fromkeys(row["judge"] for row in records):
            cells: list[VerdictCell | None] = []
            for language in run.languages:
                row = by.get((judge, language))
                if row is None:
                    cells.append(None)
                    continue
                where = f"{within(judge)}, {criterion.label or criterion.name}, {language_name(language)}"
                reason = f"{where}: {row['verdict']}. {sentence(row['reason'])}"
                place = f"why-{len(shown) + 1}-{len(rows) + 1}-{len(cells) + 1}"
                cells.append(VerdictCell(*SIGNS[row["verdict"]], reason, place))
            kind = run.raters[judge].kind if judge in run.raters else ""
            rows.append((name(judge), kind, tuple(cells)))
        if rows:
            languages = tuple((code, language_name(code)) for code in run.languages)
            shown.append(Matrix(criterion, languages, tuple(rows)))
    return shown


def sentence(words: str) -> str:
    """With a capital, a full stop, and minus signs before numbers as everywhere on the page."""
    return re.sub(r"(?<!\w)-(?=\d)", MINUS, words[:1].upper() + words[1:]) + "." if words else UNDEFINED
