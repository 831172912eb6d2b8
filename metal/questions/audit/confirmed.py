"""How far people confirm each other's labels, if that is too little to show who is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from metal.auditing.cells import worst_level
from metal.auditing.verdict import LIKE_A_PERSON
from metal.data.text import interval, known, percent
from metal.questions.audit.run import AuditRun
from metal.runs.columns import Row
from metal.stats.intervals import wilson

LEAST_CONFIRMED, LEAST_CONFIRMED_BAD = 0.7, 0.5
ADJUDICATED = "adjudicate report"  # the command whose lines have a card of their own
DECISIONS = 40  # outputs that somebody who knows decides
OPEN = "it is open whether such labels can show who is right"
Z = 1.645  # of one-sided 5% limits


def beside_words(run: AuditRun, row: Row) -> list[str]:
    """Sentences on the people of a cell that go with its verdict: careless people, and labels that
    people hardly confirm.
    """
    if "p_like" not in row:  # of a run before version 0.2
        return []
    sentences = [row["panel"]] if row["panel"] else []
    if doubt := doubt_of(row, bad_label(run, row["criterion"])):
        sentences.append(doubt if _is_decided(run, row) else f"{doubt}; {to_do()}")
    return sentences


def _is_decided(run: AuditRun, row: Row) -> bool:
    """Whether an adjudication has decided outputs of the case."""
    cell = [row[column] for column in ("judge", "criterion", "language")]
    return any(
        line["question"] == ADJUDICATED
        and [line[column] for column in ("judge", "criterion", "language")] == cell
        for line in run.lines
    )


def bad_label(run: AuditRun, criterion: str) -> str:
    """The label at the bad end, as written in reasons; empty if a criterion has none."""
    asked = run.criteria[criterion]
    worst = worst_level(asked, run.settings.get("bad", ""))
    if worst is None:
        return ""
    return worst.label if asked.scale.measure == "nominal" else worst.shown


def doubt_of(row: Row, bad: str) -> str:
    """A sentence on labels that people hardly confirm. If the judge is like a person, it is also
    given for labels that people are not shown to confirm. Empty if there is nothing to say. row: a
    row of verdicts.
    """
    of_bad = (row["confirmed_bad"], row.get("bad_items", math.nan), repr(bad), LEAST_CONFIRMED_BAD)
    of_all = (row["confirmed"], row["items"], "ratings", LEAST_CONFIRMED)
    for share, items, whose, least in (of_bad, of_all) if bad else (of_all,):
        if not known(share):
            continue
        low, high = wilson(share, items, Z)
        confirmed = f"{percent(share)} {interval(low, high, percent)}".rstrip()
        claim = f"these people confirm {confirmed} of each other's {whose}"
        if share < least:
            return f"{claim}: such labels cannot show who is right"
        if low < least and row["verdict"] == LIKE_A_PERSON:
            return f"{claim}: {OPEN}"
    return ""


def hardly_confirmed(row: Row, bad: str) -> bool:
    """Whether people confirm each other's labels, or labels at the bad end, too rarely to show who
    is right. Always False for runs before version 0.2.
    """
    shares = [(row.get("confirmed", math.nan), LEAST_CONFIRMED)]
    if bad:
        shares.append((row.get("confirmed_bad", math.nan), LEAST_CONFIRMED_BAD))
    return any(known(share) and share < least for share, least in shares)


def hardly_confirmed_cases(run: AuditRun, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells in which a judge is like people who hardly confirm each other's labels."""
    return [
        cell
        for cell in cells
        if cell["verdict"] == LIKE_A_PERSON
        and hardly_confirmed(cell, bad_label(run, cell["criterion"]))
    ]


def to_do() -> str:
    """Advice on what to do about such labels."""
    return f"let somebody who knows decide {DECISIONS} outputs on which people and the judge differ"
