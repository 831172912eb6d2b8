"""What a page has room for, and what it carries for its script: deflated JSON in base64."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from metal.runs.run import Run
from metal.show.view import TableView

LEVEL = 6  # of deflate: 7 takes half again the time for 3% less


@dataclass(frozen=True)
class Payload:
    """What a page carries for its script.

    blob: deflated JSON in base64. csv: the tables whose CSV files are in it; left_out: how many disagreements are not.
    """

    blob: str
    csv: frozenset[str]
    left_out: int = 0


def blob(payload: Mapping[str, Any]) -> str:
    """The payload as text that the page's script unpacks."""
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    data = squeezed.compress(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    return base64.b64encode(data + squeezed.flush()).decode("ascii")


def fitting(csv: Mapping[str, str], room: float) -> dict[str, str]:
    """The CSV files that fit into `room` characters of a blob; the largest are left out first."""
    kept = dict(csv)
    while kept and len(json.dumps(kept)) > room and len(blob({"csv": kept})) > room:  # deflating takes longer
        del kept[max(kept, key=lambda key: len(kept[key]))]
    return kept


def pack_csv(run: Run, csv: Mapping[str, str], room: int) -> Payload:
    """As many CSV files as fit into `room` characters, and nothing else."""
    kept = fitting(csv, room)
    return Payload(blob({"csv": kept}), frozenset(kept))


def within_cells(titled: Sequence[tuple[str, TableView]], cells: int) -> tuple[Sequence[tuple[str, TableView]], int]:
    """The first of the titled tables that have no more than `cells` cells together, and how many are left."""
    totals = accumulate(len(table.rows) * len(table.columns) for _, table in titled)
    number = sum(total <= cells for total in totals)
    return titled[:number], len(titled) - number
