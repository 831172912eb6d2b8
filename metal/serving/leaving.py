"""People who leave a study: their answers leave the dataset, are deleted, or come in again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, exists, select, update

from metal.data.files import one_writer
from metal.running.annotating import take_out_rater
from metal.serving import tables
from metal.serving.answer_files import remove_answers
from metal.serving.handing import ANSWERED, HELD, LAPSED, SKIPPED, state_of
from metal.serving.ledger import ServingLedger
from metal.serving.marks import MARK, fingerprint, leave_mark
from metal.serving.people import ACTIVE, EXCLUDED, WITHDRAWN, RaterInStudy
from metal.serving.studies import Study

TAKEN_OUT = "taken out of the study"
# what the ledger keeps no longer of somebody who withdrew
FORGOTTEN: dict[str, Any] = {"platform": {}, "recovery": None}


def set_aside(
    ledger: ServingLedger, study: Study, rater: RaterInStudy, state: str = EXCLUDED
) -> None:
    """Take a person out of the study: their tasks go to others, and a worker takes their ratings
    out of the dataset (see `let_go`).

    state: EXCLUDED, after which the ledger keeps their answers, or WITHDRAWN, after which they are
    deleted.
    """
    handed, task, person = tables.handed, tables.tasks, tables.people
    answer = tables.answers

    def write(connection: Connection) -> None:
        if state_of(connection, rater) == WITHDRAWN:  # nobody brings somebody back who withdrew
            return
        theirs = handed.c.person == rater.id
        in_use = theirs & handed.c.state.in_((HELD, ANSWERED))
        rows = connection.execute(select(handed.c.task, handed.c.state).where(in_use)).all()
        for of_task, was in rows:
            fewer = {"answered": task.c.answered - 1} if was == ANSWERED else {}
            change = update(task).where(task.c.id == of_task)
            connection.execute(change.values(free=task.c.free + 1, **fewer))
        left = update(handed).where(in_use)
        connection.execute(left.values(state=SKIPPED, reason=TAKEN_OUT))
        # An import may have been interrupted before it was noted: the dataset is looked through.
        own = select(handed.c.id).where(theirs)
        may_be_there = update(answer).where(answer.c.handed.in_(own))
        connection.execute(may_be_there.values(kept=answer.c.version))
        more = FORGOTTEN if state == WITHDRAWN else {}
        connection.execute(
            update(person).where(person.c.id == rater.id).values(state=state, **more)
        )

    ledger.writes(write)


def readmit(ledger: ServingLedger, study: Study, rater: RaterInStudy) -> None:
    """Let a person who was excluded rate again; their answers count as before."""
    handed, task, answer, person = tables.handed, tables.tasks, tables.answers, tables.people

    def write(connection: Connection) -> None:
        if state_of(connection, rater) != EXCLUDED:
            return
        out = (handed.c.person == rater.id) & (handed.c.reason == TAKEN_OUT)
        finished = select(answer.c.handed).where(answer.c.whole)
        back = out & handed.c.id.in_(finished)
        for of_task in connection.scalars(select(handed.c.task).where(back)).all():
            change = update(task).where(task.c.id == of_task)
            connection.execute(change.values(free=task.c.free - 1, answered=task.c.answered + 1))
        connection.execute(update(handed).where(back).values(state=ANSWERED, reason=""))
        connection.execute(update(handed).where(out & ~back).values(state=LAPSED, reason=""))
        again = update(answer).where(answer.c.handed.in_(select(handed.c.id).where(
            handed.c.person == rater.id)))  # fmt: skip
        connection.execute(again.values(kept=0))
        of_person = update(person).where(person.c.id == rater.id, person.c.state == EXCLUDED)
        connection.execute(of_person.values(state=ACTIVE))

    ledger.writes(write)


def let_go(ledger: ServingLedger, root: Path, study: Study) -> int:
    """Take what people who left a study answered in it out of its dataset, and delete the answers
    of those who withdrew; return how many people there were.

    What they answered in other studies of the dataset stays. If this is interrupted, it is done
    again.
    """
    handed, answer, person = tables.handed, tables.answers, tables.people
    pending = answer.c.kept > 0
    wanted = (
        select(person.c.id, person.c.name, person.c.state, person.c.made)
        .where(person.c.study == study.id, person.c.state != ACTIVE)
        .where(
            exists()
            .where(handed.c.person == person.c.id, handed.c.id == answer.c.handed)
            .where(pending | (person.c.state == WITHDRAWN))
        )
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    folder = study.folder(root)
    for key, name, state, came in rows:
        wholly = state == WITHDRAWN
        with one_writer(folder):  # so that the marks do not differ for others
            take_out(ledger, folder, study, key, name)
            withdrawn = fingerprint(name, came) if wholly else ""
            mark = leave_mark(folder, study, left=name, withdrawn=withdrawn)
            ledger.writes(partial(_note_left, study, key, name, wholly=wholly, mark=mark))
    return len(rows)


def take_out(ledger: ServingLedger, folder: Path, study: Study, person: int, name: str) -> None:
    """Take what a person answered in a study out of its dataset, or out of its plan's folder."""
    if study.settings.of_forms:
        remove_answers(folder, study, name)
    else:
        take_out_rater(folder, name, _had(ledger, person), study.settings.criteria)


def _had(ledger: ServingLedger, person: int) -> set[str]:
    """Every task that a person was given."""
    handed, task = tables.handed, tables.tasks
    theirs = handed.c.person == person
    wanted = select(task.c.task).select_from(handed.join(task)).where(theirs)
    return set(ledger.reads(lambda connection: connection.scalars(wanted).all()))


def _note_left(
    study: Study, key: int, name: str, connection: Connection, *, wholly: bool, mark: str = ""
) -> None:
    """Note that the dataset has none of a person's answers in a study any more; wholly: delete
    them. Their answers to the same tasks in other studies come in again. mark: of the dataset.
    """
    answer, handed, task = tables.answers, tables.handed, tables.tasks
    person, every = tables.people, tables.studies
    theirs = answer.c.handed.in_(select(handed.c.id).where(handed.c.person == key))
    if wholly:
        connection.execute(delete(answer).where(theirs))
    else:
        connection.execute(update(answer).where(theirs).values(kept=0))
    had = select(task.c.task).select_from(handed.join(task)).where(handed.c.person == key)
    same_tasks = (
        select(handed.c.id)
        .select_from(handed.join(task).join(person, handed.c.person == person.c.id))
        .join(every, every.c.id == person.c.study)
        .where(every.c.dataset == study.dataset, every.c.id != study.id)
        .where(person.c.name == name, task.c.task.in_(had))
    )
    connection.execute(update(answer).where(answer.c.handed.in_(same_tasks)).values(kept=0))
    if mark:
        own = select(every.c.figures).where(every.c.id == study.id).with_for_update()
        figures = {**(connection.scalar(own) or {}), MARK: mark}
        connection.execute(update(every).where(every.c.id == study.id).values(figures=figures))
