"""Batch results as Mechanical Turk exports them, with columns `Input.NAME`, `Answer.NAME`, and
others about the work.
"""

from __future__ import annotations

import re

import pandas as pd

from metal.data.tables.cells import as_texts, fold

KEPT = re.compile(r"(Input|Answer)\.|(WorkerId|HITId)$")
CHOICE = re.compile(r"(Answer\..+)\.([^.]+)")  # a radio button: true in one column of several


def without_administration(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The frame without rejected assignments and without Mechanical Turk's columns about the work.

    Radio buttons become one column with the chosen level. Other tables are not changed.
    """
    if not {"HITId", "WorkerId", "AssignmentStatus"} <= {*frame.columns}:
        return frame
    rejected = (frame["AssignmentStatus"].astype(str) == "Rejected").to_numpy()
    notes.append(
        f"Mechanical Turk: {rejected.sum():,} of {len(rejected):,} assignments were rejected and"
        " are left out"
    )
    frame = frame.loc[~rejected, list(filter(KEPT.match, frame.columns))].copy()
    buttons: dict[str, dict[str, str]] = {}
    for column in frame.columns:
        answers = set(map(fold, as_texts(frame[column]).cat.categories))
        if (match := CHOICE.fullmatch(column)) and answers <= {"true", "false"}:
            buttons.setdefault(match[1], {})[column] = match[2]
    for name, levels in buttons.items():
        chosen = (
            frame[list(levels)]
            .apply(lambda cells: cells.astype(str).str.lower() == "true")
            .rename(columns=levels)
        )
        frame[name] = chosen.idxmax(axis=1).where(chosen.sum(axis=1) == 1)
        frame = frame.drop(columns=list(levels))
    return frame


def asked(column: str) -> str:
    """The name that the requester gave to a column: `source` for `Input.source` and
    `Answer.source`.
    """
    return re.sub(r"^(Input|Answer)\.", "", column)
