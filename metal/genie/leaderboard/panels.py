"""Which groups of people rated each generator: one that experts rated is not ranked against those of a crowd."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from metal.data.dataset import Dataset
from metal.genie.leaderboard.output_scores import DIGITS, OutputScores
from metal.stats.patterns import Codes, Numbers, ratio

# Panels differ where so much of the weight lies with other groups, or where a group gave one at least so much of its
# weight and the other nothing. People of mixed groups who are assigned at random stay below both on 50 outputs or so.
MOST_MOVED = 0.25
LEAST_MISSED = 0.1

MOST_GROUPS = 3  # named of a panel


@dataclass(frozen=True)
class Groups:
    """names: groups of people, in string order, "" for people without one. of: (raters,) each rater of the ratings
    table's place in `names`, -1 for those who do not count.
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
    """Who rated the generators of a cell.

    shares: (groups, generators) the weight of a group in what a generator was given: the mean over its outputs of the
    group's share of an output's ratings. apart: (generators, generators) whether two were rated by different panels.
    """

    names: tuple[str, ...]
    shares: Numbers
    apart: Codes

    def describe(self, at: int | Codes) -> str:
        """`group expert only`, or `groups crowd 62% and expert 38%`: of a generator, or of several on average."""
        share = self.shares[:, at].reshape(len(self.names), -1).mean(axis=1)
        rated = [int(place) for place in np.argsort(-share, kind="stable") if share[place] > 0]
        if len(rated) == 1:
            return f"group {self.names[rated[0]]} only" if self.names[rated[0]] else "people without a group only"
        parts = [f"{self.names[place] or '(none)'} {100 * share[place]:.0f}%" for place in rated]
        if len(parts) > MOST_GROUPS:
            parts = [*parts[:MOST_GROUPS], f"{len(parts) - MOST_GROUPS} more"]
        return f"groups {', '.join(parts[:-1])} and {parts[-1]}"

    def of_all(self) -> tuple[str, ...]:
        """The groups that rated every generator."""
        return tuple(name for name, share in zip(self.names, self.shares, strict=True) if name and (share > 0).all())


@dataclass(frozen=True)
class Mixed:
    """Generators that a panel other than most others' rated. odd: each with its panel. others: the panel of the rest.
    of_all: groups that rated every generator.
    """

    odd: tuple[tuple[str, str], ...]
    others: str
    of_all: tuple[str, ...]


def panels(scores: OutputScores, groups: Groups, place: Codes, counts: Numbers, least_shared: int) -> Panels:
    """Who rated the generators of a cell.

    place: (outputs,) generator * sources + source of each output, -1 where it is not in the cell. counts: (generators,
    sources) outputs. Two generators with least_shared sources or more in common are held against each other on these,
    as their test is, others on all of theirs.
    """
    generators = len(counts)
    if len(groups.names) < 2:
        return Panels(groups.names, np.ones((len(groups.names), generators)), np.zeros((generators, generators), bool))
    weight = _weights(scores, groups, place, counts)
    overall = ratio(weight.sum(axis=2), counts.sum(axis=1))
    scored = (counts > 0).astype(np.float64)
    shared = scored @ scored.T
    on_shared = ratio(np.nan_to_num(ratio(weight, counts)) @ scored.T, shared)  # [g, i, j]: of i, where j is as well
    own = np.where(shared >= least_shared, on_shared, overall[:, :, None]).round(DIGITS)
    theirs = own.transpose(0, 2, 1)
    moved = (np.abs(own - theirs).sum(axis=0) / 2).round(DIGITS)
    missed = np.where(np.minimum(own, theirs) == 0, np.maximum(own, theirs), 0.0).max(axis=0)
    return Panels(groups.names, overall, np.asarray((moved > MOST_MOVED) | (missed >= LEAST_MISSED)))


def _weights(scores: OutputScores, groups: Groups, place: Codes, counts: Numbers) -> Numbers:
    """(groups, generators, sources) outputs, each shared out to the groups of those who rated it."""
    at = place[scores.output]
    kept = at >= 0
    output, group = scores.output[kept], groups.of[scores.rater[kept]]
    weight = 1.0 / np.bincount(output)[output]
    weights = np.bincount(group * counts.size + at[kept], weight, minlength=len(groups.names) * counts.size)
    return np.asarray(weights, dtype=np.float64).reshape(len(groups.names), *counts.shape)


def left_out(unlike: Codes, left: Codes, weight: Codes) -> Iterator[tuple[int, Codes]]:
    """Those who are left out until all that are left can be held against each other, and whom each was unlike.

    unlike: (generators, generators). left: (generators,) who is in, changed in place. Whoever is unlike the most others
    goes first; of several, the one with the least weight, then the last.
    """
    while (missing := (unlike & left & left[:, None]).sum(axis=1)).any():
        tied = np.flatnonzero(missing == missing.max())[::-1]
        out = int(tied[np.argmin(weight[tied])])
        others = np.flatnonzero(unlike[out] & left)
        left[out] = False
        yield out, others
