"""Does a judge score some languages higher than others for equal quality? A row for each judge, criterion, language."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import judges_of
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset, people_named
from metal.data.ratings import CodeMatrix, code_matrix
from metal.data.records import SWAPPED, Criterion
from metal.data.text import first_few, plural
from metal.errors import Undefined, UsageError
from metal.stats.leniency import (
    FIGURES,
    LEAST,
    LEAST_RELIABILITY,
    RatedItems,
    Shifts,
    mean_shift,
    parallel_shifts,
    shifts_beside_people,
)
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import holm

EVEN, LEANS, UNKNOWN = "even", "leans", "cannot say"
MARGIN = 0.1  # of the scale's range: a lean that is surely smaller is none
PARALLEL, BESIDE = "the same contents", "quality held equal"
REPEAT = "repeat"  # begins the condition of an output that was judged again as it is
WITH_ENDS = ("parallel", "parallel_beside_people", *FIGURES, "flips", "excess_flips")
LANGUAGE_BIAS = (
    *("language", "criterion", "judge", "says", "by", "lean", "lean_low", "lean_high", "p", "outputs", "contents"),
    *(f"{name}{end}" for name in WITH_ENDS for end in ("", "_low", "_high")),
    *("top_share", "undefined"),
)
CONDITIONS = (
    *("language", "criterion", "judge", "condition", "pairs", "change", "change_low", "change_high", "p"),
    *("changed", "lower", "higher"),
)
NOTHING = Shifts(*(np.full(1, np.nan),) * 3)


@dataclass(frozen=True)
class BiasTables:
    """What `language_bias` by_language: tables `language_bias` and `conditions`, and warnings."""

    tables: dict[str, pd.DataFrame]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Scored:
    """The outputs of one criterion, in all languages, with whom they belong to.

    language, source, content, unit: (items,) codes; of: (items,) the place of the output that it was made from, or -1;
    condition: (items,) how.
    """

    criterion: Criterion
    matrix: CodeMatrix
    languages: tuple[str, ...]
    language: Codes
    source: Codes
    content: Codes
    unit: Codes
    of: Codes
    condition: Any

    def scores(self, raters: Sequence[str]) -> Numbers:
        """(items, raters) NaN without an answer; turned where lower is better, so that higher is more lenient."""
        codes = self.matrix.of(raters)
        return np.asarray(np.where(codes >= 0, np.append(self.values, np.nan)[codes], np.nan))

    @property
    def values(self) -> Numbers:
        """The value of each code, higher where it is better."""
        return self.matrix.values if self.criterion.direction == "higher" else -self.matrix.values

    @property
    def span(self) -> float:
        """The range of the scale; of one without ends, of the scores that occur."""
        low, high = self.criterion.scale.ends or (self.matrix.values.min(), self.matrix.values.max())
        return float(high - low)


def language_bias(
    dataset: Dataset, settings: AuditSettings, *, pivot: str = "", progress: Callable[[int, int], None]
) -> BiasTables:
    """How each judge treats each language. pivot: the language that flips are counted against; where empty, English if
    there is English, else the language with the most outputs.

    Raises UsageError where fewer than two languages were judged.
    """
    alone = not settings.reference and not any(rater.kind == "human" for rater in dataset.raters.values())
    people, judges = () if alone else people_named(dataset, settings.reference), judges_of(dataset, settings)
    languages = tuple(settings.languages or dataset.languages)
    if len(languages) < 2:
        raise UsageError(
            "a language bias needs two languages or more, and the ratings have one; add another with --into"
        )
    if not judges:
        raise UsageError("no judges in the data: add the run folder of `metal judge`")
    if pivot and pivot not in languages:
        raise UsageError(f"pivot {pivot!r} is none of the languages: {', '.join(languages)}")
    chosen = list(settings.criteria or dataset.criteria)
    scales = {name: dataset.criteria[name].scale for name in chosen}
    unordered = [name for name, scale in scales.items() if scale.measure == "nominal" and not scale.ends]
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    ordered = [dataset.criteria[name] for name in chosen if name not in unordered]
    for done, criterion in enumerate(ordered):
        scored = _scored(dataset, criterion, {*people, *judges}, languages)
        progress(done, len(ordered))
        if scored is None:
            continue
        reference = pivot or _pivot(scored)
        for judge in (name for name in judges if name in scored.matrix.raters):
            rows += _rows(scored, judge, [name for name in people if name in scored.matrix.raters], reference)
            changes += _changes(scored, judge)
    progress(len(ordered), len(ordered))
    warnings = [f"{plural(len(unordered), 'criterion', 'criteria')} without an order left out: {first_few(unordered)}"]
    tables = {
        "language_bias": pd.DataFrame(rows, columns=list(LANGUAGE_BIAS)),
        "conditions": pd.DataFrame(changes, columns=list(CONDITIONS)),
    }
    if not rows:
        raise UsageError("no judge rated an ordered criterion in two languages; see `metal check`")
    return BiasTables(tables, tuple(warnings if unordered else ()))


def _scored(dataset: Dataset, criterion: Criterion, raters: set[str], languages: tuple[str, ...]) -> _Scored | None:
    table = dataset.ratings
    rows = table[
        (table["criterion"] == criterion.name)
        & table["rater"].isin(list(raters))
        & table["language"].isin(list(languages))
    ]
    if rows.empty or rows["language"].nunique() < 2:
        return None
    matrix = code_matrix(rows, criterion)
    outputs = [dataset.outputs[name] for name in matrix.outputs]
    places = {name: place for place, name in enumerate(matrix.outputs)}
    contents = [dataset.sources[output.source].content or output.source for output in outputs]
    units = list(zip(contents, (output.generator for output in outputs), strict=True))
    content, unit = pd.factorize(np.array(contents, dtype=object))[0], pd.factorize(pd.Series(units))[0]
    language = np.array([languages.index(output.language) for output in outputs])
    if not _shared(unit, language):  # each language has generators of its own
        unit = content
    return _Scored(
        criterion,
        matrix,
        languages,
        language,
        matrix.sources,
        content,
        unit,
        np.array([places.get(output.of, -1) if output.condition != SWAPPED else -1 for output in outputs]),
        np.array([output.condition for output in outputs], dtype=object),
    )


def _shared(unit: Codes, language: Codes) -> bool:
    """Whether any unit occurs in two languages."""
    pairs = np.unique(np.stack([unit, language]), axis=1)[0]
    return len(np.unique(pairs)) < len(pairs)


def _pivot(scored: _Scored) -> str:
    counts = np.bincount(scored.language, minlength=len(scored.languages))
    return "en" if "en" in scored.languages else scored.languages[int(counts.argmax())]


def _rows(scored: _Scored, judge: str, people: Sequence[str], pivot: str) -> Iterator[dict[str, Any]]:
    """A row for each language in which the judge answered."""
    answers, panel = scored.scores([judge])[:, 0], scored.scores(people)
    original = scored.condition == ""
    judged = original & ~np.isnan(answers)
    rated = judged & (~np.isnan(panel)).any(axis=1)
    beside, why_beside = _beside_people(scored, answers, panel, rated)
    parallel, why_parallel = _parallel(scored, answers, judged)
    against = (
        np.nan_to_num(answers - np.nanmean(np.where(rated[:, None], panel, 0.0), axis=1)) if len(people) else answers
    )
    parallel_people, _ = _parallel(scored, against, rated) if len(people) else (None, "")
    lean, by = (parallel, PARALLEL) if parallel else (beside.get("gap"), BESIDE)
    adjusted = holm(lean.p) if lean else np.full(len(scored.languages), np.nan)
    flips = _flips(scored, answers, judged, pivot)
    top = scored.values.max() if scored.criterion.scale.levels else math.nan
    for place, language in enumerate(scored.languages):
        own = judged & (scored.language == place)
        if not own.any():
            continue
        figures: dict[str, tuple[Shifts | None, int]] = {
            "parallel": (parallel, place),
            "parallel_beside_people": (parallel_people, place),
            **{name: (beside.get(name), place) for name in FIGURES},
            "flips": (flips[language][0], 0),
            "excess_flips": (flips[language][1], 0),
        }
        undefined = {"parallel": why_parallel, "gap": why_beside[place], "excess_flips": flips[language][2]}
        says = _says(lean, place, adjusted, scored.span)
        yield {
            "language": language,
            "criterion": scored.criterion.name,
            "judge": judge,
            "says": says,
            "by": by if says else "",
            **_with_ends("lean", lean, place),
            "p": adjusted[place],
            "outputs": int(own.sum()),
            "contents": len(np.unique(scored.content[own])),
            **{
                key: value
                for name, (shifts, at) in figures.items()
                for key, value in _with_ends(name, shifts, at).items()
            },
            "top_share": float((answers[own] == top).mean()) if math.isfinite(top) else math.nan,
            "undefined": "; ".join(
                f"{name}: {why}" for name, why in undefined.items() if why and not _known(*figures[name])
            ),
        }


def _known(shifts: Shifts | None, place: int) -> bool:
    return shifts is not None and math.isfinite(shifts.value[place])


def _with_ends(name: str, shifts: Shifts | None, place: int) -> dict[str, float]:
    if shifts is None or not _known(shifts, place):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), math.nan)
    low, high = shifts.interval(place)
    return {name: float(shifts.value[place]), f"{name}_low": low, f"{name}_high": high}


def _says(lean: Shifts | None, place: int, adjusted: Numbers, span: float) -> str:
    """Even: the 90% interval is within MARGIN of the scale (two one-sided tests). Leans: else, not 0 by Holm's p."""
    if lean is None or not _known(lean, place):
        return UNKNOWN
    low, high = lean.interval(place, 0.95)
    if low > -MARGIN * span and high < MARGIN * span:
        return EVEN
    return LEANS if adjusted[place] < 0.05 else UNKNOWN


def _beside_people(
    scored: _Scored, answers: Numbers, panel: Numbers, rated: Any
) -> tuple[dict[str, Shifts], dict[int, str]]:
    """What `shifts_beside_people` says, and for each language why it has no gap."""
    everywhere = range(len(scored.languages))
    if not rated.any():
        return {}, dict.fromkeys(everywhere, "no output was rated by people as well")
    items = RatedItems(
        answers[rated], panel[rated], scored.language[rated], scored.source[rated], len(scored.languages)
    )
    figures = shifts_beside_people(items)
    reliability, why = figures["reliability"].value, {}
    for place in everywhere:
        outputs = int((items.language == place).sum())
        why[place] = (
            f"{outputs} outputs rated by people, {LEAST} needed"
            if outputs < LEAST
            else f"people's reliability is {reliability[place]:.2f}, {LEAST_RELIABILITY:g} needed"
            if reliability[place] < LEAST_RELIABILITY
            else "one person an output, so that their noise is unknown"
            if math.isnan(reliability[place])
            else "no other language has a gap"
        )
    return figures, why


def _parallel(scored: _Scored, values: Numbers, use: Any) -> tuple[Shifts | None, str]:
    """Shifts on the same contents, or why there are none."""
    try:
        shifts = parallel_shifts(
            values[use], scored.language[use], scored.unit[use], scored.content[use], len(scored.languages)
        )
    except Undefined as error:
        return None, str(error)
    return shifts, "too few contents that another language has as well"


def _flips(
    scored: _Scored, answers: Numbers, judged: Any, pivot: str
) -> dict[str, tuple[Shifts | None, Shifts | None, str]]:
    """{language: share of contents with another answer than in the pivot, that share less the one of repeats in the
    pivot, why it is undefined}"""
    by_language: dict[str, tuple[Shifts | None, Shifts | None, str]] = {}
    at = scored.languages.index(pivot)
    in_pivot = {int(scored.unit[row]): int(row) for row in np.flatnonzero(judged & (scored.language == at))}
    again = np.array([str(condition).startswith(REPEAT) for condition in scored.condition])
    floors: dict[int, list[float]] = {}
    for row in np.flatnonzero(again & (scored.language == at) & (scored.of >= 0) & ~np.isnan(answers)):
        original = int(scored.of[row])
        if not math.isnan(answers[original]):
            floors.setdefault(original, []).append(float(answers[row] != answers[original]))
    for place, language in enumerate(scored.languages):
        rows = [
            int(row) for row in np.flatnonzero(judged & (scored.language == place)) if int(scored.unit[row]) in in_pivot
        ]
        if place == at or not rows or not scored.criterion.scale.levels:
            by_language[language] = None, None, ""
            continue
        pivots = [in_pivot[int(scored.unit[row])] for row in rows]
        flipped = (answers[rows] != answers[pivots]).astype(np.float64)
        floor = np.array([np.mean(floors[row]) if row in floors else np.nan for row in pivots])
        have = ~np.isnan(floor)
        excess = mean_shift(flipped[have] - floor[have], scored.content[rows][have]) if have.any() else None
        why = "" if have.any() else f"no output in {pivot} was judged again (condition `{REPEAT}`)"
        by_language[language] = mean_shift(flipped, scored.content[rows]), excess, why
    return by_language


def _changes(scored: _Scored, judge: str) -> Iterator[dict[str, Any]]:
    """A row for each language and condition: how the score changes from that of the output it was made from."""
    answers = scored.scores([judge])[:, 0]
    paired = (scored.of >= 0) & ~np.isnan(answers)
    paired[paired] = ~np.isnan(answers[scored.of[paired]])
    for place, language in enumerate(scored.languages):
        for condition in sorted(set(scored.condition[paired & (scored.language == place)])):
            rows = np.flatnonzero(paired & (scored.language == place) & (scored.condition == condition))
            change = answers[rows] - answers[scored.of[rows]]
            shift = mean_shift(change, scored.content[rows])
            low, high = shift.interval(0)
            yield {
                "language": language,
                "criterion": scored.criterion.name,
                "judge": judge,
                "condition": condition,
                "pairs": len(rows),
                "change": float(shift.value[0]),
                "change_low": low,
                "change_high": high,
                "p": float(shift.p[0]),
                "changed": float((change != 0).mean()),
                "lower": float((change < 0).mean()),
                "higher": float((change > 0).mean()),
            }
