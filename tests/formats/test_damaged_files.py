"""Files that once ended in a traceback: each is one line that says what is wrong, and where."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import metal
from metal.data.tables.sheet import sheet_rows
from metal.errors import DataError
from tests.conftest import write_table

TABLE = pd.DataFrame({"id": ["a", "b"], "rater": ["A", "A"], "score": [1, 2], "language": ["hi", "hi"]})
ENDINGS = [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"]


@pytest.mark.parametrize("part", [0.02, 0.5, 0.99])
def test_a_workbook_cut_short(tmp_path: Path, part: float) -> None:
    path = write_table(TABLE, tmp_path / "t.xlsx")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DataError, match="xlsx: not readable as XLSX"):
        metal.read(path)


def test_a_cell_far_away_costs_nothing(tmp_path: Path) -> None:
    """pandas makes a table of 16,384 x 1,048,576 cells of it."""
    path = write_table(TABLE, tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = "x"
    book.save(path)
    assert sheet_rows(path, []) == [list(TABLE), ["a", "A", "1", "hi"], ["b", "A", "2", "hi"]]
    assert len(metal.read(path).ratings) == 2


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("language", ["", None])
def test_a_language_column_without_languages(tmp_path: Path, ending: str, language: str | None) -> None:
    path = write_table(TABLE.assign(language=pd.Series([language] * 2, dtype=object)), tmp_path / f"t{ending}")
    with pytest.raises(DataError, match="language is empty"):
        metal.read(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_min_nan_chinese_is_a_language(tmp_path: Path, ending: str) -> None:
    """Its code is `nan`, which is never a missing language."""
    path = write_table(TABLE.assign(language="nan"), tmp_path / f"t{ending}")
    dataset = metal.read(path)
    assert dataset.languages == ("nan",)
    dataset.save(tmp_path / "d")
    metal.export(tmp_path / "d", to="csv", out=tmp_path / "e.csv")
    assert metal.read(tmp_path / "e.csv").languages == ("nan",)


@pytest.mark.parametrize("column", list(TABLE))
def test_bytes_in_parquet(tmp_path: Path, column: str) -> None:
    """Texts that were written as bytes are texts; others are refused by column."""
    texts = [text.encode() for text in TABLE[column].astype(str)]
    path = write_table(TABLE.assign(**{column: texts}), tmp_path / "t.parquet")
    assert metal.read(path).ratings.equals(metal.read(write_table(TABLE, tmp_path / "u.parquet")).ratings)
    write_table(TABLE.assign(**{column: [b"\xff\x00", b"a"]}), path)
    with pytest.raises(DataError, match=f"column '{column}' holds bytes that are not UTF-8"):
        metal.read(path)
