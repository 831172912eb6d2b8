"""Columns of the tables of `metal describe`, `check` and `compare`; audits also have some of these
tables.
"""

from __future__ import annotations

from functools import partial

from metal.data.records import KINDS
from metal.data.text import count, coverage, figure, known, name, score, share
from metal.runs.columns import LANGUAGE, Column, Row, unshown

CRITERION = Column("criterion", "criterion")
tokens = partial(figure, form=",.1f")


def _sd(row: Row, what: str) -> str:
    return f"± {tokens(row[f'{what}_sd'])}" if known(row[f"{what}_sd"]) else ""


# The columns of qualities come after these.
LENGTHS = (
    LANGUAGE,
    Column("passages", "sources", count),
    Column("passage_mean", "tokens per source", tokens, below=partial(_sd, what="passage")),
    Column("outputs", "outputs", count),
    Column("output_mean", "tokens per output", tokens, below=partial(_sd, what="output")),
    *unshown("passage_sd", "passages_counted", "output_sd", "outputs_counted"),
)
NUMBERS = (
    CRITERION,
    Column("outputs", "outputs", count),
    Column("mean", "mean", score),
    Column("sd", "sd", score),
    Column("lowest", "lowest", score),
    Column("highest", "highest", score),
)
RATINGS = (
    LANGUAGE,
    CRITERION,
    Column("outputs", "outputs", count),
    *(Column(kind, "people" if kind == "human" else title, count) for kind, title in KINDS.items()),
    *(Column(by, by, count) for by in ("by 1", "by 2", "by 3+")),
)
RATERS = (
    Column("rater", "rater"),
    Column("kind", "kind", lambda kind: KINDS.get(kind, kind)),
    Column("group", "group", lambda group: name(group) if group else ""),
    Column("asked", "asked", count),
    Column("answered", "answered", count),
    Column("coverage", "coverage", coverage, direction="higher"),
    Column("languages", "languages", count),
    Column("criteria", "criteria", count),
)
MEAN = Column("mean", "mean", share, interval=True)
