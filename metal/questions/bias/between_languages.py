"""A judge's scores on one criterion, compared between languages by every method that the data
allow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.auditing.scored_outputs import LEANS, ScoredOutputs, says
from metal.data.text import plural
from metal.errors import Undefined
from metal.questions.bias.conditions import flips
from metal.stats.interval import NO_BOUNDS
from metal.stats.leniency import (
    FIGURES,
    LEAST,
    LEAST_RELIABILITY,
    RatedItems,
    Shifts,
    flip_p_values,
    parallel_shifts,
    shifts_beside_people,
    with_anchors,
)
from metal.stats.patterns import Numbers
from metal.stats.significance import holm

PEOPLE = "people"  # asked for as a judge: their own mean
PARALLEL, BESIDE, ANCHORED = (
    "the same contents",
    "quality held equal",
    "people made comparable by anchors",
)
SHIFTS = ("parallel", "parallel_beside_people", "anchored", *FIGURES)


@dataclass(frozen=True)
class LanguageComparison:
    """A judge's scores compared between languages.

    answers: (outputs,) the judge's scores. judged: (outputs,) whether an output is an original that
    the judge scored. shifts: the shifts that could be computed, by name of the figure. lean: the
    shift on which the verdict is based. by: what makes languages comparable in it. no_parallel: why
    there is no shift on the same contents. no_gap: why there is no gap, for each language.
    """

    answers: Numbers
    judged: Any
    shifts: Mapping[str, Shifts]
    lean: Shifts | None
    by: str
    no_parallel: str
    no_gap: Mapping[int, str]


def _compared(scored: ScoredOutputs, judge: str, people: Sequence[str]) -> LanguageComparison:
    panel = scored.scores(people)
    rated_by = ~np.isnan(panel)
    people_mean = np.where(rated_by, panel, 0.0).sum(axis=1) / np.where(
        rated_by.any(axis=1), rated_by.sum(axis=1), np.nan
    )
    if judge == PEOPLE:
        answers, panel, rated_by = people_mean, panel[:, :0], rated_by[:, :0]
    else:
        answers = scored.scores([judge])[:, 0]
    original = scored.condition == ""
    judged = original & ~np.isnan(answers)
    rated = judged & rated_by.any(axis=1)
    shifts, no_gap = _beside_people(scored, answers, panel, rated)
    lean, by = shifts.get("gap"), BESIDE
    parallel, no_parallel = _parallel(scored, answers, judged)
    if people and judge != PEOPLE:
        panel_mean = np.nanmean(np.where(rated[:, None], panel, 0.0), axis=1)
        beside, _ = _parallel(scored, np.nan_to_num(answers - panel_mean), rated)
        if beside:
            shifts["parallel_beside_people"] = beside
        anchors, _ = _parallel(scored, people_mean, original & rated_by.any(axis=1))
        if anchors and "gap" in shifts:
            shifts["anchored"] = with_anchors(shifts["gap"], anchors)
            if np.isfinite(shifts["anchored"].value).any():
                lean, by = shifts["anchored"], ANCHORED
    if parallel:
        shifts["parallel"] = parallel
        lean, by = parallel, PARALLEL
    elif judge == PEOPLE:
        by = PARALLEL
    return LanguageComparison(answers, judged, shifts, lean, by, no_parallel, no_gap)


def language_rows(
    scored: ScoredOutputs, judge: str, repeats: Sequence[str], people: Sequence[str], pivot: str
) -> Iterator[dict[str, Any]]:
    """A row for each language in which the judge answered.

    repeats: raters that hold the judge's answers when asked again.
    """
    pivot = pivot or _largest(scored)
    compared = _compared(scored, judge, people)
    answers, judged, lean = compared.answers, compared.judged, compared.lean
    at = answers[judged], scored.language[judged], scored.unit[judged], scored.content[judged]
    flip_p = holm(flip_p_values(*at, len(scored.languages), scored.languages.index(pivot)))
    adjusted = holm(lean.p) if lean else np.full(len(scored.languages), np.nan)
    again = scored.scores([name for name in repeats if name in scored.matrix.raters])
    flipped = flips(scored, answers, again, judged, pivot)
    sign = 1 if scored.criterion.direction == "higher" else -1
    for index, language in enumerate(scored.languages):
        own = judged & (scored.language == index)
        if not own.any():
            continue
        changed, excess, no_excess = flipped[language]
        figures = _with_ends("flips", changed, 0) | _with_ends("excess_flips", excess, 0)
        for name in SHIFTS:
            figures |= _with_ends(name, compared.shifts.get(name), index)
        reasons = {"parallel": compared.no_parallel}
        if judge != PEOPLE:  # who are beside nobody, and are not asked again
            reasons |= {"gap": compared.no_gap[index], "excess_flips": no_excess}
        undefined = [
            f"{name}: {why}" for name, why in reasons.items() if why and math.isnan(figures[name])
        ]
        top_share = math.nan
        if scored.criterion.scale.levels and math.isfinite(top := scored.values.max()):
            top_share = float((answers[own] == top).mean())
        yield {
            "language": language,
            "criterion": scored.criterion.name,
            "judge": judge,
            "says": says(lean, index, adjusted[index], scored.span, LEANS),
            "by": compared.by,
            **_with_ends("lean", lean, index),
            "p_adjusted": adjusted[index],
            "flip_p": flip_p[index],
            "mean": sign * float(answers[own].mean()),
            "outputs": int(own.sum()),
            "contents": len(np.unique(scored.content[own])),
            **figures,
            "top_share": top_share,
            "span": scored.span,
            "undefined": "; ".join(undefined),
        }


def _largest(scored: ScoredOutputs) -> str:
    """English if it was judged, else the language with the most outputs."""
    if "en" in scored.languages:
        return "en"
    outputs = np.bincount(scored.language, minlength=len(scored.languages))
    return scored.languages[int(outputs.argmax())]


def _with_ends(name: str, shifts: Shifts | None, index: int) -> dict[str, float]:
    if shifts is None or not math.isfinite(shifts.value[index]):
        return NO_BOUNDS.columns(name)
    return shifts.bounds(index).columns(name)


def _beside_people(
    scored: ScoredOutputs, answers: Numbers, panel: Numbers, rated: Any
) -> tuple[dict[str, Shifts], dict[int, str]]:
    """The results of `shifts_beside_people`, and for each language why it has no gap."""
    if not rated.any():
        reason = "none of the outputs was rated by people as well"
        return {}, dict.fromkeys(range(len(scored.languages)), reason)
    items = RatedItems(
        answers[rated],
        panel[rated],
        scored.language[rated],
        scored.source[rated],
        len(scored.languages),
    )
    figures = shifts_beside_people(items)
    why = {}
    for index, reliability in enumerate(figures["reliability"].value):
        outputs = int((items.language == index).sum())
        if outputs < LEAST:
            why[index] = f"{plural(outputs, 'output')} rated by people, {LEAST} needed"
        elif reliability < LEAST_RELIABILITY:
            why[index] = f"people's reliability is {reliability:.2f}, {LEAST_RELIABILITY:g} needed"
        elif math.isnan(reliability):
            why[index] = "one person per output, so their noise is unknown"
        else:
            why[index] = "no other language has a gap"
    return figures, why


def _parallel(scored: ScoredOutputs, values: Numbers, use: Any) -> tuple[Shifts | None, str]:
    """The shifts on the same contents, or the reason why there are none."""
    try:
        shifts = parallel_shifts(
            values[use],
            scored.language[use],
            scored.unit[use],
            scored.content[use],
            len(scored.languages),
        )
    except Undefined as error:
        return None, str(error)
    return shifts, "too few contents that exist in another language as well"
