"""The outputs behind a disagreement between a rater and the reference people: areas, examples, dots of a picture.

Source: Bidimensional Leaderboards, Figure 2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.boards.cell import BoardCell, BoardRater, ScaleEnds
from metal.data.dataset import Dataset
from metal.stats.correlation import distinct
from metal.stats.patterns import Codes, Numbers

UNDERRATED, OVERRATED = "underrated", "overrated"  # upper left and lower right where people are drawn upwards
GRID = 24  # steps of a picture's axis, where more scores than that occur
_ROUNDING = 1e-9  # a mean of ratings this near to an area's edge lies on it


def area_of(people: Numbers, scores: Numbers, scale: ScaleEnds, share: float) -> dict[str, Codes]:
    """Which outputs lie in Figure 2's areas: (items,) masks by the area's name; none where the scale has no ends.

    The bottom of a scale from low to high is what is at most low + share * (high - low), its top what is at least
    high - share * (high - low), both with their edge; so any scale's lowest level is bottom and its highest is top, and
    with a third the levels of 0-2 are bottom, neither, top. `underrated`: people top, rater bottom; `overrated`: the
    reverse. An output that lacks a score is in neither.
    """
    if scale.low is None or scale.high is None:
        return {}
    width = share * (scale.high - scale.low)
    bottom, top = scale.low + width + _ROUNDING, scale.high - width - _ROUNDING
    return {
        UNDERRATED: np.asarray((people >= top) & (scores <= bottom)),
        OVERRATED: np.asarray((people <= bottom) & (scores >= top)),
    }


@dataclass(frozen=True)
class Example:
    """An output of an area. item: its place in the cell, whose outputs people rated; scores: (items,) the rater's."""

    cell: BoardCell
    rater: BoardRater
    scores: Numbers
    area: str
    item: int


def sampled(cell: BoardCell, rater: BoardRater, scores: Numbers, share: float, most: int, seed: int) -> list[Example]:
    """Of each area a seeded sample of `most` outputs. share: as `area_of`."""
    sample = []
    for area, inside in area_of(cell.human, scores, cell.scale, share).items():
        places = np.flatnonzero(inside)
        rng = np.random.default_rng([seed, len(cell.human), len(places)])
        sample += [Example(cell, rater, scores, area, int(place)) for place in np.sort(rng.permutation(places)[:most])]
    return sample


def examples(dataset: Dataset, chosen: Sequence[Example], people: Sequence[str]) -> list[dict[str, Any]]:
    """Samples as rows, with texts, both scores and comments: of all of them at once, for these are looked up once."""
    outputs = list(dataset.outputs.values())
    comments_of = comments(dataset, {outputs[example.cell.outputs[example.item]].output for example in chosen})
    rows = []
    for example in chosen:
        cell, rater, place = example.cell, example.rater, example.item
        output = outputs[cell.outputs[place]]
        given = [
            (who, f"{criterion}: {words}" if cell.criteria > 1 else words)
            for who, criterion, words in comments_of.get(output.output, ())
            if cell.criteria > 1 or criterion == cell.criterion
        ]
        rows.append(
            {
                "language": cell.language,
                "criterion": cell.criterion,
                "rater": rater.name,
                "area": example.area,
                "output": output.output,
                "people": float(cell.human[place]),
                "score": float(example.scores[place]),
                "generator": output.generator,
                "source": output.source,
                "source_text": dataset.sources[output.source].text,
                "output_text": output.text,
                "people_comments": _lines(given, people),
                "rater_comments": _lines(given, rater.people or (rater.name,)),
            }
        )
    return rows


def _lines(given: Sequence[tuple[str, str]], who: Sequence[str]) -> str:
    return "\n".join(f"{name}: {words}" for name, words in given if name in who)


def comments(dataset: Dataset, outputs: Collection[str]) -> dict[str, list[tuple[str, str, str]]]:
    """(rater, criterion, comment) by output, for these outputs."""
    table = dataset.ratings
    named = table["output"].cat.categories.isin(list(outputs))
    given = table.loc[named[table["output"].cat.codes.to_numpy()], ["output", "rater", "criterion", "comment"]]
    given = given[(given["comment"].notna() & (given["comment"].astype(object) != "")).to_numpy()]
    by_output: dict[str, list[tuple[str, str, str]]] = {}
    columns = (given[name].astype(str).tolist() for name in ("output", "rater", "criterion", "comment"))
    for output, rater, criterion, comment in zip(*columns, strict=True):
        by_output.setdefault(output, []).append((rater, criterion, comment))
    return by_output


def dots(cell: BoardCell, rater: BoardRater, scores: Numbers) -> list[dict[str, Any]]:
    """How many outputs have which two scores, on a grid where there are many."""
    given = ~np.isnan(scores)
    if not given.any():
        return []
    ends = (cell.scale.low, cell.scale.high)
    (across, x), (up, y) = (distinct(gridded(side[given], ends)) for side in (scores, cell.human))
    counts = np.bincount(x * len(up) + y, minlength=len(across) * len(up))
    here = {"language": cell.language, "criterion": cell.criterion, "rater": rater.name}
    return [
        here | {"score": float(across[at // len(up)]), "people": float(up[at % len(up)]), "outputs": int(counts[at])}
        for at in np.flatnonzero(counts)
    ]


def gridded(values: Numbers, ends: tuple[float | None, float | None] = (None, None)) -> Numbers:
    """The values, moved to the nearest of GRID + 1 places where more than that occur.

    ends: of the grid; where the values lie outside or it has none, their own.
    """
    if len(np.unique(values)) <= GRID + 1:
        return values
    low, high = float(values.min()), float(values.max())
    if ends[0] is not None and ends[1] is not None and ends[0] <= low and high <= ends[1]:
        low, high = ends[0], ends[1]
    step = (high - low) / GRID
    return np.asarray(low + np.round((values - low) / step) * step)
