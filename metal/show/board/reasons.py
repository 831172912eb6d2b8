"""Why a figure of a board is undefined, in a line under its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metal.data.text import UNDEFINED, within
from metal.show.notes import places

# What the figures of metal.boards are called on the page.
FIGURES = {
    "pearson": "r",
    "system_pearson": "r between generators",
    "spearman": "rho",
    "kendall": "tau",
    "soft_pairwise_accuracy": "SPA",
    "pairwise_accuracy": "pairwise accuracy",
    "value": "overrating",
    "one_against_others": "one person against the others",
}


def reasons(rows: Iterable[Mapping[str, Any]], who: str = "rater") -> tuple[str, ...]:
    """A line a reason, with its figures and those it holds for; who: the column that names them."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows:
        for figure, reason in parts(row["undefined"]):
            figures, names = found.setdefault(reason, ([], []))
            figures.append(FIGURES.get(figure, figure))
            names.append(within(row[who]))
    return tuple(
        f"{UNDEFINED} {', '.join(dict.fromkeys(figures))}: {reason} ({places(list(dict.fromkeys(names)))})"
        for reason, (figures, names) in found.items()
    )


def parts(undefined: Any) -> list[tuple[str, str]]:
    """(figure, reason) of a cell such as `pearson: no two scores differ; kendall: ...`."""
    found = (part.partition(": ") for part in str(undefined or "").split("; "))
    return [(figure, reason) for figure, _, reason in found if reason]
