"""Measure overrating: of machines by each rater (Billboard 2.3), and of a judge's own family of
generators by the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metal.boards.cells import BoardCell, BoardRater
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.errors import Undefined, check_known
from metal.raters.judges.models import family_of_judge
from metal.stats.mixed_model import overrating
from metal.stats.patterns import Codes, Numbers


def human_generators(dataset: Dataset, settings: BoardSettings) -> tuple[str, ...]:
    """Generators that are people, as marked in dataset.toml or named in the settings. Raises
    UnknownName if a named generator has no outputs.
    """
    names = {output.generator for output in dataset.outputs.values()}
    check_known("generator", settings.human_generators, sorted(names))
    marked = [
        name
        for name, facts in _declared_generators(dataset).items()
        if facts.get("kind") == "human"
    ]
    return tuple(sorted({*settings.human_generators, *marked} & names))


def families(dataset: Dataset, settings: BoardSettings) -> dict[str, str]:
    """generator -> family, from the settings or else from dataset.toml. Raises UnknownName for a
    generator of the settings that the board does not have.
    """
    check_known(
        "generator",
        settings.families,
        sorted({output.generator for output in dataset.outputs.values()}),
    )
    declared = _declared_generators(dataset).items()
    return {name: str(facts["family"]) for name, facts in declared if facts.get("family")} | dict(
        settings.families
    )


def _declared_generators(dataset: Dataset) -> dict[str, Mapping[str, Any]]:
    """What dataset.toml declares about generators."""
    table = dataset.extra.get("generators")
    named = table.items() if isinstance(table, Mapping) else ()
    return {name: facts for name, facts in named if isinstance(facts, Mapping)}


def overrating_rows(cell: BoardCell, people: tuple[str, ...]) -> list[dict[str, Any]]:
    """How much each rater overrates machines compared with people's scores; no rows if no generator
    is human.
    """
    written = np.isin(
        cell.generator, [code for code, name in enumerate(cell.generators) if name in people]
    )
    if not (written & cell.rated).any():
        return []
    return [
        _row(cell, rater, scores, ~written, ("machine's", "human"))
        | {"human_generators": " ".join(people)}
        for rater, scores in zip(cell.raters, cell.scores, strict=True)
    ]


def self_preference_rows(cell: BoardCell, families: Mapping[str, str]) -> list[dict[str, Any]]:
    """How much each rater overrates generators of its own family; no rows if there are no such
    generators.
    """
    of_generator = np.array([families.get(name, "") for name in cell.generators])
    rows = []
    for rater, scores in zip(cell.raters, cell.scores, strict=True):
        own_family = family_of_judge(rater.name, rater.kind, rater.about or {})
        own = (of_generator == own_family)[cell.generator]
        if own_family and (own & cell.rated).any():
            rows.append(
                _row(cell, rater, scores, own, ("own family's", "other")) | {"family": own_family}
            )
    return rows


def _row(
    cell: BoardCell, rater: BoardRater, scores: Numbers, indicator: Codes, names: tuple[str, str]
) -> dict[str, Any]:
    """A rater's row. indicator: (items,) whether the item belongs to the group that may be
    overrated. names: what the two groups of outputs are called.
    """
    compared = cell.rated & ~np.isnan(scores)
    row = {**cell.row_of(rater), "outputs": int(compared.sum()), "sources": cell.sources(compared)}
    row |= {"value": None, "low": None, "high": None, "undefined": ""}
    for group, what in zip((indicator, ~indicator), names, strict=True):
        if not (group & compared).any():
            return row | {"undefined": f"value: it scored no {what} output that people rated"}
    try:
        effect = overrating(
            scores[compared], cell.human[compared], indicator[compared], cell.source[compared]
        )
    except Undefined as error:
        return row | {"undefined": f"value: {error}"}
    ends = {"low": effect.value - effect.half_width, "high": effect.value + effect.half_width}
    return row | {"value": effect.value} | ends
