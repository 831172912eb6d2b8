"""Class-balanced agreement of a judge and of people with the others' labels, and its variance over
sources.

The recall of a class is the share of its weight that was answered right. Agreement is the mean
recall over the classes, so a rare class counts as much as a common class. x is the judge's
agreement and y a person's, both minus `constant`, the agreement of a constant answer. All limits
come from a linearised variance of x - k y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from metal.stats.interval import Bounds
from metal.stats.measured import Measured, P, fieller, quantile
from metal.stats.patterns import Codes, Numbers
from metal.stats.source_sums import Draws, SourceSums

# of the binomial variance of a recall, under which a variance over sources is not believed
_FLOOR = 0.25


@dataclass(frozen=True)
class ClassSums:
    """What each source adds, (rows, levels) each: the weight of each label, and the parts of it
    that the judge and people hit.

    items: (levels,) how many items have each label; an item counts once, however many seats it has.
    held: (levels,) how many sources have the label.
    """

    by: SourceSums
    weight: Numbers
    judge: Numbers
    person: Numbers
    items: Numbers

    @cached_property
    def held(self) -> Numbers:
        """(levels,) how many sources have a weight of each label."""
        return np.asarray(self.by.times @ (self.weight > 0))

    @cached_property
    def recalls(self) -> tuple[Numbers, Numbers, Numbers]:
        """(levels,) the weight of each label, and the recalls of judge and people, which are NaN
        without weight.
        """
        weight, judge, person = map(self.by.total, (self.weight, self.judge, self.person))
        safe = np.where(weight > 0, weight, np.nan)
        return weight, judge / safe, person / safe

    def of(self, classes: Codes) -> Recalls:
        """The agreement over only some of the labels."""
        return Recalls(self, classes)


class Recalls:
    """Agreement, as a mean recall over some classes: of the judge, of a person, and of a constant
    answer.
    """

    def __init__(self, sums: ClassSums, classes: Codes) -> None:
        by, count = sums.by, len(classes)
        weight, of_judge, of_person = (each[classes] for each in sums.recalls)
        self.judge, self.person = float(of_judge.mean()), float(of_person.mean())
        # of one label, the recall itself is looked at
        self.constant = 1 / count if count > 1 else 0.0
        parts = []
        for rows, recall in ((sums.judge, of_judge), (sums.person, of_person)):
            parts.append((rows[:, classes] - recall * sums.weight[:, classes]) / (count * weight))
        judge, person = parts
        squares = [
            by.times @ (left * right)
            for left, right in ((judge, judge), (judge, person), (person, person))
        ]
        all_classes = judge.sum(axis=1), person.sum(axis=1)
        self._whole = [
            float(by.times @ (all_classes[left] * all_classes[right]))
            for left, right in ((0, 0), (0, 1), (1, 1))
        ]  # of all classes together
        items = sums.items[classes]
        few = np.maximum(np.minimum(items, sums.held[classes]) - 1, 1)
        floors = [_FLOOR * _binomial(recall, items) / count**2 for recall in (of_judge, of_person)]
        # of each class; plain numbers, as `variance` is asked often and classes are few
        self._classes = np.stack([*squares, *floors, few], axis=1).tolist()
        self._n, self._larger = by.n, by.n / max(by.n - 1, 1)
        self.influence = all_classes
        self._sums, self._of = sums, classes

    def variance(self, a: float, k: float) -> tuple[float, float]:
        """The variance of a * x - k * y, and its degrees of freedom.

        The variance of a class is at least a quarter of a binomial variance. The degrees of freedom
        follow from the variances of the classes (Satterthwaite 1946). A class has one degree of
        freedom less than the items or sources that have it.
        """
        aa, ak, kk = a * a, 2 * a * k, k * k
        judge, both, person = self._whole
        all_classes = (aa * judge - ak * both + kk * person) * self._larger
        together, spread = 0.0, 0.0
        for judge, both, person, judge_floor, person_floor, few in self._classes:
            of_class = (aa * judge - ak * both + kk * person) * self._larger
            least = aa * judge_floor + kk * person_floor
            if of_class < least:
                all_classes += least - of_class
                of_class = least
            together += of_class
            spread += of_class**2 / few
        df = together**2 / spread if spread > 0 else self._n - 1.0
        return all_classes, min(max(df, 1.0), max(self._n - 1.0, 1.0))

    def measured(self, a: float, k: float) -> Measured:
        """The figure a * x - k * y with its standard error."""
        variance, df = self.variance(a, k)
        value = a * (self.judge - self.constant) - k * (self.person - self.constant)
        return Measured(value, math.sqrt(max(variance, 0.0)), df, partial(self._again, a, k))

    def _again(self, a: float, k: float, draws: Draws, alike: bool) -> tuple[Numbers, Numbers]:
        """(draws,) a * x - k * y and its standard error, for sources drawn again; see
        `Measured.again`.
        """
        by, of, count = self._sums.by, self._of, len(self._of)
        weight, judge, person = (
            each[:, of] for each in (self._sums.weight, self._sums.judge, self._sums.person)
        )
        times = by.drawn(draws)
        larger = (n := times.sum(axis=1)) / np.maximum(n - 1, 1)
        weights = np.where((total := times @ weight) > 0, total, np.nan)
        of_judge, of_person = times @ judge / weights, times @ person / weights
        above, gap = a * judge - k * person, a * of_judge - k * of_person
        per = 1 / (count * weights)
        together = larger * (times * (per @ above.T - (gap * per) @ weight.T) ** 2).sum(axis=1)
        squares = (
            times @ above**2 - 2 * gap * (times @ (above * weight)) + gap**2 * (times @ weight**2)
        )
        items = self._sums.items[of] * weights / by.total(weight)
        floors = (
            times_of * _binomial(recall, items)
            for times_of, recall in ((a * a, of_judge), (k * k, of_person))
        )
        least = _FLOOR * sum(floors) / count**2
        together += np.maximum(least - larger[:, None] * squares * per**2, 0).sum(axis=1)
        x, y = (recalls.mean(axis=1) - self.constant for recalls in (of_judge, of_person))
        return a * (y if alike else x) - k * y, np.sqrt(together)

    @property
    def below(self) -> Measured:
        """The judge minus a person."""
        return self.measured(1, 1)

    @property
    def above(self) -> Measured:
        """The judge minus a constant answer."""
        return self.measured(1, 0)

    @property
    def lead(self) -> Measured:
        """A person minus a constant answer."""
        return self.measured(0, -1)

    def share(self, p: float = P) -> Bounds:
        """The share kept: the judge's lead divided by a person's, x / y. Call this only if a
        person's lead is shown to be above 0.
        """

        def half(k: float) -> float:
            variance, df = self.variance(1, k)
            return quantile(p, df) * math.sqrt(max(variance, 0.0))

        above = self.judge - self.constant
        return fieller(0.0 if abs(above) < 1e-12 else above, self.person - self.constant, half)


def _binomial(share: Numbers, items: Numbers) -> Numbers:
    """The variance of a share of so many items. The share is moved a little towards 1/2, so that
    the variance is never 0.
    """
    drawn = (share * items + 1) / (items + 2)
    return np.asarray(drawn * (1 - drawn) / (items + 2))
