"""From the ledger into the dataset: the folder stays the truth that `metal audit` reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, select, update

from metal.running.annotating import take_out_rater
from metal.serving import tables
from metal.serving.handing import ANSWERED, HELD, SKIPPED
from metal.serving.ledger import ServingLedger
from metal.serving.people import ACTIVE, EXCLUDED, WITHDRAWN, RaterInStudy, set_person
from metal.serving.studies import CLOSED, Forms, Study

if TYPE_CHECKING:
    import pandas as pd

    from metal.building.answers import Assigned
    from metal.running.annotating import ImportReport

AT_ONCE = 20_000  # answers that are written together
TIED = "handed"
TAKEN_OUT = "taken out of the study"


def new_answers(
    ledger: ServingLedger, study: Study, most: int = AT_ONCE
) -> list[Mapping[Any, Any]]:
    """The answers that the dataset lacks or has in an older version, the oldest first; at most
    `most`.

    Answers that lack a question wait until the study is closed. Those of people who were excluded
    or withdrew are left out.
    """
    answer, handed, person, task = tables.answers, tables.handed, tables.people, tables.tasks
    wanted = (
        select(
            *(answer, person.c.name.label("rater"), task.c.task, task.c.language),
        )
        .select_from(answer.join(handed).join(person).join(task))
        .where(answer.c.study == study.id, answer.c.kept < answer.c.version)
        .where(person.c.state == ACTIVE)
        .order_by(answer.c.at)
        .limit(most)
    )
    if study.state != CLOSED:
        wanted = wanted.where(answer.c.whole)
    return list(ledger.reads(lambda connection: connection.execute(wanted).mappings().all()))


def keep(ledger: ServingLedger, forms: Forms, root: Path, study: Study) -> int:
    """Bring new answers into the dataset, and note what they show; return how many there were.

    If this is interrupted, the same answers are brought in again, which changes nothing.
    """
    from metal.building.store import note_served
    from metal.building.tasks import Answer
    from metal.data.dataset import dataset_to_change
    from metal.running.annotating import import_answers

    if not new_answers(ledger, study, 1):
        return 0
    folder = study.folder(root)
    with dataset_to_change(folder) as loaded:  # nobody else brings them in at the same time
        rows = new_answers(ledger, study)
        if not rows:
            return 0
        note_served(folder, _served(forms, study, rows))
        answers = [
            Answer(row["task"], row["rater"], row["scores"], row["comment"], f"study {study.id}",
                   round(row["seconds"]))
            for row in rows
        ]  # fmt: skip
        report = import_answers(folder, loaded, answers, replace=True, group=study.settings.group)
        _note_kept(ledger, study, rows, figures_of(report))
    return len(rows)


def _served(forms: Forms, study: Study, rows: Sequence[Mapping[Any, Any]]) -> list[Assigned]:
    """Who was given the tasks of these answers, as the dataset notes it."""
    from metal.building.answers import Assigned

    asked: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for row in rows:
        names = tuple(each["name"] for each in forms.form(study.id, row["language"]).questions)
        asked.setdefault((row["rater"], row["language"]), {})[row["task"]] = names
    return [Assigned(rater, language, tasks) for (rater, language), tasks in asked.items()]


def _note_kept(
    ledger: ServingLedger,
    study: Study,
    rows: Sequence[Mapping[Any, Any]],
    figures: Mapping[str, Any],
) -> None:
    answer, every = tables.answers, tables.studies

    def write(connection: Connection) -> None:
        for row in rows:
            same = (answer.c.handed == row[TIED]) & (answer.c.kept < row["version"])
            connection.execute(update(answer).where(same).values(kept=row["version"]))
        change = update(every).where(every.c.id == study.id)
        connection.execute(change.values(figures=dict(figures)))

    ledger.writes(write)


def figures_of(report: ImportReport) -> dict[str, Any]:
    """What the owner sees of an import: agreement for each language and criterion, and who fails
    test questions, with the reasons.
    """
    noisy = {} if report.tests is None else report.tests.noisy
    return {
        "agreement": _plain(report.agreement),
        "ambiguous": len(report.ambiguous),
        "noisy": {rater: list(reasons) for rater, reasons in noisy.items()},
    }


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON takes them; an undefined number is None."""
    return [
        {str(name): _value(value) for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def _value(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def answers_of(ledger: ServingLedger, rater: RaterInStudy) -> list[Mapping[Any, Any]]:
    """Every answer of a person, the oldest first."""
    answer, handed = tables.answers, tables.handed
    wanted = (
        select(answer)
        .select_from(answer.join(handed))
        .where(handed.c.person == rater.id)
        .order_by(answer.c.at)
    )
    return list(ledger.reads(lambda connection: connection.execute(wanted).mappings().all()))


def set_aside(ledger: ServingLedger, root: Path, study: Study, rater: RaterInStudy) -> None:
    """Take a person out of the study: their tasks go to others, and their ratings leave the
    dataset. The ledger keeps their answers.
    """
    handed, task = tables.handed, tables.tasks

    def write(connection: Connection) -> None:
        theirs = handed.c.person == rater.id
        rows = connection.execute(
            select(handed.c.task, handed.c.state).where(theirs).with_for_update()
        ).all()
        for of_task, state in rows:
            again = {"free": task.c.free + 1} if state in (HELD, ANSWERED) else {}
            fewer = {"answered": task.c.answered - 1} if state == ANSWERED else {}
            if again:
                change = update(task).where(task.c.id == of_task)
                connection.execute(change.values(**again, **fewer))
        gone = update(handed).where(theirs, handed.c.state.in_((HELD, ANSWERED)))
        connection.execute(gone.values(state=SKIPPED, reason=TAKEN_OUT))

    set_person(ledger, study.id, rater.name, EXCLUDED)
    ledger.writes(write)
    take_out_rater(study.folder(root), rater.name)


def withdraw(ledger: ServingLedger, root: Path, study: Study, rater: RaterInStudy) -> None:
    """Delete a person's answers from the ledger and the dataset, at their wish."""
    set_aside(ledger, root, study, rater)
    set_person(ledger, study.id, rater.name, WITHDRAWN)
    handed, answer = tables.handed, tables.answers

    def write(connection: Connection) -> None:
        of_person = select(handed.c.id).where(handed.c.person == rater.id)
        connection.execute(delete(answer).where(answer.c.handed.in_(of_person)))

    ledger.writes(write)
