"""Send a submission to a board on a server, and wait for what comes of it."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from metal.data.missing import no_such
from metal.errors import UsageError

TOKEN = "METAL_TOKEN"  # noqa: S105  # the variable's name
BETWEEN = (0.5, 10.0)  # seconds between two looks, at first and at most
TIMEOUT = 120.0
MOST_AWAY = 20  # looks in a row that may fail
LARGEST_REPLY = 2**20  # bytes
BLOCK = 2**16
LOCAL = ("127.0.0.1", "localhost", "::1")
# of the files that a server takes, by kind
ENDINGS = {"generator": ".jsonl", "metric-scores": ".csv", "metric-program": ".py"}
WORKING = ("queued", "running")  # states after which something follows by itself


@dataclass(frozen=True)
class SentSubmission:
    """What came of a submission. page: the board's address. version: with which it joined; 0 if it
    waits for the owner.
    """

    page: str
    version: int
    lines: tuple[str, ...]


class _Unreached(UsageError):
    """The server does not answer."""


class _NoRedirects(HTTPRedirectHandler):
    """A token is for one server only."""

    def redirect_request(self, *_: Any) -> None:
        return None


def send(
    server: str,
    board: str,
    kind: str,
    file: Path,
    name: str,
    options: Mapping[str, Any],
    *,
    scores: Path | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> SentSubmission:
    """Send a submission and wait until it has joined, or until it waits for the board's owner.

    scores: of a generator, a table of its scores by metrics that cannot run on the server. Tables
    in other formats than the server's are sent in the server's.

    Raises UsageError if the server refuses it or it fails.
    """
    page = _page(server, board)
    token = os.environ.get(TOKEN, "")
    if not token:
        raise UsageError(f"`to` needs your team's token; set {TOKEN}, which the board's owner gave")
    fields = {"kind": kind, "name": name, **{key: value for key, value in options.items() if value}}
    address = f"{page}/api/submissions"
    with TemporaryDirectory(prefix="metal-submit-") as scratch:
        files = {"file": _as_taken(file, ENDINGS[kind], Path(scratch) / "file")}
        if scores:
            files["scores"] = _as_taken(scores, ".csv", Path(scratch) / "scores")
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        headers["Content-Length"] = str(sum(map(len, _parts(fields, files, boundary))))
        parts = _parts(fields, files, boundary)
        request = Request(address, parts, headers, method="POST")  # noqa: S310  # see _page
        record = _ask(request, token)
    if record["state"] in WORKING:
        record = _waited_for(f"{address}/{quote(str(record.get('id')), safe='')}", token, pause)
    state, lines = str(record["state"]), tuple(map(str, record.get("log") or ()))
    if state not in ("joined", "waiting"):
        raise UsageError(f"{page}: {name} is {state}: {'; '.join(lines) or 'no reason was given'}")
    if state == "waiting":
        lines = (*lines, "it waits for the board's owner to accept it")
    return SentSubmission(page, int(record.get("version") or 0), lines)


def _waited_for(address: str, token: str, pause: Callable[[float], None]) -> dict[str, Any]:
    """The record of a submission when it is no longer at work. A server that is away for some time
    is asked again.
    """
    wait, longest = BETWEEN
    away = 0
    while True:
        pause(wait)
        wait = min(wait * 1.5, longest)
        try:
            record = _ask(Request(address), token)  # noqa: S310  # see _page
        except _Unreached:
            away += 1
            if away > MOST_AWAY:
                raise
            continue
        away = 0
        if record["state"] not in WORKING:
            return record


def _page(server: str, board: str) -> str:
    """The address of a board. Raises UsageError for one that would send the token in the clear."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"`to` {server!r} is no address; write e.g. https://boards.example.org")
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        raise UsageError(f"`to` {server!r}: your token would travel unprotected; write https://")
    return f"{server.rstrip('/')}/boards/{quote(board, safe='')}"


def _as_taken(file: Path, ending: str, to: Path) -> Path:
    """The file, or a copy of its table in the format that a server takes."""
    if not file.is_file():
        raise no_such(file, "file")
    if ending == ".py" or file.suffix.lower() == ending:
        return file
    from metal.data.tables.files import read_frame

    frame = read_frame(file)
    if ending == ".csv":
        frame.to_csv(to, index=False)
        return to
    cells = frame.astype(object).where(frame.notna(), None)
    with to.open("w", encoding="utf-8") as lines:
        for row in cells.to_dict("records"):
            lines.write(json.dumps(row, default=str) + "\n")
    return to


def _parts(fields: Mapping[str, Any], files: Mapping[str, Path], boundary: str) -> Iterator[bytes]:
    """The body of a form with files, piece by piece."""
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        yield f"{head}{value}\r\n".encode()
    for name, file in files.items():
        kind = f'Content-Disposition: form-data; name="{name}"; filename="{name}"'
        head = f"--{boundary}\r\n{kind}\r\nContent-Type: application/octet-stream\r\n\r\n"
        yield head.encode()
        with file.open("rb") as source:
            while block := source.read(BLOCK):
                yield block
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()


def _ask(request: Request, token: str) -> dict[str, Any]:
    """The reply of the server. Raises UsageError for a refusal, in the server's words."""
    request.add_header("Authorization", f"Bearer {token}")
    try:
        with build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as reply:
            record = _json(reply.read(LARGEST_REPLY))
    except HTTPError as error:
        refusal = _json(error.read(LARGEST_REPLY)).get("error") or f"it answers {error.code}"
        raise UsageError(f"{request.host}: {refusal}") from None
    except (URLError, OSError) as error:
        reason = str(getattr(error, "reason", error))[:200]
        raise _Unreached(f"{request.host} cannot be reached ({reason})") from None
    if "state" not in record:
        raise UsageError(f"{request.full_url} is no board of `metal.serve`")
    return record


def _json(content: bytes) -> dict[str, Any]:
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
