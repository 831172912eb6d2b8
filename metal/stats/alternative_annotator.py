"""The alternative annotator test: may a judge stand in for one of the people?

Each person is left out in turn. On each item, the test asks whether the person or the judge is
closer to the remaining people. Source: Calderon, Reichart and Dror (ACL 2025), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import benjamini_yekutieli, t_cdf

# How much worse than a person a judge may be, as the price of a person (section 3.3 of the paper).
EPSILON = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
MIN_ITEMS = 30
Q = 0.05
MOST_ONE_BY_ONE = 200  # people; the answers of more are counted
WILCOXON_MIN_ITEMS = 6  # below, no outcome of the signed-rank test is significant

Closeness = Literal["agreement", "distance"]


@dataclass(frozen=True)
class PersonTest:
    """The judge against one left-out person.

    items: the number of common items. judge_wins: share of items on which the judge is at least as
    close to the other people as the left-out person; person_wins: the same for the person. p:
    p-value of the hypothesis that the person's lead reaches epsilon. It is None, with the reason,
    if the test could not be run, and 0 or 1 if the lead is the same on every item.
    """

    items: int
    judge_wins: float | None = None
    person_wins: float | None = None
    p: float | None = None
    rejected: bool = False
    reason: str = ""


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """The result of the test.

    winning_rate: share of tested people whose lead over the judge is shown to be below epsilon; the
    judge passes at 0.5 or more.

    advantage: the judge's mean share of wins against the people with enough items.
    """

    winning_rate: float
    advantage: float
    epsilon: float
    passed: bool
    people: tuple[PersonTest, ...]


def alternative_annotator_test(
    people: Numbers,
    judge: Numbers,
    *,
    epsilon: float,
    closeness: Closeness = "agreement",
    wilcoxon: bool = False,
) -> AlternativeAnnotatorTest:
    """Test whether the judge does at least as well as people.

    people: (items, people) values, NaN if a person did not rate; judge: (items,) values, NaN if it
    gave none. closeness: "agreement" (mean equality with the others; nominal labels) or "distance"
    (minus the root mean squared difference; ordinal and interval). wilcoxon: also test people with
    fewer than 30 items, by Wilcoxon's signed-rank test; otherwise they are left out. Raises
    Undefined if fewer than two people share items with the judge, or if nobody could be tested.
    """
    people = np.asarray(people, dtype=np.float64)
    judge = np.asarray(judge, dtype=np.float64)
    rated = ~np.isnan(people)
    usable = ~np.isnan(judge) & (rated.sum(axis=1) >= 2)
    if not usable.any():
        raise Undefined("no item rated by the judge and two or more people")
    judge, rated = judge[usable], np.ascontiguousarray(rated[usable].T)
    people = np.where(rated, people[usable].T, 0.0)
    panel = _Panel(people, rated, closeness)
    results = [_person(panel, judge, person, epsilon, wilcoxon) for person in range(len(people))]
    return _conclude(results, epsilon)


@dataclass(frozen=True)
class _Panel:
    """The people's values. people: (people, items), 0 if a person did not rate; rated: (people,
    items) whether the person rated.
    """

    people: Numbers
    rated: Codes
    closeness: Closeness

    def distance(self, answer: Numbers, left_out: int) -> Numbers:
        """(items,) the distance of an answer from the remaining people, as a sum over these people.

        Judge and person are compared with the same number of people. So sums of disagreements or
        squared differences have the same order as means or their roots, and whole numbers have no
        rounding errors.
        """
        if len(self.people) > MOST_ONE_BY_ONE:
            return self._far(answer, *self._counted) - self._far(answer, *self._own(left_out))
        far = np.zeros(len(answer))
        for person in range(len(self.people)):
            if person != left_out:
                far += self._far(answer, *self._own(person))
        return far

    def _own(self, person: int) -> tuple[Numbers, Codes]:
        return self.people[person][None], self.rated[person][None]

    @cached_property
    def _counted(self) -> tuple[Numbers, Codes]:
        """(values, 1) the values that occur, and (values, items) how many people gave each."""
        values = np.unique(self.people[self.rated])
        counts = [((self.people == value) & self.rated).sum(axis=0) for value in values]
        return values[:, None], np.stack(counts)

    def _far(self, answer: Numbers, answers: Numbers, times: Codes) -> Numbers:
        cost = answer != answers if self.closeness == "agreement" else (answer - answers) ** 2
        return np.asarray((cost * times).sum(axis=0), dtype=np.float64)


def _person(
    panel: _Panel, judge: Numbers, person: int, epsilon: float, wilcoxon: bool
) -> PersonTest:
    items = panel.rated[person]
    count = int(items.sum())
    floor = WILCOXON_MIN_ITEMS if wilcoxon else MIN_ITEMS
    if count < floor:
        return PersonTest(count, reason=f"fewer than {floor} items")
    far_judge = panel.distance(judge, person)[items]
    far_person = panel.distance(panel.people[person], person)[items]
    judge_wins = (far_judge <= far_person).astype(np.float64)
    person_wins = (far_person <= far_judge).astype(np.float64)
    lead = person_wins - judge_wins
    shares = float(judge_wins.mean()), float(person_wins.mean())
    if (lead == lead[0]).all():  # t is infinite
        return PersonTest(count, *shares, float(lead[0] >= epsilon))
    if count >= MIN_ITEMS:
        return PersonTest(count, *shares, _t_test_p(lead - epsilon))
    from scipy.stats import wilcoxon as signed_rank_test

    p = float(signed_rank_test(lead - epsilon, alternative="less").pvalue)
    return PersonTest(count, *shares, p, reason="Wilcoxon")


def _t_test_p(shifted: Numbers) -> float:
    """One-sided one-sample t test that the mean is below 0."""
    error = shifted.std(ddof=1) / np.sqrt(len(shifted))
    return t_cdf(float(shifted.mean() / error), len(shifted) - 1)


def _conclude(results: Sequence[PersonTest], epsilon: float) -> AlternativeAnnotatorTest:
    advantages = [result.judge_wins for result in results if result.judge_wins is not None]
    adjusted = benjamini_yekutieli([np.nan if result.p is None else result.p for result in results])
    tested = int((~np.isnan(adjusted)).sum())
    if not advantages or not tested:
        why = sorted({result.reason for result in results if result.reason})
        raise Undefined("nobody could be tested: " + "; ".join(why))
    people = tuple(
        replace(result, rejected=bool(p <= Q)) for result, p in zip(results, adjusted, strict=True)
    )
    rate = sum(person.rejected for person in people) / tested
    return AlternativeAnnotatorTest(rate, float(np.mean(advantages)), epsilon, rate >= 0.5, people)
