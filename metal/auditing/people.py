"""How far people agree among themselves: METAL's Table 6, with the three human ceilings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from metal.auditing.cells import Cell
from metal.auditing.figures import Resampled, columns, dropped_note, undefined_note
from metal.auditing.settings import MIN_RATED
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats import ceiling, panel
from metal.stats.aggregate import ALL, NONE, SOME
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import class_counts, find_patterns

ONE_CLASS = "one class"
NO_PAIR = "no two people share items"
QUICK = ("fleiss_kappa", "percent_agreement", "alpha")  # the figures that look at no pair of people


def people_row(cell: Cell, bootstrap: SourceBootstrap, only: Collection[str] = ()) -> dict[str, Any]:
    """One row of the people table for a cell. only: these figures (QUICK: hundreds of people have many pairs)."""
    complete = np.flatnonzero(cell.complete)
    dropped = cell.dropped()
    figures = {
        name: figure() for name, figure in _figures(cell, bootstrap, dropped).items() if not only or name in only
    }
    case = cell.case[complete]
    row: dict[str, Any] = {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "people": len(cell.people),
        "items": len(complete),
        "items_with_class": int((cell.truth >= 0).sum()),
        "sources": len(np.unique(cell.matrix.sources[complete])),
        "min_raters": cell.min_raters,
        "dropped": dropped_note(dropped),
    }
    for name, estimate in figures.items():
        row |= columns(name, estimate, interval=name not in ("alpha", "percent_agreement"))
        if name == "fleiss_kappa":
            row["fleiss_items"] = estimate.n
    row |= {
        "all_agree": int((case == ALL).sum()),
        "some_agree": int((case == SOME).sum()),
        "none_agree": int((case == NONE).sum()),
        "undefined": undefined_note(figures),
    }
    return row


def _figures(cell: Cell, bootstrap: SourceBootstrap, dropped: dict[str, int]) -> dict[str, Callable[[], Estimate]]:
    """Each figure, to be computed when it is called for."""
    levels = cell.levels
    complete = np.flatnonzero(cell.complete)
    # An item's label goes with its pattern: a model's depends on the whole cell, and is fitted to it once.
    codes = np.column_stack([cell.by_people[complete], cell.truth[complete]])
    drawn = Resampled(codes, cell.matrix.sources[complete], bootstrap)
    rows, truth = drawn.rows[:, :-1], drawn.rows[:, -1]
    raters = ceiling.raters_with(drawn.observed, rows, MIN_RATED)
    pairs = ceiling.pairs_of(raters)
    counts = class_counts(rows, levels)

    def of(statistic: Callable[[Any], Any], reason: str = NO_PAIR) -> Callable[[], Estimate]:
        return lambda: drawn.estimate(statistic, reason, dropped)

    return {
        "fleiss_kappa": lambda: _fleiss(cell, bootstrap),
        "pairwise_f1": of(lambda w: ceiling.pairwise(w, rows, levels, pairs)),
        "leave_one_out_f1": of(
            lambda w: ceiling.leave_one_out(w, rows, levels, raters), "no majority of two or more others"
        ),
        "against_all_f1": of(lambda w: ceiling.against_all(w, rows, truth, levels, raters)),
        "percent_agreement": of(lambda w: panel.pooled_agreement(w, counts)),
        "gwet_ac1": of(lambda w: panel.gwet_ac1(w, counts)),
        "alpha": lambda: _alpha(cell),
    }


def _fleiss(cell: Cell, bootstrap: SourceBootstrap) -> Estimate:
    """Fleiss' kappa on the items with the usual number of ratings; the rest are counted as dropped."""
    full = np.flatnonzero(cell.ratings_per_item == max(cell.usual_panel, 2))
    others = int((cell.ratings_per_item > 0).sum()) - len(full)
    dropped = {"other number of ratings": others} if others else {}
    if not len(full):
        return Estimate.undefined("no item with two ratings", 0, dropped)
    drawn = Resampled(cell.by_people[full], cell.matrix.sources[full], bootstrap)
    counts = class_counts(drawn.rows, cell.levels)
    estimate = drawn.estimate(lambda w: panel.fleiss_kappa(w, counts), ONE_CLASS, dropped)
    if cell.settings.paper_compat and estimate.value is None and estimate.reason == ONE_CLASS:
        return Estimate(0.0, n=len(full), dropped=dropped, caveats=("one class, printed as 0 like METAL's Table 6",))
    return estimate


def _alpha(cell: Cell) -> Estimate:
    """Krippendorff's alpha, at the scale's measure, on every item with two ratings or more."""
    patterns = find_patterns(cell.by_people)
    counts = class_counts(patterns.rows, cell.levels)
    paired = int((cell.ratings_per_item >= 2).sum())
    try:
        value = panel.krippendorff_alpha(patterns.counts, counts, cell.values, cell.criterion.scale.measure)
    except Undefined as error:
        return Estimate.undefined(str(error), paired)
    return Estimate(value, n=paired, method=f"Krippendorff's alpha, {cell.criterion.scale.measure}")
