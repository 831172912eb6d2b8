"""The scores of the board's rows on each criterion of a dataset, and of several criteria combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metal.boards.cell import ScaleEnds
from metal.data.dataset import Dataset
from metal.data.records import Criterion
from metal.errors import UsageError
from metal.stats.patterns import Codes, Numbers, ratio

# Equal scores that were computed in another order differ beyond this many digits of a rater's largest.
_DIGITS = 12


@dataclass(frozen=True)
class CriterionScores:
    """Sums and counts of one criterion's scores by board row and output; row 0 is the reference."""

    criterion: Criterion
    sums: Numbers  # (rows, outputs)
    counts: Numbers
    ratings: Numbers  # (ratings of reference people,)
    output: Codes  # the output of each of these ratings
    person: Codes  # and its rater

    @cached_property
    def means(self) -> Numbers:
        """(rows, outputs), NaN where nobody answered."""
        return np.asarray(ratio(self.sums, self.counts))

    @cached_property
    def scale(self) -> ScaleEnds:
        """The ends of the criterion's scale, negated where lower is better."""
        levels = self.criterion.scale.values
        low, high = (min(levels), max(levels)) if levels else (self.criterion.scale.low, self.criterion.scale.high)
        if low is None or high is None:
            return ScaleEnds(None, None)
        return ScaleEnds(-high, -low) if self.criterion.direction == "lower" else ScaleEnds(low, high)


def criterion_scores(dataset: Dataset, row_of: Mapping[str, int], rows: int) -> dict[str, CriterionScores]:
    """The scores of each criterion, in the declared order. row_of: the board row of each rater, -1 for none."""
    table = dataset.ratings
    place = {name: index for index, name in enumerate(dataset.outputs)}
    output_of = np.array([place[name] for name in table["output"].cat.categories], dtype=np.int64)
    row = np.array([row_of.get(name, -1) for name in table["rater"].cat.categories], dtype=np.int64)
    score = table["score"].to_numpy()
    rows_of = row[table["rater"].cat.codes.to_numpy()] if len(row) else np.zeros(0, dtype=np.int64)
    outputs = output_of[table["output"].cat.codes.to_numpy()] if len(output_of) else np.zeros(0, dtype=np.int64)
    criterion = table["criterion"].cat.codes.to_numpy()
    given = ~np.isnan(score) & (rows_of >= 0)
    shape = (rows, len(place))
    size = rows * len(place)
    scores = {}
    for code, name in enumerate(table["criterion"].cat.categories):
        answers = np.flatnonzero(given & (criterion == code))
        sign = -1.0 if dataset.criteria[name].direction == "lower" else 1.0
        cell = rows_of[answers] * len(place) + outputs[answers]
        people = answers[rows_of[answers] == 0]
        scores[name] = CriterionScores(
            dataset.criteria[name],
            np.bincount(cell, sign * score[answers], minlength=size).astype(np.float64).reshape(shape),
            np.bincount(cell, minlength=size).astype(np.float64).reshape(shape),
            sign * score[people],
            outputs[people],
            table["rater"].cat.codes.to_numpy()[people].astype(np.int64),
        )
    return {name: scores[name] for name in dataset.criteria if name in scores}


def can_be_combined(parts: Sequence[CriterionScores]) -> bool:
    """Whether criteria have one scale, or ranges to take shares of."""
    scales = {part.scale for part in parts}
    return len(scales) == 1 or all(scale.low is not None for scale in scales)


def combined(
    parts: Sequence[CriterionScores],
) -> tuple[Numbers, ScaleEnds, Callable[[Codes], tuple[Numbers, Numbers]]]:
    """One criterion's, or several criteria's mean: (rows, outputs) scores; their scale; and a function of a mask of
    outputs that gives each reference person's score and the mean of the others'.

    Criteria with different scales are combined as shares of their ranges. Raises UsageError where one has no range.
    """
    scales = {part.scale for part in parts}
    ends = [_ends(part) if len(scales) > 1 else (0.0, 1.0) for part in parts]
    scale = scales.pop() if len(scales) == 1 else ScaleEnds(0.0, 1.0)
    means = sum((part.means - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True))

    width = 1 + max((int(part.person.max(initial=0)) for part in parts), default=0)
    keys = np.concatenate([part.output * width + part.person for part in parts])
    values = [(part.ratings - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True)]
    key, which, count = np.unique(keys, return_inverse=True, return_counts=True)
    by_person = np.bincount(which, np.concatenate(values)) / len(parts)
    output_of = key // width

    def each_against_others(items: Codes) -> tuple[Numbers, Numbers]:
        complete = (count == len(parts)) & items[output_of]
        own, output = by_person[complete], output_of[complete]
        people = np.bincount(output, minlength=len(items))[output].astype(np.float64)
        total = np.bincount(output, own, minlength=len(items))[output]
        return own, np.asarray(ratio(total - own, people - 1))

    return np.asarray(means / len(parts)), scale, each_against_others


def _ends(part: CriterionScores) -> tuple[float, float]:
    """The ends of a scale that is combined with others."""
    if part.scale.low is None or part.scale.high is None:
        raise UsageError(
            f"overall: {part.criterion.name} has no range, and the criteria have different scales; "
            "declare range = [LOW, HIGH] in dataset.toml, or choose criteria with `criteria`"
        )
    return part.scale.low, part.scale.high


def without_rounding(scores: Numbers) -> Numbers:
    """(items,) one rater's scores with their last digits rounded, so that equal scores are equal whatever the order in
    which they were added up.
    """
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if largest < 1e-200:
        return scores
    return np.asarray(np.round(scores, _DIGITS - math.ceil(math.log10(largest))))
