"""What the benchmarks share: clocks, and a server in a process of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that it took, and what it gives."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds(work: Callable[[], Any]) -> float:
    return timed(work)[0]


def median_seconds(work: Callable[[], Any], rounds: int = 5) -> float:
    """Of some rounds after one that does not count."""
    work()
    return statistics.median(seconds(work) for _ in range(rounds))


@contextmanager
def serving(script: str, *options: str) -> Iterator[str]:
    """The base URL of a server of tests/, on a free port."""
    command = [sys.executable, str(ROOT / "tests" / script), *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield f"{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.communicate()
