"""How severe each person is, from outputs that people share: the many-facet Rasch model, by
marginal likelihood.

log P(level k) / P(level k - 1) = quality of the output - severity of the person - step k, qualities
normal around 0. The quality of an output is integrated out (Gauss-Hermite). So severities are
unbiased even if few people rate each output. (A model with a parameter for each output would bias
them.) Variances are sandwich variances over clusters of outputs. Source: Linacre (1989), Many-Facet
Rasch Measurement; Bock and Aitkin (1981) on the marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.interval import Interval
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import t_cdf, t_quantile

NODES = 21
LOG_SPREAD = (-3.0, 3.0)  # of qualities, in logits
FARTHEST = 12.0  # logits, of severities and steps
STEP = 1e-4


@dataclass(frozen=True)
class Severities:
    """People's severities. severity: (people,) in logits, adding up to 0; variance: (people,); df:
    degrees of freedom. steps: (levels - 1,); spread: standard deviation of qualities.
    """

    severity: Numbers
    variance: Numbers
    df: float
    steps: Numbers
    spread: float

    def interval(self, index: int) -> Interval:
        """The 95% interval of a person's severity."""
        half = t_quantile(0.975, self.df) * float(np.sqrt(self.variance[index]))
        return Interval.around(float(self.severity[index]), half)

    @property
    def p(self) -> Numbers:
        """(people,) two-sided p-values for a severity of 0."""
        return np.array(
            [2 * t_cdf(-abs(t), self.df) for t in self.severity / np.sqrt(self.variance)]
        )

    def below(self, severity: float, values: Numbers) -> float:
        """How much lower a person of this severity scores than a person of severity 0. values:
        (levels,).
        """
        nodes, weights = _nodes()
        qualities = self.spread * nodes
        both = _log_shares(np.stack([qualities, qualities - severity]), self.steps)
        mean = np.exp(both) @ values @ weights
        return float(mean[0] - mean[1])


def severities(level: Codes, output: Codes, person: Codes, cluster: Codes) -> Severities:
    """Estimate each person's severity.

    level: (n,) the level of each rating, 0 is the worst; every level must occur. output, person:
    (n,) codes. cluster: (outputs,) codes of independent units (sources). Raises Undefined if there
    are fewer than two people, levels or clusters, or if no maximum of the likelihood is found.
    """
    from scipy.optimize import minimize

    people, levels, clusters = int(person.max()) + 1, int(level.max()) + 1, len(np.unique(cluster))
    if min(people, levels, clusters) < 2:
        raise Undefined("severity needs two people, two levels and two sources")

    def scores(parameters: Numbers) -> tuple[float, Numbers]:
        """The log-likelihood, and (clusters, parameters) its derivatives."""
        return _scores(parameters, level, output, person, cluster, people)

    def less(parameters: Numbers) -> tuple[float, Numbers]:
        likelihood, slopes = scores(parameters)
        return -likelihood, -slopes.sum(axis=0)

    cumulated = np.array([(level >= step).mean() for step in range(1, levels)])
    start = np.concatenate(
        [np.zeros(people - 1), -np.log(cumulated / (1 - cumulated + 1e-9)), [0.0]]
    )
    bounds = [(-FARTHEST, FARTHEST)] * (len(start) - 1) + [LOG_SPREAD]
    best = minimize(less, np.clip(start, -5, 5), jac=True, method="L-BFGS-B", bounds=bounds).x
    if (np.abs(best[:-1]) > FARTHEST - 0.01).any():
        raise Undefined(
            "all answers of a person or all answers at a level are extreme, so severity has no"
            " bound"
        )
    at = scores(best)[1]
    bent = np.stack(
        [(less(best + STEP * row)[1] + at.sum(axis=0)) / STEP for row in np.eye(len(best))]
    )
    inverse = np.linalg.pinv((bent + bent.T) / 2, hermitian=True)
    covariance = clusters / (clusters - 1) * inverse @ (at.T @ at) @ inverse
    free = np.vstack([np.eye(people - 1), -np.ones(people - 1)])
    severity = free @ best[: people - 1]
    variance = np.einsum("ri,ij,rj->r", free, covariance[: people - 1, : people - 1], free)
    if not (np.isfinite(variance).all() and (variance > 0).all()):
        raise Undefined("the ratings do not say how severe people are: their likelihood is flat")
    return Severities(
        severity, variance, clusters - 1.0, best[people - 1 : -1], float(np.exp(best[-1]))
    )


def _nodes() -> tuple[Numbers, Numbers]:
    """Nodes and weights for integrals over the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def _log_shares(logits: Numbers, steps: Numbers) -> Numbers:
    """(..., levels) the log of the probability of each level. logits: quality minus severity."""
    levels = np.arange(len(steps) + 1)
    raw = logits[..., None] * levels - np.concatenate([[0.0], np.cumsum(steps)])
    highest = raw.max(axis=-1, keepdims=True)
    return np.asarray(raw - highest - np.log(np.exp(raw - highest).sum(axis=-1, keepdims=True)))


def _scores(
    parameters: Numbers, level: Codes, output: Codes, person: Codes, cluster: Codes, people: int
) -> tuple[float, Numbers]:
    nodes, weights = _nodes()
    severity = np.append(parameters[: people - 1], -parameters[: people - 1].sum())
    steps, spread = parameters[people - 1 : -1], np.exp(parameters[-1])
    log_shares = _log_shares(spread * nodes - severity[:, None], steps)  # (people, nodes, levels)
    shares = np.exp(log_shares)
    of_output = np.zeros((len(cluster), len(nodes)))
    np.add.at(of_output, output, log_shares[person, :, level])
    of_output += np.log(weights)
    highest = of_output.max(axis=1, keepdims=True)
    likelihood = highest[:, 0] + np.log(np.exp(of_output - highest).sum(axis=1))
    posterior = np.exp(of_output - likelihood[:, None])[output]  # (n, nodes)
    expected = shares @ np.arange(shares.shape[-1])  # (people, nodes)
    above = level[:, None] - expected[person]
    slopes = np.zeros((int(cluster.max()) + 1, len(parameters)))
    of_person = np.zeros((len(slopes), people))
    np.add.at(of_person, (cluster[output], person), -(posterior * above).sum(axis=1))
    slopes[:, : people - 1] = of_person[:, :-1] - of_person[:, -1:]
    at_least = np.cumsum(shares[..., ::-1], axis=-1)[..., ::-1][..., 1:]  # (people, nodes, steps)
    reached = level[:, None] > np.arange(len(steps))
    of_steps = np.einsum("nq,nqk->nk", posterior, at_least[person]) - reached
    np.add.at(slopes[:, people - 1 : -1], cluster[output], of_steps)
    np.add.at(slopes[:, -1], cluster[output], (posterior * above) @ (spread * nodes))
    return float(likelihood.sum()), slopes
