"""Boards on the server: who reads them, what they show and hide, and their versions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest

import metal
from metal.errors import UsageError
from metal.serving import boards
from metal.serving.jobs import PAGES, add_job, claim
from tests.saying import tells
from tests.serving.boards_at_work import (
    HIDDEN,
    LENGTH,
    BoardAtWork,
    board_at_work,
    outputs_of,
    scores_of,
    sent,
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardAtWork]:
    monkeypatch.chdir(tmp_path)  # as the worker's process does
    with board_at_work(tmp_path) as at_work:
        yield at_work


def test_a_board_is_private_until_its_owner_opens_it(work: BoardAtWork) -> None:
    anybody = work.browser()
    assert anybody.get("/boards/news").status_code == 404
    work.opens()
    work.works()
    for path in ("", "/billboard", "/tables/raters.csv", "/badge.svg", "/api", "/api/openapi.json"):
        reply = anybody.get(f"/boards/news{path}")
        assert reply.status_code == 404, path
        # a board that is not there looks the same
        other = anybody.get(f"/boards/other{path}").text
        assert reply.text.replace("news", "other") == other
    assert work.owner.get("/boards/news").status_code == 200
    assert work.browser(work.link("A team")).get("/boards/news").status_code == 200
    work.does("rules", readers="public", budget="10")
    assert anybody.get("/boards/news").status_code == 200


def test_a_viewers_link_ends_when_the_rules_or_the_link_change(work: BoardAtWork) -> None:
    work.opens(readers="link")
    work.works()

    def new_link() -> str:
        return str(work.does("viewer").text.partition('class="links"><a href="')[2].split('"')[0])

    link = new_link()
    reader = work.browser(link)
    assert reader.get("/boards/news").status_code == 200
    assert reader.get("/boards/other").status_code == 404
    work.does("rules", readers="private", budget="10")
    assert reader.get("/boards/news").status_code == 404
    work.does("rules", readers="link", budget="10")
    assert reader.get("/boards/news").status_code == 200
    later = new_link()
    assert reader.get("/boards/news").status_code == 404
    assert httpx.get(link).status_code == 404
    assert work.browser(later).get("/boards/news").status_code == 200


@pytest.mark.slow
def test_each_version_has_the_bytes_of_the_command(work: BoardAtWork) -> None:
    work.opens(readers="public")
    work.works()
    team, reader = work.team("A team"), work.browser()
    assert sent(team, "metric-scores", "mine", scores_of(work.folder)).status_code == 201
    work.works()
    assert "version 2" in reader.get("/boards/news").text
    assert reader.get("/boards/news/billboard?at=3").status_code == 400
    assert reader.get("/boards/news?at=x").status_code == 400
    for version in (1, 2):
        page = reader.get(f"/boards/news/billboard?at={version}")
        saved = metal.billboard(Path("news"), at=version).save(f"runs/{version}")
        assert page.content == (saved / "report.html").read_bytes()
        rows = reader.get(f"/boards/news/tables/raters.csv?at={version}").text.splitlines()
        assert any("mine" in row for row in rows) == (version == 2)


def test_an_earlier_version_is_made_by_the_worker_not_in_a_request(work: BoardAtWork) -> None:
    metal.submit_metric(work.folder, _file(work, "scores.csv", scores_of(work.folder)), name="one")
    work.opens(readers="public")
    work.works()
    reader = work.browser()
    assert tells(reader.get("/boards/news?at=1").text, "pages of version 1 are being made")
    reader.get("/boards/news?at=1")  # asked for twice, made once
    work.works()
    assert "The whole billboard" in reader.get("/boards/news?at=1").text


def _file(work: BoardAtWork, name: str, content: bytes) -> Path:
    path = work.root / name
    path.write_bytes(content)
    return path


@pytest.mark.slow
def test_nothing_hidden_is_on_the_board_or_in_its_downloads(work: BoardAtWork) -> None:
    work.opens(readers="public")
    team = work.team("A team")
    telling = "def score(output, references):\n    raise ValueError(references[0] + output)\n"
    half = telling.replace("    raise", "    if 'x' in output: return 1.0\n    raise")
    sent(team, "generator", "mine", outputs_of("the hidden output"))
    for name, program in (("telling", telling), ("half", half), ("length", LENGTH)):
        assert sent(team, "metric-program", name, program.encode()).status_code == 201
    work.works()
    again = sent(team, "generator", "second", outputs_of("the hidden output"))
    assert again.status_code == 201
    work.works()
    reader = work.browser()
    board = reader.get("/boards/news").text
    states = team.get("/boards/news/api/submissions").json()
    assert {each["name"]: each["state"] for each in states} == {
        "mine": "joined", "telling": "failed", "half": "joined", "length": "joined",
        "second": "joined",
    }  # fmt: skip
    pages = [board, json.dumps(states), reader.get("/boards/news/badge.svg").text]
    for report in ("billboard", "leaderboard"):
        pages.append(reader.get(f"/boards/news/{report}").text)
    tables = [part.split(".csv")[0] for part in board.split("/boards/news/tables/")[1:]]
    assert {"raters", "generators", "leaderboard", "comparisons"} <= set(tables)
    for table in tables:
        pages.append(reader.get(f"/boards/news/tables/{table}.csv").text)
    for page in pages:
        for text in (*HIDDEN, str(work.root)):
            assert text not in page
    # the owner sees what a program said
    assert HIDDEN[1] in work.owner.get("/owner/board/news").text


@pytest.mark.parametrize(
    "path",
    [
        "tables/../../summary.json",
        "tables/..%2f..%2fsummary.csv",
        "tables/%2e%2e/summary.json.csv",
        "tables/nothing.csv",
        "summary.json",
        "board.html",
        "billboard%00",
        "submissions/..%2f..%2fnews",
    ],
)
def test_no_path_of_a_request_names_a_file(work: BoardAtWork, path: str) -> None:
    work.opens(readers="public")
    work.works()
    assert work.browser().get(f"/boards/news/{path}").status_code in (400, 404)
    assert work.browser().get(f"/boards/{path}").status_code in (400, 404)


def test_the_badge_names_the_version_and_the_best_rater(work: BoardAtWork) -> None:
    work.opens(readers="public")
    assert "no version yet" in work.browser().get("/boards/news/badge.svg").text
    work.works()
    badge = work.browser().get("/boards/news/badge.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert badge.headers["cross-origin-resource-policy"] == "cross-origin"
    assert tells(badge.text, "news: version 1", "near")


def test_why_nothing_can_be_ranked_is_said(work: BoardAtWork) -> None:
    ratings = work.folder / "ratings.parquet"
    ratings.write_bytes(b"broken")
    work.opens(readers="public")
    work.works()
    page = work.browser().get("/boards/news").text
    assert tells(page, "Nothing can be ranked yet", "ratings.parquet")
    assert str(work.root) not in page


def test_a_version_that_cannot_be_shown_says_why_and_asks_for_no_more_work(
    work: BoardAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.opens(readers="public")
    work.works()
    shutil.rmtree(work.root / ".metal-serve" / "boards")  # as after an upgrade
    reader = work.browser()
    with monkeypatch.context() as patched:
        for name in ("billboard", "leaderboard"):
            patched.setattr(metal, name, Mock(side_effect=UsageError("nobody rated anything")))
        assert tells(reader.get("/boards/news?at=1").text, "are being made")
        work.works()
    for _ in range(3):
        page = reader.get("/boards/news?at=1").text
        assert tells(page, "Version 1 cannot be shown", "nobody rated anything")
    assert claim(work.ledger, "another") is None
    monkeypatch.setattr(boards, "TRIED_AGAIN", 0)  # later
    assert tells(reader.get("/boards/news?at=1").text, "are being made")
    work.works()
    assert tells(reader.get("/boards/news?at=1").text, "Raters by agreement")


def test_what_a_reader_asks_for_comes_after_the_work_of_teams(work: BoardAtWork) -> None:
    work.ledger.writes(lambda c: add_job(c, PAGES, {"board": "news", "at": 1}))
    work.ledger.writes(lambda c: add_job(c, boards.WITHDRAWAL, {"submission": "x"}))
    kinds = [claimed.kind for _ in range(2) if (claimed := claim(work.ledger, "worker"))]
    assert kinds == [boards.WITHDRAWAL, PAGES]


def test_the_owner_sees_why_a_submission_was_not_withdrawn(work: BoardAtWork) -> None:
    work.opens(readers="public")
    identity = sent(work.team("A team"), "metric-scores", "one", scores_of(work.folder)).json()[
        "id"
    ]
    work.works()
    card = work.folder / "dataset.toml"
    content = card.read_bytes()
    card.write_text("x = [")
    for _ in range(2):
        work.does("withdraw", submission=identity)
        work.works()
    page = work.owner.get("/owner/board/news").text
    assert page.count("could not be withdrawn") == 1
    assert tells(page, "could not be withdrawn", "withdraw it again", "not TOML")
    card.write_bytes(content)
    work.does("withdraw", submission=identity)
    work.works()
    page = work.owner.get("/owner/board/news").text
    assert "could not be withdrawn" not in page
    assert tells(page, "withdrawn by the board")
