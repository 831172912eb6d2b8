"""Answers to test questions, who is noisy by them, and a dataset without these people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.data.dataset import Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Scale
from metal.errors import UnknownName, UsageError
from metal.genie.exclusion import only_people, without
from metal.genie.gold_questions import NEGATIVE, POSITIVE, draw
from metal.genie.gold_questions import Shares as QuestionShares
from metal.genie.monitoring import MIXTURES, QUESTIONS, RATERS, WORKERS, Monitoring, monitor, trials
from metal.genie.noisy import MODELS
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.genie.people import METAL, Opinion, always_best, careful, with_golds
from tests.saying import tells

# rater -> ((right, asked) of positive questions, (right, asked) of negative ones)
Counts = Mapping[str, tuple[tuple[int, int], tuple[int, int]]]
CAREFUL = {f"A{number}": ((20, 20), (20, 20)) for number in range(5)}


def question(side: str, number: int, language: str = "en") -> Output:
    source = f"{language}-{number}"
    return Output(f"test:{side}:{language}:{source}", source, "gold", language, "text", note=source)


def answered(counts: Counts, kinds: Mapping[str, str] | None = None, **more: Any) -> Monitoring:
    """So many right and wrong answers on task quality."""
    ratings, questions = [], {}
    for rater, sides in counts.items():
        for side, (right, asked) in zip((POSITIVE, NEGATIVE), sides, strict=True):
            for number in range(asked):
                one = question(side, number)
                questions[one.output] = one
                good = (number < right) == (side == POSITIVE)
                ratings.append(Rating(one.output, "task_quality", rater, 2.0 if good else 0.0))
    raters = {name: Rater(name, (kinds or {}).get(name, "human"), "native") for name in counts}  # type: ignore[arg-type]
    return monitor(facts_from(ratings), questions, {"task_quality": TASK_QUALITY}, raters, **more)


def row(found: Monitoring, rater: str) -> dict[str, Any]:
    (only,) = found.raters[found.raters["rater"] == rater].to_dict("records")
    return {str(key): value for key, value in only.items()}


# ---------------------------------------------------------------- who is noisy


def test_wrong_on_either_side_is_noisy() -> None:
    found = answered(
        CAREFUL
        | {
            "yes": ((20, 20), (0, 20)),
            "no": ((0, 20), (20, 20)),
            "dice": ((9, 20), (11, 20)),
        }
    )
    assert list(found.noisy) == ["dice", "no", "yes"]
    assert found.noisy["yes"] == (
        "negative questions on task_quality (English): 0 of 20 right, P above 0.999",
    )
    assert found.noisy["no"] == (
        "positive questions on task_quality (English): 0 of 20 right, P above 0.999",
    )
    assert len(found.noisy["dice"]) == 2
    assert row(found, "yes")["weakest"] == "negative questions on task_quality (English)"
    assert (row(found, "yes")["positive_right"], row(found, "yes")["negative_right"]) == (20, 0)
    assert set(found.raters["rater"][found.raters["noisy"]]) == set(found.noisy)
    assert found.raters["p_noisy"].is_monotonic_decreasing


@pytest.mark.parametrize("model", MODELS)
def test_every_model_flags_who_is_always_wrong_and_nobody_else(model: str) -> None:
    found = answered(CAREFUL | {"wrong": ((0, 40), (0, 40))}, model=model)
    assert list(found.noisy) == ["wrong"]


def test_the_uniform_prior_does_not_flag_a_single_wrong_answer() -> None:
    found = answered({"A": ((0, 1), (0, 2))}, model="rate-uniform")
    assert found.workers["positive_p_noisy"].item() == pytest.approx(0.99, abs=1e-12)
    (why,) = found.noisy["A"]  # exactly 0.99 is no reason
    assert why.startswith("negative questions")


def test_the_noisy_component_can_be_chosen() -> None:
    counts = CAREFUL | {"four": ((0, 4), (4, 4))}
    assert not answered(counts, model="class-fixed-2").noisy
    assert list(answered(counts, model="class-fixed-2", noisy_beta=9.5).noisy) == ["four"]


def test_all_right_all_wrong_and_one_worker_only() -> None:
    assert not answered(CAREFUL).noisy
    wrong = answered(dict.fromkeys(CAREFUL, ((0, 20), (0, 20))))
    assert not wrong.noisy  # where everybody fails, the questions are doubted
    assert {(one.side, one.failed, one.people) for one in wrong.doubted} == {
        (POSITIVE, 5, 5),
        (NEGATIVE, 5, 5),
    }
    assert set(answered(dict.fromkeys(("A", "B"), ((0, 20), (0, 20)))).noisy) == {"A", "B"}
    assert not answered({"A": ((20, 20), (20, 20))}).noisy
    alone = answered({"A": ((0, 20), (20, 20))})
    assert list(alone.noisy) == ["A"]
    assert len(alone.raters) == len(alone.workers) == 1


def test_one_side_only() -> None:
    found = answered({"A": ((3, 4), (0, 0)), "B": ((4, 4), (0, 0))})
    assert found.workers["negative_asked"].tolist() == [0, 0]
    assert found.workers[["negative_p_noisy", "negative_accuracy"]].isna().all(axis=None)
    assert set(found.mixtures["side"]) == {POSITIVE}
    assert found.raters["weakest"].str.startswith("positive").all()


@pytest.mark.parametrize("seed", [0, 1])
def test_order_changes_nothing(seed: int) -> None:
    counts = CAREFUL | {"dice": ((9, 20), (11, 20)), "few": ((1, 2), (0, 1))}
    one, other = answered(counts, seed=seed), answered(dict(reversed(counts.items())), seed=seed)
    assert one.noisy == other.noisy
    for name in ("workers", "mixtures"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


# ---------------------------------------------------------------- judges beside people


def test_a_judge_is_held_against_what_was_learned_from_people() -> None:
    kinds = {"judge": "llm", "baseline": "baseline"}
    judges: Counts = {"judge": ((20, 20), (2, 20)), "baseline": ((20, 20), (20, 20))}
    people, both = answered(CAREFUL), answered({**CAREFUL, **judges}, kinds)
    assert list(both.noisy) == ["judge"]
    columns = ["side", "component", "share", "alpha", "beta"]
    pd.testing.assert_frame_equal(both.mixtures[columns], people.mixtures[columns])
    assert set(both.mixtures["fitted_on"]) == {"people"}
    same = both.workers[both.workers["rater"].isin(list(CAREFUL))].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, people.workers)
    assert row(both, "judge")["kind"] == "llm"


def test_judges_alone_are_learned_from() -> None:
    found = answered(
        {"j": ((20, 20), (2, 20)), "k": ((20, 20), (20, 20))}, {"j": "llm", "k": "llm"}
    )
    assert set(found.mixtures["fitted_on"]) == {"all raters"}
    assert list(found.noisy) == ["j"]


# ---------------------------------------------------------------- tasks apart


def everybody(
    opinions: Mapping[str, Opinion], raters: Sequence[str], missing: str = ""
) -> Monitoring:
    """On METAL's criteria, in two languages; raters are of all languages, or `LANGUAGE-...` of
    one.
    """
    dataset = with_golds(20)
    questions = draw(dataset.sources, dataset.outputs.values(), QuestionShares(0.2, 0.2)).questions
    ratings = [
        Rating(
            one.output, name, rater, float(opinions.get(rater, careful)(rater, one.output, name))
        )
        for rater in raters
        for one in questions
        if rater.startswith((one.language, "all"))
        for name in METAL
        if name != missing
    ]
    people = {name: Rater(name, "human", "native") for name in raters}
    return monitor(facts_from(ratings), {one.output: one for one in questions}, METAL, people)


def test_languages_and_criteria_are_tasks_of_their_own() -> None:
    def only_hallucinations_wrong(rater: str, output: str, criterion: str) -> int:
        return (
            1 - careful(rater, output, criterion)
            if criterion == "hallucinations"
            else careful(rater, output, criterion)
        )

    raters = ["en-1", "en-2", "en-3", "sw-1", "sw-2", "all-1"]
    found = everybody({"en-1": only_hallucinations_wrong, "sw-1": always_best}, raters)
    assert list(found.noisy) == ["en-1", "sw-1"]
    assert [why.partition(":")[0] for why in found.noisy["en-1"]] == [
        "positive questions on Hallucinations (English)",
        "negative questions on Hallucinations (English)",
    ]
    assert len(found.noisy["sw-1"]) == 2
    assert tells(found.noisy["sw-1"][0], "negative", "Task quality (Swahili)")
    assert tells(found.noisy["sw-1"][1], "negative", "Hallucinations (Swahili)")
    cells = found.workers.groupby(["language", "criterion"], sort=False).size()
    assert cells.to_dict() == {
        (language, name): n for language, n in (("en", 4), ("sw", 3)) for name in METAL
    }
    assert row(found, "all-1")["languages"] == "en, sw"
    silent = found.workers[~found.workers["criterion"].isin(["task_quality", "hallucinations"])]
    assert (silent["negative_asked"] == 0).all()
    assert (found.workers["positive_asked"] == 8).all()
    assert (row(found, "all-1")["positive_asked"], row(found, "all-1")["negative_asked"]) == (
        80,
        32,
    )


def test_questions_are_counted_so_that_bad_golds_show() -> None:
    found = everybody({"all-1": always_best, "all-2": always_best}, ["all-1", "all-2", "all-3"])
    table = found.questions
    wrong = table[table["right"] < table["asked"]]
    assert set(wrong["side"]) == {NEGATIVE}
    assert set(wrong["criterion"]) == {"task_quality", "hallucinations"}
    assert (wrong["right"] == 1).all()
    assert (table["asked"] == 3).all()
    positives = table[table["side"] == POSITIVE]
    assert (positives["gold_of"] == positives["source"]).all()
    assert (wrong["gold_of"] != wrong["source"]).all()


# ---------------------------------------------------------------- trials


def test_an_answer_left_open_counts_neither_way() -> None:
    ids = [question(POSITIVE, number) for number in range(3)]
    scores = [2.0, None, 0.0]
    ratings = [
        Rating(one.output, "task_quality", "A", score, "" if score is not None else "no answer")
        for one, score in zip(ids, scores, strict=True)
    ]
    asked = {one.output: one for one in ids}
    raters = {"A": Rater("A", "human"), "B": Rater("B", "human")}
    ratings += [Rating(one.output, "task_quality", "B", None, "no answer") for one in ids]
    found = monitor(facts_from(ratings), asked, {"task_quality": TASK_QUALITY}, raters)
    assert found.workers[
        ["rater", "positive_asked", "positive_right", "unanswered"]
    ].to_numpy().tolist() == [
        ["A", 2, 1, 1],
        ["B", 0, 0, 3],
    ]
    assert row(found, "B")["unanswered"] == 3
    assert pd.isna(row(found, "B")["p_noisy"])
    assert pd.isna(row(found, "B")["weakest"])
    assert not row(found, "B")["noisy"]


def test_middles_are_wrong_unless_the_gold_meets_itself() -> None:
    asked = {one.output: one for one in (question(POSITIVE, 0), question(NEGATIVE, 0))}
    ratings = facts_from([Rating(name, "task_quality", "A", 1.0) for name in asked])
    criteria = {"task_quality": TASK_QUALITY}
    assert trials(ratings, asked, criteria)["right"].tolist() == [0, 0]
    compared = trials(ratings, asked, criteria, comparative={"task_quality": "summarization"})
    assert dict(zip(compared["side"], compared["right"], strict=True)) == {POSITIVE: 1, NEGATIVE: 0}


def test_what_can_be_neither_right_nor_wrong_is_left_out() -> None:
    fluency = replace(TASK_QUALITY, name="fluency", of_source=False)
    number = Criterion("number", Scale("interval"))
    asked = {one.output: one for one in (question(POSITIVE, 0), question(NEGATIVE, 0))}
    rows = [
        Rating(name, on, "A", 0.0)
        for name in asked
        for on in ("fluency", "number", "hallucinations")
    ]
    criteria = {one.name: one for one in (fluency, number, HALLUCINATIONS)}
    found = trials(facts_from(rows), asked, criteria)
    assert {(line.criterion, line.side, line.right) for line in found.itertuples()} == {
        ("fluency", POSITIVE, 0),
        ("hallucinations", POSITIVE, 1),
        ("hallucinations", NEGATIVE, 0),
    }


def test_nothing_asked_gives_empty_tables() -> None:
    found = monitor(facts_from([]), {}, METAL, {})
    assert found.noisy == {}
    for table, columns in (
        (found.workers, WORKERS),
        (found.raters, RATERS),
        (found.mixtures, MIXTURES),
        (found.questions, QUESTIONS),
    ):
        assert (len(table), tuple(table.columns)) == (0, columns)


def test_answers_that_the_dataset_cannot_place() -> None:
    one = question(POSITIVE, 0)
    ratings = facts_from([Rating(one.output, "task_quality", "A", 2.0)])
    asked, criteria, raters = (
        {one.output: one},
        {"task_quality": TASK_QUALITY},
        {"A": Rater("A", "human")},
    )
    with pytest.raises(
        UsageError,
        match="'test:positive:en:en-0'",
    ):
        monitor(ratings, {}, criteria, raters)
    with pytest.raises(UsageError, match=r"criterion 'task_quality',.*not have"):
        monitor(ratings, asked, {}, raters)
    with pytest.raises(UsageError, match=r"rater 'A',.*not have"):
        monitor(ratings, asked, criteria, {})
    with pytest.raises(UnknownName, match="model 'majority' is not known"):
        monitor(ratings, asked, criteria, raters, model="majority")


sides = st.integers(0, 12).flatmap(lambda asked: st.tuples(st.integers(0, asked), st.just(asked)))


@settings(max_examples=10)
@given(st.dictionaries(st.sampled_from("ABCDEF"), st.tuples(sides, sides), min_size=1))
def test_whatever_was_answered_everybody_asked_has_a_figure(counts: Counts) -> None:
    found = answered(counts)
    asked = {name for name, (positive, negative) in counts.items() if positive[1] + negative[1]}
    assert set(found.raters["rater"]) == asked
    assert found.raters["p_noisy"].between(0, 1).all()
    assert (found.raters["accuracy_low"] <= found.raters["accuracy_high"]).all()
    assert set(found.noisy) == set(found.raters["rater"][found.raters["noisy"]])
    for name, (positive, negative) in counts.items():
        if positive[0] == positive[1] and negative[0] == negative[1]:
            assert name not in found.noisy


# ---------------------------------------------------------------- a dataset without some people

LISTED = (
    Rater("A", "human", "native"),
    Rater("B", "human", "native"),
    Rater("tests-only", "human", "native"),
    Rater("judge", "llm", "judge"),
)
WHY = {
    "A": ("wrong here", "and there"),
    "judge": ("a judge",),
    "somebody else": ("not of this dataset",),
}


def rated() -> Dataset:
    empty = with_golds(3, raters=LISTED)
    ratings = [
        Rating(output, criterion, rater, 0.0)
        for output in empty.outputs
        for criterion in ("task_quality", "hallucinations")
        for rater in ("A", "B", "judge")
        if not (rater == "A" and output.startswith("sw"))
    ]
    sources, outputs = empty.sources.values(), empty.outputs.values()
    return assemble(empty.card, METAL.values(), sources, outputs, LISTED, facts_from(ratings))


def test_ratings_of_noisy_people_are_dropped_and_no_others() -> None:
    dataset = rated()
    left, _ = without(dataset, WHY)
    kept = dataset.ratings[dataset.ratings["rater"] != "A"]
    pd.testing.assert_frame_equal(left.ratings.astype(str), kept.reset_index(drop=True).astype(str))
    assert list(left.raters) == ["B", "tests-only", "judge"]
    assert "A" not in left.ratings["rater"].cat.categories
    assert (left.outputs, left.sources, left.criteria) == (
        dataset.outputs,
        dataset.sources,
        dataset.criteria,
    )
    assert left.digest != dataset.digest


def test_what_was_dropped_is_counted_and_named() -> None:
    _, excluded = without(rated(), WHY)
    assert excluded.lines == ["A is excluded as noisy (wrong here; and there): 12 ratings dropped"]
    assert excluded.table.astype(str).to_dict("records") == [
        {
            "rater": "A",
            "language": "en",
            "criterion": name,
            "ratings": "6",
            "why": "wrong here; and there",
        }
        for name in ("hallucinations", "task_quality")
    ]


def test_somebody_without_ratings_is_named_too() -> None:
    left, excluded = without(rated(), {"tests-only": ("wrong",)})
    assert excluded.lines == ["tests-only is excluded as noisy (wrong): 0 ratings dropped"]
    assert len(excluded.table) == 0
    assert "tests-only" not in left.raters


def test_nobody_noisy_changes_nothing() -> None:
    dataset = rated()
    left, excluded = without(dataset, {})
    assert left.digest == dataset.digest
    assert (excluded.lines, len(excluded.table)) == ([], 0)


def test_the_dataset_itself_stays_as_it_was() -> None:
    dataset = rated()
    before = dataset.digest, dataset.ratings.copy()
    without(dataset, WHY)
    assert rated().digest == before[0]
    pd.testing.assert_frame_equal(dataset.ratings, before[1])


def test_somebody_has_to_be_left() -> None:
    everybody = {rater.rater: ("wrong",) for rater in LISTED if rater.kind == "human"}
    with pytest.raises(UsageError, match="all 3 people are noisy") as raised:
        without(rated(), everybody)
    assert "\n" not in str(raised.value)


def test_only_some_people() -> None:
    dataset = rated()
    left = only_people(dataset, ["B"])
    assert sorted(left.raters) == ["B", "judge"]
    assert set(left.ratings["rater"]) == {"B", "judge"}
    assert only_people(dataset, [*dataset.raters]) is dataset
