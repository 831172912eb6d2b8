"""Boards of a few outputs with gaps, constants and odd scales: a board or a message, and a reason for each gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metal.boards.board import Board, billboard
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.data.records import METRIC_SCORE, Criterion, Level, Rater, Scale
from metal.errors import UsageError
from tests.billboard.conftest import QUICK, made

CRITERIA = (
    Criterion("three", Scale("ordinal", tuple(Level(n, str(n)) for n in range(3)))),
    Criterion("faulty", Scale("nominal", (Level(0, "no"), Level(1, "yes"))), direction="lower"),
    Criterion("free", Scale("interval", (), -1e6, 1e6)),
)
RATERS = {"A1": Rater("A1", "human", "x"), "A3": Rater("A3", "human", "y")}


def column(rng: np.random.Generator, criterion: Criterion, length: int) -> list[float | None]:
    """Scores of which some, most, or all may be missing, sometimes all the same."""
    if criterion.scale.levels:
        values = rng.choice(criterion.scale.values, length)
    else:
        values = rng.normal(size=length) * 10.0 ** rng.integers(-3, 5)
    if rng.random() < 0.15:
        values[:] = values[0]
    missing = rng.random(length) < rng.choice([0, 0.3, 0.9, 1], p=[0.5, 0.3, 0.15, 0.05])
    return [None if gone else float(value) for gone, value in zip(missing, values, strict=True)]


def odd(rng: np.random.Generator) -> Dataset:
    length, generators, sources = (int(rng.integers(1, most)) for most in (30, 5, 8))
    places = [(f"s{rng.integers(sources)}", f"g{rng.integers(generators)}") for _ in range(length)]
    used = [one for one in CRITERIA if rng.random() < 0.6] or [CRITERIA[0]]
    scores: dict[str, Any] = {
        one.name: {name: column(rng, one, length) for name in ("A1", "A2", "A3", "j1", "j2")} for one in used
    }
    scores["score"] = {f"m{at}": column(rng, METRIC_SCORE, length) for at in range(int(rng.integers(1, 6)))}
    tongue = {source: str(rng.choice(["en", "hi"])) for source, _ in places}
    return made(scores, outputs=places, language=[tongue[source] for source, _ in places], criteria=used, raters=RATERS)


def reasons_given(board: Board) -> None:
    for name in ("raters", "within_generators"):
        table = board.tables[name]
        for figure in ("pearson", "kendall", "system_pearson", "soft_pairwise_accuracy", "pairwise_accuracy"):
            if figure in table:
                unsaid = table[figure].isna() & ~table["undefined"].str.contains(f"{figure}: ")
                assert not unsaid.any(), (name, figure)


@pytest.mark.parametrize("seed", range(30))
def test_a_board_or_a_message(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings: BoardSettings = replace(
        QUICK,
        nonzero=int(rng.integers(1, 4)),
        common=bool(rng.random() < 0.2),
        reference=str(rng.choice(["", "x"])),
        alpha=0.5 if rng.random() < 0.3 else None,
        members=("metric", "llm", "human") if rng.random() < 0.5 else ("metric",),
    )
    dataset = odd(rng)
    said = ""
    try:
        board = billboard(dataset, settings)
    except UsageError as error:
        said = str(error)
    if said:
        assert "rated nothing" in said or "`common`" in said
        return
    reasons_given(board)
    ranks = board.tables["raters"].groupby(["language", "criterion"])["rank"].agg(lambda one: one.dropna().tolist())
    assert all(rank == list(range(1, len(rank) + 1)) for rank in ranks)
