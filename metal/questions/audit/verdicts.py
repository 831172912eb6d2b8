"""Every verdict of an audit as shown to readers: its word, its sign, the share that the judge
keeps, and the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from operator import itemgetter
from typing import TypeAlias

from metal.auditing.scores import ONCE, RECALIBRATED
from metal.auditing.standing import MIN_ITEMS, MIN_SOURCES, NOTHING, THIN
from metal.auditing.verdict import (
    AS_GOOD,
    AS_GOOD_ONCE,
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
    UNSURE,
)
from metal.data.languages import UNNAMED, language_name
from metal.data.records import Criterion
from metal.data.text import (
    UNDEFINED,
    capital,
    estimate,
    known,
    percent,
    plural,
    rounded,
    signed,
    with_minus,
    within,
)
from metal.questions.audit.confirmed import beside_words
from metal.questions.audit.run import AuditRun
from metal.runs.columns import Row

AGREEMENT = "Agreement with these people, not truth: what they all get wrong counts as right."

# Sign and word of a verdict, which say it without the colour; the word is also the class in the
# style sheet.
SIGNS = {
    LIKE_A_PERSON: ("●", "good"),
    AS_GOOD: ("●", "good"),
    INFORMATIVE: ("◐", "some"),
    UNINFORMATIVE: ("○", "none"),
    DISAGREE: ("≠", "split"),
    UNDECIDED: ("…", "open"),
}


# As it is said where there is room: the six words of a verdict, by sign.
WORDS = {
    "good": "Like a person",
    "once": "Like one once recalibrated",
    "some": "Informative",
    "none": "Uninformative",
    "split": "People disagree",
    "open": "Undecided",
}
# of runs before version 0.2
OLD_WORDS = {"good": "As good as a person", "once": "As good once recalibrated"}
UNCERTAIN = "too uncertain"
# in a cell whose judge is shown to miss the bad outputs, or not shown to find them
MISSES_BAD, MAY_MISS_BAD = "misses bad", "may miss bad"
AGREES_LESS = "agrees less"  # of an informative judge that is shown to agree less than people do
KEY = ["judge", "criterion", "language"]
PLACE = itemgetter(*KEY)  # of a verdict's row
Place: TypeAlias = tuple[str, str, str]
# where a constant answer and a person stand on the line of a cell, 100 wide: it ends at 134%
LINE = 6.0, 76.0


@dataclass(frozen=True)
class VerdictCell:
    """A verdict on a judge in a language on a criterion.

    style: its look, a key of WORDS. kept: the text below the word. short: a shorter form of `kept`
    for narrow columns, which does not repeat the verdict. figure: the form with the number of
    items. bar: the interval and the mark on a cell's line, as SVG paths; None if the share kept is
    unknown. reason: the reason as a whole sentence. place: the anchor of the verdict on the page.
    lines: what other runs say about this case.
    """

    row: Row
    style: str
    kept: str
    short: str
    figure: str
    bar: tuple[str, str] | None
    reason: str
    place: str
    lines: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        """A sign that tells verdicts apart without colour."""
        return SIGNS[self.row["verdict"]][0]

    @property
    def words(self) -> str:
        """The verdict in full, as its run words it."""
        old = self.row["verdict"] == AS_GOOD or AS_GOOD_ONCE in self.row["reason"]
        return OLD_WORDS[self.style] if old and self.style in OLD_WORDS else WORDS[self.style]

    @property
    def agrees_less(self) -> bool:
        """Whether an informative judge is shown to agree with people less than they do."""
        return self.style == "some" and bool(self.row.get("not_like"))

    @property
    def misses_bad(self) -> bool:
        """Whether the judge is shown to find less than half as many bad outputs as a person."""
        return bool(self.row.get("misses_bad"))

    @property
    def bad_open(self) -> bool:
        """Whether it is open if the judge finds half as many bad outputs as a person."""
        return bool(self.row.get("bad_open"))

    @property
    def share_kept(self) -> str:
        """The share by which judges are sorted (`merit`); empty if unknown."""
        unknown, share = merit(self.row)
        return "" if unknown else f"{-share:.2f}"

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return SIGNS[self.row["verdict"]][1]


@dataclass(frozen=True)
class JudgeVerdicts:
    """The verdicts on a judge.

    cells: criteria in rows, languages in columns; None if there is no verdict.
    """

    judge: str
    kind: str
    cells: tuple[tuple[VerdictCell | None, ...], ...]

    @property
    def verdicts(self) -> list[VerdictCell]:
        """The cells that have a verdict."""
        return list(filter(None, chain.from_iterable(self.cells)))

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """The style and words of each verdict that the judge got, and how often, best first."""
        titles = {cell.style: cell.words for cell in self.verdicts}
        styles = Counter(cell.style for cell in self.verdicts)
        return [(style, titles[style], styles[style]) for style in WORDS if styles[style]]


def judged_criteria(run: AuditRun) -> list[Criterion]:
    """The criteria that have verdicts."""
    have = set(run.tables["verdicts"]["criterion"])
    return [criterion for criterion in run.criteria.values() if criterion.name in have]


def by_judge(run: AuditRun) -> list[JudgeVerdicts]:
    """The verdicts grouped by judge, in the order of the audit; empty without judges."""
    rows = {PLACE(row): row for row in run.records("verdicts")}
    lines, first = _beside(run)
    criteria, languages = [criterion.name for criterion in judged_criteria(run)], run.languages
    cells = {}
    for numbered in product(
        *(enumerate(axis, 1) for axis in (run.judge_names, criteria, languages))
    ):
        numbers, key = zip(*numbered, strict=True)
        if key in rows:
            anchor = "-".join(["why", *map(str, numbers)])
            cells[key] = _cell(run, rows[key], anchor, lines.get(key, ()), first.get(key))
    kinds = {judge: run.raters[judge].kind for judge in run.judge_names if judge in run.raters}
    return [
        JudgeVerdicts(
            judge,
            kinds.get(judge, ""),
            tuple(
                tuple(cells.get((judge, criterion, language)) for language in languages)
                for criterion in criteria
            ),
        )
        for judge in run.judge_names
    ]


def verdict_of(run: AuditRun, judge: str, criterion: str, language: str) -> VerdictCell | None:
    """One verdict, without its anchor; None if there is no such verdict."""
    at = judge, criterion, language
    for row in run.records("verdicts", judge=judge, criterion=criterion, language=language):
        lines, first = _beside(run)
        return _cell(run, row, "", lines.get(at, ()), first.get(at))
    return None


def _beside(run: AuditRun) -> tuple[dict[Place, list[str]], dict[Place, float]]:
    """What other runs say about each case and, for judges of pairs, how often each chose the output
    shown first.
    """
    lines: dict[Place, list[str]] = {}
    for remark in run.lines:
        lines.setdefault(PLACE(remark), []).append(f"{remark['question']}: {remark['line']}")
    pairs = run.records("pairs") if "pairs" in run.tables else ()
    return lines, {PLACE(row): row["first_place"] for row in pairs}


def standing(of: JudgeVerdicts) -> tuple[float, ...]:
    """A sort key for judges: baselines last, then the number of good verdicts, then `merit`."""
    counts = Counter(cell.style for cell in of.verdicts)
    merits = [merit(cell.row) for cell in of.verdicts]
    unknown = min((each for each, _ in merits), default=True)
    best = [value for each, value in merits if each == unknown] or [0.0]
    good = (-counts[style] for style in ("good", "once", "some"))
    return of.kind == "baseline", *good, unknown, sum(best) / len(best)


def once(row: Row) -> bool:
    """Whether the judge is like a person only once its scores are recalibrated."""
    return ONCE in row["reason"] or AS_GOOD_ONCE in row["reason"]


def merit(row: Row, end: str = "") -> tuple[bool, float]:
    """A sort key for judges, lower for better: by the share kept of a person's kappa or, if
    unknown, by how far the judge is above a constant.

    end: `_low` or `_high` to sort by that end of the interval. In runs before version 0.2 the share
    of exact answers is used.
    """
    share, above = row.get(f"kappa_kept{end}", row[f"share_kept{end}"]), row[f"above_constant{end}"]
    if known(share):
        return False, -share
    return True, -above if known(above) else 0.0


def kept_of_person(row: Row, form: Callable[[Row, str], str]) -> str:
    """The shares that the judge keeps, each in words: of exact answers and, on ordered scales, of
    the order.

    form: formats a column of the row. The result is empty if neither share is known.
    """
    exact = form(row, "share_kept") if known(row["share_kept"]) else ""
    if not known(row.get("order_kept")):
        return f"keeps {exact}" if exact else ""
    order = f"order {form(row, 'order_kept')}"
    return f"exact {exact}, {order}" if exact else order


def shortly_kept(row: Row, form: Callable[[str], str]) -> str:
    """The share kept, such as `72% [55%, 90%]`, and on a second line that of the order,
    `order 91% [79%, 105%]`.

    form: formats a column of the row.
    """
    exact = form("share_kept") if known(row["share_kept"]) else ""
    order = f"order {form('order_kept')}" if known(row.get("order_kept")) else ""
    return "\n".join(filter(None, [exact, order]))


def with_limits(row: Row, column: str) -> str:
    """A figure with its limits, such as `72% [55%, 90%]`; an arrow stands for a limit that does not
    exist.
    """
    return estimate(row, column, percent)


def _cell(
    run: AuditRun, row: Row, anchor: str, lines: Iterable[str], first: float | None
) -> VerdictCell:
    """The cell of a verdict.

    first: for a judge of pairs, how often it chose the output shown first.
    """
    of_case = [within(row["judge"]), run.criteria[row["criterion"]].title]
    case = ", ".join(
        [*of_case, *(language_name(code) for code in [row["language"]] if code != UNNAMED)]
    )
    reason = " ".join(
        [
            f"{case}: {row['verdict']}. {sentence(row['reason'])}",
            *map(sentence, beside_words(run, row)),
        ]
    )
    style = "once" if once(row) else SIGNS[row["verdict"]][1]
    items = plural(int(row["items"]), "item")
    first_place = f"first place {percent(first)}" if known(first) else ""
    keeps, short = (" · ".join(filter(None, (note, first_place))) for note in _kept(row))
    parts = [items, keeps] if row["verdict"] in (DISAGREE, UNDECIDED) else [keeps, items]
    parts += [AGREES_LESS] * (style == "some" and bool(row.get("not_like")))
    parts += [MISSES_BAD] * bool(row.get("misses_bad")) + [MAY_MISS_BAD] * bool(row.get("bad_open"))
    elsewhere = tuple(map(sentence, lines))
    return VerdictCell(
        row,
        style,
        keeps,
        short,
        " · ".join(filter(None, parts)),
        _bar(row),
        reason,
        anchor,
        elsewhere,
    )


def _kept(row: Row) -> tuple[str, str]:
    """The share that the judge keeps, else its distance from a constant, else what is missing; each
    also in a short form.
    """
    if row["verdict"] == UNDECIDED:
        missing = _missing(row)
        return missing, "" if known(row["items_needed"]) or missing == UNCERTAIN else missing
    if row["verdict"] == DISAGREE or not known(row["above_constant"]):
        return "", ""
    if row["verdict"] == INFORMATIVE and not once(row) and RECALIBRATED in row["reason"]:
        return "only once recalibrated", "only once recalibrated"
    kept = kept_of_person(row, lambda row, column: percent(row[column]))
    if kept and not row["share_kept"] < 0:
        return kept, shortly_kept(row, partial(with_limits, row))
    return _beside_constant(row)


def _beside_constant(row: Row) -> tuple[str, str]:
    """For a judge without a share kept: how it compares with a constant, also in a short form."""
    if not known(row["share_kept"]) and row["above_constant"] > 0:
        above = signed(row["above_constant"])
        better = f"{above} better than a constant"
        short = f"{estimate(row, 'above_constant', signed)} better than a constant"
        if row["verdict"] == INFORMATIVE and not row["above_constant_low"] > 0:
            return "by its order alone", ""
        return ("no better than a constant", "") if above == "0.00" else (better, short)
    if known(row["above_constant_high"]) and not row["above_constant_high"] < 0:
        return "no better than a constant", ""
    below = "given as worse than a constant"
    return (below, below) if once(row) else ("worse than a constant", "")


def _missing(row: Row) -> str:
    """What an undecided verdict lacks, in a few words; the verdict's reason has the details."""
    lacks = {
        f"about {rounded(row['items_needed'])} needed": known(row["items_needed"]),
        NOTHING: NOTHING in row["reason"],
        "none rated by both": not row["items"],
        "too few": row["items"] < MIN_ITEMS,
        "too few sources": row["sources"] < MIN_SOURCES,
        "too few of each answer": THIN in row["reason"],
        "people may disagree": UNSURE in row["reason"],
    }
    return next((lack for lack, holds in lacks.items() if holds), UNCERTAIN)


def _bar(row: Row) -> tuple[str, str] | None:
    """The interval of the share kept and its mark, as SVG paths.

    An interval without an end is drawn to the end of the line. A mark beyond the line becomes an
    arrow.
    """
    if not known(row["share_kept"]):
        return None
    left, right = LINE
    ends = {"share_kept_low": -math.inf, "share_kept": 0.0, "share_kept_high": math.inf}
    shares = (row[end] if known(row[end]) else unknown for end, unknown in ends.items())
    low, value, high = (left + (right - left) * share for share in shares)
    mark = f"M{value:.1f} 0v12"
    if value > 100:
        mark = "M96 1l4 5l-4 5"  # an arrow at the right end
    elif value < 0:
        mark = "M4 1l-4 5l4 5"
    return f"M{min(max(low, 0.0), 100.0):.1f} 6H{min(high, 100.0):.1f}", mark


def sentence(clause: str) -> str:
    """Turn a clause into a sentence: with a capital letter, a full stop, and minus signs before
    negative numbers.
    """
    return with_minus(capital(clause)) + "." if clause else UNDEFINED
