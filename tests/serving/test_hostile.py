"""A thousand hostile requests: nothing is served or stored that should not be, no page fails, and
slow clients keep nobody waiting.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import re
import resource
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from sqlalchemy import func, select
from starlette.routing import Route

import metal
from metal.serving import (
    board_api,
    board_owner,
    board_pages,
    coming_in,
    owner_new,
    owner_pages,
    rating_pages,
    slow,
    tables,
)
from metal.serving.ledger import ServingLedger
from metal.serving.server import Served, begin
from tests.serving.web import Person, answer_of, folder_with_demo

SECRET = "the-secret-outside"
FORM = "application/x-www-form-urlencoded"
VALUES = (
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "/etc/passwd",
    "demo/../../secret.txt",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202e\u2066x",
    "\x00",
    "half \x00 of it",
    "' OR 1=1 --",
    "%",
    "a" * 5000,
    "-1",
    "9" * 400,
    "NaN",
    "\U0001f600" * 50,
    "demo",
    "hi-1",
    "{{ 7 * 7 }}",
    "",
)
NAMES = (
    *("csrf", "task", "reason", "version", "sure", "name", "code", "language", "person", "state"),
    *("raters", "number", "dataset", "consent", "PROLIFIC_PID", "workerId", "c0", "comment"),
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "http://["},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example"},
    {"X-CSRF": "x" * 3000},
    {"X-CSRF": "\xff"},
    {"Cookie": "metal_owner=../../x; metal-demo=%00"},
    {"Cookie": "metal_owner=" + "a" * 5000},
    {"Content-Type": "multipart/form-data; boundary=x; charset=idna"},
    {"Content-Type": "multipart/form-data"},
    {"Content-Type": "text/xml"},
    {"Content-Type": "application/json"},
    {"Content-Encoding": "gzip"},
    {"Content-Length": "-1"},
    {"Content-Length": "9" * 30},
    {"X-Forwarded-For": "1.2.3.4", "X-Forwarded-Prefix": "//evil.example"},
)


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, list[str], str]]:
    """A server with a study, a secret beside its folder, and the links of three people."""
    outside = tmp_path_factory.mktemp("hostile")
    (outside / "secret.txt").write_text(SECRET)
    (outside / "served").mkdir()
    folder = folder_with_demo(outside / "served")
    database = ""
    if request.param == "postgresql":
        cluster = request.getfixturevalue("postgres")
        database = cluster.address(cluster.new())
    _, links = metal.study_new(
        folder / "demo", folder=folder, database=database, languages="hi", people=3
    )
    served = begin(
        folder, host="127.0.0.1", port=0, database=database, root_path="", https=False,
        worker=False,
    )  # fmt: skip
    yield served, [path for _, path in links], database
    served.stop()


def asked(
    served: Served, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    """What the server answers; status 0 where it closed the connection instead."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
    with closing(connection):
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}))
            sent = {"Content-Length": str(len(body)), "Content-Type": FORM, **(headers or {})}
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            reply = connection.getresponse()
            return reply.status, reply.read(), dict(reply.getheaders())
        except (http.client.HTTPException, OSError):
            return 0, b"", {}


def content_of(database: str, folder: Path) -> dict[str, int]:
    """How many rows each table has."""
    ledger = ServingLedger(folder, database)
    counts = {
        table.name: ledger.reads(
            lambda c, table=table: c.scalar(select(func.count()).select_from(table)) or 0
        )
        for table in tables.metadata.sorted_tables
    }
    ledger.close()
    return counts


def hostile(seed: int, number: int) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """(method, path, body, headers) of hostile requests to every address of the server."""
    rng = random.Random(seed)
    routes = [
        route
        for pages in (
            owner_new,
            owner_pages,
            coming_in,
            rating_pages,
            board_api,
            board_owner,
            board_pages,
        )
        for route in pages.ROUTES
        if isinstance(route, Route)
    ]
    for _ in range(number):
        path = re.sub(
            "{[^}]+}", lambda _: quote(rng.choice(VALUES), safe="%"), rng.choice(routes).path
        )
        fields = {name: rng.choice(VALUES) for name in rng.sample(NAMES, 5)}
        query = f"?{urlencode(fields)}" if rng.random() < 0.3 else ""
        body = rng.choice([urlencode(fields).encode(), json.dumps(fields).encode(), b"\xff\x00",
                           b"&" * 50_000, b"[" * 50_000, b""])  # fmt: skip
        yield rng.choice(["GET", "POST", "HEAD", "PUT"]), path + query, body, rng.choice(HEADERS)


@pytest.mark.parametrize("seed", range(5))
def test_hostile_requests_get_and_change_nothing(
    house: tuple[Served, list[str], str], seed: int
) -> None:
    served, _, database = house
    before, answered = content_of(database, served.folder), 0
    for method, path, body, headers in hostile(seed, 100):
        status, content, _ = asked(served, method, path, body, headers)
        assert status < 500, (method, path, headers, content[:300])
        answered += status > 0
        assert SECRET.encode() not in content
        assert b"root:" not in content
        assert b"<script>alert" not in content
    assert answered > 60  # the others were cut off before they were read
    assert content_of(database, served.folder) == before
    assert asked(served, "GET", "/healthz")[0] == 200


@pytest.mark.parametrize("seed", range(5))
def test_hostile_fields_of_somebody_who_was_let_in_break_nothing(
    house: tuple[Served, list[str], str], seed: int
) -> None:
    served, links, _ = house
    person = Person(served.address)
    person.get(links[0])
    csrf = person.data()["served"]["csrf"]
    rng = random.Random(seed)
    cookie = "; ".join(f"{name}={value}" for name, value in person.client.cookies.items())
    for _ in range(60):
        fields = {name: rng.choice(VALUES) for name in rng.sample(NAMES, 5) if name != "sure"}
        what = rng.choice(["consent", "skip", "more", "plain", "recover", "answers", "x"])
        headers = {"Cookie": cookie}
        body = urlencode({**fields, "csrf": csrf}).encode()
        if what == "answers":
            headers |= {"X-CSRF": csrf, "Content-Type": "application/json"}
            body = rng.choice(BODIES)
        status, content, _ = asked(served, "POST", f"/study/demo/{what}", body, headers)
        assert status < 500, (what, fields, body[:200], content[:300])
        assert b"<script>alert" not in content
    person.client.close()


BODIES = (
    b"",
    b"null",
    b"[" * 200_000,
    b'{"answers":' * 20_000,
    b'{"answers": []}',
    b'{"answers": [null]}',
    b'{"answers": [{"task": "\\u0000", "scores": {}}]}',
    b'{"answers": [{"task": "\\ud800", "scores": {}}]}',
    b'{"answers": [{"task": "t", "scores": {"task_quality": "\\ud800"}}]}',
    b'{"answers": [{"task": "t", "scores": {}, "seconds": 1e999}]}',
    b'{"answers": [{"task": "t", "scores": {}, "seconds": -' + b"9" * 4000 + b"}]}",
    b'{"answers": [{"task": "t", "scores": {}, "seconds": ' + b"9" * 9000 + b"}]}",
    b'{"answers": [{"task": "t", "scores": {}, "comment": "' + b"x" * 100_000 + b'"}]}',
    b'{"answers": [' + b'{"task":"t","scores":{}},' * 1000 + b"null]}",
    b'\xff\xfe{\x00"\x00',
    b'{"answers": {"task": 1}}',
)


CHOICES = ("name", "template", "raters", "people", "test_questions", "qualify", "most", "pay",
           "budget", "group", "code", "consent", "languages", "criteria", "generators", "dataset",
           "person", "state", "number", "language")  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_hostile_fields_of_the_owner_break_nothing(
    house: tuple[Served, list[str], str], seed: int
) -> None:
    served, _, database = house
    study, _ = metal.study_new(
        served.folder / "demo", folder=served.folder, database=database, name=f"owners-{seed}"
    )
    served._desk.limits._tries.clear()  # of the tests before
    owner = Person(served.address)
    owner.get(served.owner.removeprefix(served.address))
    owner.get("/owner/new?dataset=demo")
    token = owner.hidden()["csrf"]
    rng = random.Random(seed)
    for _ in range(40):
        fields = {name: rng.choice(VALUES) for name in rng.sample(CHOICES, 5)}
        what = rng.choice(["consent", "more", "people"])
        path = rng.choice([f"study/{study.id}/{what}", "studies"])
        reply = owner.client.post(
            f"/owner/{path}", data={"dataset": "demo", **fields, "csrf": token}
        )
        assert reply.status_code < 500, (path, fields, reply.text[:300])
        page = owner.client.get("/owner/new", params={"dataset": rng.choice(VALUES)})
        assert page.status_code in (200, 400)
        assert "<script>alert" not in reply.text + page.text
    owner.client.close()


def test_bodies_that_are_too_large_are_refused(house: tuple[Served, list[str], str]) -> None:
    served, links, _ = house
    person = Person(served.address)
    person.get(links[0])
    csrf = person.data()["served"]["csrf"]
    headers = {"X-CSRF": csrf, "Content-Type": "application/json"}
    large = b'{"answers": "' + b"x" * (3 * 2**20) + b'"}'
    assert person.client.post("/study/demo/answers", content=large, headers=headers).status_code \
        == 413  # fmt: skip
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        chunks = (b"x" * 2**16 for _ in range(320))  # 20 MB, of which no length is announced
        reply = person.client.post("/study/demo/answers", content=chunks, headers=headers)
        assert reply.status_code == 413
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 50_000  # kB
    many = "&".join(f"a{number}=1" for number in range(100_000)).encode()
    began = time.process_time()
    reply = person.client.post("/study/demo/skip", content=many, headers={"Content-Type": FORM})
    assert reply.status_code == 400
    assert time.process_time() - began < 5
    person.client.close()


def test_another_persons_task_and_another_studys_cookie(
    house: tuple[Served, list[str], str],
) -> None:
    served, links, database = house
    first, second = Person(served.address), Person(served.address)
    first.get(links[1])
    second.get(links[2])
    mine, theirs = first.data(), second.data()
    csrf = theirs["served"]["csrf"]
    own = {task["task"] for task in theirs["tasks"]}
    not_theirs = next(
        (task["task"] for task in mine["tasks"] if task["task"] not in own), "tffffffffffff"
    )
    reply = second.send([answer_of(theirs, not_theirs)], csrf, "demo")
    assert reply.status_code == 400
    reply = second.send([answer_of(theirs, theirs["tasks"][0]["task"])], mine["served"]["csrf"],
                        "demo")  # fmt: skip
    assert reply.status_code == 400
    shutil.copytree(served.folder / "demo", served.folder / "other", dirs_exist_ok=True)
    metal.study_new(
        served.folder / "other", folder=served.folder, database=database, name="other",
        languages="hi",
    )  # fmt: skip
    cookie = first.client.cookies.get("metal-demo")
    status, content, _ = asked(
        served, "GET", "/study/other", headers={"Cookie": f"metal-other={cookie}"}
    )
    assert status == 401
    assert b'id="data"' not in content
    status, _, _ = asked(served, "GET", "/owner", headers={"Cookie": f"metal_owner={cookie}"})
    assert status == 404
    first.client.close()
    second.client.close()


def test_replayed_and_foreign_forms_are_refused(house: tuple[Served, list[str], str]) -> None:
    served, links, _ = house
    person = Person(served.address)
    person.get(links[0])
    data = person.data()
    task, csrf = data["tasks"][-1]["task"], data["served"]["csrf"]
    fields = {"task": task, "reason": "other"}
    assert person.client.post("/study/demo/skip", data=fields).status_code == 400  # without token
    foreign = {"Origin": "https://evil.example", "Content-Type": FORM}
    reply = person.client.post(
        "/study/demo/skip", content=urlencode({**fields, "csrf": csrf}), headers=foreign
    )
    assert reply.status_code == 403
    for _ in range(3):  # sent again, nothing else happens
        reply = person.client.post("/study/demo/skip", data={**fields, "csrf": csrf})
        assert reply.status_code == 200
    assert task not in {
        each["task"] for each in (person.get("/study/demo"), person.data())[1]["tasks"]
    }
    person.client.close()


def test_what_people_write_is_never_markup(house: tuple[Served, list[str], str]) -> None:
    served, links, _ = house
    person = Person(served.address)
    person.get(links[1])
    data = person.data()
    task = data["tasks"][0]["task"]
    comment = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e{{ 7*7 }}"
    assert person.send(
        [answer_of(data, task, 1, comment)], data["served"]["csrf"], "demo"
    ).status_code == 200  # fmt: skip
    for path in ("/study/demo", f"/study/demo/plain?task={task}", "/study/demo/mine"):
        page = person.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
    person.client.close()


def test_every_page_has_its_policy(house: tuple[Served, list[str], str]) -> None:
    served, links, _ = house
    person = Person(served.address)
    for path in (links[0], "/study/demo", "/study/demo/plain", "/study/demo/mine", "/owner",
                 "/nothing", "/static/serve.css", "/healthz"):  # fmt: skip
        headers = person.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    cookie = person.client.get(links[0], follow_redirects=False)
    assert cookie.status_code == 303
    person.client.close()
    fresh = Person(served.address)
    set_cookie = fresh.client.get(links[0], follow_redirects=False).headers["set-cookie"].lower()
    assert "httponly" in set_cookie
    assert "samesite=lax" in set_cookie
    fresh.client.close()


def test_codes_cannot_be_tried_without_end(house: tuple[Served, list[str], str]) -> None:
    served, _, _ = house
    statuses = [
        asked(served, "POST", "/study/demo/recover", urlencode(
            {"name": "hi-1", "code": str(number)}).encode())[0]
        for number in range(1000, 1700)
    ]  # fmt: skip
    assert set(statuses) <= {400, 429}
    assert set(statuses[-600:]) == {429}


@pytest.mark.slow
def test_slow_clients_keep_nobody_waiting(
    house: tuple[Served, list[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, links, _ = house
    monkeypatch.setattr(slow, "SLOWEST", 1.0)
    host, port = urlsplit(served.address).hostname, urlsplit(served.address).port
    sockets = []
    for number in range(300):
        each = socket.create_connection((host, port), timeout=30)
        head = b"POST /study/demo/answers HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
        each.sendall(head if number % 2 else head + b"\r\n{")
        sockets.append(each)
    person = Person(served.address)
    assert person.get(links[2]).status_code == 200
    assert person.get("/study/demo").status_code == 200
    for each in sockets:  # in the end the server closes each of them
        with contextlib.suppress(ConnectionResetError):
            assert each.recv(1) == b""
        each.close()
    person.client.close()


def test_nothing_of_people_is_in_the_ledger_in_the_clear(
    house: tuple[Served, list[str], str],
) -> None:
    served, links, database = house
    if database:
        pytest.skip("tests of the file")
    with closing(sqlite3.connect(served.folder / "metal-serve.db")) as opened:
        dump = "\n".join(opened.iterdump())
    for link in (*links, served.owner):
        assert link.rpartition("/")[2] not in dump
