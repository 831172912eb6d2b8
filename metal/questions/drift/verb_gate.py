"""`metal.gate`: whether a judge may be used today, within margins that were declared beforehand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.api.options import StrPath, documented
from metal.data.files import read_toml
from metal.data.languages import language_name
from metal.data.missing import no_such
from metal.data.text import plural
from metal.errors import DataError, UsageError, check_known
from metal.questions.drift.compute import CHANGED, EXPECTED, PARTS, drift, judge_pairs
from metal.questions.drift.settings import Margins
from metal.questions.drift.verb_diff import judged

if TYPE_CHECKING:
    from metal.api.read import Ratings
    from metal.questions.drift.run import Gate
    from metal.questions.drift.verb_diff import Side

LEAST = 30  # anchors of a language


def _check_values(path: Path, entries: Mapping[str, Any]) -> None:
    """Raise DataError for a missing hash, or for a value that is not the number or list it
    must be.
    """
    for name in ("anchors_hash", "baseline_hash"):
        if not isinstance(entries.get(name), str) or not entries[name]:
            problem = (
                f"no {name}; without it, a change since the margins were declared cannot be noticed"
            )
            raise DataError(path, problem, "Write the gate with `metal.gate_init`")
    for name in ("repeats", "least", "streams"):
        if type(entries.get(name, 2)) is not int or entries.get(name, 2) < 1:
            raise DataError(path, f"{name} is {entries[name]!r}", "Write a whole number from 1 on")
    for name in ("judges", "criteria", "languages", "expected"):
        values = entries.get(name, [])
        if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
            raise DataError(path, f"{name} is {values!r}", f'Write a list, {name} = ["..."]')


@dataclass(frozen=True)
class Declared:
    """A gate.toml: what was declared before the judge was asked again. Paths are relative to the
    file's folder.

    anchors: a dataset that people rated, and its hash. baseline: the run of `metal.judge` on the
    anchors with which the judge is compared, and its hash. Both hashes are required. repeats: how
    many times the judge was asked for the baseline, at least. least: the smallest number of anchors
    per language. streams: how many streams a watch may have; 0 in files of earlier versions, which
    declared no number. expected: parts of the judge's signature that may change. passport: a file
    of `metal.passport` that has to allow the judges; it checks model, prompt, version that
    answered, tested cases and expiry.
    """

    baseline: Path
    anchors: Path
    anchors_hash: str = ""
    baseline_hash: str = ""
    judges: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    repeats: int = 2
    least: int = LEAST
    streams: int = 0
    expected: tuple[str, ...] = ()
    passport: Path | None = None
    margins: Margins = field(default_factory=Margins)

    @classmethod
    def read(cls, path: Path) -> Declared:
        """Read the declaration from a file. Raises UsageError or DataError if it cannot be used."""
        if not path.is_file():
            raise no_such(path, "file", " (make one with `metal.gate_init`)")
        entries = read_toml(path)
        margins = entries.pop("margins", None)
        for part, choices in (
            (entries, [each.name for each in fields(cls)]),
            (margins, [*vars(Margins())]),
        ):
            if not isinstance(part, Mapping):
                raise DataError(
                    path, "no table [margins]", "Write [margins] and, below it, agreement = 0.05"
                )
            check_known(f"setting of {path}", part, choices)
        for name in ("baseline", "anchors"):
            if not isinstance(entries.get(name), str):
                raise DataError(path, f"no {name}", f'Add a line such as {name} = "{name}"')
            entries[name] = Path(os.path.normpath(path.parent / entries[name]))
        if not isinstance(entries.get("passport", ""), str):
            raise DataError(
                path,
                f"passport is {entries['passport']!r}",
                'Write a path, passport = "passport.json"',
            )
        if entries.get("passport"):
            entries["passport"] = Path(os.path.normpath(path.parent / entries["passport"]))
        _check_values(path, entries)
        for name in ("judges", "criteria", "languages", "expected"):
            entries[name] = tuple(entries.get(name, ()))
        check_known("part of a judge", entries.get("expected", ()), PARTS)
        try:
            return cls(**entries, margins=Margins(**margins))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def before(self) -> Side:
        """The baseline's ratings of its anchors. Raises UsageError if the anchors are not the
        declared ones, or too few.
        """
        earlier = judged(self.baseline, self.anchors)
        for name, now in self.hashes(earlier).items():
            if (declared := getattr(self, name)) and declared != now:
                what = name.removesuffix("_hash")
                raise UsageError(
                    f"the {what} {getattr(self, what)} changed since the gate was written"
                    f" ({declared}, now {now}). Put it back, or write a new gate with"
                    " `metal.gate_init`"
                )
        return earlier

    @staticmethod
    def hashes(earlier: Side) -> dict[str, str]:
        """The hashes for a gate.toml: of the anchors with their texts, and of the baseline's
        ratings.
        """
        from metal.api.read import as_dataset
        from metal.runs.judges_run import texts_digest

        anchors = as_dataset(earlier.inputs.folder)
        return {
            "anchors_hash": f"{anchors.digest}-{texts_digest(anchors)}",
            "baseline_hash": earlier.dataset.digest,
        }


@documented
def gate(gate: StrPath, run: Ratings) -> Gate:
    """Compare the judges of `run` with the baseline of a gate.toml, within the margins declared
    there.

    The anchors are outputs that people rated. They were judged for the baseline and again for `run`
    (`metal judge`). In each language and criterion METAL checks that agreement with people and the
    mean score are within the margins (two one-sided tests), that coverage has not fallen by more
    than its margin, and that answers changed no more often than when the judge is merely asked
    again. It also checks that model, prompt, schema and parameters are the same. It only notes a
    provider's fingerprint: the anchors show whether that matters.

    The verdict is *equivalent* if every language passes (intersection-union), *worse* or
    *different* if a change is shown (Holm's correction over all checks), else *undecided*, with the
    number of outputs that would decide it.

    Args:
        gate: The file, from `metal.gate_init`.
        run: A run of `metal.judge` on the anchors.

    Returns:
        The tables `drift` and `signature`, the page, `verdict`, `exit_code` and `junit()`.

    Raises:
        UsageError: If the anchors or the baseline changed, a language was not judged again, or
            there are too few anchors.

    Example:
        result = metal.gate("gate.toml", "runs/anchors-today")
        raise SystemExit(result.exit_code)
    """
    from metal.api.read import folder_of
    from metal.auditing.settings import AuditSettings
    from metal.questions.drift.run import Gate
    from metal.runs.passport import ALONE, BESIDE, NEITHER, check, read_passport

    declared, folder = Declared.read(Path(gate)), folder_of(run)
    if folder.resolve() == declared.baseline.resolve():
        raise UsageError(f"{folder} is the baseline itself; pass a new run")
    before, now = declared.before(), judged(folder, declared.anchors)
    pairs = judge_pairs(now.judges, before.judges, declared.judges)
    settings = AuditSettings(criteria=declared.criteria, languages=declared.languages)
    drifted = drift(now.dataset, before.dataset, settings, declared.margins, pairs)
    check_whole(drifted.tables["drift"], before, pairs, declared)
    if declared.passport:
        issued, rows = read_passport(declared.passport), drifted.tables["drift"]
        for judge in pairs:
            cells = (
                rows[rows["judge"] == judge]
                .loc[:, ["language", "criterion"]]
                .itertuples(index=False, name=None)
            )
            check(
                issued, judge, now.dataset.raters[judge].about, cells, use=(ALONE, BESIDE, NEITHER)
            )
    signature = drifted.tables["signature"]
    meant = signature["part"].isin(declared.expected) & (signature["says"] == CHANGED)
    signature.loc[meant, "says"] = EXPECTED
    drifted = replace(drifted, warnings=(*now.warnings, *drifted.warnings))
    manifest = now.manifest("gate", before, declared.margins, pairs, {"gate": str(gate)})
    return Gate.of(drifted, now.dataset, manifest, pairs)


def check_whole(rows: Any, before: Side, pairs: Mapping[str, str], declared: Declared) -> None:
    """Raise UsageError if a cell of the baseline was not judged again, or has too few anchors or
    repeats.
    """
    ratings = before.dataset.ratings
    wanted = ratings[ratings["rater"].isin(list(pairs.values()))]
    for name, chosen in (("criterion", declared.criteria), ("language", declared.languages)):
        wanted = wanted[wanted[name].isin(list(chosen))] if chosen else wanted
    answered = set(zip(rows["before"], rows["criterion"], rows["language"], strict=True))
    keys = wanted.loc[:, ["rater", "criterion", "language"]].astype(str).drop_duplicates()
    for rater, criterion, language in keys.itertuples(index=False):
        if (rater, criterion, language) not in answered:
            case = f"{before.dataset.called(criterion)} in {language_name(language)}"
            raise UsageError(
                f"{case} was judged by {rater} for the baseline but not now; judge all anchors"
                " again"
            )
    for row in rows.to_dict("records"):
        case = f"{before.dataset.called(row['criterion'])} in {language_name(row['language'])}"
        if row["outputs"] < declared.least:
            raise UsageError(
                f"{case}: {plural(row['outputs'], 'anchor')} with people's label and an answer"
                f" both times, {declared.least} needed; have people rate more, or lower least ="
                f" {declared.least} in the gate's file"
            )
        if row["repeats"] + 1 < declared.repeats:
            raise UsageError(
                f"{row['before']} was asked {plural(row['repeats'] + 1, 'time')} for the baseline,"
                f" {declared.repeats} needed to know how often it changes by itself; make the"
                " baseline with `metal.judge(repeat=2)`"
            )
