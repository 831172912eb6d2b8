"""How far people agree among themselves: METAL's Table 6 and the three human ceilings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from metal.auditing.cells import MOST_LEFT_OUT, AuditCell, cells
from metal.auditing.figures import (
    Resampled,
    columns,
    dropped_note,
    few_on_panels,
    krippendorff_alpha,
    of_the_most_active,
    range_columns,
    undefined_note,
)
from metal.auditing.score_table import agreement_of_scores
from metal.auditing.settings import MIN_RATED, AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Estimate
from metal.stats import agreement
from metal.stats.aggregate import CASES
from metal.stats.alpha import alpha_disagreement
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import class_counts

ONE_CLASS = "one class"
NO_PAIR = "no two people share items"
QUICK = ("fleiss_kappa", "percent_agreement", "alpha")  # the figures that look at no pair of people
NAMES = (
    *("fleiss_kappa", "table_6_kappa", "pairwise_f1", "leave_one_out_f1", "against_all_f1"),
    *("percent_agreement", "gwet_ac1", "alpha"),
)


def people_row(
    cell: AuditCell, bootstrap: SourceBootstrap, only: Collection[str] = ()
) -> dict[str, Any]:
    """One row of the table of people.

    only: the figures to compute; QUICK saves time if hundreds of people form many pairs.
    """
    items = items_with_class = int(cell.complete.sum())
    case = np.zeros(0, dtype=np.int64)
    if cell.continuous:
        figures = {name: Estimate.undefined("scores without classes") for name in NAMES}
    else:
        case = cell.case[cell.complete & (cell.case >= 0)]
        items, items_with_class = len(case), int((cell.truth >= 0).sum())
        of_classes = _figures(cell, bootstrap)
        figures = {name: of_classes[name]() for name in NAMES if not only or name in only}
    if cell.by_scores:
        figures |= agreement_of_scores(cell, bootstrap)
    cases = np.bincount(case, minlength=len(CASES)).tolist()
    row: dict[str, Any] = {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "people": len(cell.people),
        "items": items,
        "items_with_class": items_with_class,
        "sources": len(np.unique(cell.matrix.sources[cell.complete])),
        "min_raters": cell.min_raters,
        "dropped": dropped_note(cell.dropped()),
    }
    for name, estimate in figures.items():
        row |= columns({name: estimate})
        if name.endswith("_kappa"):
            row[name.replace("_kappa", "_items")] = estimate.n
    if not only and not cell.continuous:
        row |= _ranges(cell, bootstrap)
    names = [case.replace(" ", "_") for case in CASES]  # all_agree, some_agree, none_agree
    return row | dict(zip(names, cases, strict=True)) | {"undefined": undefined_note(figures)}


def quick_rows(dataset: Dataset, settings: AuditSettings | None = None) -> Iterator[dict[str, Any]]:
    """How far people agree in each language on each criterion: the figures of QUICK, with their
    intervals.
    """
    for cell in cells(dataset, settings or AuditSettings()):
        if cell.people:
            yield people_row(cell, SourceBootstrap(1, 0), QUICK)


def _figures(cell: AuditCell, bootstrap: SourceBootstrap) -> dict[str, Callable[[], Estimate]]:
    """Functions that compute the figures, by name of the figure."""
    levels = cell.levels
    complete = np.flatnonzero(cell.complete)
    # An item's label is part of its pattern: a model's label depends on the complete cell, to which
    # it is fitted once.
    codes = np.column_stack([cell.by_people[complete], cell.truth[complete]])
    drawn = Resampled(codes, cell.matrix.sources[complete], bootstrap)
    rows, truth = drawn.rows[:, :-1], drawn.rows[:, -1]
    raters = agreement.raters_with(drawn.observed, rows, MIN_RATED)
    caveats = of_the_most_active(cell.by_people[complete])
    pairs = agreement.pairs_of(raters)
    counts = class_counts(rows, levels)

    def share(statistic: Callable[[Any], Any], reason: str = NO_PAIR) -> Callable[[], Estimate]:
        return lambda: drawn.share(statistic, reason)

    def one_by_one(
        statistic: Callable[[Any], Any], reason: str = NO_PAIR
    ) -> Callable[[], Estimate]:
        return lambda: replace(drawn.share(statistic, reason), caveats=caveats)

    return {
        "fleiss_kappa": lambda: _fleiss(_twice(cell, bootstrap), cell),
        "table_6_kappa": lambda: _table_6_kappa(cell, bootstrap),
        "pairwise_f1": one_by_one(lambda weights: agreement.pairwise(weights, rows, levels, pairs)),
        "leave_one_out_f1": one_by_one(
            lambda weights: agreement.leave_one_out(weights, rows, levels, raters),
            "no majority of two or more others",
        ),
        "against_all_f1": (lambda: Estimate.undefined("one person per item", drawn.n))
        if cell.one_person
        else one_by_one(
            lambda weights: agreement.against_all(weights, rows, truth, levels, raters)
        ),
        "percent_agreement": share(lambda weights: agreement.pooled_agreement(weights, counts)),
        "gwet_ac1": lambda: drawn.beyond_chance(
            lambda weights: agreement.gwet_disagreement(weights, counts), NO_PAIR
        ),
        "alpha": lambda: krippendorff_alpha(_twice(cell, bootstrap), cell.criterion),
    }


def _twice(cell: AuditCell, bootstrap: SourceBootstrap, ratings: int = 0) -> Resampled:
    """People's ratings of the items with two or more ratings, or with exactly `ratings` of them."""
    counts = cell.ratings_per_item
    items = np.flatnonzero(counts == ratings if ratings else counts >= 2)
    return Resampled(cell.by_people[items], cell.matrix.sources[items], bootstrap)


def _fleiss(drawn: Resampled, cell: AuditCell) -> Estimate:
    """Fleiss' kappa on these items."""
    if not drawn.n:
        return Estimate.undefined("no item with two ratings")
    counts = class_counts(drawn.rows, cell.levels)
    return drawn.beyond_chance(
        lambda weights: agreement.fleiss_disagreement(weights, counts),
        ONE_CLASS,
        few=few_on_panels(drawn.observed, counts),
    )


def _ranges(cell: AuditCell, bootstrap: SourceBootstrap) -> dict[str, float]:
    """The lowest and highest Fleiss' kappa and alpha when each person is left out in turn."""
    drawn, levels, measure = _twice(cell, bootstrap), cell.levels, cell.criterion.scale.measure
    kappas, alphas = [], []
    for seat in range(len(cell.people)) if 3 <= len(cell.people) <= MOST_LEFT_OUT else ():
        counts = class_counts(np.delete(drawn.rows, seat, axis=1), levels)
        times = drawn.observed * (counts.sum(axis=1) >= 2)
        kappas.append(
            float(agreement.fleiss_disagreement(times[times > 0], counts[times > 0]).beyond_chance)
        )
        alpha = alpha_disagreement(times, times, counts, cell.values, measure)
        alphas.append(float(alpha.beyond_chance))
    return range_columns("fleiss_kappa", kappas) | range_columns("alpha", alphas)


def _table_6_kappa(cell: AuditCell, bootstrap: SourceBootstrap) -> Estimate:
    """Fleiss' kappa on the items with the usual number of ratings, as in METAL's Table 6."""
    estimate = _fleiss(_twice(cell, bootstrap, max(cell.usual_panel, 2)), cell)
    if cell.settings.paper_compat and estimate.value is None and estimate.reason == ONE_CLASS:
        return Estimate(
            0.0,
            n=estimate.n,
            caveats=("one class only; printed as 0, as in Table 6 of the METAL paper",),
        )
    return estimate
