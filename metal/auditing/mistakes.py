"""What a judge gets wrong, beside what a person gets wrong: class by class, and where people are less certain.

Judge and person face the same labels as in a verdict (metal.auditing.standing): the most frequent label of the people
but one, all people taken together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metal.auditing.figures import Resampled, columns
from metal.auditing.judging import JudgedItems
from metal.auditing.standing import Standing
from metal.data.ratings import UNANSWERED
from metal.data.records import Estimate
from metal.stats.aggregate import CASES
from metal.stats.intervals import interval_of_sums
from metal.stats.patterns import Codes, Numbers, class_counts, ratio
from metal.stats.standing import others_labels

NEVER = "nobody's label"
NOT_SAID = "never answered"
NO_PERSON = "one person per item"


class Mistakes:
    """The answers of a judge and of the people to each label of the other people.

    judge, person: (levels, levels) how often class t was answered a; person is None with one person per item.
    """

    def __init__(self, beside: Standing) -> None:
        self.beside, levels = beside, beside.cell.levels
        votes = class_counts(beside.people, levels)
        self.judge, self.person = np.zeros((levels, levels)), None if beside.gold else np.zeros((levels, levels))
        # What each pattern adds to recall and precision of each class: hits, and the weights they are shares of.
        self.hits = np.zeros((len(beside.answers), levels))
        self.true, self.said = np.zeros_like(self.hits), np.zeros_like(self.hits)
        answers = beside.answers
        for seat in beside.seats:
            own = beside.people[:, seat]
            weight = others_labels(beside.people, seat, votes) * (own >= 0)[:, None]
            self.judge += _answered(beside.drawn.observed, weight, answers, levels)
            if self.person is not None:
                self.person += _answered(beside.drawn.observed, weight, own, levels)
            chosen = np.arange(len(answers)), answers
            self.hits[chosen] += weight[chosen]
            self.true += weight
            self.said[chosen] += weight.sum(axis=1)

    def share(self, level: int, of: Numbers, reason: str) -> Estimate:
        """The hits of a class as a share of a weight, with its interval."""
        items = self.items(of, level)
        if not items:
            return Estimate.undefined(reason)
        added, times = self.beside.drawn.kinds(np.stack([self.hits[:, level], of[:, level]], axis=1))
        above, below = times @ added
        return Estimate(above / below, *interval_of_sums(added, times, items), n=round(items))

    def items(self, of: Numbers, level: int) -> float:
        """The items behind a weight: an item counts once, for however many people it is added up."""
        seats = np.maximum(self.true.sum(axis=1), 1e-12)
        return float(self.beside.drawn.observed @ (of[:, level] / seats))


def _answered(times: Codes, weight: Numbers, answers: Codes, levels: int) -> Numbers:
    """(levels, levels) the weight of each class by what was answered."""
    answered = np.zeros((levels, levels))
    np.add.at(answered.T, answers[answers >= 0], (weight * times[:, None])[answers >= 0])
    return answered


def class_rows(mistakes: Mistakes) -> Iterator[dict[str, Any]]:
    """A row for each class: recall and precision of the judge beside a person's, and what the judge says instead."""
    if not len(mistakes.beside.items):
        return
    judge, person = mistakes.judge, mistakes.person
    levels = mistakes.beside.cell.criterion.scale.levels
    for place, level in enumerate(levels):
        if not (judge[place].any() or judge[:, place].any() or (person is not None and person[:, place].any())):
            continue
        figures = {
            "recall": mistakes.share(place, mistakes.true, NEVER),
            "precision": mistakes.share(place, mistakes.said, NOT_SAID),
        }
        of_person = [_share(person, place, axis) for axis in (1, 0)]
        yield {
            **_where(mistakes.beside),
            "level": level.shown,
            "items": mistakes.items(mistakes.true, place),
            **columns(figures),
            "person_recall": of_person[0],
            "person_precision": of_person[1],
            "judge_share": float(judge[:, place].sum() / judge.sum()),
            "people_share": float(judge[place].sum() / judge.sum()),
            "undefined": "; ".join(
                f"{name}: {estimate.reason}" for name, estimate in figures.items() if estimate.value is None
            ),
        }


def _share(confused: Numbers | None, place: int, axis: int) -> float:
    """Recall (axis 1) or precision (axis 0) of a class; NaN where undefined."""
    if confused is None:
        return float("nan")
    return float(ratio(confused[place, place], confused.sum(axis=axis)[place]))


def confusion_rows(mistakes: Mistakes) -> Iterator[dict[str, Any]]:
    """A row for each label of the people and answer of the judge that occur together, with shares of the label."""
    judge, person = mistakes.judge, mistakes.person
    levels = mistakes.beside.cell.criterion.scale.levels
    share = ratio(judge, judge.sum(axis=1, keepdims=True))
    of_person = ratio(person, person.sum(axis=1, keepdims=True)) if person is not None else np.full_like(share, np.nan)
    occurs = (judge > 0) | (np.nan_to_num(of_person) > 0)
    for people_say, says in np.argwhere(occurs).tolist():
        yield {
            **_where(mistakes.beside),
            "people_say": levels[people_say].shown,
            "judge_says": levels[says].shown,
            "share": float(share[people_say, says]),
            "person_share": float(of_person[people_say, says]),
        }


def certainty_rows(judged: JudgedItems) -> Iterator[dict[str, Any]]:
    """A row for each case of agreement among people: how often the judge gives their aggregate class."""
    cell = judged.cell
    answered = judged.answers > UNANSWERED
    items = judged.items[answered]
    equal = judged.answers[answered] == judged.truth[answered]
    drawn = Resampled(np.column_stack([cell.case[items], equal]), cell.matrix.sources[items], judged.bootstrap)
    for code, case in enumerate(CASES):
        here = drawn.rows[:, 0] == code
        if here.any():
            added, times = drawn.kinds(np.stack([here & (drawn.rows[:, 1] == 1), here], axis=1).astype(np.int64))
            above, below = times @ added
            share = Estimate(above / below, *interval_of_sums(added, times, below), n=int(below))
            yield {
                "language": cell.language,
                "criterion": cell.criterion.name,
                "judge": judged.judge,
                "case": case,
                "items": int(below),
                **columns({"percent_agreement": share}),
            }


def _where(beside: Standing) -> dict[str, str]:
    return {"language": beside.cell.language, "criterion": beside.cell.criterion.name, "judge": beside.judge}
