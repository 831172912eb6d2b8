"""Published figures, from published data: what METAL computes must be what others computed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metal.auditing.audit import audit
from metal.auditing.settings import AuditSettings
from metal.auditing.verdict import LIKE_A_PERSON, verdict
from metal.data import formats
from metal.data.dataset import Dataset
from metal.data.ratings import code_matrix
from metal.stats import agreement
from metal.stats.aggregate import ALL, NONE, SOME, aggregate, agreement_case
from metal.stats.agreement import Measure, cohen_kappa, macro_f1, percent_agreement, weighted_f1
from metal.stats.alpha import alpha_disagreement
from metal.stats.alternative_annotator import alternative_annotator_test
from metal.stats.patterns import class_counts, find_patterns, margins
from tests.worlds import cell_of

pytestmark = pytest.mark.reference

LANGUAGES = ["bn", "hi", "kn", "ml", "ta"]
CRITERIA = ["linguistic_acceptability", "task_quality", "hallucinations"]
GPT4 = "gpt-4-32k/detailed"
# The order of by_appearance below, not string order; it moves only the direction of pairs with the
# worker who
# rated three answers.
ORDER_ML = ["10022", "10203", "9013", "1831"]


def _alpha(counts: np.ndarray, rows: np.ndarray, values: np.ndarray, measure: Measure) -> float:
    return float(alpha_disagreement(counts, counts, rows, values, measure).beyond_chance)


def oracle(reference: Path, name: str) -> Any:
    return json.loads((reference / "oracle" / name).read_text())


@pytest.fixture(scope="session")
def pariksha(reference: Path) -> Dataset:
    return formats.read("pariksha", reference / "pariksha", {}).assemble(Path("pariksha"))


def cell(
    dataset: Dataset, language: str, criterion: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(items rated by people) x people, GPT-4's answers, the people's names."""
    rows = dataset.ratings
    rows = rows[(rows["language"] == language) & (rows["criterion"] == criterion)]
    rows = rows[rows["output"].isin(rows.loc[rows["kind"] == "human", "output"])]
    matrix = code_matrix(rows, dataset.criteria[criterion])
    people = [rater for rater in matrix.raters if rater != GPT4]
    if language == "ml":
        people = ORDER_ML
    return np.maximum(matrix.of(people), -1), matrix.of([GPT4])[:, 0], people


def row_of(rows: list[dict[str, Any]], **where: str) -> dict[str, Any]:
    """The row of a published table with these values."""
    return next(row for row in rows if where.items() <= row.items())


def two(truth: np.ndarray, answer: np.ndarray, levels: int) -> np.ndarray:
    patterns = find_patterns(np.column_stack([truth, answer]))
    return margins(patterns.counts, patterns.rows[:, 0], patterns.rows[:, 1], levels)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_pariksha_agreement(
    reference: Path, pariksha: Dataset, language: str, criterion: str
) -> None:
    published = oracle(reference, "pariksha.json")
    expected = row_of(published["agreement"], language=language, criterion=criterion)
    ratings, gpt4, people = cell(pariksha, language, criterion)
    levels = len(pariksha.criteria[criterion].scale.levels)
    values = np.arange(levels, dtype=float)
    complete = (ratings >= 0).sum(axis=1) == 3
    every, full = find_patterns(ratings), find_patterns(ratings[complete])
    counts = class_counts(every.rows, levels)
    pairs = list(combinations(range(len(people)), 2))
    case = agreement_case(ratings[complete], levels)
    truth = aggregate(ratings[complete], values)
    judge = two(truth, gpt4[complete], levels)
    ours = {
        "workers": len(people),
        "items": len(ratings),
        "items_3": complete.sum(),
        "fleiss_complete": agreement.fleiss_disagreement(
            full.counts, class_counts(full.rows, levels)
        ).beyond_chance,
        "alpha_nominal": _alpha(every.counts, counts, values, "nominal"),
        "alpha_ordinal": _alpha(every.counts, counts, values, "ordinal"),
        "pairs": len(pairs),
        "pair_wF1_fwd": agreement.pairwise(every.counts, every.rows, levels, pairs),
        "pair_wF1_rev": agreement.pairwise(
            every.counts, every.rows, levels, [pair[::-1] for pair in pairs]
        ),
        "pct_agree_pooled": agreement.pooled_agreement(every.counts, counts),
        "all_agree": (case == ALL).sum(),
        "two_agree": (case == SOME).sum(),
        "none_agree": (case == NONE).sum(),
        "n_llm": judge[1].sum(),
        "gpt4_wF1_human_true": weighted_f1(judge),
        "gpt4_wF1_llm_true": weighted_f1(judge[[0, 2, 1]]),
        "gpt4_acc": percent_agreement(judge),
        "gpt4_cohen": cohen_kappa(judge),
    }
    compared = {
        name: value for name, value in expected.items() if name in ours and value is not None
    }
    assert set(expected) - {"language", "criterion"} <= set(ours)
    assert {name: float(ours[name]) for name in compared} == pytest.approx(compared, abs=1e-6)
    for name, of_case in {"all": ALL, "two": SOME, "none": NONE}.items():
        row = row_of(
            published["class_distribution"], language=language, criterion=criterion, case=name
        )
        items = case == of_case
        assert items.sum() == row["n"]
        width = len(row["human"])
        assert np.bincount(truth[items], minlength=width).tolist() == row["human"]
        assert np.bincount(gpt4[complete][items], minlength=width).tolist() == row["gpt4"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_pariksha_human_ceilings(
    reference: Path, pariksha: Dataset, language: str, criterion: str
) -> None:
    expected = row_of(
        oracle(reference, "pariksha_human_baselines.json"), lang=language, crit=criterion
    )
    ratings, _, _ = cell(pariksha, language, criterion)
    levels = len(pariksha.criteria[criterion].scale.levels)
    full = find_patterns(ratings[(ratings >= 0).sum(axis=1) == 3])
    truth = aggregate(full.rows, np.arange(levels, dtype=float))
    # without the worker of three answers
    raters = agreement.raters_with(full.counts, full.rows, 10)
    pairs = agreement.pairs_of(raters)
    assert full.counts.sum() == expected["n"]
    assert len(raters) == 3
    assert agreement.pairwise(full.counts, full.rows, levels, pairs) == pytest.approx(
        expected["human_pairwise"], abs=1e-6
    )
    assert agreement.against_all(full.counts, full.rows, truth, levels, raters) == pytest.approx(
        expected["human_vs_majority_incl_self"], abs=1e-6
    )
    assert agreement.leave_one_out(full.counts, full.rows, levels, raters) == pytest.approx(
        expected["human_LOO_vs_agreeing_other_two"], abs=1e-6
    )


def test_the_audit_prints_these_figures(reference: Path, pariksha: Dataset) -> None:
    """The tables of `metal audit` carry the published figures (Malayalam has three items of four
    raters more).
    """
    result = audit(pariksha, AuditSettings(resamples=100))
    judges = result.tables["judges"].set_index(["language", "criterion"])
    people = result.tables["people"].set_index(["language", "criterion"])
    for row in oracle(reference, "pariksha.json")["agreement"]:
        key = (row["language"], row["criterion"])
        # The oracle has the items with three ratings; `fleiss_kappa` has all with two or more.
        assert people.loc[key, "table_6_kappa"] == pytest.approx(row["fleiss_complete"], abs=1e-6)
        if key[0] == "ml":
            continue
        assert judges.loc[key, "weighted_f1"] == pytest.approx(row["gpt4_wF1_human_true"], abs=1e-6)
        assert judges.loc[key, "kappa"] == pytest.approx(row["gpt4_cohen"], abs=1e-6)
        assert people.loc[key, "all_agree"] == row["all_agree"]
    for row in oracle(reference, "pariksha_human_baselines.json"):
        if row["lang"] != "ml":
            assert people.loc[(row["lang"], row["crit"]), "pairwise_f1"] == pytest.approx(
                row["human_pairwise"], abs=1e-6
            )


@pytest.mark.slow
def test_fleiss_of_basse_rests_on_every_summary_with_two_ratings(reference: Path) -> None:
    """45 have two ratings and 315 three; METAL's Table 6 has those with two alone, the usual panel
    of at least two.
    """
    dataset = formats.read("basse", reference / "basse", {}).assemble(Path("basse"))
    row = (
        audit(dataset, AuditSettings(criteria=("Coherence",), resamples=100))
        .tables["people"]
        .iloc[0]
    )
    assert (row["fleiss_items"], row["table_6_items"]) == (360, 45)
    assert row["fleiss_kappa"] == pytest.approx(0.300126, abs=1e-6)
    assert row["table_6_kappa"] == pytest.approx(0.176829, abs=1e-6)


ALTTEST = ["wax", "lgbteen", "mtbench", "cebab_aspects", "summeval", "cebab_stars", "lesion"]


def labels(reference: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = reference / "alttest" / name
    return (
        json.loads((folder / "human_annotations.json").read_text()),
        json.loads((folder / "llm_annotations.json").read_text()),
    )


def coded(by_rater: dict[str, Any], items: list[str], code: dict[str, float]) -> np.ndarray:
    return np.array(
        [
            [code[str(row[item])] if item in row else np.nan for row in by_rater.values()]
            for item in items
        ]
    )


@pytest.mark.parametrize("name", ALTTEST)
def test_alternative_annotator_test(reference: Path, name: str) -> None:
    expected = oracle(reference, "alttest.json")[name]
    people, llms = labels(reference, name)
    items = sorted({item for row in people.values() for item in row})
    used = sorted(
        {str(label) for row in [*people.values(), *llms.values()] for label in row.values()}
    )
    numeric = expected["scoring"] != "accuracy"
    code = {label: float(label) if numeric else float(place) for place, label in enumerate(used)}
    table, answers = coded(people, items, code), coded(llms, items, code)
    assert set(expected["llms"]) <= set(llms)
    for llm, figures in expected["llms"].items():
        ours = alternative_annotator_test(
            table,
            answers[:, list(llms).index(llm)],
            epsilon=expected["epsilon"],
            closeness="distance" if numeric else "agreement",
        )
        assert ours.winning_rate == pytest.approx(figures["winning_rate"], abs=1e-9)
        assert ours.advantage == pytest.approx(figures["advantage_prob"], abs=1e-6)
        assert ours.passed == figures["passed"]
        for person, test in zip(people, ours.people, strict=True):
            if person in figures["per_human"]:
                assert test.p == pytest.approx(
                    figures["per_human"][person]["p"], rel=1e-6, abs=1e-12
                )
                assert test.rejected == figures["per_human"][person]["rejected"]


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("cebab_aspects", {"gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini"}),
        ("cebab_stars", {"gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini"}),
    ],
)
def test_which_judges_of_restaurants_are_like_a_person(
    reference: Path, name: str, like: set[str]
) -> None:
    """All four aspects as one question, as the data's authors count them; aspects have no worst
    class.
    """
    people, llms = labels(reference, name)
    items = sorted({item for row in people.values() for item in row})
    used = sorted({str(label) for row in people.values() for label in row.values()})
    code = {label: float(place) for place, label in enumerate(used)}
    table = [
        np.nan_to_num(coded(raters, items, code), nan=-2).astype(int) for raters in (people, llms)
    ]
    cell = cell_of(*table, tuple(llms), ordered=name == "cebab_stars")
    cell = replace(cell, criterion=replace(cell.criterion, direction="higher"))
    cell = replace(cell, settings=replace(cell.settings, bad=""))
    assert {judge for judge in llms if verdict(cell, judge).verdict == LIKE_A_PERSON} == like


@pytest.mark.parametrize("name", ALTTEST)
def test_agreement_of_annotators(reference: Path, name: str) -> None:
    published = oracle(reference, "alttest_agreement.json")
    if f"alttest_{name}" not in published:
        pytest.skip(f"no published agreement figures for {name}")
    expected = published[f"alttest_{name}"]
    people, _ = labels(reference, name)
    items = sorted({item for row in people.values() for item in row})
    raters = by_appearance(people)
    used = sorted(
        {str(label) for row in people.values() for label in row.values()}, key=_number_first
    )
    code = {label: place for place, label in enumerate(used)}
    ratings = np.array(
        [[code.get(str(people[rater].get(item)), -1) for rater in raters] for item in items]
    )
    levels = len(used)
    every = find_patterns(ratings)
    counts = class_counts(every.rows, levels)
    sizes = (ratings >= 0).sum(axis=1)
    full = find_patterns(np.sort(ratings[sizes == sizes.max()], axis=1))
    pairs = [
        pair
        for pair in combinations(range(len(raters)), 2)
        if (ratings[:, pair] >= 0).all(axis=1).sum() >= 2
    ]
    tables = [two(ratings[:, a], ratings[:, b], levels) for a, b in pairs]
    kappas = np.array([cohen_kappa(table) for table in tables])
    values = (
        np.array([float(label) for label in used])
        if _numeric(used)
        else np.arange(levels, dtype=float)
    )
    ours = {
        "items": len(items),
        "annotators": len(raters),
        "categories": levels,
        "judgments": sizes.sum(),
        "agree_pooled_pairs": agreement.pooled_agreement(every.counts, counts),
        "alpha_nominal": _alpha(every.counts, counts, values, "nominal"),
        "n_pairs": len(pairs),
        "pair_wF1_mean_a_true": agreement.pairwise(every.counts, every.rows, levels, pairs),
        "pair_wF1_mean_b_true": agreement.pairwise(
            every.counts, every.rows, levels, [(b, a) for a, b in pairs]
        ),
        "pair_acc_mean": np.mean([percent_agreement(table) for table in tables]),
        "pair_cohen_mean": np.nanmean(kappas),
        "pair_cohen_nan": np.isnan(kappas).sum(),
        "unanimous_items": ((counts.max(axis=1) == counts.sum(axis=1)) * every.counts).sum(),
    }
    if _numeric(used):
        ours["alpha_ordinal"] = _alpha(every.counts, counts, values, "ordinal")
        ours["alpha_interval"] = _alpha(every.counts, counts, values, "interval")
    compared = {key: float(value) for key, value in ours.items() if key in expected}
    assert compared == pytest.approx({key: expected[key] for key in compared}, abs=1e-6)
    fleiss = expected["fleiss_statsmodels_complete"]
    assert full.counts.sum() == fleiss["n"]
    assert agreement.fleiss_disagreement(
        full.counts, class_counts(full.rows, levels)
    ).beyond_chance == pytest.approx(fleiss["kappa"], abs=1e-6)


@pytest.mark.parametrize("name", ALTTEST)
def test_agreement_of_llms_with_the_plurality(reference: Path, name: str) -> None:
    published = oracle(reference, "alttest_agreement.json")
    if f"alttest_{name}" not in published:
        pytest.skip(f"no published agreement figures for {name}")
    expected = published[f"alttest_{name}"]
    people, llms = labels(reference, name)
    raters, items = sorted(people), sorted({item for row in people.values() for item in row})
    used = sorted(
        {str(label) for row in [*people.values(), *llms.values()] for label in row.values()}
    )
    code = {label: place for place, label in enumerate(used)}
    ratings = np.array(
        [[code.get(str(people[rater].get(item)), -1) for rater in raters] for item in items]
    )
    plurality = aggregate(ratings, np.arange(len(used), dtype=float), "majority")
    if "plurality_ties" in expected:
        assert Counter(plurality.tolist())[-1] == expected["plurality_ties"]
    for llm, figures in expected["llms"].items():
        answers = np.array([code.get(str(llms[llm].get(item)), -1) for item in items])
        table = two(plurality, answers, len(used))
        assert table[1].sum() == figures["n"]
        assert weighted_f1(table) == pytest.approx(figures["wF1_human_true"], abs=1e-6)
        assert weighted_f1(table[[0, 2, 1]]) == pytest.approx(figures["wF1_llm_true"], abs=1e-6)
        assert macro_f1(table) == pytest.approx(figures["macroF1"], abs=1e-6)
        assert percent_agreement(table) == pytest.approx(figures["acc"], abs=1e-6)
        assert cohen_kappa(table) == pytest.approx(figures["cohen"], abs=1e-6)


def by_appearance(people: dict[str, Any]) -> list[str]:
    """The order that the published directed F1 follows: raters as they first appear, by (criterion,
    item, rater).

    (The README of the figures says "string order"; with that order the directed means do not come
    out.)
    """
    items = sorted(
        {item for row in people.values() for item in row},
        key=lambda item: (item.split("__")[-1], item),
    )
    seen: dict[str, None] = {}
    for item in items:
        seen |= {rater: None for rater in sorted(people) if item in people[rater]}
    return list(seen)


def _numeric(used: list[str]) -> bool:
    return all(label.lstrip("-").replace(".", "", 1).isdigit() for label in used)


def _number_first(label: str) -> tuple[float, str]:
    return (float(label), label) if _numeric([label]) else (float("inf"), label)
