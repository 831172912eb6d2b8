"""The owner's pages: studies, who rates in them, and how far they are."""

from __future__ import annotations

import csv
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.data.escaping import guarded
from metal.errors import UsageError
from metal.serving import tables
from metal.serving.agreeing import no_agreement
from metal.serving.desk import OWNER_COOKIE, Desk, address, desk_of, fields_of, origin_of
from metal.serving.handing import ANSWERED, FAILED, SKIPPED, NotYours
from metal.serving.keeping import TROUBLE
from metal.serving.leaving import readmit, set_aside
from metal.serving.ledger import ServingLedger
from metal.serving.marks import RECOVERED
from metal.serving.once import AGAIN, LONGEST_ONCE, counted_once, new_once
from metal.serving.people import (
    ACTIVE,
    JOIN,
    OWNER,
    RATER,
    NotValid,
    RaterInStudy,
    Visitor,
    consents_of,
    end_ways_in,
    link_of,
    new_link,
    new_person,
    people_of,
    person_named,
    revoke,
    same,
    session_of,
    tasks_by_person,
    visitor_of,
)
from metal.serving.studies import (
    STATES,
    Study,
    all_studies,
    ask_more,
    change_consent,
    money_of,
    progress,
    set_budget,
    set_state,
    study_of,
)
from metal.serving.templating import respond
from metal.serving.watching import pace_of, skipped_of, waiting_in

OF_A_PERSON = ("exclude", "readmit", "link")
LONGEST_CONSENT, LONGEST_TEXT = 20_000, 100  # characters
MOST_NEW = 100  # people at a time
MOST_MONEY = 1e9
YEARS = 3650.0


def owner_secret(ledger: ServingLedger) -> str:
    """A new secret of the owner; those before still work."""
    return new_link(ledger, OWNER, days=YEARS)


def owner_known(ledger: ServingLedger) -> bool:
    """Whether there is an owner's link that lets somebody in."""
    link = tables.links
    valid = (link.c.role == OWNER) & ~link.c.revoked & (link.c.until > time.time())
    wanted = select(link.c.hash).where(valid).limit(1)
    return ledger.reads(lambda connection: connection.scalar(wanted)) is not None


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
    desk, _ = owner_at_desk(request)
    rows = [(study, progress(desk.ledger, study.id)) for study in all_studies(desk.ledger)]
    content = {"studies": rows, "datasets": datasets_in(desk.root), "plans": plans_in(desk.root)}
    content["notes"] = notes_on(request)
    return respond(request, "owner.html", content)


def datasets_in(root: Path) -> list[str]:
    """The datasets in the served folder, relative to it."""
    from metal.api.folders import ls

    datasets = [Path(each.path) for each in ls(root) if each.kind == "dataset"]
    return [folder.relative_to(root).as_posix() for folder in datasets]


def plans_in(root: Path) -> list[str]:
    """The plans of adjudication in the served folder whose tasks are for a server."""
    from metal.api.folders import ls
    from metal.building.forms.study_form import ENDING
    from metal.data.holdings import ADJUDICATION

    plans = [Path(each.path) for each in ls(root) if each.kind == ADJUDICATION]
    with_tasks = [folder for folder in plans if any(folder.glob(f"*{ENDING}"))]
    return [folder.relative_to(root).as_posix() for folder in with_tasks]


def number_of(fields: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A number of a form. Raises UsageError for anything else."""
    text = str(fields.get(name, "")).strip() or str(default)
    if not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise UsageError(f"{name} is {text[:40]!r}; write a number from {least} to {most}")
    return int(text)


def text_of(fields: Mapping[str, Any], name: str, longest: int = LONGEST_TEXT) -> str:
    """A text of a form. Raises UsageError for a longer one."""
    text = str(fields.get(name, "")).strip().replace("\r\n", "\n")
    if len(text) > longest:
        raise UsageError(f"{name} has {len(text):,} characters; at most {longest:,} are taken")
    return text


def amount_of(fields: Mapping[str, Any], name: str) -> float:
    """An amount of money in a form; 0 for an empty field."""
    text = text_of(fields, name) or "0"
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount <= MOST_MONEY:
        raise UsageError(f"{name} is {text[:40]!r}; write an amount such as 0.12")
    return amount


def check_form(visitor: Visitor, fields: Mapping[str, Any]) -> None:
    """Raise NotYours for a form that another page sent."""
    if not same(str(fields.get("csrf", "")), visitor.csrf):
        raise NotYours("this form does not belong to your session; load the page again")


def study_page(request: Request) -> Response:
    """A study as it is now."""
    desk, visitor = owner_at_desk(request)
    study = study_of(desk.ledger, request.path_params["study"])
    content = {**study_content(desk, visitor, study), "notes": notes_on(request)}
    return respond(request, "owner_study.html", content)


def notes_on(request: Request) -> list[str]:
    """What a page says after a form was sent again."""
    return [AGAIN] if "again" in request.query_params else []


def study_content(desk: Desk, visitor: Visitor, study: Study) -> dict[str, Any]:
    """What the page of a study shows."""
    answered, left_out = (
        tasks_by_person(desk.ledger, study.id, state) for state in (ANSWERED, SKIPPED)
    )
    noisy = study.figures.get("noisy", {})
    people = [
        {
            "rater": each,
            "answered": answered.get(each.name, 0),
            "left": left_out.get(each.name, 0),
            "noisy": noisy.get(each.name, ()),
        }
        for each in people_of(desk.ledger, study.id)
    ]
    languages = progress(desk.ledger, study.id)
    left = sum(max(row["wanted"] - row["answered"], 0) for row in languages)
    return {
        "study": study,
        "agreement": _agreement(study, languages),
        "languages": languages,
        "people": people,
        "short": _too_few(languages, [each["rater"] for each in people]),
        "links": [],
        "notes": [],
        "pace": pace_of(desk.ledger, study.id, left),
        "skipped": skipped_of(desk.ledger, study.id),
        "money": money_of(study, languages),
        "states": [state for state in STATES if state != study.state],
        "trouble": study.figures.get(TROUBLE, ""),
        "waiting": waiting_in(desk.ledger, study.id),
        "late": desk.late,
        "recovered": study.figures.get(RECOVERED),
        "refused": study.figures.get("refused", {}),
        "once": new_once(),
        "csrf": visitor.csrf,
    }


def _too_few(
    languages: Iterable[Mapping[str, Any]], people: Iterable[RaterInStudy]
) -> list[dict[str, Any]]:
    """Languages that cannot be finished: how many people each output needs, and how many rate."""
    rating = [each for each in people if each.state == ACTIVE and each.qualified != FAILED]
    able = Counter(language for each in rating for language in each.languages)
    rows = [
        {"language": row["language"], "need": math.ceil(row["wanted"] / row["outputs"]),
         "are": able[row["language"]]}
        for row in languages if row["answered"] < row["wanted"]
    ]  # fmt: skip
    return [row for row in rows if row["are"] < row["need"]]


def _agreement(study: Study, languages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How much people rated, and how far they agree, by language and criterion."""
    present = {
        (row["language"], row["criterion"]): row for row in study.figures.get("agreement", ())
    }
    wanted = {row["language"]: row["wanted"] for row in languages}
    rows = []
    for language, criterion in product(wanted, study.settings.criteria):
        blank = no_agreement(language, criterion)
        row = present.get((language, criterion), {})
        rows.append({**blank, **row, "wanted": wanted[language]})
    return rows


def consents(request: Request) -> Response:
    """Who agreed to what and when, as a CSV. Of somebody who agreed to several versions, only the
    latest has a date.
    """
    desk, _ = owner_at_desk(request)
    study = study_of(desk.ledger, request.path_params["study"])
    file = StringIO()
    writer = csv.writer(file)
    writer.writerow(["person", "version", "agreed", "answers", "text"])
    for each in consents_of(desk.ledger, study.id):
        agreed = ""
        if each.at is not None:
            agreed = datetime.fromtimestamp(each.at, UTC).isoformat(timespec="seconds")
        text = study.settings.consents.get(each.version, "")
        writer.writerow([guarded(each.person), each.version, agreed, each.answers, guarded(text)])
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
        once, page = text_of(fields, "once"), f"/owner/study/{study.id}"
        with counted_once(desk.ledger, once, f"{what} {person}", page):
            links = _new_links(request, desk, study, what, fields)
        content = {**study_content(desk, visitor, study), "links": links}
        return respond(request, "owner_study.html", content)
    if what == "state":
        set_state(desk.ledger, study.id, str(fields.get("state", "")))
    elif what == "exclude" and rater is not None:
        set_aside(desk.ledger, study, rater)
    elif what == "readmit" and rater is not None:
        readmit(desk.ledger, study, rater)
    elif what == "consent":
        change_consent(desk.ledger, study, text_of(fields, "consent", LONGEST_CONSENT))
    elif what == "budget":
        money = money_of(study, progress(desk.ledger, study.id))
        set_budget(desk.ledger, study, amount_of(fields, "budget"), money["spent"] + money["held"])
    elif what == "more":
        language = str(fields.get("language", ""))
        number, once = (
            number_of(fields, "raters", 1, 1, 100),
            str(fields.get("once", ""))[:LONGEST_ONCE],
        )
        ask_more(desk.ledger, study.id, number, language, once)
    else:
        raise UsageError(f"nothing called {what[:40]!r} can be changed")
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
        return [shown_link(f"{origin}{address(request, f'/join/{secret}')}", "everybody")]
    if what == "link":
        rater = person_named(desk.ledger, study.id, str(fields.get("person", "")))
        assert rater is not None  # `_change` looked
        end_ways_in(desk.ledger, rater)
        raters = [rater]
    else:
        language, number = (
            str(fields.get("language", "")),
            number_of(fields, "number", 1, 1, MOST_NEW),
        )
        raters = [new_person(desk.ledger, study, [language])[0] for _ in range(number)]
    links = []
    for rater in raters:
        secret = new_link(desk.ledger, RATER, study=study.id, person=rater.id)
        links.append(shown_link(f"{origin}{address(request, f'/r/{secret}')}", rater.name))
    return links


def shown_link(link: str, rater: str) -> dict[str, str]:
    """A link with its QR code, as an image in the page."""
    import segno

    return {"link": link, "rater": rater, "image": segno.make(link).svg_data_uri(scale=3)}


ROUTES = [
    Route("/", start),
    Route("/owner", start),
    Route("/owner/study/{study}", study_page),
    Route("/owner/study/{study}/consents.csv", consents),
    Route("/owner/study/{study}/{what}", change, methods=["POST"]),
    Route("/owner/{secret}", come_in),
]
