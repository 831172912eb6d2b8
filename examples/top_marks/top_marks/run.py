"""The run: its tables, each column with its heading and format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metal.data.text import count, percent
from metal.runs.columns import HEAD, Column, Tables
from metal.show.result import Result


@dataclass(frozen=True, repr=False)
class TopMarks(Result):
    """How often each rater gives the best mark: the table `top_marks`."""

    shown = "top_marks"
    command = "top-marks"
    described: ClassVar[Tables] = {
        "top_marks": (
            *HEAD,
            Column("rater", "rater"),
            Column("ratings", "ratings", count),
            Column("top", "best mark", percent),
        )
    }
