"""Audits of small worlds whose truth is known."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.auditing.audit import AuditTables, audit
from metal.auditing.cells import cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Level, Scale
from metal.errors import MetalError, UsageError
from metal.stats.aggregate import CASES, NOBODY
from metal.stats.answers import answers_of_matrix
from metal.stats.dawid_skene import dawid_skene
from tests.conftest import HALLUCINATIONS
from tests.saying import tells

MakeDataset = Callable[..., Dataset]
QUICK = AuditSettings(resamples=200)
DAWID_SKENE = replace(QUICK, aggregate="dawid-skene")


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
        assert verdicts.loc[(language, "good"), "verdict"] == "like a person"
        assert verdicts.loc[(language, "guess"), "verdict"] in ("uninformative", "undecided")
        assert verdicts.loc[(language, "constant"), "verdict"] == "uninformative"
        assert verdicts.loc[(language, "constant"), "reason"] == "it gave one answer only"


def test_no_seed_and_no_company_moves_a_verdict(make_dataset: MakeDataset) -> None:
    hindi = world(200, seed=1)
    both = audit(make_dataset({"hi": hindi, "sw": world(100, seed=2)}), QUICK).tables["verdicts"]
    alone = {name: given for name, given in hindi.items() if name not in ("guess", "constant")}
    other = audit(make_dataset({"hi": alone}), AuditSettings(resamples=300, seed=9)).tables[
        "verdicts"
    ]
    first = (
        both.query("language == 'hi' and judge == 'good'")
        .drop(columns="signature")
        .reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(first, other.drop(columns="signature"), check_exact=True)


def test_a_constant_judge_with_a_high_f1_is_exposed(make_dataset: MakeDataset) -> None:
    lopsided = world(200, skill=1.0, shares=(0.01, 0.03, 0.96))
    figures = row(audit(make_dataset({"hi": lopsided}), QUICK), "judges", judge="constant")
    assert figures["weighted_f1"] > 0.9
    assert figures["kappa"] == pytest.approx(0, abs=1e-12)
    assert figures["lead_over_majority"] == 0
    assert figures["majority_f1"] == figures["weighted_f1"]


def test_too_few_ratings(make_dataset: MakeDataset) -> None:
    result = audit(make_dataset({"hi": world(20)}), QUICK)
    assert set(result.tables["verdicts"]["verdict"]) == {"undecided"}
    assert "20 items" in row(result, "verdicts", judge="good")["reason"]
    few_sources = audit(make_dataset({"hi": world(60)}, outputs_per_source=10), QUICK)
    assert "6 sources" in row(few_sources, "verdicts", judge="good")["reason"]
    assert tells("".join(few_sources.warnings), "fewer than 30", "in Hindi")
    people = {name: scores for name, scores in world(20).items() if name.startswith("A")}
    assert "fewer than 30" not in "".join(audit(make_dataset({"hi": people}), QUICK).warnings)


def test_unanswered_questions_lower_coverage_and_strict_f1(make_dataset: MakeDataset) -> None:
    data = world(100, judge=1.0, skill=1.0)
    data["good"] = [None if item < 25 else score for item, score in enumerate(data["good"])]
    result = audit(make_dataset({"hi": data}), QUICK)
    figures = row(result, "judges", judge="good")
    assert (figures["asked"], figures["answered"], figures["coverage"]) == (100, 75, 0.75)
    assert figures["weighted_f1"] == 1
    assert 0.7 < figures["strict_f1"] < 0.9
    verdict = row(result, "verdicts", judge="good")
    assert verdict["verdict"] == "informative"
    assert "answered only 75% of the questions" in verdict["reason"]
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


def test_leniency_is_over_outputs_with_two_people(make_dataset: MakeDataset) -> None:
    # Two people give 1, the judge 2; on twenty more outputs A1 alone gives 0, which says how severe
    # A1 is.
    people: dict[str, list[int | None]] = {"A1": [1] * 40 + [0] * 20, "A2": [1] * 40 + [None] * 20}
    result = audit(make_dataset({"hi": people | {"judge": [2] * 60}}), QUICK)
    judge = row(result, "judges", judge="judge")
    assert judge[["leniency", "leniency_items"]].tolist() == [1.0, 40]
    alone = audit(make_dataset({"hi": {"A1": people["A1"], "judge": [2] * 60}}), QUICK)
    judge = row(alone, "judges", judge="judge")
    assert judge[["leniency", "leniency_items"]].tolist() == [pytest.approx(4 / 3), 60]


def test_one_class_is_undefined_not_zero(make_dataset: MakeDataset) -> None:
    same: dict[str, list[int | None]] = {name: [0] * 40 for name in ("A1", "A2", "A3", "judge")}
    dataset = make_dataset({"hi": same}, HALLUCINATIONS)
    result = audit(dataset, QUICK)
    people = row(result, "people")
    assert np.isnan(people["fleiss_kappa"])
    assert "fleiss_kappa: one class" in people["undefined"]
    assert row(result, "table_6")["H"] == "– / 1.00"  # no spreadsheet takes it for a formula
    judge = row(result, "judges", judge="judge")
    assert np.isnan(judge["kappa"])
    assert "kappa: one class on both sides" in judge["undefined"]
    verdict = row(result, "verdicts")
    assert verdict["verdict"] == "undecided"
    assert tells(
        verdict["reason"], "people", "same answer", "alpha is undefined", "nothing to tell apart"
    )
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
    assert list(row(every, "judges", judge="good")[columns]) == list(
        row(alone, "judges", judge="good")[columns]
    )


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
        assert {level: count for level, count in parts.items() if count} == {
            k: v for k, v in overall.items() if v
        }


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
        ({"bad": "Absent"}, "label 'Absent'"),
    ],
)
def test_unknown_names(make_dataset: MakeDataset, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MetalError, match=message):
        audit(make_dataset({"hi": world(10)}), replace(QUICK, **settings))


def test_impossible_settings() -> None:
    for name, value in {
        "resamples": 10,
        "seed": -1,
        "min_raters": -1,
        "epsilon": 1.1,
        "keep": float("nan"),
    }.items():
        with pytest.raises(UsageError, match=name):
            AuditSettings(**{name: value})


@pytest.mark.parametrize(
    ("scale", "rule", "message"),
    [
        (
            Scale("nominal", tuple(map(Level, range(3), "abc"))),
            "majority-or-middle",
            "theme has no middle level .* use",
        ),
        (
            Scale("ordinal", tuple(map(Level, range(4), "abcd"))),
            "majority-or-middle",
            "an even number of levels",
        ),
        (
            Scale("interval", low=0, high=100),
            "mace",
            "theme has no levels",
        ),
    ],
)
def test_a_rule_without_a_meaning_on_any_scale(
    make_dataset: MakeDataset, scale: Scale, rule: str, message: str
) -> None:
    dataset = make_dataset({"hi": world(40)}, Criterion("theme", scale))
    with pytest.raises(UsageError, match=message):
        audit(dataset, replace(QUICK, aggregate=rule))
    audit(dataset, QUICK)  # the default has one everywhere


def test_free_text_is_no_scale(make_dataset: MakeDataset) -> None:
    levels = tuple(Level(value, f"label {value}") for value in range(150))
    scores = {rater: list(range(150)) for rater in ("A1", "A2", "judge")}
    with pytest.raises(UsageError, match="150 labels on 150 outputs are free text"):
        audit(make_dataset({"hi": scores}, Criterion("theme", Scale("nominal", levels))), QUICK)


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


def test_people_whom_verdicts_leave_out_are_named(make_dataset: MakeDataset) -> None:
    good = [0, 2] * 60
    # right on 40%
    careless = [score if item % 5 < 2 else 2 - score for item, score in enumerate(good)]
    people = {"A1": careless, "A2": good, "A3": good}
    warnings = audit(make_dataset({"hi": people | {"j": good, "k": good}}), QUICK).warnings
    assert tells(warnings, "leave out A1 (task_quality, Hindi):", "far less")
    assert not [
        line for line in audit(make_dataset({"hi": people}), QUICK).warnings if "leave out" in line
    ]


def test_tables_without_rows_have_their_columns(make_dataset: MakeDataset) -> None:
    people: dict[str, list[int | None]] = {"A1": [0, 1, 2] * 20, "A2": [0, 1, 1] * 20}
    result = audit(make_dataset({"hi": people}), QUICK)
    assert row(result, "people")["fleiss_kappa"] > 0.3
    judged = audit(
        make_dataset({"hi": people | {"judge": [0, 1, 2] * 20, "other": [0, 0, 2] * 20}}), QUICK
    )
    for name in ("judges", "verdicts", "differences"):
        assert result.tables[name].empty
        assert list(result.tables[name].columns) == list(judged.tables[name].columns)


def test_the_people_to_compare_with(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world(40)})
    by_group, by_words = (
        audit(dataset, replace(QUICK, reference=who)) for who in ("native", "group=native")
    )
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


@pytest.mark.slow
def test_a_cell_is_the_same_alone_and_among_sixty_languages(make_dataset: MakeDataset) -> None:
    languages = "bn", "de", "en", "hi", "kn", "ml", "ta", "te", "yo"
    codes = [f"{first}-{second}" for first, second in permutations(languages, 2)]
    dataset = make_dataset({code: world(60, seed=place) for place, code in enumerate(codes[:60])})
    one = dataset.languages[37]
    tables = [
        audit(dataset, replace(QUICK, languages=languages)).tables for languages in ((), (one,))
    ]
    for table in ("verdicts", "judges", "people", "by_class", "confusion", "by_certainty"):
        among, alone = (tables[table][tables[table]["language"] == one] for tables in tables)
        pd.testing.assert_frame_equal(
            among.reset_index(drop=True), alone.reset_index(drop=True), check_exact=True
        )


def test_the_range_without_one_person_is_that_of_audits_without_them(
    make_dataset: MakeDataset,
) -> None:
    dataset = make_dataset({"hi": world()})
    whole = audit(dataset, QUICK)
    fewer = [
        audit(dataset, replace(QUICK, reference=f"rater={pair}"))
        for pair in ("A1,A2", "A1,A3", "A2,A3")
    ]
    for table, figure in (
        ("judges", "kappa"),
        ("judges", "weighted_f1"),
        ("people", "alpha"),
        ("people", "fleiss_kappa"),
    ):
        where = {"judge": "good"} if table == "judges" else {}
        alone = [row(result, table, **where)[figure] for result in fewer]
        assert row(whole, table, **where)[f"{figure}_least"] == pytest.approx(min(alone))
        assert row(whole, table, **where)[f"{figure}_most"] == pytest.approx(max(alone))
    kept = [row(result, "verdicts", judge="good")["share_kept"] for result in fewer]
    verdict = row(whole, "verdicts", judge="good")
    assert (verdict["share_kept_least"], verdict["share_kept_most"]) == pytest.approx(
        (min(kept), max(kept))
    )


def test_two_hundred_labels_fit_into_memory(make_dataset: MakeDataset) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 200, 700)
    raters = {
        name: np.where(rng.random(700) < 0.8, truth, rng.integers(0, 200, 700))
        for name in ("A1", "A2", "A3", "j")
    }
    intent = Criterion(
        "intent", Scale("nominal", tuple(Level(k, f"label {k}") for k in range(200)))
    )
    dataset = make_dataset(
        {"en": {name: scores.tolist() for name, scores in raters.items()}}, intent
    )
    tracemalloc.start()
    result = audit(dataset, AuditSettings(resamples=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500e6
    assert row(result, "judges")["weighted_f1"] > 0.6


def test_epsilon_follows_the_group(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world()})
    assert row(audit(dataset, QUICK), "judges", judge="good")["alt_test_epsilon"] == 0.15
    assert (
        row(audit(dataset, replace(QUICK, epsilon=0.2)), "judges", judge="good")["alt_test_epsilon"]
        == 0.2
    )


@pytest.mark.parametrize("outputs_per_source", [1, 4])
def test_what_judges_share_is_what_each_would_have_made_alone(
    make_dataset: MakeDataset, monkeypatch: pytest.MonkeyPatch, outputs_per_source: int
) -> None:
    """The ceiling of the same items and the resamples of pairs are made once, to the same
    figures.
    """
    scores = world() | {"silent": [None, *[1, 2] * 59, 0]}
    dataset = make_dataset({"hi": scores}, outputs_per_source=outputs_per_source)
    together = audit(dataset, QUICK)
    forgetful = type("Forgetful", (dict,), {"__contains__": lambda *_: False})()
    monkeypatch.setattr("metal.auditing.cells.AuditCell.shared", property(lambda _: forgetful))
    monkeypatch.setattr("metal.auditing.between_judges.AT_ONCE", 1)
    alone = audit(dataset, QUICK)
    for table in ("judges", "differences"):
        pd.testing.assert_frame_equal(together.tables[table], alone.tables[table], check_exact=True)
    assert together.tables["differences"]["difference_low"].notna().all()
    assert together.tables["judges"]["difference_to_people_low"].notna().all()


# ---------------------------------------------------------------- models of the people as the truth


def spammed(items: int = 300, seed: int = 0) -> dict[str, list[int | None]]:
    """Two people know, three guess; the judge knows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)

    def noisy(share: float) -> list[int | None]:
        return np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)).tolist()

    return {f"A{place}": noisy(share) for place, share in enumerate((0.95, 0.9, 0.0, 0.0, 0.0))} | {
        "judge": noisy(0.95)
    }


@pytest.mark.parametrize("rule", ["dawid-skene", "mace"])
def test_people_are_weighed(make_dataset: MakeDataset, rule: str) -> None:
    dataset = make_dataset({"hi": spammed()})
    voted = row(audit(dataset, replace(QUICK, aggregate="majority")), "judges")
    result = audit(dataset, replace(QUICK, aggregate=rule))
    weighed = row(result, "judges")
    assert weighed["weighted_f1"] > voted["weighted_f1"] + 0.05
    assert weighed["asked"] > voted["asked"]  # no ties: somebody is always believed more
    assert f"|agg:{rule}|" in result.signature
    assert all(f"|agg:{rule}|" in signature for signature in result.tables["people"]["signature"])


def test_what_does_not_look_at_the_aggregate_stays(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world(150)})
    first, second = (row(audit(dataset, settings), "people") for settings in (QUICK, DAWID_SKENE))
    for name in (
        "fleiss_kappa",
        "pairwise_f1",
        "leave_one_out_f1",
        "percent_agreement",
        "gwet_ac1",
        "alpha",
    ):
        assert first[name] == second[name]
    assert first["against_all_f1"] != second["against_all_f1"]


def test_against_all_uses_the_model(make_dataset: MakeDataset) -> None:
    people = {name: scores for name, scores in spammed().items() if name != "judge"}
    result = row(audit(make_dataset({"hi": people}), DAWID_SKENE), "people")
    assert result["against_all_f1_low"] <= result["against_all_f1"] <= result["against_all_f1_high"]
    labels = dawid_skene(answers_of_matrix(np.array(list(people.values())).T, 3)).labels
    alike = np.mean([(np.array(scores) == labels).mean() for scores in people.values()])
    assert result["against_all_f1"] == pytest.approx(alike, abs=0.05)


def test_incomplete_items_tell_of_the_raters_and_have_no_label(make_dataset: MakeDataset) -> None:
    people = world(90)
    people["A2"][:20] = people["A3"][:20] = [None] * 20
    cell = next(cells(make_dataset({"hi": people}), DAWID_SKENE))
    assert (cell.truth[np.flatnonzero(~cell.complete)] == NOBODY).all()
    fit = dawid_skene(answers_of_matrix(cell.by_people, 3))
    assert (cell.truth == np.where(cell.complete, fit.labels, NOBODY)).all()
    assert fit.given.tolist() == [90, 70, 70]


def test_a_model_that_overrules_the_people_is_said(make_dataset: MakeDataset) -> None:
    turned = spammed(seed=1)  # the majority is often one of guessers, and overruled
    result = audit(make_dataset({"hi": turned}), DAWID_SKENE)
    warnings = [
        warning for warning in result.warnings if warning.startswith('`aggregate="dawid-skene"`')
    ]
    assert len(warnings) == 1
    assert "task_quality, Hindi 14%" in warnings[0]
    for scores, settings in ((world(100), DAWID_SKENE), (turned, QUICK)):
        assert not any(
            "aggregate" in warning
            for warning in audit(make_dataset({"hi": scores}), settings).warnings
        )


def test_a_model_that_doubts_its_labels_is_said(make_dataset: MakeDataset) -> None:
    guesses = np.random.default_rng(0).choice(3, (3, 300), p=[0.05, 0.15, 0.8]).tolist()
    people = {f"A{person}": scores for person, scores in enumerate(guesses)}
    warnings = audit(make_dataset({"hi": people}), replace(QUICK, aggregate="mace")).warnings
    assert tells(warnings, '`aggregate="mace"`:', "task_quality, Hindi:", "below 0.1")


def test_an_unknown_rule_is_answered_with_all() -> None:
    with pytest.raises(
        UsageError, match="majority-or-mean, majority-or-middle, majority, dawid-skene, mace"
    ):
        AuditSettings(aggregate="vote")


def test_an_audit_of_hundreds_of_people_says_that_few_are_compared_one_by_one() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(1, 4, 40)
    answers = np.where(rng.random((40, 231)) < 0.7, truth[:, None], rng.integers(1, 4, (40, 231)))
    frame = pd.DataFrame(answers, columns=[*(f"A{place}" for place in range(230)), "gpt-4"])
    from metal import audit as audited

    run = audited(frame.assign(item=[f"q{row}" for row in range(40)], lang="en"), resamples=100)
    undefined = run.tables["people"]["undefined"].iloc[0]
    for figure in ("pairwise_f1", "leave_one_out_f1", "against_all_f1"):
        assert tells(undefined, f"{figure}: of the 50 people", "out of 230")
    undefined = run.tables["judges"]["undefined"].iloc[0]
    assert tells(undefined, "difference_to_people: of the 50 people", "out of 230")
