"""What a stream of judged outputs shows, one output at a time: does the judge still agree with people, and is the
system whose outputs nobody rated still as good?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from metal.auditing.cells import cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import NOT_ASKED
from metal.data.text import known
from metal.gating.drift import Compared, Margins

JUDGE, SYSTEM = "judge", "system"
Key = tuple[str, str, str, str]
"""What is watched (JUDGE or SYSTEM), judge, language, criterion."""


def least_levels(
    before: Dataset, settings: AuditSettings, margins: Margins, pairs: Mapping[str, str]
) -> dict[Key, float]:
    """The mean that each stream is not to fall below: of agreement with people, and of the judge's score of what they
    rated, before, less the margins. pairs: judge -> its name before.
    """
    levels: dict[Key, float] = {}
    for judge, old in pairs.items():
        sums: dict[Key, list[float]] = {}
        for (what, _, *cell), _, value in _values(before, settings, old, rated_only=True):
            sums.setdefault((what, judge, cell[0], cell[1]), []).append(value)
        for key, values in sums.items():
            margin = margins.agreement if key[0] == JUDGE else margins.mean
            levels[key] = float(np.clip(np.mean(values) - margin, 0.001, 0.999))
    return levels


def steps(dataset: Dataset, settings: AuditSettings, judge: str) -> Iterator[tuple[Key, str, float]]:
    """(key, output, value from 0 to 1): of outputs that people rated, agreement; of the others, the score."""
    yield from _values(dataset, settings, judge, rated_only=False)


def _values(
    dataset: Dataset, settings: AuditSettings, judge: str, *, rated_only: bool
) -> Iterator[tuple[Key, str, float]]:
    """rated_only: both values of the outputs that people rated, and nothing of the others."""
    for cell in cells(dataset, replace(settings, judges=(judge,)), continuous=True):
        if judge not in cell.judges:
            continue
        compared = Compared.of(cell, cell, judge, judge, ())
        asked = np.flatnonzero(cell.by_judge(judge) != NOT_ASKED)
        rated = cell.ratings_per_item[asked] > 0
        for what, values, use in (
            (JUDGE, compared.right[:, 0], rated),
            (SYSTEM, compared.shares[:, 0], rated if rated_only else ~rated),
        ):
            key = (what, judge, cell.language, cell.criterion.name)
            for place, value, wanted in zip(asked, values, use, strict=True):
                if wanted and known(float(value)):
                    yield key, cell.matrix.outputs[place], float(value)
