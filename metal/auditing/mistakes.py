"""What a judge gets wrong compared with a person: class by class, and by how certain people are.

Judge and person face the same labels as in a verdict (metal.auditing.standing): the most frequent
label of all people but one, pooled over people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metal.auditing.figures import Resampled, columns, undefined_note
from metal.auditing.judging import JudgedItems
from metal.auditing.standing import Standing
from metal.data.ratings import UNANSWERED
from metal.data.records import Estimate
from metal.stats.aggregate import CASES
from metal.stats.intervals import interval_of_sums
from metal.stats.patterns import Numbers, ratio


class Mistakes:
    """The answers of a judge and of the people to each label of the other people.

    judge, person: (levels, levels) how often class t (row) was answered with class a (column);
    person is NaN if items have one person. true, said, hits: (kinds, levels) what each kind of item
    adds to the count of the true class, of the judge's answer, and of both together.
    """

    def __init__(self, beside: Standing) -> None:
        self.beside, self.side = beside, beside.whole
        side, levels = self.side, beside.cell.levels
        self.true, self.hits = side.weight, side.weight * side.said
        self.said = self.true.sum(axis=1, keepdims=True) * side.said
        self.judge = (self.true * side.times[:, None]).T @ side.said
        self.person = np.full((levels, levels), np.nan)
        if not beside.gold:
            people = beside.paired
            items = np.bincount(people.kind, weights=people.times, minlength=people.seats.kinds)
            at_seat = people.seats.times * items[people.seats.item]
            self.person = (people.seats.target * at_seat[:, None]).T @ (
                people.seats.own[:, None] == np.arange(levels)
            )

    def share(self, level: int, of: Numbers, reason: str) -> Estimate:
        """The hits of a class as a share of a weight, with its interval."""
        items = self.items(of, level)
        if not items:
            return Estimate.undefined(reason)
        by = self.side.by
        added = by.rows(np.stack([self.hits[:, level], of[:, level]], axis=1))
        above, below = by.total(added)
        return Estimate(
            float(above / below), *interval_of_sums(added, by.times, items), n=round(items)
        )

    def items(self, of: Numbers, level: int) -> float:
        """The number of items behind a weight. An item counts once, even if it has a weight for
        several people.
        """
        seats = np.maximum(self.true.sum(axis=1), 1e-12)
        return float(self.side.times @ (of[:, level] / seats))


def class_rows(mistakes: Mistakes) -> Iterator[dict[str, Any]]:
    """A row for each class that occurs: recall and precision of the judge and of a person."""
    judge, person = mistakes.judge, mistakes.person
    recall, precision = (ratio(np.diag(person), person.sum(axis=axis)) for axis in (1, 0))
    for code, level in enumerate(mistakes.beside.cell.criterion.scale.levels):
        if judge[code].any() or judge[:, code].any():
            figures = {
                "recall": mistakes.share(code, mistakes.true, "nobody's label"),
                "precision": mistakes.share(code, mistakes.said, "never answered"),
            }
            yield {
                **_where(mistakes.beside),
                "level": level.shown,
                "items": mistakes.items(mistakes.true, code),
                **columns(figures),
                "person_recall": float(recall[code]),
                "person_precision": float(precision[code]),
                "judge_share": float(judge[:, code].sum() / judge.sum()),
                "people_share": float(judge[code].sum() / judge.sum()),
                "undefined": undefined_note(figures),
            }


def confusion_rows(mistakes: Mistakes) -> Iterator[dict[str, Any]]:
    """A row for each pair of a people's label and a judge's answer that occurs, with the share of
    the label's items that got this answer.
    """
    judge, person = mistakes.judge, mistakes.person
    levels = mistakes.beside.cell.criterion.scale.levels
    share = ratio(judge, judge.sum(axis=1, keepdims=True))
    of_person = ratio(person, person.sum(axis=1, keepdims=True))
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
    """A row for each case of agreement among people: how often the judge gives people's aggregate
    class.
    """
    cell = judged.cell
    answered = judged.answers > UNANSWERED
    items = judged.items[answered]
    equal = judged.answers[answered] == judged.truth[answered]
    drawn = Resampled(
        np.column_stack([cell.case[items], equal]), cell.matrix.sources[items], judged.bootstrap
    )
    for code, case in enumerate(CASES):
        here = drawn.rows[:, 0] == code
        if here.any():
            added, times = drawn.kinds(
                np.stack([here & (drawn.rows[:, 1] == 1), here], axis=1).astype(np.int64)
            )
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
    return {
        "language": beside.cell.language,
        "criterion": beside.cell.criterion.name,
        "judge": beside.judge,
    }
