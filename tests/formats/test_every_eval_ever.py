"""Records of Every Eval Ever: as others write them, with raters in a sidecar, and METAL's own,
which come back as they were.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import metal
from metal.api.exports.every_eval_ever import _folder, _models
from metal.cli import metal as command
from metal.data.dataset import Card, Dataset, assemble
from metal.data.files import bundled, read_jsonl
from metal.data.formats import recognize
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.errors import DataError, MetalError, UsageError
from tests.formats.harness_files import kinds, scores
from tests.saying import tells

DEMO = bundled("datasets/demo")
JUDGED = {"judges": [{"model_info": {"name": "J", "id": "lab/judge"}}], "input_prompt": "Rate it."}


def sample(number: int, model: str = "lab/small", **more: Any) -> dict[str, Any]:
    """A line of samples as a converter writes it."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"set/{model}/1",
        "model_id": model,
        "evaluation_name": "set.polite",
        "evaluation_result_id": "polite",
        "sample_id": f"{number}",
        "interaction_type": "single_turn",
        "input": {"raw": f"Question {number}", "reference": [f"Reference {number}"]},
        "output": {"raw": [f"Answer {number} of {model}"]},
        "answer_attribution": [],
        "evaluation": {"score": number % 2, "is_correct": number % 2 == 1},
        "metadata": {"language": ("en", "hi")[number % 2]},
        **more,
    }


def results(model: str, *metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"set/{model}/1",
        "retrieved_timestamp": "1760492095.8",
        "source_metadata": {},
        "model_info": {"name": model, "id": model},
        "eval_library": {"name": "unknown", "version": "unknown"},
        "evaluation_results": [
            {
                "evaluation_result_id": metric.get("metric_id", "polite"),
                "evaluation_name": "set.polite",
                "source_data": {"dataset_name": "set", "source_type": "other"},
                "metric_config": metric,
                "score_details": {"score": 0.5},
            }
            for metric in metrics
        ],
    }


BINARY = {"metric_id": "polite", "lower_is_better": False, "score_type": "binary"}


def write(folder: Path, *samples: Mapping[str, Any], metrics: Any = (BINARY,)) -> Path:
    """The records of each model among the samples."""
    for number, model in enumerate(dict.fromkeys(each["model_id"] for each in samples)):
        home = folder / "data" / "set" / model
        home.mkdir(parents=True, exist_ok=True)
        name = f"0000000{number}-0000-4000-8000-000000000000"
        lines = (json.dumps(each) + "\n" for each in samples if each["model_id"] == model)
        (home / f"{name}_samples.jsonl").write_text("".join(lines))
        if metrics:
            (home / f"{name}.json").write_text(json.dumps(results(model, *metrics)))
    return folder


def both(**more: Any) -> list[dict[str, Any]]:
    models = ("lab/small", "lab/large")
    return [sample(number, model, **more) for model in models for number in range(6)]


def test_records_of_others(tmp_path: Path) -> None:
    data = metal.read(write(tmp_path / "out", *both()))
    assert kinds(data) == {"polite": "metric"}
    assert {output.generator for output in data.outputs.values()} == {"lab/small", "lab/large"}
    assert data.languages == ("en", "hi")
    assert data.sources["1"].text == "Question 1"
    assert data.sources["1"].references == ("Reference 1",)
    assert data.outputs["1/lab/small"].text == "Answer 1 of lab/small"
    assert scores(data, "polite") == [0, 1, 0, 1, 0, 1] * 2
    assert data.criteria["set.polite"].scale.values == (0, 1)
    assert data.criteria["set.polite"].direction == "higher"


def test_the_folder_the_results_and_the_samples_are_recognized(tmp_path: Path) -> None:
    folder = write(tmp_path / "out", *both())
    folders = [path for path in (folder / "data").rglob("*") if path.is_dir()]
    places = [folder, folder / "data", *folders, *folder.rglob("*.json*")]
    assert len(places) == 10
    for place in places:
        assert recognize(place) == "every-eval-ever", place
    bare = write(tmp_path / "bare", *both(), metrics=())
    assert recognize(bare) == recognize(bare / "data" / "set") == "every-eval-ever"
    [small] = folder.rglob("small/*.json")
    [samples] = folder.rglob("small/*.jsonl")
    assert metal.read(small).ratings.equals(metal.read(samples).ratings)
    assert len(metal.read(folder / "data" / "set").ratings) == 12


def test_judges_are_named_by_the_configuration(tmp_path: Path) -> None:
    metric = {**BINARY, "llm_scoring": JUDGED, "lower_is_better": True}
    data = metal.read(write(tmp_path / "out", *both(), metrics=[metric]))
    assert kinds(data) == {"lab/judge": "llm"}
    assert data.criteria["set.polite"].direction == "lower"


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(0, 100, (0, 100)), ("-Infinity", "Infinity", None), (-(10**400), 1e999, None), (5, 1, None)],
)
def test_bounds_are_the_ends_of_the_scale(tmp_path: Path, low: Any, high: Any, ends: Any) -> None:
    metric = {
        "metric_id": "points",
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }
    lines = both()
    for number, line in enumerate(lines):
        line["evaluation"] = {"score": 7.5 * number}
    data = metal.read(write(tmp_path / "out", *lines, metrics=[metric]))
    assert data.criteria["set.polite"].scale.ends == ends


def test_several_metrics_of_an_evaluation_are_criteria(tmp_path: Path) -> None:
    metrics = [BINARY, {**BINARY, "metric_id": "brief", "metric_name": "Brevity"}]
    lines = [*both(), *both(evaluation_result_id="brief")]
    data = metal.read(write(tmp_path / "out", *lines, metrics=metrics))
    assert sorted(data.criteria) == ["set.polite/Brevity", "set.polite/polite"]
    assert len(data.outputs) == 12


def test_what_is_no_score_is_missing_with_its_reason(tmp_path: Path) -> None:
    levels = {"metric_id": "polite", "score_type": "levels", "has_unknown_level": True}
    lines = both()
    lines[0] |= {"error": "timeout"}
    lines[1]["evaluation"] = {"score": -1}
    lines[2]["evaluation"] = {"score": "many"}
    data = metal.read(write(tmp_path / "out", *lines, metrics=[levels]))
    table = data.ratings[data.ratings["score"].isna()]
    assert sorted(table["reason"]) == ["no score", "timeout", "unknown level"]


def test_samples_of_two_evaluations_with_one_id_are_two_sources(tmp_path: Path) -> None:
    other = sample(1, evaluation_name="other", evaluation_result_id="o")
    other["input"] = {"raw": "Something else", "reference": []}
    data = metal.read(write(tmp_path / "out", *both(), other))
    assert {"set.polite/1", "other/1"} <= data.sources.keys()
    assert data.sources["other/1"].text == "Something else"


def test_a_sample_that_was_run_twice_is_two_outputs(tmp_path: Path) -> None:
    again = sample(1)
    again["output"] = {"raw": ["Another answer"]}
    data = metal.read(write(tmp_path / "out", *both(), again))
    assert data.outputs["1/lab/small#2"].text == "Another answer"


def test_turns_of_a_conversation_are_read(tmp_path: Path) -> None:
    turns = [
        {"turn_idx": 0, "role": "user", "content": "Hello"},
        {"turn_idx": 1, "role": "assistant", "content": "First"},
        {"turn_idx": 2, "role": "assistant", "content": "Second"},
    ]
    more = {"interaction_type": "multi_turn", "messages": turns, "output": None}
    data = metal.read(write(tmp_path / "out", *both(**more)))
    assert data.outputs["1/lab/small"].text == "First\n\nSecond"


def test_without_a_language_it_is_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "out", *both(metadata={"topic": "law"}))
    assert metal.read(folder, language="sw").languages == ("sw",)


def test_results_without_samples_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "out", *both())
    for file in folder.rglob("*.jsonl"):
        file.unlink()
    for place in (folder, *folder.rglob("*.json")):
        with pytest.raises(DataError) as refused:
            metal.read(place)
        assert tells(str(refused.value), "without samples", "_samples.jsonl")


def test_raters_in_a_sidecar_join_the_records(tmp_path: Path) -> None:
    folder = write(tmp_path / "out", *both())
    (folder / "raters").mkdir()
    cards = [{"rater": name, "kind": "human", "group": "native"} for name in ("A", "B")]
    ratings = [
        {"output": f"{number}/lab/small", "criterion": "set.polite", "rater": name, "score": 1}
        for number in range(6)
        for name in ("A", "B")
    ]
    ratings[0] |= {"score": None, "reason": "skipped"}
    for name, lines in (("raters", cards), ("ratings", ratings)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "raters" / f"{name}.jsonl").write_text(text)
    assert metal.schema_validate(folder / "raters" / "ratings.jsonl").valid
    data = metal.read(folder)
    assert kinds(data) == {"polite": "metric", "A": "human", "B": "human"}
    assert tells(data.report, "12 ratings by 2 raters")
    assert data.ratings["reason"].tolist().count("skipped") == 1
    ratings[1]["criterion"] = "tone"
    (folder / "raters" / "ratings.jsonl").write_text(json.dumps(ratings[1]))
    with pytest.raises(DataError) as refused:
        metal.read(folder)
    assert tells(str(refused.value), "tone", "dataset.toml", "[criteria]")
    (folder / "raters" / "dataset.toml").write_text("[criteria.tone]\nrange = [0, 10]\n")
    assert metal.read(folder).criteria["tone"].scale.ends == (0, 10)
    ratings[1]["output"] = "7/lab/small"
    (folder / "raters" / "ratings.jsonl").write_text(json.dumps(ratings[1]))
    with pytest.raises(DataError) as refused:
        metal.read(folder)
    assert tells(str(refused.value), "7/lab/small", "does not exist")


# ---------------------------------------------------------------- METAL's own

TEXT = st.text("aé☃\n'\" =", max_size=8)
NAME = st.sampled_from(["gpt-4o", "meta/Llama-3.1", "a:b", "a?b", "../up", "CON", "data", "☃."])


def same(ours: Dataset, theirs: Dataset) -> None:
    for part in ("card", "criteria", "sources", "outputs", "raters", "extra"):
        assert getattr(ours, part) == getattr(theirs, part), part
    pd.testing.assert_frame_equal(
        ours.ratings.astype(object), theirs.ratings.astype(object), check_column_type=False
    )
    assert ours.digest == theirs.digest


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Outputs of any kind, by any generator; people and a judge who rate some of them."""
    criteria = [
        Criterion("tone", Scale("ordinal", (Level(0, "rude"), Level(2, "polite"))), "lower"),
        Criterion("sort", Scale("nominal", tuple(map(Level, (0, 1, 2), "abc")))),
        Criterion("free", Scale("interval")),
    ]
    sources = [
        Source(f"s{number}", "hi", draw(TEXT), draw(TEXT), tuple(draw(st.lists(TEXT, max_size=2))))
        for number in range(3)
    ]
    outputs = []
    for number, generator in enumerate(draw(st.lists(NAME, min_size=1, max_size=4, unique=True))):
        source = f"s{number % 3}"
        outputs.append(
            Output(
                f"o{number}", source, generator, "hi", draw(TEXT), draw(TEXT), draw(st.booleans())
            )
        )
    outputs.append(Output("probe", "s0", "gpt-4o", "hi", "x", of="o0", condition="swapped output"))
    outputs.append(Output("pair", "s1", "a and b", "hi", first="a", second="b", texts=("1", "2")))
    raters = [Rater("A", "human", "native"), Rater("B", "human"), Rater("J", "llm", "gpt")]
    ratings = [Rating("o0", "tone", "A", 2.0, comment=draw(TEXT))]
    for output in outputs[1:]:
        for rater in raters:
            if draw(st.booleans()):
                score = draw(st.sampled_from([None, 0.0, 2.0]))
                name = draw(st.sampled_from(["tone", "sort", "free"]))
                reason = "" if score is not None else "refused"
                ratings.append(
                    Rating(output.output, name, rater.rater, score, reason, draw(TEXT), 0.5)
                )
    extra = {"generators": {"gpt-4o": {"kind": draw(st.sampled_from(["llm", "human"]))}}}
    if outputs[0].generator == "gpt-4o":
        extra = {}
    parts = (criteria, sources, outputs, raters, facts_from(ratings))
    return assemble(Card(draw(NAME), draw(TEXT)), *parts, extra=extra)


@settings(max_examples=10)
@given(datasets())
def test_what_is_written_is_read_again_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, dataset: Dataset
) -> None:
    out = tmp_path_factory.mktemp("out") / "eee"
    metal.export(dataset, to="every-eval-ever", out=out)
    same(metal.read(out), dataset)
    check_records(out)
    assert metal.schema_validate(out / "raters").valid


def test_the_demo_comes_back(tmp_path: Path) -> None:
    dataset = metal.read(DEMO)
    table = metal.export(dataset, to="every-eval-ever", out=tmp_path / "eee")
    assert tells(table.attrs["warnings"], "3 generators in unknown/", "DEVELOPER/MODEL")
    same(metal.read(tmp_path / "eee"), dataset)
    check_records(tmp_path / "eee")


TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
NAMES = ("schema_version", "evaluation_id", "model_id", "evaluation_name")
NAMES += ("evaluation_result_id", "sample_id", "sample_hash")
SAMPLE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["sample_id", "interaction_type", "input", "output", "answer_attribution"],
    "properties": {
        **{name: {"type": "string"} for name in NAMES},
        "interaction_type": {"const": "single_turn"},
        "input": {"required": ["raw", "reference"]},
        "output": {"required": ["raw"], "properties": {"raw": {"items": {"type": "string"}}}},
        "answer_attribution": {"type": "array"},
        "evaluation": {
            "required": ["score", "is_correct"],
            "properties": {"score": {"type": "number"}, "is_correct": {"type": "boolean"}},
        },
        "metadata": TEXTS,
    },
}


def aggregates(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in out.glob("data/*/*/*/*.json"):
        yield file, json.loads(file.read_text(encoding="utf-8"))


def check_records(out: Path) -> None:
    """What the format asks of records besides types: names, links, counts and bounds."""
    folders = set()
    for file, record in aggregates(out):
        assert UUID(file.stem).version == 4
        detailed, model = record["detailed_evaluation_results"], record["model_info"]["id"]
        samples = file.with_name(f"{file.stem}_samples.jsonl")
        assert detailed["file_path"] == samples.relative_to(out).as_posix()
        assert file.parent == out / "data" / file.parts[-4] / model
        assert not re.search(r'[<>:"\\|?*]', "/".join(file.relative_to(out).parts))
        assert detailed["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
        lines = [line for _, line in read_jsonl(samples)]
        assert detailed["total_rows"] == len(lines) > 0
        by_result: dict[str, list[float]] = {}
        for line in lines:
            assert Draft202012Validator(SAMPLE).is_valid(line), line
            assert (line["evaluation_id"], line["model_id"]) == (record["evaluation_id"], model)
            by_result.setdefault(line["evaluation_result_id"], []).append(
                line["evaluation"]["score"]
            )
        for result in record["evaluation_results"]:
            values = by_result.pop(result["evaluation_result_id"])
            metric, score = result["metric_config"], result["score_details"]["score"]
            assert score == pytest.approx(sum(values) / len(values))
            assert float(metric["min_score"]) <= score <= float(metric["max_score"])
            assert Draft202012Validator(TEXTS).is_valid(metric["additional_details"])
        assert by_result == {}
        folders.add(str(file.parent).casefold())
    assert len(folders) == len(list(aggregates(out)))


def small(**extra: Any) -> Dataset:
    """Four outputs; people rated three, one of them by a person; a judge rated all."""
    sources = [Source("s", "hi", "प्रश्न", references=("उत्तर",))]
    outputs = [
        Output(f"o{n}", "s", generator, "hi", f"Text {n}") for n, generator in enumerate("abcd")
    ]
    raters = [Rater("A", "human"), Rater("B", "human"), Rater("J", "llm")]
    tone = Criterion("tone", Scale.of("1-5"), "lower", question="How rude?")
    ratings = [Rating(f"o{n}", "tone", "J", 1.0) for n in range(4)]
    ratings += [Rating("o0", "tone", "A", 2.0), Rating("o0", "tone", "B", 5.0)]
    ratings += [Rating("o1", "tone", "A", 1.0), Rating("o2", "tone", "A", 1.0)]
    ratings.append(Rating("o3", "tone", "A", None, "refused"))
    extra = {"generators": {"c": {"kind": "human"}}}
    return assemble(
        Card("letters"), [tone], sources, outputs, raters, facts_from(ratings), extra=extra
    )


def test_a_record_has_the_mean_of_people(tmp_path: Path) -> None:
    #   a: (2 + 5) / 2 = 3.5, above the middle of 1 to 5, where lower is better;  b: 1
    #   c is a person's text, and of d nobody gave a score: both are in the sidecar only
    table = metal.export(small(), to="every-eval-ever", out=tmp_path / "eee")
    assert tells(table.attrs["warnings"], "2 outputs only in the sidecar")
    records = {record["model_info"]["name"]: record for _, record in aggregates(tmp_path / "eee")}
    assert sorted(records) == ["a", "b"]
    [result] = records["a"]["evaluation_results"]
    assert result["score_details"]["score"] == 3.5
    metric = result["metric_config"]
    assert (metric["lower_is_better"], metric["min_score"], metric["max_score"]) == (True, 1, 5)
    lines = [
        json.loads(file.read_text()) for file in sorted((tmp_path / "eee").rglob("*.jsonl"))[:0]
    ]
    lines = [json.loads(file.read_text()) for file in (tmp_path / "eee" / "data").rglob("*.jsonl")]
    assert {line["model_id"]: line["evaluation"] for line in lines} == {
        "unknown/a": {"score": 3.5, "is_correct": False},
        "unknown/b": {"score": 1.0, "is_correct": True},
    }
    assert {line["metadata"]["people"] for line in lines} == {"1", "2"}


def test_without_its_sidecar_a_record_is_the_mean_of_people(tmp_path: Path) -> None:
    metal.export(small(), to="every-eval-ever", out=tmp_path / "eee")
    shutil.rmtree(tmp_path / "eee" / "raters")
    data = metal.read(tmp_path / "eee")
    assert data.raters["people"].kind == "human"
    assert data.raters["people"].about["panel"] is True
    assert scores(data, "people") == [3.5, 1]
    assert list(data.criteria) == ["tone"]
    assert data.criteria["tone"].direction == "lower"
    assert data.outputs["o0"].text == "Text 0"


def test_records_that_are_missing_or_strange_are_said(tmp_path: Path) -> None:
    metal.export(small(), to="every-eval-ever", out=tmp_path / "eee")
    [gone] = (tmp_path / "eee").rglob("a/*_samples.jsonl")
    [changed] = (tmp_path / "eee").rglob("b/*_samples.jsonl")
    gone.unlink()
    changed.write_text(changed.read_text() + json.dumps(sample(1)) + "\n")
    report = metal.read(tmp_path / "eee").report
    assert tells(report, "1 output without a text")
    assert tells(report, "1 record left out", "row 2")
    with pytest.raises(UsageError) as refused:
        metal.read(tmp_path / "eee", language="hi")
    assert tells(str(refused.value), "`language`", "raters")


def test_data_without_people_are_refused(tmp_path: Path) -> None:
    data = small()
    judged = replace(data, ratings=data.ratings[data.ratings["kind"] == "llm"])
    with pytest.raises(UsageError) as refused:
        metal.export(judged, to="every-eval-ever", out=tmp_path / "eee")
    assert tells(str(refused.value), "letters", "mean of people's")
    assert not (tmp_path / "eee").exists()


def test_force_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    def run(*words: object) -> Any:
        return CliRunner().invoke(command, ["export", *map(str, words)])

    small().save(tmp_path / "letters")
    asked = (tmp_path / "letters", "--to", "every-eval-ever", "--out", tmp_path / "eee")
    assert run(*asked).exit_code == 0
    assert tells(str(run(*asked).exception), "exists")
    assert run(*asked, "--force").exit_code == 0
    assert (tmp_path / "eee.replaced" / "raters").is_dir()
    # a folder of datasets, of which one is called raters
    small().save(tmp_path / "mine" / "raters")
    refused = run(*asked[:-1], tmp_path / "mine", "--force")
    assert isinstance(refused.exception, UsageError)
    assert (tmp_path / "mine" / "raters" / "dataset.toml").is_file()


def test_names_of_models_are_names_of_folders() -> None:
    models = _models(["meta/Llama-3.1", "x", "a:b", "a?b", "../up", "con", "org/team/m"])
    assert models["meta/Llama-3.1"] == "meta/Llama-3.1"
    assert models["x"] == "unknown/x"
    assert (models["a:b"], models["a?b"]) == ("unknown/a_b", "unknown/a_b-2")
    assert models["org/team/m"] == "org_team/m"
    for model in models.values():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", model), model
        assert ".." not in model
    assert (_folder("data"), _folder("CON.txt"), _folder("...")) == ("data_", "CON.txt_", "_")


@given(st.data())
def test_damaged_records_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any value in the place of any field: read, or refused with one of METAL's errors."""
    value = data.draw(
        st.none()
        | st.integers(-2, 2)
        | st.text("a☃", max_size=3)
        | st.just([])
        | st.just({"a": [1]})
    )
    line, record = sample(1), results("lab/small", {**BINARY, "llm_scoring": JUDGED})
    part = data.draw(st.sampled_from(["line", "record", "metric"]))
    metric = record["evaluation_results"][0]["metric_config"]
    target: dict[str, Any] = {"line": line, "record": record, "metric": metric}[part]
    target[data.draw(st.sampled_from(sorted(target)))] = value
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "x_samples.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in [sample(0), line])
    )
    (folder / "x.json").write_text(json.dumps(record))
    with suppress(MetalError):
        metal.read(folder, "every-eval-ever")
