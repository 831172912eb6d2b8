"""Pairs: read in the words people use, one item for both orders, how far the order matters, and
verdicts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.data.dataset import assemble, load_dataset
from metal.data.pairs import CONTRADICTS, one_item_per_pair
from metal.data.records import Scale
from metal.errors import MetalError, UsageError
from metal.questions.audit.brief import brief
from tests.saying import tells

ARENA = pd.DataFrame(
    [
        ("q1", "x", "y", "model_a", "A1"),  # x
        ("q1", "y", "x", "model_a", "A2"),  # y
        ("q1", "x", "y", "x", "A3"),
        ("q1", "x", "y", "A", "gpt-4"),
        ("q1", "y", "x", "B", "gpt-4"),  # x again
        ("q2", "x", "y", "tie (bothbad)", "A1"),
        ("q2", "x", "y", "first", "gpt-4"),  # x
        ("q2", "y", "x", "left", "gpt-4"),  # y: the first place both times
        ("q3", "x", "y", "2", "gpt-4"),
        ("q3", "y", "x", None, "gpt-4"),
    ],
    columns=["question_id", "model_a", "model_b", "winner", "judge"],
).assign(language="en")


def test_words_for_a_winner_and_the_order_of_names() -> None:
    dataset = metal.read(ARENA)
    pair = dataset.outputs["q1/x | y"]
    assert (pair.first, pair.second, pair.generator) == ("x", "y", "x | y")
    assert dataset.outputs["q1/x | y/swapped"].of == "q1/x | y"
    assert dataset.criteria["preference"].scale.describe() == "0 first, 1 second, 2 tie"
    scores = dataset.ratings.set_index(["output", "rater"])["score"]
    assert (
        scores[("q1/x | y", "A1")]
        == scores[("q1/x | y", "A3")]
        == scores[("q1/x | y/swapped", "gpt-4")]
        == 0
    )
    assert scores[("q1/x | y/swapped", "A2")] == 1
    assert scores[("q2/x | y", "A1")] == 2
    with pytest.raises(MetalError, match=r"winner '0' .*`levels='NUMBER=first"):
        metal.read(ARENA.assign(winner="0"))
    # no judge of single outputs is asked of it
    assert not any(output.chosen for output in dataset.outputs.values())
    read = metal.read(ARENA.assign(winner="0"), levels="preference=0=model b,1=model a,2=tie")
    # the second: y where it is named second, else x
    assert set(read.ratings["score"]) == {0.0, 1.0}


def test_both_orders_are_one_item(tmp_path: Path) -> None:
    metal.read(ARENA).save(tmp_path / "pairs")
    dataset = one_item_per_pair(load_dataset(tmp_path / "pairs"))
    assert set(dataset.outputs) == {"q1/x | y", "q2/x | y", "q3/x | y"}
    of_judge = dataset.ratings[dataset.ratings["rater"] == "gpt-4"].set_index("output")["score"]
    # differs: a tie; one missing: the other
    assert of_judge.to_dict() == {"q1/x | y": 0, "q2/x | y": 2, "q3/x | y": 1}
    untied = metal.read(ARENA)
    criterion = untied.criteria["preference"]
    scale = Scale("nominal", criterion.scale.levels[:2])
    facts = untied.ratings[untied.ratings["score"] != 2]
    parts = untied.sources.values(), untied.outputs.values(), untied.raters.values(), facts
    answers = one_item_per_pair(
        assemble(untied.card, [replace(criterion, scale=scale)], *parts)
    ).ratings
    assert answers.loc[answers["score"].isna(), ["output", "reason"]].to_numpy().tolist() == [
        ["q2/x | y", CONTRADICTS]
    ]


def test_consistency_and_liking_for_the_first_place_by_hand() -> None:
    """40 pairs in both orders: 30 with one answer, 10 for whatever is shown first. The first place:
    30 + 20 of 80.
    """
    rows = []
    for pair in range(40):
        for order in ("AB", "BA"):
            liked = pair < 10
            winner = ("A" if order == "AB" else "B") if liked else "AB"[pair % 2]
            rows.append((f"p{pair}", order, "gpt-4", winner))
            rows.append((f"p{pair}", order, "fair", "AB"[pair % 2]))
        rows += [(f"p{pair}", "AB", person, "AB"[pair % 2]) for person in ("A1", "A2", "A3")]
    frame = pd.DataFrame(rows, columns=["item", "order", "rater", "winner"]).assign(language="hi")
    audit = metal.audit(metal.read(frame, kinds={"fair": "llm"}), resamples=200)
    table = audit.tables["pairs"].set_index("judge")
    assert table.loc["gpt-4", ["items", "both_orders"]].tolist() == [40, 40]
    assert table.loc["gpt-4", "swap_consistency"] == 0.75
    assert table.loc["gpt-4", "first_place"] == 50 / 80
    assert table.loc["gpt-4", "first_place_log_odds"] == pytest.approx(math.log(5 / 3))
    assert table.loc["gpt-4", "first_place_low"] > 0.5
    assert table.loc[
        "fair", ["swap_consistency", "first_place", "first_place_log_odds"]
    ].tolist() == [1, 0.5, 0]
    assert "shown in one order" in table.loc["A1", "undefined"]
    verdicts = audit.verdicts.set_index("judge")["verdict"]
    assert verdicts["fair"] == "like a person"
    assert verdicts["gpt-4"] != "like a person"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("response_a", "response_b"),
        ("answer_1", "answer_2"),
        ("output_a", "output_b"),
        ("chosen", "rejected"),
    ],
)
def test_two_texts_and_no_ids(first: str, second: str) -> None:
    """Three people on two pairs of texts, of which the second is the first the other way round for
    A3.
    """
    rows = [
        ("Name a color", "red", "a dog", "1", "A1"),
        ("Name a color", "red", "a dog", "1", "A2"),
        ("Name a color", "a dog", "red", "2", "A3"),
        ("Name a fruit", "fig", "plum", "tie", "A1"),
    ]
    frame = pd.DataFrame(rows, columns=["prompt", first, second, "winner", "annotator"])
    if first == "chosen":
        frame.loc[2, [first, second]] = ["red", "a dog"]
        frame = frame.drop(columns="winner").drop(index=3)
    dataset = metal.read(frame)
    pairs = {output.of or output.output for output in dataset.outputs.values()}
    sources = {source.text for source in dataset.sources.values()}
    by_pair = one_item_per_pair(dataset).ratings
    color = by_pair[by_pair["source"] == dataset.ratings["source"].iloc[0]]["score"]
    assert color.nunique() == 1
    assert color.iloc[0] in (0, 1)
    assert {rater.kind for rater in dataset.raters.values()} == {"human"}
    assert tells(dataset.report, "pairs:", "told apart", "texts")
    if first == "chosen":
        assert len(dataset.outputs) == 1  # the order in which they were shown is not known
        assert set(metal.read(frame.drop(columns="annotator").drop_duplicates()).raters) == {
            "people"
        }
    else:
        assert (len(pairs), len(dataset.outputs), sources) == (
            2,
            3,
            {"Name a color", "Name a fruit"},
        )
        text = next(iter(dataset.outputs.values())).text
        assert text in ("first:\nred\n\nsecond:\na dog", "first:\na dog\n\nsecond:\nred",
                        "first:\nfig\n\nsecond:\nplum", "first:\nplum\n\nsecond:\nfig")  # fmt: skip


@pytest.mark.reference
def test_llmbar_by_its_path_alone(reference: Path) -> None:
    dataset = metal.read(reference / "llmbar-pairwise" / "items.csv")
    assert (len(dataset.ratings), len(dataset.sources), set(dataset.raters)) == (
        419,
        418,
        {"people"},
    )
    assert set(dataset.ratings["score"]) == {0, 1}


@pytest.mark.reference
def test_llmbar(reference: Path) -> None:
    """Consistency as counted by pandas alone: GPT-4 without rules answers 382 of 419 pairs alike in
    both orders.
    """
    folder = reference / "llmbar-pairwise"
    verdicts = pd.read_csv(folder / "verdicts.csv.gz").query("prompt == 'Vanilla_NoRules'")
    gold = (
        pd.read_csv(folder / "items.csv")
        .assign(judge="people", order="AB")
        .rename(columns={"label": "winner"})
    )
    frame = pd.concat([verdicts, gold])
    frame["item"] = frame["subset"] + "/" + frame["index"].astype(str)
    frame = frame[["item", "judge", "order", "winner"]].assign(language="en")
    audit = metal.audit(metal.read(frame, kinds={"people": "human", "*": "llm"}), resamples=200)
    row = audit.tables["pairs"].set_index("judge").loc["GPT-4"]
    assert row["swap_consistency"] == 382 / 419
    by_judge = audit.verdicts.set_index("judge")["verdict"]
    assert by_judge["GPT-4"] == "informative"
    assert by_judge["Falcon"] == "uninformative"


@pytest.mark.slow
@pytest.mark.reference
def test_battles_of_pariksha(reference: Path) -> None:
    dataset = metal.read(reference / "pariksha", "pariksha-pairs")
    assert len(dataset.ratings) == 50_064
    audit = metal.audit(dataset, resamples=200)
    agreement = audit.judges.set_index("language")["percent_agreement"].round(3).to_dict()
    assert agreement == {"bn": 0.702, "hi": 0.774, "kn": 0.711, "ml": 0.675, "ta": 0.616}
    people = audit.tables["people"].set_index("language")["percent_agreement"].round(3).to_dict()
    assert people == {
        "bn": 0.776,
        "hi": 0.695,
        "kn": 0.649,
        "ml": 0.687,
        "ta": 0.612,
    }  # hi: .693 if battles weigh alike
    assert audit.verdicts.set_index("language").loc["kn", "verdict"] == "like a person"


def test_people_alone_on_pairs_told_apart_by_their_texts(tmp_path: Path) -> None:
    """Each text is compared once, so that nothing is known of its strength: said, not an error."""
    frame = pd.DataFrame(
        [(f"q{n}", f"good {n}", f"bad {n}", str(1 + n % 2)) for n in range(4)],
        columns=["prompt", "output_1", "output_2", "label"],
    )
    audit = metal.audit(metal.read(frame, language="en"), resamples=100)
    audit.save(tmp_path / "run")
    assert audit.tables["strengths"][["rank", "rank_low", "rank_high"]].isna().all(axis=None)
    assert (tmp_path / "run" / "report.html").is_file()


def test_people_alone_who_compared_systems_in_pairs(tmp_path: Path) -> None:
    systems = [("m1", "m2"), ("m2", "m3"), ("m1", "m3")]
    rows = [
        {"id": f"q{number}", "model_a": first, "model_b": second, "language": "en"}
        | {"annotator": person, "winner": "tie" if number % 5 == 0 else "model_a"}
        for number, (first, second) in enumerate(systems * 20)
        for person in ("A1", "A2")
    ]
    table = pd.DataFrame(rows)
    audit = metal.audit(table, resamples=100)
    titles = [table.title for table in brief(audit)]
    assert titles == ["How far people agree: Fleiss' kappa", "Who wins the pairs"]
    ranks = audit.tables["strengths"].set_index("generator")["rank"].to_dict()
    assert ranks == {"m1": 1, "m2": 2, "m3": 3}
    assert audit.rankable.generators == 0  # nobody gave a score
    with pytest.raises(UsageError) as refused:
        metal.leaderboard(table)
    assert tells(str(refused.value), "in pairs", "`metal.audit(...)`")


@pytest.mark.reference
def test_ids_in_several_columns(reference: Path) -> None:
    """LLMBar's verdicts by the path alone: 419 pairs, 6 judges with 5 prompts each, in both orders;
    the published accuracy of GPT-4 without rules.
    """
    path = reference / "llmbar-pairwise" / "verdicts.csv.gz"
    dataset = metal.read(path)
    assert (len(dataset.ratings), len(dataset.raters), len(dataset.outputs)) == (25_068, 30, 838)
    assert "rater from 'judge+prompt'" in dataset.report[0]
    assert "output from 'subset+index'" in dataset.report[0]
    assert (
        dataset.digest
        == metal.read(path, columns={"output": "subset+index", "rater": "judge+prompt"}).digest
    )
    items = pd.read_csv(path.with_name("items.csv"))
    gold = {f"{each.subset}/{each.index}": each.label - 1 for each in items.itertuples(index=False)}
    ratings = dataset.ratings.query("rater == 'GPT-4/Vanilla_NoRules'").astype({"output": str})
    pairs = ratings["output"].str.removesuffix("/swapped")
    right = (
        (ratings["score"] == pairs.map(gold)).groupby(pairs.str.partition("/")[0]).mean().round(3)
    )
    assert right.to_dict() == {
        "Natural": 0.935,
        "Neighbor": 0.642,
        "GPTInst": 0.766,
        "GPTOut": 0.766,
        "Manual": 0.75,
    }
    table = pd.read_csv(path)
    swapped = table.query(
        "subset == 'Manual' and index == 3 and judge == 'GPT-4' and prompt == 'CoT' and order =="
        " 'BA'"
    )
    ratings = dataset.ratings.query("output == 'Manual/3/swapped' and rater == 'GPT-4/CoT'")
    assert ratings["score"].tolist() == (swapped["winner"] - 1).tolist()


def test_ids_in_several_columns_are_not_made_up() -> None:
    """What one row each has is joined; a prompt beside generators, people, or twins that stay twins
    is not.
    """
    rows = [(n // 2, "gpt-4", "ab"[n % 2], n % 3) for n in range(8)]
    judge = pd.DataFrame(rows, columns=["index", "judge", "prompt", "score"])
    assert set(metal.read(judge).raters) == {"gpt-4/a", "gpt-4/b"}
    assert set(metal.read(judge.assign(index=range(8))).raters) == {"gpt-4"}
    for twins, remedy in (
        (judge.assign(judge="Ann"), "'prompt' tells them apart"),
        (judge.assign(prompt="a"), r"joined by \+"),
        (judge.assign(system="s"), "'prompt' tells them apart"),
    ):
        with pytest.raises(MetalError, match=f"a second time.*{remedy}"):
            metal.read(twins)
