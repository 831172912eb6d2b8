"""Who is given which task, and what they answer.

A task that is handed out is held for a while; then somebody else may get it, and its first holder's
answer still counts. Nobody rates a task twice: the ledger has one row for each person and task.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, exists, func, insert, select, update

from metal.building.forms.frame import REASONS
from metal.errors import UsageError
from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.people import ACTIVE, RaterInStudy
from metal.serving.studies import OPEN, PASSED, RATE, SIDES, Forms, Study

HELD, ANSWERED, SKIPPED, LAPSED = "held", "answered", "skipped", "lapsed"
WAITING, PASSING, FAILED = "", "passed", "failed"  # in the qualification round
LAPSES = 500  # held tasks that are freed at a time
SHOWN = 100  # tasks on a person's page: those held, and the latest that they answered
LONGEST, LONGEST_COMMENT = 100, 10_000  # characters of a score, and of a comment
MOST_SECONDS = 3_600.0


class NotYours(UsageError):
    """A task that the person was not given, or an answer that cannot be taken."""


@dataclass(frozen=True)
class HeldTask:
    """A task that a person was given, with what they answered so far.

    content: what it shows, as a record of metal.building.tasks.Task.
    """

    task: str
    language: str
    state: str
    content: Mapping[str, Any]
    scores: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class GivenAnswer:
    """An answer as it arrived. scores: criterion -> score as written, blank without one."""

    task: str
    scores: Mapping[str, str]
    comment: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, content: Any) -> GivenAnswer:
        """Read an answer that a browser sent. Raises NotYours if it is none."""
        entry: dict[str, Any] = content if isinstance(content, dict) else {}
        task, scores = entry.get("task"), entry.get("scores")
        comment, seconds = entry.get("comment", ""), entry.get("seconds", 0)
        if not (isinstance(task, str) and isinstance(scores, dict) and isinstance(comment, str)):
            raise NotYours("an answer needs a task, scores and a comment")
        if not all(isinstance(score, str) and len(score) < LONGEST for score in scores.values()):
            raise NotYours(f"scores must be texts of fewer than {LONGEST} characters")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds != seconds:
            raise NotYours("the seconds of an answer must be a number")
        if len(comment) > LONGEST_COMMENT:
            raise NotYours(f"a comment has at most {LONGEST_COMMENT:,} characters")
        return cls(task, scores, storable(comment), float(min(max(seconds, 0), MOST_SECONDS)))


def storable(text: str) -> str:
    """The text without what a database or a file cannot hold: NUL, and halves of characters, which
    browsers send where a text was cut.
    """
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def hand_out(ledger: ServingLedger, study: Study, rater: RaterInStudy, language: str) -> int:
    """Give a person tasks in a language, and return how many they hold now.

    Who holds tasks already keeps these for longer, and gets no others.
    """
    return ledger.writes(lambda connection: _hand_out(connection, study, rater, language))


def _hand_out(connection: Connection, study: Study, rater: RaterInStudy, language: str) -> int:
    if state_of(connection, rater) != ACTIVE:
        return 0
    now = time.time()
    until = now + study.settings.hours * 3600
    theirs = (tables.handed.c.person == rater.id) & (tables.handed.c.state == HELD)
    in_language = tables.tasks.c.language == language
    held = connection.scalars(
        select(tables.handed.c.id).join(tables.tasks).where(theirs, in_language)
    ).all()
    if held:
        kept = tables.handed.c.id.in_(held)
        connection.execute(update(tables.handed).where(kept).values(until=until))
        return len(held)
    if study.state != OPEN or rater.qualified == FAILED:
        return 0
    _free_lapsed(connection, study.id, now)
    ids = _next_tasks(connection, study, rater, language)
    if not ids:
        return 0
    random.Random(f"{study.settings.seed} {rater.name} {min(ids)}").shuffle(ids)  # noqa: S311
    taken = tables.tasks.c.id.in_(ids)
    one_less = update(tables.tasks).where(taken).values(free=tables.tasks.c.free - 1)
    connection.execute(one_less)
    _hold(connection, study, rater, ids, until)
    return len(ids)


def state_of(connection: Connection, rater: RaterInStudy) -> str:
    """The person's state now. Until the transaction ends, it cannot change, and no other request
    of the person, as from a second tab, goes on.
    """
    person = tables.people
    wanted = select(person.c.state).where(person.c.id == rater.id)
    return str(connection.scalar(wanted.with_for_update()))


def _hold(
    connection: Connection, study: Study, rater: RaterInStudy, ids: Sequence[int], until: float
) -> None:
    """Note that a person holds tasks; some of them may be tasks of theirs that lapsed."""
    handed = tables.handed
    theirs = (handed.c.person == rater.id) & handed.c.task.in_(ids)
    again = set(connection.scalars(select(handed.c.task).where(theirs)))
    connection.execute(update(handed).where(theirs).values(state=HELD, until=until))
    row = {"person": rater.id, "study": study.id, "state": HELD, "reason": "", "until": until}
    new = [{**row, "task": task} for task in ids if task not in again]
    if new:
        connection.execute(insert(handed), new)


def _next_tasks(
    connection: Connection, study: Study, rater: RaterInStudy, language: str
) -> list[int]:
    """The tasks of a new batch; empty if there are none."""
    if study.settings.qualify and not rater.qualified:
        handed = tables.handed
        had = select(func.count()).where(handed.c.person == rater.id, handed.c.state != LAPSED)
        left = max(study.settings.qualify - number_of(connection, had), 0)
        return _unseen_tests(connection, study, rater, language, left)
    room = room_for(connection, study, rater)
    if room <= 0:
        return []
    chosen = _free_tasks(connection, study, rater, language, min(room, study.settings.batch))
    return [*chosen, *_tests(connection, study, rater, language, len(chosen))] if chosen else []


def room_for(connection: Connection, study: Study, rater: RaterInStudy) -> int:
    """How many tasks the person may still get, by the cap for one person and by the budget."""
    settings = study.settings
    room = settings.batch
    if settings.most:
        theirs = number_of(connection, _ordinary(study, rater))
        room = min(room, settings.most - theirs)
    if settings.budget and settings.pay:
        every = select(tables.studies.c.id).where(tables.studies.c.id == study.id)
        connection.execute(every.with_for_update())  # one at a time, so that it is never exceeded
        # What is with somebody or answered, by the counts of tasks: people have many more rows.
        task = tables.tasks
        out = select(func.coalesce(func.sum(task.c.wanted - task.c.free), 0))
        of_all = number_of(connection, out.where(task.c.study == study.id, task.c.kind == RATE))
        room = min(room, int(settings.budget / settings.pay + 1e-9) - of_all)
    return room


def _ordinary(study: Study, rater: RaterInStudy) -> Select[Any]:
    """How many outputs the person was given to rate and did not give back."""
    handed = tables.handed
    counted = handed.c.state.in_((HELD, ANSWERED)) & (handed.c.person == rater.id)
    wanted = select(func.count()).select_from(handed.join(tables.tasks))
    return wanted.where(handed.c.study == study.id, tables.tasks.c.kind == RATE, counted)


def number_of(connection: Connection, wanted: Select[Any]) -> int:
    counted: int = connection.execute(wanted).scalar_one()
    return counted


def _free_tasks(
    connection: Connection, study: Study, rater: RaterInStudy, language: str, number: int
) -> list[int]:
    """The next free tasks that the person has not had, or that lapsed for them. All people get
    tasks in the same order, so that outputs are finished one after the other.
    """
    task = tables.tasks
    wanted = _unseen(study, rater, language).where(task.c.kind == RATE).limit(number)
    skipping = wanted.with_for_update(skip_locked=True, of=task)
    ids = connection.scalars(skipping).all() or connection.scalars(wanted.with_for_update()).all()
    return [*map(int, ids)]


def _tests(
    connection: Connection, study: Study, rater: RaterInStudy, language: str, beside: int
) -> list[int]:
    """Test questions to hide among a number of tasks, as many as the study's share asks for."""
    share = study.settings.tests
    if not share:
        return []
    before = number_of(connection, _ordinary(study, rater))
    number = round(share * (before + beside)) - round(share * before)
    return _unseen_tests(connection, study, rater, language, number)


def _unseen_tests(
    connection: Connection, study: Study, rater: RaterInStudy, language: str, number: int
) -> list[int]:
    """The next test questions that the person has not had. Each side is looked for by itself: for
    both at once, databases read all tasks.
    """
    task = tables.tasks
    tests: list[tuple[int, int]] = []
    for side in SIDES:
        of_side = _unseen(study, rater, language).where(task.c.kind == side).limit(number)
        rows = connection.execute(of_side.add_columns(task.c.place)).all()
        tests += [(int(row.place), int(row.id)) for row in rows]
    return [key for _, key in sorted(tests)[:number]]


def _unseen(study: Study, rater: RaterInStudy, language: str) -> Select[Any]:
    task, handed = tables.tasks, tables.handed
    had = exists().where(
        handed.c.task == task.c.id, handed.c.person == rater.id, handed.c.state != LAPSED
    )
    return (
        select(task.c.id)
        .where(task.c.study == study.id, task.c.language == language, ~had)
        .where(task.c.free > 0)
        .order_by(task.c.place)
    )


def _free_lapsed(connection: Connection, study: str, now: float) -> None:
    """Free the tasks that were held for too long."""
    handed, task = tables.handed, tables.tasks
    over = (handed.c.study == study) & (handed.c.state == HELD) & (handed.c.until < now)
    late = select(handed.c.id, handed.c.task).where(over).limit(LAPSES)
    rows = connection.execute(late.with_for_update(skip_locked=True, of=handed)).all()
    for row, of_task in rows:
        connection.execute(update(handed).where(handed.c.id == row).values(state=LAPSED))
        change = update(task).where(task.c.id == of_task)
        connection.execute(change.values(free=task.c.free + 1))


# ---------------------------------------------------------------- what a person has


def tasks_of(ledger: ServingLedger, rater: RaterInStudy, language: str) -> list[HeldTask]:
    """The tasks on a person's page: those that they hold, and before them the latest that they
    answered.
    """
    handed, task, answer, shown = tables.handed, tables.tasks, tables.answers, tables.shown
    wanted = (
        select(
            *(task.c.task, task.c.language, handed.c.state, shown.c.content),
            *(answer.c.scores, answer.c.comment, answer.c.seconds),
        )
        .select_from(handed.join(task).join(shown, shown.c.task == task.c.id).outerjoin(answer))
        .where(handed.c.person == rater.id, task.c.language == language)
        .where(handed.c.state.in_((HELD, ANSWERED)))
        .order_by((handed.c.state == HELD).desc(), handed.c.id.desc())
        .limit(SHOWN)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    held = [
        HeldTask(name, its_language, state, content, scores or {}, comment or "", seconds or 0.0)
        for name, its_language, state, content, scores, comment, seconds in reversed(rows)
    ]
    return sorted(held, key=lambda each: each.state == HELD)


def counts_of(ledger: ServingLedger, rater: RaterInStudy) -> dict[str, int]:
    """How many tasks of a person are in each state."""
    handed = tables.handed
    wanted = select(handed.c.state, func.count()).where(handed.c.person == rater.id)
    grouped = wanted.group_by(handed.c.state)
    rows = ledger.reads(lambda connection: connection.execute(grouped).all())
    return {str(state): int(number) for state, number in rows}


# ---------------------------------------------------------------- the qualification round


@dataclass(frozen=True)
class QualifyingAnswer:
    """A task of the qualification round that somebody answered or left out; then it has no scores.

    right: criterion -> whether the score is right; False where a criterion was left blank.
    """

    content: Mapping[str, Any]
    side: str
    scores: Mapping[str, str]
    right: Mapping[str, bool]


def trial_of(ledger: ServingLedger, forms: Forms, rater: RaterInStudy) -> list[QualifyingAnswer]:
    """The test questions that a person answered or left out so far, and what was right."""
    handed, task, answer, shown = tables.handed, tables.tasks, tables.answers, tables.shown
    wanted = (
        select(task.c.kind, task.c.language, shown.c.content, answer.c.scores)
        .select_from(handed.join(task).join(shown, shown.c.task == task.c.id).outerjoin(answer))
        .where(handed.c.person == rater.id, task.c.kind != RATE)
        .where(handed.c.state.in_((ANSWERED, SKIPPED)))
        .order_by(handed.c.id)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    trial = []
    for side, language, content, scores in rows:
        form = forms.form(rater.study, language)
        right = form.rightness(side, scores or {})
        marks = {name: right.get(name, False) for name in form.telling(side)}
        trial.append(QualifyingAnswer(content, side, scores or {}, marks))
    return trial


def qualify(
    ledger: ServingLedger, forms: Forms, study: Study, rater: RaterInStudy
) -> list[QualifyingAnswer]:
    """Decide whether a person may rate, once they have answered or left out all their trial tasks,
    and return these. Who left one out does not pass.
    """
    trial = trial_of(ledger, forms, rater)
    if len(trial) < study.settings.qualify:
        return trial
    marks = [right for each in trial for right in each.right.values()]
    passed = all(each.scores for each in trial) and sum(marks) >= PASSED * len(marks)
    person = tables.people
    change = update(person).where(person.c.id == rater.id)
    decided = change.values(qualified=PASSING if passed else FAILED)
    ledger.writes(lambda connection: connection.execute(decided))
    return trial


# ---------------------------------------------------------------- what they answer


def save(
    ledger: ServingLedger,
    forms: Forms,
    study: Study,
    rater: RaterInStudy,
    answers: Sequence[GivenAnswer],
) -> None:
    """Keep answers; when this returns they are on disk. The same answers may come again.

    An answer to a task that lapsed counts. Raises NotYours, and keeps none, if a task was not given
    to the person or a score is off the scale.
    """
    languages = languages_of(ledger, rater, [answer.task for answer in answers])
    for answer in answers:
        if answer.task not in languages:
            raise NotYours(f"task {answer.task[:40]!r} was not given to {rater.name}")
        problem = forms.form(study.id, languages[answer.task]).refusal(answer.scores)
        if problem:
            raise NotYours(problem)
    complete = {
        each.task: forms.form(study.id, languages[each.task]).whole(each.scores) for each in answers
    }

    def write(connection: Connection) -> None:
        if state_of(connection, rater) != ACTIVE:
            raise NotYours(f"the answers of {rater.name} are no longer taken")
        for answer in sorted(answers, key=lambda each: each.task):  # one order, so no two block
            _save(connection, study, rater, answer, complete[answer.task])

    ledger.writes(write)


def languages_of(
    ledger: ServingLedger, rater: RaterInStudy, names: Iterable[str]
) -> dict[str, str]:
    """Task -> its language, for those that the person was given."""
    handed, task = tables.handed, tables.tasks
    theirs = (handed.c.person == rater.id) & task.c.task.in_(list(names))
    wanted = select(task.c.task, task.c.language).select_from(handed.join(task)).where(theirs)
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    return {str(each): str(language) for each, language in rows}


def _save(
    connection: Connection, study: Study, rater: RaterInStudy, answer: GivenAnswer, complete: bool
) -> None:
    handed, task, kept = tables.handed, tables.tasks, tables.answers
    theirs = (handed.c.person == rater.id) & (task.c.task == answer.task)
    row_of = select(handed.c.id, handed.c.task, handed.c.state).select_from(handed.join(task))
    row, of_task, state = connection.execute(row_of.where(theirs).with_for_update(of=handed)).one()
    content = {
        "scores": dict(answer.scores),
        "comment": answer.comment,
        "seconds": answer.seconds,
        "whole": complete,
        "consent": rater.consent,
    }
    before = connection.execute(select(kept).where(kept.c.handed == row)).mappings().first()
    if before is None:
        new = {"handed": row, "study": study.id, "at": time.time(), "version": 1, "kept": 0}
        connection.execute(insert(kept).values(**new, **content))
    elif any(before[name] != content[name] for name in ("scores", "comment", "whole")):
        change = update(kept).where(kept.c.handed == row)
        connection.execute(change.values(**content, at=time.time(), version=kept.c.version + 1))
    change = update(task).where(task.c.id == of_task)
    if complete and state != ANSWERED:
        connection.execute(update(handed).where(handed.c.id == row).values(state=ANSWERED))
        fewer = 0 if state == HELD else 1  # it had been freed for somebody else
        connection.execute(change.values(answered=task.c.answered + 1, free=task.c.free - fewer))
    elif not complete and state == ANSWERED:  # a question was cleared: it is to be answered again
        until = time.time() + study.settings.hours * 3600
        again = update(handed).where(handed.c.id == row)
        connection.execute(again.values(state=HELD, until=until))
        connection.execute(change.values(answered=task.c.answered - 1))
    if complete and study.settings.one_more:  # also after somebody changed their mind
        _ask_one_more(connection, study, of_task)


def _ask_one_more(connection: Connection, study: Study, of_task: int) -> None:
    """Ask one more person if everybody has answered and no answer has more than half of them."""
    handed, task, kept = tables.handed, tables.tasks, tables.answers
    state = select(task.c.kind, task.c.wanted, task.c.answered, task.c.language)
    kind, wanted, answered, language = connection.execute(state.where(task.c.id == of_task)).one()
    if kind != RATE or answered != wanted or wanted != study.settings.asked_in(language):
        return
    theirs = (handed.c.task == of_task) & (handed.c.state == ANSWERED)
    rows = connection.scalars(
        select(kept.c.scores).select_from(kept.join(handed)).where(theirs)
    ).all()
    for name in rows[0]:
        filled = [scores[name] for scores in rows if scores.get(name)]
        if filled and 2 * max(map(filled.count, filled)) <= len(filled):
            change = update(task).where(task.c.id == of_task)
            connection.execute(change.values(wanted=task.c.wanted + 1, free=task.c.free + 1))
            return


def skip(ledger: ServingLedger, rater: RaterInStudy, name: str, reason: str) -> None:
    """Leave a task to others. Raises NotYours if the person does not hold it, or for an unknown
    reason.
    """
    if reason not in REASONS:
        raise NotYours(f"{reason[:40]!r} is not one of the reasons: {', '.join(REASONS)}")
    handed, task = tables.handed, tables.tasks

    def write(connection: Connection) -> None:
        theirs = (handed.c.person == rater.id) & (task.c.task == name)
        row_of = select(handed.c.id, handed.c.task, handed.c.state).select_from(handed.join(task))
        row = connection.execute(row_of.where(theirs).with_for_update(of=handed)).first()
        if row is not None and row.state == SKIPPED:  # a second click
            return
        if row is None or row.state not in (HELD, LAPSED):
            raise NotYours(f"task {name[:40]!r} is not one that {rater.name} has to rate")
        left = update(handed).where(handed.c.id == row.id)
        connection.execute(left.values(state=SKIPPED, reason=reason))
        if row.state == HELD:
            change = update(task).where(task.c.id == row.task)
            connection.execute(change.values(free=task.c.free + 1))

    ledger.writes(write)
