"""The number of items by a formula: its parts are the verdict's own figures, and its interval holds
the true number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metal.auditing.cells import AuditCell
from metal.auditing.verdict import LIKE_A_PERSON, clauses_of, looked_at
from metal.errors import Undefined
from metal.questions.design.formula import verdict_times
from metal.stats.measured import Measured
from metal.stats.source_sums import Draws
from tests.bench.design import PILOTS, WORLDS, held, times
from tests.hard_worlds import LEVELS_5, SKEWED, UNEVEN, HardScores, HardWorld
from tests.saying import tells
from tests.worlds import World

CELLS = {
    "classes": HardWorld(UNEVEN, (0.85,) * 4).draw(1, ("-.10",)),
    "skewed, refuses": HardWorld(SKEWED, (0.9,) * 3).draw(2, ("refuses the hardest",)),
    "ordered": HardWorld(LEVELS_5, (0.8,) * 4, ordered=True).draw(3, ("half one up",)),
    "outputs of a source": World("80/15/5", 240, 0.8, outputs=4).draw(
        np.random.default_rng(4), ("-.15",)
    ),
    "scores": HardScores(8.0).draw(5, ("half slope",)),
    "heavy scores": HardScores(8.0, heavy=True).draw(6, ("twice the noise",)),
}


@pytest.mark.parametrize("name", CELLS)
def test_sources_drawn_once_each_give_the_verdicts_own_figures(name: str) -> None:
    cell = CELLS[name]
    beside, _, _ = looked_at(cell, cell.judges[0])
    figures = [clause.figure for clause in clauses_of(beside) if clause.figure is not None]
    assert len(figures) >= 4
    for figure in [*figures, beside.above]:
        value, error = _again(
            figure, cell, np.ones((1, len(np.unique(cell.matrix.sources))), dtype=np.int64)
        )
        assert value == pytest.approx([figure.value], abs=1e-9)
        assert error == pytest.approx([figure.error], rel=1e-9)


@pytest.mark.parametrize("name", CELLS)
def test_a_source_drawn_twice_counts_as_two(name: str) -> None:
    """Where its ratings stand in the cell a second time, under the name of another source."""
    cell = CELLS[name]
    matrix, rng = cell.matrix, np.random.default_rng(0)
    names = np.unique(matrix.sources)
    times = rng.integers(0, 3, len(names))
    rows, sources = [], []
    for source, often in zip(names, times, strict=True):
        for number in range(often):
            mine = np.flatnonzero(matrix.sources == source)
            rows.append(mine)
            sources.append(np.full(len(mine), source * 3 + number))
    rows, sources = np.concatenate(rows), np.concatenate(sources)
    bigger = replace(matrix, codes=matrix.codes[rows], sources=sources)
    again, _, _ = looked_at(replace(cell, matrix=bigger), cell.judges[0])
    beside, _, _ = looked_at(cell, cell.judges[0])
    assert again.people.who == beside.people.who
    value, error = _again(beside.below, cell, times[None])
    # Places among people's scores are held, where a few hold most of the spread.
    assert value == pytest.approx(
        [again.below.value], abs=0.001 if name == "heavy scores" else 1e-9
    )
    assert error == pytest.approx([again.below.error], rel=0.02)


@pytest.mark.slow
def test_four_of_five_intervals_hold_the_number_that_is_true() -> None:
    """A judge .04 below people; `make bench` has all judges, both verdicts, and more pilots."""
    every = [
        held(replace(world, items=items), "-.04", LIKE_A_PERSON, 10)
        for world in WORLDS
        for items in PILOTS
    ]
    assert np.mean([cell.inside for cell in every]) == pytest.approx(0.8, abs=0.12)
    assert np.mean([cell.enough for cell in every]) >= 0.85


def test_the_same_pilot_gives_the_same_interval() -> None:
    assert times(WORLDS[0], 5, "-.04", LIKE_A_PERSON) == times(WORLDS[0], 5, "-.04", LIKE_A_PERSON)


def test_a_judge_far_below_people_has_no_number() -> None:
    found = times(WORLDS[0], 5, "-.30", LIKE_A_PERSON)
    assert found is not None
    assert np.isinf([found.value, found.high]).all()
    assert tells(found.words, "no number of items")


def test_one_of_a_rare_class_is_too_little_to_plan_from() -> None:
    world = HardWorld((0.6, 0.395, 0.005), (0.98,) * 4, items=100)
    with pytest.raises(Undefined, match=r"too little to plan.*(people call only|never tested)"):
        verdict_times(
            [world.draw(1, ("-.04",))],
            "-.04",
            LIKE_A_PERSON,
            0.8,
            np.random.default_rng(0),
            alike=False,
        )


def _again(figure: Measured, cell: AuditCell, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    assert figure.again is not None
    return figure.again(Draws(np.unique(cell.matrix.sources), times), False)
