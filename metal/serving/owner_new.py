"""The owner's form for a new study: the choices of `metal study new`, on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.errors import UsageError
from metal.running.handing_out import AskingPeople, askable_in
from metal.serving.desk import address, desk_of, fields_of, origin_of
from metal.serving.making import begin_study, is_plan
from metal.serving.once import counted_once, new_once
from metal.serving.owner_pages import (
    LONGEST_CONSENT,
    MOST_NEW,
    amount_of,
    check_form,
    datasets_in,
    number_of,
    owner_at_desk,
    plans_in,
    shown_link,
    study_content,
    text_of,
)
from metal.serving.studies import StudySettings
from metal.serving.templating import respond

LONGEST_ADDRESS = 500  # characters


def form(request: Request) -> Response:
    """The form for a study of the dataset or plan that the owner chose."""
    desk, visitor = owner_at_desk(request)
    chosen = _chosen(desk.root, request.query_params.get("dataset", ""))
    folder = desk.root / chosen
    content: dict[str, Any] = {"dataset": chosen, "csrf": visitor.csrf, "most_new": MOST_NEW}
    content["once"] = new_once()
    content["choices"] = None if is_plan(folder) else askable_in(folder)
    return respond(request, "owner_new.html", content)


def _chosen(root: Path, dataset: str) -> str:
    """The dataset or plan of a request. Raises UsageError for any other folder."""
    if dataset not in (*datasets_in(root), *plans_in(root)):
        raise UsageError(f"there is no dataset {dataset[:60]!r} in {root}")
    return dataset


async def make(request: Request) -> Response:
    """Make a study."""
    fields = await fields_of(request)
    return await run_in_threadpool(_make, request, fields)


def _make(request: Request, fields: FormData) -> Response:
    desk, visitor = owner_at_desk(request)
    check_form(visitor, fields)
    folder = desk.root / _chosen(desk.root, text_of(fields, "dataset"))
    notes: list[str] = []
    with counted_once(desk.ledger, text_of(fields, "once"), "study", "/owner") as form:
        study, links = begin_study(
            desk.ledger,
            desk.root,
            folder,
            _asking(fields),
            _settings(fields),
            notes.append,
            name=text_of(fields, "name"),
            people=number_of(fields, "people", 0, 0, MOST_NEW),
        )
        form.page = f"/owner/study/{study.id}"
    if not links and not notes:
        return RedirectResponse(address(request, f"/owner/study/{study.id}"), 303)
    start = f"{origin_of(request)}{address(request, '')}"
    personal_links = [shown_link(f"{start}{path}", person) for person, path in links]
    content = study_content(desk_of(request), visitor, study)
    return respond(
        request, "owner_study.html", {**content, "links": personal_links, "notes": notes}
    )


def _asking(fields: FormData) -> AskingPeople:
    """What people are asked, as the form says it; what has no tick is not limited."""
    return AskingPeople(
        languages=_several(fields, "languages"),
        criteria=_several(fields, "criteria"),
        generators=_several(fields, "generators"),
        template=text_of(fields, "template") or None,
        test_questions=text_of(fields, "test_questions"),
    )


def _settings(fields: FormData) -> StudySettings:
    """The rules of the study, as the form says them."""
    return StudySettings(
        raters=number_of(fields, "raters", 3, 1, 1000),
        one_more="one_more" in fields,
        consent=text_of(fields, "consent", LONGEST_CONSENT),
        most=number_of(fields, "most", 0, 0, 10**6),
        qualify=number_of(fields, "qualify", 0, 0, 100),
        pay=amount_of(fields, "pay"),
        budget=amount_of(fields, "budget"),
        group=text_of(fields, "group") or StudySettings.group,
        code=text_of(fields, "code"),
        screen_out=text_of(fields, "screen_out", LONGEST_ADDRESS),
    )


def _several(fields: FormData, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(each) for each in fields.getlist(name) if each))


ROUTES = [
    Route("/owner/new", form),
    Route("/owner/studies", make, methods=["POST"]),
]
