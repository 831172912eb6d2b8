"""Conversations in tables: which part is the source, which is the output, and which parts are not
text.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from metal.data.tables.cells import not_text, turn_by_turn, turns_of
from metal.data.tables.pairs import TEXTS
from metal.data.text import plural


def split_conversations(tidy: pd.DataFrame, notes: list[str]) -> None:
    """Read the last turn of each conversation as the output, if it is the assistant's, and the
    earlier turns as the source.
    """
    _count_what_is_no_text(tidy, notes)
    cells = tidy["source_text"].astype(object) if "source_text" in tidy else pd.Series(dtype=object)
    empty = cells.astype(str) == "[]"
    written = cells[cells.notna() & ~empty]
    if written.empty or not turns_of(written.iloc[0]):
        return
    tidy["source_text"] = cells = cells.mask(empty, None)
    if "text" in tidy or "first_text" in tidy:
        notes.append(
            "conversations: the whole conversation is the source, because the output has a column"
            " of its own"
        )
        return
    turns = cells.map(turns_of)
    answered = turns.map(
        lambda each: len(each) > 1 and each[-1][0] == "assistant" and each[-1][1] != ""
    ).astype(bool)
    tidy["text"] = [
        each[-1][1] if ends else None for each, ends in zip(turns, answered, strict=True)
    ]
    before = [turn_by_turn(each[:-1]) for each in turns]
    tidy["source_text"] = cells.where(~answered, pd.Series(before, index=cells.index, dtype=object))
    ids = (
        next((tidy[role] for role in ("output", "source") if role in tidy), turns)[~answered]
        .astype(str)
        .nunique()
    )
    others = ""
    if ids:
        have = "has" if ids == 1 else "have"
        others = f" ({plural(ids, 'conversation')} {have} no such turn)"
    notes.append(
        "conversations: the assistant's last turn is the output, and what comes before it is the"
        f" source{others}"
    )


def _count_what_is_no_text(tidy: pd.DataFrame, notes: list[str]) -> None:
    """A note on what conversations contain besides text, because judges do not see it."""
    kinds: Counter[str] = Counter()
    for role in set(tidy) & {"source_text", "text", *TEXTS}:
        # each once, however many rated it
        for cell in {str(cell): cell for cell in tidy[role]}.values():
            kinds += not_text(cell)
    if kinds:
        parts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        notes.append(
            f"conversations: parts that are not text are left out, so no judge sees them: {parts}"
        )
