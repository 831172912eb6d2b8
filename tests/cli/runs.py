"""What tests of commands share: `metal` within this process; journals, folders as they are, what is
to come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from metal.cli import metal as command
from metal.errors import MetalError
from metal.raters.judges.cluster.shards import FOLDER as SHARDS
from metal.raters.judges.journal import scan

KEY = "sk-canary-key-0123456789"


@dataclass
class InProcess:
    """`metal` within this process, in a folder."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def printed(self, *arguments: object) -> str:
        """What it prints."""
        self.capture.readouterr()
        command.main([*map(str, arguments)], prog_name="metal", standalone_mode=False)
        return self.capture.readouterr().out

    def __call__(self, *arguments: object) -> str:
        """What it prints, words apart by one space."""
        return " ".join(self.printed(*arguments).split())

    def refused(self, *arguments: object) -> str:
        """The one line it ends with (exit code 2), in words of parameters."""
        with pytest.raises((MetalError, click.ClickException)) as error:
            self(*arguments)
        message = (
            error.value.format_message()
            if isinstance(error.value, click.ClickException)
            else str(error.value)
        )
        assert "\n" not in message
        return message


def records(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's journal."""
    path = run / "journal.jsonl"
    whole = path.read_bytes() if path.is_file() else b""
    return [json.loads(line) for line in whole[: whole.rfind(b"\n") + 1].splitlines()]


def verdicts(run: Path) -> set[str]:
    """Keys with a verdict, in the run's journal or a shard's."""
    paths = [run / "journal.jsonl", *(run / SHARDS).glob("*.jsonl")]
    return {key for path in paths for key, kind, _, _ in scan(path) if kind == "verdict"}


def until(what: Callable[[], object], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file but datasets' locks, which stay."""
    files = (
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
