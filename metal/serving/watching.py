"""How a study goes: how fast answers come, how long they take, what people left to others, and
whether answers wait to come into the dataset.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from metal.serving import tables
from metal.serving.ledger import ServingLedger

LOOKED = "metal-serve.looked"  # in the server's folder; its time is that of the latest look
LATE = 60.0  # seconds after which a worker that has not looked is missed
LATELY = 1800.0  # seconds of which the pace is that of now
FEWEST = 5  # answers below which nothing is said of the pace
LAST = 2_000  # answers of which the median time is


def pace_of(ledger: ServingLedger, study: str, left: int) -> dict[str, Any]:
    """The answers of the last half hour, the median seconds of an answer, and in how many seconds
    the study ends at this pace; None where too few answers came.
    """
    answer = tables.answers
    now = time.time()
    lately = (answer.c.study == study) & (answer.c.at > now - LATELY)
    recent = select(func.count(), func.min(answer.c.at)).where(lately)
    taken = select(answer.c.seconds).where(answer.c.study == study, answer.c.whole)
    count, first = ledger.reads(lambda connection: connection.execute(recent).one())
    last = taken.order_by(answer.c.at.desc()).limit(LAST)
    seconds = sorted(ledger.reads(lambda connection: connection.scalars(last).all()))
    pace: dict[str, Any] = {"recent": count, "median": None, "ends_in": None}
    if len(seconds) >= FEWEST:
        pace["median"] = seconds[len(seconds) // 2]
    if count >= FEWEST and now > first:
        pace["ends_in"] = left * (now - first) / count
    return pace


def skipped_of(ledger: ServingLedger, study: str) -> list[dict[str, Any]]:
    """How many tasks were left to others, by language and reason."""
    handed, task = tables.handed, tables.tasks
    wanted = (
        select(task.c.language, handed.c.reason, func.count().label("tasks"))
        .select_from(handed.join(task))
        .where(handed.c.study == study, handed.c.state == "skipped")
        .group_by(task.c.language, handed.c.reason)
        .order_by(task.c.language, handed.c.reason)
    )
    return [dict(row) for row in ledger.reads(lambda c: c.execute(wanted).mappings().all())]


def waiting_in(ledger: ServingLedger, study: str) -> int:
    """How many whole answers are not in the dataset, or are there in an older version."""
    answer, handed, person = tables.answers, tables.handed, tables.people
    wanted = (
        select(func.count())
        .select_from(answer.join(handed).join(person))
        .where(answer.c.study == study, answer.c.kept < answer.c.version)
        .where(answer.c.whole, person.c.state == "active")
    )
    return ledger.reads(lambda connection: connection.scalar(wanted)) or 0


def note_look(root: Path) -> None:
    """Note that a worker is looking for answers now."""
    with suppress(OSError):  # on a full disk; then the worker counts as late, rightly
        (root / LOOKED).touch()


def late_by(root: Path, began: float) -> float:
    """For how many seconds no worker has looked for answers; 0 if that is not long. began: when the
    server did, since before it none had to.
    """
    looked = began
    with suppress(OSError):
        looked = max(began, (root / LOOKED).stat().st_mtime)
    seconds = time.time() - looked
    return seconds if seconds > LATE else 0.0
