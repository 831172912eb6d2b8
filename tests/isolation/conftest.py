"""Programs of strangers, and what this system has to hold them back with."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metal.raters.isolation import Limits, isolated_metric
from metal.raters.isolation.calls import MACHINES
from metal.raters.isolation.kernel import landlock_version
from metal.raters.metrics import Item, Scored, scored

Run = Callable[..., list[Scored]]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def write(code: str) -> Path:
        folder = tmp_path / "submitted"
        folder.mkdir(exist_ok=True)
        path = folder / "metric.py"
        path.write_text(code, encoding="utf-8")
        return path

    return write


@pytest.fixture
def run(program: Callable[[str], Path]) -> Run:
    """run(code, texts=("a",), seconds=120): the scores that the code's function `score` gives to
    texts.
    """

    def score(
        code: str, texts: tuple[str, ...] = ("a",), seconds: float = 120, memory_mb: int = 4096
    ) -> list[Scored]:
        metric = isolated_metric(program(code), limits=Limits(seconds, memory_mb))
        return scored(metric, [Item(text) for text in texts])

    return score


@pytest.fixture
def landlock() -> int:
    """The version of Landlock; skips where there is none."""
    version = landlock_version() if sys.platform == "linux" else 0
    if version == 0:
        pytest.skip(
            "this kernel has no Landlock: files are not protected, and protections() says so"
        )
    return version


@pytest.fixture
def filtered() -> None:
    """Skips where system calls cannot be filtered."""
    status = Path("/proc/self/status")
    if (
        not status.is_file()
        or "Seccomp_filters:" not in status.read_text()
        or platform.machine() not in MACHINES
    ):
        pytest.skip("system calls cannot be filtered here: protections() says what stays open")
