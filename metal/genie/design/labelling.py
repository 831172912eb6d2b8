"""How to spend a budget of labels: GENIE's simulation of designs (section 4, Figures 2 and 3).

labels: (items, raters) shares of the scale, NaN where a rater gave none (metal.data.records.Criterion.share).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.genie.design.panels import draw_panels, usual_panel
from metal.stats.bootstrap import percentile_interval
from metal.stats.patterns import Codes, Numbers

Scale = Literal["as rated", "binary"]
Aggregation = Literal["mean", "majority"]
Labelling = Literal["unilabelling", "multilabelling"]

_MOST = 20_000_000


@dataclass(frozen=True)
class Simulated:
    """A design in many rounds. labels: an item has; items: in a round; mean, sd: of the score over rounds; low, high:
    the central 95% of the rounds.
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
    """(...,) one score of each item from its chosen labels.

    labels: (items, raters); chosen: (..., items, raters), one or more an item. majority: the label given more often
    than any other; where there is none, the mean.
    """
    size = chosen.sum(axis=-1)
    mean = np.where(chosen, labels, 0.0).sum(axis=-1) / size
    if aggregation == "mean":
        return np.asarray(mean)
    values = np.unique(labels[~np.isnan(labels)])
    best, most, tied = np.full(mean.shape, np.nan), np.zeros(mean.shape, dtype=np.int64), np.zeros(mean.shape, bool)
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

    Items with k labels or more count, k being how many an item usually has. The budget is a k-th of their labels, k
    an item: multilabelling draws a k-th of the items, with k labels each; unilabelling k times as many, with one
    label each (which leaves nothing to aggregate). Items are drawn with replacement. Source: GENIE section 4,
    footnotes 4 to 7, where k is 3.
    Raises Undefined for multilabelling where items have one label, and where nothing is rated.
    """
    rated = ~np.isnan(labels)
    panel = usual_panel(rated)
    if not panel:
        raise Undefined("no ratings")
    if labelling == "multilabelling" and panel < 2:
        raise Undefined("items have one label: there is nothing to put together")
    enough = rated.sum(axis=1) >= panel
    budget = int(enough.sum()) // panel * panel
    if not budget:
        raise Undefined(f"fewer than {panel} items with {panel} labels")
    size = 1 if labelling == "unilabelling" else panel
    return _scored(labels[enough], size, budget // size, aggregation, rounds, rng)


def by_panel(
    labels: Numbers, fixed: Literal["labels", "items"], rounds: int, rng: np.random.Generator
) -> Iterator[Simulated]:
    """The same for 1 up to as many labels an item as usual: with as many labels in all, or as many items.

    fixed: "labels": the budget is that of `simulate`; "items": every round has as many items as there are. The score is
    the mean of means.
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
    labels: Numbers, size: int, items: int, aggregation: Aggregation, rounds: int, rng: np.random.Generator
) -> Simulated:
    chosen = _panels(~np.isnan(labels), size, rng)
    scores = item_scores(labels, chosen, aggregation)
    # An item of a round is a version of an item, each as likely: what counts is how often each score is drawn.
    drawn = means_of_draws(scores.ravel(), items, rounds, rng)
    low, high = percentile_interval(drawn) or (np.nan, np.nan)
    sd = float(drawn.std(ddof=1)) if rounds > 1 else float("nan")
    return Simulated(size, items, float(drawn.mean()), sd, low, high)


def _panels(rated: Codes, size: int, rng: np.random.Generator) -> Codes:
    """Every single label once where one is drawn and all items have as many, else panels drawn at random."""
    given = rated.sum(axis=1)
    if size == 1 and (given == given[0]).all():
        order = np.argsort(~rated, axis=1, kind="stable")[:, : given[0]]
        return np.stack([order[:, [at]] == np.arange(rated.shape[1]) for at in range(given[0])])
    return draw_panels(rated, size, rng)


def means_of_draws(values: Numbers, draws: int, rounds: int, rng: np.random.Generator) -> Numbers:
    """(rounds,) the mean of so many values, drawn with replacement, each as likely as any other."""
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
