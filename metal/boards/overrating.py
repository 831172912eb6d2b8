"""Who is overrated: machines by raters (Billboard 2.3), and a judge's own family by the judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metal.boards.cell import BoardCell, BoardRater
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.errors import Undefined, UnknownName
from metal.raters.judges.models import family_of_name
from metal.stats.mixed_model import overrating
from metal.stats.patterns import Codes, Numbers


def human_generators(dataset: Dataset, settings: BoardSettings) -> tuple[str, ...]:
    """The generators that are people: those marked in dataset.toml and those named. Raises UnknownName."""
    names = {output.generator for output in dataset.outputs.values()}
    for name in settings.human_generators:
        if name not in names:
            raise UnknownName("generator", name, sorted(names))
    marked = [name for name, about in _known(dataset).items() if about.get("kind") == "human"]
    return tuple(sorted({*settings.human_generators, *marked} & names))


def families(dataset: Dataset, settings: BoardSettings) -> dict[str, str]:
    """The family of each generator that has one: as named, else as in dataset.toml. Raises UnknownName."""
    names = {output.generator for output in dataset.outputs.values()}
    for name in settings.families:
        if name not in names:
            raise UnknownName("generator", name, sorted(names))
    declared = {name: str(about["family"]) for name, about in _known(dataset).items() if about.get("family")}
    return declared | dict(settings.families)


def _known(dataset: Dataset) -> dict[str, Mapping[str, Any]]:
    """What dataset.toml says of generators."""
    table = dataset.extra.get("generators")
    named = table.items() if isinstance(table, Mapping) else ()
    return {name: about for name, about in named if isinstance(about, Mapping)}


def overrating_rows(cell: BoardCell, people: tuple[str, ...]) -> list[dict[str, Any]]:
    """By how much each rater overrates machines, people's judgement being equal; no rows without human writing."""
    written = np.isin(cell.generator, [code for code, name in enumerate(cell.generators) if name in people])
    if not (written & cell.rated).any():
        return []
    return [
        _row(cell, rater, scores, ~written, ("machine's", "human")) | {"human_generators": " ".join(people)}
        for rater, scores in zip(cell.raters, cell.scores, strict=True)
    ]


def self_preference_rows(cell: BoardCell, families: Mapping[str, str]) -> list[dict[str, Any]]:
    """By how much each rater with a family overrates generators of its own; no rows where none meets its family."""
    of_generator = np.array([families.get(name, "") for name in cell.generators])
    rows = []
    for rater, scores in zip(cell.raters, cell.scores, strict=True):
        mine = _family(rater)
        own = (of_generator == mine)[cell.generator]
        if mine and (own & cell.rated).any():
            rows.append(_row(cell, rater, scores, own, ("own family's", "other")) | {"family": mine})
    return rows


def _family(rater: BoardRater) -> str:
    """A judge's family as declared, else as its model's name tells it; empty where it has none."""
    about = rater.about or {}
    if about.get("family") or rater.kind != "llm":
        return str(about.get("family") or "")
    return family_of_name(str(about.get("model") or rater.name), "openai")


def _row(
    cell: BoardCell, rater: BoardRater, scores: Numbers, indicator: Codes, words: tuple[str, str]
) -> dict[str, Any]:
    """A rater's row; words: what outputs with and without the indicator are."""
    there = cell.rated & ~np.isnan(scores)
    row: dict[str, Any] = {
        "language": cell.language,
        "criterion": cell.criterion,
        "rater": rater.name,
        "kind": rater.kind,
        "group": rater.group,
        "outputs": int(there.sum()),
        "sources": len(np.unique(cell.source[there])),
        "value": None,
        "low": None,
        "high": None,
        "undefined": "",
    }
    for group, what in zip((indicator, ~indicator), words, strict=True):
        if not (group & there).any():
            return row | {"undefined": f"value: it scored no {what} output that people rated"}
    try:
        found = overrating(scores[there], cell.human[there], indicator[there], cell.source[there])
    except Undefined as error:
        return row | {"undefined": f"value: {error}"}
    return row | {"value": found.value, "low": found.value - found.half_width, "high": found.value + found.half_width}
