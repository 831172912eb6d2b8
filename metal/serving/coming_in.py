"""How people come into a study: by their own link, by the open link, by their recovery code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from metal.building.forms.frame import JOINED_BEFORE, NO_CHOICE, translation
from metal.building.forms.rating_page import words_page
from metal.building.tasks import Frame
from metal.data.languages import language_name, name_in
from metal.serving.desk import Desk, NotLetIn, address, cookie_of, desk_of, fields_of
from metal.serving.handing import NotYours
from metal.serving.people import (
    JOIN,
    RATER,
    link_of,
    new_link,
    new_person,
    recovered,
    session_of,
    visitor_of,
)
from metal.serving.rating_pages import Seat
from metal.serving.studies import CLOSED, Study, study_of

NAMED = re.compile(r"[A-Za-z0-9_.-]{1,100}")  # how platforms call people
# parameters of crowd platforms: what names the person, and what is kept besides
PLATFORMS = {
    "PROLIFIC_PID": ("prolific", ("STUDY_ID", "SESSION_ID")),
    "workerId": ("cloudresearch", ("assignmentId", "hitId", "projectId")),
    "participantId": ("cloudresearch", ("assignmentId", "projectId")),
}


def by_link(request: Request) -> Response:
    """Let somebody in by a link of their own."""
    desk = desk_of(request)
    link = link_of(desk.ledger, request.path_params["secret"], RATER)
    return _let_in(request, desk, link.study, request.path_params["secret"])


def _let_in(request: Request, desk: Desk, study: str, secret: str) -> Response:
    """Begin a session, and lead to the form. A browser that has one of the same person goes on with
    it, so that pages in its other tabs stay valid.
    """
    to = address(request, f"/study/{study}")
    response = RedirectResponse(to, 303)
    cookie = request.cookies.get(cookie_of(study), "")
    before = visitor_of(desk.ledger, cookie) if cookie else None
    person = link_of(desk.ledger, secret, RATER).person
    if before and (before.study, before.person) == (study, person):
        return response
    desk.remember(request, response, study, session_of(desk.ledger, secret))
    return response


def join(request: Request) -> Response:
    """The open link of a study: ask newcomers which languages they read. A browser in which
    somebody takes part already goes on with them.
    """
    desk = desk_of(request)
    study = study_of(desk.ledger, link_of(desk.ledger, request.path_params["secret"], JOIN).study)
    fields = dict(request.query_params)
    if _takes_part(request, study, _from_platform(fields)[0]):
        return RedirectResponse(address(request, f"/study/{study.id}"), 303)
    return HTMLResponse(_join_page(request, study, fields))


def _takes_part(request: Request, study: Study, name: str) -> bool:
    """Whether the browser has a session of somebody in the study; if the platform gave a name, of
    the person with this name.
    """
    try:
        seat = Seat(request, study)
    except NotLetIn:
        return False
    return not name or seat.rater.name.partition("#")[0] == name


def _frame_for(request: Request, study: Study) -> Frame:
    """The words of a page for somebody of whom only the browser's languages are known: those of the
    first language that the study has, too.
    """
    desk = desk_of(request)
    accepted = _accepted(request.headers.get("accept-language", ""))
    own = {code.lower().split("-")[0]: code for code in reversed(study.languages)}
    both = [own[code] for each in accepted if (code := each.split("-")[0]) in own]
    if len(study.languages) == 1:
        both = [*study.languages]
    if not both or study.settings.of_forms:
        return Frame()
    return desk.forms.form(study.id, both[0]).assignment("", ()).frame


def _accepted(header: str) -> list[str]:
    """The languages of an Accept-Language header, the most wanted first."""
    weighed = []
    for part in header[:500].split(",")[:20]:
        code, _, weight = part.strip().partition(";q=")
        if re.fullmatch("[A-Za-z-]{2,20}", code) and re.fullmatch(r"[01](\.[0-9]{0,3})?|", weight):
            weighed.append((-float(weight or 1), code.lower()))
    return [code for weight, code in sorted(weighed, key=itemgetter(0)) if weight]


def _join_page(
    request: Request, study: Study, platform: Mapping[str, Any], problem: str = ""
) -> str:
    frame = _frame_for(request, study)
    languages = [
        (code, f"{language_name(code)} ({name_in(code, code)})") for code in study.languages
    ]
    kept = {name: str(value)[:200] for name, value in platform.items() if name in _NAMES}
    content = {"rater": study.id, "languages": languages, "platform": kept}
    return words_page(frame, "join", **content, problem=translation(frame, problem))


_NAMES = {*PLATFORMS, *(name for _, names in PLATFORMS.values() for name in names)}


async def joining(request: Request) -> Response:
    """Make a newcomer a rater of the study."""
    fields = await fields_of(request)
    languages = [str(each) for each in fields.getlist("language")]
    return await run_in_threadpool(_joining, request, languages, dict(fields))


def _joining(request: Request, languages: list[str], fields: Mapping[str, Any]) -> Response:
    desk = desk_of(request)
    desk.newcomers.take(request)
    study = study_of(desk.ledger, link_of(desk.ledger, request.path_params["secret"], JOIN).study)
    if study.state == CLOSED:
        raise NotYours("this study is closed")
    name, platform = _from_platform(fields)
    to = address(request, f"/study/{study.id}")
    if _takes_part(request, study, name):
        return RedirectResponse(to, 303)
    if not languages:
        return HTMLResponse(_join_page(request, study, fields, NO_CHOICE), 400)
    rater, code = new_person(desk.ledger, study, languages, name=name, platform=platform)
    if not code:  # an ID stands in addresses and is no secret: it lets nobody in a second time
        return _recover_page(request, study, JOINED_BEFORE)
    secret = new_link(desk.ledger, RATER, study=study.id, person=rater.id)
    served = {"form": to}
    frame = desk.forms.form(study.id, languages[0]).assignment("", ()).frame
    page = words_page(frame, "joined", rater=rater.name, code=code, served=served)
    response = HTMLResponse(page)
    desk.remember(request, response, study.id, session_of(desk.ledger, secret))
    return response


def _from_platform(fields: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The name of somebody who comes from a crowd platform, and what it said of them."""
    for parameter, (platform, more) in PLATFORMS.items():
        person = str(fields.get(parameter, "")).strip()
        if person and not NAMED.fullmatch(person):
            raise NotYours(f"{parameter} is not an id; open the link of the platform again")
        if person:
            kept = {each: str(fields[each])[:200] for each in more if fields.get(each)}
            return f"{platform}:{person}", {"platform": platform, **kept}
    return "", {}


async def recover(request: Request) -> Response:
    """Let somebody in by their name and recovery code."""
    fields = dict(await fields_of(request))
    return await run_in_threadpool(_recover, request, fields)


def _recover(request: Request, fields: Mapping[str, Any]) -> Response:
    desk = desk_of(request)
    desk.limits.take(request)
    study = study_of(desk.ledger, request.path_params["study"])
    name, code = str(fields.get("name", ""))[:200].strip(), str(fields.get("code", ""))[:100]
    rater = recovered(desk.ledger, study.id, name, code)
    secret = new_link(desk.ledger, RATER, study=study.id, person=rater.id)
    return _let_in(request, desk, study.id, secret)


def not_let_in(request: Request, error: Exception) -> Response:
    """Say how to come in; to a script, say only that."""
    assert isinstance(error, NotLetIn)
    if request.headers.get("content-type", "").startswith("application/json"):
        return JSONResponse({"error": "not let in"}, 401)
    return _recover_page(request, error.study)


def _recover_page(request: Request, study: Study, problem: str = "") -> Response:
    """Ask for the name and the code of somebody who takes part already."""
    served = {"recover": address(request, f"/study/{study.id}/recover")}
    frame = _frame_for(request, study)
    problem = translation(frame, problem)
    page = words_page(frame, "recover", rater="", served=served, problem=problem)
    return HTMLResponse(page, 401)


ROUTES = [
    Route("/r/{secret}", by_link),
    Route("/join/{secret}", join),
    Route("/join/{secret}", joining, methods=["POST"]),
    Route("/study/{study}/recover", recover, methods=["POST"]),
]
