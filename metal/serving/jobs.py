"""The table of jobs: what worker processes do, each job claimed by one worker with a lease."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from metal.serving import tables
from metal.serving.ledger import ServingLedger

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
LEASE = 30.0  # seconds after which a worker that says nothing counts as dead
MOST_TRIES = 2  # of a job whose workers died
PAGES = "pages"  # a kind of jobs that all others go before, since any reader can ask for them


@dataclass(frozen=True)
class ServingJob:
    """A job that this worker has claimed. tries: how often it was begun, this time included."""

    id: int
    kind: str
    content: Mapping[str, Any]
    tries: int

    @property
    def given_up(self) -> bool:
        """Whether too many workers died with it."""
        return self.tries > MOST_TRIES


def add_job(connection: Connection, kind: str, content: Mapping[str, Any]) -> None:
    """Queue a job, as part of a transaction, unless the same one is waiting."""
    job = tables.jobs
    waiting = select(job.c.about).where(job.c.kind == kind, job.c.state == WAITING)
    if dict(content) in map(dict, connection.scalars(waiting)):
        return
    row = {"kind": kind, "about": dict(content), "state": WAITING, "says": "", "worker": ""}
    connection.execute(insert(job).values(**row, tries=0, until=0.0, made=time.time()))


def failed_lately(
    connection: Connection, kind: str, content: Mapping[str, Any], seconds: float
) -> str:
    """Why the latest job of this content failed, if it did in the last seconds; empty otherwise."""
    job = tables.jobs
    wanted = select(job.c.about, job.c.says).where(
        job.c.kind == kind, job.c.state == FAILED, job.c.made > time.time() - seconds
    )
    rows = connection.execute(wanted.order_by(job.c.id.desc())).all()
    return next((str(row.says) for row in rows if dict(row.about) == dict(content)), "")


def claim(ledger: ServingLedger, worker: str, lease: float = LEASE) -> ServingJob | None:
    """Take the oldest job that waits or whose worker died; None if there is none."""
    job = tables.jobs

    def write(connection: Connection) -> ServingJob | None:
        now = time.time()
        free = (job.c.state == WAITING) | ((job.c.state == RUNNING) & (job.c.until < now))
        oldest = select(job).where(free).order_by(job.c.kind == PAGES, job.c.id).limit(1)
        row = connection.execute(oldest.with_for_update(skip_locked=True)).mappings().first()
        if row is None:
            return None
        tries = row["tries"] + 1
        taken = {"state": RUNNING, "worker": worker, "until": now + lease, "tries": tries}
        connection.execute(update(job).where(job.c.id == row["id"]).values(**taken))
        return ServingJob(row["id"], row["kind"], row["about"], tries)

    return ledger.writes(write)


def renew(ledger: ServingLedger, job: ServingJob, worker: str, lease: float = LEASE) -> bool:
    """Keep a job for longer; False if another worker has it by now."""
    change = _of(job, worker).values(until=time.time() + lease)
    return ledger.writes(lambda connection: connection.execute(change).rowcount) > 0


def finish(ledger: ServingLedger, job: ServingJob, worker: str, problem: str = "") -> None:
    """Note that a job is done, or failed with a reason."""
    change = _of(job, worker).values(state=FAILED if problem else DONE, says=problem)
    ledger.writes(lambda connection: connection.execute(change))


def _of(job: ServingJob, worker: str) -> Any:
    """A change of a job, if the worker still has it."""
    table = tables.jobs
    owned = (table.c.id == job.id) & (table.c.worker == worker) & (table.c.state == RUNNING)
    return update(table).where(owned)
