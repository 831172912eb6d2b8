"""The released boards joined with people's scores, and boards assembled on the spot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.boards.board import Board, billboard
from metal.boards.cells import BoardCell, board_cells
from metal.boards.settings import BoardSettings
from metal.data import formats
from metal.data.dataset import Card, Dataset, assemble
from metal.data.merge import merge
from metal.data.ratings import tidy_facts
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Scale, Source

QUALITY = Criterion("quality", Scale("interval", (), 0, 100))
QUICK = BoardSettings(resamples=100, permutations=100)

Scores = Mapping[str, Sequence[float | None]]


def made(
    scores: Mapping[str, Scores],
    generators: Sequence[str] = ("g0", "g1"),
    *,
    raters: Mapping[str, Rater] | None = None,
    criteria: Sequence[Criterion] = (QUALITY,),
    language: Sequence[str] | None = None,
    outputs: Sequence[tuple[str, str]] | None = None,
    extra: Mapping[str, Any] | None = None,
    name: str = "made",
) -> Dataset:
    """A dataset from {criterion: {rater: [score an output]}}; None is an answer without a score.

    Outputs come source by source (s0 by g0, s0 by g1, s1 by g0, ...), or are given as (source,
    generator). Raters called A... are people, those with ratings of `score` metrics, the rest LLM
    judges. language: of each output.
    """
    length = max(len(row) for by_rater in scores.values() for row in by_rater.values())
    places = outputs or [
        (f"s{at // len(generators)}", generators[at % len(generators)]) for at in range(length)
    ]
    languages = language or ["en"] * length
    made_outputs = [
        Output(f"o{at}", source, generator, tongue)
        for at, ((source, generator), tongue) in enumerate(zip(places, languages, strict=True))
    ]
    sources = {output.source: Source(output.source, output.language) for output in made_outputs}
    known = dict(raters or {})
    rows = []
    for criterion, by_rater in scores.items():
        for rater, row in by_rater.items():
            kind = (
                "human"
                if rater.startswith("A")
                else "metric"
                if criterion == METRIC_SCORE.name
                else "llm"
            )
            known.setdefault(rater, Rater(rater, kind, "expert" if kind == "human" else ""))
            rows += [
                (f"o{at}", criterion, rater, score, "refused" if score is None else "", "")
                for at, score in enumerate(row)
            ]
    facts = pd.DataFrame(
        rows, columns=["output", "criterion", "rater", "score", "reason", "comment"]
    )
    every = {one.name: one for one in criteria} | {METRIC_SCORE.name: METRIC_SCORE}
    used = [*(one for one in every.values() if one.name in scores or one in criteria)]
    return assemble(
        Card(name),
        used,
        sources.values(),
        made_outputs,
        known.values(),
        tidy_facts(facts),
        extra=extra,
    )


def world(
    sources: int = 40, generators: int = 4, seed: int = 0
) -> dict[str, dict[str, list[float | None]]]:
    """People and metrics around one truth: near, middling, far (mostly noise), noise."""
    rng = np.random.default_rng(seed)
    truth = (
        rng.normal(0, 6, sources)[:, None]
        + rng.normal(0, 4, (sources, generators))
        + np.arange(generators)
    )
    truth = truth.ravel()

    def like(noise: float) -> list[float | None]:
        return (truth + rng.normal(0, noise, len(truth))).tolist()

    people: dict[str, list[float | None]] = {
        person: (50 + np.array(like(2), dtype=np.float64)).clip(0, 100).tolist()
        for person in ("A1", "A2")
    }
    return {
        "quality": people,
        "score": {
            "near": like(4),
            "middling": like(8),
            "far": like(30),
            "noise": rng.normal(size=len(truth)).tolist(),
        },
    }


def one_cell(dataset: Dataset, settings: BoardSettings = QUICK, **where: str) -> BoardCell:
    """The only cell, or the one of a criterion and language."""
    found = [
        cell
        for cell in board_cells(dataset, settings)
        if all(getattr(cell, key) == value for key, value in where.items())
    ]
    assert len(found) == 1
    return found[0]


def row(board: Board, table: str, **where: Any) -> Any:
    """The only row of a table with these values."""
    rows = board.tables[table]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1, rows
    return rows.iloc[0]


# ---------------------------------------------------------------- the released boards


def oracle(reference: Path, name: str) -> Any:
    return json.loads((reference / "oracle" / name).read_text(encoding="utf-8"))


def imported(name: str, path: Path, **options: Any) -> tuple[Dataset, int | None]:
    draft = formats.read(name, path, options)
    return draft.assemble(path), draft.counted_from


@pytest.fixture(scope="session")
def zhen_apart(reference: Path) -> tuple[Dataset, Dataset]:
    """The released scores and MQM, before they are joined."""
    scores, _ = imported("billboard", reference / "billboard" / "results" / "wmt20-zh-en")
    experts, counted_from = imported("mqm", reference / "mqm")
    assert counted_from == 1
    return scores, experts


@pytest.fixture(scope="session")
def zhen(zhen_apart: tuple[Dataset, Dataset]) -> Dataset:
    """WMT20 ZH-EN: 15 metrics and the released ensemble, MQM."""
    return merge(*zhen_apart, counted_from=1)[0]


@pytest.fixture(scope="session")
def cnndm(reference: Path) -> Dataset:
    """CNNDM: 15 metrics and the released ensemble, three experts, five crowd workers, six LLM
    judges.
    """
    scores, _ = imported("billboard", reference / "billboard" / "results" / "cnndm")
    people, _ = imported("thumb", reference / "thumb")
    judges, _ = imported("alttest", reference / "alttest" / "summeval", only=("llm",))
    systems = oracle(reference, "summeval_system_map.json")
    return merge(merge(scores, people)[0], judges, map_generators=systems)[0]


ZHEN = BoardSettings(alpha=7.65, resamples=100, permutations=100)
CNNDM = BoardSettings(reference="group=expert", alpha=2.3, resamples=100, permutations=100)


@pytest.fixture(scope="session")
def zhen_board(zhen: Dataset) -> Board:
    return billboard(zhen, ZHEN)


@pytest.fixture(scope="session")
def cnndm_board(cnndm: Dataset) -> Board:
    return billboard(cnndm, CNNDM)


@pytest.fixture(scope="session")
def cnndm_common(cnndm: Dataset) -> Board:
    """On the outputs that every rater scored."""
    return billboard(cnndm, replace(CNNDM, common=True, alpha=None))
