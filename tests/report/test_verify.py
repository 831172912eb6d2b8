"""`metal verify`: figures of runs are those of other libraries, and a changed one is found."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.errors import DataError, MissingExtra, UsageError
from metal.questions.verify import libraries
from metal.questions.verify.answer import headline
from metal.questions.verify.compute import (
    DIFFERS,
    EQUAL,
    LEFT,
    NO_LIBRARY,
    UNDEFINED,
    compared,
    digits_equal,
)
from metal.questions.verify.libraries import Recomputed
from tests import ROOT

DEMO = ROOT / "datasets" / "demo"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "audit"
    return metal.audit(DEMO, languages="en", resamples=100).save(folder)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def table_of(ratings: int, people: int, levels: int, seed: int) -> pd.DataFrame:
    """Ratings with gaps: of some people, two judges, one of which has one answer."""
    rng = np.random.default_rng(seed)
    raters = [*(f"A{number}" for number in range(people)), "J1", "J2"]
    truth = rng.integers(0, levels, ratings)
    rows = []
    for rater in raters:
        answers = np.where(rng.random(ratings) < 0.6, truth, rng.integers(0, levels, ratings))
        answers = np.ones(ratings, dtype=int) if rater == "J2" else answers
        kind = "human" if rater.startswith("A") else "llm"
        for item in np.flatnonzero(rng.random(ratings) < 0.8):
            rows.append((f"s{item // 2}", f"o{item}", "en", rater, kind, answers[item]))
    return pd.DataFrame(rows, columns=["source", "output", "language", "rater", "kind", "score"])


def test_a_run_is_verified_from_any_folder(tmp_path: Path, monkeypatch: Any) -> None:
    """The data are looked for around the run first: the present folder may have other data."""
    monkeypatch.chdir(tmp_path)
    table_of(30, 2, 3, 1).to_csv("ratings.csv", index=False)
    folder = metal.audit("ratings.csv", resamples=100).save("runs/audit").resolve()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    table_of(30, 2, 3, 2).to_csv("ratings.csv", index=False)
    assert metal.verify(folder).counted[DIFFERS] == 0
    (tmp_path / "ratings.csv").unlink()
    with pytest.raises(UsageError, match=r"ratings\.csv changed since"):
        metal.verify(folder)


def test_an_audits_figures_are_those_of_other_libraries(run: Path) -> None:
    made = metal.verify(run)
    assert made.exit_code == made.counted[DIFFERS] == 0
    assert made.counted[EQUAL] > 200
    figures = set(made.tables["summary"]["figure"])
    assert figures >= {"weighted_f1", "kappa", "alpha", "fleiss_kappa", "spearman", "correlation"}
    assert figures >= {"alt_test_winning_rate", "alt_test_advantage", "pairwise_f1"}
    assert made.tables["figures"]["digits"].min() >= 12
    assert f"{made.counted[EQUAL]} of {made.counted[EQUAL]} figures" in headline(made)
    assert all(name in headline(made) for name in libraries.NEEDED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "options"),
    [
        (3, {}),
        (2, {"min_raters": 1}),
        (5, {"aggregate": "majority", "wilcoxon": True, "reference": "rater=A0,A1,A2"}),
        (1, {}),
        (4, {"standardise": True, "paper_compat": True}),
        (3, {"measures": {"overall": "nominal"}}),
        (3, {"aggregate": "mace"}),
    ],
)
def test_tables_with_gaps(
    tmp_path: Path, people: int, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table_of(80, people, 3, seed=people).to_csv("ratings.csv", index=False)
    metal.audit("ratings.csv", resamples=100, **options).save("run")  # type: ignore[arg-type]
    made = metal.verify("run")
    assert made.counted[DIFFERS] == 0
    assert ("judges" in set(made.tables["figures"]["table"])) == (options != {"aggregate": "mace"})


def test_a_boards_correlations_are_scipys(tmp_path: Path) -> None:
    # a board keeps its versions in the dataset's folder
    demo = shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns("board"))
    board = metal.billboard(demo, resamples=100, permutations=100)
    made = metal.verify(board.save(tmp_path / "board"))
    assert made.counted[EQUAL] > 100
    assert made.exit_code == 0
    assert set(made.tables["figures"]["figure"]) == {"pearson", "spearman", "kendall"}


def test_how_far_people_of_a_monitor_agree(tmp_path: Path) -> None:
    made = metal.verify(metal.monitor(DEMO, resamples=100).save(tmp_path / "monitor"))
    assert made.counted == {EQUAL: made.counted[EQUAL], DIFFERS: 0}
    assert set(made.tables["figures"]["figure"]) == {"alpha", "fleiss_kappa", "percent_agreement"}


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_changed_figure_is_found_in_each_file(copy: Path, ending: str) -> None:
    path = copy / "tables" / f"judges.{ending}"
    table = pd.read_parquet(copy / "tables" / "judges.parquet")
    table["kappa"] += 1e-9 * (table.index == 1)
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "json":
        rows = json.loads(path.read_text())
        rows[1] |= {"kappa": table.loc[1, "kappa"]}
        path.write_text(json.dumps(rows))
    else:
        table.to_parquet(path, index=False)
    made = metal.verify(copy)
    (row,) = made.records("figures", says=DIFFERS)
    assert (row["figure"], row["file"], row["rater"]) == ("kappa", path.name, table.loc[1, "judge"])
    assert row["difference"] == pytest.approx(1e-9, rel=1e-3)
    assert made.exit_code == 1
    assert headline(made).startswith("1 of ")
    assert "judges." in headline(made)


def test_numbers_that_no_library_has_are_the_same_in_all_files(copy: Path) -> None:
    path = copy / "tables" / "verdicts.csv"
    table = pd.read_csv(path, dtype=str)
    table["share_kept_low"] = ["0.99", *table["share_kept_low"][1:]]
    table.to_csv(path, index=False)
    (row,) = metal.verify(copy).records("figures", says=DIFFERS)
    assert (row["table"], row["figure"], row["file"]) == ("verdicts", "share_kept_low", path.name)
    assert row["value"] == 0.99


def test_a_figure_that_was_taken_out_is_found(copy: Path) -> None:
    for ending in ("csv", "json", "parquet"):
        path = copy / "tables" / f"people.{ending}"
        table = pd.read_parquet(copy / "tables" / "people.parquet")
        table.loc[0, "alpha"] = math.nan
        if ending == "csv":
            table.to_csv(path, index=False)
        elif ending == "json":
            rows = json.loads(path.read_text())
            rows[0] |= {"alpha": None}
            path.write_text(json.dumps(rows))
        else:
            table.to_parquet(path, index=False)
    assert [row["figure"] for row in metal.verify(copy).records("figures", says=DIFFERS)] == [
        "alpha"
    ]
    (copy / "tables" / "people.csv").write_text("alpha\n1\n")
    with pytest.raises(DataError, match=r"people\.csv"):
        metal.verify(copy)


def test_runs_without_later_figures_are_verified(copy: Path) -> None:
    table = pd.read_parquet(copy / "tables" / "judges.parquet").drop(columns="order_items")
    table.to_parquet(copy / "tables" / "judges.parquet", index=False)
    made = metal.verify(copy)
    assert made.exit_code == 0
    assert not {"spearman", "pearson"} & set(made.tables["figures"]["figure"])


def test_what_is_said_of_a_figure() -> None:
    def says(value: float, of_library: float, reason: str = "", other: float | None = None) -> str:
        values = {"a.csv": value, "a.json": value if other is None else other}
        return str(compared(values, Recomputed(of_library, "scipy", 9), reason)["says"])

    assert says(0.5, 0.5) == says(0.5, 0.5 + 1e-15) == EQUAL
    assert says(0.5, 0.5 + 1e-9) == says(math.nan, 0.5) == DIFFERS
    assert says(0.5, 0.5, other=0.5 + 1e-15) == DIFFERS  # a file that does not say the same
    assert says(0.5, 0.5, other=math.nan) == DIFFERS
    assert says(0.0, math.nan) == NO_LIBRARY
    assert says(math.nan, math.nan, "one class") == UNDEFINED
    assert says(math.nan, 0.5, "fewer than 30 items") == LEFT
    assert digits_equal(120.5, 120.5 + 1e-9) == 11


def test_what_is_refused(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "demo"
    shutil.copytree(DEMO, other)
    pd.read_parquet(other / "ratings.parquet").iloc[1:].to_parquet(other / "ratings.parquet")
    with pytest.raises(UsageError, match=r"changed since .*; run `metal audit` again"):
        metal.verify(run, data=other)
    selection = metal.select(DEMO, languages="en", resamples=100).save(tmp_path / "select")
    with pytest.raises(UsageError, match=r"runs of `metal audit`"):
        metal.verify(selection)
    in_memory = metal.audit(table_of(60, 3, 3, 0), resamples=100).save(tmp_path / "memory")
    with pytest.raises(UsageError, match=r"say where.*`data`"):
        metal.verify(in_memory)
    monkeypatch.setattr(libraries, "NEEDED", ("scipy", "krippendorff-of-nobody"))
    with pytest.raises(MissingExtra, match=r"pip install 'metal-eval\[verify\]'"):
        metal.verify(run)
