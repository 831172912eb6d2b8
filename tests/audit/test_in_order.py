"""Quadratic kappa, Spearman's and Pearson's correlation of judge and person, over the same
seats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

import metal
from metal.auditing.audit import audit
from metal.auditing.in_order import NAMES
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Level, Scale
from metal.questions.audit.details import details
from metal.questions.audit.run import AuditRun
from tests.saying import tells

MakeDataset = Callable[..., Dataset]
QUICK = AuditSettings(resamples=100)
LIKERT = Criterion(
    "quality", Scale("ordinal", tuple(Level(float(value), f"l{value}") for value in range(1, 6)))
)


def answers(items: int = 80, seed: int = 3) -> dict[str, Any]:
    """Two people and a judge of five levels; the judge answers a level too low and refuses the last
    output.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, items)
    given = {
        who: np.clip(truth + rng.integers(-1, 2, items), 1, 5).tolist()
        for who in ("A1", "A2", "judge")
    }
    given["judge"] = [max(level - 1, 1) for level in given["judge"][:-1]] + [None]
    return given


def row_of(dataset: Dataset) -> Any:
    return audit(dataset, QUICK).tables["judges"].iloc[0]


def test_judge_and_person_are_those_of_scipy_and_scikit_learn(make_dataset: MakeDataset) -> None:
    """With two people each seat faces the other's label: seats of A1 face A2, those of A2 face
    A1.
    """
    given = answers()
    row = row_of(make_dataset({"hi": given}, LIKERT))
    first, second, judge = (np.array(given[who][:-1]) for who in ("A1", "A2", "judge"))
    facing, own, said = np.append(second, first), np.append(first, second), np.append(judge, judge)
    for name, answer in (("", said), ("person_", own)):
        assert row[f"{name}spearman"] == pytest.approx(spearmanr(answer, facing).statistic)
        assert row[f"{name}pearson"] == pytest.approx(pearsonr(answer, facing).statistic)
        assert row[f"{name}kappa_with_others"] == pytest.approx(
            cohen_kappa_score(answer, facing, weights="quadratic")
        )
        for figure in ("spearman", "pearson", "kappa_with_others"):
            low, value, high = (row[f"{name}{figure}{end}"] for end in ("_low", "", "_high"))
            assert low < value < high
    assert row["order_items"] == 79
    # The judge ranks about as people do, and is a level lower.
    assert row["spearman"] > row["person_spearman"] - 0.1
    assert row["kappa_with_others"] < row["person_kappa_with_others"] - 0.1


def test_the_jackknife_leaves_out_whole_sources(make_dataset: MakeDataset) -> None:
    given = answers()
    row = row_of(make_dataset({"hi": given}, LIKERT, outputs_per_source=4))
    first, second, judge = (np.array(given[who], dtype=float) for who in ("A1", "A2", "judge"))
    source, answered = np.arange(80) // 4, ~np.isnan(np.array(given["judge"], dtype=float))

    def r(items: Any) -> float:
        return float(
            pearsonr(np.tile(judge[items], 2), np.append(second[items], first[items])).statistic
        )

    without = np.array([r(answered & (source != left)) for left in range(20)])
    error = np.sqrt(19 / 20 * ((without - without.mean()) ** 2).sum())
    half = 2.093024 * error  # t of 19 degrees of freedom, 0.975
    assert (row["pearson_low"], row["pearson_high"]) == pytest.approx(
        (r(answered) - half, r(answered) + half), abs=1e-5
    )


def test_where_there_is_no_order_the_reason_stands(make_dataset: MakeDataset) -> None:
    two = Criterion("c", Scale("nominal", (Level(0.0, "no"), Level(1.0, "yes"))))
    row = row_of(
        make_dataset({"hi": {"A1": [0, 1] * 30, "A2": [0, 1] * 30, "judge": [0, 1] * 30}}, two)
    )
    assert row[list(NAMES)].isna().all()
    assert "spearman: nominal scale" in row["undefined"]
    one = make_dataset({"hi": {who: answers()[who] for who in ("A1", "judge")}}, LIKERT)
    row = row_of(one)
    assert row["spearman"] > 0
    assert np.isnan(row["person_spearman"])
    assert "person_spearman: one person per item" in row["undefined"]
    equal = row_of(
        make_dataset({"hi": {who: [1, 3, 5] * 20 for who in ("A1", "A2", "judge")}}, LIKERT)
    )
    assert equal["spearman"] == 1
    assert np.isnan(equal["spearman_low"])
    assert tells(equal["undefined"], "spearman:", "whichever source", "left out")


def test_the_opened_cell_shows_the_judge_beside_a_person(
    make_dataset: MakeDataset, tmp_path: Any
) -> None:
    found = metal.audit(make_dataset({"hi": answers()}, LIKERT))
    estimate = found["judge", "hi", "quality"].spearman
    assert estimate.n == 79
    assert estimate.low is not None
    run = AuditRun.read(found.save(tmp_path / "run"))
    (opened,) = details(run, 1e6, 0, {}).values()
    titles = [title.removesuffix(", 79 items") for title, *_ in opened["f"]]
    places = [titles.index(title) for title in ("Spearman's rho with the others", "a person's rho")]
    assert places[1] == places[0] + 1
    assert tells(titles, "quadratic kappa")
    assert "a person's r" in titles
    csv = pd.read_csv(tmp_path / "run" / "tables" / "judges.csv")
    assert {"kappa_with_others", "person_kappa_with_others_low", "person_pearson_high"} <= set(csv)
