"""Studies of made-up tasks, without a dataset, and people who rate in them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select, update

from metal.building.tasks import Task
from metal.serving import tables
from metal.serving.handing import GivenAnswer, HeldTask, hand_out, save, tasks_of
from metal.serving.ledger import ServingLedger
from metal.serving.people import RaterInStudy, new_person
from metal.serving.studies import Forms, Study, StudySettings, StudyTask, make_study

LEVELS = ("0", "1", "2")
CRITERION = "task_quality"
QUESTION = {
    "name": CRITERION,
    "label": "Task quality",
    "optional": False,
    "low": None,
    "high": None,
    "levels": [{"value": value, "label": value, "key": value} for value in LEVELS],
}


def made_study(
    ledger: ServingLedger,
    items: int,
    languages: Sequence[str] = ("hi",),
    *,
    questions: int = 0,
    name: str = "made",
    **settings: Any,
) -> Study:
    """A study of `items` outputs in each language, with `questions` test questions in each."""
    tasks = [StudyTask(each.language, asdict(each)) for each in _tasks("t", items, languages)]
    asked = _tasks("q", questions, languages)
    tasks += [StudyTask(each.language, asdict(each), "positive") for each in asked]
    forms: dict[str, Any] = {
        language: {"dataset": "made", "questions": [QUESTION], "template": {}, "frame": {}}
        for language in languages
    }
    return make_study(ledger, name, "made", tasks, forms, StudySettings(**settings))


def _tasks(letter: str, number: int, languages: Sequence[str]) -> list[Task]:
    return [
        Task(f"{letter}{language}{item}", f"o{item}", language, "", "a source", "an output")
        for language in languages
        for item in range(number)
    ]


def people(
    ledger: ServingLedger, study: Study, number: int, languages: Sequence[str] = ("hi",)
) -> list[RaterInStudy]:
    """New people of a study."""
    return [new_person(ledger, study, languages)[0] for _ in range(number)]


def held(ledger: ServingLedger, study: Study, rater: RaterInStudy, language: str) -> list[HeldTask]:
    """What a person is given now and has not answered."""
    if not hand_out(ledger, study, rater, language):
        return []
    return [task for task in tasks_of(ledger, rater, language) if task.state == "held"]


def answer(
    ledger: ServingLedger, study: Study, rater: RaterInStudy, task: str, score: str = "1"
) -> None:
    """Answer one task."""
    save(ledger, Forms(ledger), study, rater, [GivenAnswer(task, {CRITERION: score}, "", 1.0)])


def rate_all(
    ledger: ServingLedger, study: Study, rater: RaterInStudy, rng: random.Random
) -> list[str]:
    """Rate until nothing is left for the person; return the tasks in their order."""
    forms, done = Forms(ledger), []
    for language in rater.languages:
        while tasks := held(ledger, study, rater, language):
            for task in tasks:
                given = GivenAnswer(task.task, {CRITERION: rng.choice(LEVELS)}, "", 1.0)
                save(ledger, forms, study, rater, [given])
                done.append(task.task)
    return done


def at_once(works: Sequence[Callable[[], None]]) -> None:
    """Do all of this in threads at the same time. Raises what the first of them raised."""
    raised: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def counted(ledger: ServingLedger, study: Study) -> dict[str, dict[str, int]]:
    """Task -> wanted, free and answered as the ledger counts them, and the people who have an
    answer there.
    """
    task, handed = tables.tasks, tables.handed
    theirs = (handed.c.task == task.c.id) & (handed.c.state == "answered")
    people_of_task = select(func.count()).where(theirs).scalar_subquery()
    wanted = select(
        task.c.task, task.c.wanted, task.c.free, task.c.answered, people_of_task.label("people")
    ).where(task.c.study == study.id, task.c.kind == "rate")
    rows = ledger.reads(lambda connection: connection.execute(wanted).mappings().all())
    return {row["task"]: {key: row[key] for key in row if key != "task"} for row in rows}


def lapse(ledger: ServingLedger, rater: RaterInStudy) -> None:
    """Let the time of everything that a person holds be over."""
    theirs = tables.handed.c.person == rater.id
    change = update(tables.handed).where(theirs).values(until=0.0)
    ledger.writes(lambda connection: connection.execute(change))


def seeds(number: int) -> Iterator[random.Random]:
    """Sources of chance, the same in each run."""
    return map(random.Random, range(number))
