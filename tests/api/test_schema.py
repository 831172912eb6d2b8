"""`metal.schema` and `metal schema validate`: what runs write is valid, and each fault is said with
its place.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import metal
from metal.api.schema import RECORDS
from metal.cli import metal as command
from metal.data.files import bundled
from metal.data.ratings_files import read_facts
from metal.data.schemas import RATER_FACTS
from metal.data.validating import MOST
from metal.errors import UnknownName, UsageError
from metal.runs.passport import digest
from metal.runs.run import IDENTITY
from tests.api.schema_pages import EXAMPLES
from tests.saying import tells

DEMO = bundled("datasets/demo")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of several verbs over the demo, and what each writes."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(DEMO, folder / "demo")
    demo = folder / "demo"
    chosen: dict[str, Any] = {"languages": "en", "criteria": "task_quality"}
    metal.judge(demo, "fake:blind", repeat=2, limit=40, out=folder / "judges", **chosen)
    metal.judge(demo, "majority", out=folder / "baseline", **chosen)
    metal.score(demo, "compression,copy-rate,novelty", out=folder / "scores")
    metal.jury(demo, resamples=100, **chosen).save(folder / "jury")
    audit = metal.audit(demo, folder / "judges", languages="en,hi", resamples=100)
    audit.save(folder / "audit")
    metal.passport(audit).save(folder / "passport")
    return folder


def test_exported_lines_fit_the_published_schema(runs: Path, tmp_path: Path) -> None:
    metal.export(runs / "demo", to="jsonl", out=tmp_path / "demo.jsonl")
    validator = Draft202012Validator(metal.schema("rating"))
    lines = (tmp_path / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 1000
    assert all(map(validator.is_valid, map(json.loads, lines)))


@pytest.mark.parametrize("name", ["judges", "baseline", "scores", "jury", "audit", "passport"])
def test_what_a_run_writes_is_valid(runs: Path, name: str) -> None:
    validated = metal.schema_validate(runs / name)
    assert (validated.faults, validated.more) == ((), 0)
    assert validated.valid
    assert validated.records["rater"] > 0


def test_every_field_that_is_written_is_in_its_schema(runs: Path) -> None:
    schemas = metal.schema()
    verdicts = json.loads((runs / "audit/tables/verdicts.json").read_text())
    assert verdicts[0].keys() == schemas["verdict"]["properties"].keys()
    for cards in runs.glob("*/raters.jsonl"):
        for line in cards.read_text().splitlines():
            assert json.loads(line).keys() <= schemas["rater"]["properties"].keys()
    passport = json.loads((runs / "passport/passport.json").read_text())
    described = schemas["passport"]["properties"]
    assert passport.keys() == described.keys()
    judge = described["judges"]["additionalProperties"]["properties"]
    assert {*IDENTITY, "versions"} <= RATER_FACTS.keys()
    for of in passport["judges"].values():
        assert of.keys() <= judge.keys()
        for cell in of["cells"]:
            assert cell.keys() <= judge["cells"]["items"]["properties"].keys()


def test_the_schemas_are_those_of_the_records() -> None:
    schemas = metal.schema()
    assert tuple(schemas) == RECORDS
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert metal.schema(name) == schema
        assert all(of["description"] for of in schema["properties"].values())
    with pytest.raises(UnknownName):
        metal.schema("ratings")


@pytest.mark.parametrize("name", RECORDS)
def test_the_examples_of_the_page_are_valid(name: str) -> None:
    errors = Draft202012Validator(metal.schema(name)).iter_errors(EXAMPLES[name])
    assert [error.message for error in errors] == []


@pytest.mark.parametrize("dataset", ["datasets/demo", "datasets/mlqe"])
def test_a_dataset_folder_is_valid(dataset: str) -> None:
    validated = metal.schema_validate(dataset)
    assert validated.valid
    assert set(validated.records) == {"dataset", "source", "output", "rater", "rating"}


def change(file: str, old: str, new: str) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return changed


def without_output(folder: Path) -> None:
    lines = (folder / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "outputs.jsonl").write_text("\n".join(lines[1:]), encoding="utf-8")


def confident(folder: Path) -> None:
    [file] = folder.glob("ratings.*")
    ratings = read_facts(file).assign(confidence=0.5)
    ratings.loc[7, "confidence"] = 1.5
    file.unlink()
    ratings.to_parquet(folder / "ratings.parquet")


@pytest.mark.parametrize(
    ("harm", "facts"),
    [
        (change("dataset.toml", 'measure = "ordinal"', 'measure = "rank"'), ("measure", '"rank"')),
        (change("dataset.toml", "value = 0", 'value = "0"'), ("levels[0].value", "a number")),
        (change("dataset.toml", 'name = "demo"', 'nam = "demo"'), ("dataset.toml: no 'name'",)),
        (change("raters.jsonl", '"human"', '"person"'), ("line 1", "kind", '"human"')),
        (change("raters.jsonl", "{", "["), ("raters.jsonl line 1", "not JSON")),
        (change("sources.jsonl", '"text"', '"txt"'), ("line 1", "'txt'", "'text'")),
        (change("outputs.jsonl", '"generator": "', '"generator": "", "note": "'), ("generator",)),
        (change("sources.jsonl", '"ar"', '"nosuch"'), ("sources.jsonl row", "nosuch")),
        (without_output, ("ratings.", "row", "does not exist")),
        (confident, ("ratings.parquet row 8", "confidence", "at most 1")),
    ],
)
def test_each_fault_of_a_folder_is_said_with_its_place(
    tmp_path: Path, harm: Callable[[Path], None], facts: tuple[str, ...]
) -> None:
    shutil.copytree(DEMO, tmp_path / "data")
    harm(tmp_path / "data")
    faults = metal.schema_validate(tmp_path / "data").faults
    assert tells(faults, *facts), faults


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["ratings.{}", "ratings.out"])
def test_an_exported_table_is_valid(to: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name.format(to)
    table = metal.export("datasets/demo", to=to, out=path)
    found = metal.schema_validate(path)
    assert found.valid, found.faults
    assert found.records == {"rating": len(table), "criterion": 4}


def test_faults_of_an_exported_table_are_said_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    table = metal.export("datasets/demo", to="csv", out=path)
    table["score"] = table["score"].astype(object)
    table.loc[2, "score"], table.loc[3, "kind"] = "x", "alien"
    table["criterion_record"] = table["criterion_record"].str.replace("measure", "measur")
    table.loc[9, "criterion_record"] = "{"
    table.to_csv(path, index=False)
    faults = metal.schema_validate(path).faults
    assert tells(faults, "row 2: unknown key 'measur'")
    assert tells(faults, "row 4", "score", '"x"', "number")
    assert tells(faults, "row 5: kind", "alien")
    assert tells(faults, "row 11", "not JSON")
    table = metal.export("datasets/demo", to="csv", out=path, force=True)
    table.loc[2, "score"] = 7
    table.to_csv(path, index=False)
    assert tells(metal.schema_validate(path).faults, "score 7", "not on the scale")


def test_an_export_for_another_program_is_no_record(tmp_path: Path) -> None:
    metal.export("datasets/demo", to="inspect", out=tmp_path / "edits")
    with pytest.raises(UsageError) as refused:
        metal.schema_validate(tmp_path / "edits")
    assert tells(str(refused.value), "edits", "another program")


GOOD = {"output": "o", "criterion": "c", "rater": "A", "score": 1}


def validated(tmp_path: Path, content: str, name: str = "mine.jsonl") -> metal.Validated:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return metal.schema_validate(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ({**GOOD, "score": None}, ("line 2: no 'reason'",)),
        ({**GOOD, "score": [1]}, ("line 2: score", "a number or null")),
        ({**GOOD, "rater": ""}, ("line 2: rater is empty",)),
        ({**GOOD, "scroe": 1, "x": 1}, ("unknown key 'scroe' (and 1 more)", "'score'")),
        ([GOOD], ("line 2: the record", "an object")),
    ],
)
def test_a_line_of_ratings(tmp_path: Path, line: object, facts: tuple[str, ...]) -> None:
    found = validated(tmp_path, f"{json.dumps(GOOD)}\n{json.dumps(line)}\n")
    assert found.records == {"rating": 2}
    assert tells(found.faults, *facts), found.faults


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (
            '{"output": "o", "rater": "A", "criterion": "c", "score": NaN}',
            ("line 1", "NaN", "null"),
        ),
        ("[" * 100_000, ("line 1", "nested too deeply")),
        ('{"score": ' + "9" * 5000 + "}", ("line 1", "thousands of digits")),
        ("\x00", ("line 1", "not JSON")),
    ],
)
def test_hostile_lines_are_faults(tmp_path: Path, content: str, facts: tuple[str, ...]) -> None:
    assert tells(validated(tmp_path, content).faults, *facts)
    assert tells(validated(tmp_path, content, "mine.json").faults, *facts)


def test_bytes_that_are_not_utf_8_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "ratings.jsonl").write_bytes(json.dumps(GOOD).encode() + b"\n\xff\n")
    assert tells(metal.schema_validate(tmp_path / "ratings.jsonl").faults, "line 2", "not UTF-8")


def test_many_faults_are_counted(tmp_path: Path) -> None:
    found = validated(tmp_path, "x\n" * (MOST + 5), "ratings.jsonl")
    assert (len(found.faults), found.more) == (MOST, 5)
    ran = CliRunner().invoke(command, ["schema", "validate", str(tmp_path / "ratings.jsonl")])
    assert ran.output.count("not JSON") == MOST
    assert tells(str(ran.exception), "105 faults", "100 are shown")


def test_long_and_wild_values_are_cut(tmp_path: Path) -> None:
    found = validated(tmp_path, json.dumps({**GOOD, "score": "a\x1b[31m\n" * 10_000}))
    assert len(found.faults[0]) < 400
    assert "\x1b" not in found.faults[0]


def test_nothing_says_what_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"a": 1}')
    with pytest.raises(UsageError) as refused:
        metal.schema_validate(tmp_path / "mine.json")
    assert tells(str(refused.value), "mine.json", "`record`", "rating")
    faults = metal.schema_validate(tmp_path / "mine.json", record="criterion").faults
    assert tells(faults, "unknown key 'a'")
    with pytest.raises(UsageError):
        metal.schema_validate(tmp_path)
    with pytest.raises(UsageError):
        metal.schema_validate(tmp_path / "none.json")


def test_a_passport_that_was_altered(runs: Path, tmp_path: Path) -> None:
    passport = json.loads((runs / "passport/passport.json").read_text())
    passport["expires"] = "2999-01-01"
    assert tells(validated(tmp_path, json.dumps(passport), "p.json").faults, "p.json", "SHA-256")
    for judge in passport["judges"].values():
        judge["cells"][0]["use"] = "always"
    passport["sha256"] = digest(passport)
    found = validated(tmp_path, json.dumps(passport), "p.json")
    assert len(found.faults) == len(passport["judges"])
    assert tells(found.faults, "cells[0].use", '"always"', '"alone"')


def test_what_audit_prints_is_valid(runs: Path, tmp_path: Path) -> None:
    printed = {"headline": "...", "verdicts": metal.open_run(runs / "audit").verdicts}
    rows = json.loads(printed["verdicts"].to_json(orient="records"))
    found = validated(tmp_path, json.dumps({**printed, "verdicts": rows}), "audit.json")
    assert found.valid
    assert found.records == {"verdict": len(rows)}
    rows[0]["verdict"] = "good"
    found = validated(tmp_path, json.dumps(rows), "audit.json")
    assert tells(found.faults, "item 1", "verdict", '"good"', '"like a person"')


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1.0, 2.0, np.nan]),
            st.sampled_from(["", "why"]),
            st.sampled_from([np.nan, -0.1, 0.0, 1.0, 1.1]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_table_has_the_faults_of_its_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, str, float]]
) -> None:
    """Of rows that are alike to the schema one is compared: a table is valid if all of them are."""
    frame = pd.DataFrame(rows, columns=["score", "reason", "confidence"])
    frame = frame.assign(output="o", criterion="c", rater="A")
    folder = tmp_path_factory.mktemp("table")
    frame.to_parquet(folder / "ratings.parquet")
    plain = frame.astype(object).where(frame.notna(), None)
    schema = Draft202012Validator(metal.schema("rating"))
    alone = all(schema.is_valid(row) for row in plain.to_dict("records"))
    found = metal.schema_validate(folder / "ratings.parquet")
    assert found.valid == alone
    assert found.records == {"rating": len(rows)}


def test_the_command_line(tmp_path: Path, runs: Path) -> None:
    def run(*words: object) -> Any:
        return CliRunner().invoke(command, list(map(str, words)), prog_name="metal")

    listed = run("schema")
    assert [line.split()[0] for line in listed.output.splitlines()] == list(RECORDS)
    assert json.loads(run("schema", "rater").output) == metal.schema("rater")
    good = run("schema", "validate", runs / "demo")
    assert (good.exit_code, good.output.count("\n")) == (0, 1)
    assert tells(good.output, "valid", "1 dataset", "80 sources", "6,720 ratings")
    (tmp_path / "raters.jsonl").write_text('{"rater": "A"}\n{"kind": "human"}\n')
    bad = run("schema", "validate", tmp_path / "raters.jsonl")
    assert bad.output.splitlines() == [
        f"{tmp_path}/raters.jsonl line 1: no 'kind'",
        f"{tmp_path}/raters.jsonl line 2: no 'rater'",
    ]
    assert isinstance(bad.exception, UsageError)  # with which `metal` exits with 2
    assert tells(str(bad.exception), "2 faults")


# ---------------------------------------------------------------- records of Every Eval Ever


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "eee"
    metal.export("datasets/demo", to="every-eval-ever", out=folder)
    return folder


def test_records_and_their_sidecar_are_valid(records: Path) -> None:
    found = metal.schema_validate(records)
    assert found.faults == ()
    assert found.records["Every Eval Ever record"] == 3
    assert found.records["rating"] == 6720
    assert found.records["rater"] == 16


@pytest.mark.parametrize(
    ("pattern", "old", "new", "facts"),
    [
        ("data/**/*_samples.jsonl", '"sample_id"', '"sample"', ("line 1", "no 'sample_id'")),
        ("data/**/????????-*.json", '"evaluation_results"', '"results"', ("evaluation_results",)),
        ("data/**/*_samples.jsonl", '{"schema_version"', "{", ("line 1", "not JSON")),
        ("raters/raters.jsonl", '"human"', '"robot"', ("raters.jsonl line 1", "robot")),
        ("raters/outputs.jsonl", '"output": "en-1/strong"', '"output": "x"', ("x",)),
    ],
)
def test_faults_in_records_and_sidecar_are_said(
    records: Path, pattern: str, old: str, new: str, facts: tuple[str, ...]
) -> None:
    path = next(iter(sorted(records.glob(pattern))))
    path.write_text(path.read_text().replace(old, new, 1))
    assert tells(metal.schema_validate(records).faults, *facts)


def test_records_without_a_sidecar(records: Path) -> None:
    shutil.rmtree(records / "raters")
    assert metal.schema_validate(records).valid
