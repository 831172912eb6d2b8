"""Speed of reading a table of a million ratings against pandas, which only reads the file.

    python -m tests.bench.tables [--rows 1000000]

Each round: pandas' `read_csv`, ours of the file (every cell as spelled), and the whole import: roles, scales, ids,
raters and 150,000 checked records of sources and outputs. The median round counts. The import is not within 1.5x of
pandas' reading and cannot be: cells as they are spelled take 2.6 times what pandas does, and the records 3 times.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import metal
from metal.data.tables.files import read_frame
from tests.bench.clock import median_seconds


def write(path: Path, rows: int) -> None:
    """Ratings of `rows` / 10 outputs by five people on two criteria."""
    row = np.arange(rows)
    columns = {
        "source": np.char.add("s", (row // 20).astype(str)),
        "generator": np.char.add("g", (row // 10 % 2).astype(str)),
        "language": np.where(row // 20 % 2, "ta", "hi"),
        "criterion": np.where(row % 2, "fluency", "coherence"),
        "rater": np.char.add("r", (row // 2 % 5).astype(str)),
        "score": np.random.default_rng(0).integers(1, 6, rows),
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write(path, parser.parse_args().rows)
        peer = median_seconds(lambda: pd.read_csv(path), 3)
        for what, work in (("file", read_frame), ("import", metal.read)):
            ours = median_seconds(lambda work=work: work(path), 3)  # type: ignore[misc]
            print(f"{what:<8}{ours:6.2f} s, pandas {peer:.2f} s: {ours / peer:.1f}x")


if __name__ == "__main__":
    main()
