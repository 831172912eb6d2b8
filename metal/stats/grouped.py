"""Correlation of scores with a gold standard within groups of items, such as the outputs of one
source.

Shapes that all functions share: gold (items,); scores (..., items), where the first axes hold
several sets of scores; both are complete and lie group after group, as `ItemGroups.sorted` returns
them. A value by group is NaN where it is undefined: with one item, and where a side is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Flags, Numbers, ratio

# A sum of squares below this share of the values' squares is rounding, not variation.
_ROUNDING = 1e-20
# Up to this many items, a group's pairs are listed once for all scores.
_LISTED = 400
# Pairs that are looked at together, which bounds the memory.
_BLOCK = 4_000_000
# Beyond this many pairs, thresholds for ties are not tried: their differences fill the memory.
MOST_PAIRS = 60_000_000


@dataclass(frozen=True)
class ItemGroups:
    """Items in groups. order: (items,) the items, group after group. starts: (groups,) where each
    group begins in that order.

    >>> groups = ItemGroups.of(np.array([1, 0, 1]))
    >>> groups.order.tolist(), groups.starts.tolist(), groups.sizes.tolist()
    ([1, 0, 2], [0, 1], [1, 2])
    """

    order: Codes
    starts: Codes

    @classmethod
    def of(cls, group: Codes) -> ItemGroups:
        """Groups from (items,) codes or names; a group without items does not exist."""
        order = np.argsort(group, kind="stable")
        in_order = np.asarray(group)[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = in_order[1:] != in_order[:-1]
        return cls(order, np.flatnonzero(first))

    @cached_property
    def sizes(self) -> Codes:
        """(groups,) how many items each group has."""
        return np.diff(np.append(self.starts, len(self.order)))

    @cached_property
    def which(self) -> Codes:
        """(items,) the group of each sorted item."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    @property
    def pairs(self) -> int:
        """How many pairs of items share a group."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    def sorted(self, values: Numbers) -> Numbers:
        """(..., items) values, group after group."""
        return np.asarray(values, dtype=np.float64)[..., self.order]

    def sums(self, values: Codes) -> Numbers:
        """(..., groups) sums of (..., items) sorted values."""
        if not len(self.starts):
            return np.zeros((*np.shape(values)[:-1], 0))
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    @cached_property
    def listed(self) -> tuple[Codes, Codes]:
        """The two sorted items of each pair in a group, group after group."""
        sides: list[list[Codes]] = [[], []]
        for size in np.unique(self.sizes):
            begin = self.starts[self.sizes == size]
            for side, offset in zip(sides, np.triu_indices(int(size), 1), strict=True):
                side.append((begin[:, None] + offset).ravel())
        first, second = (np.concatenate([*side, np.zeros(0, dtype=np.int64)]) for side in sides)
        order = np.argsort(self.which[first], kind="stable")
        return first[order], second[order]

    def of_pairs(self, first: Codes) -> tuple[ItemGroups, Codes]:
        """The groups of the pairs, made from the first item of each pair (in rising order); and the
        numbers of these groups.
        """
        group = self.which[first]
        pairs = ItemGroups.of(group)
        return pairs, group[pairs.starts]

    def blocks(self) -> Iterator[tuple[Codes, Codes]]:
        """The pairs of `listed` in parts that fit into memory, group after group."""
        if self.pairs <= _BLOCK:
            yield self.listed
            return
        rest = self.starts[self.which] + self.sizes[self.which] - 1 - np.arange(len(self.order))
        part = np.cumsum(rest) // _BLOCK
        for block in range(int(part[-1]) + 1):
            inside = np.flatnonzero(part == block)
            count = rest[inside]
            first = np.repeat(inside, count)
            begun = np.cumsum(count) - count
            yield first, first + 1 + np.arange(len(first)) - np.repeat(begun, count)


Statistic = Callable[[Numbers, Numbers, ItemGroups], Numbers]


def pearson_by_group(gold: Numbers, scores: Numbers, groups: ItemGroups) -> Numbers:
    """(..., groups) Pearson's r.

    >>> groups = ItemGroups.of(np.array([0, 0, 0, 1, 1]))
    >>> gold, scores = np.array([1.0, 2.0, 4.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0, 2.0, 2.0])
    >>> pearson_by_group(gold, scores, groups).round(4).tolist()  # the second group is constant
    [0.982, nan]
    """
    x, y = _centred(np.asarray(gold), groups), _centred(np.asarray(scores), groups)
    squares = _squares(x, gold, groups), _squares(y, scores, groups)
    together = groups.sums(x * y)
    return np.clip(ratio(together, np.sqrt(squares[0]) * np.sqrt(squares[1])), -1.0, 1.0)


def _centred(values: Numbers, groups: ItemGroups) -> Numbers:
    """The values minus the mean of their group."""
    return values - (groups.sums(values) / groups.sizes)[..., groups.which]


def _squares(centred: Numbers, values: Numbers, groups: ItemGroups) -> Numbers:
    """(..., groups) sums of squares; exactly 0 if a sum is only a rounding error."""
    squares = groups.sums(centred * centred)
    return np.where(squares > _ROUNDING * groups.sums(values * values), squares, 0.0)


def spearman_by_group(gold: Numbers, scores: Numbers, groups: ItemGroups) -> Numbers:
    """(..., groups) Spearman's rho: Pearson's r of the ranks in the group, where equal scores share
    the mean of their ranks.

    >>> groups = ItemGroups.of(np.zeros(4))
    >>> gold, scores = np.array([1.0, 3.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0, 9.0])
    >>> spearman_by_group(gold, scores, groups).round(4).tolist()
    [0.3162]
    """
    return pearson_by_group(ranks_by_group(gold, groups), ranks_by_group(scores, groups), groups)


def ranks_by_group(values: Numbers, groups: ItemGroups) -> Numbers:
    """(..., items) ranks, from 1 in each group; equal values share the mean of their ranks.

    >>> groups = ItemGroups.of(np.array([0, 0, 0, 1, 1]))
    >>> ranks_by_group(np.array([5.0, 3.0, 5.0, 8.0, 7.0]), groups)
    array([2.5, 1. , 2.5, 2. , 1. ])
    """
    rows = np.asarray(values, dtype=np.float64).reshape(-1, len(groups.order))
    ranks = np.empty(rows.shape)
    for part in _parts(rows):
        own = rows[part].ravel()
        # the same group of each set is a group of its own
        group = (np.arange(len(rows[part]))[:, None] * len(groups.starts) + groups.which).ravel()
        order, begins = _in_order(own, group)
        places = np.append(np.flatnonzero(begins), len(own))
        mean_place = (places[:-1] + places[1:] + 1) / 2
        placed = np.empty(len(own))
        placed[order] = mean_place[np.cumsum(begins) - 1]
        before = np.arange(len(rows[part]))[:, None] * rows.shape[1] + groups.starts[groups.which]
        ranks[part] = placed.reshape(rows[part].shape) - before
    return ranks.reshape(np.shape(values))


def _parts(rows: Numbers, width: int = 0) -> Iterator[slice]:
    """Divide rows into parts that fit into memory. width: how many numbers a row needs in memory,
    if this is not its number of values.
    """
    size = max(1, _BLOCK // max(width, rows.shape[1], 1))
    for begin in range(0, len(rows), size):
        yield slice(begin, begin + size)


def _in_order(values: Numbers, group: Codes) -> tuple[Codes, Flags]:
    """The positions of the values, group after group and in rising order within each group, and
    where another value or group begins in this order.
    """
    order = np.lexsort((values, group))
    in_order = values[order]
    begins = np.ones(len(values), dtype=bool)
    begins[1:] = (in_order[1:] != in_order[:-1]) | (group[1:] != group[:-1])
    return order, begins


def kendall_by_group(gold: Numbers, scores: Numbers, groups: ItemGroups) -> Numbers:
    """(..., groups) Kendall's tau-b: concordant minus discordant pairs, over the geometric mean of
    the pairs untied on either side.

    >>> gold, scores = np.array([1.0, 4, 2, 4, 3]), np.array([1.0, 2, 3, 3, 5])
    >>> # of 10 pairs, 5 concordant, 3 discordant, one tied on either side
    >>> kendall_by_group(gold, scores, ItemGroups.of(np.zeros(5))).round(4).tolist()
    [0.2222]
    """
    return _kendall(gold, scores, groups, "b")


def kendall_c_by_group(gold: Numbers, scores: Numbers, groups: ItemGroups) -> Numbers:
    """(..., groups) Stuart's tau-c: 2 (concordant - discordant) / (n^2 (m - 1) / m), where m is the
    number of distinct scores on the side that has fewer.

    >>> gold, scores = np.array([1.0, 4, 2, 4, 3]), np.array([1.0, 2, 3, 3, 5])
    >>> # n = 5, m = 4: 2 * (5 - 3) / (25 * 3 / 4)
    >>> kendall_c_by_group(gold, scores, ItemGroups.of(np.zeros(5))).round(4).tolist()
    [0.2133]
    """
    return _kendall(gold, scores, groups, "c")


def _kendall(gold: Numbers, scores: Numbers, groups: ItemGroups, variant: str) -> Numbers:
    """(..., groups) tau of the given variant; large groups are computed one by one."""
    rows = np.asarray(scores, dtype=np.float64).reshape(-1, len(groups.order))
    if groups.sizes.max(initial=0) > _LISTED:
        values = np.array([_one_by_one(gold, row, groups, variant) for row in rows])
    else:
        values = _from_pairs(np.asarray(gold), rows, groups, variant)
    return values.reshape(*np.shape(scores)[:-1], len(groups.starts))


def _one_by_one(gold: Numbers, scores: Numbers, groups: ItemGroups, variant: str) -> Numbers:
    """(groups,) tau of the given variant, in n log n steps."""
    from scipy.stats import kendalltau

    values = np.full(len(groups.starts), np.nan)
    for group, (start, size) in enumerate(zip(groups.starts, groups.sizes, strict=True)):
        inside = slice(start, start + size)
        if np.ptp(gold[inside]) > 0 and np.ptp(scores[inside]) > 0:
            values[group] = kendalltau(gold[inside], scores[inside], variant=variant).statistic
    return values


def _from_pairs(gold: Numbers, scores: Numbers, groups: ItemGroups, variant: str) -> Numbers:
    """(sets, groups) tau of the given variant, from the list of all pairs. scores: (sets,
    items).
    """
    first, second = groups.listed
    of_pair, own_groups = groups.of_pairs(first)
    sign = np.sign(gold[first] - gold[second])
    untied_gold = of_pair.sums((sign != 0).astype(np.int64))
    values = np.full((len(scores), len(groups.starts)), np.nan)
    for part in _parts(scores, len(first)):
        signs = np.sign(scores[part][:, first] - scores[part][:, second])
        ahead = of_pair.sums(sign * signs)
        untied = of_pair.sums((signs != 0).astype(np.int64))
        untied_both = np.sqrt(untied_gold) * np.sqrt(untied)
        if variant == "c":
            fewest = np.minimum(_distinct(gold[None], groups), _distinct(scores[part], groups))
            fewest, size = fewest[:, own_groups], groups.sizes[own_groups]
            untied_both = np.where(untied_both > 0, size**2 * (fewest - 1) / fewest / 2, 0.0)
        values[part, own_groups] = ratio(ahead, untied_both)
    return values


def _distinct(rows: Numbers, groups: ItemGroups) -> Codes:
    """(sets, groups) how many different values each group has."""
    begins = np.array([_in_order(row, groups.which)[1] for row in rows])
    return np.asarray(groups.sums(begins.astype(np.int64)))


def kendall_like(
    gold: Numbers, scores: Numbers, groups: ItemGroups, *, least: float = 25.0
) -> Numbers:
    """(...,) WMT's Kendall-like correlation, over all groups together: (concordant pairs - all
    other pairs) / all pairs. A pair is two items of one group whose gold scores differ by `least`
    or more.

    If the scores tie a pair, it is not concordant. NaN if there is no pair. Source: Mathur et al.
    (2020), section 3.2: relative ranks from direct assessments that differ by 25 points.
    >>> gold, scores = np.array([0.0, 30.0, 60.0]), np.array([1.0, 3.0, 3.0])
    >>> kendall_like(gold, scores, ItemGroups.of(np.zeros(3))).round(4).item()  # 2 right, 1 tied
    0.3333
    """
    scores = np.asarray(scores)
    right, pairs = np.zeros(scores.shape[:-1]), 0
    for first, second in groups.blocks():
        gaps = gold[first] - gold[second]
        far = np.abs(gaps) >= least
        sign = np.where(gaps[far] > 0, 1.0, -1.0)
        ahead = (scores[..., first[far]] - scores[..., second[far]]) * sign
        right = right + (ahead > 0).sum(axis=-1)
        pairs += int(far.sum())
    return np.asarray(ratio(2 * right - pairs, np.full(right.shape, float(pairs))))


def pairwise_accuracy_by_group(
    gold: Numbers, scores: Numbers, groups: ItemGroups, *, epsilon: float = 0.0
) -> Numbers:
    """(..., groups) the share of pairs that gold and scores rank alike: both call it a tie, or both
    prefer the same item; a difference of scores up to `epsilon` is a tie.

    Source: Deutsch, Foster and Freitag (2023), acc23; without `epsilon`, Kocmi et al. (2021).
    >>> gold, scores = np.array([1.0, 1.0, 4.0]), np.array([0.0, 1.0, 8.0])
    >>> pairwise_accuracy_by_group(gold, scores, ItemGroups.of(np.zeros(3))).round(4).tolist()
    [0.6667]
    """
    rows = np.asarray(scores, dtype=np.float64).reshape(-1, len(groups.order))
    right = np.zeros((len(rows), len(groups.starts)))
    for first, second in groups.blocks():
        wanted = gold[first] - gold[second]
        of_pair, own_groups = groups.of_pairs(first)
        for part in _parts(rows, len(first)):
            gaps = rows[part][:, first] - rows[part][:, second]
            alike = np.where(np.abs(gaps) > epsilon, wanted * gaps > 0, wanted == 0)
            right[part, own_groups] += of_pair.sums(alike.astype(np.int32))
    right = right.reshape(*np.shape(scores)[:-1], len(groups.starts))
    pairs = groups.sizes * (groups.sizes - 1) / 2
    return np.asarray(ratio(right, np.broadcast_to(pairs, right.shape)))


@dataclass(frozen=True)
class TieThreshold:
    """The threshold for ties. epsilon: differences up to epsilon are ties. accuracy: the mean
    accuracy over groups with this epsilon.
    """

    epsilon: float
    accuracy: float


def tied_threshold(gold: Numbers, scores: Numbers, groups: ItemGroups) -> TieThreshold:
    """The smallest epsilon >= 0 with the largest mean over groups of `pairwise_accuracy_by_group`.

    All differences that occur are tried, so the optimum is exact. Groups of one item do not count.
    Raises Undefined if there is no pair, or if there are more than MOST_PAIRS.
    >>> gold, scores = np.array([1.0, 1.0, 4.0]), np.array([0.0, 1.0, 8.0])
    >>> tied_threshold(gold, scores, ItemGroups.of(np.zeros(3)))
    TieThreshold(epsilon=1.0, accuracy=1.0)
    """
    if not groups.pairs:
        raise Undefined("no group with two items scored by both")
    if groups.pairs > MOST_PAIRS:
        raise Undefined(f"{groups.pairs:,} pairs are too many to try every threshold for ties")
    gaps, gains, start = [], [], 0.0
    weight = ratio(1.0, groups.sizes * (groups.sizes - 1) / 2 * (groups.sizes > 1).sum())
    for first, second in groups.blocks():
        wanted, gap = gold[first] - gold[second], scores[first] - scores[second]
        tied, ordered = wanted == 0, wanted * gap > 0
        share = weight[groups.which[first]]
        start += float(share[np.where(gap != 0, ordered, tied)].sum())
        matters = (gap != 0) & (tied | ordered)  # a pair in the wrong order stays wrong as a tie
        gaps.append(np.abs(gap[matters]))
        gains.append(np.where(tied, share, -share)[matters])
    return best_threshold(np.concatenate(gaps), np.concatenate(gains), start)


def best_threshold(gaps: Numbers, gains: Numbers, start: float) -> TieThreshold:
    """The smallest epsilon with the largest accuracy.

    gaps: (pairs,) positive differences of scores; gains: the change of accuracy as each difference
    becomes a tie; start: the accuracy without ties.
    >>> best_threshold(np.array([3.0, 1.0, 1.0]), np.array([-0.2, 0.3, -0.1]), 0.5)
    TieThreshold(epsilon=1.0, accuracy=0.7)
    """
    order = np.argsort(gaps, kind="stable")
    rising = gaps[order]
    accuracies = np.append(start, start + np.cumsum(gains[order]))
    epsilons = np.append(0.0, rising)
    last = np.ones(len(epsilons), dtype=bool)  # of equal differences, all become ties
    last[:-1] = epsilons[1:] != epsilons[:-1]
    accuracies, epsilons = accuracies[last], epsilons[last]
    best = int(np.argmax(accuracies > accuracies.max() - 1e-12))
    return TieThreshold(float(epsilons[best]), float(accuracies[best]))


def pairwise_difference_pearson(gold: Numbers, scores: Numbers, groups: ItemGroups) -> Numbers:
    """(...,) Pearson's r of the differences within pairs of one group, over all groups (PDP).

    Each pair counts in both orders, so the order of the items does not matter, and the mean
    difference is 0: sum dx dy / sqrt(sum dx^2 sum dy^2). In a group of n items, the sum of dx dy
    over pairs is n times that of the products of deviations from the group's means. NaN if all
    differences of one side are 0. Source: DiIanni and Deutsch (2025).
    >>> groups = ItemGroups.of(np.array([0, 0, 1, 1]))
    >>> gold, scores = np.array([0.0, 1.0, 5.0, 7.0]), np.array([2.0, 3.0, 0.0, 1.0])
    >>> # differences 1, 2 and 1, 1: 3 / sqrt(5 * 2)
    >>> pairwise_difference_pearson(gold, scores, groups).round(4).item()
    0.9487
    """
    x, y = _centred(np.asarray(gold), groups), _centred(np.asarray(scores), groups)
    squares = [
        (groups.sizes * _squares(centred, values, groups)).sum(axis=-1)
        for centred, values in ((x, gold), (y, scores))
    ]
    together = (groups.sizes * groups.sums(x * y)).sum(axis=-1)
    return np.clip(ratio(together, np.sqrt(squares[0]) * np.sqrt(squares[1])), -1.0, 1.0)
