"""Simulations of panels drawn from larger ones, of samples of sources, and of budgets of labels
(GENIE section 4, Figures 2, 3).

A design with k people per item shows what the data would be if only k of an item's people had been
asked. These k people are drawn at random, several times; each draw is a *version* of the item.

labels: (items, raters) as positions on the scale, from 0 for the worst to 1 for the best
(metal.data.records.Criterion.share); NaN where a rater gave no label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.bootstrap import percentile_interval
from metal.stats.patterns import Codes, Numbers

Aggregation = Literal["mean", "majority"]
Labelling = Literal["unilabelling", "multilabelling"]
# of each item, where k of more people are drawn: 16 hold 15/16 of the variance between versions
VERSIONS = 16
_MOST = 20_000_000  # numbers held at once


def usual_panel(rated: Codes) -> int:
    """The usual number of ratings of an item, the larger number on a tie; 0 without ratings.

    rated: (items, raters) whether there is a rating.
    """
    sizes = rated.sum(axis=1)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 0
    frequency = np.bincount(sizes)
    return int(np.flatnonzero(frequency == frequency.max())[-1])


def draw_panels(rated: Codes, size: int, rng: np.random.Generator) -> Codes:
    """Draw `size` raters of each item: (versions, items, raters), whether the rater is asked in the
    version.

    rated: (items, raters) whether there is a rating; every item has `size` or more. There is only
    one version if no item has more.
    """
    if (rated.sum(axis=1) <= size).all():
        return rated[None]
    versions = int(np.clip(_MOST // rated.size, 2, VERSIONS))
    order = rng.random((versions, *rated.shape))
    order[:, ~rated] = 2.0  # after everyone who did rate
    last = np.partition(order, size - 1, axis=-1)[..., size - 1 : size]
    return np.asarray(order <= last)


@dataclass(frozen=True)
class Pool:
    """The pool from which samples of sources are drawn.

    Rows are versions of sources, with equal versions merged: with one output per source there is
    one row per rating pattern. sums: (rows, columns) what a source adds to each statistic. chances:
    (rows,) the probability that a draw is this row. sources: the number of sources in the data.
    """

    sums: Numbers
    chances: Numbers
    sources: int

    def draw(self, sources: int, rounds: int, rng: np.random.Generator) -> Numbers:
        """The sums over this many sources, drawn with replacement: (rounds, columns).

        METAL draws how often each row of the pool occurs, not one source after another, so the time
        hardly grows with the number of sources.
        """
        step = max(1, _MOST // len(self.chances))
        chunks = [
            _counts(self.chances, sources, min(step, rounds - start), rng) @ self.sums
            for start in range(0, rounds, step)
        ]
        return np.asarray(np.concatenate(chunks), dtype=np.float64)


def _counts(chances: Numbers, draws: int, rounds: int, rng: np.random.Generator) -> Codes:
    """(rounds, outcomes) how often each outcome is drawn.

    There are two ways of drawing with the same distribution; the faster one is used.
    """
    if draws > len(chances) / 4:
        return rng.multinomial(draws, chances, size=rounds)
    upto = np.cumsum(chances)
    hit = np.minimum(
        np.searchsorted(upto, rng.random((rounds, draws)), side="right"), len(chances) - 1
    )
    flat = np.arange(rounds)[:, None] * len(chances) + hit
    return np.bincount(flat.ravel(), minlength=rounds * len(chances)).reshape(rounds, len(chances))


def pool_of(rows: Numbers, sources: Codes) -> Pool:
    """Make a pool of sources.

    rows: (versions, items, columns) what each item adds to each statistic. sources: (items,) whole
    numbers that identify the source of each item.
    """
    names, source = np.unique(sources, return_inverse=True)
    versions, items, columns = rows.shape
    by_source = rows.reshape(versions * items, columns)
    if len(names) < items:
        cell = (np.arange(versions)[:, None] * len(names) + source).ravel()
        size = versions * len(names)
        by_source = np.stack(
            [np.bincount(cell, column, minlength=size) for column in by_source.T], axis=1
        )
    which = np.zeros(len(by_source), dtype=np.int64)  # of each row, equal for equal rows
    for column in by_source.T:
        value = np.unique(column, return_inverse=True)[1]
        which = np.unique(which * (int(value.max(initial=0)) + 1) + value, return_inverse=True)[1]
    first = np.unique(which, return_index=True)[1]
    return Pool(by_source[first].astype(np.float64), np.bincount(which) / len(which), len(names))


@dataclass(frozen=True)
class Simulated:
    """The score of a design, simulated in many rounds.

    labels: the number of labels per item. items: the number of items per round. mean, sd: the
    score's mean and standard deviation over rounds. low, high: the ends of the central 95% of the
    rounds.
    """

    labels: int
    items: int
    mean: float
    sd: float
    low: float
    high: float


def binarised(labels: Numbers) -> Numbers:
    """1 for the upper half of the scale, its middle included, else 0; NaN stays.

    >>> binarised(np.array([0.0, 0.25, 0.5, 1.0])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    return np.asarray(np.where(np.isnan(labels), np.nan, (labels >= 0.5).astype(np.float64)))


def item_scores(labels: Numbers, chosen: Codes, aggregation: Aggregation) -> Numbers:
    """The score of each item from its chosen labels: (..., items).

    labels: (items, raters). chosen: (..., items, raters) which labels count, at least one per item.
    With the aggregation *majority*, the score is the label given more often than any other or, if
    there is none, the mean.
    """
    size = chosen.sum(axis=-1)
    mean = np.where(chosen, labels, 0.0).sum(axis=-1) / size
    if aggregation == "mean":
        return np.asarray(mean)
    values = np.unique(labels[~np.isnan(labels)])
    best, most, tied = (
        np.full(mean.shape, np.nan),
        np.zeros(mean.shape, dtype=np.int64),
        np.zeros(mean.shape, bool),
    )
    for value in values:
        votes = (chosen & (labels == value)).sum(axis=-1)
        tied = np.where(votes > most, False, tied | (votes == most))
        best, most = np.where(votes > most, value, best), np.maximum(votes, most)
    return np.asarray(np.where(tied, mean, best))


def simulate(
    labels: Numbers,
    labelling: Labelling,
    aggregation: Aggregation,
    rounds: int,
    rng: np.random.Generator,
) -> Simulated:
    """The score of a set of outputs under a design, in many rounds at the same budget.

    Only items with k labels or more count, where k is the usual number per item. The budget is one
    k-th of their labels. Multilabelling spends it on one k-th of the items, with k labels each;
    unilabelling spends it on k times as many items, with one label each (which leaves nothing to
    aggregate). Items are drawn with replacement. Source: GENIE section 4, footnotes 4 to 7, where k
    is 3. Raises Undefined for multilabelling if items have one label, and if nothing is rated.
    """
    rated = ~np.isnan(labels)
    panel = usual_panel(rated)
    if not panel:
        raise Undefined("no ratings")
    if labelling == "multilabelling" and panel < 2:
        raise Undefined("items have one label: there is nothing to combine")
    enough = rated.sum(axis=1) >= panel
    budget = int(enough.sum()) // panel * panel
    if not budget:
        raise Undefined(f"fewer than {panel} items with {panel} labels")
    size = 1 if labelling == "unilabelling" else panel
    return _scored(labels[enough], size, budget // size, aggregation, rounds, rng)


def by_panel(
    labels: Numbers, fixed: Literal["labels", "items"], rounds: int, rng: np.random.Generator
) -> Iterator[Simulated]:
    """Simulate designs with 1, 2, ... up to the usual number of labels per item.

    fixed: what is equal in all designs. With "labels" the budget is that of `simulate`; with
    "items" every round has as many items as the data. The score is the mean of means.
    """
    rated = ~np.isnan(labels)
    panel = usual_panel(rated)
    enough = rated.sum(axis=1) >= max(panel, 1)
    items = int(enough.sum())
    for size in range(1, panel + 1):
        drawn = items if fixed == "items" else items // size
        if drawn:
            yield _scored(labels[enough], size, drawn, "mean", rounds, rng)


def _scored(
    labels: Numbers,
    size: int,
    items: int,
    aggregation: Aggregation,
    rounds: int,
    rng: np.random.Generator,
) -> Simulated:
    chosen = _panels(~np.isnan(labels), size, rng)
    scores = item_scores(labels, chosen, aggregation)
    # An item of a round is a version of an item, each as likely: what counts is how often each
    # score is drawn.
    drawn = means_of_draws(scores.ravel(), items, rounds, rng)
    low, high = percentile_interval(drawn) or (np.nan, np.nan)
    sd = float(drawn.std(ddof=1)) if rounds > 1 else float("nan")
    return Simulated(size, items, float(drawn.mean()), sd, low, high)


def _panels(rated: Codes, size: int, rng: np.random.Generator) -> Codes:
    """Panels of `size` raters drawn at random; every single label once if `size` is 1 and all items
    have equally many labels.
    """
    answers = rated.sum(axis=1)
    if size == 1 and (answers == answers[0]).all():
        order = np.argsort(~rated, axis=1, kind="stable")[:, : answers[0]]
        return np.stack([order[:, [at]] == np.arange(rated.shape[1]) for at in range(answers[0])])
    return draw_panels(rated, size, rng)


def means_of_draws(values: Numbers, draws: int, rounds: int, rng: np.random.Generator) -> Numbers:
    """(rounds,) the mean of this many values, drawn with replacement and equal probability."""
    distinct, times = np.unique(np.round(values, 12), return_counts=True)
    wide = len(distinct) > draws
    step = max(1, _MOST // min(len(distinct), draws))
    chunks = []
    for start in range(0, rounds, step):
        size = min(step, rounds - start)
        if wide:
            chunks.append(values[rng.integers(len(values), size=(size, draws))].mean(axis=1))
        else:
            chunks.append(rng.multinomial(draws, times / times.sum(), size=size) @ distinct / draws)
    return np.concatenate(chunks)
