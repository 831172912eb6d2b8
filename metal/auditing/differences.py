"""Judges against each other on the same items: paired differences of weighted F1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from metal.auditing.cells import Cell
from metal.auditing.figures import Resampled, Sums, columns
from metal.stats.bootstrap import SourceBootstrap, share_at_most
from metal.stats.classification import weighted_f1
from metal.stats.multiplicity import holm
from metal.stats.patterns import Codes, Numbers, confusion_features, confusions

COLUMNS = (
    "language",
    "criterion",
    "first",
    "second",
    "items",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "undefined",
    "p_adjusted",
    "signature",
)
TOGETHER = 26  # pairs of judges that are resampled in one product, which holds some tens of megabytes


@dataclass(frozen=True)
class _Pair:
    """Two judges on the items both were asked about and answered; drawn: truth, first and second judge's class."""

    first: str
    second: str
    levels: int
    drawn: Resampled

    @property
    def sides(self) -> list[tuple[Codes, Codes]]:
        """The truth with the answers of each."""
        truth, first, second = self.drawn.rows.T
        return [(truth, first), (truth, second)]

    def ahead(self, confusions: Numbers) -> Numbers:
        """(...) F1 of the first minus F1 of the second, from (..., 2, levels, levels)."""
        f1 = weighted_f1(confusions)
        return f1[..., 0] - f1[..., 1]

    def sums(self) -> Sums:
        """The difference, as observed and in each resample."""
        return self.drawn.sums(lambda weights: self.ahead(confusions(weights, self.sides, self.levels)))


def difference_rows(cell: Cell, bootstrap: SourceBootstrap) -> Iterator[dict[str, Any]]:
    """First minus second judge of each pair, over the items both were asked about and answered."""
    by_judge = {judge: cell.by_judge(judge) for judge in cell.judges}
    every = list(combinations(cell.judges, 2))
    for start in range(0, len(every), TOGETHER):
        some = every[start : start + TOGETHER]
        pairs = [_pair(cell, first, second, by_judge, bootstrap) for first, second in some]
        for pair, sums in zip(pairs, _sums(pairs, bootstrap), strict=True):
            yield {
                "language": cell.language,
                "criterion": cell.criterion.name,
                "first": pair.first,
                "second": pair.second,
                "items": pair.drawn.n,
            } | _difference(pair.drawn, sums)


def _pair(cell: Cell, first: str, second: str, by_judge: Mapping[str, Codes], bootstrap: SourceBootstrap) -> _Pair:
    answered = (cell.truth >= 0) & (by_judge[first] >= 0) & (by_judge[second] >= 0)
    codes = np.column_stack([one[answered] for one in (cell.truth, by_judge[first], by_judge[second])])
    return _Pair(first, second, cell.levels, Resampled(codes, cell.matrix.sources[answered], bootstrap, cell.rated))


def _sums(pairs: Sequence[_Pair], bootstrap: SourceBootstrap) -> list[Sums]:
    """The differences of the pairs; those over as many sources are resampled in one product."""
    found = [pair.sums() for pair in pairs]
    alike: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        if pair.drawn.by_source and pair.drawn.n_sources > 1:
            alike.setdefault(pair.drawn.sources_drawn, []).append(place)
    for places in alike.values():
        levels = pairs[places[0]].levels
        features = [
            pairs[place].drawn.contributions(confusion_features(pairs[place].sides, levels)) for place in places
        ]
        drawn = bootstrap.totals(np.stack(features, axis=1)).reshape(-1, len(places), 2, levels, levels)
        for at, place in enumerate(places):
            found[place] = found[place].resampled(pairs[place].ahead(drawn[:, at]))
    return found


def _difference(drawn: Resampled, sums: Sums) -> dict[str, Any]:
    estimate = drawn.estimate(np.asarray, "no common items", of=sums)
    p = float("nan")
    if drawn.n_sources > 1:
        p = min(1.0, 2 * min(share_at_most(sums.resamples), share_at_most(-sums.resamples)))
    return columns("difference", estimate) | {"p": p, "undefined": estimate.reason}


def adjust(rows: list[dict[str, Any]]) -> None:
    """Add p_adjusted: Holm over the languages of a pair and criterion ("is there any difference?")."""
    families: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault((row["criterion"], row["first"], row["second"]), []).append(row)
    for members in families.values():
        for row, p in zip(members, holm([member["p"] for member in members]), strict=True):
            row["p_adjusted"] = float(p)
