"""JSON and JSON Lines files, with the place of a fault.

JSON may hold half of a surrogate pair (`"\\ud800"`), which no UTF-8 file can; it becomes U+FFFD on the way in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from metal.errors import DataError, UsageError


def read_json(path: Path, shape: str) -> Any:
    """The value in a JSON file. shape: what it should be, for the message when it is not JSON at all."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise not_utf8(path, error.object[: error.start].count(b"\n"), error) from None
    try:
        return _parse(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path} line {error.lineno}", f"not JSON ({error.msg})", f"It should be {shape}") from None


def _parse(text: str) -> Any:
    value = json.loads(text)
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return json.loads(whole_text(json.dumps(value, ensure_ascii=False)))


def whole_text(text: str) -> str:
    """Text that UTF-8 can hold: lone halves of surrogate pairs become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_jsonl(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """Rows (from 0) and objects of a JSON Lines file; blank lines are skipped.

    Raises DataError for the first line that is not UTF-8, not JSON or not an object.
    """
    with path.open("rb") as file:
        row = 0
        for number, line in enumerate(file):
            try:
                text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise not_utf8(path, number, error) from None
            if not text:
                continue
            try:
                record = _parse(text)
            except json.JSONDecodeError as error:
                problem = f"not JSON ({error.msg})"
                raise DataError(f"{path} line {number + 1}", problem, "One JSON object a line") from None
            if not isinstance(record, dict):
                raise DataError(f"{path} line {number + 1}", "not a JSON object", 'One object a line: {"output": ...}')
            yield row, record
            row += 1


def not_utf8(path: Path, row: int, error: UnicodeDecodeError) -> DataError:
    """The error for bytes that are not UTF-8. row: the number of lines before the fault."""
    return DataError(
        f"{path} line {row + 1}",
        f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
        "Save it as UTF-8; from Excel choose 'CSV UTF-8'",
    )


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line, UTF-8; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            text = json.dumps(record, ensure_ascii=False)
            file.write(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") + "\n")
