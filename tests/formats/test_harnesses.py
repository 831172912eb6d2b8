"""Results of other evaluation harnesses: what comes out of each file as its own package writes it,
and of files that are damaged or hostile.
"""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.values import language_in
from metal.data.formats.harnesses.verdicts import direction_of
from metal.data.tables.first_names import first_names
from metal.data.tables.harnesses import HARNESSES, harness_of
from metal.errors import DataError, MetalError
from tests.formats.harness_files import kinds, scores, written
from tests.saying import tells

# ---------------------------------------------------------------- what all of them share


def test_rows_become_ratings_as_in_a_table(tmp_path: Path) -> None:
    rows = HarnessRows("toy 1.0")
    for number in range(4):
        item = {"output": f"q{number}", "language": "hi", "text": ["a", {"b": 1}]}
        rows.add(
            {"metadata.topic": "law", "metadata.list": [1]},
            **item,
            rater="gpt",
            kind="llm",
            criterion="fluency",
            score=number % 2 or None,
            reason="refused",
        )
        rows.add_people({"human_fluency": number % 2, "words": 9, "gpt4_human": 1}, {}, **item)
    rows.leave_out("traces without a score", 1200)
    draft = rows.draft({}, tmp_path / "toy.json")
    data = draft.assemble()
    assert kinds(data) == {"gpt": "llm", "human": "human"}
    assert data.ratings["reason"].value_counts().to_dict() == {"": 6, "refused": 2}
    assert tells(draft.notes[0], "toy 1.0", "8 ratings", "1,200 traces without a score")
    assert any("human_fluency (fluency)" in note for note in draft.notes)
    assert any("not read: metadata.topic" in note for note in draft.notes)
    assert data.outputs["q0"].text == '["a", {"b": 1}]'


def test_a_role_that_does_not_exist_is_the_readers_mistake() -> None:
    with pytest.raises(ValueError, match="no such role: judge"):
        HarnessRows("toy").add(judge="x")


def test_people_of_several_criteria_are_not_guessed(tmp_path: Path) -> None:
    rows = HarnessRows("toy")
    item = {"output": "a", "language": "en"}
    for criterion in ("fluency", "style"):
        rows.add(**item, rater="gpt", kind="llm", criterion=criterion, score=1)
    rows.add_people({"human": 1, "ann_style": 0, "expert style": 1}, {}, **item)
    draft = rows.draft({}, tmp_path / "toy.json")
    assert {rater.rater for rater in draft.raters} == {"gpt", "expert"}
    assert any(tells(note, "'human' left out", "human_CRITERION") for note in draft.notes)


def test_the_user_says_which_fields_are_peoples(tmp_path: Path) -> None:
    for kinds_given, raters in (({"Ana": "human"}, {"g", "Ana"}), ({"human": "llm"}, {"g"})):
        rows = HarnessRows("toy")
        item = {"output": "a", "language": "en"}
        rows.add(**item, rater="g", kind="llm", criterion="style", score=1)
        rows.add_people({"Ana" if "Ana" in raters else "human": 1}, {}, **item)
        draft = rows.draft({"kinds": kinds_given}, tmp_path / "toy.json")
        assert {rater.rater for rater in draft.raters} == raters


def test_ratings_without_a_language_among_others_are_of_an_unknown_one(tmp_path: Path) -> None:
    rows = HarnessRows("toy")
    for language in ("en", None):
        own = {"rater": "gpt", "kind": "llm", "criterion": "style", "score": 1}
        rows.add(output=f"in {language}", language=language, **own)
    draft = rows.draft({}, tmp_path / "toy.json")
    assert [output.language for output in draft.outputs] == ["en", "und"]
    assert tells(draft.notes, "1 of 2 ratings", "unknown (und)", "`language=")
    assert rows.draft({"language": "sw"}, tmp_path / "toy.json").outputs[0].language == "sw"


def test_what_the_harness_says_of_its_scale_gives_way_to_the_user(tmp_path: Path) -> None:
    for levels, measure in ((None, "nominal"), ({"style": "0=bad,1=good"}, "ordinal")):
        rows = HarnessRows("toy")
        rows.say_scale("style", levels="0=no,1=yes", measures="nominal")
        rows.add(output="a", language="en", rater="g", kind="llm", criterion="style", score=True)
        options = {"levels": levels, "measures": "ordinal"} if levels else {}
        criterion = rows.draft(options, tmp_path / "toy.json").criteria[0]
        assert criterion.scale.measure == measure
        assert criterion.scale.levels[1].label == ("good" if levels else "yes")


def test_a_criterion_of_all_rows_takes_the_harnesses_scale_if_there_is_one(tmp_path: Path) -> None:
    for second, labels in (("0=no,1=yes", ["no", "yes"]), ("0=x,1=y", ["0", "1"])):
        rows = HarnessRows("toy")
        rows.say_scale("gone", levels="0=a,1=b")
        for number, levels in enumerate(("0=no,1=yes", second)):
            name = f"style {number}"
            rows.say_scale(name, levels=levels)
            own = {"rater": f"g{number}", "kind": "llm", "criterion": name}
            for answer in (0, 1):
                rows.add(None, output=f"{answer}", language="en", score=answer, **own)
        assert len(rows.draft({}, tmp_path / "toy.json").criteria) == 2
        (only,) = rows.draft({"criterion": "tone"}, tmp_path / "toy.json").criteria
        assert [level.label for level in only.scale.levels] == labels


def test_the_language_of_metadata() -> None:
    assert language_in({"topic": "law"}, {"Lang": "sw", "language": " "}) == "sw"
    assert language_in({"language": 3}, None, ["en"]) is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '{"a": {"b": {"c": 1}, "d": [{"e": "}\\""}]}, "f": 2}', "a a.b a.d f"),
        ("a.json", '[{"a": 1}, {"b": "x: {"}]', "a b"),
        ("a.jsonl", '{"a": 1}\n{"b": 2}\n', "a b"),
        ("a.json", '{"cut": [{"off": "in the mid', "cut cut.off"),
        ("a.json", "}}]]", ""),
        ("a.csv", 'x;"y;z";w\n1;2;3\n', "x y;z w"),
        ("a.md", "a,b\n", ""),
        ("a.csv", '{"a": 1}\n{"b": 2}\n', "a b"),
        ("a.tsv", ' [{"a": {"c": 1}}]', "a a.c"),
        ("a.csv", "[id],{x}\n1,2\n", "[id] {x}"),
        ("a.csv", '"[""x""]",y\n1,2\n', '["x"] y'),
    ],
)
def test_the_first_names_of_a_file(tmp_path: Path, name: str, text: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert first_names(path) == frozenset(expected.split())


@pytest.mark.parametrize("name", ["s.json", "s.jsonl", "s.csv", "s.tsv", "s.txt"])
@pytest.mark.parametrize("lines", [False, True])
def test_json_under_another_name(tmp_path: Path, name: str, lines: bool) -> None:
    if lines and name == "s.json":
        return
    told = {"source": "EVAL", "dataType": "NUMERIC", "name": "tone", "metadata": {"lang": "hi"}}
    rows = [{**told, "traceId": f"t{number}", "value": number} for number in range(3)]
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    path = tmp_path / name
    path.write_text(text if lines or name != "s.jsonl" else "\n".join(map(json.dumps, rows)))
    data = metal.read(path)
    assert data.ratings["score"].tolist() == [0, 1, 2]
    assert any("Langfuse" in line for line in data.report)


def test_a_table_in_json_under_another_name_is_read_and_said(tmp_path: Path) -> None:
    rows = [
        {"output": f"o{n}", "rater": "a", "criterion": "x", "score": n % 2, "language": "hi"}
        for n in range(4)
    ]
    data = metal.read(written(tmp_path, "r.csv", rows))
    assert data.ratings["score"].tolist() == [0, 1, 0, 1]
    assert any(tells(line, "holds JSON", "ends with .csv") for line in data.report)


@pytest.mark.parametrize("name", ["s.json", "s.jsonl"])
def test_csv_that_is_called_json_is_refused_with_its_remedy(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("output,rater,score\na,b,1\nc,b,0\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        metal.read(path)
    assert tells(str(caught.value), "holds CSV, not JSON", "Rename it to s.csv")


@pytest.mark.parametrize("text", ['"a\\', '"', '{"a":', "[", "\\"])
def test_names_are_searched_in_one_pass(tmp_path: Path, text: str) -> None:
    """A search that begins again at each quote would take hours."""
    path = tmp_path / "a.json"
    path.write_text(text * (1 << 19), encoding="utf-8")
    assert len(first_names(path)) <= 2


def test_keys_behind_a_megabyte_are_not_searched(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", {"a": "x" * (1 << 20), "b": 1})
    assert first_names(path) <= {"a"}


@pytest.mark.parametrize("harness", [each for each in HARNESSES if each.format])
def test_a_harness_that_is_read_is_named_where_its_file_is_read_as_a_table(harness: Any) -> None:
    names = [mark.replace("*", "x") for mark in harness.marks if "." not in mark]
    if names and harness_of(names) == harness:
        with pytest.raises(MetalError, match=f'format="{harness.format}"'):
            metal.read(pd.DataFrame({name: ["x"] for name in names}), "table")


# ---------------------------------------------------------------- lm-eval


def sample(**more: Any) -> dict[str, Any]:
    return {
        "doc_id": 0,
        "doc": {"q": "1+1?", "language": "sw"},
        "target": "2",
        "arguments": {"gen_args_0": {"arg_0": "Q: 1+1?", "arg_1": {"until": []}}},
        "resps": [["it is 2"]],
        "filtered_resps": ["2"],
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
        **more,
    }


@pytest.mark.reference
def test_samples_of_lm_eval(reference: Path) -> None:
    data = metal.read(reference / "harness" / "lm-eval" / "samples_toy.jsonl")
    assert kinds(data) == {"exact_match": "metric"}
    assert scores(data, "exact_match") == [0.0] * 6
    assert list(data.outputs.values())[1].text == "lol"
    assert [output.language for output in data.outputs.values()] == ["en", "hi"] * 3
    assert list(data.sources.values())[1].text == "q1"


def test_lm_evals_filters_choices_and_people(tmp_path: Path) -> None:
    choices = {f"gen_args_{n}": {"arg_0": "Q?", "arg_1": text} for n, text in enumerate("AB")}
    told = [sample(doc_id=n, filter=name, exact_match=n) for n in (0, 1) for name in ("x", "y")]
    path = written(tmp_path, "samples_t_1.jsonl", told)
    better = {"t": {"exact_match": False}, "u": {"acc": True}, "v": {"acc": None}}
    results = {"model_name": "org/m", "higher_is_better": better}
    written(tmp_path, "results_1.json", results)
    data = metal.read(path)
    assert kinds(data) == {"exact_match/x": "metric", "exact_match/y": "metric"}
    assert {output.generator for output in data.outputs.values()} == {"org/m"}
    assert data.criteria["exact_match"].direction == "lower"
    chosen = sample(
        arguments=choices, resps=[[["-3", "False"]], [[-1.5, True]]], acc=None, bleu=["a", "b"]
    )
    chosen |= {"metrics": ["acc", "bleu"], "doc": {"human": 1, "language": "sw"}}
    data = metal.read(written(tmp_path, "samples_u.jsonl", [chosen]))
    assert kinds(data) == {"acc": "metric", "human": "human"}
    assert next(iter(data.outputs.values())).text == "B"
    assert data.ratings.set_index("rater")["reason"].to_dict() == {"acc": "no value", "human": ""}
    assert any("1 values of bleu" in line for line in data.report)


# ---------------------------------------------------------------- DeepEval


@pytest.mark.reference
@pytest.mark.parametrize("file", ["test_run.json", "evaluation_result.json"])
def test_results_of_deepeval(reference: Path, file: str) -> None:
    path = reference / "harness" / "deepeval" / file
    data = metal.read(path)
    assert kinds(data) == {"human": "human", "mock/GEval": "llm"}
    assert [*data.criteria] == ["Correctness"]
    assert [output.language for output in data.outputs.values()] == ["en", "hi", "sw"] * 3
    # the file has 0.3, 0.9, 0, 0.9, 1, 0.2; people's answers are points up to 10
    assert scores(data, "mock/GEval")[:6] == [3, 9, 0, 9, 10, 2]
    assert any(tells(line, "GEval's scores", "points from 0 to 10") for line in data.report)
    assert [level.value for level in data.criteria["Correctness"].scale.levels] == [*range(11)]
    assert metal.read(path, only="llm").ratings["score"].max() == 10
    alone = metal.read(path, kinds={"human": "baseline"})
    assert scores(alone, "mock/GEval")[:6] == [0.3, 0.9, 0.0, 0.9, 1.0, 0.2]
    assert scores(data, "human")[:5] == [0, 1, 1, 5, 2]
    assert set(data.ratings["comment"]) == {"because", ""}


def measured(score: float, human: Any = None, **more: Any) -> dict[str, Any]:
    threshold = more.pop("threshold", 0.5)
    metric = {
        "name": "Tone [GEval]",
        "score": score,
        "evaluationModel": "m",
        "threshold": threshold,
    }
    metric |= {"success": more.pop("success", score >= threshold), "reason": "why"}
    metric |= {"threshold": threshold}
    case = {"input": more.pop("input", "q"), "actualOutput": "a", "metricsData": [metric]}
    return case | {"metadata": {"language": "hi"} | ({} if human is None else {"human": human})}


def test_deepevals_verdict_answers_people_who_said_yes_or_no(tmp_path: Path) -> None:
    cases = [measured(0.8, 1), measured(0.7, 0, threshold=0.75), measured(0.2, 0)]
    path = written(tmp_path, "run.json", {"testCases": cases, "hyperparameters": {"model": "x"}})
    data = metal.read(path)
    assert scores(data, "m/GEval") == [1, 0, 0]
    assert [level.label for level in data.criteria["Tone"].scale.levels] == ["fail", "pass"]
    assert any(tells(line, "pass or fail", "m/GEval (Tone)") for line in data.report)
    assert len(data.sources) == 1  # all three have one input
    assert {output.generator for output in data.outputs.values()} == {"x"}
    assert sorted(data.outputs) == ["test_case_0", "test_case_1", "test_case_2"]
    cases[0]["metricsData"][0].pop("success")
    data = metal.read(written(tmp_path, "run.json", {"testCases": cases}))
    assert scores(data, "m/GEval") == [0.8, 0.7, 0.2]


def test_deepevals_thresholds_show_which_end_is_better(tmp_path: Path) -> None:
    for success, direction in (((True, False), "lower"), ((False, True), "higher")):
        cases = [measured(0.2, success=success[0]), measured(0.9, success=success[1])]
        data = metal.read(written(tmp_path, "run.json", {"testCases": cases}))
        assert data.criteria["Tone"].direction == direction
    assert direction_of([(0.2, 0.5, True), (0.9, 0.5, True)]) == ""
    assert direction_of([]) == ""


def test_deepevals_people_who_name_no_criterion_are_said_where_people_lack(tmp_path: Path) -> None:
    cases = [measured(0.8, 1), measured(0.2, 0)]
    for case in cases:
        case["metricsData"].append({**case["metricsData"][0], "name": "Style [GEval]"})
    path = written(tmp_path, "run.json", {"testCases": cases})
    with pytest.raises(MetalError) as raised:
        metal.audit(path)
    assert tells(str(raised.value), "no human raters", "2 scores", "'human'", "human_CRITERION")
    assert "are people" not in str(raised.value)


def test_deepevals_cases_of_one_name_are_apart(tmp_path: Path) -> None:
    cases = [{**measured(0.2), "name": "x"}, {**measured(0.4), "name": "x"}]
    assert sorted(metal.read(written(tmp_path, "run.json", cases)).outputs) == ["x", "x#2"]


def test_deepevals_metrics_errors_and_conversations(tmp_path: Path) -> None:
    metrics = [
        {"name": "Exact Match", "score": 1.0, "success": True},
        {"name": "Tone", "score": None, "error": "rate limit", "evaluationModel": "gpt-4o"},
    ]
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    content = {
        "testCases": [{"name": "a", "input": "q", "actualOutput": "", "metricsData": metrics}],
        "conversationalTestCases": [{"name": "b", "turns": turns, "metricsData": metrics[:1]}, {}],
    }
    data = metal.read(written(tmp_path, "run.json", content), language="en")
    assert kinds(data) == {"Exact Match": "metric", "gpt-4o": "llm"}
    assert data.outputs["b"].text == "user: hi\n\nassistant: yo"
    missing = data.ratings[data.ratings["score"].isna()]
    assert missing[["rater", "reason"]].values.tolist() == [["gpt-4o", "rate limit"]]
    assert tells(data.report, "1 test cases", "without a metric")


# ---------------------------------------------------------------- OpenAI Evals


@pytest.mark.reference
def test_events_of_openai_evals(reference: Path) -> None:
    path = reference / "harness" / "documented" / "openai_evals.jsonl"
    data = metal.read(path)
    assert kinds(data) == {"gpt-4/fact": "llm"}
    assert [*data.criteria] == ["fact"]
    # read off the file: the scores of fact.dev.0 to fact.dev.11
    assert scores(data, "gpt-4/fact") == [0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1]
    assert (data.sources["fact.dev.3"].text, data.outputs["fact.dev.3"].text) == ("q3", "A")
    assert {each.language for each in metal.read(path, language="sw").outputs.values()} == {"sw"}


def event(sample: int, type: str, **data: Any) -> dict[str, Any]:
    return {"run_id": "r", "event_id": 0, "sample_id": f"s{sample}", "type": type, "data": data}


def test_choices_matches_and_numbers_of_openai_evals(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "?"}]
    events = [
        {"spec": {"completion_fns": ["m", "grader"], "eval_name": "tone.dev"}},
        event(0, "sampling", prompt=asked, sampled=["text"]),
        event(0, "sampling", prompt="grade it", sampled=["so A"]),
        event(0, "metrics", choice="A", score=1.0),
        event(1, "sampling", prompt="?", sampled="text"),
        event(1, "metrics", choice="__invalid__", score=0.0),
        event(2, "metrics", f1=0.5, words="x"),
        event(2, "match", correct=True, expected="gold"),
        event(3, "raw_sample", x=1),
        {"final_report": {}},
    ]
    data = metal.read(written(tmp_path, "events.jsonl", events), language="hi")
    assert kinds(data) == {"grader/tone.dev": "llm", "f1": "metric", "match": "metric"}
    assert sorted(data.criteria) == ["correctness", "f1", "tone.dev"]
    graded = data.ratings[data.ratings["rater"] == "grader/tone.dev"]
    assert graded["reason"].tolist() == ["", "no choice in the reply"]
    assert graded["comment"].tolist() == ["so A", ""]
    assert data.sources["s0"].text == "?"
    assert any(tells(line, "1 events of type raw_sample") for line in data.report)


@pytest.mark.parametrize(
    "data",
    [3, {"choice": [1], "score": None}, {"f1": 10**40}, {"choice": "A", "score": "NaN"}, None],
)
def test_hostile_events_of_openai_evals(tmp_path: Path, data: Any) -> None:
    events = [event(0, "metrics", choice="A", score=1), {**event(1, "metrics"), "data": data}]
    events += [event(2, "sampling", prompt=[[1]], sampled=[])]
    with suppress(MetalError):
        assert len(metal.read(written(tmp_path, "events.jsonl", events), language="hi").ratings)


@pytest.mark.parametrize("name", ["lm-eval", "deepeval", "promptfoo", "openai-evals", "inspect"])
@pytest.mark.parametrize("text", ["", "[]", "{}", "[1, null]", "[" * 5000, '{"a": ' + "9" * 5000])
def test_files_without_ratings_are_refused_in_one_line(
    tmp_path: Path, name: str, text: str
) -> None:
    for ending in (".json", ".jsonl"):
        path = tmp_path / f"file{ending}"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(MetalError) as caught:
            metal.read(path, name)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)


# ---------------------------------------------------------------- any of them, changed at random

HOSTILE = [None, True, 10**30, float("nan"), "", "x" * 3000, [], {}, [[]], {"": {}}, "[1", "\x00"]


def changed(value: Any, draw: random.Random) -> Any:
    """The value with something in it replaced or removed."""
    if isinstance(value, list | dict) and value and draw.random() < 0.85:
        copy = value.copy()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = draw.choice(list(keys))
        if isinstance(value, dict) and draw.random() < 0.1:
            del copy[key]
        else:
            copy[key] = changed(value[key], draw)
        return copy
    return draw.choice(HOSTILE)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("inspect", "inspect/log.json"),
        ("deepeval", "deepeval/test_run.json"),
        ("promptfoo", "promptfoo/out.json"),
        ("lm-eval", "lm-eval/samples_toy.jsonl"),
        ("openai-evals", "documented/openai_evals.jsonl"),
    ],
)
def test_files_with_something_else_in_them_are_read_or_refused(
    reference: Path, tmp_path: Path, name: str, file: str
) -> None:
    text = (reference / "harness" / file).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()] if file.endswith("l") else None
    content = lines or json.loads(text)
    if name == "inspect":  # the rest of it is long, and not read
        content["samples"] = [each | {"events": []} for each in content["samples"][:3]]
    outcomes = set()
    for seed in range(15):
        draw = random.Random(seed)
        other = changed(content, draw)
        if lines:
            other = [*lines]
            other[-2] = changed(lines[-2], draw)
        path = written(tmp_path, Path(file).name, other)
        try:
            assert len(metal.read(path, name).ratings) > 0
            outcomes.add("read")
        except MetalError as refusal:
            outcomes.add("refused")
            assert "\n" not in str(refusal)  # noqa: PT017
    assert "read" in outcomes


# ---------------------------------------------------------------- where people are missing


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("promptfoo/out.json", "thumbs"),
        ("promptfoo/out.csv", "thumbs"),
        ("inspect/qa.eval", "edit scores"),
        ("inspect/samples.csv", "edit scores"),
        ("lm-eval/samples_toy.jsonl", "human_METRIC"),
        ("documented/openai_evals.jsonl", "a table of their ratings"),
    ],
)
def test_no_scorer_is_offered_as_a_person(reference: Path, file: str, remedy: str) -> None:
    path = reference / "harness" / file
    with pytest.raises(MetalError) as raised:
        metal.audit(path)
    message = str(raised.value)
    assert tells(message, "no human raters", "To add people", remedy, "metal import", "annotate")
    assert "kinds" not in message


def test_only_judges_that_may_be_people_are_offered_as_such(tmp_path: Path) -> None:
    rows = ["output,language,rater,kind,criterion,score"]
    for rater, kind in (("ada", "llm"), ("gpt-4/simple", "llm"), ("match", "metric")):
        rows += [f"o{number},en,{rater},{kind},tone,{number % 2}" for number in range(4)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    with pytest.raises(MetalError) as raised:
        metal.audit(tmp_path / "t.csv")
    assert tells(str(raised.value), "If some of ada are people", "annotate export")
    assert "match" not in str(raised.value)


# ---------------------------------------------------------------- the figures that users know


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "means"),
    [
        # accuracy in the log's own results: 0.8333 and 0
        ("inspect/qa.eval", ("model_graded_qa 83% of 12 outputs", "match 0% of 12")),
        # namedScores of the prompt: polite 2 of 3
        ("promptfoo/out.json", ("contains 67% of 3", "llm-rubric 67% of 3 outputs")),
        # 8 of 12 by the judge; people's 24 answers: 14 are 1
        ("documented/langfuse_scores.csv", ("evaluator 67% of 12", "people 58% of 12 outputs")),
    ],
)
def test_the_means_of_a_harness_stand_beside_peoples(
    reference: Path, file: str, means: tuple[str, ...]
) -> None:
    assert tells(metal.read(reference / "harness" / file).report, "mean scores", *means)


def test_means_of_other_scales_and_of_many_criteria(tmp_path: Path) -> None:
    names = [f"C{number}" for number in range(5)]
    cases = []
    for number in range(4):
        metrics = [{"name": name, "score": number / 8, "evaluationModel": "gpt"} for name in names]
        cases.append({"name": f"c{number}", "input": f"q{number}", "metricsData": metrics})
    cases[3]["metricsData"][0]["score"] = None
    report = metal.read(written(tmp_path, "run.json", {"testCases": cases}), language="en").report
    # 0, 1/8, 2/8 and nothing; then 0, 1/8, 2/8, 3/8
    assert tells(report, "C0: gpt 0.125 of 3 outputs", "C1: gpt 0.188 of 4 outputs", "; ...")
    assert not any("C3: gpt" in line for line in report)
