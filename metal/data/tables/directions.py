"""Which end of a criterion's scale is better, judged by its labels, its name, or its name and
scores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from metal.data.metal_criteria import metal_criterion
from metal.data.records import Criterion, Direction, Scale
from metal.data.tables.cells import fold
from metal.data.tables.levels import metal_name
from metal.data.tables.names import (
    ABSENCE,
    GRADES_1_BEST,
    GRADES_EITHER_WAY,
    OPPOSITE,
    PENALTIES,
    WORSE,
)
from metal.data.tables.word_orders import order_of

Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

# Why a direction is what it is, where a guess is all there is.
BY_NAME, BY_SCORES, ASSUMED = (
    "judging by its name",
    "judging by its name and scores; see `directions`",
    "assumed; see `directions`",
)
GUESSED = (BY_NAME, BY_SCORES, ASSUMED)
WORST_PENALTY = 25  # of a segment in MQM; scores that are mostly above it are points out of 100
WORST_GRADE = 6  # of a school where 1 is the best
# Words that say how bad an error is: the least severe is the best, whatever is asked.
_SEVERITIES = frozenset(
    {"none", "no", "no error", "neutral", "minor", "moderate", "major", "severe", "critical"}
)
_ANCHOR = re.compile(
    r"(\d+)\s*[-–=:(]?\s*(best|excellent|very good|good|worst|terrible|very bad|very"
    r" poor|bad|poor)\b"
)


def direction_of(name: str, scale: Scale, scores: Scores) -> Direction:
    """The direction guessed for a table's criterion.

    scores: all its scores, NaN for no answer.
    """
    if _of_quality(scale):
        return "higher"
    if _of_severity(scale):
        return "lower"
    anchors = [level.shown for level in scale.levels if _ANCHOR.match(fold(level.shown))]
    if anchors:
        return guessed_direction(", ".join([name, *anchors]))
    return _by_scores(name, scores) or guessed_direction(name)


def _by_scores(name: str, scores: Scores) -> Direction | None:
    """The direction of penalties and school grades, as their scores show it; None for other
    criteria.
    """
    answered = scores[~np.isnan(scores)]
    if not len(answered) or metal_name(name):
        return None
    folded = fold(name)
    if PENALTIES.search(folded):
        if answered.min() >= 0 and answered.max() > 0:
            return "lower" if np.median(answered) <= WORST_PENALTY else None
        return "higher" if answered.max() <= 0 else None
    if GRADES_1_BEST.search(folded) and answered.min() >= 1 and answered.max() <= WORST_GRADE:
        return "lower"
    return None


def _of_quality(scale: Scale) -> bool:
    """Whether the labels are like bad < good, so that the last is better whatever the criterion is,
    even for hallucinations.
    """
    return (order_of([level.label for level in scale.levels]) or ("",))[0] == "quality"


def _of_severity(scale: Scale) -> bool:
    """Whether the labels are none < minor < major < critical, or at least some of these that only
    describe errors.
    """
    labels = {fold(level.label) for level in scale.levels}
    return labels <= _SEVERITIES and len(labels & {"minor", "major", "critical"}) > 1


def guessed_direction(name: str) -> Direction:
    """METAL's direction of the criterion, or `lower` for a name of something undesirable."""
    if metal_name(name):
        return metal_criterion(metal_name(name)).direction
    folded = fold(name)
    good = ("best", "excellent", "good")
    ends = {word.split()[-1] in good: float(number) for number, word in _ANCHOR.findall(folded)}
    if len(ends) == 2:  # `1=best, 6=worst`
        return "lower" if ends[True] < ends[False] else "higher"
    return (
        "lower"
        if OPPOSITE.search(folded) or (WORSE.search(folded) and not ABSENCE.search(folded))
        else "higher"
    )


def why_direction(criterion: Criterion, scores: Scores, *, declared: bool) -> str:
    """The reason for the direction of a table's criterion; one of GUESSED if it is only a guess."""
    if declared:
        return "as told"
    if not _of_quality(criterion.scale) and criterion.direction == _by_scores(
        criterion.name, scores
    ):
        return BY_SCORES
    of_severity = _of_severity(criterion.scale) and criterion.direction == "lower"
    if (
        _of_quality(criterion.scale)
        or of_severity
        or criterion.direction != guessed_direction(criterion.name)
    ):
        return "judging by its labels"
    if metal_name(criterion.name):
        return "METAL's criterion"
    return ASSUMED if criterion.direction == "higher" else BY_NAME


def notes_on_directions(
    criteria: Sequence[Criterion], scores_of: Mapping[str, Scores], declared: Collection[str]
) -> list[str]:
    """Notes on which scores count as better, and why.

    declared: the criteria whose direction an option sets.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    # by order
    compared = [
        each for each in criteria if each.scale.measure != "nominal" or len(each.scale.levels) < 3
    ]
    for criterion in compared:
        why = why_direction(
            criterion, scores_of[criterion.name], declared=criterion.name in declared
        )
        reasons.setdefault((criterion.direction, why), []).append(criterion.name)
    if len(reasons) == 1 and len(compared) == len(criteria) > 2:
        reasons = {key: ["all criteria"] for key in reasons}
    return [
        f"{', '.join(names)}: {direction} is better ({why})"
        for (direction, why), names in reasons.items()
    ]


def doubtful_directions(
    criteria: Sequence[Criterion], scores_of: Mapping[str, Scores], declared: Collection[str]
) -> list[str]:
    """The criteria whose names are those of penalties or school grades and whose direction is only
    assumed, which is often wrong.
    """
    doubtful = []
    for criterion in criteria:
        folded = fold(criterion.name)
        either_way = (
            PENALTIES.search(folded)
            or GRADES_1_BEST.search(folded)
            or GRADES_EITHER_WAY.search(folded)
        )
        why = why_direction(
            criterion, scores_of[criterion.name], declared=criterion.name in declared
        )
        if either_way and why == ASSUMED:
            doubtful.append(criterion.name)
    return doubtful
