"""Data problems that boards suffer from; those of datasets in general are in metal.audit.lint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from metal.billboard.cells import Cell
from metal.billboard.ensemble import GROUP
from metal.dataset import Dataset
from metal.errors import Undefined
from metal.stats.correlation import pearson
from metal.stats.patterns import Numbers

LEAST_SOURCES = 30  # per generator, for a shift to be more than chance
GAIN = 0.1  # by how much every correlation must rise when people's scores are moved by one source


def lint(dataset: Dataset, cells: Sequence[Cell]) -> Iterator[str]:
    """Problems of a board in words."""
    yield from dict.fromkeys(problem for cell in cells for problem in _shifted(cell))
    yield from _out_of_range(dataset)


def _shifted(cell: Cell) -> Iterator[str]:
    """People's scores that belong to the next or the last source: ids counted from 0 here and from 1 there."""
    tables = {
        rater.name: cell.by_generator(scores)
        for rater, scores in zip(cell.raters, cell.scores, strict=True)
        if rater.kind in ("metric", "llm") and rater.group != GROUP
    }
    people = cell.by_generator(cell.human)
    straight = np.array([_within_generators(people, table) for table in tables.values()])
    for words, mine, theirs in (("back", np.s_[:, 1:], np.s_[:, :-1]), ("forward", np.s_[:, :-1], np.s_[:, 1:])):
        moved = np.array([_within_generators(people[mine], table[theirs]) for table in tables.values()])
        gain = (moved - straight)[~np.isnan(moved - straight)]
        if len(gain) and gain.min() > 0 and gain.mean() > GAIN:
            best = int(np.nanargmax(moved))
            yield (
                f"{cell.language or 'all languages'} {cell.criterion}: people's scores seem to be off by one source; "
                f"moved {words} by one, every rater agrees better (within generators, {list(tables)[best]} has "
                f"{straight[best]:.2f} and would have {moved[best]:.2f}). Do ids count from 0 here and from 1 there?"
            )


def _within_generators(people: Numbers, rater: Numbers) -> float:
    """Mean over generators of Pearson's r over their sources; NaN where none has enough."""
    found = []
    for mine, theirs in zip(people, rater, strict=True):
        if (~np.isnan(mine) & ~np.isnan(theirs)).sum() < LEAST_SOURCES:
            continue
        try:
            found.append(pearson(mine, theirs))
        except Undefined:
            continue
    return float(np.mean(found)) if found else float("nan")


def _out_of_range(dataset: Dataset) -> Iterator[str]:
    """Metrics that say what range they have, and leave it."""
    for rater in dataset.raters.values():
        ends = rater.about.get("range")
        if rater.kind != "metric" or not isinstance(ends, list) or len(ends) != 2:
            continue
        score = dataset.ratings.loc[dataset.ratings["rater"] == rater.rater, "score"].to_numpy()
        low, high = (float(end) if isinstance(end, int | float) else None for end in ends)
        outside = ((score < low) if low is not None else False) | ((score > high) if high is not None else False)
        count = int(np.sum(outside & ~np.isnan(score)))
        if count:
            yield f"{rater.rater}: {count:,} scores are outside its range, {_ends(low, high)}"


def _ends(low: float | None, high: float | None) -> str:
    return f"{'any' if low is None else f'{low:g}'} to {'any' if high is None else f'{high:g}'}"
