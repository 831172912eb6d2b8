"""JSON Lines of ratings: read by columns where that gives what reading line by line gives, else line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data import ratings_files
from metal.data.ratings_files import read_facts
from metal.errors import DataError

LINE = {"output": "o1", "criterion": "fluency", "rater": "A1", "score": 2.5, "reason": "", "comment": 'क "b"\n'}


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, bool]:
    """What reading gives (a table or its message), what it gives line by line, and whether it went by columns."""
    by_line: list[Path] = []
    rows = ratings_files._jsonl_rows
    monkeypatch.setattr(ratings_files, "_jsonl_rows", lambda path: by_line.append(path) or rows(path))
    result = outcome(path)
    by_columns = not by_line
    with monkeypatch.context() as context:
        context.setattr(ratings_files, "_jsonl_columns", lambda block: None)
        return result, outcome(path), by_columns


def outcome(path: Path) -> Any:
    try:
        return read_facts(path)
    except DataError as error:
        return str(error)


def agree(result: Any, expected: Any) -> None:
    assert type(result) is type(expected)
    if isinstance(expected, str):
        assert result == expected
    else:
        text = [name for name in expected if name != "score"]
        pd.testing.assert_frame_equal(
            result.astype(dict.fromkeys(text, str)), expected.astype(dict.fromkeys(text, str)), check_exact=True
        )


def lines(*records: object) -> bytes:
    return b"".join(
        record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode() + b"\n"
        for record in records
    )


def but(**changes: object) -> dict[str, object]:
    """A line of ratings with other values; what is ... is left out."""
    return {key: value for key, value in (LINE | changes).items() if value is not ...}


@pytest.mark.parametrize("content", [
    lines(LINE, but(score=3), but(score=None), but(reason=..., comment=...), but(comment=None), but(criterion="score")),
    b"\xef\xbb\xbf" + lines(LINE),
    lines(LINE).rstrip(),
    lines(LINE).replace(b"\n", b"\r\n"),
    json.dumps(but(comment="😀")).encode() + b"\n",
    lines(but(score=10**30)),
])  # fmt: skip
def test_by_columns(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "ratings.jsonl").write_bytes(content)
    result, expected, by_columns = read_both_ways(path, monkeypatch)
    assert by_columns
    assert isinstance(result, pd.DataFrame)
    agree(result, expected)


@pytest.mark.parametrize(("content", "message"), [
    (b"", ""),
    (b"null\n" + lines(LINE), "line 1: not a JSON object"),
    (lines(LINE, None), "line 2: not a JSON object"),
    (lines(LINE) + b"\n" + lines(LINE), ""),
    (lines(but(score="3")), ""),
    (lines(but(score=True)), "row 1: score True is not a number"),
    (lines(LINE).replace(b"2.5", b"Inf"), "line 1: not JSON"),
    (lines(but(output=7)), ""),
    (lines(but(output="")), "row 1: output is empty"),
    (lines(LINE, but(output=...)), "no column 'output'"),
    (lines(LINE, but(score=...)), "no column 'score'"),
    (lines(but(sore=1)), "unknown column 'sore'"),
    (lines(but(comment=["a"])), ""),
    (lines(LINE)[:-1] + lines(LINE), "line 1: not JSON"),
    (b'{"output": "\xff"}\n', "line 1: not UTF-8"),
    (b'{"output": ' + b"[" * 500 + b"\n", "line 1: not JSON"),
    (json.dumps(but(comment="\ud800")).encode() + b"\n", ""),
])  # fmt: skip
def test_line_by_line(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "ratings.jsonl").write_bytes(content)
    result, expected, _ = read_both_ways(path, monkeypatch)
    agree(result, expected)
    assert message in result if message else isinstance(result, pd.DataFrame)


BITS = [*rb"null { } \n [ ] , : \" \\ true NaN -Inf".split(), b"\n", b"\xff", b"\x00", b'"score":']
CHANGES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5), st.sampled_from(BITS)), max_size=3)


@given(st.lists(st.sampled_from([LINE, but(score=None), but(reason=...)]), min_size=1, max_size=3), CHANGES)
def test_a_damaged_file_is_read_as_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]], changes: list[tuple[int, int, bytes]]
) -> None:
    content = lines(*records)
    for at, removed, put in changes:
        content = content[:at] + put + content[at + removed :]
    path = tmp_path_factory.mktemp("damaged") / "ratings.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as monkeypatch:
        result, expected, _ = read_both_ways(path, monkeypatch)
    agree(result, expected)


def test_blocks_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that end at, before and after the end of a block, and longer than one."""
    records = [but(output=f"o{number}", comment="x" * (number * 7 % 90)) for number in range(60)]
    (path := tmp_path / "ratings.jsonl").write_bytes(lines(*records))
    blocks = ratings_files._blocks
    for size in (1, 50, 97, 4096):
        monkeypatch.setattr(ratings_files, "_blocks", lambda file, size=size: blocks(file, size))
        result, expected, by_columns = read_both_ways(path, monkeypatch)
        assert by_columns
        assert len(result) == 60
        agree(result, expected)
