"""Studies: what people are asked on the server, about which dataset, and under which rules."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from metal.data.text import slug
from metal.errors import UsageError
from metal.serving import tables
from metal.serving.ledger import ServingLedger

if TYPE_CHECKING:
    from metal.building.tasks import Assignment

OPEN, PAUSED, CLOSED = "open", "paused", "closed"
STATES = (OPEN, PAUSED, CLOSED)
RATE = "rate"
SIDES = ("positive", "negative")  # of test questions, as metal.genie calls them
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
PASSED = 0.8  # of the answers of a qualification round
EVERYBODY = 1_000_000  # may get a test question
ROWS = 5_000  # that are written at a time
ASKED = "asked"  # beside the settings: the latest requests for more people
MOST_ASKED = 100
TOPPED = "topped"  # of the settings


@dataclass(frozen=True)
class StudySettings:
    """The rules of a study.

    raters: how many people are to rate each output. one_more: whether one more person is asked
    where people split. batch: tasks handed out at a time. hours: how long a person may keep a task
    before it is given to somebody else. tests: test questions per output that a person rates. most:
    how many outputs one person may rate, 0 for any number. pay, budget: what an answer costs, and
    how much the study may cost, in the same currency; 0 for no limit. qualify: test questions that
    a person must answer first, at least PASSED of them rightly; 0 for none. group: the group of
    its raters. consent: the text that people agree to; former: those before it. code: what a
    person enters on a crowd platform at the end. screen_out: a code or an address for people who
    do not pass the qualification. of_forms: whether its tasks are from a folder of
    forms, into which its answers go. first: the number of its first person, as in hi-1. past: the
    highest number that the dataset had when the ledger was restored from a copy. topped: language
    -> how many more people than `raters` the owner asked for later; "" for every language.
    """

    raters: int = 3
    one_more: bool = False
    batch: int = 10
    hours: float = 24
    tests: float = 0.0
    most: int = 0
    pay: float = 0.0
    budget: float = 0.0
    qualify: int = 0
    group: str = "native"
    consent: str = ""
    former: tuple[str, ...] = ()
    code: str = ""
    screen_out: str = ""
    of_forms: bool = False
    template: str = ""
    criteria: tuple[str, ...] = ()
    seed: int = 0
    first: int = 1
    past: int = 0
    topped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> StudySettings:
        """The settings as the ledger keeps them."""
        names = {each.name for each in fields(cls)}
        kept = {name: value for name, value in content.items() if name in names}
        lists = {name: tuple(kept.get(name, ())) for name in ("criteria", "former")}
        return cls(**{**kept, **lists})

    def asked_in(self, language: str) -> int:
        """How many people are to rate each output of a language."""
        return self.raters + self.topped.get("", 0) + self.topped.get(language, 0)

    @property
    def version(self) -> str:
        """The version of the consent; it changes if the text does."""
        return _version(self.consent) if self.consent else ""

    @property
    def consents(self) -> dict[str, str]:
        """Version -> text, of every consent that people were asked for."""
        return {_version(text): text for text in (*self.former, self.consent) if text}


def _version(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


@dataclass(frozen=True)
class Study:
    """A study as the ledger has it.

    figures: what the last import into the dataset found (see metal.serving.keeping). made: when, in
    seconds since 1970.
    """

    id: str
    dataset: str
    state: str
    settings: StudySettings
    languages: tuple[str, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    made: float = 0.0

    def folder(self, root: Path) -> Path:
        """The folder of its dataset."""
        return root / self.dataset


@dataclass(frozen=True)
class StudyTask:
    """A task of a new study.

    part: its language or, in a study of forms, the form that it belongs to. content: what it shows,
    as a record of metal.building.tasks.Task. kind: RATE, or the side of a test question.
    """

    part: str
    content: Mapping[str, Any]
    kind: str = RATE


def address_name(folder: str) -> str:
    """The name that a study or a board of a folder has in addresses."""
    return slug(folder).lower().replace("_", "-").strip("-") or "x"


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number if it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name[:55]}-{number}"
    return free


class NoSuchStudy(UsageError):
    """A study that the ledger does not have."""


def make_study(
    ledger: ServingLedger,
    name: str,
    dataset: str,
    tasks: Sequence[StudyTask],
    forms: Mapping[str, Mapping[str, Any]],
    settings: StudySettings,
) -> Study:
    """Write a study into the ledger, whole or not at all. Raises UsageError if its name is taken.

    dataset: the folder, relative to the server's. forms: language -> what people are asked.
    """
    rng = np.random.default_rng(settings.seed)
    rows: list[dict[str, Any]] = []
    for turn, position in enumerate(rng.permutation(len(tasks)).tolist()):
        each = tasks[position]
        wanted = settings.raters if each.kind == RATE else EVERYBODY
        row = {"study": name, "task": each.content["task"], "language": each.part}
        row |= {"kind": each.kind, "place": turn, "answered": 0}
        rows.append({**row, "wanted": wanted, "free": wanted})
    contents = {each.content["task"]: dict(each.content) for each in tasks}

    def write(connection: Connection) -> None:
        study = tables.studies
        if connection.scalar(select(study.c.id).where(study.c.id == name)):
            raise UsageError(f"there is a study {name} already; give this one another `name`")
        row = {"id": name, "dataset": dataset, "state": OPEN, "settings": asdict(settings)}
        connection.execute(insert(study).values(**row, figures={}, made=time.time()))
        for language, content in forms.items():
            form = {"study": name, "language": language, "content": content}
            connection.execute(insert(tables.forms).values(**form))
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            connection.execute(insert(tables.tasks), part)
        ids = dict(
            connection.execute(
                select(tables.tasks.c.task, tables.tasks.c.id).where(tables.tasks.c.study == name)
            ).all()
        )
        texts = [{"task": ids[task], "content": content} for task, content in contents.items()]
        for start in range(0, len(texts), ROWS):
            connection.execute(insert(tables.shown), texts[start : start + ROWS])

    ledger.writes(write)
    return study_of(ledger, name)


def all_studies(ledger: ServingLedger) -> list[Study]:
    """Every study, the newest first."""

    def read(connection: Connection) -> list[Study]:
        order = tables.studies.c.made.desc()
        rows = connection.execute(select(tables.studies).order_by(order)).mappings()
        return [_study(connection, row) for row in rows]

    return ledger.reads(read)


def study_of(ledger: ServingLedger, name: str) -> Study:
    """The study of a name. Raises NoSuchStudy."""

    def read(connection: Connection) -> Study:
        study = tables.studies
        row = connection.execute(select(study).where(study.c.id == name)).mappings().first()
        if row is None:
            raise NoSuchStudy(f"there is no study {name!r} here")
        return _study(connection, row)

    return ledger.reads(read)


def _study(connection: Connection, row: Mapping[Any, Any]) -> Study:
    forms = tables.forms
    languages = connection.scalars(
        select(forms.c.language).where(forms.c.study == row["id"]).order_by(forms.c.language)
    )
    settings = StudySettings.of(row["settings"])
    return Study(
        row["id"],
        row["dataset"],
        row["state"],
        settings,
        tuple(languages),
        row["figures"],
        row["made"],
    )


def set_state(ledger: ServingLedger, name: str, state: str) -> None:
    """Open, pause or close a study."""
    if state not in STATES:
        raise UsageError(f"a study is {', '.join(STATES[:-1])} or {STATES[-1]}, not {state!r}")
    study = tables.studies
    change = update(study).where(study.c.id == name).values(state=state)
    ledger.writes(lambda connection: connection.execute(change))


def change_settings(ledger: ServingLedger, name: str, **changes: Any) -> None:
    """Change rules of a study."""
    study = tables.studies

    def write(connection: Connection) -> None:
        wanted = select(study.c.settings).where(study.c.id == name).with_for_update()
        rules = connection.scalar(wanted)
        changed = update(study).where(study.c.id == name)
        connection.execute(changed.values(settings={**(rules or {}), **changes}))

    ledger.writes(write)


def money_of(study: Study, languages: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """What a study costs: spent on answers, held for those that people are rating now, and left of
    its budget (of a study without a budget, 0). languages: see `progress`.
    """
    settings = study.settings
    answered = out = 0
    for row in languages:
        answered += row["answered"]
        out += max(row["wanted"] - row["free"], row["answered"])
    spent, held = answered * settings.pay, (out - answered) * settings.pay
    left = max(settings.budget - spent - held, 0.0) if settings.budget else 0.0
    return {"spent": spent, "held": held, "left": left}


def set_budget(ledger: ServingLedger, study: Study, budget: float, least: float) -> None:
    """Change what a study may cost; 0 for no limit. Raises UsageError for less than `least`, which
    is spent or held.
    """
    if budget and budget < least - 1e-9:
        raise UsageError(f"budget is {budget:g}; {least:g} is spent or held already, write more")
    change_settings(ledger, study.id, budget=budget)


def change_consent(ledger: ServingLedger, study: Study, text: str) -> None:
    """Ask everybody to agree to another text, before they rate more; empty to ask for none."""
    settings = study.settings
    if text != settings.consent:
        former = dict.fromkeys([*settings.former, settings.consent])
        change_settings(ledger, study.id, consent=text, former=[each for each in former if each])


def ask_more(
    ledger: ServingLedger, name: str, raters: int, language: str = "", once: str = ""
) -> None:
    """Let more people rate each output of a study or of a language.

    raters: how many more. once: a name of this request; the same request counts once, also if it
    is sent twice or the connection breaks after it was written.
    """
    task, study = tables.tasks, tables.studies
    request = once or secrets.token_hex(8)
    of_study = (task.c.study == name) & (task.c.kind == RATE)
    chosen = of_study & (task.c.language == language) if language else of_study
    more = update(task).where(chosen)

    def write(connection: Connection) -> None:
        wanted = select(study.c.settings).where(study.c.id == name).with_for_update()
        settings = connection.execute(wanted).scalar_one()
        before = settings.get(ASKED, [])
        if request in before:
            return
        connection.execute(more.values(wanted=task.c.wanted + raters, free=task.c.free + raters))
        topped = settings.get(TOPPED, {})
        topped = {**topped, language: topped.get(language, 0) + raters}
        noted = {**settings, TOPPED: topped, ASKED: [*before, request][-MOST_ASKED:]}
        connection.execute(update(study).where(study.c.id == name).values(settings=noted))

    ledger.writes(write)


# ---------------------------------------------------------------- forms


@dataclass(frozen=True)
class AskedForm:
    """What people are asked in a language, or in a part of a study of forms: see
    metal.building.forms.study_form.form_content.
    """

    study: str
    language: str
    content: Mapping[str, Any]

    @property
    def questions(self) -> Sequence[Mapping[str, Any]]:
        """The questions, as metal.building.forms.rating_page.question_of makes them."""
        questions: Sequence[Mapping[str, Any]] = self.content["questions"]
        return questions

    def assignment(self, rater: str, tasks: Iterable[Mapping[str, Any]]) -> Assignment:
        """A person's tasks in this form. tasks: as the ledger shows them."""
        from metal.building.tasks import Assignment, Frame, Task, TaskTemplate

        records = tuple(
            Task(**{**content, "references": tuple(content["references"])}) for content in tasks
        )
        template = TaskTemplate(**self.content["template"])
        frame = Frame(**self.content["frame"])
        dataset = self.content["dataset"]
        language = self.content["language"]
        return Assignment(dataset, rater, language, records, {}, template, frame)

    def whole(self, scores: Mapping[str, str]) -> bool:
        """Whether every question that must be answered is."""
        return all(scores.get(each["name"]) for each in self.questions if not each["optional"])

    def rightness(self, side: str, scores: Mapping[str, str]) -> dict[str, bool]:
        """Criterion -> whether the answer to a test question is right, for those that can be right
        or wrong (see metal.genie.gold_questions.rightness). side: of the question.
        """
        right = {}
        for name in self.telling(side):
            if scores.get(name):
                share = self.content["shares"][name]
                points = sorted((float(value), at) for value, at in share["at"].items())
                values, shares = zip(*points, strict=True)
                position = float(np.interp(float(scores[name]), values, shares))
                right[name] = position > 0.5 if side == "positive" else position < 0.5
        return right

    def telling(self, side: str) -> list[str]:
        """The criteria on which an answer to a test question of this side can be right or wrong."""
        shares = self.content["shares"].items()
        return [
            name for name, share in shares if share and (side == SIDES[0] or share["of_source"])
        ]

    def refusal(self, scores: Mapping[str, str]) -> str:
        """What is wrong with scores that somebody sent; empty if nothing is. A blank is fine."""
        by_name = {each["name"]: each for each in self.questions}
        for name, score in scores.items():
            if name not in by_name:
                return f"nobody asked {name!r}"
            if score and not _allowed(by_name[name], score):
                return f"{score[:40]!r} is not on the scale of {name}"
        return ""


def _allowed(question: Mapping[str, Any], score: str) -> bool:
    if question["levels"]:
        return score in [level["value"] for level in question["levels"]]
    try:
        number = float(score)
    except ValueError:
        return False
    if question["low"] is None:
        return bool(np.isfinite(number))
    return bool(float(question["low"]) <= number <= float(question["high"]))


class Forms:
    """The forms of studies; they never change, so that each is read once."""

    def __init__(self, ledger: ServingLedger) -> None:
        self._ledger = ledger
        self.form = lru_cache(maxsize=200)(self._read)

    def _read(self, study: str, language: str) -> AskedForm:
        form = tables.forms
        wanted = select(form.c.content).where(form.c.study == study, form.c.language == language)
        content = self._ledger.reads(lambda connection: connection.scalar(wanted))
        if content is None:
            raise NoSuchStudy(f"the study {study} asks nothing in {language}")
        return AskedForm(study, language, content)


def progress(ledger: ServingLedger, name: str) -> list[dict[str, Any]]:
    """For each language: how many answers are wanted, there, and held now."""
    task = tables.tasks
    columns = (
        task.c.language,
        func.count().label("outputs"),
        func.sum(task.c.wanted).label("wanted"),
        func.sum(task.c.answered).label("answered"),
        func.sum(task.c.free).label("free"),
    )
    wanted = (
        select(*columns)
        .where(task.c.study == name, task.c.kind == RATE)
        .group_by(task.c.language)
        .order_by(task.c.language)
    )
    return [dict(row) for row in ledger.reads(lambda c: c.execute(wanted).mappings().all())]
