"""The board's ensemble: a linear combination of a few metrics that agrees with people.

Source: Kasai et al., Bidimensional Leaderboards (2022), section 2.2 and tables 2 and 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from metal.boards.cells import BoardCell, BoardRater, ScaleEnds
from metal.boards.settings import BoardSettings
from metal.data.text import coverage, plural
from metal.errors import Undefined
from metal.stats.correlation import pearson
from metal.stats.ensemble import (
    Ensemble,
    GeneratorMoments,
    Interval,
    choose_alpha,
    ensemble_path,
    fit_ensemble,
    generator_moments,
    leave_one_out_correlation,
    leave_one_out_predictions,
)
from metal.stats.patterns import Codes, Numbers

GROUP = "ensemble"  # raters of this group are ensembles: never a member of another
NAME = "ensemble (unseen)"
# a metric that scored fewer of the outputs that people rated is not a candidate
LEAST_COVERAGE = 0.95


@dataclass(frozen=True)
class Without:
    """The ensemble fitted again without one of its members. correlation: Pearson's r by
    leave-one-generator-out, NaN if undefined.
    """

    member: str
    correlation: float
    members: tuple[str, ...]


@dataclass(frozen=True)
class BoardEnsemble:
    """An ensemble of a cell, with its figures.

    candidates: the metrics from which members were chosen, in the order of ensemble.coefficients.
    intervals: the intervals of alpha that give the wanted number of coefficients. target: people's
    score h was fitted as offset + slope * h. in_sample: r with people on the rows used in the fit;
    left_out: r with people by leave-one-generator-out (both NaN if undefined). digest: hash of the
    names and numbers used in the fit. unseen: (items,) predictions by leave-one-generator-out.
    scores: (items,) predictions of the fit to all rated generators, also for generators that nobody
    rated.
    """

    criterion: str
    language: str
    candidates: tuple[str, ...]
    ensemble: Ensemble
    alpha: float
    intervals: tuple[Interval, ...]
    target: tuple[float, float]
    rows: int
    generators: int
    in_sample: float
    left_out: float
    digest: str
    unseen: Numbers = field(repr=False, compare=False)
    scores: Numbers = field(repr=False, compare=False)
    ablation: tuple[Without, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def members(self) -> dict[str, dict[str, float]]:
        """The metrics with a nonzero coefficient, the largest first, each with its coefficient,
        mean and spread.
        """
        coefficients, mean, spread = (
            self.ensemble.coefficients,
            self.ensemble.mean,
            self.ensemble.spread,
        )
        heaviest = np.argsort(-np.abs(coefficients), kind="stable")[
            : np.count_nonzero(coefficients)
        ]
        return {
            self.candidates[at]: {
                "coefficient": float(coefficients[at]),
                "mean": float(mean[at]),
                "spread": float(spread[at]),
            }
            for at in heaviest
        }

    @property
    def rater(self) -> BoardRater:
        """The ensemble as a rater. Each of its scores on the board comes from a fit without the
        output's generator.
        """
        return BoardRater(NAME, "metric", GROUP)


def people_target(scale: ScaleEnds) -> tuple[float, float]:
    """(offset, slope) of the line that puts people's scores on 0 to 100, as the released boards do:
    20 h for a scale of 1 to 5, 100 + 4 h for a scale of -25 to 0. Scores without a range stay
    unchanged.
    """
    low = min(scale.low or 0.0, 0.0)
    if scale.low is None or scale.high is None or scale.high <= low:
        return 0.0, 1.0
    slope = 100 / (scale.high - low)
    return 0.0 - slope * low, slope


def board_ensemble(cell: BoardCell, settings: BoardSettings) -> BoardEnsemble:
    """The ensemble of a cell's metrics. Raises Undefined if there is none, with the reason."""
    names, dropped = _candidates(cell, settings)
    if len(names) < settings.nonzero:
        fewer = "; choose fewer with `nonzero`" if names else ""
        have = plural(len(names), "metric")
        raise Undefined(f"{settings.nonzero} metrics wanted, but {have} to choose from{fewer}")
    table = np.stack(list(map(cell.of, names)), axis=1)
    complete = cell.rated & ~np.isnan(table).any(axis=1)
    if len(np.unique(cell.generator[complete])) < 2:
        raise Undefined("fewer than two generators rated by people and by every metric")
    offset, slope = people_target(cell.scale)
    target = offset + slope * cell.human[complete]
    metrics, generator = table[complete], cell.generator[complete]
    moments = generator_moments(metrics, target, generator)
    alpha, intervals = _alpha(moments, settings)
    ensemble = fit_ensemble(moments, alpha)
    if not ensemble.coefficients.any():
        raise Undefined(f"alpha {alpha:g} gives no metric a nonzero coefficient")
    unseen = np.full(len(cell.human), np.nan)
    unseen[complete] = leave_one_out_predictions(moments, metrics, generator, alpha)
    scores = ensemble.score(table)
    return BoardEnsemble(
        cell.criterion,
        cell.language,
        tuple(names),
        ensemble,
        alpha,
        intervals,
        (offset, slope),
        int(complete.sum()),
        len(moments.products),
        _r(scores[complete], target),
        _r(unseen[complete], target),
        _digest(names, metrics, target, generator),
        unseen,
        scores,
        tuple(
            _without(name, names, metrics, target, generator, settings)
            for name in _used(names, ensemble)
        ),
        tuple(dropped),
    )


def _candidates(cell: BoardCell, settings: BoardSettings) -> tuple[list[str], list[str]]:
    """The raters that an ensemble may use, and a sentence about each rater with too few scores."""
    names, dropped = [], []
    for rater, scores in zip(cell.raters, cell.scores, strict=True):
        if rater.kind not in settings.members or rater.group == GROUP:
            continue
        scored = float((~np.isnan(scores[cell.rated])).mean())
        if scored < LEAST_COVERAGE:
            dropped.append(
                f"{rater.name} scored {coverage(scored)} of the outputs that people rated"
            )
        else:
            names.append(rater.name)
    return names, dropped


def _alpha(
    moments: GeneratorMoments, settings: BoardSettings
) -> tuple[float, tuple[Interval, ...]]:
    intervals = ensemble_path(moments).intervals_with(settings.nonzero)
    if settings.alpha is not None:
        return settings.alpha, intervals
    return choose_alpha(intervals, settings.rule), intervals


def _digest(names: Sequence[str], metrics: Numbers, target: Numbers, generator: Codes) -> str:
    """Eight hex digits that identify the data of a fit, in whatever order the metrics are."""
    order = sorted(range(len(names)), key=names.__getitem__)
    digest = blake2b(
        "\n".join(names[at] for at in order).encode("utf-8", "surrogatepass"), digest_size=4
    )
    for numbers in (metrics[:, order], target, generator.astype(np.float64)):
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return digest.hexdigest()


def _without(
    left: str,
    names: Sequence[str],
    metrics: Numbers,
    target: Numbers,
    generator: Numbers,
    settings: BoardSettings,
) -> Without:
    """Fit a new ensemble to the metrics that remain without `left`, by the same rule, or with the
    same alpha if the user set it.
    """
    rest = [name for name in names if name != left]
    try:
        moments = generator_moments(metrics[:, list(map(names.index, rest))], target, generator)
        alpha, _ = _alpha(moments, settings)
        ensemble = fit_ensemble(moments, alpha)
        r = float(leave_one_out_correlation(moments, np.array([alpha]))[0])
    except Undefined:
        return Without(left, float("nan"), ())
    return Without(left, r, _used(rest, ensemble))


def _used(names: Sequence[str], ensemble: Ensemble) -> tuple[str, ...]:
    return tuple(
        name for name, weight in zip(names, ensemble.coefficients, strict=True) if weight != 0
    )


def _r(scores: Numbers, target: Numbers) -> float:
    try:
        return pearson(scores, target)
    except Undefined:
        return float("nan")


def ensemble_row(fitted: BoardEnsemble, signature: str, settings: BoardSettings) -> dict[str, Any]:
    """The ensemble as a row of the table `ensembles`."""
    low, high = fitted.intervals[0] if fitted.intervals else (None, None)
    return {
        "language": fitted.language,
        "criterion": fitted.criterion,
        "ensemble": signature,
        "members": ", ".join(fitted.members),
        "intercept": fitted.ensemble.intercept,
        "alpha": fitted.alpha,
        "alpha_low": low,
        "alpha_high": high,
        "rule": "given" if settings.alpha is not None else settings.rule,
        "nonzero": settings.nonzero,
        "candidates": len(fitted.candidates),
        "target_offset": fitted.target[0],
        "target_slope": fitted.target[1],
        "outputs": fitted.rows,
        "generators": fitted.generators,
        "pearson_in_sample": fitted.in_sample,
        "pearson_unseen": fitted.left_out,
    }


def member_rows(fitted: BoardEnsemble, signature: str) -> list[dict[str, Any]]:
    """The members as rows of the table `ensemble_members`, the largest coefficient first, with the
    loss if the member is left out.
    """
    ablation = {left_out.member: left_out for left_out in fitted.ablation}
    return [
        {
            "language": fitted.language,
            "criterion": fitted.criterion,
            "ensemble": signature,
            "member": name,
            **weights,
            "pearson_unseen": fitted.left_out,
            "pearson_without": ablation[name].correlation,
            "members_without": ", ".join(ablation[name].members),
        }
        for name, weights in fitted.members.items()
    ]
