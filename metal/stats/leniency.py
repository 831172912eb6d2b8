"""Whether a rater scores some languages higher than others, although the outputs are equally good.

If the same contents exist in several languages, they are compared directly (`parallel_shifts`).
Otherwise people's scores stand for quality, and their noise has to be taken into account
(`shifts_beside_people`). An output that people score high is on average not quite as good as they
say; the less people agree, the larger this effect is. If languages differ in quality, regressing on
people's raw mean, or subtracting it, would find a gap even if there is none.

Intervals are by the delete-one jackknife over clusters (contents, sources) with Satterthwaite's
degrees of freedom. Sources: Fuller (1987), Measurement Error Models; Carroll et al. (2006), chapter
4 (regression calibration); Bell and McCaffrey (2002) on few clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metal.errors import Undefined
from metal.stats.interval import NO_INTERVAL, Bounds, Interval
from metal.stats.patterns import Codes, Numbers, distinct
from metal.stats.permutation import draw_flips
from metal.stats.significance import t_cdf, t_quantile

LEAST = 10  # contents of a language, or outputs, below which nothing is said of it
FLIPS = 9_999  # of signs, where there are too many contents for all
LEAST_RELIABILITY = 0.3  # of people's mean in a language, below which it cannot stand for quality


@dataclass(frozen=True)
class Shifts:
    """A figure for each of L languages. value: (L,), NaN if undefined; variance: (L,); df: (L,)
    degrees of freedom.
    """

    value: Numbers
    variance: Numbers
    df: Numbers

    def interval(self, index: int, p: float = 0.975) -> Interval:
        """The interval from the 1 - p to the p quantile, by default the 95% interval; NaN if
        unknown.
        """
        value, df = float(self.value[index]), float(self.df[index])
        if not (np.isfinite(value) and df >= 1):
            return NO_INTERVAL
        half = t_quantile(p, df) * float(np.sqrt(self.variance[index]))
        return Interval.around(value, half)

    def bounds(self, index: int) -> Bounds:
        """The figure with its 95% interval."""
        return Bounds(float(self.value[index]), *self.interval(index))

    @cached_property
    def p(self) -> Numbers:
        """(L,) two-sided p-values for a figure of 0."""
        return np.array(list(map(self._p, range(len(self.value)))))

    def _p(self, language: int) -> float:
        value, variance, df = (
            float(each[language]) for each in (self.value, self.variance, self.df)
        )
        if not (np.isfinite(value) and df >= 1):
            return np.nan
        if variance == 0:
            return 0.0 if value else 1.0
        return 2 * t_cdf(-abs(value) / np.sqrt(variance), df)


def parallel_shifts(
    values: Numbers, language: Codes, unit: Codes, content: Codes, languages: int
) -> Shifts:
    """How much higher each language is scored than the mean of all languages, on the same contents.

    values: (n,) scores; language, unit, content: (n,) codes. A unit is compared across languages: a
    content, or a generator's output for it. Each unit has its own level; the clusters are contents.
    The shifts of languages add up to 0. A language with fewer than LEAST contents that also occur
    in another language is NaN. Raises Undefined if fewer than two languages are left, or if they
    share no contents.
    """
    units, unit = np.unique(unit, return_inverse=True)
    cluster_of_unit = np.zeros(len(units), dtype=np.int64)
    clusters, cluster = np.unique(content, return_inverse=True)
    cluster_of_unit[unit] = cluster
    counts, sums = _tallies((unit, language), values, (len(units), languages))
    used = np.ones(languages, dtype=bool)
    while True:  # a language that is left out may leave too few for another
        shared = ((counts > 0) & used).sum(axis=1) > 1
        have = _distinct(cluster_of_unit, (counts > 0) & shared[:, None], len(clusters))
        kept = used & (have >= LEAST)
        if (kept == used).all():
            break
        used = kept
    if used.sum() < 2:
        raise Undefined(
            f"fewer than two languages have {LEAST} contents that also exist in another language"
        )
    counts, sums = counts[shared][:, used], sums[shared][:, used]
    cluster = cluster_of_unit[shared]
    each = counts.sum(axis=1, keepdims=True)
    normal = np.einsum("ul,lm->ulm", counts, np.eye(counts.shape[1])) - np.einsum(
        "ul,um->ulm", counts, counts / each
    )
    right = sums - counts * (sums.sum(axis=1, keepdims=True) / each)
    normals = np.zeros((len(clusters), *normal.shape[1:]))
    rights = np.zeros((len(clusters), right.shape[1]))
    np.add.at(normals, cluster, normal)
    np.add.at(rights, cluster, right)
    present = np.unique(cluster)
    normals, rights = normals[present], rights[present]
    if np.linalg.matrix_rank(normals.sum(axis=0)) < counts.shape[1] - 1:
        raise Undefined("the languages share no contents")
    added = np.ones_like(normals[0])  # makes the shifts add up to 0
    solved = np.linalg.solve(normals.sum(axis=0) + added, rights.sum(axis=0))
    without = np.linalg.pinv(normals.sum(axis=0) - normals + added, hermitian=True)
    without_one = np.einsum("qlm,qm->ql", without, rights.sum(axis=0) - rights)
    variance = (
        (len(present) - 1)
        / len(present)
        * ((without_one - without_one.mean(axis=0)) ** 2).sum(axis=0)
    )
    return Shifts(*(_spread(used, each) for each in (solved, variance, have[used] - 1.0)))


def flip_p_values(
    values: Numbers, language: Codes, unit: Codes, content: Codes, languages: int, pivot: int
) -> Numbers:
    """(L,) two-sided p that each language is scored like the pivot, by flips of the signs of
    differences.

    Arguments are those of `parallel_shifts`, but the test is exact however few contents there are.
    The tested hypothesis is that a content's difference is as likely to be d as -d, for every d.
    All flips are used with up to 13 contents, else 16,384 flips. NaN for the pivot, and for a
    language that shares no content with it.
    """
    units, unit = np.unique(unit, return_inverse=True)
    counts, sums = _tallies((unit, language), values, (len(units), languages))
    content_of_unit = np.zeros(len(units), dtype=np.int64)
    content_of_unit[unit] = np.unique(content, return_inverse=True)[1]
    p_values = np.full(languages, np.nan)
    for other in range(languages):
        both = (counts[:, other] > 0) & (counts[:, pivot] > 0)
        if other == pivot or not both.any():
            continue
        apart = sums[both, other] / counts[both, other] - sums[both, pivot] / counts[both, pivot]
        _, cluster = np.unique(content_of_unit[both], return_inverse=True)
        totals = np.bincount(cluster, apart).astype(np.float64)
        flipped = np.abs(draw_flips(np.random.default_rng(other), len(totals), FLIPS).sums(totals))
        p_values[other] = float((flipped >= flipped[0] - 1e-9).mean())
    return p_values


def _distinct(cluster: Codes, present: Any, clusters: int) -> Codes:
    """(L,) the number of clusters that have a value in each language."""
    present_in = np.zeros((clusters, present.shape[1]), dtype=bool)
    for language in range(present.shape[1]):
        present_in[cluster[present[:, language]], language] = True
    return np.asarray(present_in.sum(axis=0))


def _tallies(
    places: tuple[Codes, Codes], values: Numbers, shape: tuple[int, int]
) -> tuple[Numbers, Numbers]:
    """(units, L) how many values each unit has in each language, and their sums."""
    counts, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, places, 1.0)
    np.add.at(sums, places, values)
    return counts, sums


def _spread(used: Any, values: Numbers) -> Numbers:
    """(L,) the values of the languages in use; NaN for all others."""
    spread = np.full(len(used), np.nan)
    spread[used] = values
    return spread


@dataclass(frozen=True)
class RatedItems:
    """The scores of people and of a judge, with one row per output.

    judge: (n,) scores; people: (n, R) scores, NaN if a person gave none; language, source: (n,)
    codes.
    """

    judge: Numbers
    people: Numbers
    language: Codes
    source: Codes
    languages: int

    @cached_property
    def sums(self) -> tuple[Numbers, Codes]:
        """(clusters, 8) sums over the outputs of each source in a language, and (clusters,) that
        language.

        The sums are of: 1, people's means, squared means, the judge's scores, products of mean and
        judge's score, squared scores of the judge, people's squared residuals, and 1 / number of
        people.
        """
        means, residuals, answered = self._people
        columns = (
            *(np.ones(len(means)), means, means**2, self.judge, self.judge * means, self.judge**2),
            *(np.nansum(residuals**2, axis=1), 1 / answered),
        )
        first, cluster = distinct(
            self.language * (int(self.source.max(initial=0)) + 1) + self.source
        )
        totals: Numbers = np.stack(
            [np.bincount(cluster, column, len(first)) for column in columns], axis=1
        )
        return totals.astype(np.float64), self.language[first]

    @cached_property
    def _people(self) -> tuple[Numbers, Numbers, Numbers]:
        """For each output, people's mean, the residuals, and how many people answered, after
        subtracting each person's severity.

        Severity is subtracted because a constant difference between people adds no noise to the
        order of outputs.
        """
        rated = ~np.isnan(self.people.T)
        # (R, n): sums by column
        scores, present = np.where(rated, self.people.T, 0.0), rated.astype(np.float64)
        answered = present.sum(axis=0)
        for language in range(self.languages):
            rows = np.flatnonzero(self.language == language)
            own, by_whom, people = scores[:, rows], present[:, rows], np.maximum(answered[rows], 1)
            counts = by_whom.sum(axis=1)
            for _ in range(20):  # alternating least squares of outputs and people
                away = own.sum(axis=1) - by_whom @ (own.sum(axis=0) / people)
                severity = np.where(counts > 0, away / np.maximum(counts, 1), 0.0)
                severity -= (severity * counts).sum() / max(counts.sum(), 1)
                own -= severity[:, None] * by_whom
                if np.abs(severity).max(initial=0.0) < 1e-9:
                    break
            scores[:, rows] = own
        means = scores.sum(axis=0) / answered
        return means, np.where(rated, scores - means, np.nan).T, answered

    @cached_property
    def residual_df(self) -> Numbers:
        """(L,) degrees of freedom of people's residuals."""
        answered, df = self._people[2], np.zeros(self.languages)
        for language in range(self.languages):
            rows = self.language == language
            people = int((~np.isnan(self.people[rows])).any(axis=0).sum())
            df[language] = (answered[rows] - 1).sum() - max(people - 1, 0)
        return df


def with_anchors(gap: Shifts, people: Shifts) -> Shifts:
    """The judge's own lean: its gap to people plus the shift of these people compared with people
    of other languages.

    gap: from `shifts_beside_people`. people: people's `parallel_shifts` on contents that every
    panel rated. The leans add up to 0 over the languages that have both figures. Degrees of freedom
    are Satterthwaite's.
    """
    value = _centred(gap.value + people.value)
    variance = np.where(np.isfinite(value), gap.variance + people.variance, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (gap.variance**2 / gap.df + people.variance**2 / people.df)
    return Shifts(value, variance, df)


FIGURES = (
    "above_people",
    "gap",
    "naive_regression",
    "naive_difference",
    "reliability",
    "slope",
    "spread",
)


def shifts_beside_people(items: RatedItems) -> dict[str, Shifts]:
    """The figures of FIGURES: name -> its value in each language.

    above_people: the judge's mean minus people's. gap: how much higher than in the mean language
    the judge scores outputs of equal quality. Quality is people's score shrunk by its reliability:
    J = a + b_l + g H*, with H* = mean_l + reliability_l (H - mean_l); the gap is b, which adds up
    to 0. naive_regression: the same with people's raw means. naive_difference: above_people minus
    its mean over languages. Both naive figures are wrong if languages differ in quality; they show
    how large the error is. reliability: the reliability of people's mean. slope: the slope of the
    judge on quality, by language; with 1 the judge tells outputs apart as people do, with 0 not at
    all. spread: standard deviation of the judge's scores / standard deviation of quality.

    Figures of a language with fewer than LEAST outputs are NaN; gap, slope and spread are also NaN
    if the reliability is below LEAST_RELIABILITY. A gap needs two languages.
    """
    totals, language = items.sums
    of_language = np.zeros((items.languages, totals.shape[1]))
    np.add.at(of_language, language, totals)
    enough = of_language[:, 0] >= LEAST
    scale = np.where(
        of_language[:, 0] > 0, items.residual_df / np.maximum(of_language[:, 0], 1), np.nan
    )
    full = _figures(of_language[None], scale, enough)
    enough_reliable = enough & (full["reliability"][0] >= LEAST_RELIABILITY)
    full = _figures(of_language[None], scale, enough, enough_reliable)
    variance = {name: np.zeros(items.languages) for name in FIGURES}
    fourth = {name: np.zeros(items.languages) for name in FIGURES}
    for left_out in range(items.languages):
        own = np.flatnonzero(language == left_out)
        if len(own) < 2:
            continue
        without = np.repeat(of_language[None], len(own), axis=0)
        without[:, left_out] -= totals[own]
        drawn = _figures(without, scale, enough, enough_reliable)
        for name in FIGURES:  # one that is undefined without some source has no variance
            figure = np.where(np.isfinite(drawn[name]), drawn[name], np.nan)
            each = (len(own) - 1) / len(own) * ((figure - figure.mean(axis=0)) ** 2).sum(axis=0)
            variance[name] += each
            fourth[name] += each**2 / (len(own) - 1)
    return {
        name: Shifts(
            full[name][0],
            variance[name],
            variance[name] ** 2 / np.where(fourth[name] > 0, fourth[name], np.nan),
        )
        for name in FIGURES
    }


def _figures(
    sums: Numbers, scale: Numbers, enough: Any, reliable: Any | None = None
) -> dict[str, Numbers]:
    """Compute the figures by name, (resamples, L) each, from sums (resamples, L, 8). scale: (L,)
    degrees of freedom of residuals per output.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        n, h, hh, j, hj, jj, residual, inverse = np.moveaxis(sums, -1, 0)
        mean_h, mean_j = h / n, j / n
        s_hh, s_hj, s_jj = hh - n * mean_h**2, hj - n * mean_h * mean_j, jj - n * mean_j**2
        noise = residual / (scale * n) * (inverse / n)
        reliability = np.clip(1 - noise / (s_hh / (n - 1)), 0.0, 1.0)
        above = np.where(enough, mean_j - mean_h, np.nan)
        usable = enough if reliable is None else reliable
        slope = np.sum(np.where(usable, reliability * s_hj, 0.0), axis=-1, keepdims=True) / np.sum(
            np.where(usable, reliability**2 * s_hh, 0.0), axis=-1, keepdims=True
        )
        raw = np.sum(np.where(enough, s_hj, 0.0), axis=-1, keepdims=True) / np.sum(
            np.where(enough, s_hh, 0.0), axis=-1, keepdims=True
        )
        return {
            "above_people": above,
            "gap": _centred(np.where(usable, mean_j - slope * mean_h, np.nan)),
            "naive_regression": _centred(np.where(enough, mean_j - raw * mean_h, np.nan)),
            "naive_difference": _centred(above),
            "reliability": np.where(enough, reliability, np.nan),
            "slope": np.where(usable, s_hj / (reliability * s_hh), np.nan),
            "spread": np.where(usable, np.sqrt(np.maximum(s_jj, 0) / (reliability * s_hh)), np.nan),
        }


def _centred(values: Numbers) -> Numbers:
    """The values minus their mean over languages; NaN with fewer than two languages."""
    have = np.isfinite(values).sum(axis=-1, keepdims=True)
    mean = np.where(
        have > 1, np.nansum(values, axis=-1, keepdims=True) / np.maximum(have, 1), np.nan
    )
    return np.asarray(values - mean)


def mean_shift(values: Numbers, cluster: Codes) -> Shifts:
    """The mean of values as the only figure of a Shifts, with its variance over clusters, which is
    NaN with one cluster.

    >>> shift = mean_shift(np.array([1.0, 0.0, 2.0]), np.array([0, 1, 2]))
    >>> float(shift.value[0]), round(float(shift.variance[0]), 3), float(shift.df[0])
    (1.0, 0.333, 2.0)
    """
    _, cluster = np.unique(cluster, return_inverse=True)
    totals, sizes = np.bincount(cluster, values), np.bincount(cluster)
    mean, clusters = totals.sum() / sizes.sum(), len(sizes)
    if clusters < 2:
        return Shifts(np.array([mean]), np.array([np.nan]), np.array([0.0]))
    without = (totals.sum() - totals) / (sizes.sum() - sizes)
    variance = (clusters - 1) / clusters * ((without - without.mean()) ** 2).sum()
    return Shifts(np.array([mean]), np.array([variance]), np.array([clusters - 1.0]))
