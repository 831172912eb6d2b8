"""Generators by people's scores for their outputs: scores with their uncertainty, and which
generator is better than which other.

A generator rated by one group of people, such as experts, is not ranked against a generator rated
by another group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.data.dataset import Dataset
from metal.genie.output_scores import DIGITS, OWN, Outputs, OutputScores
from metal.stats.intervals import interval_of_mean, interval_without_ends
from metal.stats.pairwise import generator_pairs
from metal.stats.patterns import Codes, Numbers, ratio, sums_and_counts
from metal.stats.ranks import Pairs

# Panels differ where so much of the weight lies with other groups, or where a group gave one at
# least so much of its
# weight and the other nothing. People of mixed groups who are assigned at random stay below both on
# 50 outputs or so.
MOST_MOVED = 0.25
LEAST_MISSED = 0.1

MOST_GROUPS = 3  # named of a panel


@dataclass(frozen=True)
class Groups:
    """Groups of people.

    names: the groups in string order; "" for people without a group. of: (raters,) the position in
    `names` of each rater of the ratings table; -1 for raters who do not count.
    """

    names: tuple[str, ...]
    of: Codes

    @classmethod
    def among(cls, dataset: Dataset, people: Collection[str]) -> Groups:
        """The groups of these people."""
        names = sorted({dataset.raters[name].group for name in people})
        raters = dataset.ratings["rater"].cat.categories
        of = [names.index(dataset.raters[name].group) if name in people else -1 for name in raters]
        return cls(tuple(names), np.array(of, dtype=np.int64))


@dataclass(frozen=True)
class Panels:
    """Which groups of people rated the generators of a cell.

    shares: (groups, generators) the weight of a group in a generator's score, which is the group's
    share of the ratings of an output, averaged over the generator's outputs. apart: (generators,
    generators) whether two generators were rated by different panels.
    """

    names: tuple[str, ...]
    shares: Numbers
    apart: Codes

    def describe(self, at: int | Codes) -> str:
        """A panel in words, of one generator or of several on average: `group expert only`, or
        `groups crowd 62% and expert 38%`.
        """
        share = self.shares[:, at].reshape(len(self.names), -1).mean(axis=1)
        rated = [int(group) for group in np.argsort(-share, kind="stable") if share[group] > 0]
        if len(rated) == 1:
            return (
                f"group {self.names[rated[0]]} only"
                if self.names[rated[0]]
                else "people without a group only"
            )
        parts = [f"{self.names[group] or '(none)'} {100 * share[group]:.0f}%" for group in rated]
        if len(parts) > MOST_GROUPS:
            parts = [*parts[:MOST_GROUPS], f"{len(parts) - MOST_GROUPS} more"]
        return f"groups {', '.join(parts[:-1])} and {parts[-1]}"

    def of_all(self) -> tuple[str, ...]:
        """The groups that rated every generator."""
        return tuple(
            name
            for name, share in zip(self.names, self.shares, strict=True)
            if name and (share > 0).all()
        )


@dataclass(frozen=True)
class Mixed:
    """Generators rated by a different panel than most others.

    odd: these generators, each with its panel. others: the panel of the other generators. of_all:
    the groups that rated every generator.
    """

    odd: tuple[tuple[str, str], ...]
    others: str
    of_all: tuple[str, ...]


def panels(
    scores: OutputScores, groups: Groups, cell_of: Codes, counts: Numbers, least_shared: int
) -> Panels:
    """Compute which groups of people rated the generators of a cell.

    cell_of: (outputs,) generator * sources + source of each output, -1 if it is not in the cell.
    counts: (generators, sources) outputs. If two generators share at least least_shared sources,
    their panels are compared on these sources, as in their test; otherwise on all their sources.
    """
    generators = len(counts)
    if len(groups.names) < 2:
        return Panels(
            groups.names,
            np.ones((len(groups.names), generators)),
            np.zeros((generators, generators), bool),
        )
    weight = _weights(scores, groups, cell_of, counts)
    overall = ratio(weight.sum(axis=2), counts.sum(axis=1))
    scored = (counts > 0).astype(np.float64)
    shared = scored @ scored.T
    # [g, i, j]: of i, where j is as well
    on_shared = ratio(np.nan_to_num(ratio(weight, counts)) @ scored.T, shared)
    own = np.where(shared >= least_shared, on_shared, overall[:, :, None]).round(DIGITS)
    theirs = own.transpose(0, 2, 1)
    moved = (np.abs(own - theirs).sum(axis=0) / 2).round(DIGITS)
    missed = np.where(np.minimum(own, theirs) == 0, np.maximum(own, theirs), 0.0).max(axis=0)
    return Panels(
        groups.names, overall, np.asarray((moved > MOST_MOVED) | (missed >= LEAST_MISSED))
    )


def _weights(scores: OutputScores, groups: Groups, cell_of: Codes, counts: Numbers) -> Numbers:
    """(groups, generators, sources) numbers of outputs, where each output is divided among the
    groups of the people who rated it.
    """
    at = cell_of[scores.output]
    kept = at >= 0
    output, group = scores.output[kept], groups.of[scores.rater[kept]]
    weight = 1.0 / np.bincount(output)[output]
    weights = np.bincount(
        group * counts.size + at[kept], weight, minlength=len(groups.names) * counts.size
    )
    return np.asarray(weights, dtype=np.float64).reshape(len(groups.names), *counts.shape)


def left_out(unlike: Codes, left: Codes, weight: Codes) -> Iterator[tuple[int, Codes]]:
    """Remove generators until all the remaining ones can be compared; return those removed, and the
    ones each was unlike.

    unlike: (generators, generators) which pairs cannot be compared. left: (generators,) which
    generators remain; changed in place. The generator that is unlike the most others is removed
    first; of several, the one with the least weight, then the last.
    """
    while (missing := (unlike & left & left[:, None]).sum(axis=1)).any():
        tied = np.flatnonzero(missing == missing.max())[::-1]
        out = int(tied[np.argmin(weight[tied])])
        others = np.flatnonzero(unlike[out] & left)
        left[out] = False
        yield out, others


LEAST_SHARED = 5  # sources: with as few as these, p is at least 2^(1 - 5)


def generator_means(sums: Numbers, counts: Numbers, *, ends: bool = True) -> dict[str, Numbers]:
    """Columns of the table, (generators,): means over outputs, with intervals and standard errors
    by source.

    sums: (generators, sources) the sum of a generator's scores on a source. counts: (generators,
    sources) the number of outputs in that sum. ends: whether scores are shares, from 0 to 1.
    Without ends, the interval is Student's t (see `interval_without_ends`), and worst_error is NaN.

    score: sum / count over all sources. interval: 95%, over the generator's own sources (see
    `interval_of_mean`). standard_error: sqrt(sum over sources of (sum - score * count)^2) /
    outputs, the plug-in error of a ratio of sums by cluster; with one output per source it is the
    standard deviation over sqrt(n), GENIE's sigma / sqrt(n).
    worst_error: the largest possible one, sqrt(score (1 - score) sum of count^2) / outputs, which
    is sqrt(score (1 - score) / n) with one output per source. With one source, standard error and
    interval are NaN. Source: GENIE, Appendix C; Bhatia, Davis (2000).
    """
    outputs = counts.sum(axis=1)
    score = np.asarray(np.round(ratio(sums.sum(axis=1), outputs), DIGITS))
    several = (counts > 0).sum(axis=1) > 1
    off = sums - score[:, None] * counts
    error = np.asarray(
        np.where(several, ratio(np.sqrt((off**2).sum(axis=1)), outputs), np.nan).round(DIGITS)
    )
    most = np.maximum(score * (1 - score), 0.0) * (counts**2).sum(axis=1)
    worst = np.asarray(ratio(np.sqrt(most), outputs).round(DIGITS))
    if not ends:
        worst = np.full(len(sums), np.nan)
    low, high = np.full(len(sums), np.nan), np.full(len(sums), np.nan)
    interval = interval_of_mean if ends else interval_without_ends
    for at in np.flatnonzero(several):
        low[at], high[at] = np.round(interval(sums[at], counts[at]), DIGITS)
    names = ("score", "score_low", "score_high", "standard_error", "worst_error")
    return dict(zip(names, (score, low, high, error, worst), strict=True))


@dataclass(frozen=True)
class Ranking:
    """A ranking of generators.

    rows: one per generator, best first. pairs: one row per pair of generators. mixed: the
    generators that other groups of people rated; None if the same groups rated all. languages: the
    number of languages of the ranked outputs.
    """

    rows: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    mixed: Mixed | None
    languages: int


def rank(
    scores: OutputScores,
    outputs: Outputs,
    asked: Codes,
    groups: Groups,
    seed: int,
    permutations: int,
) -> Ranking:
    """Rank generators, best first, and compare every pair of them, on the outputs `asked` (a mask).

    Equal scores share a rank. rank_low, rank_high: the best and the worst rank that paired tests on
    shared sources leave open, with Holm's correction over all pairs. Two generators that different
    groups of people rated, or that share fewer than LEAST_SHARED sources, are not tested, so
    neither counts as better. A generator left out of most tests has the reason in `undefined`,
    under `ranks`.
    """
    items = asked & ~np.isnan(scores.score)
    generator_codes, generator = np.unique(outputs.generator[items], return_inverse=True)
    names = [outputs.generators[code] for code in generator_codes]
    source_codes, source = np.unique(outputs.source[items], return_inverse=True)
    cell = generator * len(source_codes) + source
    sums, counts = sums_and_counts(cell, scores.score[items], len(names), len(source_codes))
    means = generator_means(sums, counts, ends=scores.scale != OWN)
    everywhere = np.full(len(items), -1, dtype=np.int64)
    everywhere[items] = cell
    people = panels(scores, groups, everywhere, counts, LEAST_SHARED)
    table = ratio(sums, counts)
    rng = np.random.default_rng([seed, table.shape[1]])
    pairs = generator_pairs(table, rng, least=LEAST_SHARED, resamples=permutations)
    pairs = Pairs(pairs.ahead, np.where(people.apart, np.nan, pairs.p))
    counted = _counted(scores, outputs, asked, items, generator_codes)
    alone, mixed = _untested(means["score"], pairs.p, names, people, counted["ratings"])
    order = pairs.in_order(means["score"])
    sources = (counts > 0).sum(axis=1)
    reasons = [_undefined(scores, number) for number in sources]
    for at, reason in alone.items():
        reasons[at].append(f"ranks: {reason}")
    if scores.turned:  # as given: lower is better
        ends = -means["score_high"], -means["score_low"]
        means |= {"score": -means["score"], "score_low": ends[0], "score_high": ends[1]}
    rows = [
        {
            **ranks,
            "scale": scores.scale,
            "generator": names[at],
            **{name: float(values[at]) for name, values in means.items()},
            "outputs": int(counts[at].sum()),
            "sources": int(sources[at]),
            **{key: int(values[at]) for key, values in counted.items()},
            "undefined": "; ".join(reasons[at]),
        }
        for at, ranks in order
    ]
    languages = len(np.unique(outputs.language[items]))
    return Ranking(
        rows, _pairs(table, pairs, names, [at for at, _ in order], people), mixed, languages
    )


def _undefined(scores: OutputScores, sources: int) -> list[str]:
    """Why a generator lacks figures, each reason after the figure's name."""
    reasons = ["interval: one source", "standard error: one source"] if sources == 1 else []
    if scores.scale == OWN:
        reasons.append("largest standard error: the scale has no ends")
    return reasons


def _counted(
    scores: OutputScores, outputs: Outputs, asked: Codes, rated: Codes, generator_codes: Codes
) -> dict[str, Codes]:
    """Counts for each generator: the languages of the outputs `rated` (a mask) and, for the outputs
    `asked` (a mask), the ratings, the people who gave them, and the ratings without a score.
    """
    size = len(outputs.generators)

    def distinct(generator: Codes, of: Codes) -> Codes:
        pairs = np.unique(np.stack([generator, of]), axis=1)
        return np.bincount(pairs[0], minlength=size)

    language = np.unique(outputs.language[rated].astype(str), return_inverse=True)[1]
    kept = asked[scores.output]
    generator = outputs.generator[scores.output[kept]]
    unanswered = np.bincount(outputs.generator[asked], scores.unanswered[asked], minlength=size)
    counts = {
        "languages": distinct(outputs.generator[rated], language),
        "ratings": np.bincount(generator, minlength=size),
        "people": distinct(generator, scores.rater[kept]),
        "unanswered": unanswered.astype(np.int64),
    }
    return {name: count[generator_codes] for name, count in counts.items()}


def _untested(
    score: Numbers, p: Numbers, names: list[str], people: Panels, ratings: Codes
) -> tuple[dict[int, str], Mixed | None]:
    """Why a generator cannot be compared with the others, and which generators other people rated.

    Generators rated by different panels than most others are left out first, then those that cannot
    be compared with most others, until all the remaining ones can be compared.
    """
    unknown = np.isnan(p)
    np.fill_diagonal(unknown, False)
    left = np.ones(len(names), dtype=bool)
    alone: dict[int, str] = {}
    mixed = None
    if odd := [out for out, _ in left_out(people.apart, left, ratings)]:
        alone = {out: f"rated by {people.describe(out)}" for out in odd}
        by_score = sorted(odd, key=lambda out: (-score[out], out))
        rest = people.describe(np.flatnonzero(left))
        mixed = Mixed(
            tuple((names[out], people.describe(out)) for out in by_score), rest, people.of_all()
        )
    for out, unlike in left_out(unknown, left, np.zeros(len(names), dtype=np.int64)):
        others = [names[other] for other in unlike]
        named = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        alone[out] = f"fewer than {LEAST_SHARED} sources shared with {named}"
    kept = np.flatnonzero(left)
    if len(kept) == 1 < len(names):  # nobody to compare the last one with
        last = int(kept[0])
        few = f"fewer than {LEAST_SHARED} sources shared with any other generator"
        alone[last] = f"rated by {people.describe(last)}" if people.apart[last].any() else few
    return alone, mixed


def _pairs(
    table: Numbers, pairs: Pairs, names: list[str], order: list[int], people: Panels
) -> list[dict[str, Any]]:
    """A row for every pair of generators, the better one first."""
    adjusted = pairs.adjusted
    rows = []
    for position, first in enumerate(order):
        for second in order[position + 1 :]:
            p = {"p": float(pairs.p[first, second]), "p_adjusted": float(adjusted[first, second])}
            rows.append(_pair(table, names, first, second, people) | p)
    return rows


def _pair(
    table: Numbers, names: list[str], first: int, second: int, people: Panels
) -> dict[str, Any]:
    shared = ~np.isnan(table[first]) & ~np.isnan(table[second])
    gap = float((table[first] - table[second])[shared].mean()) if shared.any() else float("nan")
    undefined = ""
    if int(shared.sum()) < LEAST_SHARED:
        undefined = f"p: fewer than {LEAST_SHARED} shared sources"
    elif people.apart[first, second]:
        undefined = (
            f"p: rated by different people ({people.describe(first)}, and"
            f" {people.describe(second)})"
        )
    return {
        "first": names[first],
        "second": names[second],
        "sources": int(shared.sum()),
        "difference": round(gap, DIGITS),
        "undefined": undefined,
    }
