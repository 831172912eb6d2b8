"""Speed of reading a table of a million ratings, and one of 5,000 raters, against pandas, which
only reads the file.

    python -m tests.bench.tables [--rows 1000000]

Each round: pandas' `read_csv`, ours of the file (every cell as spelled), and the whole import:
roles, scales, ids, raters and 150,000 checked records of sources and outputs. The median round
counts. The import is not within 1.5x of pandas' reading and cannot be: cells as they are spelled
take 2.6 times what pandas does, and the records 3 times. The wide table has 20 rows and a column a
rater; its reading costs what its columns cost, so pandas reads categories.
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


def write_wide(path: Path, raters: int) -> None:
    """Scores 1 to 5 of 20 outputs, a column for each person and one for a judge."""
    scores = np.random.default_rng(0).integers(1, 6, (20, raters + 1))
    names = [*(f"annotator_{number}" for number in range(1, raters + 1)), "gpt-4"]
    row = np.arange(20)
    said = {"id": np.char.add("o", row.astype(str)), "language": np.where(row % 2, "en", "de")}
    said["text"] = np.char.add("Some text ", row.astype(str))
    pd.concat([pd.DataFrame(said), pd.DataFrame(scores, columns=names)], axis=1).to_csv(
        path, index=False
    )


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
        path = Path(folder) / "wide.csv"
        write_wide(path, 5000)
        peer = median_seconds(lambda: pd.read_csv(path, dtype="category"), 3)
        for what, work in (("wide", read_frame), ("import", metal.read)):
            ours = median_seconds(lambda work=work: work(path), 3)  # type: ignore[misc]
            print(f"{what:<8}{ours:6.2f} s, pandas {peer:.2f} s: {ours / peer:.1f}x")


if __name__ == "__main__":
    main()
