"""Preferences of AlpacaEval and Chatbot Arena, and records of Argilla."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command
from metal.data.dataset import Dataset
from metal.data.formats.harnesses.alpaca_eval import preference
from tests.formats.harness_files import kinds, written
from tests.saying import tells

FIRST, SECOND, TIE = 0, 1, 2  # of a pair in the order of names


def by_source(data: Dataset, column: str = "score") -> dict[str, Any]:
    """Text of the source -> what is in the column"""
    rows = data.ratings[["source", column]].itertuples(index=False)
    return {data.sources[source].text or source: value for source, value in rows}


# ---------------------------------------------------------------- AlpacaEval


def annotation(asked: str, value: Any, **more: Any) -> dict[str, Any]:
    own = {"instruction": asked, "output_1": f"one {asked}", "generator_1": "base"}
    own |= {"output_2": f"two {asked}", "generator_2": "new", "annotator": "weighted_gpt4"}
    return own | {"preference": value, "dataset": "helpful_base", "price_per_example": 0.01} | more


def test_soft_preferences_draws_and_missing_ones(tmp_path: Path) -> None:
    values = {"a": 1, "b": 2.0, "c": 1.25, "d": 1.875, "e": 1.5, "f": 0, "g": math.nan, "h": -1}
    rows = [annotation(asked, value) for asked, value in values.items()]
    rows.append(annotation("same", math.nan, output_1="x", output_2="x"))
    data = metal.read(written(tmp_path, "annotations.json", rows), language="en")
    assert kinds(data) == {"weighted_gpt4": "llm"}
    answers = by_source(data)
    assert {asked: answers[asked] for asked in "abcdef"} == {
        "a": FIRST,
        "b": SECOND,
        "c": FIRST,
        "d": SECOND,
        "e": TIE,
        "f": TIE,
    }
    assert answers["same"] == TIE
    assert math.isnan(answers["g"])
    assert math.isnan(answers["h"])
    assert by_source(data, "reason")["g"] == "no preference"
    confidence = by_source(data, "confidence")
    assert (confidence["c"], confidence["d"]) == (0.75, 0.875)
    assert math.isnan(confidence["a"])
    assert {output.generator for output in data.outputs.values()} == {"base | new"}
    assert tells(data.report, "not say which output", "shown first")


def test_win_rates_are_alpaca_evals(tmp_path: Path) -> None:
    """Its own: the mean of preference - 1 over what is a preference; draws are half a win."""
    # new: 0.25, 1, 0.5, 0.5 -> 56.25%; standard deviation 0.3146, over the root of 4: 15.73
    # other: 0, 0.5 -> 25%; standard deviation 0.3536, over the root of 2: 25
    values = {"a": 1.25, "b": 2, "c": 1.5, "d": 0, "e": math.nan, "f": -1, "g": 3}
    rows = [annotation(asked, value) for asked, value in values.items()]
    rows.append(annotation("same", math.nan, output_1="x", output_2="x"))
    rows += [annotation("a", 1, generator_2="other"), annotation("b", 1.5, generator_2="other")]
    path = written(tmp_path, "annotations.json", rows)
    report = metal.read(path, language="en").report
    assert tells(
        report,
        "win rates",
        "not length-controlled",
        "new 56.25%",
        "against base",
        "standard error 15.73, 4",
        "other 25.00%",
        "against base",
        "standard error 25.00, 2",
        "annotations",
    )
    result = CliRunner().invoke(command, ["audit", str(path)])
    assert tells(result.stderr, "new 56.25%")
    assert tells(str(result.exception), "no human raters")  # to compare the judge with


def test_win_rates_name_annotators_where_there_are_several() -> None:
    rows = [annotation("a", 2), annotation("a", 1, annotator="gpt4")]
    rows += [annotation("a", 1.5, annotator="human", annotator_index=n) for n in range(2)]
    report = metal.read(pd.DataFrame(rows), language="en").report
    assert tells(report, "new 100.00% against base by weighted_gpt4 (1 annotation)")
    assert tells(report, "new 50.00% against base by people (standard error 0.00, 2 annotations)")
    assert tells(report, "new 0.00% against base by gpt4 (1 annotation)")


def test_the_order_of_names_is_no_order_of_showing(tmp_path: Path) -> None:
    rows = [annotation("a", 1, generator_1="z"), annotation("b", 1.25, generator_2="z")]
    data = metal.read(pd.DataFrame(rows), language="en")
    assert by_source(data) == {"a": SECOND, "b": FIRST}
    assert {output.condition for output in data.outputs.values()} == {""}


def test_people_of_alpaca_farm(tmp_path: Path) -> None:
    rows = []
    for person in range(4):
        for asked in "ab":
            row = annotation(asked, 1 + person % 2, annotator_index=person)
            rows.append({key: row[key] for key in row if not key.startswith(("gen", "annotator_"))})
            rows[-1].pop("annotator")
            rows[-1]["annotator_index"] = person
    path = tmp_path / "cross.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    data = metal.read(path, language="en")
    assert kinds(data) == {f"annotator_{person}": "human" for person in range(4)}
    assert len(data.ratings) == 8


def test_a_numbered_model_of_alpaca_farm_is_no_person() -> None:
    rows = [annotation("a", 1, annotator="human", annotator_index=n) for n in range(2)]
    rows += [annotation("a", 2, annotator="gpt4", annotator_index=n) for n in range(2)]
    data = metal.read(pd.DataFrame(rows), language="en")
    assert kinds(data)["gpt4"] == "llm"
    assert {name for name, kind in kinds(data).items() if kind == "human"} == {
        "annotator_0",
        "annotator_1",
    }


@pytest.mark.parametrize("odd", [3, "x", None, [1], True and 2.5, 10**400])
def test_what_is_no_preference_is_missing(odd: Any) -> None:
    assert preference(odd, same=False) == (None, None)


# ---------------------------------------------------------------- Chatbot Arena


def vote(number: int, winner: str) -> dict[str, Any]:
    own: dict[str, Any] = {"id": number, "model_a": "old", "model_b": "new"}
    own |= {"prompt": json.dumps([f"Q{number}", "and then?"])}
    own |= {"response_a": json.dumps(["a", None]), "response_b": json.dumps(["b", "c"])}
    return own | {f"winner_{name}": int(name == winner) for name in ("model_a", "model_b", "tie")}


def test_votes_in_three_columns(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    winners = ["model_a", "model_b", "tie", "nobody"]
    pd.DataFrame([vote(n, winner) for n, winner in enumerate(winners)]).to_csv(path, index=False)
    data = metal.read(path, language="en")
    assert kinds(data) == {"voter": "human"}
    # the pair is in the order of names, and `new` was shown second
    assert data.ratings["score"].tolist()[:3] == [SECOND, FIRST, TIE]
    assert data.ratings["reason"].tolist() == ["", "", "", "no winner"]
    assert data.sources["0"].text == "Q0\n\nand then?"
    pair = next(iter(data.outputs.values()))
    assert set(pair.texts or (pair.text,)) & {"a", "b\n\nc"} or "b\n\nc" in pair.text


def shares(number: int, *votes: Any) -> dict[str, Any]:
    """A battle in which each of first, second and tie has a number."""
    names = ("winner_model_a", "winner_model_b", "winner_tie")
    return vote(number, "") | dict(zip(names, votes, strict=True))


def test_probabilities_in_three_columns_are_a_judges(tmp_path: Path) -> None:
    numbers = [(0.7, 0.2, 0.1), (0.1, 0.2, 0.7), (0.1, 0.899, 0), (0.4, 0.4, 0.2), (1, 0, 0)]
    numbers += [(0.7, 0.7, 0.7), (math.nan, 1, 0), (-0.5, 1, 0.5)]
    rows = [shares(number, *votes) for number, votes in enumerate(numbers)]
    data = metal.read(written(tmp_path, "soft.json", rows), language="en")
    assert kinds(data) == {"evaluator": "llm"}
    by_id = data.ratings.set_index("source")
    answers = {int(name): score for name, score in by_id["score"].items()}
    # the pair is in the order of names: `new` is its first
    assert [answers[number] for number in range(5)] == [SECOND, TIE, FIRST, TIE, SECOND]
    assert all(math.isnan(answers[number]) for number in (5, 6, 7))
    assert by_id.loc[["0", "1"], "confidence"].tolist() == [0.7, 0.7]
    assert tells(data.report, "probabilities", "a judge", "likeliest")


def test_votes_of_nobody_are_missing_not_won_by_the_first(tmp_path: Path) -> None:
    rows = [shares(number, 0, 0, 0) for number in range(3)]
    data = metal.read(written(tmp_path, "none.json", rows), language="en")
    assert data.ratings["score"].isna().all()
    assert set(data.ratings["reason"]) == {"no winner"}


def test_votes_of_sessions_have_a_language(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    rows = [
        {
            "id": f"v{n}",
            "model_a": "a",
            "model_b": "b",
            "winner": winner,
            "language": "pl",
            "evaluation_session_id": f"s{n // 2}",
            "conversation_a": turns,
            "conversation_b": [*turns[:1], {"role": "assistant", "content": f"B{n}"}],
        }
        for n, winner in enumerate(["model_a", "both_bad", "tie", "model_b"])
    ]
    data = metal.read(written(tmp_path, "arena.json", rows))
    assert kinds(data) == {"s0": "human", "s1": "human"}
    assert data.ratings["score"].tolist() == [FIRST, TIE, TIE, SECOND]
    assert data.languages == ("pl",)


def test_battles_with_a_judge_are_a_table_of_pairs(tmp_path: Path) -> None:
    rows = [
        {
            "question_id": f"q{n}",
            "model_a": "a",
            "model_b": "b",
            "winner": winner,
            "judge": f"arena_user_{n % 2}",
            "language": "German",
            "turn": 1,
            "tstamp": 1.5,
        }
        for n, winner in enumerate(["model_a", "tie (bothbad)", "model_b", "tie"])
    ]
    data = metal.read(written(tmp_path, "battles.json", rows))
    assert kinds(data) == {"arena_user_0": "human", "arena_user_1": "human"}
    assert data.ratings["score"].tolist() == [FIRST, TIE, SECOND, TIE]
    assert data.languages == ("de",)


def test_fastchats_judgments_in_both_orders(tmp_path: Path) -> None:
    games = [("model_1", "model_1"), ("model_2", "model_1"), ("tie", "error")]
    rows = [
        {
            "question_id": 81 + n,
            "model_1": "alpaca",
            "model_2": "vicuna",
            "turn": 1 + n // 2,
            "g1_winner": first,
            "g2_winner": second,
            "judge": ["gpt-4", "pair-v2"],
            "g1_judgment": "J1",
            "g2_judgment": "J2",
            "tstamp": 1.0,
        }
        for n, (first, second) in enumerate(games)
    ]
    data = metal.read(written(tmp_path, "gpt-4_pair.jsonl", rows), language="en")
    assert kinds(data) == {"gpt-4/pair-v2": "llm"}
    conditions = [data.outputs[name].condition for name in data.ratings["output"]]
    assert conditions == ["", "swapped"] * 3
    assert data.ratings["score"].tolist()[:5] == [FIRST, FIRST, SECOND, FIRST, TIE]
    assert data.ratings["reason"].tolist()[-1] == "error"
    assert "83/turn 2" in data.sources


# ---------------------------------------------------------------- Argilla

ANA, BEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def record(name: str, tone: Any = "kind", **more: Any) -> dict[str, Any]:
    ana = {"value": tone, "user_id": ANA, "status": "submitted"}
    own: dict[str, Any] = {"id": name, "fields": {"prompt": "P", "response": "R"}}
    own |= {"metadata": {"language": "sw", "model": "llama"}, "responses": {"tone": [ana]}}
    suggestion = {"value": "rude", "score": 0.75, "agent": "gpt", "type": None}
    return own | {"suggestions": {"tone": suggestion}, "status": "completed"} | more


def test_responses_are_people_and_suggestions_models(tmp_path: Path) -> None:
    ben = [
        {"value": "rude", "user_id": BEN, "status": "discarded"},
        {"value": "kind", "user_id": ANA, "status": "draft"},
    ]
    human = {"value": "kind", "agent": "cara", "type": "human"}
    free = [{"value": ["a", "b"], "user_id": ANA}, {"value": "x" * 300, "user_id": BEN}]
    records = [
        record("r1"),
        record("r2", "rude", suggestions={"tone": human}),
        record("r3", responses={"tone": ben, "why": free}),
        {"id": "r4", "fields": {"response": "R"}, "responses": {}, "suggestions": {}},
    ]
    data = metal.read(written(tmp_path, "records.json", records), levels="rude<kind")
    assert kinds(data) == {ANA: "human", BEN: "human", "cara": "human", "gpt": "llm"}
    assert data.languages == ("sw",)
    by_rater = data.ratings.set_index(["output", "rater"])
    assert by_rater.loc[("r1", ANA), "score"] == 1
    assert by_rater.loc[("r1", "gpt"), "score"] == 0
    assert by_rater.loc[("r1", "gpt"), "confidence"] == 0.75
    assert by_rater.loc[("r3", BEN), "reason"] == "discarded"
    output = data.outputs["r1"]
    assert (output.text, output.generator, data.sources[output.source].text) == ("R", "llama", "P")
    assert tells(data.report, "1 drafts")
    assert tells(data.report, "2 answers", "texts, spans, rankings", "several labels")
    assert tells(data.report, "1 records", "without an answer")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_tables_of_argilla_of_both_versions(tmp_path: Path, ending: str) -> None:
    new: dict[str, Any] = {
        "id": "r1",
        "prompt": "P",
        "response": "R",
        "language": "sw",
        "status": "completed",
    }
    new |= {"tone.responses": [1, 2], "tone.responses.users": [ANA, BEN]}
    new |= {"tone.responses.status": ["submitted"] * 2, "tone.suggestion": 2}
    new |= {"tone.suggestion.agent": "gpt", "tone.suggestion.score": 0.5}
    told = {"agent": "gpt", "score": 0.5, "type": "model"}
    old: dict[str, Any] = {
        "external_id": "r1",
        "prompt": "P",
        "response": "R",
        "tone-suggestion": 2,
    }
    old |= {"tone": [{"user_id": ANA, "value": 1}, {"user_id": BEN, "value": 2}]}
    old |= {"tone-suggestion-metadata": told, "metadata": json.dumps({"language": "sw"})}
    for version in (new, old):
        frame = pd.DataFrame([version, {**version, "id": "r2", "external_id": "r2"}])
        path = tmp_path / f"records.{ending}"
        if ending == "parquet":
            frame.to_parquet(path)
        else:
            frame.map(as_json).to_csv(path, index=False)
        data = metal.read(path)
        assert kinds(data) == {ANA: "human", BEN: "human", "gpt": "llm"}
        assert data.languages == ("sw",)
        assert data.ratings.set_index(["output", "rater"])["score"].loc["r1"].to_dict() == {
            ANA: 1,
            BEN: 2,
            "gpt": 2,
        }
        output = data.outputs["r1"]
        assert (output.text, data.sources[output.source].text) == ("R", "P")


def as_json(cell: Any) -> Any:
    return json.dumps(cell) if isinstance(cell, list | dict) else cell
