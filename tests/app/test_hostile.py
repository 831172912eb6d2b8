"""Hundreds of hostile requests: nothing is served or changed by them, and no page fails."""

from __future__ import annotations

import http.client
import itertools
import random
import shutil
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from starlette.routing import Route

from metal.app.server import View, app_of

SECRET = "the-secret-outside"
VALUES = (
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "/etc/passwd",
    "runs/../../secret.txt",
    "runs/audit/../../../secret.txt",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202e\u2066x",
    "\x00",
    "--out=/tmp/x",
    "$(touch /tmp/x)",
    "; rm -rf /",
    "a" * 5000,
    "-1",
    "9" * 400,
    "NaN",
    "\U0001f600" * 50,
    "runs/audit",
    "datasets/demo",
    "{{ 7 * 7 }}",
)
NAMES = (
    *("language", "criterion", "judge", "kind", "page", "q", "output", "of", "run", "name"),
    *(
        "sort",
        "beside",
        "way",
        "items",
        "model",
        "file",
        "columns",
        "number",
        "path",
        "url",
        "prompt",
    ),
)


@pytest.fixture(scope="module")
def own(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app on a copy of the shelf, with a secret beside it."""
    place = tmp_path_factory.mktemp("hostile")
    shutil.copytree(shelf, place / "shelf")
    (place / "secret.txt").write_text(SECRET)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(place / "state"))
        view = View.begin(place / "shelf", 0)
    yield view
    view.stop()


def requests_of(
    seed: int, number: int, view: View
) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """(method, path below the token, body, headers) of hostile requests."""
    rng = random.Random(seed)
    app = app_of(view.folder)
    app.state.jobs.close()
    routes = [route for route in app.routes if isinstance(route, Route)]
    for _ in range(number):
        route = rng.choice(routes)
        path = route.path.lstrip("/")
        for parameter in ("key:path", "key", "file", "number"):
            path = path.replace("{" + parameter + "}", quote(rng.choice(VALUES), safe="/%"))
        path = path.replace("{ending}", quote(rng.choice(("csv", "jsonl", *VALUES)), safe=""))
        fields = {name: rng.choice(VALUES) for name in rng.sample(NAMES, 4)}
        method = rng.choice(["GET", "POST", "HEAD", "PUT", "DELETE"])
        headers = dict(
            [
                rng.choice(
                    [
                        ("content-type", "application/x-www-form-urlencoded"),
                        ("content-type", "multipart/form-data; boundary=x"),
                        ("content-type", "multipart/form-data"),
                        ("content-type", "application/json"),
                        ("accept", "*/*"),
                        ("range", "bytes=0-5"),
                    ]
                )
            ]
        )
        body = rng.choice(
            [urlencode(fields).encode(), b"--x\r\n\r\n\r\n--x--", b"{", b"\xff" * 2000]
        )
        yield (
            method,
            f"{path}?{urlencode(fields)}",
            b"" if method in ("GET", "HEAD") else body,
            headers,
        )


# What hostile requests may make: nothing, but for what their forms are for.
def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_hostile_requests_get_nothing(own: View) -> None:
    parts = urlsplit(own.address)
    assert parts.port
    before = contents(own.folder)
    faults = []
    for method, path, body, headers in requests_of(7, 600, own):
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=120)
        connection.request(method, parts.path + path, body or None, headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        wrong = [
            response.status >= 500,
            SECRET in text,
            "root:x:" in text,
            "<script>alert" in text,
            "<img src=x" in text,
            "Traceback" in text,
        ]
        faults += [(response.status, method, path[:200])] if any(wrong) else []
        connection.close()
    assert faults == []
    after = contents(own.folder)
    lost = set(before.values()) - set(after.values())
    assert lost == set()  # things move to the bin and get new names only
    assert (own.folder.parent / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET //etc/passwd HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=range(8),
)
def test_what_is_no_request_of_a_browser_gets_nothing(own: View, sent: bytes) -> None:
    port = urlsplit(own.address).port
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    status = received.split(b" ", 2)[1:2]
    assert status in ([], [b"400"], [b"403"], [b"431"], [b"413"])
    assert SECRET.encode() not in received


def test_it_still_answers(own: View) -> None:
    parts = urlsplit(own.address)
    assert parts.port
    for _ in itertools.repeat(None, 3):
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
        connection.request("GET", parts.path)
        assert connection.getresponse().status == 200
        connection.close()
