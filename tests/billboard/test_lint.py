"""Problems of boards: joins off by one, metrics outside their range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.boards.cells import board_cells
from metal.boards.lint import lint
from metal.data.dataset import Dataset
from metal.data.records import Rater
from tests.billboard.conftest import QUICK, made
from tests.saying import tells


def problems(dataset: Dataset) -> list[str]:
    return list(lint(dataset, board_cells(dataset, QUICK)))


def board(shift: int, sources: int = 60, raters: Sequence[str] = ("m", "n")) -> Dataset:
    """People's scores moved by some sources."""
    rng = np.random.default_rng(1)
    truth = rng.normal(0, 10, (sources, 2))
    people = 50 + np.roll(truth, shift, axis=0)
    scores = {name: (truth + rng.normal(0, 5, truth.shape)).ravel().tolist() for name in raters}
    return made(
        {"quality": {"A1": people.clip(0, 100).ravel().tolist()}, "score": scores},
        outputs=[(f"s{at:03}", generator) for at in range(sources) for generator in ("g0", "g1")],
        raters={"released": Rater("released", "metric", "ensemble")},
    )


def test_a_join_off_by_one() -> None:
    (late,) = problems(board(1))
    assert tells(late, "quality in English:", "off by one", "by one, every rater")
    assert "Do ids count from 0" in late
    (early,) = problems(board(-1))
    assert "moved forward by one" in early
    assert problems(board(0)) == []
    assert problems(board(7)) == []


def test_the_message_names_a_metric_not_an_ensemble_of_them() -> None:
    (said,) = problems(board(1, raters=("m", "released")))
    assert "within generators, m has " in said


def test_metrics_that_say_nothing_do_not_accuse_the_join() -> None:
    """Moving by one helps them by chance as often as moving by more does."""
    rng = np.random.default_rng(3)
    places = [(f"s{at:03}", generator) for at in range(60) for generator in ("g0", "g1")]
    for _ in range(60):
        people, noise = rng.uniform(0, 100, 120), rng.normal(size=120)
        assert (
            problems(
                made(
                    {"quality": {"A1": people.tolist()}, "score": {"noise": noise.tolist()}},
                    outputs=places,
                )
            )
            == []
        )


def test_too_few_sources_to_say() -> None:
    assert problems(board(1, sources=25)) == []
    assert problems(made({"quality": {"A1": [1, 2], "judge": [1, 2]}})) == []


def test_one_rater_that_disagrees_clears_the_join() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 10, 60)
    people = 50 + np.roll(truth, 1)
    scores = {"moved": truth.tolist(), "straight": np.roll(truth, 1).tolist()}
    assert problems(made({"quality": {"A1": people.tolist()}, "score": scores}, ("g0",))) == []


def test_scores_outside_a_metrics_range() -> None:
    raters = {
        "both": Rater("both", "metric", about={"range": [0, 1]}),
        "open": Rater("open", "metric", about={"range": [None, 1]}),
        "fine": Rater("fine", "metric", about={"range": [0, 4]}),
        "odd": Rater("odd", "metric", about={"range": "0 to 1"}),
        "judge": Rater("judge", "llm", about={"range": [0, 1]}),
    }
    row = [-1, 2, 3, None]
    dataset = made(
        {
            "quality": {"A1": [1, 2, 3, 4], "judge": [9, 9, 8, 9]},
            "score": {"both": row, "open": row, "odd": row, "fine": [0, 1, 2, 4]},
        },
        raters=raters,
    )
    assert len(problems(dataset)) == 2
    assert tells(problems(dataset)[0], "both: 3 scores", "0 to 1")
    assert tells(problems(dataset)[1], "open: 2 scores", "any to 1")
