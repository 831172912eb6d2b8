"""The pages of people who rate: they come by a link, agree, rate, and can look at and withdraw what
they answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from metal.building.forms.frame import LACKING, REASONS, translation
from metal.building.forms.rating_page import rating_page, task_page, words_page
from metal.building.tasks import Frame
from metal.data.languages import name_in
from metal.serving.desk import Desk, NotLetIn, address, cookie_of, desk_of, fields_of
from metal.serving.handing import (
    ANSWERED,
    FAILED,
    HELD,
    LONGEST_COMMENT,
    PASSING,
    SKIPPED,
    GivenAnswer,
    HeldTask,
    NotYours,
    counts_of,
    hand_out,
    languages_of,
    qualify,
    save,
    skip,
    storable,
    tasks_of,
    trial_of,
)
from metal.serving.keeping import answers_of
from metal.serving.leaving import set_aside
from metal.serving.people import (
    ACTIVE,
    RATER,
    WITHDRAWN,
    RaterInStudy,
    consented,
    person_of,
    same,
    times_of,
    visitor_of,
)
from metal.serving.standing import DONE, outputs_rated, why_nothing
from metal.serving.studies import CLOSED, AskedForm, Study, study_of

MOST_ANSWERS = 100  # in a request
# for the form, which carries its own policy
FRAMED = "frame-ancestors 'none'"


class Seat:
    """A person in a study, on a request of theirs. Raises NotLetIn without a session of theirs."""

    def __init__(self, request: Request, study: Study | None = None) -> None:
        self.desk: Desk = desk_of(request)
        self.study = study or study_of(self.desk.ledger, request.path_params["study"])
        cookie = request.cookies.get(cookie_of(self.study.id), "")
        visitor = visitor_of(self.desk.ledger, cookie) if cookie else None
        person = None
        if visitor and (visitor.role, visitor.study) == (RATER, self.study.id) and visitor.person:
            person = person_of(self.desk.ledger, visitor.person)
        if visitor is None or person is None:
            raise NotLetIn(self.study)
        self.rater: RaterInStudy = person
        self.csrf = visitor.csrf
        self.base = address(request, f"/study/{self.study.id}")

    @property
    def served(self) -> dict[str, Any]:
        """What pages and their script need to ask the server."""
        paths = ("answers", "skip", "more", "mine", "plain", "consent", "withdraw", "recover")
        addresses = {path: f"{self.base}/{path}" for path in paths}
        return {**addresses, "form": self.base, "csrf": self.csrf, "reasons": REASONS}

    def check(self, token: Any) -> None:
        """Raise NotYours for a form that another page sent."""
        if not isinstance(token, str) or not same(token, self.csrf):
            raise NotYours("this form does not belong to your session; load the page again")

    def form(self, language: str) -> AskedForm:
        """What is asked in a language."""
        return self.desk.forms.form(self.study.id, language)

    def frame(self) -> Frame:
        """The words of pages in the person's first language."""
        return self.form(self.rater.languages[0]).assignment("", ()).frame

    def words(self, part: str, status: int = 200, **content: Any) -> Response:
        """A page of words in the person's language."""
        common = {"rater": self.rater.name, "served": self.served}
        return HTMLResponse(words_page(self.frame(), part, **common, **content), status)

    def before_rating(self) -> Response | None:
        """The page that comes first: consent, or the end; None if the person can rate."""
        if self.rater.state == WITHDRAWN:
            return self.words("withdrawn")
        if self.rater.state != ACTIVE:
            return self.words("stopped", code="", later=False)
        if self.study.state == CLOSED and self.rater.qualified == FAILED:
            return self.words("screened", out=self.screen_out)
        if self.study.state == CLOSED:
            return self.words("stopped", **self.thanks(finished=True))
        settings = self.study.settings
        if settings.version and self.rater.consent != settings.version:
            paragraphs = [part for part in settings.consent.split("\n") if part.strip()]
            return self.words("consent", consent=paragraphs, version=settings.version)
        return None

    def tasks(self, wanted: str = "") -> list[HeldTask]:
        """The person's tasks in the first of their languages in which there are some.

        wanted: the language that they chose.
        """
        languages = [each for each in self.rater.languages if each != wanted]
        if wanted in self.rater.languages:
            languages = [wanted, *languages]
        for language in languages:
            if hand_out(self.desk.ledger, self.study, self.rater, language):
                return tasks_of(self.desk.ledger, self.rater, language)
        return []

    @property
    def in_trial(self) -> bool:
        """Whether the person is in the qualification round."""
        return bool(self.study.settings.qualify) and not self.rater.qualified

    def without_tasks(self) -> Response:
        """The page for somebody who has nothing to rate now: how the trial went, or the end."""
        ledger, forms = self.desk.ledger, self.desk.forms
        if self.in_trial and any(trial_of(ledger, forms, self.rater)):
            trial = qualify(ledger, forms, self.study, self.rater)
            self.rater = person_of(ledger, self.rater.id) or self.rater
            if self.rater.qualified:
                passed = self.rater.qualified == PASSING
                return self.words("trial", trial=trial, passed=passed, out=self.screen_out)
        if self.rater.qualified == FAILED:
            return self.words("screened", out=self.screen_out)
        return self.done()

    @property
    def screen_out(self) -> dict[str, str]:
        """What people get who did not pass the qualification: a code, or an address to open."""
        out = self.study.settings.screen_out
        kind = "address" if out.startswith("https://") else "code"
        return {"address": "", "code": "", kind: out}

    def done(self) -> Response:
        """The page for somebody to whom nothing is left to rate."""
        why = why_nothing(self.desk.ledger, self.study, self.rater)
        return self.words("done", why=why, **self.thanks(finished=why == DONE))

    def thanks(self, *, finished: bool) -> dict[str, Any]:
        """How much the person rated, and the completion code if their work is done.

        Nobody gets it for test questions alone, or if they left more outputs to others than they
        rated. `later` says that it comes when the work is done.
        """
        code, ledger = self.study.settings.code, self.desk.ledger
        counts, rated_outputs = counts_of(ledger, self.rater), outputs_rated(ledger, self.rater)
        worked = bool(code) and rated_outputs > 0 and rated_outputs >= counts.get(SKIPPED, 0)
        rated = counts.get(ANSWERED, 0)
        earned = code if worked and finished else ""
        return {"code": earned, "later": worked and not finished, "rated": rated}


def form(request: Request) -> Response:
    """The form with the person's tasks."""
    seat = Seat(request)
    first = seat.before_rating()
    if first:
        return first
    tasks = seat.tasks(request.query_params.get("language", ""))
    if not tasks:
        return seat.without_tasks()
    asked = seat.form(tasks[0].language)
    assignment = asked.assignment(seat.rater.name, (task.content for task in tasks))
    answered = [
        {"task": task.task, "scores": dict(task.scores), "comment": task.comment,
         "seconds": task.seconds}
        for task in tasks
    ]  # fmt: skip
    served = {**seat.served, "given": answered, "trial": len(tasks) if seat.in_trial else 0}
    page = rating_page(assignment, asked.questions, "", served)
    return HTMLResponse(page, headers={"Content-Security-Policy": FRAMED})


async def answers(request: Request) -> Response:
    """Take answers as JSON; the reply comes when they are on disk."""
    body = await request.body()
    return await run_in_threadpool(_answers, request, body)


def _answers(request: Request, body: bytes) -> Response:
    seat = Seat(request)
    seat.check(request.headers.get("x-csrf"))
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise NotYours("answers come as JSON") from None
    entries = content.get("answers") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not 0 < len(entries) <= MOST_ANSWERS:
        raise NotYours(f"send 1 to {MOST_ANSWERS} answers at a time")
    seat_open(seat)
    arrived = list(map(GivenAnswer.of, entries))
    save(seat.desk.ledger, seat.desk.forms, seat.study, seat.rater, arrived)
    return JSONResponse({"saved": len(arrived)})


def seat_open(seat: Seat) -> None:
    """Raise NotLetIn if the person's answers are no longer taken."""
    if seat.study.state == CLOSED or seat.rater.state != ACTIVE:
        raise NotLetIn(seat.study)


async def posted(request: Request) -> Response:
    """What a form of the person sends: consent, more tasks, a task left to others, withdrawal."""
    fields = dict(await fields_of(request))
    return await run_in_threadpool(_posted, request, fields)


def _posted(request: Request, fields: Mapping[str, Any]) -> Response:
    seat = Seat(request)
    seat.check(fields.get("csrf"))
    what, ledger = request.path_params["what"], seat.desk.ledger
    back = seat.base
    if what == "consent" and fields.get("version") == seat.study.settings.version:
        consented(ledger, seat.rater.id, seat.study.settings.version)
    elif what == "skip":
        skip(ledger, seat.rater, str(fields.get("task", "")), str(fields.get("reason", "")))
        back = f"{seat.base}/plain" if fields.get("plain") else seat.base
    elif what == "withdraw" and fields.get("sure"):
        set_aside(ledger, seat.study, seat.rater, WITHDRAWN)
        return seat.words("withdrawn")
    return RedirectResponse(back, 303)


def mine(request: Request) -> Response:
    """Everything that is kept about the person."""
    seat = Seat(request)
    shown = [
        {
            "text": ", ".join(f"{name}: {score}" for name, score in row["scores"].items() if score),
            "comment": row["comment"],
            "at": _minute(row["at"]),
            "seconds": round(row["seconds"]),
        }
        for row in answers_of(seat.desk.ledger, seat.rater)
    ]
    ledger, rater, frame = seat.desk.ledger, seat.rater, seat.frame()
    came, agreed = times_of(ledger, rater)
    languages = [
        each if seat.study.settings.of_forms else name_in(each, frame.language)
        for each in rater.languages
    ]
    return seat.words(
        "mine",
        answers=shown,
        languages=languages,
        since=_minute(came),
        agreed=f"{_minute(agreed)} ({rater.consent})" if agreed else "",
        left=counts_of(ledger, rater).get(SKIPPED, 0),
        platform=rater.platform,
    )


def _minute(seconds: float) -> str:
    """A moment, in UTC. seconds: since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


# ---------------------------------------------------------------- without script


def plain(request: Request) -> Response:
    """One task as a page of its own, for browsers without script."""
    seat = Seat(request)
    return seat.before_rating() or _plain(seat, request.query_params.get("task", ""))


def _plain(
    seat: Seat, chosen: str = "", problem: str = "", fields: Mapping[str, Any] | None = None
) -> Response:
    tasks = seat.tasks()
    if not tasks:
        return seat.without_tasks()
    by_name = {task.task: position for position, task in enumerate(tasks)}
    first_held = [position for position, task in enumerate(tasks) if task.state == HELD]
    position = by_name.get(chosen, (*first_held, 0)[0])
    task, asked = tasks[position], seat.form(tasks[position].language)
    sent = dict(fields or {})
    previous = f"{seat.base}/plain?task={tasks[position - 1].task}" if position else ""
    page = task_page(
        asked.assignment(seat.rater.name, [task.content]),
        asked.questions,
        seat.served,
        number=position + 1,
        count=len(tasks),
        given=_scores(asked, sent) if fields else task.scores,
        comment=sent.get("comment", task.comment),
        previous=previous,
        problem=problem,
    )
    return HTMLResponse(page, 400 if problem else 200)


async def plain_answer(request: Request) -> Response:
    """Take the answer of a page without script, and show the next task."""
    fields = dict(await fields_of(request))
    return await run_in_threadpool(_plain_answer, request, fields)


def _plain_answer(request: Request, fields: Mapping[str, Any]) -> Response:
    seat = Seat(request)
    seat.check(fields.get("csrf"))
    seat_open(seat)
    task = str(fields.get("task", ""))
    languages = languages_of(seat.desk.ledger, seat.rater, [task])
    if task not in languages:
        return RedirectResponse(f"{seat.base}/plain", 303)
    asked = seat.form(languages[task])
    scores = _scores(asked, fields)
    problem = asked.refusal(scores)
    if not problem and not asked.whole(scores):
        problem = translation(seat.frame(), LACKING)
    if problem:
        return _plain(seat, task, problem, fields)
    comment = storable(str(fields.get("comment", ""))[:LONGEST_COMMENT])
    answer = GivenAnswer(task, scores, comment)
    save(seat.desk.ledger, seat.desk.forms, seat.study, seat.rater, [answer])
    return RedirectResponse(f"{seat.base}/plain", 303)


def _scores(asked: AskedForm, fields: Mapping[str, Any]) -> dict[str, str]:
    return {
        question["name"]: str(fields.get(f"c{number}", "")).strip()
        for number, question in enumerate(asked.questions)
    }


ROUTES = [
    Route("/study/{study}", form),
    Route("/study/{study}/answers", answers, methods=["POST"]),
    Route("/study/{study}/plain", plain),
    Route("/study/{study}/plain", plain_answer, methods=["POST"]),
    Route("/study/{study}/mine", mine),
    Route("/study/{study}/{what:str}", posted, methods=["POST"]),
]
