"""Pairs of a reference and an output in blind random order: their scores turned so that more is better for the output.

This is the one place where they are turned, for every form: before answers become ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from metal.building.answers import read_score
from metal.building.tasks import Answer
from metal.data.records import Criterion, Scale


@dataclass(frozen=True)
class Pair:
    """What is known of a pair that was handed out.

    output_first: whether the output was the first of the two texts, the reference the second. compared: the criteria
    that say how the second compares with the first, with the words that people saw.
    """

    output_first: bool
    compared: Mapping[str, Criterion]


def turned(answers: Iterable[Answer], pairs: Mapping[str, Pair]) -> list[Answer]:
    """The answers with what was said of pairs turned to the output's side. pairs: by task.

    Raises DataError for a score off the scale, as `answers.read_score`. Criteria that compare nothing, blanks, and
    answers to other tasks stay as they are.
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
    """The score as far from the one end of the scale as this is from the other: of n levels the i-th from the top for
    the i-th, of a range low + high - score. Twice mirrored it is the score again, but for rounding."""
    if scale.levels:
        return scale.values[-1 - scale.values.index(score)]
    if scale.low is None or scale.high is None:
        raise ValueError("a scale without ends cannot be turned round")
    return min(max(scale.low + scale.high - score, scale.low), scale.high)
