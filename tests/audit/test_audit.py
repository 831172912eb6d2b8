"""Audits of small worlds whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.auditing.audit import AuditTables, audit
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.errors import MetalError, UsageError
from metal.stats.aggregate import CASES
from tests.conftest import HALLUCINATIONS

MakeDataset = Callable[..., Dataset]
QUICK = AuditSettings(resamples=200)


def world(
    items: int = 120,
    *,
    skill: float = 0.85,
    judge: float = 0.85,
    seed: int = 0,
    shares: tuple[float, ...] = (0.3, 0.3, 0.4),
) -> dict[str, list[int | None]]:
    """Three people and judges of known skill; `constant` always says 2."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, items, p=shares)

    def noisy(share: float) -> list[int | None]:
        return np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)).tolist()

    people: dict[str, list[int | None]] = {f"A{j}": noisy(skill) for j in (1, 2, 3)}
    return people | {"good": noisy(judge), "guess": noisy(0.0), "constant": [2] * items}


def row(result: AuditTables, table: str, **where: str) -> Any:
    rows = result.tables[table]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return rows.iloc[0]


def test_verdicts_in_a_world_of_known_judges(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"hi": world(400, seed=1), "sw": world(400, seed=2)}), QUICK)
    verdicts = result.tables["verdicts"].set_index(["language", "judge"])
    for language in ("hi", "sw"):
        assert verdicts.loc[(language, "good"), "verdict"] == "usable"
        assert verdicts.loc[(language, "guess"), "verdict"] == "not better than the majority class"
        assert verdicts.loc[(language, "constant"), "verdict"] == "not better than the majority class"
        assert "constant judge" in verdicts.loc[(language, "constant"), "reason"]


def test_a_constant_judge_with_a_high_f1_is_exposed(make_dataset: MakeDataset) -> None:
    lopsided = world(200, skill=1.0, shares=(0.01, 0.03, 0.96))
    figures = row(audit(make_dataset({"hi": lopsided}), QUICK), "judges", judge="constant")
    assert figures["weighted_f1"] > 0.9
    assert figures["kappa"] == pytest.approx(0, abs=1e-12)
    assert figures["lead_over_majority"] == 0
    assert figures["majority_f1"] == figures["weighted_f1"]


def test_too_few_ratings(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"hi": world(20)}), QUICK)
    assert set(result.tables["verdicts"]["verdict"]) == {"too few ratings to say"}
    assert "20 items" in row(result, "verdicts", judge="good")["reason"]
    few_sources = audit(make_dataset({"hi": world(60)}, outputs_per_source=10), QUICK)
    assert "6 sources" in row(few_sources, "verdicts", judge="good")["reason"]


def test_unanswered_questions_lower_coverage_and_strict_f1(make_dataset: MakeDataset) -> None:
    data = world(100, judge=1.0, skill=1.0)
    data["good"] = [None if item < 25 else score for item, score in enumerate(data["good"])]
    result = audit(make_dataset({"hi": data}), QUICK)
    figures = row(result, "judges", judge="good")
    assert (figures["asked"], figures["answered"], figures["coverage"]) == (100, 75, 0.75)
    assert figures["weighted_f1"] == 1
    assert 0.7 < figures["strict_f1"] < 0.9
    verdict = row(result, "verdicts", judge="good")
    assert verdict["verdict"] == "usable with care"
    assert "answers only 75%" in verdict["reason"]
    distribution = result.tables["class_distribution"]
    rows = distribution[(distribution["rater"] == "good") & (distribution["case"] == "all items")]
    assert rows.set_index("level")["count"]["(no answer)"] == 25
    assert rows["count"].sum() == 100


def test_incomplete_and_tied_items_are_counted(make_dataset: MakeDataset) -> None:
    people: dict[str, list[int | None]] = {
        "A1": [0, 1, 2, 0, 1, 2, 0],
        "A2": [0, 1, 2, 0, 1, None, 1],
        "A3": [0, 1, 2, 0, None, None, 2],
        "judge": [0, 1, 2, 0, 1, 2, 1],
    }
    result = audit(make_dataset({"hi": people}), QUICK)
    assert row(result, "people")["dropped"] == "incomplete 2"
    assert row(result, "people")["items"] == 5  # the last has three labels: mean 1 is a level
    assert row(result, "judges", judge="judge")["asked"] == 5
    strict = audit(make_dataset({"hi": people}), replace(QUICK, aggregate="majority"))
    assert row(strict, "judges", judge="judge")["dropped"] == "incomplete 2, tied 1"
    looser = audit(make_dataset({"hi": people}), replace(QUICK, min_raters=2))
    assert row(looser, "judges", judge="judge")["asked"] == 6


def test_one_class_is_undefined_not_zero(make_dataset: MakeDataset) -> None:
    same: dict[str, list[int | None]] = {name: [0] * 40 for name in ("A1", "A2", "A3", "judge")}
    dataset = make_dataset({"hi": same}, HALLUCINATIONS)
    result = audit(dataset, QUICK)
    people = row(result, "people")
    assert np.isnan(people["fleiss_kappa"])
    assert "fleiss_kappa: one class" in people["undefined"]
    assert row(result, "table_6")["H"] == "- / 1.00"
    judge = row(result, "judges", judge="judge")
    assert np.isnan(judge["kappa"])
    assert "kappa: one class on both sides" in judge["undefined"]
    assert row(result, "verdicts")["verdict"] == "too few ratings to say"
    compat = audit(dataset, replace(QUICK, paper_compat=True))
    assert row(compat, "table_6")["H"] == "0.00 / 1.00"
    assert "printed as 0" in row(compat, "people")["undefined"]


def test_paired_differences(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"hi": world(seed=5), "sw": world(seed=6)}), QUICK)
    better = row(result, "differences", language="hi", first="constant", second="good")
    assert better["difference_high"] < 0
    assert better["p"] <= better["p_adjusted"] <= 2 * better["p"] + 1e-12
    judges = result.tables["judges"]
    hindi = judges[judges["language"] == "hi"].set_index("judge")["weighted_f1"]
    assert better["difference"] == pytest.approx(hindi["constant"] - hindi["good"])


def test_an_interval_does_not_depend_on_the_other_judges(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world()})
    every, alone = audit(dataset, QUICK), audit(dataset, replace(QUICK, judges=("good",)))
    columns = ["weighted_f1", "weighted_f1_low", "weighted_f1_high", "kappa_low", "lead_p"]
    assert list(row(every, "judges", judge="good")[columns]) == list(row(alone, "judges", judge="good")[columns])


def test_same_signature_same_figures(make_dataset: MakeDataset) -> None:
    first, again = (audit(make_dataset({"hi": world()}), QUICK) for _ in range(2))
    assert first.signature == again.signature
    for name, table in first.tables.items():
        assert table.equals(again.tables[name])
    other = audit(make_dataset({"hi": world()}), replace(QUICK, seed=1))
    assert other.signature != first.signature
    judges = first.tables["judges"]
    assert judges["signature"].is_unique
    assert "|data:made@" in judges["signature"][0]
    assert "|lang:hi|crit:task_quality|" in judges["signature"][0]


def test_class_distribution_adds_up(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"hi": world()}), QUICK)
    table = result.tables["class_distribution"]
    for rater in ("people", "good"):
        rows = table[table["rater"] == rater]
        overall = rows[rows["case"] == "all items"].set_index("level")["count"]
        parts = rows[rows["case"].isin(CASES)].groupby("level")["count"].sum()
        assert overall.sum() == 120
        assert {level: count for level, count in parts.items() if count} == {k: v for k, v in overall.items() if v}


def test_table_3_has_people_majority_and_judges(make_dataset: MakeDataset) -> None:
    table = audit(make_dataset({"hi": world(), "sw": world(seed=3)}), QUICK).tables["table_3"]
    assert list(table["model"]) == ["human", "majority class", "constant", "good", "guess"]
    assert {"hi", "sw"} <= set(table.columns)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"judges": ("goood",)}, "did you mean 'good'"),
        ({"criteria": ("quality",)}, "task_quality"),
        ({"languages": ("xx",)}, "known: hi"),
        ({"reference": "crowd"}, "known: native"),
    ],
)
def test_unknown_names(make_dataset: MakeDataset, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MetalError, match=message):
        audit(make_dataset({"hi": world(10)}), replace(QUICK, **settings))


def test_impossible_settings() -> None:
    for name, value in {"resamples": 10, "seed": -1, "min_raters": 1, "epsilon": 1.0}.items():
        with pytest.raises(UsageError, match=name):
            AuditSettings(**{name: value})


def test_nobody_to_compare_with(make_dataset: MakeDataset) -> None:
    with pytest.raises(MetalError, match="no human raters"):
        audit(make_dataset({"hi": {"judge": [0, 1]}}), QUICK)


def test_groups_taken_together_are_said(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world(40)})
    assert not [line for line in audit(dataset, QUICK).warnings if "several groups" in line]
    raters = dict(dataset.raters) | {"A3": replace(dataset.raters["A3"], group="crowd")}
    mixed = replace(dataset, raters=raters)
    assert any("crowd, native" in line for line in audit(mixed, QUICK).warnings)
    alone = audit(mixed, replace(QUICK, reference="native"))
    assert row(alone, "people")["people"] == 2


def test_tables_without_rows_have_their_columns(make_dataset: MakeDataset) -> None:
    people: dict[str, list[int | None]] = {"A1": [0, 1, 2] * 20, "A2": [0, 1, 1] * 20}
    result = audit(make_dataset({"hi": people}), QUICK)
    assert row(result, "people")["fleiss_kappa"] > 0.3
    judged = audit(make_dataset({"hi": people | {"judge": [0, 1, 2] * 20, "other": [0, 0, 2] * 20}}), QUICK)
    for name in ("judges", "verdicts", "differences"):
        assert result.tables[name].empty
        assert list(result.tables[name].columns) == list(judged.tables[name].columns)


def test_the_people_to_compare_with(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world(40)})
    by_group, by_words = (audit(dataset, replace(QUICK, reference=who)) for who in ("native", "group=native"))
    assert by_words.signature == by_group.signature
    pd.testing.assert_frame_equal(by_words.tables["judges"], by_group.tables["judges"])
    pair = audit(dataset, replace(QUICK, reference="rater=A3,A1"))
    assert row(pair, "people")["people"] == 2
    assert "|ref:rater=A3,A1|" in pair.signature


def test_wilcoxon_keeps_its_old_spelling(make_dataset: MakeDataset) -> None:
    settings = replace(QUICK, wilcoxon=True)
    assert (QUICK.to_dict()["small"], settings.to_dict()["small"]) == ("leave out", "wilcoxon")
    result = audit(make_dataset({"hi": world(20)}), settings)
    assert "|small:wilcoxon|" in result.signature
    assert 0 <= row(result, "judges", judge="good")["alt_test_winning_rate"] <= 1


def test_epsilon_follows_the_group(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world()})
    assert row(audit(dataset, QUICK), "judges", judge="good")["alt_test_epsilon"] == 0.15
    assert row(audit(dataset, replace(QUICK, epsilon=0.2)), "judges", judge="good")["alt_test_epsilon"] == 0.2


@pytest.mark.parametrize("outputs_per_source", [1, 4])
def test_what_judges_share_is_what_each_would_have_made_alone(
    make_dataset: MakeDataset, monkeypatch: pytest.MonkeyPatch, outputs_per_source: int
) -> None:
    """The ceiling of the same items and the resamples of pairs are made once, to the same figures."""
    scores = world() | {"silent": [None, *[1, 2] * 59, 0]}
    dataset = make_dataset({"hi": scores}, outputs_per_source=outputs_per_source)
    together = audit(dataset, QUICK)
    monkeypatch.setattr("metal.auditing.figures.Resampled.by_source", property(lambda _: False))
    alone = audit(dataset, QUICK)
    for table in ("judges", "differences"):
        pd.testing.assert_frame_equal(together.tables[table], alone.tables[table], check_exact=True)
    assert together.tables["differences"]["difference_low"].notna().all()
    assert together.tables["judges"]["difference_to_people_low"].notna().all()
