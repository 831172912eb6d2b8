"""Boards to report on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.board.boards import dataset, written


@pytest.fixture(scope="session")
def rich_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a board with everything: three languages, two criteria, a human generator, families, a history."""
    made = dataset(languages=("ar", "en", "hi"), criteria=("fluency", "adequacy"), human="g3")
    return written(made, tmp_path_factory.mktemp("rich") / "run")


@pytest.fixture(scope="session")
def bare_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One rater, one person: no ensemble, no overrating, no comparison, no history."""
    made = dataset(metrics=(), people=("A1",), generators=("g0", "g1"), family="other")
    return written(made, tmp_path_factory.mktemp("bare") / "run", history=())
