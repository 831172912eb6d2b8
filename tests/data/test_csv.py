"""Every text in a CSV of METAL's reads back as it was written, and none begins a formula in a
spreadsheet.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import product
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import metal
from metal.data.escaping import csv_text, guarded, unguarded
from metal.data.files import whole_text

HOSTILE = "=+-@\t\r\n\0\",;'|ab1 .\\\x0b\x1a\x1b\x85\u2028\ufeff\uff1d\ud800é"
texts = st.text(st.sampled_from(HOSTILE), max_size=12) | st.text(
    st.characters(codec="utf-8"), max_size=12
)
COMMAND = "=cmd|'/C calc'!A0"
SIGNS = ("=", "+", "-", "@")


def read_by(reader: str, text: str) -> list[list[str]]:
    """The rows below the header, as a reader gives them that is told that all cells are texts."""
    if reader == "csv":
        return list(csv.reader(io.StringIO(text, newline="")))[1:]
    content = io.BytesIO(text.encode())
    if reader == "pandas":
        return pd.read_csv(content, dtype=str, keep_default_na=False).to_numpy().tolist()
    frame = pl.read_csv(content, infer_schema=False, empty_string_is_null=False)
    return [list(row) for row in frame.rows()]


@pytest.mark.parametrize("reader", ["csv", "pandas", "polars"])
@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_every_text_reads_back_as_written(reader: str, rows: list[tuple[str, str]]) -> None:
    table = pd.DataFrame(rows, columns=["first", "second"], dtype=object)
    back = read_by(reader, csv_text(table))
    assert back == [[guarded(whole_text(text)) for text in row] for row in rows]
    assert [[unguarded(text) for text in row] for row in back] == [
        [whole_text(text) for text in row] for row in rows
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, min_size=1, max_size=4))
def test_a_table_of_one_column_keeps_its_empty_rows(column: list[str]) -> None:
    table = pd.DataFrame({"only": pd.Series(column, dtype=object)})
    assert read_by("pandas", csv_text(table)) == [[guarded(whole_text(text))] for text in column]


@settings(deadline=None, max_examples=100)
@given(texts.map(whole_text))
def test_no_separator_of_a_spreadsheet_uncovers_a_formula(text: str) -> None:
    """Excel divides a file with commas at semicolons or tabs where the comma is the decimal
    mark.
    """
    assume(text != "-" and not is_number(text))
    written = csv_text(pd.DataFrame({"x": [text, "y"], "z": "z"}))
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(written, newline=""), delimiter=delimiter):
            assert not [cell for cell in row if cell.startswith(SIGNS)]
    assert not [line for line in re.split(r"[\r\n]", written) if line.startswith(SIGNS)]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_figures_are_spelled_as_pandas_spells_them() -> None:
    table = pd.DataFrame({
        "float": [0.1, float("nan"), 1e-05, 1e16], "whole": [1, -2, 3, 4],
        "truth": [True, False, True, False],
        "named": pd.Categorical(["u", None, "v", "u"]), "mixed": [1.5, 2, "q", None],
        "nullable": pd.array([1, None, 3, 4], dtype="Int64"), "list": [[1], [], [2], [3]],
    })  # fmt: skip
    assert csv_text(table) == table.to_csv(index=False, lineterminator="\n")


def test_a_workers_comment_with_a_carriage_return_stays_a_comment(tmp_path: Path) -> None:
    """24 ratings became 36 rows, and 12 cells began `=cmd|`."""
    comments = [
        f"fine\r{COMMAND}",
        f"a;{COMMAND}",
        f"line\n{COMMAND}",
        COMMAND,
        "'=quoted",
        "\0 \r\n- point",
        "plain",
    ]
    rows = [
        {"id": f"o{number}", "rater": rater, "score": number % 3, "comment": f"{comment}{number}"}
        for (number, comment), rater in product(enumerate(comments), ("A1", "A2", "gpt-4"))
    ]
    dataset = metal.read(pd.DataFrame(rows))
    metal.export(dataset, to="csv", out=tmp_path / "e.csv", texts=True)
    written = (tmp_path / "e.csv").read_bytes().decode()
    assert (
        len(read_by("csv", written))
        == len(read_by("pandas", written))
        == len(read_by("polars", written))
        == 21
    )
    back = metal.read(tmp_path / "e.csv")
    assert sorted(back.ratings["comment"].astype(str)) == sorted(
        dataset.ratings["comment"].astype(str)
    )
    assert sorted(back.ratings["output"].astype(str)) == sorted(
        dataset.ratings["output"].astype(str)
    )


@settings(deadline=None, max_examples=5)  # a table is read in 0.1 s, however many texts it has
@given(
    bodies=st.lists(texts.map(lambda text: f"x{whole_text(text)}y"), min_size=24, max_size=24),
    comments=st.lists(texts.map(whole_text), min_size=24, max_size=24),
)
def test_metal_reads_its_own_export(
    bodies: list[str], comments: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [
        {"id": f"o{number}", "rater": rater, "score": number % 3, "comment": comment, "text": text}
        for number, (text, comment) in enumerate(zip(bodies, comments, strict=True))
        for rater in ("A1", "gpt-4")
    ]
    file = tmp_path_factory.mktemp("export") / "e.csv"
    dataset = metal.read(pd.DataFrame(rows), language="en")
    metal.export(dataset, to="csv", out=file, texts=True)
    back = metal.read(file, language="en")
    for name in ("output", "rater", "score", "comment"):
        assert back.ratings[name].astype(str).tolist() == dataset.ratings[name].astype(str).tolist()
    assert {name: output.text for name, output in back.outputs.items()} == {
        name: output.text for name, output in dataset.outputs.items()
    }
