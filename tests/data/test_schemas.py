"""The JSON Schemas are of the records: what METAL writes is valid, every field is in its schema,
and what is valid is read.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from metal.data import dataset_lines
from metal.data.dataset import Card, Dataset, assemble, load_dataset
from metal.data.files import read_jsonl, read_toml
from metal.data.ratings import COLUMNS, FACTS, OPTIONAL, facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.data.schemas import VERSION, criterion_keys, data_schemas, field_texts
from metal.data.validating import sort_of
from metal.errors import DataError

SCHEMAS = data_schemas()
WORDS = st.text("ab é☃'\"\n", max_size=6)
NAMES = st.text("abcé☃", min_size=1, max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)


def valid(kind: str, value: object) -> bool:
    return Draft202012Validator(SCHEMAS[kind]).is_valid(value)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """A dataset whose records have any of their fields."""
    scale = draw(
        st.sampled_from(
            [
                Scale("ordinal", (Level(0, "Bad"), Level(1, "Good", True))),
                Scale("nominal", (Level(1, "no"), Level(0, "yes"))),
                Scale("interval", low=-1, high=1.5),
                Scale("interval"),
            ]
        )
    )
    criterion = Criterion(
        draw(NAMES),
        scale,
        draw(st.sampled_from(["higher", "lower"])),
        *(draw(WORDS) for _ in range(3)),
        draw(st.booleans()),
        draw(WORDS),
    )
    source = Source(
        "s",
        "en",
        *(draw(WORDS) for _ in range(2)),
        tuple(draw(st.lists(WORDS, max_size=2))),
        draw(st.none() | st.integers(0, 9)),
        *(draw(WORDS) for _ in range(3)),
    )
    output = Output(
        "o",
        "s",
        draw(NAMES),
        "en",
        *(draw(WORDS) for _ in range(2)),
        draw(st.booleans()),
        tuple(draw(st.lists(WORDS, max_size=2))),
        draw(st.none() | st.integers(0, 9)),
    )
    pair = Output("p", "s", "a", "en", first="a", second="b", texts=("one", "two"))
    probe = Output("q", "s", "a", "en", of="o", condition=draw(NAMES))
    raters = [
        Rater("A", "human", draw(WORDS), {"assisted_by": draw(st.sampled_from(["J", ["J"]]))}),
        Rater("J", "llm", draw(WORDS), draw(st.dictionaries(st.just("mine"), JSON))),
        Rater("M", "metric", "", {"range": [None, 1], "direction": "lower", "negated": True}),
    ]
    scores = st.none() | st.sampled_from([0.0, 1.0])
    ratings = []
    for rater in raters:
        score = draw(scores)
        ratings.append(
            Rating(
                *("o", criterion.name, rater.rater, score),
                "" if score is not None else draw(NAMES),
                draw(WORDS),
                draw(st.none() | st.floats(0, 1)),
                draw(st.none() | st.floats(0, 1)),
                draw(st.sampled_from(["", "0|1"] if scale.levels else [""])),
            )
        )
    card = Card(draw(NAMES), *(draw(WORDS) for _ in fields(Card)[1:]))
    parts = ([criterion], [source], [output, pair, probe], raters)
    return assemble(card, *parts, facts_from(ratings))


def check(kind: str, value: object) -> None:
    errors = [error.message for error in Draft202012Validator(SCHEMAS[kind]).iter_errors(value)]
    assert errors == [], value


@given(datasets())
def test_what_a_dataset_folder_holds_is_valid(
    tmp_path_factory: pytest.TempPathFactory, dataset: Dataset
) -> None:
    folder = tmp_path_factory.mktemp("saved") / "data"
    dataset.save(folder)
    check("dataset", read_toml(folder / "dataset.toml"))
    for kind in ("source", "output", "rater"):
        for _, line in read_jsonl(folder / f"{kind}s.jsonl"):
            check(kind, line)
    # as somebody would write ratings.jsonl
    facts = load_dataset(folder).ratings.loc[:, list(FACTS)].astype(object)
    for row in facts.where(facts.notna(), None).to_dict("records"):
        check("rating", row)


def test_every_schema_is_one_and_has_its_version() -> None:
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"urn:metal-eval:schema:{VERSION}:{name}"
        assert (schema["title"], schema["version"]) == (name, VERSION)


def test_every_field_of_a_record_is_in_its_schema() -> None:
    for kind, of in {"source": Source, "output": Output, "rating": Rating}.items():
        assert {field.name for field in fields(of)} <= SCHEMAS[kind]["properties"].keys()
    assert {*COLUMNS, *OPTIONAL} <= SCHEMAS["rating"]["properties"].keys()
    assert {field.name for field in fields(Card)} <= SCHEMAS["dataset"]["properties"].keys()
    scale = Scale("interval", low=0, high=1)
    full = Criterion("c", scale, "lower", "C", "See", "What?", False, "called")
    written = dataset_lines.criterion_record(full).keys() | {"levels"}
    assert SCHEMAS["criterion"]["properties"].keys() == written == set(criterion_keys())


def test_every_meaning_is_of_a_field() -> None:
    """A new field gets a line in metal/data/fields.toml."""
    texts = field_texts()
    for name, schema in SCHEMAS.items():
        assert texts[name].keys() == schema["properties"].keys(), name
        assert all(of["description"] for of in schema["properties"].values())
    levels = SCHEMAS["criterion"]["properties"]["levels"]["items"]
    assert texts["level"].keys() == levels["properties"].keys()


READERS = {
    "source": lambda line: dataset_lines.read_source(line, "here"),
    "output": lambda line: dataset_lines.read_output(line, "here"),
    "criterion": lambda line: dataset_lines.read_criterion("c", line, Path("here")),
}
WHOLE: dict[str, dict[str, Any]] = {
    "source": {"source": "s", "language": "en", "references": ["a"]},
    "output": {"output": "o", "source": "s", "generator": "g", "language": "en", "flags": ["a"]},
    "criterion": {"measure": "ordinal", "levels": [{"value": 0, "label": "a"}] * 2},
}


@pytest.mark.parametrize("kind", READERS)
@given(st.data())
def test_what_is_valid_is_read(kind: str, data: st.DataObject) -> None:
    """A line with one field changed: what the schema allows, the reader takes."""
    line = dict(WHOLE[kind])
    key = data.draw(st.sampled_from([*SCHEMAS[kind]["properties"], "unknown"]))
    line[key] = data.draw(JSON | st.sampled_from([0, 1, True, "higher", "lower", ["a"]]))
    if kind == "output" and key == "texts":
        return  # of a pair: two, which a schema cannot compare with the text
    if not valid(kind, line):
        return
    # what a schema cannot say: that levels rise
    unsaid = pytest.raises(DataError, match="scale") if kind == "criterion" else nullcontext()
    try:
        READERS[kind](line)
    except DataError:
        with unsaid:
            READERS[kind](line)


@pytest.mark.parametrize("kind", READERS)
def test_what_is_refused_is_not_valid(kind: str) -> None:
    for key in SCHEMAS[kind]["required"]:
        assert not valid(kind, {name: WHOLE[kind][name] for name in WHOLE[kind] if name != key})
    assert not valid(kind, {**WHOLE[kind], "unknown": 1})
    assert not valid(kind, [])


@given(st.sampled_from([*SCHEMAS["rater"]["properties"]]), JSON)
@example("range", [0, "1"])
@example("assisted_by", [])
@example("rater", " ")
def test_rater_cards_that_are_valid_are_read(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: Any
) -> None:
    card = {"rater": "A", "kind": "human", key: value}
    if valid("rater", card):
        folder = tmp_path_factory.mktemp("raters")
        (folder / "raters.jsonl").write_text(json.dumps(card))
        assert dataset_lines.read_raters(folder)[0].rater == card["rater"]


@pytest.mark.parametrize(
    ("rating", "fits"),
    [
        ({"score": 1}, True),
        ({"score": None, "reason": "refused"}, True),
        ({"score": None, "reason": ""}, False),
        ({"score": None}, False),
        ({}, False),
        ({"score": "1"}, False),
        ({"score": 1, "confidence": 1.5}, False),
        ({"score": 1, "kind": "llm", "language": "hi"}, True),
        ({"score": 1, "kind": "robot"}, False),
        ({"score": 1, "scroe": 2}, False),
        ({"score": 1, "rater": " "}, False),
    ],
)
def test_a_missing_answer_has_a_reason(rating: dict[str, Any], fits: bool) -> None:
    line = {"output": "o", "criterion": "c", "rater": "A", **rating}
    assert valid("rating", line) is fits


VALUES = st.sampled_from([None, True, False, 0, 1, 1.0, 0.5, -1, -0.5, 2, 1e400, float("nan")])
VALUES |= st.sampled_from(["", " ", "a", "human", "llm", "higher", "robot", [], {}, [1, 2]])


@given(st.sampled_from(["rating", "rater", "source", "output"]), st.data())
def test_records_of_one_sort_are_all_valid_or_none_is(kind: str, data: st.DataObject) -> None:
    """The validator is asked about one record of each sort."""
    schema = SCHEMAS[kind]
    names = st.sampled_from([*schema["properties"], "unknown"])
    by_sort: dict[Any, bool] = {}
    base = {name: "human" if name == "kind" else "a" for name in schema["required"]}
    for _ in range(40):
        record = {**base, **data.draw(st.dictionaries(names, VALUES, max_size=3))}
        if (sort := sort_of(record, schema)) is not None:
            assert by_sort.setdefault(sort, valid(kind, record)) == valid(kind, record), record


def test_the_datasets_that_come_with_metal_are_valid() -> None:
    for file in Path("datasets").glob("*/dataset.toml"):
        check("dataset", read_toml(file))
