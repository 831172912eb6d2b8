"""What may join: names, rows of a table, a generator's outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metal.boards.history import check_name, generator_outputs, read_rows
from metal.errors import DataError, UsageError
from tests.conftest import MakeDataset

HERE = Path("t.csv")


def test_names() -> None:
    assert check_name("  a b ", ["c"], "rater") == "a b"
    assert check_name("e\u0301", [], "rater") == "\u00e9"
    for name in ("", " ", "a\tb", "x" * 81, "\u200b", "PEOPLE", "ensemble (unseen)"):
        with pytest.raises(UsageError, match="`name`"):
            check_name(name, [], "rater")
    with pytest.raises(UsageError, match="rater 'c' is on the board"):
        check_name(" c", ["c"], "rater")


@pytest.mark.parametrize(("source", "text"), [("source", "text"), ("SEG_ID", " hyp"), ("id", "summary")])
def test_columns(source: str, text: str) -> None:
    assert read_rows({"more": [0], source: ["a"], text: ["b"]}, HERE) == [("a", "b")]


@pytest.mark.parametrize(
    ("cell", "read"), [(7, "7"), ("007", "007"), (7.0, "7"), (7.5, None), (True, None), (None, None), (["a"], None)]
)
def test_ids(cell: Any, read: str | None) -> None:
    if read is not None:
        assert read_rows({"source": [cell], "text": ["x"]}, HERE) == [(read, "x")]
        return
    with pytest.raises(DataError, match=r"t.csv row 3"):
        read_rows({"source": ["a", cell], "text": ["x", "x"]}, HERE)


def test_texts() -> None:
    cells = [None, float("nan"), "", "\ud800x"]
    assert [text for _, text in read_rows({"source": list("abcd"), "text": cells}, HERE)] == ["", "", "", "\ufffdx"]
    for wrong in (5, ["x"], 1.5):
        with pytest.raises(DataError, match=r"t.jsonl row 1: source 'a'"):
            read_rows({"source": ["a"], "text": [wrong]}, Path("t.jsonl"))
    with pytest.raises(DataError, match=r"no sources and texts \(columns found: text\)"):
        read_rows({"text": ["x"]}, HERE)


def test_outputs_in_two_languages(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"en": {"A1": [0, 1]}, "hi": {"A1": [0, 1]}})
    rows = [("en-1", "x"), ("en-0", "y")]
    found = generator_outputs(rows, "new", dataset, HERE)
    assert [(one.output, one.source, one.generator, one.language, one.text) for one in found] == [
        ("en-1/new", "en-1", "new", "en", "x"),
        ("en-0/new", "en-0", "new", "en", "y"),
    ]
    with pytest.raises(DataError, match=r"t.csv: 1 missing source \('hi-1'\) of 4. Nothing was taken in"):
        generator_outputs([*rows, ("hi-0", "z")], "new", dataset, HERE)
    assert len(generator_outputs([*rows, ("hi-0", "z")], "new", dataset, HERE, allow_missing=True)) == 3
    with pytest.raises(DataError, match="no outputs in it"):
        generator_outputs([], "new", dataset, HERE, allow_missing=True)
