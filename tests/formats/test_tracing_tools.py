"""Assessments as tracing tools export them: Langfuse, MLflow, Phoenix, LangSmith."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset
from metal.data.people import ONE_PAGE
from metal.errors import MetalError
from tests.formats.harness_files import kinds, scores, written
from tests.saying import tells

LANGUAGES = ("en", "hi", "sw")


def as_csv(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "scores.csv") -> Path:
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    key: json.dumps(cell) if isinstance(cell, dict | list) else cell
                    for key, cell in row.items()
                }
            )
    return path


def missing(data: Dataset) -> dict[tuple[str, str], str]:
    """(output, rater) -> why there is no score"""
    rows = data.ratings[data.ratings["score"].isna()]
    keys = zip(rows["output"].astype(str), rows["rater"].astype(str), strict=True)
    return dict(zip(keys, rows["reason"].astype(str), strict=True))


# ---------------------------------------------------------------- the documented files


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "raters", "languages"),
    [
        ("langfuse_scores.csv", {"evaluator": "llm", "u1": "human", "u2": "human"}, LANGUAGES),
        ("mlflow_traces.json", {"gpt": "llm", "ana": "human", "ben": "human"}, LANGUAGES),
        ("phoenix_annotations.csv", {"evaluator": "llm", "ana": "human", "ben": "human"}, ("und",)),
        ("langsmith_runs.csv", {"evaluator": "llm", "human": "human"}, LANGUAGES),
    ],
)
def test_documented_exports(
    reference: Path, file: str, raters: dict[str, str], languages: tuple[str, ...]
) -> None:
    data = metal.read(reference / "harness" / "documented" / file)
    assert kinds(data) == raters
    assert [*data.criteria] == ["correctness"]
    assert len(data.ratings) == 12 * len(raters)
    assert len(data.outputs) == 12
    assert data.languages == tuple(sorted(languages))
    assert data.ratings["score"].isin([0, 1]).all()


@pytest.mark.reference
def test_documented_scores_are_those_of_the_file(reference: Path) -> None:
    path = reference / "harness" / "documented" / "langfuse_scores.csv"
    file = pd.read_csv(path)
    data = metal.read(path)
    for rater, rows in file.groupby(file["authorUserId"].fillna("evaluator")):
        assert scores(data, str(rater)) == rows["value"].tolist()
    traces = json.loads((path.parent / "mlflow_traces.json").read_text())
    told = [trace["assessments"][1]["feedback"]["value"] for trace in traces]
    assert scores(metal.read(path.parent / "mlflow_traces.json"), "ana") == [
        float(value == "yes") for value in told
    ]


# ---------------------------------------------------------------- Langfuse


def score(trace: str, source: str = "EVAL", value: Any = 1, **more: Any) -> dict[str, Any]:
    own = {"id": f"{trace}{source}{len(more)}", "traceId": trace, "name": "helpful"}
    own |= {"value": value, "dataType": "NUMERIC", "source": source}
    return own | {"metadata": {"language": "sw"}} | more


def test_langfuses_categories_truth_values_and_what_is_no_rating(tmp_path: Path) -> None:
    category = {"dataType": "CATEGORICAL", "name": "tone"}
    rows = [
        score("t1", "ANNOTATION", 1, stringValue="good", authorUserId="u", **category),
        score("t2", "ANNOTATION", 0, stringValue="bad", authorUserId="u", **category),
        score("t1", value=2, stringValue="great", **category),
        score("t1", value=1, stringValue="True", dataType="BOOLEAN", name="safe"),
        score("t2", value=0, stringValue="False", dataType="BOOLEAN", name="safe"),
        score("t2", "ANNOTATION", "", stringValue="a better text", dataType="CORRECTION"),
        score("t3", "", 1),
        score("", value=1),
        score("t3", value=""),
    ]
    data = metal.read(as_csv(tmp_path, rows))
    assert data.criteria["tone"].scale.describe() == "0 bad, 1 good, 2 great"
    assert data.criteria["safe"].scale.describe() == "0 False, 1 True"
    assert missing(data) == {("t3", "evaluator"): "no value"}
    assert tells(data.report, "1 corrected texts", "1 scores of other sources", "1 scores of no")


def test_langfuses_api_and_blob_storage(tmp_path: Path) -> None:
    camel = [score(f"t{n}", value=n % 2, observationId="o") for n in range(4)]
    spelled = {"traceId": "trace_id", "dataType": "data_type", "observationId": "observation_id"}
    snake = [{spelled.get(key, key): cell for key, cell in row.items()} for row in camel]
    read = [
        metal.read(written(tmp_path, "api.json", {"data": camel, "meta": {"page": 1}})),
        metal.read(written(tmp_path, "scores.jsonl", snake)),
        metal.read(pd.DataFrame(camel)),
    ]
    for data in read:
        assert [*data.outputs] == [f"t{n}/o" for n in range(4)]
        assert scores(data, "evaluator") == [0, 1, 0, 1]
        assert data.languages == ("sw",)


def test_what_a_program_sent_to_langfuse_is_said(tmp_path: Path) -> None:
    rows = [score("t1", "API"), score("t1", "ANNOTATION", 0)]
    path = as_csv(tmp_path, rows)
    data = metal.read(path)
    assert kinds(data) == {"API": "llm", "annotator": "human"}
    assert tells(data.report, "1 scores", "a program sent", "kinds={'API': 'human'}")
    assert kinds(metal.read(path, kinds={"API": "human"}))["API"] == "human"


def given_by_nobody(trace: str, *values: float) -> list[dict[str, Any]]:
    """Scores of people without an author, as the blob storage export has them."""
    return [score(trace, "ANNOTATION", value, id=f"{trace}-{n}") for n, value in enumerate(values)]


@pytest.mark.parametrize("order", [1, -1])
def test_scores_of_people_without_an_author_stay_several(tmp_path: Path, order: int) -> None:
    """The second one was left out, and all were those of one person, `annotator`."""
    rows = [*given_by_nobody("t1", 1, 0), *given_by_nobody("t2", 0), *given_by_nobody("t3", 0, 0)]
    rows += [score("t1", "ANNOTATION", 1, authorUserId="u1"), score("t1"), score("t2")]
    data = metal.read(as_csv(tmp_path, rows[::order]))
    people = {"annotator_1": "human", "annotator_2": "human", "u1": "human"}
    assert kinds(data) == people | {"evaluator": "llm"}
    of_t1 = data.ratings[data.ratings["output"] == "t1"].set_index("rater")["score"]
    assert of_t1[["annotator_1", "annotator_2"]].tolist() == [1, 0][::order]
    assert [len(scores(data, person)) for person in people] == [3, 2, 1]
    assert tells(data.report, "people without a name: 5 ratings", "several people")
    assert tells(data.report, "page of scores", "score_provenance")
    assert not tells(data.report, "left out")


def test_one_score_of_people_without_an_author_for_each_trace(tmp_path: Path) -> None:
    rows = [*given_by_nobody("t1", 1), *given_by_nobody("t2", 0), score("t1"), score("t2")]
    data = metal.read(as_csv(tmp_path, rows))
    assert kinds(data) == {"annotator": "human", "evaluator": "llm"}
    assert tells(data.report, "without a name: 2 ratings", "annotator", "several people")


def test_people_without_a_name_are_not_mixed_with_those_of_such_a_name(tmp_path: Path) -> None:
    named = [score(f"t{n}", "ANNOTATION", 0, authorUserId="annotator_1") for n in range(2)]
    rows = [*given_by_nobody("t0", 1, 1), *given_by_nobody("t1", 1, 1), *named]
    data = metal.read(as_csv(tmp_path, rows))
    assert [*kinds(data)] == ["annotator_1", "unnamed annotator_1", "unnamed annotator_2"]
    assert scores(data, "annotator_1") == [0, 0]


def test_the_page_of_scores_names_authors_and_users_of_traces(tmp_path: Path) -> None:
    """Its column `userId` is the user of the trace, who rated nothing."""
    rows = [
        score(f"t{n}", "ANNOTATION", n % 2, authorUserName=person, userId="customer")
        for n in range(3)
        for person in ("Ana", "Ben")
    ]
    rows += [score(f"t{n}", value=1, userId="customer") for n in range(3)]
    data = metal.read(as_csv(tmp_path, rows))
    assert kinds(data) == {"Ana": "human", "Ben": "human", "evaluator": "llm"}
    assert scores(data, "Ben") == [0, 1, 0]


@pytest.mark.parametrize("spelling", ["traceId observationId stringValue", ""])
def test_langfuses_scores_without_their_type(tmp_path: Path, spelling: str) -> None:
    """A table without `dataType` was read as somebody's, with `source` as the input's id."""
    snake = {
        "traceId": "trace_id",
        "observationId": "observation_id",
        "stringValue": "string_value",
    }
    names = {} if spelling else snake
    rows = []
    for n in range(4):
        own = {"observationId": "", "stringValue": ""}
        tone = {"name": "tone", "stringValue": ("bad", "good")[n % 2]}
        rows += [score(f"t{n}", value=n / 4, **own), score(f"t{n}", value=n % 2, **(own | tone))]
        rows.append(score(f"t{n}", "ANNOTATION", n % 2, authorUserId="u", **(own | tone)))
    for row in rows:
        del row["dataType"]
    renamed = [{names.get(key, key): cell for key, cell in row.items()} for row in rows]
    data = metal.read(as_csv(tmp_path, renamed))
    assert kinds(data) == {"evaluator": "llm", "u": "human"}
    assert data.criteria["tone"].scale.describe() == "0 bad, 1 good"
    of_helpful = data.ratings[data.ratings["criterion"] == "helpful"]
    assert of_helpful["score"].tolist() == [0, 0.25, 0.5, 0.75]
    assert scores(data, "u") == [0, 1, 0, 1]


def test_repeated_scores_stay_several(tmp_path: Path) -> None:
    rows = [score(f"t{n}", value=value) for n in range(3) for value in (1, 0)]
    data = metal.read(as_csv(tmp_path, rows))
    assert kinds(data) == {"evaluator": "llm", "evaluator#2": "llm"}
    assert scores(data, "evaluator#2") == [0, 0, 0]


def test_how_the_table_of_a_tool_was_read_is_said(tmp_path: Path) -> None:
    """Notes on the table itself, such as lines left out, were lost."""
    path = as_csv(tmp_path, [score(f"t{n}", value=n % 2) for n in range(4)])
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}t4", encoding="utf-8")
    data = metal.read(path)
    assert scores(data, "evaluator") == [0, 1, 0, 1]
    assert tells(data.report, "1 line below the table", "t4")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("name", ["scores.jsonl", "scores.json", "scores.csv"])
def test_every_encoding_that_a_spreadsheet_writes(tmp_path: Path, name: str, encoding: str) -> None:
    rows = [score(f"t{n}", value=n % 2, comment="नमस्ते") for n in range(4)]
    path = as_csv(tmp_path, rows) if name.endswith("csv") else written(tmp_path, name, rows)
    before = metal.read(path)
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    assert metal.read(path).digest == before.digest
    path.write_bytes("[".encode(encoding) + b"\0")
    with pytest.raises(MetalError):
        metal.read(path)


# ---------------------------------------------------------------- MLflow


def assessed(source: str, who: str, value: Any = "yes", **more: Any) -> dict[str, Any]:
    own = {"assessment_name": "correct", "source": {"source_type": source, "source_id": who}}
    return own | {"feedback": {"value": value}, "rationale": "why"} | more


def trace(name: str, *assessments: Any) -> dict[str, Any]:
    own = {"trace_id": name, "request": "q", "response": "a", "tags": {"language": "hi"}}
    return own | {"assessments": list(assessments)}


def test_mlflows_kinds_errors_overrides_and_expectations(tmp_path: Path) -> None:
    failed = {"error": {"error_code": "RATE", "error_message": "too many requests"}}
    expected = {"assessment_name": "expected_response", "expectation": {"value": "Right."}}
    expected["source"] = {"source_type": "HUMAN", "source_id": "ana"}
    traces = [
        trace(
            "t1",
            assessed("HUMAN", "ana", True),
            assessed("AI_JUDGE", "gpt", feedback=failed),
            assessed("CODE", "", 1, assessment_name="is_short"),
            assessed("HUMAN", "ben", False, valid=False),
            assessed("ROBOT", "r2"),
            expected,
        ),
        trace("t2", assessed("LLM_JUDGE", "gpt", False), assessed("HUMAN", "ana", False)),
        trace("t3"),
    ]
    data = metal.read(written(tmp_path, "traces.json", {"traces": traces}))
    assert kinds(data) == {"ana": "human", "gpt": "llm", "is_short": "metric"}
    assert missing(data) == {("t1", "gpt"): "error: too many requests"}
    assert scores(data, "ana") == [1, 0]
    source = data.sources[data.outputs["t1"].source]
    assert (source.text, source.references) == ("q", ("Right.",))
    told = ("1 expectations", "1 traces without")
    assert tells(data.report, "1 assessments", "others override")
    assert tells(data.report, "1 assessments", "of other kinds")
    assert all(tells(data.report, each) for each in told)


def test_mlflows_traces_as_their_own_json_and_as_a_frame(tmp_path: Path) -> None:
    spans = [{"span_id": "root"}, {"span_id": "inner", "parent_span_id": "root"}]
    nested = []
    for number in range(3):
        at_root = assessed("HUMAN", "ana", number % 2, span_id="root")
        inside = assessed("LLM_JUDGE", "gpt", number % 2, span_id="inner")
        info = {**trace(f"t{number}", at_root, inside), "request_preview": "q"}
        nested.append({"info": info, "data": {"spans": spans}})
    data = metal.read(written(tmp_path, "traces.jsonl", nested))
    assert [*data.outputs][:2] == ["t0", "t0/inner"]
    flat = [{**each["info"], "spans": spans} for each in nested]
    assert [*metal.read(pd.DataFrame(flat)).outputs][:2] == ["t0", "t0/inner"]


def test_mlflows_frame_as_csv_is_read_from_the_column_trace(tmp_path: Path) -> None:
    rows = []
    for number in range(3):
        people = assessed("HUMAN", "ana", number % 2), assessed("LLM_JUDGE", "gpt", 1)
        row = trace(f"t{number}", *people)
        rows.append({**row, "trace": json.dumps({"info": row, "data": {"spans": []}})})
    path = tmp_path / "traces.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    data = metal.read(path)
    assert kinds(data) == {"ana": "human", "gpt": "llm"}
    assert scores(data, "ana") == [0, 1, 0]
    assert data.languages == ("hi",)
    pd.DataFrame(rows).drop(columns="trace").to_csv(path, index=False)
    with pytest.raises(MetalError) as raised:
        metal.read(path)
    assert tells(str(raised.value), "traces.csv trace 1", "not JSON", "to_csv", "to_json")


# ---------------------------------------------------------------- Phoenix


def annotation(span: str, kind: str, label: Any, number: Any, **more: Any) -> dict[str, Any]:
    own = {"span_id": span, "annotation_name": "tone", "annotator_kind": kind}
    return own | {"label": label, "score": number, "metadata": {"language": "sw"}} | more


def test_phoenixs_labels_and_scores(tmp_path: Path) -> None:
    rows = [
        annotation("s1", "HUMAN", "rude", 0, user_id="ana"),
        annotation("s2", "HUMAN", "kind", 1, user_id="ana"),
        annotation("s1", "LLM", "rude", "", identifier="gpt-judge"),
        annotation("s2", "LLM", "", "", identifier="gpt-judge"),
        annotation("s1", "CODE", "", 0.5, annotation_name="overlap"),
        annotation("", "HUMAN", "rude", 0),
        annotation("s1", "GHOST", "rude", 0),
    ]
    data = metal.read(as_csv(tmp_path, rows))
    assert kinds(data) == {"ana": "human", "gpt-judge": "llm", "overlap": "metric"}
    assert data.criteria["tone"].scale.describe() == "0 rude, 1 kind"
    assert scores(data, "gpt-judge")[0] == 0
    assert missing(data) == {("s2", "gpt-judge"): "no score and no label"}
    assert tells(data.report, "1 annotations of no span")
    assert tells(data.report, "1 annotations", "other kinds")


def test_phoenixs_api_and_frame_say_the_same(tmp_path: Path) -> None:
    flat = [annotation(f"s{n}", "LLM", "x" if n else "y", n % 2, explanation="e") for n in range(4)]
    nested = []
    for row in flat:
        result = {name: row.pop(name) for name in ("label", "score", "explanation")}
        row["name"] = row.pop("annotation_name")
        nested.append({**row, "result": result})
    api = metal.read(written(tmp_path, "annotations.json", {"data": nested, "next_cursor": None}))
    frame = pd.json_normalize(nested, max_level=1).rename(columns={"name": "annotation_name"})
    framed = metal.read(frame.set_index("span_id"))
    for data in (api, framed):
        assert scores(data, "evaluator") == [0, 1, 0, 1]
        assert set(data.ratings["comment"]) == {"e"}


# ---------------------------------------------------------------- LangSmith


def test_langsmiths_feedback_by_its_source(tmp_path: Path) -> None:
    def feedback(run: str, mark: str, value: Any, **more: Any) -> dict[str, Any]:
        source = {"type": mark, "user_id": "7" if mark == "app" else None}
        own = {"run_id": run, "key": "helpful", "score": value, "feedback_source": source}
        return own | {"extra": {"language": "hi"}} | more

    rows = [
        feedback("r1", "app", 1, comment="good"),
        feedback("r1", "model", 0),
        feedback("r1", "auto_eval", 0, key="safe"),
        feedback("r2", "model", None),
        feedback("r2", "api", 1),
        feedback("r2", "app", 1, feedback_group_id="g"),
        feedback("r2", "ghost", 1),
    ]
    data = metal.read(written(tmp_path, "feedback.json", rows))
    assert kinds(data) == {"7": "human", "api": "llm", "evaluator": "llm"}
    assert missing(data) == {("r2", "evaluator"): "no score"}
    assert tells(data.report, "1 feedback", "other sources")
    assert tells(data.report, "1 feedback", "compares runs")
    assert tells(data.report, "source api", "1", "kinds={'api': 'human'}")


def test_langsmiths_runs_as_json(tmp_path: Path) -> None:
    runs = [
        {
            "id": f"r{n}",
            "inputs": {"question": f"q{n}"},
            "outputs": {"answer": f"a{n}", "sources": 2},
            "metadata": {"language": "sw"},
            "feedback_stats": {
                "tone": {"n": 1, "avg": n % 2},
                "expert_tone": {"n": 1, "avg": 1},
                "clear": {"n": 3, "avg": 0.4},
            },
        }
        for n in range(3)
    ]
    data = metal.read(written(tmp_path, "runs.json", runs))
    assert kinds(data) == {"evaluator": "llm", "expert": "human"}
    assert scores(data, "evaluator") == [0, 1, 0]
    assert tells(data.report, "3 means of several")
    assert data.sources[data.outputs["r0"].source].text == "q0"
    assert json.loads(data.outputs["r0"].text) == {"answer": "a0", "sources": 2}


def test_runs_with_the_same_inputs_have_one_source() -> None:
    runs = [
        {
            "id": f"r{number}",
            "inputs.question": None if number == 3 else f"q{number // 2}",
            "outputs.answer": f"a{number}",
            "feedback.correct": number % 2,
        }
        for number in range(6)
    ]
    data = metal.read(pd.DataFrame(runs), language="en")
    sources = [output.source for output in data.outputs.values()]
    assert sources == ["r0", "r0", "r2", "r3", "r4", "r4"]
    assert data.sources["r4"].text == "q2"
    assert tells(data.report, "1 rating", "source is unknown")
    assert not any("no source column" in line for line in data.report)


# ---------------------------------------------------------------- hostile files

ODD: tuple[Any, ...] = (
    *(None, "", [], {}, [[]], [None, {"a": []}], {"value": {"value": {}}}, 10**400, -1, math.nan),
    *("\x00", "x" * 100_000, "{", '{"a": [', True, {"source_type": []}, "=cmd()", "../../etc"),
)
FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "langfuse": lambda: score("t1", comment="c", stringValue="s", observationId="o"),
    "mlflow": lambda: trace("t1", assessed("HUMAN", "ana"), assessed("LLM_JUDGE", "gpt")),
    "phoenix": lambda: annotation("s1", "HUMAN", "rude", 0, user_id="ana"),
    "langsmith": lambda: {
        "run_id": "r",
        "key": "helpful",
        "score": 1,
        "feedback_source": {"type": "app", "user_id": "7"},
    },
    "argilla": lambda: {
        "id": "a",
        "fields": {"text": "t"},
        "responses": {"tone": [{"value": 1, "user_id": "u"}]},
        "suggestions": {"tone": {"value": 1, "agent": "m"}},
        "metadata": {
            "exported_by": "metal 0.2.0",
            "people": ["u x"],
            "metal_criteria": json.dumps({"tone": {"levels": [{"value": 1, "label": "a"}]}}),
            "metal_ratings": [
                {"rater": "x", "kind": "human", "group": "g", "criterion": "tone", "comment": "c"},
                {"rater": "m2", "kind": "metric", "criterion": "tone", "score": 1},
                {"rater": "m3", "kind": "llm", "criterion": "tone", "reason": "refused"},
            ],
        },
    },
    "label-studio": lambda: {
        "id": 1,
        "data": {"text": "t", "rater": "ana"},
        "annotations": [
            {
                "completed_by": 1,
                "result": [
                    {"from_name": "tone", "type": "choices", "value": {"choices": ["1"]}},
                ],
            }
        ],
        "predictions": [{"model_version": "m", "result": []}],
        "meta": {"unscored": [{}]},
    },
    "alpaca-eval": lambda: {
        "instruction": "i",
        "output_1": "a",
        "output_2": "b",
        "preference": 1,
        "annotator": "gpt",
    },
    "arena": lambda: {
        "id": 1,
        "model_a": "a",
        "model_b": "b",
        "prompt": '["p"]',
        "winner_model_a": 1,
        "winner_model_b": 0,
        "winner_tie": 0,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_hostile_values_are_read_or_refused_in_a_line(tmp_path: Path, name: str) -> None:
    good = FILES[name]()
    for field in good:
        for odd in ODD:
            path = tmp_path / "file.json"
            path.write_text(json.dumps([FILES[name](), {**FILES[name](), field: odd}]))
            with suppress(MetalError):
                assert len(metal.read(path, name, language="en").ratings) >= 1


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["", "[", "[1, 2]", "{}", "null", "[" * 5_000, '[{"a": 1}]'])
def test_files_that_are_none(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(MetalError):
        metal.read(path, name)


# ---------------------------------------------------------------- people without a name


def phoenix(span: str, score: int) -> dict[str, Any]:
    return {"span_id": span, "annotation_name": "ok", "annotator_kind": "HUMAN", "score": score}


def langsmith(run: str, score: int) -> dict[str, Any]:
    return {"run_id": run, "key": "ok", "score": score, "feedback_source": {"type": "app"}}


def label_studio(task: str, *scores: int) -> dict[str, Any]:
    answers = [
        {"type": "number", "from_name": "ok", "value": {"number": score}} for score in scores
    ]
    annotations = [{"result": [answer]} for answer in answers]
    return {"data": {"text": task}, "annotations": annotations, "predictions": []}


def argilla(record: str, *scores: int) -> dict[str, Any]:
    responses = [{"user_id": None, "value": score, "status": "submitted"} for score in scores]
    return {"id": record, "fields": {"text": record}, "responses": {"ok": responses}} | {
        "suggestions": {}
    }


SCORES = {"t0": (1, 0), "t1": (0, 1), "t2": (1,)}
NAMELESS: dict[str, list[dict[str, Any]]] = {
    "phoenix": [phoenix(each, score) for each in SCORES for score in SCORES[each]],
    "langsmith": [langsmith(each, score) for each in SCORES for score in SCORES[each]],
    "label studio": [label_studio(each, *SCORES[each]) for each in SCORES],
    "argilla": [argilla(each, *SCORES[each]) for each in SCORES],
    "mlflow": [
        trace(each, *(assessed("HUMAN", "", score) for score in SCORES[each])) for each in SCORES
    ],
}


@pytest.mark.parametrize("tool", NAMELESS)
def test_people_whom_a_tool_does_not_name_stay_several(tmp_path: Path, tool: str) -> None:
    """They were one person, `annotator` or `None`, whose first answer counted."""
    data = metal.read(written(tmp_path, "export.json", NAMELESS[tool]), language="en")
    assert kinds(data) == {"annotator_1": "human", "annotator_2": "human"}
    assert scores(data, "annotator_1") == [1, 0, 1]
    assert scores(data, "annotator_2") == [0, 1]
    assert tells(data.report, "people without a name: 5 ratings")


# ---------------------------------------------------------------- pages of an API


def test_copies_of_a_score_count_once(tmp_path: Path) -> None:
    """Pages that overlap made a judge that answers twice, and always the same."""
    rows = [score(f"t{n}", value=n % 2, id=f"s{n}") for n in range(4)]
    data = metal.read(as_csv(tmp_path, [*rows, *rows[:2]]))
    assert kinds(data) == {"evaluator": "llm"}
    assert tells(data.report, "2 copies of earlier scores")
    again = score("t0", value=1, id="s0")
    assert kinds(metal.read(as_csv(tmp_path, [*rows, again]))).keys() == {
        "evaluator",
        "evaluator#2",
    }
    rows = [annotation(f"s{n}", "LLM", "", n % 2, id=f"a{n}") for n in range(4)]
    data = metal.read(as_csv(tmp_path, rows + rows))
    assert kinds(data) == {"evaluator": "llm"}
    assert tells(data.report, "4 copies", "annotations")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"meta": {"page": 1, "totalItems": 9, "totalPages": 3}}, "4 of 9 records"),
        ({"meta": {"limit": 4, "cursor": "bmV4dA"}}, "4 records"),
        ({"meta": {"page": 1, "totalItems": 4, "totalPages": 1}}, ""),
        ({"meta": {"limit": 4, "cursor": None, "totalItems": "9"}}, ""),
        ({"meta": {"totalItems": 10**300}}, ""),
        ({"meta": [9]}, ""),
    ],
)
def test_one_page_of_several_is_said(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    rows = [score(f"t{n}", value=n % 2) for n in range(4)]
    report = metal.read(written(tmp_path, "api.json", {"data": rows, **more})).report
    assert any(note.startswith(ONE_PAGE) for note in report) == bool(said)
    assert not said or tells(report, ONE_PAGE.strip(), said)


@pytest.mark.parametrize("file", ["pages.json", "pages.jsonl"])
def test_pages_in_one_file_are_read_together(tmp_path: Path, file: str) -> None:
    """They were results without a score."""
    rows = [score(f"t{n}", value=n % 2) for n in range(6)]
    meta = {"totalItems": 6, "totalPages": 3}
    pages = [{"data": rows[at : at + 2], "meta": meta} for at in (0, 2, 4)]
    data = metal.read(written(tmp_path, file, pages))
    assert scores(data, "evaluator") == [0, 1, 0, 1, 0, 1]
    assert not tells(data.report, ONE_PAGE.strip())
    report = metal.read(written(tmp_path, file, pages[:2])).report
    assert tells(report, ONE_PAGE.strip(), "4 of 6 records")


def test_one_page_of_phoenix_and_mlflow_is_said(tmp_path: Path) -> None:
    own = {"name": "tone", "annotator_kind": "LLM"}
    rows = [
        {"span_id": f"s{n}", "result": {"label": "", "score": n % 2, "explanation": ""}, **own}
        for n in range(4)
    ]
    file = written(tmp_path, "page.json", {"data": rows, "next_cursor": "x"})
    assert tells(metal.read(file).report, ONE_PAGE.strip(), "4 records")
    feedback = {"name": "ok", "source": {"source_type": "HUMAN"}, "feedback": {"value": 1}}
    traces = [{"trace_id": f"t{n}", "assessments": [feedback]} for n in range(3)]
    file = written(tmp_path, "traces.json", {"traces": traces, "next_page_token": "x"})
    assert tells(metal.read(file).report, ONE_PAGE.strip(), "3 records")
