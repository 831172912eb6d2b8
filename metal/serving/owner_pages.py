"""The owner's pages: studies, who rates in them, and how far they are."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.data.escaping import guarded
from metal.errors import UsageError
from metal.serving.desk import OWNER_COOKIE, Desk, address, desk_of, fields_of, origin_of
from metal.serving.handing import NotYours
from metal.serving.keeping import readmit, set_aside
from metal.serving.ledger import ServingLedger
from metal.serving.people import (
    JOIN,
    OWNER,
    RATER,
    NotValid,
    Visitor,
    answered_by,
    consents_of,
    link_of,
    new_link,
    new_person,
    people_of,
    person_named,
    revoke,
    same,
    session_of,
    visitor_of,
)
from metal.serving.studies import (
    STATES,
    Study,
    StudySettings,
    all_studies,
    ask_more,
    progress,
    set_state,
    study_of,
)
from metal.serving.templating import respond
from metal.serving.watching import pace_of, skipped_of

OF_A_PERSON = ("exclude", "readmit", "link")
MOST_NEW = 100  # people at a time
LONGEST_ONCE = 40  # characters
YEARS = 3650.0


def owner_secret(ledger: ServingLedger) -> str:
    """A new secret of the owner; those before still work."""
    return new_link(ledger, OWNER, days=YEARS)


def renew_owner(ledger: ServingLedger) -> str:
    """A new secret of the owner; those before let nobody in any more."""
    revoke(ledger, role=OWNER)
    return owner_secret(ledger)


def owner_at_desk(request: Request) -> tuple[Desk, Visitor]:
    """The desk, if the request is the owner's. Raises NotValid."""
    desk = desk_of(request)
    cookie = request.cookies.get(OWNER_COOKIE, "")
    visitor = visitor_of(desk.ledger, cookie) if cookie else None
    if visitor is None or visitor.role != OWNER:
        raise NotValid(
            "Open the owner's link that `metal serve` printed; `metal serve token` makes a new one"
        )
    return desk, visitor


def come_in(request: Request) -> Response:
    """Make a browser the owner's by the owner's link."""
    desk = desk_of(request)
    desk.limits.take(request)
    secret = request.path_params["secret"]
    link_of(desk.ledger, secret, OWNER)
    response = RedirectResponse(address(request, "/owner"), 303)
    desk.remember(request, response, "", session_of(desk.ledger, secret))
    return response


def start(request: Request) -> Response:
    """All studies, and the datasets of which one can be made."""
    desk, visitor = owner_at_desk(request)
    rows = [(study, progress(desk.ledger, study.id)) for study in all_studies(desk.ledger)]
    content = {"studies": rows, "datasets": datasets_in(desk.root), "csrf": visitor.csrf}
    return respond(request, "owner.html", content)


def datasets_in(root: Path) -> list[str]:
    """The datasets in the served folder, relative to it."""
    from metal.api.folders import ls

    datasets = [Path(each.path) for each in ls(root) if each.kind == "dataset"]
    return [folder.relative_to(root).as_posix() for folder in datasets]


async def make(request: Request) -> Response:
    """Make a study."""
    fields = dict(await fields_of(request))
    return await run_in_threadpool(_make, request, fields)


def _make(request: Request, fields: Mapping[str, Any]) -> Response:
    from metal.running.handing_out import AskingPeople
    from metal.serving.making import new_study

    desk, visitor = owner_at_desk(request)
    check_form(visitor, fields)
    dataset = str(fields.get("dataset", ""))
    if dataset not in datasets_in(desk.root):
        raise UsageError(f"there is no dataset {dataset!r} in {desk.root}")
    settings = StudySettings(
        raters=_number(fields, "raters", 3, 1, 1000),
        one_more="one_more" in fields,
        consent=str(fields.get("consent", "")).strip()[:20_000],
        most=_number(fields, "most", 0, 0, 10**6),
        qualify=_number(fields, "qualify", 0, 0, 100),
        code=str(fields.get("code", "")).strip()[:100],
    )
    asking = AskingPeople(test_questions=str(fields.get("test_questions", "")).strip())
    notes: list[str] = []
    study = new_study(desk.ledger, desk.root, desk.root / dataset, asking, settings, notes.append)
    return RedirectResponse(address(request, f"/owner/study/{study.id}"), 303)


def _number(fields: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    text = str(fields.get(name, "")).strip() or str(default)
    if not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise UsageError(f"{name} is {text[:40]!r}; write a number from {least} to {most}")
    return int(text)


def check_form(visitor: Visitor, fields: Mapping[str, Any]) -> None:
    """Raise NotYours for a form that another page sent."""
    if not same(str(fields.get("csrf", "")), visitor.csrf):
        raise NotYours("this form is not of your session; load the page again")


def study_page(request: Request) -> Response:
    """A study as it is now."""
    desk, visitor = owner_at_desk(request)
    study = study_of(desk.ledger, request.path_params["study"])
    return _study_page(request, desk, visitor, study)


def _study_page(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    study: Study,
    links: list[dict[str, str]] | None = None,
) -> Response:
    answered = answered_by(desk.ledger, study.id)
    noisy = study.figures.get("noisy", {})
    people = [
        {"rater": each, "answered": answered.get(each.name, 0), "noisy": noisy.get(each.name, ())}
        for each in people_of(desk.ledger, study.id)
    ]
    languages = progress(desk.ledger, study.id)
    left = sum(row["wanted"] - row["answered"] for row in languages)
    content = {
        "study": study,
        "agreement": [
            row
            for row in study.figures.get("agreement", ())
            if row["language"] in study.languages and row["criterion"] in study.settings.criteria
        ],
        "languages": languages,
        "people": people,
        "links": links or [],
        "pace": pace_of(desk.ledger, study.id, left),
        "skipped": skipped_of(desk.ledger, study.id),
        "states": [state for state in STATES if state != study.state],
        "refused": study.figures.get("refused", {}),
        "once": secrets.token_hex(8),
        "csrf": visitor.csrf,
    }
    return respond(request, "owner_study.html", content)


def consents(request: Request) -> Response:
    """Who agreed to what and when, as a CSV."""
    desk, _ = owner_at_desk(request)
    study = study_of(desk.ledger, request.path_params["study"])
    file = StringIO()
    writer = csv.writer(file)
    writer.writerow(["person", "version", "agreed"])
    for name, version, at in consents_of(desk.ledger, study.id):
        agreed = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        writer.writerow([guarded(name), version, agreed])
    headers = {"Content-Disposition": f'attachment; filename="{study.id}-consents.csv"'}
    return Response(file.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


async def change(request: Request) -> Response:
    """Change a study: its state, its people, how many are asked."""
    fields = dict(await fields_of(request))
    return await run_in_threadpool(_change, request, fields)


def _change(request: Request, fields: Mapping[str, Any]) -> Response:
    desk, visitor = owner_at_desk(request)
    check_form(visitor, fields)
    study = study_of(desk.ledger, request.path_params["study"])
    what, person = request.path_params["what"], str(fields.get("person", ""))
    rater = person_named(desk.ledger, study.id, person)
    if what in OF_A_PERSON and rater is None:
        raise UsageError(f"nobody in {study.id} is called {person!r}")
    if what in ("people", "link", "open-link"):
        links = _new_links(request, desk, study, what, fields)
        return _study_page(request, desk, visitor, study, links)
    if what == "state":
        set_state(desk.ledger, study.id, str(fields.get("state", "")))
    elif what == "exclude" and rater is not None:
        set_aside(desk.ledger, study, rater)
    elif what == "readmit" and rater is not None:
        readmit(desk.ledger, study, rater)
    elif what == "more":
        language = str(fields.get("language", ""))
        number, once = (
            _number(fields, "raters", 1, 1, 100),
            str(fields.get("once", ""))[:LONGEST_ONCE],
        )
        ask_more(desk.ledger, study.id, number, language, once)
    return RedirectResponse(address(request, f"/owner/study/{study.id}"), 303)


def _new_links(
    request: Request, desk: Desk, study: Study, what: str, fields: Mapping[str, Any]
) -> list[dict[str, str]]:
    """New links, which are shown once: for new people, for somebody who lost theirs, or one link
    for everybody.
    """
    origin = origin_of(request)
    if what == "open-link":
        revoke(desk.ledger, role=JOIN, study=study.id)
        secret = new_link(desk.ledger, JOIN, study=study.id)
        return [_shown(f"{origin}{address(request, f'/join/{secret}')}", "everybody")]
    if what == "link":
        rater = person_named(desk.ledger, study.id, str(fields.get("person", "")))
        assert rater is not None  # `_change` looked
        revoke(desk.ledger, person=rater.id)
        raters = [rater]
    else:
        language, number = (
            str(fields.get("language", "")),
            _number(fields, "number", 1, 1, MOST_NEW),
        )
        raters = [new_person(desk.ledger, study, [language])[0] for _ in range(number)]
    links = []
    for rater in raters:
        secret = new_link(desk.ledger, RATER, study=study.id, person=rater.id)
        links.append(_shown(f"{origin}{address(request, f'/r/{secret}')}", rater.name))
    return links


def _shown(link: str, rater: str) -> dict[str, str]:
    """A link with its QR code, as an image in the page."""
    import segno

    return {"link": link, "rater": rater, "image": segno.make(link).svg_data_uri(scale=3)}


ROUTES = [
    Route("/", start),
    Route("/owner", start),
    Route("/owner/studies", make, methods=["POST"]),
    Route("/owner/study/{study}", study_page),
    Route("/owner/study/{study}/consents.csv", consents),
    Route("/owner/study/{study}/{what}", change, methods=["POST"]),
    Route("/owner/{secret}", come_in),
]
