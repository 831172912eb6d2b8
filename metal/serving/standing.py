"""Why there is nothing to rate for somebody now: their work is done, or others hold it up."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, exists, func, select

from metal.serving import tables
from metal.serving.handing import ANSWERED, LAPSED, number_of, room_for
from metal.serving.ledger import ServingLedger
from metal.serving.people import RaterInStudy
from metal.serving.studies import OPEN, RATE, Study

# nothing is left that they could rate; nobody gets tasks now; no answer can be paid now; other
# people hold all that is left
DONE, WAITS, SPENT, GIVEN_OUT = "done", "paused", "spent", "given out"


def why_nothing(ledger: ServingLedger, study: Study, rater: RaterInStudy) -> str:
    """Why a person who asked for tasks got none: DONE, WAITS, SPENT or GIVEN_OUT."""

    def read(connection: Connection) -> str:
        most = study.settings.most
        if most and number_of(connection, _rated(rater)) >= most:
            return DONE
        if connection.execute(_left_for(study, rater)).first() is None:
            return DONE
        if study.state != OPEN:
            return WAITS
        return SPENT if room_for(connection, study, rater) <= 0 else GIVEN_OUT

    return ledger.writes(read)  # `room_for` locks the study


def outputs_rated(ledger: ServingLedger, rater: RaterInStudy) -> int:
    """How many outputs a person rated, without test questions."""
    return ledger.reads(lambda connection: number_of(connection, _rated(rater)))


def _rated(rater: RaterInStudy) -> Select[Any]:
    handed, task = tables.handed, tables.tasks
    theirs = (handed.c.person == rater.id) & (handed.c.state == ANSWERED)
    return select(func.count()).select_from(handed.join(task)).where(theirs, task.c.kind == RATE)


def _left_for(study: Study, rater: RaterInStudy) -> Select[Any]:
    """An output that lacks answers, in a language of the person's, that they have not had."""
    handed, task = tables.handed, tables.tasks
    had = exists().where(
        handed.c.task == task.c.id, handed.c.person == rater.id, handed.c.state != LAPSED
    )
    of_study = (task.c.study == study.id) & (task.c.kind == RATE)
    readable = task.c.language.in_(rater.languages)
    return (
        select(task.c.id).where(of_study, readable, task.c.answered < task.c.wanted, ~had).limit(1)
    )
