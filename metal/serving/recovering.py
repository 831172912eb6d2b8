"""When a ledger or a dataset was restored from a copy: what the dataset lacks comes in again."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, func, select, update

from metal.data.missing import no_such
from metal.serving import tables
from metal.serving.leaving import set_aside, take_out
from metal.serving.ledger import ServingLedger
from metal.serving.marks import MARK, RECOVERED, fingerprint, key_of, read_marks
from metal.serving.people import ACTIVE, EXCLUDED, NUMBERS, WITHDRAWN, person_of
from metal.serving.studies import Forms, Study, study_of


def recover(ledger: ServingLedger, forms: Forms, root: Path, study: Study) -> None:
    """Let all answers of a study come into its dataset again, if the dataset is not as the ledger
    left it: one of them was restored from a copy.

    Who withdrew according to either of them has withdrawn. Raises UsageError if a dataset that has
    answers is no longer there.
    """
    from metal.data.files import one_writer

    folder, mark = study.folder(root), study.figures.get(MARK, "")
    of_forms = study.settings.of_forms
    if mark and not (folder / ("run.toml" if of_forms else "dataset.toml")).is_file():
        raise no_such(folder, "plan of adjudication" if of_forms else "dataset folder")
    if read_marks(folder).studies.get(key_of(study), "") == mark:
        return
    with one_writer(folder):  # a worker that is about to note its mark has this lock
        study = study_of(ledger, study.id)
        marks = read_marks(folder)
        left = marks.studies.get(key_of(study), "")
        if left == study.figures.get(MARK, ""):
            return
        if not of_forms:
            _hand_out_again(ledger, forms, folder, study)
        _withdraw_again(ledger, folder, study, marks.withdrawn)
        _bring_in_again(ledger, study, left)


def _hand_out_again(ledger: ServingLedger, forms: Forms, folder: Path, study: Study) -> None:
    """Note the tasks of a study in a dataset that is older than the study. Pairs are left out: what
    their criteria compare is not in the ledger.
    """
    from metal.building.store import note_tasks, read_reserved, read_tasks, reserve, task_key
    from metal.running.handing_out import ask_tests_again

    task, shown = tables.tasks, tables.shown
    texts = select(task.c.task, shown.c.content, task.c.language).select_from(task.join(shown))
    wanted = texts.where(task.c.study == study.id)
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    noted = read_tasks(folder).keys()
    lost = [row for row in rows if row.task not in noted]
    ask_tests_again(folder, [row.content for row in lost])
    for language in study.languages:
        missing = [content for _, content, part in lost if part == language]
        assignment = forms.form(study.id, language).assignment("", missing)
        if missing and not assignment.template.paired:
            note_tasks(folder, [assignment], task_key(folder))
    block = range(study.settings.first, study.settings.first + NUMBERS)
    if block not in read_reserved(folder):
        reserve(folder, block)


def _withdraw_again(
    ledger: ServingLedger, folder: Path, study: Study, withdrawn: Collection[str]
) -> None:
    """Let those have withdrawn of whom the dataset knows it, and take the ratings of all who have
    withdrawn out of it.
    """
    person = tables.people
    wanted = select(person.c.id, person.c.name, person.c.made, person.c.state)
    of_study = wanted.where(person.c.study == study.id)
    for key, name, came, state in ledger.reads(lambda c: c.execute(of_study).all()):
        rater = person_of(ledger, key)
        if state != WITHDRAWN and rater and fingerprint(name, came) in withdrawn:
            set_aside(ledger, study, rater, WITHDRAWN)
        elif state == WITHDRAWN:
            take_out(ledger, folder, study, key, name)


def _bring_in_again(ledger: ServingLedger, study: Study, mark: str) -> None:
    """Note that no answer of a study is known to be in the dataset, and that those of excluded
    people may be. mark: that of the dataset.
    """
    answer, handed, person = tables.answers, tables.handed, tables.people
    every = tables.studies
    now = datetime.fromtimestamp(time.time(), UTC).isoformat(" ", "minutes")

    def theirs(state: str) -> Select[Any]:
        of_state = (person.c.study == study.id) & (person.c.state == state)
        return select(handed.c.id).select_from(handed.join(person)).where(of_state)

    def write(connection: Connection) -> None:
        active = answer.c.handed.in_(theirs(ACTIVE))
        kept = select(func.count()).where(active, answer.c.kept > 0)
        noted = {"at": now, "answers": connection.scalar(kept)}
        connection.execute(update(answer).where(active).values(kept=0))
        excluded = update(answer).where(answer.c.handed.in_(theirs(EXCLUDED)))
        connection.execute(excluded.values(kept=answer.c.version))
        wanted = select(every.c.figures).where(every.c.id == study.id).with_for_update()
        figures = {**(connection.scalar(wanted) or {}), MARK: mark, RECOVERED: noted}
        connection.execute(update(every).where(every.c.id == study.id).values(figures=figures))

    ledger.writes(write)
