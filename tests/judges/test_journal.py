"""The journal: nothing counted before it is on the disk, torn lines taken off, foreign lines
refused.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from metal.errors import DataError, UsageError
from metal.raters.judges import journal
from metal.raters.judges.journal import Journal, heal, lock_run, read_line, scan

RECORDS = [
    ("a1", "verdict", {"text": "one\u2028two"}),
    ("b2", "failed", {"why": "timeout"}),
    ("", "rejected", {}),
]


def line(key: str, kind: str, **rest: object) -> bytes:
    return json.dumps(
        {"key": key, "kind": kind} | rest, ensure_ascii=False, separators=(",", ":")
    ).encode()


LINES = [line(key, kind, **rest) for key, kind, rest in RECORDS]
WHOLE = b"".join(entry + b"\n" for entry in LINES)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def append(path: Path, *lines: bytes) -> list[bytes]:
    """Append the lines to the journal; those that were called safe, in order."""
    safe: list[bytes] = []

    async def work() -> None:
        opened = Journal(path)
        for entry in lines:
            opened.append(entry, lambda entry=entry: safe.append(entry))  # type: ignore[misc]
        # written at once
        assert path.read_bytes().endswith(b"".join(entry + b"\n" for entry in lines))
        assert not safe  # but not yet counted
        await opened.close()

    run(work())
    return safe


def test_lines_are_written_at_once_and_counted_when_they_are_safe(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert append(path, *LINES) == LINES
    assert path.read_bytes() == WHOLE
    assert append(path, LINES[0]) == LINES[:1]
    assert path.read_bytes() == WHOLE + LINES[0] + b"\n"
    assert append(path) == []


def test_counted_while_the_run_goes_on(tmp_path: Path) -> None:
    async def work() -> None:
        opened = Journal(tmp_path / "j")
        for entry in LINES:
            safe = asyncio.Event()
            opened.append(entry, safe.set)
            await safe.wait()
        await opened.close()

    run(work())


def test_scan_gives_every_whole_line_and_its_place(tmp_path: Path) -> None:
    path = tmp_path / "j"
    assert list(scan(path)) == []
    path.write_bytes(WHOLE)
    lines = list(scan(path))
    assert [(key, kind) for key, kind, _, _ in lines] == [(key, kind) for key, kind, _ in RECORDS]
    for _, _, place, line in lines:
        assert WHOLE[place : place + len(line)] == line
        assert read_line(path, line, place)


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_heal_takes_off_what_a_crash_cut_short(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    path.write_bytes(WHOLE[:cut])
    kept = WHOLE[: WHOLE.rfind(b"\n", 0, cut) + 1]
    # a torn line is not seen even before it is healed
    before = [line for _, _, _, line in scan(path)]
    assert heal(path) == (len(kept) < cut)
    assert path.read_bytes() == kept
    assert not heal(path)
    assert b"".join(before) == kept
    assert append(path, LINES[1]) == [LINES[1]]
    assert path.read_bytes() == kept + LINES[1] + b"\n"


def test_nothing_to_heal(tmp_path: Path) -> None:
    assert not heal(tmp_path / "none")


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"{}",
        b"hello",
        b'{"kind":"verdict","key":"a"}',
        b'{"key": "a", "kind": "verdict"}',
        b'{"key":"a"}',
        b'{"key":"a","kind":"',
        b'{"key":"a","kind":5}',
        b'{"key":',
        b"\x00\x00\x00",
        b"\xff\xfe",
        b'\xef\xbb\xbf{"key":"a","kind":"verdict"}',
    ],
)
def test_scan_refuses_lines_that_no_metal_wrote(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(LINES[0] + b"\n" + foreign + b"\n" + LINES[1] + b"\n")
    with pytest.raises(DataError, match="line 2: not a line of a journal"):
        list(scan(path))


def test_scan_never_raises_anything_else(tmp_path: Path) -> None:
    path = tmp_path / "j"
    for place in range(len(LINES[0])):
        for byte in (b"\xff", b"\x00", b'"', b"{", b"\\"):
            path.write_bytes(LINES[0][:place] + byte + LINES[0][place + 1 :] + b"\n")
            try:
                lines = list(scan(path))
            except DataError:
                continue
            assert len(lines) == 1


@pytest.mark.parametrize("damaged", [b'{"key":"a","kind":"verdict"', b"[1]", b"\xff", b"5", b""])
def test_damaged_lines_are_told_with_their_place(tmp_path: Path, damaged: bytes) -> None:
    with pytest.raises(DataError, match="byte 77"):
        read_line(tmp_path / "j", damaged, 77)


def test_one_process_a_run(tmp_path: Path) -> None:
    with lock_run(tmp_path):
        with (
            pytest.raises(UsageError, match=r"another `metal\.judge`"),
            lock_run(tmp_path),
        ):
            pass
        code = "import sys, pathlib; from metal.raters.judges.journal import lock_run\n"
        code += "with lock_run(pathlib.Path(sys.argv[1])): pass"
        other = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=240
        )
        assert "UsageError" in other.stderr
    with lock_run(tmp_path):
        pass


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "j", os.write
    safe: list[str] = []

    def half(file: int, data: bytes) -> int:
        return write(file, data[: len(data) // 2])

    async def work() -> None:
        opened = Journal(path)
        opened.append(LINES[0], lambda: safe.append("first"))
        monkeypatch.setattr(journal.os, "write", half)
        with pytest.raises(OSError, match="No space left") as raised:
            opened.append(LINES[1], lambda: safe.append("lost"))
        assert raised.value.errno == errno.ENOSPC
        monkeypatch.setattr(journal.os, "write", write)
        # a run that lost a reply does not go on
        with pytest.raises(OSError, match="No space left"):
            opened.append(LINES[2], lambda: safe.append("third"))
        with pytest.raises(OSError, match="No space left"):
            await opened.close()

    run(work())
    assert path.read_bytes() == LINES[0] + b"\n"
    assert safe == ["first"]


def test_a_sync_that_fails_is_told_and_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe: list[str] = []

    def broken(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def work() -> None:
        monkeypatch.setattr(journal, "_to_disk", broken)
        opened = Journal(tmp_path / "j")
        opened.append(LINES[0], lambda: safe.append("first"))
        await asyncio.wait([opened._syncing], timeout=240)
        with pytest.raises(OSError, match="Input/output error") as raised:
            opened.append(LINES[1], lambda: safe.append("second"))
        assert (raised.value.errno, raised.value.filename) == (errno.EIO, str(tmp_path / "j"))
        with pytest.raises(OSError, match="Input/output error"):
            await opened.close()

    run(work())
    assert safe == []


def test_a_callback_that_fails_is_told(tmp_path: Path) -> None:
    def wrong() -> None:
        raise ValueError("of the run's own")

    async def work() -> None:
        opened = Journal(tmp_path / "j")
        opened.append(LINES[0], wrong)
        opened.append(LINES[1])
        with pytest.raises(ValueError, match="of the run's own"):
            await opened.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(opened._file)

    run(work())
