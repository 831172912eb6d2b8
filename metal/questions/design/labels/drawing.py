"""Draw the sources that people should rate, at random with known probabilities."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.data.dataset import Dataset
from metal.data.records import Source
from metal.errors import UsageError
from metal.genie.output_scores import sources_chosen
from metal.stats.patterns import Codes, Numbers

GROUPS = 5  # by the judge's score
LEAST_OF_GROUP = 2
DRAWN = ("language", "judge_from", "judge_to", "sources", "drawn", "probability")


@dataclass(frozen=True)
class Stratum:
    """A group of sources whose scores lie between low and high (NaN without scores), and the names
    of the drawn ones.
    """

    low: float
    high: float
    size: int
    chosen: Sequence[str]

    @property
    def probability(self) -> float:
        """The probability with which each of its sources is drawn."""
        return len(self.chosen) / self.size


def drawn_by_score(
    sources: Sequence[Source], values: Numbers, number: int, seed: int
) -> Iterator[Stratum]:
    """Draw a number of sources of one language at random, equally many from each fifth of their
    scores.

    Sources without a score (NaN) form one more group. A larger number keeps the sources that a
    smaller one drew.
    """
    scored, rest = np.flatnonzero(~np.isnan(values)), np.flatnonzero(np.isnan(values))
    groups = [scored[group] for group in score_groups(values[scored])] if len(scored) else []
    for group, size in shared_out(groups + [rest] * bool(len(rest)), number):
        chosen = sources_chosen([sources[row] for row in group], size, seed)
        ends = values[group]
        yield Stratum(float(ends.min()), float(ends.max()), len(group), sorted(chosen))


def draw(
    dataset: Dataset, labels: int, judge: str, languages: Collection[str], seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Draw a number of sources of each language.

    Returns a record for each source, a row for each group of sources (DRAWN), and the number of
    sources that cannot be drawn because the judge did not rate them.

    Only sources with a chosen output can be drawn. judge: if empty, all sources are equally
    probable. Otherwise sources form at most five groups by the judge's mean score, as a share of
    the scale, and each group gets the same number of labels; this includes rare scores, which are
    often the bad ones. A larger number keeps the sources that a smaller one drew.
    """
    asked = {output.source for output in dataset.outputs.values() if output.chosen}
    scores = mean_shares(dataset, judge) if judge else dict.fromkeys(asked, 0.0)
    records, rows, without = [], [], 0
    for language in languages:
        sources = [
            dataset.sources[name]
            for name in sorted(asked)
            if dataset.sources[name].language == language
        ]
        kept = [source for source in sources if source.source in scores]
        without += len(sources) - len(kept)
        if not kept:
            why = f"{judge} rated none of its sources" if sources else "it has no outputs"
            raise UsageError(f"nothing to draw in {language}: {why}")
        values = np.array([scores[source.source] for source in kept])
        for stratum in drawn_by_score(kept, values, labels, seed):
            facts = {"language": language, "probability": stratum.probability}
            ends = {"judge_from": stratum.low, "judge_to": stratum.high}
            rows.append(ends | facts | {"sources": stratum.size, "drawn": len(stratum.chosen)})
            facts |= {"seed": seed, "judge": judge}
            records += [{"source": name} | facts for name in stratum.chosen]
    return records, rows, without


def mean_shares(dataset: Dataset, judge: str) -> dict[str, float]:
    """For each source, the judge's mean share of the scale over criteria whose scale has ends;
    people's mean if no judge is named.
    """
    table = dataset.ratings
    table = table[table["rater"] == judge if judge else table["kind"] == "human"]
    shares = np.full(len(table), np.nan)
    for name, criterion in dataset.criteria.items():
        rows = (table["criterion"] == name).to_numpy()
        shares[rows] = criterion.share(table["score"].to_numpy(dtype=np.float64)[rows])
    if np.isnan(shares).all():
        raise UsageError(
            f"{judge or 'nobody'} gave no score on a bounded scale by which to group sources;"
            " leave `judge` out"
        )
    means = table.assign(share=shares).groupby("source", observed=True)["share"].mean().dropna()
    return {str(source): float(share) for source, share in means.items()}


def score_groups(values: Numbers) -> list[Codes]:
    """The positions of the values in each group; equal values are in one group, and groups have
    about the same size.
    """
    ends = np.unique(np.quantile(values, np.arange(GROUPS) / GROUPS, method="higher"))
    group = np.maximum(np.searchsorted(ends, values, side="right") - 1, 0)
    return [np.flatnonzero(group == code) for code in np.unique(group)]


def shared_out(groups: list[Codes], labels: int) -> list[tuple[Codes, int]]:
    """Each group with its number of labels: as equal as the groups' sizes allow, and at least
    LEAST_OF_GROUP.
    """
    sizes = [min(len(group), LEAST_OF_GROUP) for group in groups]
    while sum(sizes) < min(labels, sum(map(len, groups))):
        open_ = [number for number, group in enumerate(groups) if sizes[number] < len(group)]
        sizes[min(open_, key=lambda number: sizes[number])] += 1
    return list(zip(groups, sizes, strict=True))
