"""Boards as their readers see them: rankings, versions, tables, a badge, and a team's form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from html import escape
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from metal.data.text import printable
from metal.errors import MetalError, UsageError
from metal.serving.board_making import BoardFolder, folder_of_board
from metal.serving.boards import (
    BY_LINK,
    PUBLIC,
    BoardVisitor,
    NoSuchBoard,
    ServedBoard,
    ask_for_pages,
    bearer,
    board_of,
    visitor_with,
)
from metal.serving.desk import OWNER_COOKIE, Desk, address, desk_of
from metal.serving.handing import NotYours
from metal.serving.people import (
    DAY,
    OWNER,
    SESSION_DAYS,
    SUBMITTER,
    NotValid,
    Visitor,
    same,
    session_of,
    visitor_of,
)
from metal.serving.submissions import spent_by, submission_of, submissions_of, submit
from metal.serving.templating import respond

FRAMED = "frame-ancestors 'none'"  # the page of a run says the rest of its policy itself
MOST_FIELDS, MOST_FILES = 20, 2  # of a form with a submission
LONGEST_BADGE = 60  # characters of a name on it
REPORTS = ("billboard", "leaderboard")


class BoardSeat:
    """A reader of a board, on a request. Raises NoSuchBoard if it is not open to them.

    problem: why the version that is asked for cannot be shown; empty if it can.
    """

    problem = ""

    def __init__(self, request: Request) -> None:
        self.request, self.desk = request, desk_of(request)
        name = request.path_params["board"]
        self.board: ServedBoard = board_of(self.desk.ledger, name)
        self.base = address(request, f"/boards/{self.board.id}")
        cookie = request.cookies.get(_cookie_of(name), "")
        self.visitor = visitor_with(self.desk.ledger, name, cookie) if cookie else None
        readers = self.board.rules.readers
        by_link = self.visitor is not None and (
            self.visitor.role == SUBMITTER or readers == BY_LINK
        )
        if readers != PUBLIC and not by_link and not owner_of(request):
            raise NoSuchBoard(name)

    def team(self) -> BoardVisitor:
        """The team whose request it is. Raises NotValid for everybody else."""
        if self.visitor is None or self.visitor.role != SUBMITTER:
            raise NotValid("open your team's link first; the board's owner makes it")
        return self.visitor

    def folder(self) -> BoardFolder:
        """The files of the version that is asked for. Raises UsageError for one that never was."""
        version = self.board.version
        wanted = self.request.query_params.get("at", "")
        if wanted:
            if not wanted.isdecimal() or len(wanted) > 9 or not 1 <= int(wanted) <= version:
                raise UsageError(f"this board has the versions 1 to {version}")
            version = int(wanted)
        return folder_of_board(self.desk.root, self.board, version)

    def ready(self) -> BoardFolder | None:
        """The files of that version; None if a worker makes them now."""
        folder = self.folder()
        if folder.there:
            return folder
        wanted = self.request.query_params.get("at", "")
        if wanted:
            self.problem = ask_for_pages(self.desk.ledger, self.board.id, int(wanted))
        return None


def owner_of(request: Request) -> Visitor | None:
    """The owner's session; None for everybody else."""
    cookie = request.cookies.get(OWNER_COOKIE, "")
    visitor = visitor_of(desk_of(request).ledger, cookie) if cookie else None
    return visitor if visitor and visitor.role == OWNER else None


def _cookie_of(board: str) -> str:
    return f"metal_board-{board}"  # no study has this cookie: see OWNER_COOKIE


def come_in(request: Request) -> Response:
    """Let a browser in by a viewer's or a team's link."""
    desk = desk_of(request)
    desk.limits.take(request)
    board = request.path_params["board"]
    cookie = session_of(desk.ledger, request.path_params["secret"])
    if visitor_with(desk.ledger, board, cookie) is None:
        raise NotValid("this link does not belong to this board; ask for a new one")
    path = address(request, f"/boards/{board}")
    response = RedirectResponse(path, 303)
    response.set_cookie(
        _cookie_of(board),
        cookie,
        max_age=round(SESSION_DAYS * DAY),
        path=path,
        secure=desk.secure,
        httponly=True,
        samesite="lax",
    )
    return response


def show(request: Request) -> Response:
    """A board: its rankings at a version, all versions, and what can be downloaded."""
    return _board_page(BoardSeat(request))


def _board_page(
    seat: BoardSeat, error: str = "", status: int = 200, sent: Mapping[str, str] | None = None
) -> Response:
    """The page. sent: what a team's form had that could not be taken, to be mended."""
    folder = seat.ready() if seat.board.version else None
    content: dict[str, Any] = {
        "board": seat.board,
        "here": seat.base,
        "at": seat.request.query_params.get("at", ""),
        "shown": folder.summary if folder else None,
        "reports": [name for name in REPORTS if folder and folder.report(name)],
        "error": error,
        "problem": seat.problem,
        "sent": defaultdict(str, sent or {}),
        "submissions": [],
    }
    if seat.visitor and seat.visitor.team is not None:
        board, team = seat.board.id, seat.visitor.team
        content["team"] = seat.visitor.name
        content["csrf"] = seat.visitor.csrf
        content["submissions"] = submissions_of(seat.desk.ledger, board, team)
        spent = seat.desk.ledger.reads(lambda connection: spent_by(connection, board, team))
        content["left"] = max(seat.board.rules.budget - spent, 0)
    return respond(seat.request, "board.html", content, status)


def report(request: Request) -> Response:
    """The page that `metal billboard` or `metal leaderboard` makes of a version."""
    seat = BoardSeat(request)
    folder = seat.ready()
    if folder is None:
        return _board_page(seat)
    page = folder.report(request.path_params["report"])
    if page is None:
        raise HTTPException(404)
    return HTMLResponse(page, headers={"Content-Security-Policy": FRAMED})


def table(request: Request) -> Response:
    """A table of a version as CSV."""
    seat = BoardSeat(request)
    folder, name = seat.ready(), request.path_params["table"]
    rows = folder.table(name) if folder else None
    if rows is None:
        raise HTTPException(404)
    headers = {"Content-Disposition": f'attachment; filename="{seat.board.id}-{name}.csv"'}
    return Response(rows, media_type="text/csv; charset=utf-8", headers=headers)


def badge(request: Request) -> Response:
    """The board's version and best rater, as a picture for other pages."""
    seat = BoardSeat(request)
    folder = seat.ready() if seat.board.version else None
    headers = {"Content-Security-Policy": "default-src 'none'", "Cache-Control": "max-age=300"}
    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    picture = _badge(seat.board, folder.summary if folder else {})
    return Response(picture, media_type="image/svg+xml", headers=headers)


def _badge(board: ServedBoard, shown: Mapping[str, Any]) -> str:
    best: Mapping[str, Any] = next(iter(shown.get("raters") or shown.get("leaderboard") or ()), {})
    leader = printable(best.get("rater") or best.get("generator") or "")[:LONGEST_BADGE]
    right = f"version {shown['version']}" if shown else "no version yet"
    if leader:
        right += f" · {leader}"
    left_wide, right_wide = 7 * len(board.id) + 16, 7 * len(right) + 16
    wide = left_wide + right_wide
    label = escape(f"{board.id}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="20" role="img"'
        f' aria-label="{label}"><title>{label}</title>'
        f'<rect width="{left_wide}" height="20" fill="#333"/>'
        f'<rect x="{left_wide}" width="{right_wide}" height="20" fill="#0b5cad"/>'
        '<g fill="#fff" font-family="sans-serif" font-size="11">'
        f'<text x="8" y="14" textLength="{left_wide - 16}">{escape(board.id)}</text>'
        f'<text x="{left_wide + 8}" y="14" textLength="{right_wide - 16}">{escape(right)}</text>'
        "</g></svg>\n"
    )


# ---------------------------------------------------------------- a team


def submission_page(request: Request) -> Response:
    """A team's submission: its state and log."""
    seat = BoardSeat(request)
    identity = request.path_params["submission"]
    submission = submission_of(seat.desk.ledger, seat.board.id, identity, seat.team().team)
    content = {"board": seat.board, "here": seat.base, "submission": submission}
    return respond(request, "board_submission.html", content)


async def take(request: Request) -> Response:
    """A team's form with a submission."""
    seat = await run_in_threadpool(BoardSeat, request)
    seat.team()  # nobody else may send a file
    async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form:
        return await run_in_threadpool(_taken, seat, *files_apart(form))


def files_apart(form: Any) -> tuple[dict[str, str], Any, Any]:
    """The fields of a form, its file, and the scores beside it, or None. Raises NotYours if there
    is no file, or another one.
    """
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    files = [
        (key, value.file)
        for key, value in form.multi_items()
        if not isinstance(value, str) and (value.filename or value.size)
    ]
    names = sorted(key for key, _ in files)
    if names not in (["file"], ["file", "scores"]):
        raise NotYours(
            "a submission has one `file`: outputs, scores or a program; a generator may also have"
            " `scores` of its outputs"
        )
    return fields, dict(files)["file"], dict(files).get("scores")


def _taken(seat: BoardSeat, fields: Mapping[str, str], file: Any, scores: Any) -> Response:
    team = seat.team()
    if not same(fields.get("csrf", ""), team.csrf):
        raise NotYours("this form does not belong to your session; load the page again")
    desk: Desk = seat.desk
    desk.limits.take(seat.request)
    try:
        submission = submit(desk.ledger, desk.root, seat.board, team, fields, file, scores)
    except MetalError as error:
        return _board_page(seat, str(error), 400, fields)
    return RedirectResponse(f"{seat.base}/submissions/{submission.id}", 303)


def team_of_token(request: Request) -> tuple[Desk, ServedBoard, BoardVisitor] | None:
    """The board and the team of a request with a bearer token; None if the token is not valid."""
    desk, name = desk_of(request), request.path_params["board"]
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    team = bearer(desk.ledger, name, secret.strip()) if kind.lower() == "bearer" else None
    if team is None:
        desk.limits.take(request)
        return None
    return desk, board_of(desk.ledger, name), team


ROUTES = [
    Route("/boards/{board}", show),
    Route("/boards/{board}/with/{secret}", come_in),
    Route("/boards/{board}/badge.svg", badge),
    Route("/boards/{board}/tables/{table}.csv", table),
    Route("/boards/{board}/submissions", take, methods=["POST"]),
    Route("/boards/{board}/submissions/{submission}", submission_page),
    Route("/boards/{board}/{report:str}", report),
]
