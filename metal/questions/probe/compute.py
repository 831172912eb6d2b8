"""How judges rate outputs that were changed in known ways: a row for each judge, criterion,
language and change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import judges_of
from metal.auditing.scored_outputs import MARGIN, UNKNOWN
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.languages import check_languages, language_name
from metal.data.people import people_in, people_named
from metal.data.progress import Progress, divided, followed
from metal.data.records import Criterion
from metal.data.text import estimate, first_few, plural, signed
from metal.errors import UsageError, check_known
from metal.questions.bias.conditions import FALLS, STAYS
from metal.stats.interval import NO_BOUNDS, NO_INTERVAL, Bounds
from metal.stats.patterns import Numbers
from metal.stats.probes import LEAST, Detection, detection, dose_trend
from metal.stats.significance import holm

BLIND, LURED, MOVED, UNMOVED = "blind", "lured", "moved", "unmoved"
NOT_BLIND, NOT_LURED, SHOWN = "not shown to be blind", "not shown to be lured", "decides nothing"
AGAINST = (BLIND, LURED, MOVED)  # what is said against a judge
CAPPED = "capped"
LEVEL = 0.05  # of the chance that a judge is wrongly called any of AGAINST, over all of its rows
ROOM = 0.1  # share of pairs whose clean score can fall, below which nothing can be seen
SHARES = ("a", "strict", "raised", "change", "people_a")
PROBES = (
    *(
        "language",
        "criterion",
        "judge",
        "probe",
        "condition",
        "kind",
        "expected",
        "says",
        "decides",
        "line",
    ),
    *(
        "what",
        "dose",
        "p",
        "p_adjusted",
        "selectivity",
        "room",
        "pairs",
        "sources",
        "unanswered",
        "span",
        "undefined",
    ),
    *(f"{name}{end}" for name in SHARES for end in ("", "_low", "_high")),
)
TRENDS = (
    *(
        "language",
        "criterion",
        "judge",
        "probe",
        "doses",
        "outputs",
        "trend",
        "trend_low",
        "trend_high",
        "p",
    ),
    "undefined",
)
ALL_CERTAIN = {
    "probe": "",
    "condition": "all certain",
    "kind": "certain",
    "what": "most changes that spoil a text",
}
# of a rater without an answer on both sides
_UNSEEN = Detection(
    n=0,
    sources=0,
    a=NO_BOUNDS,
    strict=NO_BOUNDS,
    raised=NO_BOUNDS,
    room=math.nan,
    change=NO_BOUNDS,
    change_90=NO_INTERVAL,
    p=math.nan,
    blind_p=math.nan,
    raised_p=math.nan,
    moved_p=math.nan,
)


@dataclass(frozen=True)
class _Scores:
    """Scores on one criterion, reversed if needed so that higher is better: a row per output, a
    column per rater.

    changed: the changed outputs, each with `of`, `language`, `condition` and `source`. ends: the
    worst and the best score.
    """

    criterion: Criterion
    wide: pd.DataFrame
    changed: pd.DataFrame
    ends: tuple[float, float]

    def pairs(self, raters: Sequence[str], rows: pd.DataFrame) -> tuple[Numbers, Numbers, Any, int]:
        """The pairs (clean, changed, source) for which a rater scored both outputs, rater after
        rater, and the number of pairs that lack a score.
        """
        clean, after, source = [], [], []
        for rater in raters:
            clean.append(self.wide[rater].reindex(rows["of"]).to_numpy())
            after.append(self.wide[rater].reindex(rows.index).to_numpy())
            source.append(rows["source"].to_numpy())
        first, second, of = (
            np.concatenate(parts) if parts else np.empty(0) for parts in (clean, after, source)
        )
        both = ~(np.isnan(first.astype(float)) | np.isnan(second.astype(float)))
        return first[both], second[both], pd.factorize(of[both])[0], int((~both).sum())


def probe_tables(dataset: Dataset, settings: AuditSettings, *, progress: Progress) -> Analysed:
    """Compute how each judge rates each change that the dataset of probes declares.

    Returns the tables `probes` and `trends`. Raises UsageError for a dataset that declares none, or
    that no judge rated; UnknownName for names that do not exist.
    """
    declared: Sequence[Mapping[str, Any]] = dataset.extra.get("probes", {}).get("conditions", ())
    if not declared:
        raise UsageError(
            f"{dataset.card.name} holds no probes; `metal.probe_plan` makes a dataset that does"
        )
    compared = settings.reference or people_in(dataset.raters)
    people = people_named(dataset, settings.reference) if compared else ()
    judges = judges_of(dataset, settings)
    check_known("judge", settings.judges, judges)
    check_known("criterion", settings.criteria, dataset.criteria)
    check_languages(settings.languages, dataset.languages)
    ordered, unordered = _by_order(dataset, settings.criteria or dataset.asked)
    rows: list[dict[str, Any]] = []
    trends: list[dict[str, Any]] = []
    for name, advance in zip(ordered, divided(progress, *[1] * len(ordered)), strict=True):
        scores = _scores(dataset, dataset.criteria[name], settings.languages)
        here = [judge for judge in judges if judge in scores.wide]
        for judge in followed(here, advance, len(here)):
            rows += _rows(
                scores,
                judge,
                [person for person in people if person in scores.wide],
                declared,
                settings,
            )
            trends += _trends(scores, judge, declared)
    if not rows:
        raise UsageError(
            f"no judge has rated {dataset.card.name}; run `metal.judge` on it, and pass its run"
            " folder as well"
        )
    _conclude(rows)
    probes, trend = (
        pd.DataFrame(rows, columns=list(PROBES)),
        pd.DataFrame(trends, columns=list(TRENDS)),
    )
    return Analysed(
        {"probes": probes, "trends": trend}, tuple(_warnings(probes, declared, unordered, people))
    )


def _by_order(dataset: Dataset, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The criteria whose scores have an order, and those without one."""
    ordered: list[str] = []
    unordered: list[str] = []
    for name in dict.fromkeys(names):
        scale = dataset.criteria[name].scale
        nominal = scale.measure == "nominal" and not scale.ends
        (unordered if nominal else ordered).append(name)
    return ordered, unordered


def _scores(dataset: Dataset, criterion: Criterion, languages: Sequence[str]) -> _Scores:
    table = dataset.ratings[
        (dataset.ratings["criterion"] == criterion.name) & dataset.ratings["score"].notna()
    ]
    wide = table.astype({"output": str, "rater": str}).pivot(
        index="output", columns="rater", values="score"
    )
    lower = criterion.direction == "lower"
    values = wide.to_numpy()
    low, high = (
        criterion.scale.ends or (np.nanmin(values), np.nanmax(values))
        if values.size
        else (0.0, 1.0)
    )
    changed = [
        (output.output, output.of, output.language, output.condition, output.source)
        for output in dataset.outputs.values()
        if output.of in dataset.outputs and output.language in (languages or dataset.languages)
    ]
    columns = ["output", "of", "language", "condition", "source"]
    paired = pd.DataFrame(changed, columns=columns).set_index("output")
    if lower:  # turned round, so that higher is better
        return _Scores(criterion, -wide, paired, (-high, -low))
    return _Scores(criterion, wide, paired, (low, high))


def _rows(
    scores: _Scores,
    judge: str,
    people: Sequence[str],
    declared: Sequence[Mapping[str, Any]],
    settings: AuditSettings,
) -> Iterator[dict[str, Any]]:
    """A row for each language and condition with changed outputs, and one for all certain changes
    together.
    """
    by_condition = {change["condition"]: change for change in declared}
    together: dict[str, list[pd.DataFrame]] = {}
    for (language, condition), changed in scores.changed.groupby(
        ["language", "condition"], sort=False
    ):
        change = by_condition.get(condition)
        if change:
            yield _row(scores, judge, people, change, changed, settings)
        if (
            change
            and change["kind"] == "certain"
            and scores.criterion.name in change.get(FALLS, ())
        ):
            together.setdefault(str(language), []).append(changed)
    for parts in together.values():
        if len(parts) > 1:
            change = {**ALL_CERTAIN, FALLS: [scores.criterion.name]}
            yield _row(scores, judge, people, change, pd.concat(parts), settings)


def _row(
    scores: _Scores,
    judge: str,
    people: Sequence[str],
    change: Mapping[str, Any],
    changed: pd.DataFrame,
    settings: AuditSettings,
) -> dict[str, Any]:
    """A row on how the judge rates these changed outputs, which are all in one language.

    change: what the dataset declares about them.
    """
    expected = next(
        (key for key in (FALLS, STAYS, CAPPED) if scores.criterion.name in change.get(key, ())), ""
    )
    clean, after, source, unanswered = scores.pairs([judge], changed)
    seen = (
        detection(clean, after, source, scores.ends, seed=settings.seed) if len(clean) else _UNSEEN
    )
    noticed = _noticed(scores, people, changed) if change["kind"] == "graded" else NO_BOUNDS
    says, p, final, undefined = _says(seen, change["kind"], expected, noticed, scores.ends)
    figures = {name: getattr(seen, name) for name in SHARES[:-1]} | {"people_a": noticed}
    return {
        **{name: change[name] for name in ("probe", "condition", "kind", "what")},
        "dose": change.get("dose", math.nan),
        "language": changed["language"].iloc[0],
        "criterion": scores.criterion.name,
        "judge": judge,
        "expected": expected,
        "says": says,
        "final": final,
        "line": "",
        "decides": not math.isnan(p),
        "p": seen.p,
        "p_adjusted": p,
        "selectivity": math.nan,
        "room": seen.room,
        "pairs": len(clean),
        "sources": seen.sources,
        "unanswered": unanswered,
        "span": scores.ends[1] - scores.ends[0],
        "undefined": undefined,
        **{
            key: value
            for each, part in figures.items()
            for key, value in part.columns(each).items()
        },
    }


def _noticed(scores: _Scores, people: Sequence[str], changed: pd.DataFrame) -> Bounds:
    """How well people tell changed outputs from clean ones, each person by their own scores."""
    clean, after, source, _ = scores.pairs(people, changed)
    return detection(clean, after, source, scores.ends).a if len(clean) >= LEAST else NO_BOUNDS


def _says(
    seen: Detection, kind: str, expected: str, noticed: Bounds, ends: tuple[float, float]
) -> tuple[str, float, bool, str]:
    """What a row says before its p-value is corrected.

    Returns the conclusion that holds unless the corrected p-value is below LEVEL; the p-value, NaN
    if the row decides nothing; whether the conclusion holds whatever the p-value is; and the reason
    if there can be no conclusion.
    """
    if not expected:
        return SHOWN, math.nan, True, "says: the expected effect on this criterion is unknown"
    if seen.n < LEAST or seen.sources < 2:
        why = f"says: {plural(seen.n, 'pair')}; {LEAST} of two sources are needed"
        return UNKNOWN, math.nan, True, why
    if expected == CAPPED:
        return NOT_LURED, seen.raised_p, _within(seen, ends), ""
    if expected == STAYS:
        p = seen.moved_p if kind == "invariant" else math.nan
        if _within(seen, ends):
            return UNMOVED, p, True, ""
        why = f"says: scores are not shown to stay within {MARGIN:.0%} of the scale"
        return UNKNOWN, p, False, why
    if seen.room < ROOM:
        return UNKNOWN, math.nan, True, "says: clean outputs have the worst score already"
    if kind == "graded" and not noticed.low > 0.5:
        return SHOWN, math.nan, True, "says: it is not shown that people notice it"
    return NOT_BLIND, seen.blind_p, False, ""


def _within(seen: Detection, ends: tuple[float, float]) -> bool:
    """Whether the mean surely changes by less than MARGIN of the scale, by two one-sided tests at
    5%.
    """
    return seen.change_90.inside(MARGIN * (ends[1] - ends[0]))


def _conclude(rows: list[dict[str, Any]]) -> None:
    """Correct each judge's p-values over all of its rows, and record what they show.

    Selectivity: how much better a change is noticed on criteria where it must be noticed than on
    criteria that it leaves alone.
    """
    for judge in {row["judge"] for row in rows}:
        own = [row for row in rows if row["judge"] == judge]
        adjusted = holm([row["p_adjusted"] for row in own])
        alone: dict[tuple[str, str], list[float]] = {}
        for row, p in zip(own, adjusted, strict=True):
            row["p_adjusted"] = float(p)
            if row["expected"] == STAYS:
                alone.setdefault((row["language"], row["condition"]), []).append(row["a"])
            if p < LEVEL and not row["final"]:
                row["says"] = {FALLS: BLIND, CAPPED: LURED, STAYS: MOVED}[row["expected"]]
                row["line"], row["undefined"] = _line(row), ""
        for row in own:
            others = alone.get((row["language"], row["condition"]))
            if others and row["expected"] == FALLS:
                row["selectivity"] = row["a"] - float(np.mean(others))


def _line(row: Mapping[str, Any]) -> str:
    """A finding in words: `blind to swapped outputs in Yoruba: A 0.58 [0.50, 0.66]`."""
    case = f"{row['what']} in {language_name(row['language'])}"
    if row["says"] == BLIND:
        return f"blind to {case}: A {estimate(row, 'a')}"
    change = estimate(row, "change", signed)
    return f"{'raised' if row['says'] == LURED else 'moved'} by {case}: {change}"


def _trends(
    scores: _Scores, judge: str, declared: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A row for each language and graded change with two or more doses: whether scores fall as the
    dose rises.
    """
    answers = scores.wide[judge]
    for probe in dict.fromkeys(change["probe"] for change in declared if "dose" in change):
        doses = {
            change["condition"]: change["dose"] for change in declared if change["probe"] == probe
        }
        part = scores.changed[scores.changed["condition"].isin(list(doses))]
        for language, changed in part.groupby("language", sort=False):
            by_dose = changed.reset_index().pivot(index="of", columns="condition", values="output")
            by_dose = by_dose[sorted(by_dose, key=lambda condition: doses[condition])]
            columns = [answers.reindex(by_dose.index).to_numpy()]
            columns += [answers.reindex(by_dose[condition]).to_numpy() for condition in by_dose]
            values = np.stack(columns, axis=1)
            whole_rows = ~np.isnan(values).any(axis=1)
            source = pd.factorize(changed.groupby("of")["source"].first().reindex(by_dose.index))[0]
            enough = (
                whole_rows.sum() >= LEAST and len(set(source[whole_rows])) > 1 and len(columns) > 2
            )
            figures: dict[str, Any] = {
                "undefined": f"trend: {LEAST} outputs with two doses or more are needed"
            }
            if enough:
                trend = dose_trend(values[whole_rows], source[whole_rows])
                figures = {**trend.fall.columns("trend"), "p": trend.p, "undefined": ""}
            yield {
                "language": language,
                "criterion": scores.criterion.name,
                "judge": judge,
                "probe": probe,
                "doses": ", ".join(f"{doses[condition]:.0%}" for condition in by_dose),
                "outputs": int(whole_rows.sum()),
                **figures,
            }


def _warnings(
    probes: pd.DataFrame,
    declared: Sequence[Mapping[str, Any]],
    unordered: Sequence[str],
    people: Sequence[str],
) -> Iterator[str]:
    if unordered:
        yield (
            f"{plural(len(unordered), 'criterion', 'criteria')} without an order left out:"
            f" {first_few(unordered)}"
        )
    asked = set(probes["criterion"])
    aspects = [change.get(key, ()) for change, key in product(declared, (FALLS, STAYS, CAPPED))]
    declared_for = set(chain.from_iterable(aspects))
    if unknown := sorted(asked - declared_for):
        yield (
            f"the effect to expect on {first_few(unknown)} is unknown; name it with `aspects` of"
            " `metal.probe_plan`"
        )
    if (probes["kind"] == "graded").any() and probes["people_a"].isna().all():
        yield "graded changes decide nothing: no person rated changed outputs"
    silent = probes.groupby("judge")[["unanswered", "pairs"]].sum()
    for judge, row in silent[silent["unanswered"] > 0].iterrows():
        yield (
            f"{judge}: {row['unanswered']:,} pairs without answers to both outputs are left out;"
            f" {row['pairs']:,} remain"
        )
