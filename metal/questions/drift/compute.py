"""Whether judges have changed: a row for each judge, criterion and language, with figures before
and after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.people import people_in
from metal.data.ratings import NOT_ASKED
from metal.data.records import NOT_TOLD, Rater
from metal.data.text import coverage, estimate, first_few, percent, percent_change, signed
from metal.errors import UsageError, check_known
from metal.questions.drift.settings import Margins
from metal.stats.drift import PairedDifference, paired_difference
from metal.stats.interval import Bounds
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import holm

EQUIVALENT, WORSE, BETTER, DIFFERENT, UNDECIDED = (
    "equivalent",
    "worse",
    "better",
    "different",
    "undecided",
)
SAME, CHANGED, EXPECTED, NOTED = "same", "changed", "expected", "noted"
CHECKS = ("difference", "mean_change", "coverage_change", "excess_flips")
DRIFT = (
    *("language", "criterion", "judge", "before", "says", "by", "why", "outputs", "sources"),
    *(
        "agreement_before",
        "agreement_after",
        "mean_before",
        "mean_after",
        "coverage_before",
        "coverage_after",
    ),
    *(f"{name}{end}" for name in CHECKS for end in ("", "_low", "_high", "_p_adjusted")),
    *("flips", "floor", "repeats", "needed", "undefined"),
)
SIGNATURE = ("judge", "before_judge", "part", "before", "after", "says")
PARTS = ("model", "prompt", "schema", "parameters", "fingerprint")


def judge_pairs(
    now: Sequence[str], earlier: Sequence[str], wanted: Sequence[str] = ()
) -> dict[str, str]:
    """{judge: its judge in the baseline}: the one of the same name, or the only judge of each run.

    wanted: NAME or NAME=NAME_BEFORE. Raises UnknownName, and UsageError if no two judges belong
    together.
    """
    pairs = dict(_named_pair(text, now, earlier) for text in wanted)
    check_known("judge", pairs, now)
    check_known("judge of the baseline", pairs.values(), earlier)
    if pairs:
        return pairs
    shared = [name for name in now if name in earlier]
    if shared:
        return {name: name for name in shared}
    if len(now) == len(earlier) == 1:
        return {now[0]: earlier[0]}
    if not now or not earlier:
        raise UsageError(
            f"no judge in the {'baseline' if now else 'run'}; give runs of `metal.judge`, or their"
            " audits"
        )
    raise UsageError(
        f"no judge is in both: {first_few(now)} now, {first_few(earlier)} before; say which belong"
        " together with "
        f'`judges="{now[0]}={earlier[0]}"`'
    )


def _named_pair(text: str, now: Sequence[str], earlier: Sequence[str]) -> tuple[str, str]:
    """Split NAME=NAME_BEFORE into a pair; a name may itself contain =, as in
    fake:blind?language=hi.
    """
    if text in now:
        return text, text
    splits = [
        (text[:index], text[index + 1 :]) for index, letter in enumerate(text) if letter == "="
    ]
    return max(
        splits, key=lambda pair: (pair[0] in now) + (pair[1] in earlier), default=(text, text)
    )


def drift(
    after: Dataset,
    before: Dataset,
    settings: AuditSettings,
    margins: Margins,
    pairs: Mapping[str, str],
) -> Analysed:
    """Compare each judge with its baseline, on the outputs that were judged both times, using the
    people of `after`.

    pairs: as returned by `judge_pairs`. The repeated answers of a baseline judge show how often
    answers change by themselves. Holm's correction is over all checks of all rows. Returns the
    tables `drift` and `signature`. Raises UsageError if no output was judged both times.
    """
    rows, differences = [], []
    for compared in comparisons(after, before, settings, pairs):
        rows.append(compared.row())
        differences.append(compared.differences())
    if not rows:
        raise UsageError(
            "no output was judged both times; both runs must be about the same outputs"
        )
    raw = np.array(
        [[each[name].p if name in each else math.nan for name in CHECKS] for each in differences]
    )
    adjusted = holm(raw.ravel()).reshape(raw.shape)
    for row, each, p_values in zip(rows, differences, adjusted, strict=True):
        _decide(row, each, dict(zip(CHECKS, map(float, p_values), strict=True)), margins)
    warnings = [
        (
            f"{after.called(criterion)} in {language_name(language)} was judged by {old} but not"
            " again now"
        )
        for criterion, language, old in _not_again(rows, before, settings, pairs)
    ]
    tables = {
        "drift": pd.DataFrame(rows, columns=list(DRIFT)),
        "signature": pd.DataFrame(
            [
                row
                for judge, old in pairs.items()
                for row in _signature(after.raters[judge], before.raters[old], after.called)
            ],
            columns=list(SIGNATURE),
        ),
    }
    return Analysed(tables, (*warnings, *_people_changed(after, before)))


def comparisons(
    after: Dataset, before: Dataset, settings: AuditSettings, pairs: Mapping[str, str]
) -> Iterator[Compared]:
    """Each judge with its baseline, in each cell in which an output was judged both times."""
    repeats = {name: rater.about.get("repeats") for name, rater in before.raters.items()}
    repeats_of = {
        judge: tuple(name for name in repeats if repeats[name] == judge) for judge in pairs.values()
    }
    asked = (*pairs.values(), *(name for names in repeats_of.values() for name in names))
    earlier = {
        (cell.criterion.name, cell.language): cell
        for cell in cells(before, replace(settings, judges=asked), continuous=True)
    }
    for cell in cells(after, replace(settings, judges=tuple(pairs)), continuous=True):
        old_cell = earlier.get((cell.criterion.name, cell.language))
        if not old_cell:
            continue
        for judge in cell.judges:
            old = pairs[judge]
            if old in old_cell.judges:
                compared = Compared.of(cell, old_cell, judge, old, repeats_of[old])
                if compared.asked:
                    yield compared


def _not_again(
    rows: Sequence[Mapping[str, Any]],
    before: Dataset,
    settings: AuditSettings,
    pairs: Mapping[str, str],
) -> Iterator[tuple[str, str, str]]:
    """The (criterion, language, judge) of the baseline that have no row, because the judge was not
    asked again.
    """
    asked = before.ratings.loc[:, ["criterion", "language", "rater"]].astype(str).drop_duplicates()
    missing = set(asked.itertuples(index=False, name=None))
    missing -= {(row["criterion"], row["language"], row["before"]) for row in rows}
    for criterion in settings.criteria or before.criteria:
        for language in settings.languages or before.languages:
            for old in pairs.values():
                if (criterion, language, old) in missing:
                    yield criterion, language, old


def _people_changed(after: Dataset, before: Dataset) -> Iterator[str]:
    """A warning if people's ratings of the same outputs have changed since the baseline."""
    key, parts = ["output", "criterion", "rater"], []
    for dataset in (after, before):
        people = set(people_in(dataset.raters))
        rows = dataset.ratings[dataset.ratings["rater"].isin(people)]
        parts.append(
            rows.loc[:, [*key, "score"]].astype(dict.fromkeys(key, str)).set_index(key)["score"]
        )
    both = pd.concat(parts, axis=1, join="inner").to_numpy()
    changed = int((~((both[:, 0] == both[:, 1]) | np.isnan(both).all(axis=1))).sum())
    if changed or len(both) < len(parts[1]):
        gone = len(parts[1]) - len(both)
        yield (
            f"people's ratings changed ({changed:,} scores, {gone:,} gone); the current ones are"
            " used"
        )


def _signature(
    after: Rater, before: Rater, called: Callable[[str], str]
) -> Iterator[dict[str, Any]]:
    """A row for each part of the judge's identity (model, prompt, ...), with its value before and
    after; blank if not recorded.

    called: returns a criterion's title.
    """
    signatures = (identity_parts(before.about, called), identity_parts(after.about, called))
    for part, old, new in zip(PARTS, *signatures, strict=True):
        changed = NOTED if part == "fingerprint" else CHANGED
        says = SAME if old == new else changed
        yield {
            "judge": after.rater,
            "before_judge": before.rater,
            "part": part,
            "before": old,
            "after": new,
            "says": says,
        }


def identity_parts(identity: Mapping[str, Any], called: Callable[[str], str]) -> tuple[str, ...]:
    """The parts of a judge's identity in the order of PARTS; if a part has several values, they are
    separated by commas.
    """
    parameters = identity.get("parameters") or {}
    sent = {key: value for key, value in identity.get("sent", {}).items() if key not in parameters}
    hashes = sorted(identity.get("prompt_hash", {}).items())
    parts: tuple[Iterable[Any], ...] = (
        (identity.get("asked") or identity.get("model", ""), identity.get("base_url", "")),
        (identity.get("prompt", ""), *(f"{called(key)} {value}" for key, value in hashes)),
        (sent.pop("structured", identity.get("structured", "")), *_listed(sent)),
        ["none set"] if identity.get("parameters") == {} else _listed(parameters),
        sorted({*identity.get("versions", {})} - {NOT_TOLD}),
    )
    return tuple(", ".join(filter(None, map(str, part))) for part in parts)


def _listed(facts: Mapping[str, Any]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(facts.items())]


@dataclass(frozen=True)
class Compared:
    """One judge in one cell, on the outputs that it was asked about both times.

    codes, shares: (outputs, columns) the answers now, those of the baseline, and the baseline's
    repeats. codes has classes; shares has scores, rescaled so that the better end of the scale is
    1. truth: people's class, or their mean.
    """

    cell: AuditCell
    judge: str
    before: str
    codes: Codes
    shares: Numbers
    truth: Numbers
    sources: Codes

    @classmethod
    def of(
        cls, cell: AuditCell, old: AuditCell, judge: str, before: str, again: Sequence[str]
    ) -> Compared:
        """Match the outputs of both cells; they are in the order of the first cell."""
        cell = cell.unaided(judge, before)
        places = {name: row for row, name in enumerate(old.matrix.outputs)}
        asked = cell.by_judge(judge) != NOT_ASKED
        rows = [
            row for row, name in enumerate(cell.matrix.outputs) if asked[row] and name in places
        ]
        earlier = [places[cell.matrix.outputs[row]] for row in rows]
        names = [before, *(name for name in again if name in old.judges)]
        scores = np.column_stack([cell.scores([judge])[rows], old.scores(names)[earlier]])
        codes = np.column_stack([cell.by_judge(judge)[rows], old.matrix.of(names)[earlier]])
        both = codes[:, 1] != NOT_ASKED
        panel = cell.scores(cell.people)[rows]
        shares, rated = _shares(cell, scores, panel)
        have = ~np.isnan(rated)
        means = np.where(
            have.any(axis=1), np.nansum(rated, axis=1) / np.maximum(have.sum(axis=1), 1), np.nan
        )
        truth = (
            means if cell.continuous else np.where(cell.truth[rows] >= 0, cell.truth[rows], np.nan)
        )
        return cls(
            cell,
            judge,
            before,
            codes[both],
            shares[both],
            truth[both],
            cell.matrix.sources[rows][both],
        )

    @property
    def asked(self) -> int:
        """How many outputs the judge was asked about both times."""
        return len(self.codes)

    @property
    def right(self) -> Numbers:
        """(outputs, 2) the agreement with people now and before; NaN if the judge or people gave no
        answer.
        """
        if self.cell.continuous:
            return np.asarray(1 - np.abs(self.shares[:, :2] - self.truth[:, None]))
        known_class = ~np.isnan(self.truth)[:, None] & (self.codes[:, :2] >= 0)
        return np.where(known_class, self.codes[:, :2] == self.truth[:, None], np.nan)

    @property
    def both(self) -> Any:
        """(outputs,) whether people rated the output and the judge answered it both times."""
        return ~np.isnan(self.right).any(axis=1)

    @property
    def flips(self) -> tuple[Numbers, Numbers]:
        """(outputs,) whether the answer has changed, and how often it changed when the judge was
        asked again for the baseline.
        """
        changed = np.where(self.codes[:, 1:] >= 0, self.codes[:, 1:] != self.codes[:, [1]], np.nan)
        now = np.where(
            (self.codes[:, :2] >= 0).all(axis=1), self.codes[:, 0] != self.codes[:, 1], np.nan
        )
        answered = ~np.isnan(changed[:, 1:])
        floor = np.nansum(changed[:, 1:], axis=1) / np.maximum(answered.sum(axis=1), 1)
        return now, np.where(answered.any(axis=1) & (self.codes[:, 1] >= 0), floor, np.nan)

    def differences(self) -> dict[str, PairedDifference]:
        """The difference for each of the CHECKS that has one."""
        answered = (self.codes[:, :2] >= 0).astype(np.float64)
        values = {
            "difference": -np.diff(self.right, axis=1)[:, 0],
            "mean_change": -np.diff(self.shares[:, :2], axis=1)[:, 0],
            "coverage_change": answered[:, 0] - answered[:, 1],
        }
        if not self.cell.continuous:
            now, floor = self.flips
            values["excess_flips"] = now - floor
        have = {name: ~np.isnan(each) for name, each in values.items()}
        return {
            name: paired_difference(each[have[name]], self.sources[have[name]])
            for name, each in values.items()
            if have[name].any()
        }

    def row(self) -> dict[str, Any]:
        """The figures before and after."""
        answered, means = self.codes[:, :2] >= 0, (self.codes[:, :2] >= 0).all(axis=1)
        now, floor = self.flips if not self.cell.continuous else (np.zeros(0), np.zeros(0))
        again, undefined = self.codes.shape[1] - 2, []
        if not self.both.any():
            undefined.append(
                "difference: no output that was answered both times and on which people agree"
            )
        if np.isnan(self.shares).all():
            undefined.append("mean_change: the levels have no order")
        if not again:
            undefined.append("floor: the judge was asked once before")
        return {
            "language": self.cell.language,
            "criterion": self.cell.criterion.name,
            "judge": self.judge,
            "before": self.before,
            "outputs": int(self.both.sum()),
            "sources": len(np.unique(self.sources[self.both])),
            **_pair("agreement", self.right[self.both]),
            **_pair("mean", self.shares[means, :2]),
            **_pair("coverage", answered.astype(np.float64)),
            "flips": _mean(now),
            "floor": _mean(floor),
            "repeats": again,
            "undefined": "; ".join(undefined),
        }


def _shares(cell: AuditCell, *scores: Numbers) -> tuple[Numbers, ...]:
    """Scores as shares of the scale, or of the range of the scores that occur; NaN if levels have
    no order.
    """
    every = np.concatenate([part.ravel() for part in scores])
    ends = cell.criterion.scale.ends
    if not ends and cell.continuous and (~np.isnan(every)).any():
        ends = float(np.nanmin(every)), float(np.nanmax(every))
    low, high = ends or (math.nan, math.nan)
    shares = tuple((part - low) / ((high - low) or 1.0) for part in scores)
    return shares if cell.criterion.direction == "higher" else tuple(1 - part for part in shares)


def _pair(name: str, values: Numbers) -> dict[str, float]:
    return {f"{name}_after": _mean(values[:, 0]), f"{name}_before": _mean(values[:, 1])}


def _mean(values: Numbers) -> float:
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else math.nan


def _decide(
    row: dict[str, Any],
    differences: Mapping[str, PairedDifference],
    p: Mapping[str, float],
    margins: Margins,
) -> None:
    """Fill in a row's intervals, its conclusion and the check that decides.

    The conclusion is one of three: the judge is shown to have changed (by the corrected p), it is
    shown to be within the margins (two one-sided tests; one for coverage, where only a loss
    matters), or neither is shown.
    """
    margin = {
        "difference": margins.agreement,
        "mean_change": margins.mean,
        "coverage_change": margins.coverage,
    }
    beyond = {}  # how far each interval reaches, in margins
    for name, each in differences.items():
        low, high = each.interval(margins.alpha)
        row |= Bounds(each.value, low, high).columns(name)
        row[f"{name}_p_adjusted"] = p[name]
        if name in margin:
            reach = -low if name == "coverage_change" else max(-low, high)
            beyond[name] = reach / margin[name]
    within_margin = {name for name, reach in beyond.items() if reach < 1}
    changed = {
        name for name in differences if name not in within_margin and p[name] < margins.alpha
    }
    # Those where something changed come first, the farthest beyond their margins before the others.
    undecided = sorted(
        beyond.keys() - within_margin - changed,
        key=lambda name: (not differences[name].square, -beyond[name], CHECKS.index(name)),
    )
    row["says"], reasons = _verdict(differences, changed, undecided)
    row["by"] = next(iter(reasons), "")
    row["why"] = ""
    if row["says"] == UNDECIDED:
        needs = [
            differences[name].needed(margin[name], margins.alpha, margins.power)
            for name in undecided
        ]
        row["needed"] = max(needs, default=math.nan)
        row["why"] = _doubt(row, [name for name in undecided if differences[name].square])
    elif row["says"] != EQUIVALENT:
        row["why"] = "; ".join(reason(row, name) for name in reasons)


def _doubt(row: Mapping[str, Any], seen: Sequence[str]) -> str:
    """Why a row is undecided.

    seen: the undecided checks on which a change is visible.
    """
    if seen or not row["by"]:
        return "; ".join(reason(row, name) for name in seen)
    nothing = "answer lost" if row["by"] == "coverage_change" else "change seen"
    return f"no {nothing}, on too few sources ({row['sources']}) to exclude one"


def _verdict(
    differences: Mapping[str, PairedDifference], changed: Collection[str], undecided: list[str]
) -> tuple[str, list[str]]:
    """The conclusion of a row, and the checks on which it is based; the first of these decides."""
    lower, other = [], []
    for name in ("difference", "coverage_change"):
        if name in changed and differences[name].value < 0:
            lower.append(name)
    if "mean_change" in changed:
        other.append("mean_change")
    if "excess_flips" in changed and differences["excess_flips"].value > 0:
        other.append("excess_flips")
    if lower or other:
        return WORSE if lower else DIFFERENT, lower + other
    if "difference" in changed and "coverage_change" not in undecided:
        return BETTER, ["difference"]
    if undecided or "difference" not in differences:
        return UNDECIDED, undecided
    return EQUIVALENT, ["difference"]


def reason(row: Mapping[str, Any], check: str) -> str:
    """A check in words: `agreement with people −12% [−18%, −6%]`."""
    if check == "coverage_change":
        now, before = coverage(row["coverage_after"]), coverage(row["coverage_before"])
        return f"answers {now}, before {before}, {estimate(row, check, percent_change)}"
    if check == "excess_flips":
        return (
            f"{percent(row['flips'])} of answers changed, compared with {percent(row['floor'])}"
            " when asked again at the time of the baseline"
        )
    forms = {
        "difference": ("agreement with people", percent_change),
        "mean_change": ("mean score", signed),
    }
    title, form = forms[check]
    return f"{title} {estimate(row, check, form)}"
