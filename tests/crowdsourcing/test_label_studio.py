"""The client and campaigns against a Label Studio on this machine."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from metal.building.crowdsourcing.campaign import digest_of
from metal.building.crowdsourcing.label_studio import (
    KEY,
    LabelStudio,
    LabelStudioError,
    checked_url,
)
from metal.building.crowdsourcing.label_studio_campaign import (
    LabelStudioCampaign,
    LabelStudioSettings,
    fetch,
    post,
    read_export,
    read_projects,
)
from metal.building.forms.label_studio import write
from metal.errors import DataError, UnknownName, UsageError
from tests.build.label_studio_assignments import ASSIGNMENTS
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
    with pytest.raises(UsageError, match=f"token in {KEY}") as error:
        client(server, token).count_tasks(1)
    assert token not in str(error.value)


def test_no_token(server: LabelStudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(UsageError, match=f"set {KEY}"):
        LabelStudio(server.url)
    with pytest.raises(UsageError, match="that no token has"):
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
    with pytest.raises(UsageError, match="run the same command"):
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
    assert (
        str(error.value) == "Label Studio refused GET /api/projects/1/: *** may not do this (403)"
    )


def test_what_is_no_label_studio(server: LabelStudioServer) -> None:
    server.answer = lambda *_: (200, ["something"])  # type: ignore[method-assign]
    for ask in (
        lambda each: each.count_tasks(1),
        lambda each: list(each.projects()),
        lambda each: each.tasks(1),
    ):
        with pytest.raises(UsageError, match="as Label Studio does"):
            ask(client(server))


def test_nobody_is_there() -> None:
    with LabelStudioServer() as server:
        gone = server.url
    with pytest.raises(UsageError, match="Is Label Studio running"):
        LabelStudio(gone, LEGACY, sleep=lambda seconds: None).count_tasks(1)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a",
        "localhost:8080",
        "http://",
        "http://a:b@c",
        "http://a/?x=1",
        "http://a/#x",
        "http://a/ b",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="`url`"):
        checked_url(url)


def test_an_address_keeps_its_path() -> None:
    assert checked_url("https://example.org/studio/") == "https://example.org/studio"


FILES = {name: content for name, content in write(ASSIGNMENTS) if name != "README.txt"}
EXPECTED = {
    assignment.rater: sorted(task.task for task in assignment.tasks) for assignment in ASSIGNMENTS
}


def begin(
    dataset: Path, name: str, url: str, files: Mapping[str, bytes], *, shared: bool
) -> LabelStudioCampaign:
    settings = LabelStudioSettings(url, shared, digest_of(files), key=secrets.token_hex(5))
    return LabelStudioCampaign.begin(dataset, name, settings, files)


def made(server: LabelStudioServer) -> dict[str, list[str]]:
    """Sheet -> its tasks, of all projects; a second project of a sheet would be another key."""
    return {
        project["title"].partition(" ")[0] + "'" * (number > len(ASSIGNMENTS)): sorted(
            task["data"]["task"] for task in server.in_project(number)
        )
        for number, project in server.projects.items()
    }


def test_a_project_a_person(tmp_path: Path) -> None:
    with LabelStudioServer() as server:
        campaign = begin(tmp_path, "one", server.url, FILES, shared=False)
        assert post(client(server), campaign) == 2
        assert made(server) == EXPECTED
        assert post(client(server), campaign) == 0
        assert len(server.calls) == 2 * 4
        assert [each["maximum_annotations"] for each in server.projects.values()] == [1, 1]
        assert {each["title"] for each in server.projects.values()} == {
            f"{assignment.rater} [metal {campaign.settings.key}]" for assignment in ASSIGNMENTS
        }


@pytest.mark.parametrize("lost", range(1, 9))
def test_whatever_answer_is_lost_the_next_push_goes_on(tmp_path: Path, lost: int) -> None:
    with LabelStudioServer() as server:
        server.lose = {lost}
        first = begin(tmp_path, "one", server.url, FILES, shared=False)
        reading = server_reads(lost)
        if not reading:
            with pytest.raises(UsageError, match="run the same command"):
                post(client(server), first)
        post(client(server), begin(tmp_path, "one", server.url, FILES, shared=False))
        assert made(server) == EXPECTED
        assert post(client(server), LabelStudioCampaign.open(tmp_path)) == 0


def server_reads(number: int) -> bool:
    """Of a sheet's four calls (make, count, import, count) the ones that only read, which are asked
    again at once.
    """
    return number % 4 in (2, 0)


@pytest.mark.parametrize("kept", range(1, 7))
def test_a_push_that_was_killed_between_two_lines(tmp_path: Path, kept: int) -> None:
    """Whatever was not written before it died, and a last line that is cut, is found out again."""
    with LabelStudioServer() as server:
        campaign = begin(tmp_path, "one", server.url, FILES, shared=False)
        post(client(server), campaign)
        path = campaign.folder / "projects.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        assert len(lines) == 6
        path.write_text("".join(lines[:kept]) + '{"sheet": "en-')
        for number in range(kept, 6):  # what was announced nowhere was not done either
            assignment = json.loads(lines[number])["sheet"]
            if "title" in json.loads(lines[number]):
                gone = [
                    each
                    for each, project in server.projects.items()
                    if project["title"].startswith(assignment)
                ]
                server.tasks = [task for task in server.tasks if task["project"] not in gone]
                for each in gone:
                    del server.projects[each]
        post(client(server), LabelStudioCampaign.open(tmp_path))
        assert made(server) == EXPECTED


def test_half_of_an_import_is_completed(tmp_path: Path) -> None:
    with LabelStudioServer() as server:
        campaign = begin(tmp_path, "one", server.url, FILES, shared=False)
        server.lose = {3}
        with pytest.raises(UsageError):
            post(client(server), campaign)
        del server.tasks[1:]
        post(client(server), campaign)
        assert made(server) == EXPECTED


def test_a_project_with_tasks_twice_is_named(tmp_path: Path) -> None:
    with LabelStudioServer() as server:
        campaign = begin(tmp_path, "one", server.url, FILES, shared=False)
        server.lose = {3}
        with pytest.raises(UsageError):
            post(client(server), campaign)
        server.tasks += [dict(server.tasks[0])]
        with pytest.raises(
            DataError,
            match=r"Label Studio project 1 \(ar-1\): it has 4 tasks, but should have 3",
        ):
            post(client(server), campaign)
        server.tasks[-1] = {**server.tasks[0], "data": {"task": "foreign"}}
        with pytest.raises(DataError, match="project 1"):
            post(client(server), campaign)


def test_shared_projects_have_each_task_once(tmp_path: Path) -> None:
    both = {**FILES, "en-2.json": FILES["en-1.json"].replace(b'"en-1"', b'"en-2"')}
    [first, second] = read_projects(both, shared=True)
    assert (first.name, first.raters, second.name, second.raters) == ("ar", 1, "en", 2)
    assert second.ids == [task.task for task in ASSIGNMENTS[1].tasks]
    assert {task["data"]["rater"] for task in second.tasks} == {"en"}
    with LabelStudioServer() as server:
        post(client(server), begin(tmp_path, "one", server.url, both, shared=True))
        assert [project["maximum_annotations"] for project in server.projects.values()] == [1, 2]


def test_what_is_fetched_is_what_is_done_so_far(tmp_path: Path) -> None:
    with LabelStudioServer() as server:
        campaign = begin(tmp_path, "one", server.url, FILES, shared=False)
        with pytest.raises(UsageError, match="no project yet"):
            list(fetch(client(server), campaign))
        post(client(server), campaign)
        server.annotate(server.in_project(2)[0], {"task_quality": "2"})
        fetched = dict(fetch(client(server), campaign))
        assert list(fetched) == ["project 1 (ar-1)", "project 2 (en-1)"]
        assert [len(json.loads(content)) for content in fetched.values()] == [0, 1]


def test_titles_fit(tmp_path: Path) -> None:
    campaign = begin(tmp_path, "one", "http://a", FILES, shared=False)
    long = campaign.title_of("sr-Latn-RS-ekavsk-to-zh-Hant-TW-12")
    assert len(long) <= 50
    assert long != campaign.title_of("sr-Latn-RS-ekavsk-to-zh-Hant-TW-13")


def test_another_campaign_of_that_name(tmp_path: Path) -> None:
    begin(tmp_path, "one", "http://a", FILES, shared=False)
    for url, files, shared in (
        ("http://b", FILES, False),
        ("http://a", FILES, True),
        ("http://a", {**FILES, "ar-2.json": FILES["ar-1.json"]}, False),
    ):
        with pytest.raises(UsageError, match="with other settings"):
            begin(tmp_path, "one", url, files, shared=shared)
    for name in ("", ".", "../x", "a/b"):
        with pytest.raises(UsageError, match="cannot name a campaign"):
            begin(tmp_path, name, "http://a", FILES, shared=False)
    other = tmp_path / "annotation/campaigns/turk"
    other.mkdir()
    (other / "campaign.toml").write_text('platform = "mturk"\n')
    with pytest.raises(UsageError, match="on another platform"):
        begin(tmp_path, "turk", "http://a", FILES, shared=False)
    assert [each.name for each in LabelStudioCampaign.of(tmp_path)] == ["one"]


def test_a_card_with_a_value_of_another_type_is_refused(tmp_path: Path) -> None:
    folder = begin(tmp_path, "one", "http://a", FILES, shared=False).folder
    card = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(card.replace("shared = false", "shared = 5"))
    with pytest.raises(DataError, match=r"campaign\.toml:.*\(shared is 5\).*Restore"):
        LabelStudioCampaign.of(tmp_path)


def test_which_campaign(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no campaign on Label Studio"):
        LabelStudioCampaign.open(tmp_path)
    begin(tmp_path, "one", "http://a", FILES, shared=False)
    assert LabelStudioCampaign.open(tmp_path).name == "one"
    begin(tmp_path, "two", "http://a", FILES, shared=False)
    assert LabelStudioCampaign.open(tmp_path, "two").name == "two"
    with pytest.raises(UsageError, match="several campaigns on Label Studio: one, two"):
        LabelStudioCampaign.open(tmp_path)
    with pytest.raises(UnknownName, match="campaign 'three' is not known; known: one, two"):
        LabelStudioCampaign.open(tmp_path, "three")


@pytest.mark.parametrize("content", [b"[]", b"{}", b"[1]", b"no", b'[{"data": {"task": 1}}]'])
def test_files_that_are_no_export(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"ar-1\.json: not tasks"):
        read_projects({**FILES, "ar-1.json": content}, shared=False)
    with pytest.raises(UsageError, match=r"no interface-LANG\.xml"):
        read_export(tmp_path)
    with pytest.raises(DataError, match=r"no interface-ar\.xml beside it"):
        read_projects({"ar-1.json": FILES["ar-1.json"]}, shared=False)
