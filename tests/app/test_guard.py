"""Only this user's own pages can ask the app."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from metal.app.guard import LARGEST_BODY
from metal.app.server import View, bound, token
from metal.errors import UsageError


def asked(
    view: View, path: str = "", method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    """The status, text and headers that a request gets; path: below the token."""
    parts = urlsplit(view.address)
    assert parts.port
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    target = path if path.startswith("//") else parts.path + path
    connection.request(method, target.replace("//", "/", 1), body, sent)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, dict(response.getheaders())


def test_its_own_pages_are_answered(view: View) -> None:
    status, text, headers = asked(view)
    assert status == 200
    assert "runs/audit" in text
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["referrer-policy"] == "same-origin"
    assert asked(view, sec_fetch_mode="navigate", sec_fetch_site="cross-site")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:8642"},
        {"host": "localhost@evil.example"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_other_pages_are_refused(view: View, headers: dict[str, str]) -> None:
    status, text, _ = asked(view, **headers)
    assert status == 403
    assert "runs/audit" not in text


def test_a_form_of_another_page_is_refused(view: View) -> None:
    status, _, _ = asked(
        view, method="POST", sec_fetch_mode="navigate", sec_fetch_site="cross-site"
    )
    assert status == 403


@pytest.mark.parametrize("path", ["//", "//x/", "//" + "x" * 32 + "/", "//../"])
def test_without_the_token_nothing_is_shown(view: View, path: str) -> None:
    status, text, _ = asked(view, path)
    assert status == 403
    assert "metal view" in text


@pytest.mark.parametrize(
    "path",
    [
        "run/../../etc/passwd",
        "run/%2e%2e/%2e%2e/etc",
        "answers//etc",
        "output/runs/audit?output=nothing",
        "answers/runs/nothing",
        "static/../server.py",
        "static/start.html",
        "nothing",
    ],
)
def test_no_address_leads_outside(view: View, path: str) -> None:
    status, text, _ = asked(view, path)
    assert status in (403, 404)
    assert "root:" not in text


def test_a_browser_is_started_with_an_address_that_works_once(view: View) -> None:
    token = view.address.split("/")[3]
    invitation = view.once("run/runs/audit")
    assert token not in invitation
    path = "//" + invitation.split("/", 3)[3]
    for refused in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        assert asked(view, path, **refused)[0] == 403  # and it still works
    assert asked(view, path, "POST")[0] == 403
    assert asked(view, path, "HEAD")[0] == 403
    status, _, headers = asked(view, path)
    assert (status, headers["location"]) == (303, f"/{token}/run/runs/audit")
    assert headers["cache-control"] == "no-store"
    status, text, headers = asked(view, path)
    assert (status, headers.get("location")) == (403, None)
    assert token not in text


def test_an_address_for_the_browser_is_soon_too_old(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.app.guard.SECONDS_TO_OPEN", 0)
    path = "//" + view.once().split("/", 3)[3]
    assert asked(view, path)[0] == 403


def test_unknown_choices_are_named(view: View) -> None:
    status, text, _ = asked(view, "answers/runs/audit?language=xx")
    assert status == 400
    assert "xx" in text


def test_a_body_too_large_is_refused_before_it_is_read(view: View) -> None:
    assert asked(view, "", "POST", content_length=str(LARGEST_BODY + 1))[0] == 413


def test_the_token_lasts_and_only_its_owner_reads_it(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = token()
    assert token() == first
    (file,) = __import__("pathlib").Path(str(tmp_path)).rglob("view-token")
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("short")
    assert len(token()) == 32 != len("short")


def test_a_port_that_is_taken_is_said() -> None:
    taken = bound(0)
    with pytest.raises(UsageError, match="cannot be used"):
        bound(taken.getsockname()[1])
    taken.close()
