"""The server of the app: a program on 127.0.0.1 that one person uses."""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from metal.app import (
    about,
    answers_page,
    comparing,
    criterion_files,
    dataset_page,
    going_on,
    handed_out,
    importing,
    jobs,
    judging,
    live,
    managing,
    run_page,
    start,
)
from metal.app.guard import Guard
from metal.app.library import OPENED, Kept, Library, NoSuchPage
from metal.app.templating import respond, static
from metal.app.uploads import Uploads
from metal.data.present import PRESENT
from metal.data.stored_texts import texts_in_file
from metal.errors import MetalError, UsageError

HOST = "127.0.0.1"
PORT = 8642
SECONDS_TO_STOP = 2
TOKEN = re.compile(r"[\w-]{32}", re.ASCII)
STATIC = ("app.css", "app.js")
TYPES = {".css": "text/css", ".js": "text/javascript"}


def static_file(request: Request) -> Response:
    """The style sheet or the script."""
    file = request.path_params["file"]
    if file not in STATIC:
        raise HTTPException(404)
    kind = f"{TYPES[Path(file).suffix]}; charset=utf-8"
    return Response(static(file), media_type=kind, headers={"Cache-Control": "max-age=60"})


class FromFolder:
    """Reads names in files as the app's commands do, which run in its folder, and leaves the texts
    of datasets in files.
    """

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self.app, self.folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        before = PRESENT.set(self.folder)
        try:
            with texts_in_file():
                await self.app(scope, receive, send)
        finally:
            PRESENT.reset(before)


def app_of(folder: Path) -> Starlette:
    """The app on a folder, before it is guarded."""
    from starlette.routing import Route

    for file in STATIC:
        static(file)  # with it, all templates are read
    routes = [
        *start.ROUTES,
        *run_page.ROUTES,
        *dataset_page.ROUTES,
        *answers_page.ROUTES,
        *about.ROUTES,
        *jobs.ROUTES,
        *managing.ROUTES,
        *comparing.ROUTES,
        *importing.ROUTES,
        *live.ROUTES,
        *going_on.ROUTES,
        *handed_out.ROUTES,
        *judging.ROUTES,
        *criterion_files.ROUTES,
        Route("/static/{file}", static_file, name="static"),
    ]
    handlers = {MetalError: _refused, OSError: _impossible, HTTPException: _no_page}
    handlers[Exception] = _failed
    for route in routes:  # the name of a folder may have a line break
        route.path_regex = re.compile(route.path_regex.pattern, re.DOTALL)
    within = Middleware(FromFolder, folder=folder)
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=[within])
    app.state.library, app.state.jobs = Library(folder), jobs.Jobs(folder)
    app.state.uploads = Uploads(app.state.jobs.folder, folder)
    app.state.tables_read = Kept(importing.KEPT)
    app.state.began = time.time()
    app.state.followed, app.state.ending = Kept(OPENED), threading.Event()
    return app


def _refused(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, NoSuchPage) else 400
    return respond(request, "error.html", {"message": str(error)}, status)


def _impossible(request: Request, error: Exception) -> Response:
    """Say what the disk does not allow; any other error of the system is a defect."""
    assert isinstance(error, OSError)
    why = (error.strerror or str(error)).lower()
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        message, status = f"{error.filename} is not there any more.", 404
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        message, status = f"Nothing more can be written: {why}. Make room, then do it again.", 507
    elif error.filename is not None:
        message, status = f"{error.filename}: {why}. Nothing was changed. Change its rights.", 403
    else:
        raise error
    return respond(request, "error.html", {"message": message}, status)


def _no_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "There is no such page." if error.status_code == 404 else str(error.detail)
    return respond(request, "error.html", {"message": message}, error.status_code)


def _failed(request: Request, error: Exception) -> Response:
    message = f"METAL has a defect: {type(error).__name__}. The terminal says more."
    if is_changed_since(request.app.state.began, Path(__file__).parents[1]):
        message = (
            "METAL was changed on the disk while `metal view` was running. End it, and start it"
            " again."
        )
    return respond(request, "error.html", {"message": message}, 500)


def is_changed_since(began: float, package: Path) -> bool:
    """Whether a module was written after a time, as by an upgrade."""
    return any(path.stat().st_ctime > began for path in package.rglob("*.py"))


def token() -> str:
    """The token of this user, so that addresses last: it is made once, and only the user can read
    its file. Where no file can be written, it is new each time.
    """
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "metal" / "view-token"
    new = secrets.token_urlsafe(24)
    try:
        if path.is_file() and TOKEN.fullmatch(text := path.read_text(encoding="ascii").strip()):
            return text
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(new)  # such a file is readable for its owner only
        Path(file.name).replace(path)
    except (OSError, UnicodeDecodeError):
        pass
    return new


def bound(port: int | None, host: str = HOST) -> socket.socket:
    """A socket on a port; without one, on PORT or, where that is taken, a free one.

    Raises UsageError if the port cannot be had.
    """
    for wanted in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            listening.listen()  # who connects before the server is ready waits
        except (OSError, OverflowError) as error:
            listening.close()
            why = getattr(error, "strerror", None) or str(error)
        else:
            return listening
    raise UsageError(
        f"port {port} cannot be used: {str(why).lower()}; leave `port` out for a free one"
    )


@dataclass(frozen=True)
class View:
    """The app at work, until `stop()`, or the end of the program.

    address: where it is; whoever has the address and can reach this machine's 127.0.0.1 can use the
    app. folder: whose datasets and runs it shows.
    """

    address: str
    folder: Path
    _state: State
    _guard: Guard
    _server: uvicorn.Server
    _thread: threading.Thread

    @classmethod
    def begin(cls, folder: Path, port: int | None) -> View:
        """Start the server in a thread of its own. Raises UsageError if the port cannot be had."""
        listening = bound(port)
        secret = token()
        app = app_of(folder)
        guard = Guard(app, secret)
        config = uvicorn.Config(
            guard,
            log_level="error",
            access_log=False,
            ws="none",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=SECONDS_TO_STOP,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        address = f"http://{HOST}:{listening.getsockname()[1]}/{secret}/"
        thread.start()
        return cls(address, folder, app.state, guard, server, thread)

    def once(self, page: str = "") -> str:
        """An address that leads to a page once, within two minutes. Other users of the machine can
        read with which address a browser was started, and cannot use it again.
        """
        return f"{self.address.removesuffix('/').rpartition('/')[0]}/{self._guard.invitation(page)}"

    def wait(self) -> None:
        """Wait until the server ends."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    @property
    def at_work(self) -> list[str]:
        """The commands that it started and that have not ended, as they would be typed."""
        return [job.command for job in self._state.jobs.all() if job.state == jobs.RUNNING]

    def stop(self) -> None:
        """End the server, and interrupt the commands that it started."""
        self._state.ending.set()
        self._server.should_exit = True
        self._thread.join()
        self._state.jobs.close()

    def _repr_html_(self) -> str:
        from html import escape

        source = escape(self.address, quote=True)
        return f'<iframe src="{source}" width="100%" height="800" title="METAL"></iframe>'
