"""Does the judge put outputs in people's order? Rank correlation and quadratic kappa with the other
people, by seats.

Each seat (see metal.stats.seats) is compared with the mean value of the others' levels. Midranks
are taken over all seats; the judge's answer counts once for each seat. R is the correlation of
ranks, 0 for a judge who gives only one answer. Q is the quadratic kappa with the others' most
frequent label. When sources are left out, ranks stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from metal.stats.interval import Bounds
from metal.stats.measured import Measured, P, jackknife, jackknife_again, jackknife_ratio
from metal.stats.patterns import Codes, Numbers
from metal.stats.seats import Seats
from metal.stats.significance import t_tail
from metal.stats.source_sums import Draws, SourceSums

_EQUAL = 1e-9
_DIGITS = 9  # of a mean of levels: equal means must tie


def correlation_of(sums: Numbers) -> Numbers:
    """(...) the correlation of x and y from sums (..., 6) of weight, x, y, x^2, y^2 and xy; 0 if x
    or y is constant.
    """
    w, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    safe = np.maximum(w, _EQUAL)
    spread = np.maximum(xx - x * x / safe, 0.0) * np.maximum(yy - y * y / safe, 0.0)
    varies = spread > 1e-12 * np.maximum(xx * yy, 1e-300)
    return np.asarray(
        np.where(varies, (xy - x * y / safe) / np.sqrt(np.where(varies, spread, 1.0)), 0.0)
    )


def quadratic_kappa_of(sums: Numbers) -> Numbers:
    """(...) Cohen's kappa with squared distances, from the sums of `correlation_of`; NaN if nothing
    varies.

    It equals Lin's concordance of the values of both sides. Source: Cohen (1968); Lin (1989).
    >>> values = np.array(
    ...     [[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 2, 0, 4, 0], [1, 2, 2, 4, 4, 4]]
    ... )
    >>> quadratic_kappa_of(values.sum(axis=0)).item()
    0.5
    """
    w, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    safe = np.maximum(w, _EQUAL)
    mean_x, mean_y = x / safe, y / safe
    apart = (xx + yy - 2 * xy) / safe
    spread = (xx / safe - mean_x**2) + (yy / safe - mean_y**2) + (mean_x - mean_y) ** 2
    return np.asarray(
        np.where(spread > _EQUAL, 1 - apart / np.where(spread > _EQUAL, spread, 1.0), np.nan)
    )


def midranks(values: Numbers, weights: Numbers) -> Numbers:
    """The weighted rank of each value among all, centred at 0; tied values share the middle of
    their ranks.

    >>> midranks(np.array([3.0, 1.0, 3.0]), np.array([1.0, 2.0, 1.0])).tolist()
    [1.0, -1.0, 1.0]
    """
    _, level = np.unique(values, return_inverse=True)
    held = np.bincount(level.reshape(-1), weights=weights)
    middle = np.cumsum(held) - held / 2
    return np.asarray((middle - held.sum() / 2)[level.reshape(-1)])


def p_no_order(by: SourceSums, rows: Numbers) -> float:
    """The one-sided p-value for a positive relation of x and y, with the variance of no relation
    (see `z_of_order`).

    It is 1 with one source, because nothing shows how sources differ.
    """
    if by.n < 2:
        return 1.0
    z = z_of_order(by, rows)
    return t_tail(z, by.n - 1) if z > 0 else 1 - t_tail(-z, by.n - 1)


def z_of_order(by: SourceSums, rows: Numbers) -> float:
    """The covariance of x and y in standard errors. The variance is taken about 0, so that a few
    odd answers prove nothing.

    rows: (rows, 6) of `correlation_of`.
    """
    w, x, y, _, _, _ = by.total(rows)
    mean_x, mean_y = x / w, y / w
    each = rows[:, 5] - mean_x * rows[:, 2] - mean_y * rows[:, 1] + mean_x * mean_y * rows[:, 0]
    variance = float(by.times @ each**2) * by.n / max(by.n - 1, 1)
    return float(by.times @ each) / math.sqrt(variance) if variance > 1e-12 else 0.0


def z_of_order_again(by: SourceSums, rows: Numbers, draws: Draws) -> Numbers:
    """(draws,) `z_of_order` for resampled sources."""
    times = by.drawn(draws)
    w, x, y, _, _, _ = (times @ rows).T
    mean_x, mean_y = x / w, y / w
    each = rows[:, 5] - np.outer(mean_x, rows[:, 2]) - np.outer(mean_y, rows[:, 1])
    each += np.outer(mean_x * mean_y, rows[:, 0])
    n = times.sum(axis=1)
    variance = (times * each**2).sum(axis=1) * n / np.maximum(n - 1, 1)
    safe = np.where(variance > 1e-12, variance, np.inf)
    return np.asarray((times * each).sum(axis=1) / np.sqrt(safe))


def pair_sums(weight: Numbers, x: Numbers, y: Numbers) -> Numbers:
    """(n, 6) what each pair of x and y adds to the sums of `correlation_of`."""
    return np.stack(
        [weight, weight * x, weight * y, weight * x * x, weight * y * y, weight * x * y], axis=1
    )


@dataclass(frozen=True)
class FigurePair:
    """The same figure for the judge and for a person, on the same seats.

    of_judge, of_person: (rows, 6) what each source adds to the six sums of `correlation_of`, where
    y is the judge's answer or the person's. by: the sources, which are the same for both.
    """

    by: SourceSums
    of_judge: Numbers
    of_person: Numbers
    kind: str  # "order" or "kappa"

    def _figure(self, sums: Numbers) -> Numbers:
        return correlation_of(sums) if self.kind == "order" else quadratic_kappa_of(sums)

    @cached_property
    def judge(self) -> float:
        """The judge's figure."""
        return float(self._figure(self.by.total(self.of_judge)))

    @cached_property
    def person(self) -> float:
        """A person's figure."""
        return float(self._figure(self.by.total(self.of_person)))

    @cached_property
    def _judge_without(self) -> Numbers:
        return self._figure(self.by.without(self.of_judge))

    @cached_property
    def _person_without(self) -> Numbers:
        return self._figure(self.by.without(self.of_person))

    def beyond(self, k: float) -> Measured:
        """The judge's figure minus k times a person's."""
        without = self._judge_without - k * self._person_without
        measured = jackknife(self.judge - k * self.person, without, self.by.times)
        return replace(measured, again=partial(self._again, k))

    def _again(self, k: float, draws: Draws, alike: bool) -> tuple[Numbers, Numbers]:
        """(draws,) `beyond` for sources drawn again; see `Measured.again`."""
        rows = np.concatenate([self.of_judge, self.of_person], axis=1)
        half = self.of_judge.shape[1]

        def beyond(sums: Numbers) -> Numbers:
            return self._figure(sums[..., :half]) - k * self._figure(sums[..., half:])

        value, error = jackknife_again(self.by, rows, beyond, draws)
        if alike:
            value = (1 - k) * self._figure(self.by.drawn(draws) @ self.of_person)
        return value, error

    @cached_property
    def of_a_person(self) -> Measured:
        """A person's figure with its error."""
        measured = jackknife(self.person, self._person_without, self.by.times)
        return replace(
            measured,
            again=lambda draws, _: jackknife_again(self.by, self.of_person, self._figure, draws),
        )

    @cached_property
    def share(self) -> Bounds | None:
        """The judge's figure as a share of a person's; None if a person's figure is not shown to be
        above 0.
        """
        return self.share_at(P)

    def share_at(self, p: float) -> Bounds | None:
        """The judge's figure as a share of a person's, with limits at p."""
        if not self.of_a_person.low() > 0:
            return None
        pairs = self.judge, self.person, self._judge_without, self._person_without
        return jackknife_ratio(*pairs, self.by.times, p)

    @property
    def share_without(self) -> Numbers:
        """(rows,) the judge's figure as a share of a person's, without one source of each row."""
        return self._judge_without / np.where(
            self._person_without != 0, self._person_without, np.nan
        )


@dataclass(frozen=True)
class OrderFigures:
    """R and Q of a judge and of a person. p, person_p: p-values for knowing the order at all.
    higher: the mean of (judge minus people), in values of levels.
    """

    ranks: FigurePair
    kappa: FigurePair
    p: float
    z: float
    person_p: float
    higher: float


def order(
    seats: Seats, joint: Codes, answer: Codes, values: Numbers, by: SourceSums, times: Codes
) -> OrderFigures | None:
    """The order and quadratic kappa of a judge and of people; None if fewer than three levels or
    only one mean occur.

    A kind here is a kind of item together with the judge's label. joint: (kinds,) the kind of item
    in `seats`. answer: (kinds,) the judge's label. values: (levels,). by: sums over these kinds by
    source. times: (kinds,) items of each kind.
    """
    items = np.bincount(joint, weights=times, minlength=seats.kinds)
    at_seat = items[seats.item] * seats.times
    used = at_seat > 0
    levels = np.unique(
        np.concatenate([seats.own[used], np.flatnonzero(seats.rest[used].sum(axis=0))])
    )
    if len(levels) < 3:
        return None
    others = np.round(seats.rest @ values / np.maximum(seats.rest.sum(axis=1), 1), _DIGITS)
    if others[used].max() - others[used].min() <= _EQUAL:
        return None
    facing, own = np.zeros(len(others)), np.zeros(len(others))
    facing[used] = midranks(others[used], at_seat[used].astype(float))
    own[used] = midranks(values[seats.own[used]], at_seat[used].astype(float))
    number = seats.numbers()
    ranks = seats.by_item(pair_sums(np.ones(len(own)), facing, own))[joint]
    answered = midranks(values[answer], (times * number[joint]))
    of_judge = with_answer(ranks, number[joint], answered)

    target = seats.target @ values, seats.target @ values**2
    own_values = values[seats.own]
    kappa = np.stack(
        [
            np.ones(len(own_values)),
            target[0],
            own_values,
            target[1],
            own_values**2,
            target[0] * own_values,
        ],
        axis=1,
    )
    kappa = seats.by_item(kappa)[joint]
    kappa_judge = with_answer(kappa, number[joint], values[answer])
    rows = {
        name: by.rows(sums)
        for name, sums in {
            "ranks": ranks,
            "ranks of judge": of_judge,
            "kappa": kappa,
            "kappa of judge": kappa_judge,
        }.items()
    }
    higher = by.total(rows["kappa of judge"])
    return OrderFigures(
        ranks=FigurePair(by, rows["ranks of judge"], rows["ranks"], "order"),
        kappa=FigurePair(by, rows["kappa of judge"], rows["kappa"], "kappa"),
        p=p_no_order(by, rows["ranks of judge"]),
        z=z_of_order(by, rows["ranks of judge"]),
        person_p=p_no_order(by, rows["ranks"]),
        higher=float((higher[2] - higher[1]) / higher[0]),
    )


def with_answer(sums: Numbers, seats: Numbers, answer: Numbers) -> Numbers:
    """The sums (kinds, 6) with the judge's answer in place of people's own answers."""
    weight, x, _, xx, _, _ = sums.T
    return np.stack([weight, x, seats * answer, xx, seats * answer**2, x * answer], axis=1)
