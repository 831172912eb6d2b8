"""The client of Label Studio against a small server: pages, tokens that run out, what is asked again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metal.building.crowdsourcing.label_studio import KEY, LabelStudio, LabelStudioError, checked_url
from metal.errors import UsageError
from tests.label_studio_server import LEGACY, PERSONAL, LabelStudioServer

INTERFACE = "<View/>"


@pytest.fixture
def server() -> Iterator[LabelStudioServer]:
    with LabelStudioServer() as started:
        yield started


def client(server: LabelStudioServer, token: str = LEGACY) -> LabelStudio:
    return LabelStudio(server.url, token, sleep=lambda seconds: None)


def test_lists_are_read_page_by_page(server: LabelStudioServer) -> None:
    own = client(server)
    for number in range(205):
        server.projects[number + 1] = {"title": f"p{number}"}
    assert sorted(each["id"] for each in own.projects()) == list(range(1, 206))
    own.import_tasks(7, [{"data": {"task": f"t{number}"}} for number in range(200)])
    own.import_tasks(8, [{"data": {"other": 1}}])
    assert own.tasks(7) == [f"t{number}" for number in range(200)]
    assert own.tasks(8) == [""]
    assert (own.count_tasks(7), own.count_tasks(9)) == (200, 0)


def test_a_personal_token_is_exchanged_again_when_it_has_run_out() -> None:
    with LabelStudioServer(lifetime=2) as server:
        own = client(server, PERSONAL)
        project = own.create_project("abc", INTERFACE, 1)
        assert [own.count_tasks(project) for _ in range(5)] == [0] * 5
        assert server.access == 3


@pytest.mark.parametrize("token", ["no-such-token", "a.b.c"])
def test_a_wrong_token_is_said_and_not_shown(server: LabelStudioServer, token: str) -> None:
    with pytest.raises(UsageError, match=f"does not accept the token in {KEY}") as error:
        client(server, token).count_tasks(1)
    assert token not in str(error.value)


def test_no_token(server: LabelStudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(UsageError, match=f"set {KEY}"):
        LabelStudio(server.url)
    with pytest.raises(UsageError, match="characters that no token has"):
        LabelStudio(server.url, "a\r\nX-Other: b")


def test_only_what_reads_is_asked_again(server: LabelStudioServer) -> None:
    server.projects[1] = {"title": "p"}
    server.busy = {1, 2}
    server.lose = {3}
    assert client(server).count_tasks(1) == 0
    assert len(server.calls) == 4
    server.busy = {5}
    with pytest.raises(LabelStudioError, match=r"refused POST /api/projects/: busy \(503\)"):
        client(server).create_project("abc", INTERFACE, 1)
    assert len(server.calls) == 5
    server.lose = {6}
    with pytest.raises(UsageError, match="give the same command again"):
        client(server).create_project("abc", INTERFACE, 1)
    assert len(server.calls) == 6
    assert [each["title"] for each in server.projects.values()] == ["p", "abc"]


def test_the_token_does_not_go_along_a_redirect(server: LabelStudioServer) -> None:
    with LabelStudioServer() as elsewhere:
        server.redirect = elsewhere.url
        with pytest.raises(LabelStudioError, match=r"\(302\)"):
            client(server).count_tasks(1)
        assert elsewhere.calls == []


def test_an_answer_that_repeats_the_token_does_not_show_it(server: LabelStudioServer) -> None:
    own = client(server)
    server.answer = lambda *_: (403, {"detail": f"{LEGACY} may not\ndo this"})  # type: ignore[method-assign]
    with pytest.raises(LabelStudioError) as error:
        own.count_tasks(1)
    assert str(error.value) == "Label Studio refused GET /api/projects/1/: *** may not do this (403)"


def test_what_is_no_label_studio(server: LabelStudioServer) -> None:
    server.answer = lambda *_: (200, ["something"])  # type: ignore[method-assign]
    for ask in (lambda each: each.count_tasks(1), lambda each: list(each.projects()), lambda each: each.tasks(1)):
        with pytest.raises(UsageError, match="does not answer as Label Studio does"):
            ask(client(server))


def test_nobody_is_there() -> None:
    with LabelStudioServer() as server:
        gone = server.url
    with pytest.raises(UsageError, match="Is Label Studio running there"):
        LabelStudio(gone, LEGACY, sleep=lambda seconds: None).count_tasks(1)


@pytest.mark.parametrize(
    "url", ["ftp://a", "localhost:8080", "http://", "http://a:b@c", "http://a/?x=1", "http://a/#x", "http://a/ b"]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="`url`"):
        checked_url(url)


def test_an_address_keeps_its_path() -> None:
    assert checked_url("https://example.org/studio/") == "https://example.org/studio"
