"""Pairs of a reference and an output in blind random order: scores are turned so that more is better for the output.

This is the only place that turns them, for every form, before answers become ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from metal.building.answers import read_score
from metal.building.tasks import Answer
from metal.data.records import Criterion, Scale


@dataclass(frozen=True)
class Pair:
    """A pair that was handed out.

    output_first: whether the output was the first of the two texts and the reference the second. compared: the
    criteria that say how the second text compares with the first, with the labels that people saw.
    """

    output_first: bool
    compared: Mapping[str, Criterion]


def turned(answers: Iterable[Answer], pairs: Mapping[str, Pair]) -> list[Answer]:
    """The answers, with comparisons turned so that they rate the output. pairs: by task.

    Criteria that do not compare, blanks, and answers to other tasks stay as they are. Raises DataError for a score off
    the scale, as `answers.read_score` does.
    """
    return [_turned(answer, pairs[answer.task]) if answer.task in pairs else answer for answer in answers]


def _turned(answer: Answer, pair: Pair) -> Answer:
    scores = dict(answer.scores)
    for name, criterion in pair.compared.items():
        score = read_score(scores.get(name, ""), criterion, answer.where)
        if score is not None:
            scores[name] = repr(float(mirrored(score, criterion.scale) if pair.output_first else score))
    return replace(answer, scores=scores)


def mirrored(score: float, scale: Scale) -> float:
    """The score at the same distance from the other end of the scale.

    On levels, the i-th from the bottom becomes the i-th from the top; on a range the result is low + high - score.
    Mirroring twice gives the score again, up to rounding.

    >>> mirrored(2, Scale("interval", (), 1, 5))
    4
    """
    if scale.levels:
        return scale.values[-1 - scale.values.index(score)]
    if scale.low is None or scale.high is None:
        raise ValueError("a scale without ends cannot be turned round")
    return min(max(scale.low + scale.high - score, scale.low), scale.high)
