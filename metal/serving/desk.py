"""What every page of the server needs: the ledger, the folder, cookies, limits."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from metal.errors import UsageError
from metal.serving.ledger import ServingLedger
from metal.serving.people import DAY, SESSION_DAYS
from metal.serving.studies import Forms, Study
from metal.serving.watching import late_by

# Names of studies have no underscore, so that no study has this cookie.
OWNER_COOKIE = "metal_owner"
TRIES = 60  # that one address may have with codes and the owner's link in a minute
NEWCOMERS = 600  # from one address in a minute: a class may share it
WITHIN = 60.0  # seconds
MOST_ADDRESSES = 10_000
FORM, LARGEST_FORM, MOST_FIELDS = "application/x-www-form-urlencoded", 500_000, 500


class NotLetIn(UsageError):
    """Somebody without a session of the study."""

    def __init__(self, study: Study) -> None:
        super().__init__("open the link that you were given")
        self.study = study


class TooMany(UsageError):
    """More tries than one address may have."""


class TriesOfLate:
    """How often each address tried something of late; memory for it is bounded.

    most: how often it may in a minute.
    """

    def __init__(self, most: int = TRIES) -> None:
        self.most = most
        self._tries: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, request: Request) -> None:
        """Count a try. Raises TooMany."""
        who, now = request.client.host if request.client else "", time.monotonic()
        with self._lock:
            recent = [each for each in self._tries.pop(who, []) if now - each < WITHIN]
            self._tries[who] = [*recent, now][-self.most - 1 :]
            while len(self._tries) > MOST_ADDRESSES:
                self._tries.popitem(last=False)
            if len(self._tries[who]) > self.most:
                raise TooMany("too many tries from your network; wait a minute")


@dataclass(frozen=True)
class Desk:
    """The server at work.

    root: the folder whose datasets and boards it serves. secure: whether browsers reach it by
    https, so that cookies must not travel otherwise. attended: whether workers are beside it.
    began: when, in seconds since 1970.
    """

    ledger: ServingLedger
    root: Path
    secure: bool
    forms: Forms
    attended: bool = False
    began: float = field(default_factory=time.time)
    limits: TriesOfLate = field(default_factory=TriesOfLate)
    newcomers: TriesOfLate = field(default_factory=lambda: TriesOfLate(NEWCOMERS))

    @property
    def late(self) -> float:
        """For how many seconds its worker has been missed; 0 if it looks for answers."""
        return late_by(self.root, self.began) if self.attended else 0.0

    def remember(self, request: Request, response: Response, study: str, cookie: str) -> None:
        """Let the browser keep a session. study: whose pages get it; empty for the owner's."""
        response.set_cookie(
            cookie_of(study) if study else OWNER_COOKIE,
            cookie,
            max_age=round(SESSION_DAYS * DAY),
            path=address(request, "/"),
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )


async def fields_of(request: Request) -> FormData:
    """The fields of a form that a page sent. Raises UsageError for anything else: files, and other
    ways to send a form, are not read at all.
    """
    kind = request.headers.get("content-type", FORM).partition(";")[0].strip()
    if kind != FORM:
        raise UsageError("no page of this server sends such a request")
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise UsageError(f"a form has at most {LARGEST_FORM // 1000} kB")
    try:
        read = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise UsageError("no page of this server sends such a request") from None
    pairs: list[tuple[str, str | UploadFile]] = [*read]
    return FormData(pairs)


def desk_of(request: Request) -> Desk:
    """The desk of the server that answers the request."""
    desk: Desk = request.app.state.desk
    return desk


def cookie_of(study: str) -> str:
    """The name of a rater's cookie in a study."""
    return f"metal-{study}"


def address(request: Request, path: str) -> str:
    """An address on this server, also behind a proxy that puts a path before it."""
    return f"{request.scope.get('root_path', '')}{path}"


def origin_of(request: Request) -> str:
    """The server as its visitors address it, without a path."""
    scheme = "https" if desk_of(request).secure else request.url.scheme
    return f"{scheme}://{request.url.netloc}"
