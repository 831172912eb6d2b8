"""The owner's pages of boards: who reads them, teams, submissions, and studies of what joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.errors import UsageError
from metal.serving.boards import (
    BUDGET,
    READERS,
    BoardRules,
    ServedBoard,
    all_boards,
    ask_to_withdraw,
    board_of,
    new_team,
    new_viewer_link,
    open_served_board,
    set_rules,
    shut_out,
    teams_of,
)
from metal.serving.desk import Desk, address, fields_of, origin_of
from metal.serving.once import counted_once, new_once
from metal.serving.owner_pages import (
    LONGEST_TEXT,
    check_form,
    datasets_in,
    notes_on,
    owner_at_desk,
    text_of,
)
from metal.serving.people import Visitor
from metal.serving.studies import StudySettings
from metal.serving.submissions import accept, dismiss, refuse, submission_of, submissions_of
from metal.serving.templating import respond

LONGEST_REASON = 500
MOST_RATERS = 1_000


def start(request: Request) -> Response:
    """All boards, and the datasets that can become one."""
    desk, visitor = owner_at_desk(request)
    boards = all_boards(desk.ledger)
    taken = {board.dataset for board in boards}
    free = [name for name in datasets_in(desk.root) if name not in taken]
    content = {"boards": boards, "datasets": free, "csrf": visitor.csrf, "readers": READERS}
    return respond(request, "owner_boards.html", content)


async def make(request: Request) -> Response:
    """Open a dataset's board."""
    fields = await fields_of(request)
    return await run_in_threadpool(_make, request, fields)


def _make(request: Request, fields: Mapping[str, Any]) -> Response:
    desk, visitor = owner_at_desk(request)
    check_form(visitor, fields)
    dataset = str(fields.get("dataset", ""))
    if dataset not in datasets_in(desk.root):
        raise UsageError(f"there is no dataset {dataset[:60]!r} in {desk.root}")
    board = open_served_board(desk.ledger, dataset, _rules(fields))
    return RedirectResponse(address(request, f"/owner/board/{board.id}"), 303)


def _rules(fields: Mapping[str, Any]) -> BoardRules:
    """The rules of a form. Raises UsageError for what is no rule."""
    readers, budget = str(fields.get("readers", "")), str(fields.get("budget", "") or BUDGET)
    if readers not in READERS:
        raise UsageError(f"readers {readers[:40]!r}: write {', '.join(READERS)}")
    if not budget.isdecimal() or len(budget) > 6:
        raise UsageError(f"budget {budget[:40]!r}: write a number up to 999999")
    return BoardRules(
        readers,
        "moderated" in fields,
        int(budget),
        "programs" in fields,
        str(fields.get("reference", "")).strip()[:500],
    )


def board_page(request: Request) -> Response:
    """A board: its rules, teams and submissions."""
    desk, visitor = owner_at_desk(request)
    return _board_page(request, desk, visitor, board_of(desk.ledger, request.path_params["board"]))


def _board_page(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    board: ServedBoard,
    link: str = "",
    whose: str = "",
) -> Response:
    content = {
        "board": board,
        "teams": teams_of(desk.ledger, board.id),
        "submissions": submissions_of(desk.ledger, board.id),
        "readers": READERS,
        "link": link,
        "whose": whose,
        "notes": notes_on(request),
        "once": new_once(),
        "csrf": visitor.csrf,
    }
    return respond(request, "owner_board.html", content)


async def change(request: Request) -> Response:
    """Change a board: its rules, its teams, its submissions."""
    fields = await fields_of(request)
    return await run_in_threadpool(_change, request, fields)


def _change(request: Request, fields: Mapping[str, Any]) -> Response:
    desk, visitor = owner_at_desk(request)
    check_form(visitor, fields)
    board = board_of(desk.ledger, request.path_params["board"])
    what = request.path_params["what"]
    if what in ("team", "viewer"):
        team = str(fields.get("team", ""))
        is_team = what == "team"
        once, page = text_of(fields, "once"), f"/owner/board/{board.id}"
        with counted_once(desk.ledger, once, f"{what} {team}"[:LONGEST_TEXT], page):
            secret = (
                new_team(desk.ledger, board.id, team)
                if is_team
                else new_viewer_link(desk.ledger, board.id)
            )
        origin = origin_of(request)
        link = f"{origin}{address(request, f'/boards/{board.id}/with/{secret}')}"
        return _board_page(request, desk, visitor, board, link, team if is_team else "")
    if what == "study":
        return _study(request, desk, board, fields)
    changes: dict[str, Callable[[], None]] = {
        "rules": lambda: set_rules(desk.ledger, board.id, _rules(fields)),
        "shut-out": lambda: shut_out(desk.ledger, board.id, _key(fields)),
        "dismiss": lambda: dismiss(desk.ledger, board.id, _key(fields)),
        "accept": lambda: accept(desk.ledger, board.id, _identity(fields)),
        "refuse": lambda: refuse(
            desk.ledger, board.id, _identity(fields), str(fields.get("reason", ""))[:LONGEST_REASON]
        ),
        "withdraw": lambda: ask_to_withdraw(desk.ledger, board.id, _identity(fields)),
    }
    if what not in changes:
        raise UsageError(f"nothing called {what[:40]!r} can be changed")
    changes[what]()
    return RedirectResponse(address(request, f"/owner/board/{board.id}"), 303)


def _identity(fields: Mapping[str, Any]) -> str:
    return str(fields.get("submission", ""))


def _key(fields: Mapping[str, Any]) -> int:
    key = str(fields.get("team", ""))
    if not key.isdecimal() or len(key) > 18:
        raise UsageError(f"there is no team {key[:40]!r}")
    return int(key)


def _study(request: Request, desk: Desk, board: ServedBoard, fields: Mapping[str, Any]) -> Response:
    """Make a study of a generator that joined."""
    from metal.running.handing_out import AskingPeople
    from metal.serving.making import new_study

    submission = submission_of(desk.ledger, board.id, _identity(fields))
    if (submission.kind, submission.state) != ("generator", "joined"):
        raise UsageError(
            f"{submission.name} is not a generator on the board; people rate only generators"
        )
    raters = str(fields.get("raters", "") or 3)
    if not raters.isdecimal() or len(raters) > 4 or not 1 <= int(raters) <= MOST_RATERS:
        raise UsageError(f"raters {raters[:40]!r}: write a number from 1 to {MOST_RATERS}")
    asking = AskingPeople(generators=(submission.name,))
    settings = StudySettings(raters=int(raters))
    notes: list[str] = []
    folder = board.folder(desk.root)
    study = new_study(desk.ledger, desk.root, folder, asking, settings, notes.append)
    return RedirectResponse(address(request, f"/owner/study/{study.id}"), 303)


ROUTES = [
    Route("/owner/boards", start),
    Route("/owner/boards", make, methods=["POST"]),
    Route("/owner/board/{board}", board_page),
    Route("/owner/board/{board}/{what}", change, methods=["POST"]),
]
