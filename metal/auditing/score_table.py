"""The table of scores: how close a judge and a person come to the mean of the other people,
resampled over sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.figures import ONE_SOURCE, columns, dropped_note, undefined_note
from metal.auditing.scores import ALL_EQUAL, ScoreStanding
from metal.data.records import Estimate
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.patterns import Codes, Numbers, distinct, mean_of_defined, ratio
from metal.stats.skill import (
    FOLDS,
    concordance,
    correlation,
    interval_alpha,
    intraclass,
    mean_of_others,
    moments,
    panel_features,
    root_mean_squared_error,
    skill,
)

LEAST_ITEMS = 30  # of a person; people with fewer are taken together as one
_CHUNK = 20  # people whose sums are held at once
SKILLS = ("skill", "skill_shifted", "skill_recalibrated")


class ScoreFigures:
    """A judge compared with the people of a cell, by their scores as given."""

    def __init__(self, beside: ScoreStanding, bootstrap: SourceBootstrap) -> None:
        self.beside, self.bootstrap = beside, bootstrap
        panel = beside.panel
        self.people, self.judge = panel.scores[beside.at], beside.scores[beside.at]
        self.sources = panel.sources[beside.at]

    @cached_property
    def figures(self) -> dict[str, Numbers]:
        """The figures by name, as means over people; each is (1 + resamples,): as observed, then in
        each resample.

        skill, ...: figures of the judge. person_skill, ...: figures of a person. shift: how much
        higher the judge scores than people.
        """
        units: list[dict[str, Numbers]] = []
        rest: Any = 0.0
        for sums in self._sums():  # (1 + resamples, 2, FOLDS, 6)
            if sums[0, 0, :, 0].sum() >= LEAST_ITEMS:
                units.append(_figures(sums, alone=self.beside.gold))
            else:
                rest = rest + sums
        if np.ndim(rest) and rest[0, 0, :, 0].sum() >= LEAST_ITEMS:
            units.append(_figures(rest, alone=self.beside.gold))
        return (
            {name: mean_of_defined([unit[name] for unit in units]) for name in units[0]}
            if units
            else {}
        )

    def _sums(self) -> Iterator[Numbers]:
        """For each person facing the others, the sums of moments of judge and person, as observed
        and resampled.
        """
        by_source = BySource(self.sources, self.bootstrap)
        middle = np.nanmean(self.beside.panel.scores)  # about it, sums of squares lose no digits
        people, of_judge = self.people - middle, self.judge - middle
        if self.beside.gold:
            target = ratio(np.nansum(people, axis=1), (~np.isnan(people)).sum(axis=1))
            each = moments(target, of_judge)
            yield by_source.sums(np.stack([each, each], axis=1)[:, None])[:, 0]
            return
        for start in range(0, people.shape[1], _CHUNK):
            features = []
            for seat in range(start, min(start + _CHUNK, people.shape[1])):
                target, own = mean_of_others(people, seat), people[:, seat]
                judge = np.where(np.isnan(own), np.nan, of_judge)
                features.append(np.stack([moments(target, judge), moments(target, own)], axis=1))
            yield from np.moveaxis(by_source.sums(np.stack(features, axis=1)), 1, 0)


class BySource:
    """Sums over items, as observed and in each resample of sources, separately for each fold.

    More than 2,048 sources are drawn in blocks.
    """

    def __init__(self, sources: Codes, bootstrap: SourceBootstrap) -> None:
        first, codes = distinct(sources)
        block = bootstrap.blocks(len(first))
        self.group = codes if block is None else block[codes]
        self.bootstrap, self.groups = bootstrap, int(self.group.max()) + 1
        self.order = np.argsort(self.group, kind="stable")
        self.starts = np.searchsorted(self.group[self.order], np.arange(self.groups))
        self.fold = (
            np.random.default_rng([bootstrap.seed, self.groups]).permutation(self.groups) % FOLDS
        )

    def sums(self, features: Numbers, *, folds: bool = True) -> Numbers:
        """Sums (1 + resamples, ..., FOLDS, F) of features (items, ..., F).

        folds: whether to keep the folds apart.
        """
        added = np.add.reduceat(features[self.order], self.starts, axis=0)
        if folds:
            member = self.fold[:, None] == np.arange(FOLDS)
            added = added[..., None, :] * member.reshape(-1, *[1] * (added.ndim - 2), FOLDS, 1)
        observed: Numbers = added.sum(axis=0)[None]
        return np.concatenate([observed, self.bootstrap.totals(added)])


class PeopleScores:
    """People's scores of the items that two people scored: sums as observed and resampled, with
    items and sources.

    scores: (items, people), NaN without a score.
    """

    def __init__(self, scores: Numbers, sources: Codes, bootstrap: SourceBootstrap) -> None:
        rated = (~np.isnan(scores)).sum(axis=1) >= 2
        self.items, self.n_sources = int(rated.sum()), len(distinct(sources[rated])[0])
        if self.items:
            # about the middle, no digits are lost
            features = panel_features(scores[rated] - np.nanmean(scores))
            self.sums = BySource(sources[rated], bootstrap).sums(features, folds=False)

    def estimate(self, statistic: Any) -> Estimate:
        """A statistic of the sums with its 95% interval."""
        if not self.items:
            return Estimate.undefined("no item with two ratings")
        return _estimate(statistic(self.sums), self.items, self.n_sources)


def _estimate(values: Numbers, items: int, sources: int) -> Estimate:
    """A figure with its interval, from its value as observed and in each resample."""
    if np.isnan(values[0]):
        return Estimate.undefined(ALL_EQUAL, items)
    if sources < 2:
        return Estimate(float(values[0]), n=items, reason=ONE_SOURCE)
    ends = percentile_interval(values[1:]) or ()
    method = f"percentile bootstrap over {sources} sources"
    return Estimate(float(values[0]), *ends, n=items, method=method)


def _figures(sums: Numbers, *, alone: bool) -> dict[str, Numbers]:
    """The figures of a judge and a person from their sums (1 + resamples, 2, FOLDS, 6).

    alone: whether there is no person to compare with.
    """
    over_folds, figures = sums.sum(axis=-2), {}
    for side, whose in enumerate(("", "person_")):
        for kind, name in enumerate(SKILLS):
            figures[whose + name] = skill(sums[:, side])[:, kind]
        figures[f"{whose}rmse"] = root_mean_squared_error(over_folds[:, side])
        figures[f"{whose}concordance"] = concordance(over_folds[:, side])
        figures[f"{whose}correlation"] = correlation(over_folds[:, side])
        if alone and whose:
            figures |= {
                name: np.full(len(sums), np.nan) for name in figures if name.startswith(whose)
            }
    figures["shift"] = ratio(over_folds[:, 0, 3] - over_folds[:, 0, 1], over_folds[:, 0, 0])
    return figures


FIGURES = (
    *("skill", "person_skill", "skill_shifted", "skill_recalibrated", "rmse", "person_rmse"),
    *("concordance", "person_concordance", "correlation", "person_correlation", "shift"),
)


def score_row(beside: ScoreStanding, bootstrap: SourceBootstrap) -> dict[str, Any]:
    """One row of the table of scores: how close a judge and a person come to the mean of the other
    people.
    """
    cell, items = beside.cell, beside.items
    drawn: Mapping[str, Numbers] = ScoreFigures(beside, bootstrap).figures if items else {}
    few = f"fewer than {LEAST_ITEMS} items"
    figures = {
        name: _estimate(drawn[name], items, beside.n_sources)
        if name in drawn
        else Estimate.undefined(few, items)
        for name in FIGURES
    }
    return {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": beside.judge,
        "asked": beside.asked,
        "answered": items,
        "coverage": items / beside.asked if beside.asked else float("nan"),
        "sources": beside.n_sources,
        "dropped": dropped_note(
            {"incomplete": int((cell.ratings_per_item > 0).sum()) - beside.asked}
        ),
        **columns(figures),
        "undefined": undefined_note(figures),
    }


def agreement_of_scores(cell: AuditCell, bootstrap: SourceBootstrap) -> dict[str, Estimate]:
    """How far people agree on scores: ICC(1) and Krippendorff's alpha at the interval measure."""
    panel = PeopleScores(cell.scores(cell.people), cell.matrix.sources, bootstrap)
    return {"icc": panel.estimate(intraclass), "alpha": panel.estimate(interval_alpha)}
