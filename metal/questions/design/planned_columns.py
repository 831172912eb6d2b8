"""Columns of tables that are printed but have no page of a run: those of `metal sample`,
`design anchors`, `probe plan`, `bias plan` and `score`.
"""

from __future__ import annotations

from metal.data.text import capital, count, dollars, figure, rounded, score, share
from metal.runs.columns import LANGUAGE, Column, Row, unshown


def _tokens(row: Row) -> str:
    return f"{rounded(row['low'])} to {rounded(row['high'])} tokens"


PASSAGES = (
    LANGUAGE,
    Column("passages", "passages", count),
    Column("duplicates", "duplicates", count),
    Column("near-empty", "nearly empty", count),
    Column("fullest bin", "in the fullest bin", count, below=_tokens),
    Column("drawn", "drawn", count),
    *unshown("low", "high"),
)
DRAWN_SOURCES = (
    LANGUAGE,
    Column("judge_from", "judge's score from", share),
    Column("judge_to", "to", share),
    Column("sources", "sources", count),
    Column("drawn", "drawn", count),
    Column("probability", "probability", share),
)
DRAWN_CONTENTS = (
    Column("from", "mean score from", share),
    Column("to", "to", share),
    Column("contents", "contents", count),
    Column("drawn", "drawn", count),
)
# then a column for each language
CHANGED = (Column("what", "changed", capital), Column("kind", "kind"))
CONDITIONS = (
    Column("condition", "condition", capital),
    LANGUAGE,
    Column("state", "state", lambda state: capital({"cannot": "cannot be made"}.get(state, state))),
    Column("outputs", "outputs", count),
    Column("calls", "calls", count),
    Column("dollars", "cost", dollars),
    *unshown("command"),
)
SCORES = (
    Column("metric", "metric"),
    Column("scored", "scored", count),
    Column("without", "without", lambda reasons: count(sum(reasons.values()))),
    Column("mean", "mean", score),
    Column("seconds", "seconds", lambda taken: figure(taken, ",.1f")),
    *unshown("signature", "direction", "negated"),
)
