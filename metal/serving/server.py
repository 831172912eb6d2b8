"""The server: one program for studies and boards, and the workers beside it."""

from __future__ import annotations

import errno
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from metal.app.guard import is_own, limited, with_headers
from metal.app.server import SECONDS_TO_STOP, bound
from metal.errors import MetalError, UsageError
from metal.serving import (
    board_api,
    board_owner,
    board_pages,
    coming_in,
    owner_new,
    owner_pages,
    rating_pages,
)
from metal.serving.beside import AttendedWorker
from metal.serving.boards import NoSuchBoard
from metal.serving.desk import Desk, NotLetIn, TooMany, address
from metal.serving.handing import NotYours
from metal.serving.ledger import DiskFull, ServingLedger
from metal.serving.once import SentAgain
from metal.serving.people import NotValid
from metal.serving.slow import PunctualConnection
from metal.serving.studies import Forms, NoSuchStudy
from metal.serving.submissions import NoSuchSubmission
from metal.serving.submitted_files import LARGEST_FILE
from metal.serving.templating import respond, static_file

LARGEST_BODY = 2 * 2**20  # bytes
LARGEST_SUBMISSION = LARGEST_FILE + 2**16  # with the fields beside the file
# of a proxy: parts that no browser changes and no page must escape
PATH = re.compile(r"(/(?!\.+(/|$))[A-Za-z0-9._~-]+)*/?")
SUBMITTING = re.compile(r"/boards/[^/]+/(api/)?submissions")
# of pages that have no policy of their own
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
WORKERS = ("worker", "board_worker")  # modules: one for answers, one for boards
STATUSES: dict[type[Exception], int] = {
    NoSuchStudy: 404,
    NoSuchBoard: 404,
    NoSuchSubmission: 404,
    NotValid: 404,
    TooMany: 429,
    DiskFull: 507,  # not 400, after which a page would not send its answers again
    NotYours: 400,
}


class FrontDoor:
    """Refuses requests that are too large or come from another site's page.

    https: whether browsers must come by https from now on.
    """

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        more = {"Strict-Transport-Security": "max-age=31536000"} if https else {}
        self.headers = {**HEADERS, **more}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        refusal: tuple[int, str] | None = None
        submits = SUBMITTING.search(scope["path"]) and scope["method"] == "POST"
        most = LARGEST_SUBMISSION if submits else LARGEST_BODY
        changes = scope["method"] not in ("GET", "HEAD")
        if changes and not is_own(scope["method"], headers, headers.get("host", "")):
            refusal = 403, "This request comes from another page."
        elif not length.isdecimal() or len(length) > 18 or int(length) > most:
            refusal = 413, f"At most {most // 2**20} MB."
        if refusal:
            await PlainTextResponse(refusal[1] + "\n", refusal[0], self.headers)(
                scope, receive, send
            )
            return
        await self.app(scope, limited(receive, most), with_headers(send, self.headers))


def health(request: Request) -> Response:
    """Whether the server and its database answer, so that people can rate. For `/healthz/worker`:
    also whether answers come into the datasets.
    """
    from sqlalchemy import text

    desk: Desk = request.app.state.desk
    desk.ledger.reads(lambda connection: connection.execute(text("SELECT 1")))
    if not desk.late:
        return PlainTextResponse("ok\n")
    line = f"ok, but no worker has looked for answers for {desk.late:.0f} seconds\n"
    return PlainTextResponse(line, 503 if request.url.path.endswith("/worker") else 200)


def app_of(desk: Desk) -> Starlette:
    """The program that answers, before it is guarded."""
    routes = [
        *board_owner.ROUTES,
        *board_api.ROUTES,
        *board_pages.ROUTES,
        *owner_new.ROUTES,  # before the owner's link, of which its address could be one
        *owner_pages.ROUTES,
        *coming_in.ROUTES,  # before the forms that a person sends, of which one has the same shape
        *rating_pages.ROUTES,
        Route("/healthz", health),
        Route("/healthz/worker", health),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
        Route("/static/{file}", static_file),
    ]
    handlers = {
        NotLetIn: coming_in.not_let_in,
        MetalError: _refused,
        SentAgain: _sent_again,
        ClientDisconnect: _too_large,
        HTTPException: _no_page,
        Exception: _failed,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.desk = desk
    return app


def _refused(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 400)
    return respond(request, "message.html", {"message": str(error)}, status)


def _sent_again(request: Request, error: Exception) -> Response:
    assert isinstance(error, SentAgain)
    return RedirectResponse(address(request, f"{error.page}?again=1"), 303)


def _too_large(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"At most {LARGEST_BODY // 2**20} MB.\n", 413)


def _no_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "There is no such page." if error.status_code == 404 else str(error.detail)
    return respond(request, "message.html", {"message": message}, error.status_code)


def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _refused(request, DiskFull())
    message = f"METAL has a defect: {type(error).__name__}. The server's terminal says more."
    return respond(request, "message.html", {"message": message}, 500)


@dataclass(frozen=True)
class Served:
    """The server at work, until `stop()`, or the end of the program.

    address: where it is, without a token. first: whether the ledger has no owner's link that is
    valid yet.
    """

    address: str
    first: bool
    folder: Path
    _desk: Desk
    _server: uvicorn.Server
    _thread: threading.Thread
    _workers: tuple[AttendedWorker, ...]

    @cached_property
    def owner(self) -> str:
        """The address that makes a browser the owner's: a new link, made when it is asked for."""
        return f"{self.address}/owner/{owner_pages.owner_secret(self._desk.ledger)}"

    def wait(self) -> None:
        """Wait until the server ends."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """End the server and its workers; answers that have arrived are in the ledger."""
        self._server.should_exit = True
        self._thread.join()
        for worker in self._workers:
            worker.stop()
        self._desk.ledger.close()


def begin(
    folder: Path,
    *,
    host: str,
    port: int | None,
    database: str,
    root_path: str,
    https: bool,
    worker: bool,
) -> Served:
    """Start the server in a thread of its own, and its workers as processes.

    Raises UsageError if the port or the database cannot be had, or if `root_path` is no path.
    """
    if not PATH.fullmatch(root_path):
        raise UsageError(
            f"`root_path` is {root_path[:60]!r}; write the path under which the proxy shows the"
            " server, e.g. /metal"
        )
    under = root_path.rstrip("/")
    ledger = ServingLedger(folder, database)
    listening = bound(port, host)
    desk = Desk(ledger, folder, https, Forms(ledger), attended=worker)
    config = uvicorn.Config(
        FrontDoor(app_of(desk), https=https),
        http=PunctualConnection,
        log_level="error",
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        proxy_headers=bool(under) or https,
        root_path=under,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    own = f"http://{host}:{listening.getsockname()[1]}{under}"
    beside = tuple(AttendedWorker(each, folder, database) for each in WORKERS if worker)
    first = not owner_pages.owner_known(ledger)
    return Served(own, first, folder, desk, server, thread, beside)
