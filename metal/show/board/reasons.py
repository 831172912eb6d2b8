"""Why a figure of a board is undefined, in a line under its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metal.data.text import UNDEFINED, within
from metal.runs.columns import title_of
from metal.runs.run import Run
from metal.show.notes import parts, places


def reasons(run: Run, table: str, rows: Iterable[Mapping[str, Any]], who: str = "rater") -> tuple[str, ...]:
    """A line a reason, with its figures and those it holds for; who: the column that names them."""
    by_reason: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows:
        for figure, reason in parts(row["undefined"]):
            figures, names = by_reason.setdefault(reason, ([], []))
            figures.append(title_of(run.columns(table), figure) or figure)
            names.append(within(row[who]))
    return tuple(
        f"{UNDEFINED} {', '.join(dict.fromkeys(figures))}: {reason} ({places(list(dict.fromkeys(names)))})"
        for reason, (figures, names) in by_reason.items()
    )
