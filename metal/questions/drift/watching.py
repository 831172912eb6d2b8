"""What a stream of judged outputs shows, one source at a time.

A stream shows whether the judge still agrees with people or, on outputs that nobody rated, whether
the system is still as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from metal.auditing.cells import cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import NOT_ASKED, names_in
from metal.data.text import known, percent, plural
from metal.questions.drift.compute import Compared
from metal.questions.drift.settings import Margins
from metal.stats.stream import Baseline

JUDGE, SYSTEM = "judge", "system"
Key = tuple[str, str, str, str]
"""What is watched (JUDGE or SYSTEM), judge, language, criterion."""


def baselines(
    before: Dataset, settings: AuditSettings, pairs: Mapping[str, str]
) -> dict[Key, Baseline]:
    """The baseline of each stream: agreement with people, or the judge's score, on the outputs that
    people rated.

    pairs: judge -> its name in the baseline.
    """
    of_stream: dict[Key, Baseline] = {}
    for judge, old in pairs.items():
        values: dict[Key, list[float]] = {}
        for (what, _, *cell), _, value in _source_means(before, settings, old, rated_only=True):
            values.setdefault((what, judge, cell[0], cell[1]), []).append(value)
        for key, means in values.items():
            of_stream[key] = Baseline(float(np.mean(means)), len(means))
    return of_stream


def levels(of_stream: Mapping[Key, Baseline], margins: Margins, streams: int) -> dict[Key, float]:
    """The mean below which each stream must not fall.

    streams: the largest number of streams allowed.
    """
    return {
        key: baseline.level(margin_of(key, margins), margins.alpha, streams)
        for key, baseline in of_stream.items()
    }


def margin_of(key: Key, margins: Margins) -> float:
    """The largest change that does not matter in a stream. It depends on whether the stream follows
    agreement with people or the mean score.
    """
    return margins.agreement if key[0] == JUDGE else margins.mean


def promise(alpha: float, streams: int) -> str:
    """A sentence on what a watch promises."""
    return (
        "If the judge agrees with people as much as on the anchors, or more, the chance that"
        f" there is ever a false alarm in any of {plural(streams, 'stream')} is at most"
        f" {percent(alpha)}."
    )


def steps(
    dataset: Dataset, settings: AuditSettings, judge: str
) -> Iterator[tuple[Key, str, float]]:
    """The steps of each stream: (key, source, value from 0 to 1).

    The value is the agreement on outputs that people rated, and the score on other outputs.

    The mean over the outputs of a source is one step, because outputs of a source depend on each
    other and would otherwise count as evidence several times.
    """
    yield from _source_means(dataset, settings, judge, rated_only=False)


def _source_means(
    dataset: Dataset, settings: AuditSettings, judge: str, *, rated_only: bool
) -> Iterator[tuple[Key, str, float]]:
    of_source: dict[tuple[Key, str], list[float]] = {}
    for key, source, value in _values(dataset, settings, judge, rated_only=rated_only):
        of_source.setdefault((key, source), []).append(value)
    for (key, source), values in of_source.items():
        yield key, source, float(np.mean(values))


def _values(
    dataset: Dataset, settings: AuditSettings, judge: str, *, rated_only: bool
) -> Iterator[tuple[Key, str, float]]:
    """(key, source, value) of each output.

    rated_only: give both agreement and score, but only for outputs that people rated.
    """
    for cell in cells(dataset, replace(settings, judges=(judge,)), continuous=True):
        if judge not in cell.judges:
            continue
        cell = cell.unaided(judge)
        compared = Compared.of(cell, cell, judge, judge, ())
        asked = np.flatnonzero(cell.by_judge(judge) != NOT_ASKED)
        rated = cell.ratings_per_item[asked] > 0
        names, _ = names_in(dataset.ratings["source"].iloc[cell.rows])
        for what, values, use in (
            (JUDGE, compared.right[:, 0], rated),
            (SYSTEM, compared.shares[:, 0], rated if rated_only else ~rated),
        ):
            key = (what, judge, cell.language, cell.criterion.name)
            for source, value, wanted in zip(compared.sources, values, use, strict=True):
                if wanted and known(float(value)):
                    yield key, names[source], float(value)
