"""The simulation study: its parts by hand, its table, and what the command prints."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from metal.cli.monitor import simulate as command
from metal.errors import UnknownName, UsageError
from metal.genie.noisy import (
    BUCKETS,
    COLUMNS,
    MODELS,
    NOISY_BETA,
    PRINTED,
    Round,
    _count,
    _flags,
    _rows,
    draw_round,
    simulate,
)

# Precision and recall in % by 40 seeds x 25 rounds x 60 workers of an independent program (None: nobody flagged).
EXPECTED = {
    "class-fixed-2": ((None, 0), (100, 37), (100, 54)),
    "class-learned-2": ((100, 23), (100, 82), (100, 99)),
    "rate-jeffreys": ((98, 49), (99.5, 92), (99.8, 99)),
    "rate-uniform": ((95, 54), (99, 93), (99.7, 99)),
    "rate-fixed-1": ((100, 24), (100, 88), (100, 99)),
    "rate-learned-1": ((100, 25), (100, 84), (100, 99)),
    "rate-fixed-2": ((100, 18), (100, 75), (100, 98)),
    "rate-learned-2": ((100, 23), (100, 82), (100, 99)),
}


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    """A fifth of the whole study."""
    return simulate(seeds=8)


def test_rounds_are_drawn_as_published() -> None:
    rounds = [draw_round(np.random.default_rng(seed), 200) for seed in range(400)]
    asked, right, noisy = (
        np.concatenate([getattr(one, name) for one in rounds]) for name in ("asked", "right", "noisy")
    )
    assert asked.min() == 1
    assert asked.mean() == pytest.approx(10, abs=0.15)
    assert noisy.mean() == pytest.approx(0.055, abs=0.006)  # the mean of uniform(0.01, 0.1)
    assert right[noisy].sum() / asked[noisy].sum() == pytest.approx(0.25, abs=0.04)
    assert right[~noisy].sum() / asked[~noisy].sum() == pytest.approx(0.975, abs=0.004)
    shares = [one.noisy.mean() for one in rounds]
    assert np.std(shares) == pytest.approx(math.sqrt(0.09**2 / 12 + 0.052 / 200), abs=0.004)


def test_precision_and_recall_by_hand() -> None:
    # Two rounds, 5 to 14 questions. First: 1 noisy flagged, 1 not, 1 other flagged; second: 2 noisy flagged.
    # Precision 3/4, recall 3/4. Over rounds flagged is (2, 2), found - 3/4 flagged = (-1/2, 1/2):
    # standard error sqrt((1/4 + 1/4) * 2) / 4 = 1/4, and the same of recall, where noisy is (2, 2).
    asked = np.array([5, 14, 9, 4, 15])
    first = Round(asked, asked, np.array([True, True, False, False, False]))
    second = Round(asked, asked, np.array([True, True, False, False, True]))
    flags = [np.array([True, False, True, False, False]), np.array([True, True, False, False, False])]
    rows = {row["bucket"]: row for row in _rows("m", _count([first, second], flags))}
    middle = rows["5-14"]
    assert (middle["precision"], middle["recall"]) == (0.75, 0.75)
    assert (middle["precision_se"], middle["recall_se"]) == pytest.approx((0.25, 0.25))
    assert (middle["flagged"], middle["noisy"], middle["workers"]) == (4, 4, 6)
    assert math.isnan(rows["1-4"]["precision"])  # nobody flagged
    assert math.isnan(rows["1-4"]["recall"])  # nobody noisy
    assert math.isnan(rows["15+"]["precision"])
    assert (rows["15+"]["recall"], rows["15+"]["noisy"]) == (0, 1)


def test_a_single_round_has_no_standard_error() -> None:
    found = simulate(["rate-uniform"], seeds=1, rounds=1, workers=500)
    assert found["recall"].notna().all()
    assert found["recall_se"].isna().all()


def test_every_round_is_learned_from_by_itself() -> None:
    drawn = [draw_round(np.random.default_rng(seed), 40) for seed in range(5)]
    models = list(MODELS.values())
    together = {model.name: flags for model, flags in _flags(models, drawn, NOISY_BETA)}
    for place, one in enumerate(drawn):
        for model, (alone,) in _flags(models, [one], NOISY_BETA):
            assert together[model.name][place].tolist() == alone.tolist()


def test_the_table_is_as_expected(study: pd.DataFrame) -> None:
    assert list(study.columns) == list(COLUMNS)
    assert study["model"].unique().tolist() == list(MODELS) == list(PRINTED) == list(EXPECTED)
    for name, rows in study.groupby("model"):
        for (_, row), wanted in zip(rows.iterrows(), EXPECTED[str(name)], strict=True):
            for what, percent in zip(("precision", "recall"), wanted, strict=True):
                if percent is None:
                    assert math.isnan(row[what])
                    continue
                # Theirs is rounded and has an error too; where ours is 0, a few odd people are no surprise.
                slack = 0.5 + 300 * 1.1 * row[f"{what}_se"] + 300 / (row["flagged"] + row["noisy"])
                assert abs(100 * row[what] - percent) <= slack, (name, row["bucket"], what)


def test_who_cannot_be_flagged_is_undefined_not_zero(study: pd.DataFrame) -> None:
    fixed = study[(study["model"] == "class-fixed-2") & (study["bucket"] == "1-4")].iloc[0]
    assert fixed["flagged"] == 0
    assert math.isnan(fixed["precision"])
    assert fixed["recall"] == 0
    other = simulate(["class-fixed-2"], seeds=4, noisy_beta=9.5)
    assert other.iloc[0]["flagged"] > 0


def test_the_same_seed_gives_the_same_table_and_models_share_the_workers() -> None:
    one = simulate(["rate-learned-2", "rate-uniform"], seeds=2, rounds=5)
    again = simulate(["rate-uniform", "rate-learned-2"], seeds=2, rounds=5)
    pd.testing.assert_frame_equal(
        one.sort_values("model", kind="stable").reset_index(drop=True),
        again.sort_values("model", kind="stable").reset_index(drop=True),
    )
    assert simulate(["rate-uniform"], seeds=2, rounds=5, seed=7)["noisy"].tolist() != one["noisy"].tolist()[:3]


def test_progress_and_wrong_requests() -> None:
    seen: list[tuple[int, int]] = []
    simulate(["rate-uniform"], seeds=3, rounds=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    with pytest.raises(UnknownName, match="rate-uniform"):
        simulate(["rate-unifrm"])
    for wrong in ({"seeds": 0}, {"workers": 0}, {"mean_questions": 0.5}, {"models": []}):
        with pytest.raises(UsageError, match="1 or more"):
            simulate(**wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_papers_layout() -> None:
    result = CliRunner().invoke(command, ["--seeds", "2", "--rounds", "5"], catch_exceptions=False)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    heading = next(line for line in lines if line.startswith("model"))
    assert heading.split() == ["model", "1-4", "paper", "5-14", "paper", "15+", "paper"]
    for name, cells in PRINTED.items():
        line = next(line for line in lines if line.startswith(name)).replace("/ ", "/").replace("/ ", "/")
        assert [line.split()[place] for place in (2, 4, 6)] == ["{}/{}".format(*cells[bucket]) for bucket in BUCKETS]
    assert "do not follow from the paper's text" in " ".join(result.output.split())


def test_the_command_prints_json_with_null_for_undefined() -> None:
    arguments = ["--seeds", "1", "--rounds", "4", "--model", "class-fixed-2,rate-learned-2", "--json"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    told = json.loads(result.output)
    assert [(row["model"], row["bucket"]) for row in told["simulation"]] == [
        (model, bucket) for model in ("class-fixed-2", "rate-learned-2") for bucket in BUCKETS
    ]
    first = told["simulation"][0]
    assert first["precision"] is None
    assert (first["paper_precision"], first["paper_recall"]) == (1.0, 0.24)


def test_the_command_refuses_an_unknown_model() -> None:
    result = CliRunner().invoke(command, ["--model", "class-learned"])
    assert isinstance(result.exception, UnknownName)
