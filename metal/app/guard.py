"""Who may ask the app: only this machine's user, from the app's own pages.

The token is the first part of every address. Other users of the machine do not know it, and neither
do web pages. A page could still reach the server through a name of its own that points to
127.0.0.1, so the host's name is checked, and the origin of everything that changes something.

A browser is started with an address that works once, because every user of the machine can read the
command line of a program.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "[::1]")
LARGEST_BODY = 512 * 1024 * 1024  # bytes: a table of a million ratings has about 100 MB
READING = ("GET", "HEAD")
SECONDS_TO_OPEN = 120  # that an address for the browser may be used, once
IN_NOTEBOOKS = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
    f" connect-src 'self'; form-action 'self'; base-uri 'none'; {IN_NOTEBOOKS}"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # not "no-referrer", with which browsers hide the origin of a form
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets only those requests through to the app that may ask it.

    token: the first part of every address that the app answers.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token
        self._invitations: dict[str, tuple[str, float]] = {}

    def invitation(self, page: str) -> str:
        """The path of an address that leads once, within SECONDS_TO_OPEN, to a page of the app."""
        code = secrets.token_urlsafe(24)
        self._invitations[code] = (page, time.monotonic() + SECONDS_TO_OPEN)
        return code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        why = self._foreign(scope, headers)
        page = None if why else self._page_invited_to(scope)
        if page is not None:
            await RedirectResponse(f"/{self.token}/{page}", 303, HEADERS)(scope, receive, send)
            return
        status = 403
        if not why:
            status, why = self._refusal(scope, headers)
        if why:
            await PlainTextResponse(why + "\n", status, HEADERS)(scope, receive, send)
            return
        inner = {**scope, "root_path": f"/{self.token}"}
        await self.app(inner, limited(receive, LARGEST_BODY), with_headers(send, HEADERS))

    def _page_invited_to(self, scope: Scope) -> str | None:
        """The page to which an invitation leads, which is then used up; None without one."""
        code = scope["path"].removeprefix("/")
        if scope["method"] != "GET" or code not in self._invitations:
            return None
        page, until = self._invitations.pop(code)
        return page if time.monotonic() < until else None

    @staticmethod
    def _foreign(scope: Scope, headers: Headers) -> str:
        """Why a request does not come from the app's own pages; empty if it may."""
        host = headers.get("host", "")
        if host.rpartition(":")[0 if ":" in host.rpartition("]")[2] else 2] not in HOSTS:
            return "This server answers only as 127.0.0.1 or localhost."
        if not is_own(scope["method"], headers, host):
            return "This request comes from another page."
        return ""

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str]:
        """The status and the reason if the request is refused; the reason is empty if it is not."""
        token = scope["path"].split("/", 2)[1]
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return 403, "Open the address that `metal view` printed: its token is missing here."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > LARGEST_BODY:
            return 413, f"The file is larger than {LARGEST_BODY // 2**20} MB."
        return 200, ""


def is_own(method: str, headers: Mapping[str, str], host: str) -> bool:
    """Whether a request comes from a page of the app, or only opens one."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if origin is not None and origin.partition("://")[2] != host:
        return False
    opens = method in READING and headers.get("sec-fetch-mode") in (None, "navigate")
    return opens or site in ("same-origin", "none")


def limited(receive: Receive, most: int) -> Receive:
    """What a request sends, up to `most` bytes; a longer body counts as broken off."""
    received = 0

    async def receiving() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return message if received <= most else {"type": "http.disconnect"}

    return receiving


def with_headers(send: Send, more: Mapping[str, str]) -> Send:
    """Add headers to every response, except those that it has itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in more.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
