"""What `metal export` writes, `metal.read` reads back: every rating with its rater, and every
criterion with its scale, its labels and its direction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

import metal
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.data.tables.files import is_table
from metal.errors import DataError, MetalError
from tests.saying import tells

ODD = 'He said "=1+1"\n</script>\u2028; -x'
CRITERIA = (
    Criterion(
        "helpful",
        Scale("ordinal", (Level(0, "No"), Level(1, "Partly"), Level(2, "Yes"), Level(3, "So, so"))),
        question="Is it?",
    ),
    Criterion("slips", Scale("interval"), "lower", label="Slips", question="How many?"),
    Criterion("topic", Scale("nominal", (Level(5, "law"), Level(2, "sports"), Level(7, "art")))),
    Criterion("grade", Scale("interval", low=1, high=6), "lower", "G", of_source=False),
)
RATERS = (
    Rater("ana@example.org", "human", "crowd"),
    Rater("7f1d5b0a-31f5-4e0e-9d57-1f2f5c5f3c11", "human"),
    Rater("12", "human"),
    Rater("Claude Dupont", "human"),
    Rater("gpt", "llm", "big"),
    Rater("length", "metric"),
)
TABLES = {"csv": ".csv", "parquet": ".parquet", "jsonl": ".jsonl"}
ENDINGS = TABLES | dict.fromkeys(("promptfoo", "label-studio", "deepeval", "argilla"), ".json")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Scales of every sort: a level that nobody gave, levels without an order, numbers without
    ends that look like levels, and a score that a judge refused.
    """
    ratings = []
    for output in ("o1", "o2", "07"):
        for place, rater in enumerate(RATERS):
            refused = rater.kind == "llm" and output == "o2"
            ratings += [
                Rating(output, "helpful", rater.rater, (place + len(output)) % 3, "", ODD),
                Rating(output, "slips", rater.rater, place % 3),
                Rating(output, "topic", rater.rater, (5, 2)[place % 2]),
            ]
            grade = None if refused else 1 + 0.1 * place * 3
            ratings.append(Rating(output, "grade", rater.rater, grade, "refused" * refused))
    outputs = (
        Output("o1", "s1", "new", "hi", ODD),
        Output("o2", "s1", "old", "hi", "Old."),
        Output("07", "2", "new", "en", "x"),
    )
    sources = (Source("s1", "hi", "क्या?"), Source("2", "en"))
    return assemble(Card("answers"), CRITERIA, sources, outputs, RATERS, facts_from(ratings))


def exported(dataset: Any, to: str, folder: Path, **options: Any) -> Path:
    path = folder / f"out{ENDINGS[to]}"
    metal.export(dataset, to=to, out=path, **options)
    return path


def rows(dataset: Dataset) -> pd.DataFrame:
    """The ratings in an order of their own, names as texts."""
    table = dataset.ratings.astype({name: "str" for name in dataset.ratings if name != "score"})
    return table.sort_values(["output", "criterion", "rater"]).reset_index(drop=True)


@pytest.mark.parametrize("to", ENDINGS)
def test_an_export_is_read_back_with_its_values(dataset: Dataset, to: str, tmp_path: Path) -> None:
    texts = {"texts": True} if to in TABLES else {}
    again = metal.read(exported(dataset, to, tmp_path, **texts))
    assert again.criteria == dataset.criteria
    assert again.raters == dataset.raters
    assert again.outputs == dataset.outputs
    assert again.sources == dataset.sources
    pd.testing.assert_frame_equal(rows(again)[rows(dataset).columns], rows(dataset))


@pytest.mark.parametrize("name", ["out", "out.dat"])
@pytest.mark.parametrize("to", ENDINGS)
def test_an_export_is_recognized_whatever_its_name(
    dataset: Dataset, to: str, name: str, tmp_path: Path
) -> None:
    metal.export(dataset, to=to, out=tmp_path / name)
    again = metal.read(tmp_path / name)
    assert again.criteria == dataset.criteria
    pd.testing.assert_frame_equal(rows(again)[rows(dataset).columns], rows(dataset))


@pytest.mark.parametrize("content", ["[[tasks]]\nname = 1\n", "a,b\n1,2\n", '{"cells": []}\n'])
def test_other_files_whose_names_say_nothing_are_no_tables(content: str, tmp_path: Path) -> None:
    path = tmp_path / "out.dat"
    path.write_text(content)
    assert not is_table(path)
    with pytest.raises(MetalError, match=r"neither.*dataset folder.*table"):
        metal.read(path)


@pytest.mark.parametrize("to", ENDINGS)
def test_the_demo_is_read_back(to: str, tmp_path: Path) -> None:
    demo = metal.read("datasets/demo")
    again = metal.read(exported(demo, to, tmp_path))
    assert again.criteria == demo.criteria
    pd.testing.assert_frame_equal(rows(again)[rows(demo).columns], rows(demo))


def test_labels_are_read_where_the_records_are_gone(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    table = metal.export(dataset, to="csv", out=path).drop(columns="criterion_record")
    table.to_csv(path, index=False)
    again = metal.read(path)
    shown = [level.shown for level in again.criteria["helpful"].scale.levels]
    assert shown == ["0 No", "1 Partly", "2 Yes"]
    assert tells(again.report, "labels", "'label'", "helpful, topic")


def test_levels_of_the_user_come_before_labels(dataset: Dataset, tmp_path: Path) -> None:
    path = exported(dataset, "csv", tmp_path)
    again = metal.read(path, levels={"helpful": "0=a,1=b,2=c"})
    assert [level.label for level in again.criteria["helpful"].scale.levels] == ["a", "b", "c"]
    assert again.criteria["topic"] == dataset.criteria["topic"]


def table_with(labels: list[str], scores: list[float]) -> pd.DataFrame:
    cells = {"output": ["a", "b", "c", "d"], "rater": "ana", "criterion": "tone", "language": "en"}
    return pd.DataFrame({**cells, "score": scores, "label": labels})


def test_labels_that_are_no_names_of_scores_are_not_read() -> None:
    gold = metal.read(table_with(["good", "bad", "good", "bad"], [1, 0, 0, 1]))
    assert [level.label for level in gold.criteria["tone"].scale.levels] == ["0", "1"]
    assert tells(gold.report, "columns not read", "label")
    named = metal.read(table_with(["good", "bad", "good", "bad"], [1, 0, 1, 0]))
    assert [level.label for level in named.criteria["tone"].scale.levels] == ["bad", "good"]


@pytest.mark.parametrize("record", ["{", "[]", '{"levels": 3}', '{"measure": "x"}', '{"a": 1}'])
def test_a_record_that_is_no_criterion_is_refused(record: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = table_with(["", "", "", ""], [1, 0, 0, 1])
    frame.assign(criterion_record=[record, "", "", ""]).to_csv(path, index=False)
    with pytest.raises(MetalError) as refused:
        metal.read(path)
    assert tells(str(refused.value), "t.csv", "tone")


def test_two_records_of_a_criterion_are_refused(tmp_path: Path) -> None:
    frame = table_with(["", "", "", ""], [1, 0, 0, 1])
    records = ['{"question": "A?"}', "", '{"question": "B?"}', ""]
    with pytest.raises(DataError, match=r"two different records.*criterion tone"):
        metal.read(frame.assign(criterion_record=records))


def test_promptfoos_export_stays_itself_when_promptfoo_saved_it(
    dataset: Dataset, tmp_path: Path
) -> None:
    content = json.loads(exported(dataset, "promptfoo", tmp_path).read_text())
    del content["exported_by"]
    person = {"pass": False, "score": 0, "assertion": {"type": "human"}, "comment": "no"}
    content["results"]["results"][0]["gradingResult"]["componentResults"].append(person)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(content))
    again = metal.read(path)
    assert {name: again.criteria[name] for name in dataset.criteria} == dataset.criteria
    assert again.raters["human"].kind == "human"
    lines = tmp_path / "saved.jsonl"  # the results alone, without the suite
    lines.write_text("\n".join(map(json.dumps, content["results"]["results"])))
    labels = [level.label for level in metal.read(lines).criteria["topic"].scale.levels]
    assert labels == ["sports", "law"]


def test_score_edits_are_named_as_what_they_are(dataset: Dataset, tmp_path: Path) -> None:
    metal.export(dataset, to="inspect", out=tmp_path / "edits.jsonl")
    with pytest.raises(DataError) as refused:
        metal.read(tmp_path / "edits.jsonl")
    assert tells(str(refused.value), "score edits", "inspect_ai", "edit_score", "the log")


def test_argillas_own_answers_come_before_what_was_exported(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = exported(dataset, "argilla", tmp_path)
    records = json.loads(path.read_text())
    (first,) = (record for record in records if record["id"] == "o1")
    changed, *_ = first["responses"]["helpful"]
    changed["value"] = "So, so"
    first["responses"]["helpful"].append({"value": "No", "user_id": str(UUID(int=7))})
    path.write_text(json.dumps(records))
    ratings = metal.read(path).ratings
    helpful = ratings[(ratings["output"] == "o1") & (ratings["criterion"] == "helpful")]
    own = helpful.set_index("rater")
    assert len(ratings) == len(dataset.ratings) + 1
    assert own.loc["ana@example.org", ["score", "group"]].tolist() == [3, "crowd"]
    assert own.loc[str(UUID(int=7)), ["score", "kind"]].tolist() == [0, "human"]


def test_argilla_keeps_apart_what_it_would_call_alike(tmp_path: Path) -> None:
    swapped = Scale("ordinal", (Level(1, "2"), Level(2, "1")))
    criteria = (Criterion("Tone", swapped), Criterion("tone", swapped))
    ratings = [Rating("o", "Tone", "gpt", 1), Rating("o", "tone", "gpt", 2)]
    ratings += [Rating("o", "tone", "GPT", None, "refused")]
    raters = (Rater("gpt", "llm"), Rater("GPT", "metric"))
    outputs, sources = (Output("o", "s", "new", "en"),), (Source("s", "en"),)
    facts = facts_from(ratings)
    alike = assemble(Card("alike"), criteria, sources, outputs, raters, facts)
    again = metal.read(exported(alike, "argilla", tmp_path))
    assert again.outputs == alike.outputs
    assert again.criteria == alike.criteria
    pd.testing.assert_frame_equal(rows(again)[rows(alike).columns], rows(alike))
