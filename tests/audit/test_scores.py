"""Verdicts on scores without classes: in simulated worlds, and their figures beside
scikit-learn's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.verdict import verdict
from metal.stats.skill import FOLDS, moments, skill
from tests.saying import tells
from tests.worlds import LIKE_A_PERSON, ScoreWorld, cell_of

WORLD = ScoreWorld("scores", 300, 0.8)


def verdicts(kind: str, times: int) -> Counter[str]:
    given: Counter[str] = Counter()
    for seed in range(times):
        said = WORLD.verdicts(seed, (kind,))[kind]
        given["recalibrated" if "like a person once" in said.reason else said.verdict] += 1
    return given


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("constant", "uninformative"),
        ("shift", "recalibrated"),
        ("slope", "recalibrated"),
        ("noise", "informative"),
        ("80% constant", "informative"),
        ("half of bad good", "informative"),
        ("adversarial", "uninformative"),
    ],
)
def test_what_a_judge_is(kind: str, expected: str) -> None:
    given = verdicts(kind, 10)
    assert given["like a person"] == 0
    assert given[expected] >= 9


def test_guesses_are_not_shown_to_know_anything() -> None:
    given = verdicts("random", 20)
    assert given["informative"] + given["like a person"] + given["recalibrated"] <= 3
    assert given["uninformative"] >= 3


def test_a_judge_like_a_person_is_found() -> None:
    assert verdicts(LIKE_A_PERSON, 20)["like a person"] >= 17


def test_what_makes_a_shifted_judge_good_is_said() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(60, 20, 300)
    said = verdict(
        cell_of(truth[:, None] + rng.normal(0, 10, (300, 3)), WORLD.score("shift", rng, truth, 10)),
        "j",
    )
    assert "once recalibrated (-25" in said.reason or "once recalibrated (-26" in said.reason


def test_a_judge_far_away_still_knows_the_order() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(60, 20, 300)
    people = truth[:, None] + rng.normal(0, 10, (300, 3))
    said = verdict(cell_of(people, truth + 60.0 + rng.normal(0, 25, 300)), "j")
    assert said.verdict == "informative"
    assert said.share_kept.value < 0.5
    assert "is more than 0.1 below a person" in said.reason


def test_one_person_an_item() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(60, 20, 200)
    said = verdict(cell_of(truth[:, None], WORLD.score(LIKE_A_PERSON, rng, truth, 5)), "j")
    assert (said.verdict, np.isnan(said.share_kept.value)) == ("informative", True)
    assert "one person per item" in said.reason


def test_skill_is_that_of_a_regression_on_other_folds() -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1, 60)
    target, fold = 0.5 * scores + rng.normal(0, 0.3, 60) + 4, np.arange(60) % FOLDS
    each = moments(target, scores)
    as_given, shifted, line = skill(
        np.stack([each[fold == one].sum(axis=0) for one in range(FOLDS)])
    )
    split, x = PredefinedSplit(fold), scores[:, None]
    constant = (
        (target - cross_val_predict(LinearRegression(), np.zeros_like(x), target, cv=split)) ** 2
    ).sum()
    shift = cross_val_predict(LinearRegression(), np.zeros_like(x), target - scores, cv=split)
    for ours, predicted in (
        (as_given, scores),
        (shifted, scores + shift),
        (line, cross_val_predict(LinearRegression(), x, target, cv=split)),
    ):
        assert ours == pytest.approx(1 - ((target - predicted) ** 2).sum() / constant)


def test_an_audit_of_scores_alone_and_standardised(tmp_path: Any) -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(60, 20, 120)
    severe = {"A": 0.0, "B": -30.0, "C": 25.0}
    rows = [
        (f"o{place}", rater, "human", 0.5 * truth[place] + shift + rng.normal(0, 5))
        for rater, shift in severe.items()
        for place in range(120)
    ] + [(f"o{place}", "J", "llm", truth[place]) for place in range(120)]
    table = pd.DataFrame(rows, columns=["output", "rater", "kind", "score"]).assign(
        language="hi", criterion="quality"
    )
    data = metal.read(table, measures="interval")
    plain, standardised = metal.audit(data), metal.audit(data, standardise=True)
    (before,), (after,) = (
        plain.verdicts.to_dict("records"),
        standardised.verdicts.to_dict("records"),
    )
    assert before["verdict"] in ("people disagree", "undecided")
    assert "`standardise` takes away" in before["reason"]
    assert after["verdict"] == before["verdict"]  # of scores as they were given
    assert "taken away: like a person" in after["reason"]
    assert plain.people["alpha"].item() < 0.2 < standardised.people["icc"].item()
    assert plain.tables["scores"]["shift"].item() == pytest.approx(30 + 5 / 3, abs=2)
    plain.save(tmp_path / "run")
    assert "Scores on a line" in (tmp_path / "run" / "report.html").read_text()


def heavy(rng: np.random.Generator, items: int) -> Any:
    """Scores of people as of MQM: most outputs have no error, a few very many."""
    errors = np.where(rng.random(items) < 0.6, 0.0, -(rng.exponential(4, items) ** 1.5))
    said = np.round(errors[:, None] * rng.uniform(0.8, 1.2, (items, 4)), 1)
    return np.where(errors[:, None] == 0, -1.0 * (rng.random((items, 4)) < 0.1), said)


@pytest.mark.parametrize(("away", "says"), [(100, "-100"), (1, "-1")])
def test_heavy_tails_tell_scores_beyond_peoples_apart(away: int, says: str) -> None:
    """A judge that ranks as people do, on another part of the scale, did not give one answer."""
    scores = heavy(np.random.default_rng(0), 300)
    decided = verdict(cell_of(scores[:, :3], scores[:, 3] + away), "j")
    assert decided.verdict == "informative"
    assert f"recalibrated ({says};" in decided.reason
    assert tells(decided.reason, "ranks among people's")


def test_a_judge_that_ranks_the_other_way_round_is_told_so() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(60, 20, 300)
    people = truth[:, None] + rng.normal(0, 10, (300, 3))
    decided = verdict(cell_of(people, 120 - truth), "j")
    assert decided.verdict == "uninformative"
    assert "the other way round" in decided.reason
