"""Looking up the records about one output in a journal that may grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metal.errors import DataError
from metal.raters.judges import journal_lines
from metal.raters.judges.journal import rejected_line, scan
from metal.raters.judges.journal_lines import JournalLines

ODD = ['say "hi"\\', "naïve 字", "\ud800", "a\nb", "x" * 300, "o1", "o10", ""]


def line(output: str, number: int, *, in_ascii: bool = False, **more: Any) -> bytes:
    head = {
        "key": f"{number:032x}",
        "kind": "verdict",
        "judge": 'a "output":"o1"',
        "output": output,
    }
    record = head | {"text": '{"output":"o1"}', "reply": {"output": "o1"}} | more
    written = json.dumps(record, ensure_ascii=in_ascii, separators=(",", ":"))
    return written.encode() + b"\n"


def keys(index: JournalLines, output: str) -> list[int]:
    return [int(record["key"], 16) for record in index.records(output)]


@pytest.fixture
def read_lines(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets of the lines that were scanned."""
    offsets: list[int] = []

    def counting(*arguments: Any) -> Iterator[Any]:
        for row in scan(*arguments):
            offsets.append(row[2])
            yield row

    monkeypatch.setattr(journal_lines, "scan", counting)
    return offsets


def test_each_output_has_its_records_however_it_is_spelled(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [line(output, number, in_ascii=True) for number, output in enumerate(ODD)]
    lines += [line(output, 10 + number) for number, output in enumerate(ODD) if number != 2]
    lines.insert(3, rejected_line("j", "seed", "no") + b"\n")
    path.write_bytes(b"".join(lines))
    index = JournalLines(path)
    for number, output in enumerate(ODD):
        assert keys(index, output) == [number] + [10 + number] * (number != 2)
    assert keys(index, "elsewhere") == []


def test_only_what_was_added_is_read(tmp_path: Path, read_lines: list[int]) -> None:
    path = tmp_path / "journal.jsonl"
    index = JournalLines(path)
    assert keys(index, "a") == []
    path.write_bytes(line("a", 1) + line("b", 2) + line("a", 3)[:-20])
    assert keys(index, "a") == [1]
    assert keys(index, "b") == [2]
    assert len(read_lines) == 2
    path.write_bytes(line("a", 1) + line("b", 2) + line("a", 3) + line("a", 4))
    assert keys(index, "a") == [1, 3, 4]
    assert keys(index, "b") == [2]
    assert len(read_lines) == len(set(read_lines)) == 4


def test_another_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("a", 1) + line("b", 2))
    index = JournalLines(path)
    assert keys(index, "b") == [2]
    path.write_bytes(line("b", 3))  # shorter
    assert keys(index, "b") == [3]
    other = tmp_path / "other.jsonl"
    other.write_bytes(line("a", 4) + line("b", 5) + line("b", 6))
    other.replace(path)
    assert keys(index, "b") == [5, 6]
    path.unlink()
    assert keys(index, "b") == []


def test_lines_that_are_not_of_a_journal_are_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("a", 1))
    index = JournalLines(path)
    assert keys(index, "a") == [1]
    with path.open("ab") as file:
        file.write(b"hello\n")
    with pytest.raises(DataError, match=r"journal\.jsonl line 2"):
        keys(index, "a")
    path.write_bytes(line("a", 1)[:-3] + b"\n")
    with pytest.raises(DataError, match="damaged"):
        keys(JournalLines(path), "a")


def test_two_outputs_with_one_hash_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("a", 1) + line("b", 2))
    monkeypatch.setattr(journal_lines, "hash", lambda output: 7, raising=False)
    assert keys(JournalLines(path), "b") == [2]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=12))
def test_any_ids(tmp_path: Path, outputs: list[tuple[str, bool]]) -> None:
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)
    index = JournalLines(path)
    for number, (output, in_ascii) in enumerate(outputs):
        with path.open("ab") as file:
            file.write(line(output, number, in_ascii=in_ascii))
        expected = [each for each in range(number + 1) if outputs[each][0] == output]
        assert keys(index, output) == expected
