"""A run of `metal jury`: run.toml, raters.jsonl, warnings.txt, tables/, report.html,
ratings.parquet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from metal.data.ratings_files import read_facts, write_facts
from metal.data.text import count, figure, percent, percent_change
from metal.questions.jury.compute import TABLE
from metal.runs.columns import HEAD, Column, Tables, with_the_rest
from metal.show.result import Result

DESCRIBED: Tables = {
    "jury": with_the_rest(
        (
            *HEAD,
            Column("better", "better"),
            Column("gain", "gain", percent_change, interval=True),
            Column("agreement", "agrees", percent),
            Column("best_agreement", "best member agrees", percent),
            Column("best", "best member"),
            Column(
                "size",
                "worth",
                partial(figure, form=".1f"),
                below=lambda row: f"of {count(row['members'])}",
            ),
            Column("correlation", "mistakes alike", figure),
            Column("weights", "weights"),
            Column("missing", "no rating", count),
            Column("items", "outputs", count, below=lambda row: f"{count(row['sources'])} sources"),
        ),
        TABLE,
    ),
}


@dataclass(frozen=True, repr=False)
class Jury(Result):
    """Several judges combined into one: its ratings, and whether it is better than its
    best member.
    """

    shown = "jury"
    ratings: pd.DataFrame

    command = "jury"
    described = DESCRIBED

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[pd.DataFrame]:
        return (read_facts(folder / "ratings.parquet"),)

    def _write_more(self, folder: Path) -> None:
        write_facts(self.ratings, folder / "ratings.parquet")
