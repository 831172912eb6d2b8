"""Results of promptfoo, as its own package writes them, with people's thumbs, damaged and
hostile.
"""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from openpyxl import Workbook

import metal
from metal.errors import DataError, MetalError, UsageError
from tests.formats.harness_files import kinds, scores, written
from tests.saying import tells

GRADER = "file://grader.js/llm-rubric"
MANUAL = "Manual result (overrides all other grading results)"


def component(type: str, passed: bool, score: float | None = None, **more: Any) -> dict[str, Any]:
    assertion = {"type": type, "value": more.pop("value", "is polite")}
    if "metric" in more:
        assertion["metric"] = more.pop("metric")
    result = {"pass": passed, "score": int(passed) if score is None else score, **more}
    return result | {"assertion": assertion}


def output(number: int, *components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "testIdx": number,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-4o", "label": ""},
        "prompt": {"raw": f"Say {number}", "label": "Say {{n}}"},
        "vars": {"n": number, "language": ("en", "hi")[number % 2]},
        "response": {"output": f"text {number}"},
        "gradingResult": {"pass": True, "componentResults": list(components)},
        "testCase": {"metadata": {"topic": "law"}},
        **more,
    }


def results(*outputs: dict[str, Any]) -> dict[str, Any]:
    return {"evalId": "e", "results": {"version": 3, "results": list(outputs)}}


@pytest.mark.reference
@pytest.mark.parametrize("file", ["out.json", "out.jsonl"])
def test_results_of_promptfoo(reference: Path, file: str) -> None:
    data = metal.read(reference / "harness" / "promptfoo" / file)
    assert kinds(data) == {"contains": "metric", GRADER: "llm"}
    assert sorted(data.criteria) == ["contains", "polite"]
    assert scores(data, GRADER) == [1, 0, 1]
    assert scores(data, "contains") == [1, 1, 0]
    assert [each.language for each in data.outputs.values()] == ["en", "hi", "sw"]
    assert [each.text for each in data.outputs.values()][2] == "Answer in sw: three"


@pytest.mark.reference
def test_promptfoos_csv(reference: Path) -> None:
    data = metal.read(reference / "harness" / "promptfoo" / "out.csv")
    assert kinds(data) == {"promptfoo": "llm"}
    assert sorted(data.criteria) == ["polite"]
    assert scores(data, "promptfoo") == [1, 0, 1]
    assert [each.language for each in data.outputs.values()] == ["en", "hi", "sw"]
    assert tells(data.report, "not say which scores", "model gave")


@pytest.mark.parametrize("passed", [True, False])
def test_assertions_of_one_verdict_have_the_scale_of_two(passed: bool, tmp_path: Path) -> None:
    outputs = [output(number, component("contains", passed)) for number in range(3)]
    data = metal.read(written(tmp_path, "out.json", results(*outputs)))
    scale = data.criteria["contains"].scale
    assert [level.shown for level in scale.levels] == ["0 fail", "1 pass"]
    assert {*scores(data, "contains")} == {int(passed)}
    # a score of 1 that does not pass is no verdict
    outputs.append(output(3, component("contains", not passed, float(passed))))
    mixed = metal.read(written(tmp_path, "mixed.json", results(*outputs)))
    assert mixed.criteria["contains"].scale.levels == ()


def test_thumbs_are_compared_with_the_only_judge(tmp_path: Path) -> None:
    outputs = [
        output(0, component("llm-rubric", True, 0.8), component("human", True, comment="fine")),
        output(1, component("llm-rubric", False, 0.3), component("human", True)),
        output(2, component("llm-rubric", True, 0.9)),
    ]
    path = written(tmp_path, "out.json", results(*outputs))
    data = metal.read(path)
    assert kinds(data) == {"human": "human", "llm-rubric": "llm"}
    assert [*data.criteria] == ["is polite"]
    assert scores(data, "human") == [1, 1]
    assert scores(data, "llm-rubric") == [1, 0, 1]  # its verdicts, as people said yes or no
    assert "fine" in set(data.ratings["comment"])
    assert tells(data.report, "pass or fail", "the judge's answer")
    alone = metal.read(written(tmp_path, "out.jsonl", [outputs[2], outputs[0]]), only="llm")
    assert [*alone.raters] == ["llm-rubric"]


def test_thumbs_beside_several_judges_are_compared_with_the_suite(tmp_path: Path) -> None:
    two = [component("llm-rubric", True, metric="a"), component("g-eval", False, metric="b")]
    both = [two[0], component("g-eval", True, metric="b")]
    outputs = [
        output(0, *two, component("human", True)),
        output(1, *both, component("human", False)),
    ]
    data = metal.read(written(tmp_path, "out.json", results(*outputs)))
    overall = data.ratings[data.ratings["criterion"] == "overall"]
    assert overall.groupby("rater", observed=True)["score"].agg(list).to_dict() == {
        "human": [1, 0],
        "promptfoo": [0, 1],
    }
    assert kinds(data)["promptfoo"] == "llm"
    assert any("compared with promptfoo" in line for line in data.report)


def test_promptfoos_criteria_and_generators(tmp_path: Path) -> None:
    twice = [component("contains", True, value="a"), component("contains", False, value="b")]
    outputs = []
    for number in range(2):
        graded = component("custom", True, metadata={"renderedGradingPrompt": "..."})
        own = component("llm-rubric", True, value=f"is {number}")
        same = component("not-llm-rubric", True, value="x" * 200)
        outputs.append(output(number, *twice, graded, own, same))
    outputs[1]["prompt"] = {"raw": "Tell 1", "label": "Tell {{n}}"}
    data = metal.read(written(tmp_path, "out.json", results(*outputs)))
    wanted = ["contains", "contains 2", "custom", "llm-rubric", "not-llm-rubric"]
    assert sorted(data.criteria) == wanted
    assert {name for name, kind in kinds(data).items() if kind == "metric"} == {"contains"}
    generators = {each.generator for each in data.outputs.values()}
    assert generators == {"openai:gpt-4o/Say {{n}}", "openai:gpt-4o/Tell {{n}}"}
    long = [{**each, "prompt": {"label": each["prompt"]["label"] * 9}} for each in outputs]
    data = metal.read(written(tmp_path, "out.json", results(*long)))
    assert {each.generator.partition("/")[2] for each in data.outputs.values()} == {
        "prompt 1",
        "prompt 2",
    }


def test_repeated_tests_are_outputs_of_one_source(tmp_path: Path) -> None:
    outputs = [output(0, component("llm-rubric", True)) for _ in range(3)]
    for number, each in enumerate(outputs):
        each["testIdx"] = number
    data = metal.read(written(tmp_path, "out.json", results(*outputs)))
    assert (len(data.sources), len(data.outputs)) == (1, 3)


def test_what_promptfoo_could_not_assess_is_missing(tmp_path: Path) -> None:
    failed = output(1, failureReason=2, error="401 Unauthorized", gradingResult=None)
    outputs = [output(0, component("llm-rubric", True)), failed, output(3, gradingResult=None)]
    data = metal.read(written(tmp_path, "out.json", results(*outputs)))
    missing = data.ratings[data.ratings["score"].isna()]
    assert missing[["rater", "reason"]].values.tolist() == [
        ["llm-rubric", "error: 401 Unauthorized"]
    ]


def test_earlier_results_have_no_reason_of_failure_and_no_name(tmp_path: Path) -> None:
    failed = output(1, error="API error: 500", gradingResult=None)
    failed.pop("failureReason", None)
    outputs = [output(0, component("llm-rubric", True)), failed]
    content = {"config": {}, "results": {"version": 2, "results": outputs, "stats": {}}}
    data = metal.read(written(tmp_path, "out.json", content))
    missing = data.ratings[data.ratings["score"].isna()]
    assert missing["reason"].tolist() == ["error: API error: 500"]
    assert len(data.ratings) == 2


def test_results_that_metal_wrote_are_read_back(tmp_path: Path) -> None:
    dataset = metal.read("datasets/demo")
    metal.export(dataset, to="promptfoo", out=tmp_path / "out.json")
    back = metal.read(tmp_path / "out.json")
    columns = ["criterion", "rater", "kind", "score"]
    original = dataset.ratings[columns].astype({"kind": str}).sort_values(columns)
    read = back.ratings[columns].astype({"kind": str}).sort_values(columns)
    assert read.values.tolist() == original.values.tolist()
    assert {name: each.scale.levels for name, each in back.criteria.items()}["task_quality"] == (
        dataset.criteria["task_quality"].scale.levels
    )


def test_a_persons_score_on_a_criterion_is_compared_there(tmp_path: Path) -> None:
    graded = [component("llm-rubric", True, metric=name) for name in ("a", "b")]
    person = component("human", False, metric="b")
    data = metal.read(written(tmp_path, "out.json", results(output(0, *graded, person))))
    people = data.ratings[data.ratings["kind"] == "human"]
    assert people[["criterion", "score"]].values.tolist() == [["b", 0]]
    assert sorted(data.criteria) == ["a", "b"]


def table(path: Path, *rows: list[str], prompts: int = 1) -> Path:
    block = ["[openai:gpt-4o] Say", "Reasoning", "Status", "Score", "Named Scores", "Grader Reason"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["n", "language", *[*block, "Comment"] * prompts])
        writer.writerows(rows)
    return path


def test_promptfoos_csv_with_several_prompts_thumbs_and_errors(tmp_path: Path) -> None:
    good = ["yes", "", "PASS", "0.80", '{"tone": 0.8}', "ok", ""]
    thumb = ["no", "", "FAIL", "0.00", '{"tone": 0.9}', MANUAL, "rude"]
    error = ["", "", "ERROR", "", "", "", ""]
    path = tmp_path / "out.csv"
    rows = [["1", "hi", *good, *thumb], ["1", "hi", *good, *error], ["2", "hi", *thumb, *thumb]]
    data = metal.read(table(path, *rows, prompts=2))
    assert kinds(data) == {"human": "human", "promptfoo": "llm"}
    assert len(data.sources) == 2
    generators = {each.generator for each in data.outputs.values()}
    assert generators == {"openai:gpt-4o/prompt 1", "openai:gpt-4o/prompt 2"}
    assert scores(data, "human") == [0, 0, 0]
    assert sorted(data.ratings["comment"]) == ["", "", "", "", "ok", "ok", "rude", "rude", "rude"]
    reasons = data.ratings.loc[data.ratings["score"].isna(), "reason"].tolist()
    assert reasons == ["status ERROR"]


@pytest.mark.parametrize(
    ("ending", "told"),
    [("xlsx", "not readable as XLSX"), ("parquet", "JSON, CSV and XLSX only. Save the table")],
)
def test_other_tables_of_promptfoo_are_refused(ending: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / f"results.{ending}"
    path.write_bytes(b"PK\x03\x04\x9a")
    with pytest.raises(DataError) as caught:
        metal.read(path, "promptfoo")
    assert tells(str(caught.value), told)


def test_promptfoos_table_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    """XLSX was refused with the advice to read it as promptfoo's, which refused it, too; tabs were
    one column.
    """
    good = ["yes", "", "PASS", "0.80", '{"tone": 0.8}', "ok", ""]
    thumb = ["no\u2028never", "", "FAIL", "0.00", '{"tone": 0.9}', MANUAL, "rude"]
    rows = [["1", "hi", *good, *thumb], ["2", "sw", *thumb, *good]]
    data = metal.read(table(tmp_path / "out.csv", *rows, prompts=2))
    assert len(data.ratings) == 6
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    book = Workbook()
    for row in cells:
        book.active.append(row)
    book.save(tmp_path / "out.xlsx")
    for name, separator, encoding in (("a.tsv", "\t", "utf-8"), ("b.csv", ";", "utf-16")):
        with (tmp_path / name).open("w", newline="", encoding=encoding) as file:
            csv.writer(file, delimiter=separator).writerows(cells)
    for name in ("out.xlsx", "a.tsv", "b.csv"):
        assert metal.read(tmp_path / name).digest == data.digest


@pytest.mark.parametrize("cut", [8, 12, 20])
def test_a_row_of_promptfoos_csv_that_is_cut_off_is_no_result(cut: int, tmp_path: Path) -> None:
    """Its status was an answer on a criterion that no other row has."""
    good = ["yes", "", "PASS", "0.80", '{"tone": 0.8}', "ok", "said"]
    path = table(tmp_path / "out.csv", ["1", "hi", *good], ["2", "hi", *good])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DataError) as caught:
        metal.read(path)
    assert tells(str(caught.value), "row 3", "9 in the first row", "cut off there")


def test_a_reason_in_promptfoos_csv_stays_with_the_only_criterion(tmp_path: Path) -> None:
    single = ["yes", "", "FAIL", "0.80", '{"tone": 0.8}', "too rude", ""]
    double = ["yes", "", "FAIL", "0.80", '{"tone": 0.8, "length": 0.5}', "too long", ""]
    rows = [["1", "hi", *single], ["2", "hi", *double]]
    ratings = metal.read(table(tmp_path / "out.csv", *rows)).ratings
    assert sorted(ratings["comment"]) == ["", "", "too rude"]


def test_a_frame_of_promptfoos_csv_is_to_be_read_from_its_file(tmp_path: Path) -> None:
    good = ["yes", "", "PASS", "0.80", '{"tone": 0.8}', "ok", ""]
    frame = pd.read_csv(table(tmp_path / "out.csv", ["1", "hi", *good]))
    with pytest.raises(DataError, match='format="promptfoo"'):
        metal.read(frame)
    with pytest.raises(UsageError, match=r"reads files.*DataFrames"):
        metal.read(frame, "promptfoo")


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"gradingResult": {"componentResults": 3}},
        {"gradingResult": {"componentResults": [{"assertion": "x", "score": "y"}]}},
        {"gradingResult": {"componentResults": [component("human", True, float("nan"))]}},
        {"gradingResult": {"componentResults": [component("contains", True, 10**30)]}},
        {"vars": [1], "provider": 5, "prompt": "x", "testCase": [], "response": []},
        {"vars": {str(n): n for n in range(2000)}},
        {"testIdx": {"a": 1}},
    ],
)
def test_hostile_results_of_promptfoo(tmp_path: Path, result: Any) -> None:
    good = output(0, component("llm-rubric", True))
    bad = {**output(1, component("llm-rubric", True)), **result} if result else result
    with suppress(MetalError):
        data = metal.read(written(tmp_path, "out.json", results(good, bad)))
        assert len(data.ratings) >= 1


@pytest.mark.parametrize(
    "text",
    ["Status,Score,Grader Reason\n", "a,Status,Score,Grader Reason\nx\n\x00,b\n", '"Status'],
)
def test_hostile_tables_of_promptfoo(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MetalError):
        metal.read(path, "promptfoo")
