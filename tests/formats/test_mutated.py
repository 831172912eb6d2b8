"""Damaged inputs end in a dataset or in an error of METAL's, never in a traceback.

python -m tests.formats.test_mutated --times 5000
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.errors import MetalError
from tests.conftest import write_table

ENDINGS = (".csv", ".xlsx", ".json", ".jsonl", ".parquet")
DATASET = "dataset"  # the other kind of input
SPECIAL = (
    "",
    "nan",
    "NA",
    "-1",
    "1,5",
    "1e400",
    "9" * 5000,
    "[" * 3000,
    "{}",
    "\0",
    "\ud800",
    "=1+1",
    "true",
    "\n",
    "٣",
)


def clean(folder: Path) -> list[Path]:
    """One input of each kind."""
    rows = [
        (
            f"s{n // 4}",
            f"g{n % 2}",
            ("sw", "hi")[n % 2],
            f"A{n % 4 // 2}",
            "quality",
            n % 3,
            f"why, {n}",
            "नदी",
        )
        for n in range(24)
    ]
    columns = ["source", "generator", "language", "rater", "criterion", "score", "comment", "text"]
    table = pd.DataFrame(rows, columns=columns)
    paths = [write_table(table, folder / f"t{ending}") for ending in ENDINGS if ending != ".json"]
    (folder / "t.json").write_text(
        json.dumps(table.to_dict("records"), ensure_ascii=False), encoding="utf-8"
    )
    metal.read(folder / "t.csv").save(folder / DATASET)
    return [*paths, folder / "t.json", folder / DATASET]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The bytes with some flipped, a part cut off, moved or written twice, or two cells
    exchanged.
    """
    kind = rng.choice(["flip", "flip", "cut", "move", "swap", "special"])
    first, second = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    if kind == "flip":
        changed = bytearray(content)
        for _ in range(rng.choice([1, 3, 30])):
            changed[rng.randrange(len(changed))] = rng.choice(
                [rng.randrange(256), rng.randrange(32, 127)]
            )
        return bytes(changed)
    if kind == "cut":
        return content[:first] if rng.random() < 0.5 else content[:first] + content[second:]
    if kind == "move":
        return content[second:] + content[first:second] + content[:first]
    cells = content.split(b",")
    at = rng.randrange(len(cells))
    if kind == "swap":
        other = rng.randrange(len(cells))
        cells[at], cells[other] = cells[other], cells[at]
    else:
        cells[at] = rng.choice(SPECIAL).encode("utf-8", "surrogatepass")
    return b",".join(cells)


def cells_exchanged(path: Path, rng: random.Random) -> None:
    """Write a table anew with cells that belong elsewhere, or nowhere, which flipped bytes hardly
    ever give.
    """
    readers = {
        ".csv": pd.read_csv,
        ".json": pd.read_json,
        ".parquet": pd.read_parquet,
        ".xlsx": pd.read_excel,
    }
    frame = readers[path.suffix](path) if path.suffix in readers else pd.read_json(path, lines=True)
    for _ in range(rng.choice([1, 5])):
        row, column = rng.randrange(len(frame)), rng.randrange(frame.shape[1])
        cell = rng.choice(
            [*SPECIAL[:7], frame.iat[rng.randrange(len(frame)), rng.randrange(frame.shape[1])]]
        )
        frame = frame.astype({frame.columns[column]: str})
        frame.iat[row, column] = str(cell)
    if path.suffix == ".json":
        path.write_text(frame.to_json(orient="records"), encoding="utf-8")
    else:
        write_table(frame, path)


def outcome(path: Path, seed: int, folder: Path) -> str:
    """What comes of a mutated copy: "read" or "refused". Any other exception is raised."""
    rng = random.Random(seed)
    copy = folder / f"mutated{path.suffix}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy) if path.is_dir() else shutil.copy(path, copy)
    if not path.is_dir() and rng.random() < 0.4:
        cells_exchanged(copy, rng)
    else:
        file = rng.choice(sorted(copy.iterdir())) if path.is_dir() else copy
        file.write_bytes(mutated(file.read_bytes(), rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            metal.check(metal.read(copy))
    except MetalError:
        return "refused"
    return "read"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*ENDINGS, DATASET])
def test_mutated_inputs_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    path = next(path for path in clean(tmp_path) if path.name.endswith(kind))
    outcomes = Counter(outcome(path, seed, tmp_path) for seed in range(25))
    assert set(outcomes) == {"read", "refused"}  # else the mutations are too weak or too strong


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=5000)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as name:
        inputs = clean(Path(name))
        counts: Counter[tuple[str, str]] = Counter()
        for seed in range(times):
            path = inputs[seed % len(inputs)]
            try:
                result = outcome(path, 1_000_000 + seed, Path(name))
            except Exception as error:
                result = f"seed {seed}: {type(error).__name__}: {str(error)[:150]}"
                print(path.name, result, flush=True)
            counts[path.name, result[:4]] += 1
        print(counts)
