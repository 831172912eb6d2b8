"""Seconds and memory of `metal audit` and `metal billboard`, from a hundred thousand ratings to ten
million.

    python -m tests.bench.scale                                   # 0.1, 1 and 10 million, both
    commands python -m tests.bench.scale --ratings 1000000 --command audit

Each command runs as its user runs it, in a process of its own; memory is the most that it and its
children held together, looked at in /proc every few milliseconds. Beside it stands plain pandas,
reading the same file and grouping it once: what one pass costs anybody.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.scale_data import write_dataset

SIZES = (100_000, 1_000_000, 10_000_000)
MOST_SECONDS, MOST_GB = 90.0, 6.0
LOOK = 0.02  # seconds between two looks at memory
PLAIN = """
import sys, pandas as pd
table = pd.read_parquet(sys.argv[1])
print(table.groupby(["criterion", "rater"], observed=True)["score"].agg(["mean", "count"]).shape)
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: wall time, and the most memory of it and its children at one time."""

    seconds: float
    gigabytes: float


def measure(command: Sequence[str], output: Path) -> Cost:
    """Run a command to its end, its output into a file. Raises CalledProcessError where it
    fails.
    """
    start, most = time.perf_counter(), 0
    with (
        output.open("wb") as file,
        subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as child,
    ):
        while child.poll() is None:
            most = max(most, sum(resident(pid) for pid in tree(child.pid)))
            time.sleep(LOOK)
    if child.returncode:
        sys.stderr.write(output.read_text(encoding="utf-8", errors="replace")[-2000:])
        raise subprocess.CalledProcessError(child.returncode, command)
    return Cost(time.perf_counter() - start, most / 1e9)


def tree(pid: int) -> Iterator[int]:
    """A process and all that came of it."""
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))
    except OSError:
        return


def resident(pid: int) -> int:
    """Bytes in memory; 0 for a process that ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def main() -> None:
    """Print a table: a line a size and command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ratings", type=int, nargs="+", default=SIZES)
    parser.add_argument(
        "--command", choices=["audit", "billboard"], nargs="+", default=["audit", "billboard"]
    )
    parser.add_argument(
        "--data", type=Path, help="keep the data sets here, and take those that are there"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(f"{'ratings':>12} {'what':<22}{'seconds':>10}{'GB':>8}{'x plain':>9}  limit")
        for ratings in options.ratings:
            folder = made(options.data or Path(scratch), ratings)
            file, log = str(folder / "ratings.parquet"), Path(scratch) / "log"
            plain = measure([sys.executable, "-c", PLAIN, file], log)
            line(ratings, "plain pandas", plain, plain)
            for command in options.command:
                out = str(Path(scratch) / f"{command}-{ratings}")
                ours = measure(
                    [sys.executable, "-m", "metal", command, str(folder), "--out", out], log
                )
                line(ratings, f"metal {command}", ours, plain)


def made(folder: Path, ratings: int) -> Path:
    """The data set of so many ratings, made unless it is there."""
    data = folder / f"ratings-{ratings}"
    if not data.is_dir():
        write_dataset(data, ratings)
    return data


def line(ratings: int, what: str, cost: Cost, plain: Cost) -> None:
    held = cost.seconds <= MOST_SECONDS and cost.gigabytes <= MOST_GB
    verdict = "held" if held else f"NOT held ({MOST_SECONDS:g} s, {MOST_GB:g} GB)"
    ratio = cost.seconds / plain.seconds
    print(
        f"{ratings:>12,} {what:<22}{cost.seconds:>10.1f}{cost.gigabytes:>8.2f}{ratio:>8.1f}x "
        f" {verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
