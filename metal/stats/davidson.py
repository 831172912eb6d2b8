"""The strengths of players compared in pairs, by Davidson's model: Bradley and Terry's model with
ties.

Shapes: (comparisons,) for all of `first`, `second`, `outcome`, `shown` and `cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import t_cdf, t_quantile

_STEPS = 60
_CLOSE = 1e-9
_SINGULAR = 1e10


@dataclass(frozen=True)
class Strengths:
    """Fitted strengths.

    strength: (players,) log odds against a player of mean strength, without ties. covariance: of
    the strengths.

    points: (players,) the expected share of points in comparisons with each of the others; a tie is
    half a point. points_half: half the width of the 95% interval of points. first_place: the log
    odds that the player shown first wins, 0 if the order was never varied. first_place_half: half
    the width of its interval. df: degrees of freedom of Student's t, clusters - 1.
    """

    strength: Numbers
    covariance: Numbers
    points: Numbers
    points_half: Numbers
    first_place: float
    first_place_half: float
    df: int

    @property
    def half(self) -> Numbers:
        """(players,) half the width of the 95% interval of each strength."""
        return np.asarray(t_quantile(0.975, self.df) * np.sqrt(self.covariance.diagonal()))

    @property
    def better(self) -> Numbers:
        """(players, players) one-sided p-value of i being stronger than j; NaN on the diagonal."""
        variance = self.covariance.diagonal()
        apart = self.strength[:, None] - self.strength
        error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.covariance, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = apart / error
        return np.array([[1 - t_cdf(x, self.df) for x in row] for row in t.tolist()])


def davidson(
    first: Codes, second: Codes, outcome: Codes, shown: Codes, cluster: Codes, players: int
) -> Strengths:
    """Maximum likelihood of P(first) : P(second) : P(tie) = s_i o : s_j / o : v sqrt(s_i s_j).

    first, second: the compared players, 0 to players - 1. outcome: 0 if the first was better, 1 if
    the second was better, 2 if neither was. shown: 1 if the first was shown first, -1 if it was
    shown second, 0 if that is unknown; o is fitted only if both orders occur. cluster: comparisons
    of a cluster (a source) may depend on each other. The covariance is the sandwich over clusters
    times clusters / (clusters - 1). Raises Undefined if there are fewer than two clusters, or only
    ties. Also raises it if some players never lost to the others or tied with them, because their
    strength would be infinite. Source: Davidson (1970), On extending the Bradley-Terry model to
    accommodate ties; Davidson and Beaver (1977) for the order.
    >>> order = np.ones(3, dtype=int)
    >>> fit = davidson(
    ...     np.zeros(3, int), np.ones(3, int), np.array([0, 0, 1]), order, np.arange(3), 2
    ... )
    >>> # log(2 / 1)
    >>> fit.points.round(3).tolist(), round(float(fit.strength[0] - fit.strength[1]), 3)
    ([0.667, 0.333], 0.693)
    """
    _, cluster = np.unique(cluster, return_inverse=True)
    clusters = int(cluster.max()) + 1 if len(cluster) else 0
    if clusters < 2:
        raise Undefined("fewer than two sources")
    if (outcome == 2).all():
        raise Undefined("every answer is a tie")
    _check_connected(first, second, outcome, players)
    both_orders = bool((shown == 1).any() and (shown == -1).any())
    design = _design(
        first, second, shown if both_orders else None, players, bool((outcome == 2).any())
    )
    outcomes, parameters = design.shape[1:]
    beta, taken = np.zeros(parameters), np.eye(3)[outcome][:, :outcomes]
    for _ in range(_STEPS):
        chance = _chances(design @ beta)
        scores = np.einsum("nc,ncp->np", taken - chance, design)
        inner = np.einsum("nc,ncp->np", chance, design)
        information = (
            np.einsum("nc,ncp,ncq->pq", chance, design, design, optimize=True) - inner.T @ inner
        )
        # an answer is all but certain: the steps go on for ever
        if np.linalg.cond(information) > _SINGULAR:
            raise Undefined("the model does not converge")
        step = np.linalg.solve(information, scores.sum(axis=0))
        # steps from afar can overshoot
        beta = beta + step * min(1.0, 2 / max(np.abs(step).max(), _CLOSE))
        if np.abs(step).max() < _CLOSE:
            break
    else:
        raise Undefined("the model does not converge")
    bread = np.linalg.inv(information)
    sums = np.zeros((clusters, parameters))
    np.add.at(sums, cluster, scores)
    covariance = bread @ (sums.T @ sums) @ bread * clusters / (clusters - 1)
    return _summary(beta, covariance, players, both_orders, outcomes == 3, clusters - 1)


def _design(first: Codes, second: Codes, shown: Codes | None, players: int, ties: bool) -> Numbers:
    """The design (comparisons, outcomes, parameters). The parameters are all strengths but the last
    (which is minus their sum), then order and tie.
    """
    row = np.arange(len(first))
    strengths = np.zeros((len(first), 2 + ties, players))
    strengths[row, 0, first] = strengths[row, 1, second] = 1.0
    strengths[row, 2:, first] = strengths[row, 2:, second] = 0.5
    more = []
    if shown is not None:
        more.append(np.stack([shown / 2, -shown / 2, *([np.zeros(len(first))] * ties)], axis=1))
    if ties:
        more.append(np.broadcast_to([0.0, 0.0, 1.0], (len(first), 3)))
    contrasts = strengths[:, :, :-1] - strengths[:, :, -1:]
    return np.concatenate([contrasts, *(column[:, :, None] for column in more)], axis=2)


def _summary(
    beta: Numbers, covariance: Numbers, players: int, both_orders: bool, ties: bool, df: int
) -> Strengths:
    spread = np.concatenate([np.eye(players - 1), -np.ones((1, players - 1))])
    own = slice(0, players - 1)
    quantile = t_quantile(0.975, df)

    def points(parameters: Numbers) -> Numbers:
        """(players,) the expected share of points against the others."""
        strength = spread @ parameters[own]
        half = (strength[:, None] + strength) / 2
        tie = half + parameters[-1] if ties else np.full_like(half, -np.inf)
        chance = _chances(
            np.stack([*np.broadcast_arrays(strength[:, None], strength), tie], axis=2)
        )
        share = chance[..., 0] + chance[..., 2] / 2
        return np.asarray((share.sum(axis=1) - 0.5) / (players - 1))  # against oneself it is a half

    shift = 1e-5 * np.eye(len(beta))
    slope = np.stack([(points(beta + each) - points(beta - each)) / 2e-5 for each in shift], axis=1)
    variance = np.einsum("ip,pq,iq->i", slope, covariance, slope)
    order = players - 1
    first = (
        (float(beta[order]), float(quantile * np.sqrt(covariance[order, order])))
        if both_orders
        else (0.0, 0.0)
    )
    strength, of_strength = spread @ beta[own], spread @ covariance[own, own] @ spread.T
    return Strengths(strength, of_strength, points(beta), quantile * np.sqrt(variance), *first, df)


def _chances(logits: Numbers) -> Numbers:
    """(..., outcomes) the probability of each outcome."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _check_connected(first: Codes, second: Codes, outcome: Codes, players: int) -> None:
    """Raise Undefined if some players never lost to the other players or tied with them."""
    reaches = np.eye(players, dtype=bool)
    reaches[first[outcome != 1], second[outcome != 1]] = True
    reaches[second[outcome != 0], first[outcome != 0]] = True
    for _ in range(players.bit_length()):
        reaches = reaches @ reaches
    if not reaches.all():
        raise Undefined(
            "some never lost to the others or tied with them, or were never compared with them"
        )
