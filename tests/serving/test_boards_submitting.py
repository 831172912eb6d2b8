"""Teams submit to a board over HTTP: what is taken, refused, queued, run, and undone."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import update

import metal
from metal.boards.store import with_submissions
from metal.data.dataset import load_dataset
from metal.errors import UsageError
from metal.raters import isolation
from metal.serving import submissions, tables
from metal.serving.board_worker import BoardWorker
from metal.serving.jobs import claim
from metal.serving.keeping import keep
from metal.serving.leaving import let_go, set_aside
from metal.serving.people import WITHDRAWN, people_of
from metal.serving.studies import Forms, study_of
from metal.serving.submissions import run_submission, submissions_of
from tests.saying import tells
from tests.serving.boards_at_work import (
    LENGTH,
    SOURCES,
    BoardAtWork,
    board_at_work,
    outputs_of,
    scores_of,
    sent,
)
from tests.serving.web import Person, rate

API = "/boards/news/api/submissions"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardAtWork]:
    monkeypatch.chdir(tmp_path)  # as the worker's process does
    with board_at_work(tmp_path) as at_work:
        at_work.opens(readers="public")
        yield at_work


def names_on(folder: Path) -> list[str]:
    return list(metal.billboard_history(folder)["name"])


def kept_files(work: BoardAtWork) -> list[Path]:
    return list((work.root / ".metal-serve" / "submissions").glob("*/*"))


# ---------------------------------------------------------------- a submission that joins


@pytest.mark.slow
def test_a_generator_and_metrics_join(work: BoardAtWork) -> None:
    team = work.team("A team")
    program = sent(team, "metric-program", "length", LENGTH.encode(), description="How long it is.")
    assert program.status_code == 201
    record = program.json()
    assert (record["state"], record["version"]) == ("queued", None)
    scores = sent(team, "metric-scores", "mine", scores_of(work.folder), direction="lower")
    generator = sent(team, "generator", "gen", outputs_of("gen"))
    assert (scores.status_code, generator.status_code) == (201, 201)
    assert names_on(work.folder) == ["news"]
    work.works()
    history = metal.billboard_history(work.folder)
    joined = {row["name"]: row for row in history.to_dict("records")}
    assert {"length", "mine", "gen"} <= joined.keys()
    assert {joined[name]["by"] for name in ("length", "mine", "gen")} == {"A team"}
    assert joined["mine"]["about"]["direction"] == "lower"
    after = team.get(program.headers["location"]).json()
    assert (after["state"], after["version"]) == ("joined", joined["length"]["version"])
    assert after["description"] == "How long it is."
    assert tells(after["log"], "36 scored")
    assert len(team.get(API).json()) == 3
    page = work.browser().get("/boards/news").text
    assert "length" in page
    assert "How long it is." not in page


def test_a_program_over_http_joins_the_ensembles_candidates(work: BoardAtWork) -> None:
    """Billboard's loop: a metric makes a new version, whose ensemble is fitted with it."""
    work.works()
    team = work.team("A team")
    truth = "def score(output):\n    return float(output.count('x'))\n"
    assert sent(team, "metric-program", "counted", truth.encode()).status_code == 201
    work.works()
    reader = work.browser()
    assert "version 2" in reader.get("/boards/news").text
    before, after = (
        reader.get(f"/boards/news/tables/ensemble_members.csv?at={version}").text
        for version in (1, 2)
    )
    assert "counted" not in before
    assert "counted" in after


def test_a_form_without_script_makes_the_same_checks(work: BoardAtWork) -> None:
    browser = work.browser(work.link("A team"))
    page = browser.get("/boards/news").text
    token = page.split('name="csrf" value="')[1].split('"')[0]
    fields = {"csrf": token, "kind": "generator", "name": "gen"}
    wrong = browser.post(
        "/boards/news/submissions", data=fields, files={"file": outputs_of("gen", 11)}
    )
    assert wrong.status_code == 400
    assert tells(wrong.text, "1 missing source", "s11")
    right = browser.post("/boards/news/submissions", data=fields, files={"file": outputs_of("gen")})
    assert tells(right.text, "It waits for a worker.")
    work.works()
    assert tells(browser.get(right.url).text, "It is on the board.")
    forged = {**fields, "csrf": "x" * 24, "name": "other"}
    reply = browser.post(
        "/boards/news/submissions", data=forged, files={"file": outputs_of("other")}
    )
    assert reply.status_code == 400
    assert len(submissions_of(work.ledger, "news")) == 1


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("kind", "name", "content", "facts"),
    [
        ("generator", "a", outputs_of("a"), ["generator 'a' is on the board"]),
        ("generator", "new", outputs_of("new", 10), ["2 missing sources"]),
        ("generator", "new", outputs_of("new") * 2, ["12 duplicate sources"]),
        ("generator", "new", b'{"source": "s0"', ["outputs.jsonl"]),
        ("generator", "new", b"\x00\xff\xfe" * 50, ["outputs.jsonl"]),
        ("generator", "new", b"PK\x03\x04" + bytes(300), ["outputs.jsonl"]),
        ("generator", "new", b"[" * 100_000, ["outputs.jsonl"]),
        ("generator", "new", b"", ["empty"]),
        ("generator", "", outputs_of("x"), ["a name is 1 to 80"]),
        ("generator", "x" * 81, outputs_of("x"), ["a name is 1 to 80"]),
        ("generator", "two\nlines", outputs_of("x"), ["a name is 1 to 80"]),
        ("generator", "people", outputs_of("x"), ["the board itself uses"]),
        ("metric-scores", "near", b"output,score\ns0/a,1\n", ["rater 'near' is on the board"]),
        ("metric-scores", "new", b"output,score\ns0/zzz,1\n", ["zzz"]),
        ("metric-scores", "new", b"a,b\n1,2\n", ["columns output and score"]),
        ("metric-scores", "new", b"output,score\ns0/a,NaN\n", ["scores no output"]),
        ("metric-program", "new", b"x" * (2**20 + 1), ["larger than 1 MB"]),
        ("nothing", "new", b"x", ["kind 'nothing'", "generator"]),
        ("../../x", "new", b"x", ["kind '../../x'"]),
    ],
)
def test_what_cannot_join_is_refused_at_once_and_not_kept(
    work: BoardAtWork, kind: str, name: str, content: bytes, facts: list[str]
) -> None:
    reply = sent(work.team("A team"), kind, name, content)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert tells(error, *facts), error
    assert str(work.root) not in error
    assert kept_files(work) == []
    assert submissions_of(work.ledger, "news") == []


def test_names_with_markup_are_text(work: BoardAtWork) -> None:
    evil = "<script>alert(1)</script>"
    team = work.team(evil)
    assert sent(team, "generator", evil, outputs_of("x"), description=evil).status_code == 201
    work.works()
    reader = work.browser()
    identity = team.get(API).json()[0]["id"]
    browser = work.browser(work.link(evil))
    for client, path in (
        (reader, "/boards/news"),
        (reader, "/boards/news/billboard"),
        (reader, "/boards/news/badge.svg"),
        (browser, "/boards/news"),
        (browser, f"/boards/news/submissions/{identity}"),
        (work.owner, "/owner/board/news"),
    ):
        page = client.get(path)
        assert page.status_code == 200
        assert evil not in page.text, path


def test_a_file_name_of_a_request_is_never_used(work: BoardAtWork) -> None:
    team = work.team("A team")
    files = {"file": ("../../../news/outputs.jsonl", outputs_of("gen"), "text/x-evil")}
    before = (work.folder / "outputs.jsonl").read_bytes()
    reply = team.post(API, data={"kind": "generator", "name": "gen"}, files=files)
    assert reply.status_code == 201
    assert [path.name for path in kept_files(work)] == ["outputs.jsonl"]
    assert (work.folder / "outputs.jsonl").read_bytes() == before


def test_tokens_that_are_not_valid(work: BoardAtWork) -> None:
    team = work.team("A team")
    valid = team.headers["Authorization"]
    submission = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]
    client = work.browser()
    for forged in (
        "",
        "Bearer",
        "Bearer x",
        valid[:-1],
        f"{valid}x",
        valid.replace("Bearer", "Basic"),
    ):
        client.headers["Authorization"] = forged
        assert sent(client, "generator", "other", outputs_of("x")).status_code == 401
        assert client.get(f"{API}/{submission}").status_code == 401
    viewer = work.does("viewer").text.partition("/with/")[2].split('"')[0]
    client.headers["Authorization"] = f"Bearer {viewer}"
    assert client.get(API).status_code == 401
    work.does("shut-out", team="1")
    assert team.get(API).status_code == 401
    assert len(submissions_of(work.ledger, "news")) == 1


def test_a_team_sees_only_its_own(work: BoardAtWork) -> None:
    one, other = work.team("One"), work.team("Other")
    identity = sent(one, "generator", "gen", outputs_of("gen")).json()["id"]
    assert one.get(f"{API}/{identity}").status_code == 200
    assert other.get(f"{API}/{identity}").status_code == 404
    assert other.get(API).json() == []
    browser = work.browser(work.link("Other"))
    assert browser.get(f"/boards/news/submissions/{identity}").status_code == 404
    assert work.browser().get(f"/boards/news/submissions/{identity}").status_code == 404
    assert browser.get("/owner/board/news").status_code == 404


def test_too_much_is_refused_before_it_is_read(work: BoardAtWork) -> None:
    team = work.team("A team")
    assert _status_of_a_promise(work, team.headers["Authorization"], 2**40) == 413
    assert work.browser().post("/boards/news/api", content=b"x" * (3 * 2**20)).status_code == 413
    many = {f"field{at}": "x" for at in range(40)}
    fields = {**many, "kind": "generator", "name": "gen"}
    assert team.post(API, data=fields, files={"file": b"x"}).status_code == 400
    several = [("file", b"x"), ("file", b"y")]
    assert team.post(API, data={"kind": "generator"}, files=several).status_code == 400
    assert team.post(API, data={"kind": "generator", "name": "gen"}).status_code == 400
    assert team.post(API, content=b"{}").status_code == 400
    assert kept_files(work) == []


def _status_of_a_promise(work: BoardAtWork, authorization: str, size: int) -> int:
    """The status of a request that says it is so large, of which nothing is sent."""
    host, port = work.served.address.removeprefix("http://").split(":")
    head = f"POST {API} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {authorization}\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
        return int(connection.recv(4096).split()[1])


def test_a_budget_for_each_team_and_month(work: BoardAtWork) -> None:
    work.does("rules", readers="public", budget="2", programs="on")
    team = work.team("A team")
    for name in ("one", "two"):
        assert sent(team, "generator", name, outputs_of(name)).status_code == 201
    third = sent(team, "generator", "three", outputs_of("three"))
    assert third.status_code == 400
    assert tells(third.json()["error"], "2 submissions", "this month")
    assert sent(work.team("Other"), "generator", "x", outputs_of("x")).status_code == 201
    earlier = update(tables.submissions).values(made=time.time() - 40 * 86_400)
    work.ledger.writes(lambda connection: connection.execute(earlier))
    renewed = work.team("A team")  # a new token is no new budget, the next month is
    assert sent(renewed, "generator", "three", outputs_of("three")).status_code == 201


def test_a_name_that_waits_is_taken(work: BoardAtWork) -> None:
    assert sent(work.team("One"), "generator", "gen", outputs_of("gen")).status_code == 201
    reply = sent(work.team("Other"), "generator", "gen", outputs_of("gen"))
    assert tells(reply.json()["error"], "'gen' is submitted already")


def test_programs_are_refused_where_nothing_isolates_them(
    work: BoardAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_network = "network: open; this system offers no way to close it"
    monkeypatch.setattr(isolation, "protections", lambda: (open_network,))
    team = work.team("A team")
    reply = sent(team, "metric-program", "length", LENGTH.encode())
    assert reply.status_code == 400
    assert tells(reply.json()["error"], "cannot be isolated", open_network, "table of scores")
    assert sent(team, "metric-scores", "mine", scores_of(work.folder)).status_code == 201


def test_an_owner_may_want_no_programs(work: BoardAtWork) -> None:
    work.does("rules", readers="public", budget="5")
    reply = sent(work.team("A team"), "metric-program", "length", LENGTH.encode())
    assert tells(reply.json()["error"], "takes no programs")


# ---------------------------------------------------------------- the owner


@pytest.mark.slow
def test_the_owner_accepts_refuses_and_withdraws(work: BoardAtWork) -> None:
    work.does("rules", readers="public", budget="9", moderated="on")
    team = work.team("A team")
    one, two = (sent(team, "generator", name, outputs_of(name)).json() for name in ("one", "two"))
    assert one["state"] == "waiting"
    work.works()
    assert names_on(work.folder) == ["news"]
    work.does("accept", submission=one["id"])
    work.does("accept", submission=one["id"])  # pressed twice
    work.does("refuse", submission=two["id"], reason="too long")
    work.does("accept", submission=two["id"])  # too late
    work.works()
    assert names_on(work.folder).count("one") == 1
    assert "two" not in names_on(work.folder)
    refused = team.get(f"{API}/{two['id']}").json()
    assert refused["state"] == "refused"
    assert tells(refused["log"], "refused it", "too long")
    work.does("withdraw", submission=one["id"])
    work.works()
    history = metal.billboard_history(work.folder)
    assert list(history["what"])[-1] == "withdrawn"
    assert team.get(f"{API}/{one['id']}").json()["state"] == "withdrawn"
    assert "one" in names_on(work.folder)  # the history keeps it


def test_only_the_owner_changes_a_board(work: BoardAtWork) -> None:
    identity = sent(work.team("A team"), "generator", "one", outputs_of("one")).json()["id"]
    browser = work.browser(work.link("A team"))
    for what in ("rules", "team", "viewer", "withdraw", "accept", "study"):
        for client in (browser, work.browser()):
            fields = {"submission": identity, "team": "x", "readers": "public"}
            assert client.post(f"/owner/board/news/{what}", data=fields).status_code == 404
    forged = work.owner.post("/owner/board/news/rules", data={"readers": "public", "csrf": "x"})
    assert forged.status_code == 400
    assert work.does("nothing").status_code == 400


@pytest.mark.parametrize(
    ("kind", "content"),
    [("generator", outputs_of("mine")), ("metric-program", LENGTH.encode())],
    ids=["generator", "metric-program"],
)
def test_what_is_withdrawn_leaves_no_file_and_every_version_as_it_was(
    work: BoardAtWork, kind: str, content: bytes
) -> None:
    team = work.team("A team")
    reply = sent(team, kind, "mine", content, description="Ours, please keep it.")
    identity = reply.json()["id"]
    assert len(kept_files(work)) == 1
    work.works()
    assert kept_files(work) == []  # the board has its own copy
    version = int(team.get(f"{API}/{identity}").json()["version"])
    addresses = [f"/boards/news/billboard?at={at}" for at in range(1, version + 1)]
    reader = work.browser()
    for address in addresses:  # earlier versions are made when somebody asks
        reader.get(address)
    work.works()
    before = [reader.get(address).content for address in addresses]
    on_disk = {
        path: path.read_bytes()
        for path in (work.folder / "board").rglob("*")
        if path.is_file() and path.name != "history.jsonl"
    }
    history = (work.folder / "board" / "history.jsonl").read_bytes()
    work.does("withdraw", submission=identity)
    work.works()
    for address in addresses:
        reader.get(address)
    work.works()
    assert [reader.get(address).content for address in addresses] == before
    assert {path: path.read_bytes() for path in on_disk} == on_disk
    assert (work.folder / "board" / "history.jsonl").read_bytes().startswith(history)
    record = team.get(f"{API}/{identity}").json()
    assert (record["state"], record["description"]) == ("withdrawn", "")
    page = work.browser(work.link("A team")).get(f"/boards/news/submissions/{identity}").text
    assert tells(page, "never change", "were deleted")


def test_the_files_of_what_failed_or_was_refused_are_deleted(work: BoardAtWork) -> None:
    work.does("rules", readers="public", budget="9", moderated="on", programs="on")
    team = work.team("A team")
    wrong = b"def score(output):\n    raise ValueError(output)\n"
    failed = sent(team, "metric-program", "wrong", wrong).json()["id"]
    refused = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]
    sent(team, "generator", "waits", outputs_of("waits")).raise_for_status()
    work.does("accept", submission=failed)
    work.does("refuse", submission=refused)
    work.works()
    assert team.get(f"{API}/{failed}").json()["state"] == "failed"
    assert len(kept_files(work)) == 1  # what waits is needed


def test_a_team_leaves(work: BoardAtWork) -> None:
    team, other = work.team("A team"), work.team("Other")
    sent(team, "generator", "joined", outputs_of("joined")).raise_for_status()
    work.works()
    work.does("rules", readers="public", budget="9", moderated="on")
    sent(team, "generator", "waits", outputs_of("waits")).raise_for_status()
    sent(other, "generator", "theirs", outputs_of("theirs")).raise_for_status()
    key = next(each.team for each in submissions_of(work.ledger, "news") if each.by == "A team")
    work.does("dismiss", team=str(key))
    work.works()
    assert team.get(API).status_code == 401
    states = {each.name: each.state for each in submissions_of(work.ledger, "news")}
    assert states == {"joined": "joined", "waits": "refused", "theirs": "waiting"}
    assert "joined" in work.browser().get("/boards/news").text
    assert len(kept_files(work)) == 1
    assert tells(work.owner.get("/owner/board/news").text, "team left")


def test_files_of_an_upload_that_a_killed_server_took_in_are_deleted_later(
    work: BoardAtWork,
) -> None:
    arriving, left = (work.root / ".metal-serve" / "submissions" / name for name in ("a", "b"))
    for folder in (arriving, left):
        folder.mkdir(parents=True)
        (folder / "outputs.jsonl").write_bytes(b"half")
    os.utime(left, (0, 0))
    work.works()
    assert (arriving.exists(), left.exists()) == (True, False)


# ---------------------------------------------------------------- workers that die


def test_what_a_killed_worker_left_runs_again_once(work: BoardAtWork) -> None:
    team = work.team("A team")
    identity = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]
    assert claim(work.ledger, "killed", lease=-1)
    work.works()
    assert team.get(f"{API}/{identity}").json()["state"] == "joined"
    other = sent(team, "generator", "other", outputs_of("other")).json()["id"]
    for _ in range(2):
        assert claim(work.ledger, "killed", lease=-1)
    work.works()
    record = team.get(f"{API}/{other}").json()
    assert record["state"] == "failed"
    assert tells(record["log"], "the worker ended twice")


def test_a_job_that_is_at_work_is_not_taken(work: BoardAtWork) -> None:
    sent(work.team("A team"), "generator", "gen", outputs_of("gen"))
    assert claim(work.ledger, "one")
    assert claim(work.ledger, "other") is None


def test_nothing_joins_twice(work: BoardAtWork, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker is killed after the board was written, before the ledger."""
    team = work.team("A team")
    identity = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]
    job = claim(work.ledger, "killed", lease=-1)
    assert job

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(submissions, "_note_joined", killed)
        with pytest.raises(KeyboardInterrupt):
            run_submission(work.ledger, Path(), job)
    assert team.get(f"{API}/{identity}").json()["state"] == "running"
    versions = len(names_on(work.folder))
    work.works()
    assert len(names_on(work.folder)) == versions
    record = team.get(f"{API}/{identity}").json()
    assert record["state"] == "joined"
    assert record["version"] == names_on(work.folder).index("gen") + 1
    # and where two run at once, the second finds it on the board
    assert run_submission(work.ledger, Path(), replace(job, tries=2)) == ""
    assert len(names_on(work.folder)) == versions


def test_a_defect_ends_a_submission_and_not_the_worker(
    work: BoardAtWork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = work.team("A team")
    identity = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]

    def broken(*_: object) -> None:
        raise RuntimeError("the secret of a text")

    with monkeypatch.context() as patched:
        patched.setattr(submissions, "_join", broken)
        work.works()
    record = team.get(f"{API}/{identity}").json()
    assert record["state"] == "failed"
    assert not tells(record["log"], "secret")
    assert "RuntimeError" in capsys.readouterr().err
    assert BoardWorker(work.ledger, Path()).look() is False


# ---------------------------------------------------------------- with METAL, and for programs


def test_metal_submit_sends_to_a_server(work: BoardAtWork, monkeypatch: pytest.MonkeyPatch) -> None:
    token = work.team("A team").headers["Authorization"].split()[1]
    monkeypatch.setenv("METAL_TOKEN", token)
    file = work.root / "mine.jsonl"
    file.write_bytes(outputs_of("mine"))
    asked = []

    def working(_: float) -> None:
        asked.append("again")
        work.works()

    monkeypatch.setattr("metal.questions.board.verb_sent.time.sleep", working)
    server = work.served.address
    from metal.questions.board.verb_sent import send

    result = send(server, "news", "generator", file, "mine", {}, pause=working)
    assert asked
    assert names_on(work.folder)[result.version - 1] == "mine"
    assert tells(result.lines, "12 outputs")
    with pytest.raises(UsageError) as again:
        metal.submit_generator("news", file, name="mine", to=server)
    assert tells(str(again.value), "'mine' is on the board")
    work.does("rules", readers="public", budget="9", moderated="on")
    waits = metal.submit_generator("news", file, name="later", to=f"{server}/")
    assert tells(waits.lines, "waits for", "owner")
    assert waits.ranked is None


GIVEN = "source,near,far\n" + "".join(f"s{at},{at / 7!r},{-at}\n" for at in range(SOURCES))


def scored(folder: Path, generator: str) -> dict[tuple[str, str], float]:
    """What metrics gave a generator's outputs: (output, metric) -> score."""
    board = with_submissions(load_dataset(folder), folder)
    rows = board.ratings[board.ratings["generator"].astype(str) == generator]
    kept = rows.astype({"output": str, "rater": str}).itertuples()
    return {(row.output, row.rater): row.score for row in kept}


def test_scores_of_a_generator_by_metrics_that_cannot_run_there(
    work: BoardAtWork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, in the browser, and by the command in other formats: as on one's own disk."""
    local = tmp_path / "local"
    shutil.copytree(work.folder, local)
    outputs, scores = tmp_path / "mine.jsonl", tmp_path / "given.csv"
    outputs.write_bytes(outputs_of("mine"))
    scores.write_text(GIVEN)
    metal.submit_generator(local, outputs, name="mine", family="gpt", scores=scores)
    expected = scored(local, "mine")
    assert len(expected) >= 2 * SOURCES

    team = work.team("A team")
    files = {"file": outputs_of("mine"), "scores": GIVEN.encode()}
    fields = {"kind": "generator", "name": "mine", "family": "gpt"}
    reply = team.post(API, data=fields, files=files)
    assert reply.status_code == 201
    assert tells(reply.json()["log"], "near: as given, 12 scored")
    work.works()
    assert scored(work.folder, "mine") == expected
    (entry,) = (row for row in metal.billboard_history(work.folder).to_dict("records")
                if row["name"] == "mine")  # fmt: skip
    assert entry["about"]["scores_given"] == ["near", "far"]
    assert entry["about"]["generator"] == {"family": "gpt"}
    assert kept_files(work) == []

    browser = work.browser(work.link("A team"))
    page = browser.get("/boards/news").text
    assert 'name="scores"' in page
    token = page.split('name="csrf" value="')[1].split('"')[0]
    fields = {"csrf": token, "kind": "generator", "name": "form", "direction": "", "family": ""}
    files = {"file": outputs_of("form"), "scores": GIVEN.encode()}
    assert browser.post("/boards/news/submissions", data=fields, files=files).status_code == 200
    nothing_chosen = {"file": ("o", outputs_of("plain")), "scores": ("", b"")}
    fields["name"] = "plain"
    reply = browser.post("/boards/news/submissions", data=fields, files=nothing_chosen)
    assert tells(reply.text, "It waits for a worker.")

    frame = pd.read_csv(scores)
    frame.to_csv(tmp_path / "given.tsv", sep="\t", index=False)
    pd.DataFrame([json.loads(line) for line in outputs_of("sent").splitlines()]).to_parquet(
        tmp_path / "mine.parquet"
    )
    monkeypatch.setenv("METAL_TOKEN", work.team("A team").headers["Authorization"].split()[1])
    work.does("rules", readers="public", budget="9", moderated="on")
    sent_by_command = metal.submit_generator(
        "news",
        tmp_path / "mine.parquet",
        name="sent",
        scores=tmp_path / "given.tsv",
        to=work.served.address,
    )
    assert tells(sent_by_command.lines, "12 outputs")
    assert tells(sent_by_command.lines, "far: as given")
    work.does("accept", submission=submissions_of(work.ledger, "news")[0].id)
    work.works()
    for name in ("form", "sent"):
        same = {(output.replace("mine", name), rater): score
                for (output, rater), score in expected.items()}  # fmt: skip
        given = {key: score for key, score in scored(work.folder, name).items()
                 if key[1] in ("near", "far")}  # fmt: skip
        assert given == {key: score for key, score in same.items() if key[1] in ("near", "far")}
    assert ("plain" in names_on(work.folder), "sent" in names_on(work.folder)) == (True, True)


@pytest.mark.parametrize(
    ("kind", "files", "facts"),
    [
        ("generator", [("scores", b"source,nobody\ns0,1\n")], ["nobody"]),
        ("generator", [("scores", b"source,near\ns99,1\n")], ["s99", "not a source"]),
        ("generator", [("scores", b"source,near\ns0,1\ns0,2\n")], ["more than once"]),
        ("generator", [("scores", b"source,near\ns0,much\n")], ["much"]),
        ("generator", [("scores", b"near\n1\n")], ["no scores by metrics"]),
        ("generator", [("scores", b"\x00\xff" * 99)], ["given-scores.csv"]),
        ("generator", [("scores", b"")], ["empty"]),
        ("generator", [("scores", GIVEN.encode()), ("scores", b"x")], ["Too many files"]),
        ("generator", [("other", GIVEN.encode())], ["one `file`"]),
        ("metric-scores", [("scores", GIVEN.encode())], ["go with a generator"]),
    ],
)
def test_scores_that_cannot_be_taken_are_refused_with_the_outputs(
    work: BoardAtWork, kind: str, files: list[tuple[str, bytes]], facts: list[str]
) -> None:
    several = [("file", ("f", outputs_of("new")))]
    several += [(name, ("s", content)) for name, content in files]
    reply = work.team("A team").post(API, data={"kind": kind, "name": "new"}, files=several)
    assert reply.status_code == 400
    assert tells(reply.json()["error"], *facts), reply.text
    assert str(work.root) not in reply.text
    assert kept_files(work) == []
    assert submissions_of(work.ledger, "news") == []


@pytest.mark.parametrize(
    ("to", "token", "facts"),
    [
        ("http://board.example.org", "x", ["unprotected", "https://"]),
        ("board.example.org", "x", ["no address", "https://"]),
        ("file:///etc/passwd", "x", ["no address"]),
        ("https://board.example.org", "", ["METAL_TOKEN"]),
        ("http://127.0.0.1:9", "x", ["cannot be reached"]),
    ],
)
def test_servers_that_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, token: str, facts: list[str]
) -> None:
    monkeypatch.setenv("METAL_TOKEN", token)
    file = tmp_path / "mine.jsonl"
    file.write_bytes(outputs_of("mine"))
    with pytest.raises(UsageError) as refusal:
        metal.submit_generator("news", file, name="mine", to=to)
    assert tells(str(refusal.value), *facts)


def test_check_writes_nothing(work: BoardAtWork) -> None:
    file = work.root / "mine.jsonl"
    file.write_bytes(outputs_of("mine"))
    result = metal.submit_generator(work.folder, file, name="mine", check=True)
    assert (result.version, result.lines[0]) == (1, "12 outputs")
    assert names_on(work.folder) == ["news"]


def test_the_api_describes_itself(work: BoardAtWork) -> None:
    reader = work.browser()
    described = reader.get("/boards/news/api/openapi.json").json()
    form = described["paths"]["/api/submissions"]["post"]["requestBody"]["content"]
    fields = form["multipart/form-data"]["schema"]["properties"]
    assert fields["kind"]["enum"] == ["generator", "metric-scores", "metric-program"]
    page = reader.get("/boards/news/api").text
    assert all(f"<code>{field}</code>" in page for field in fields)
    record = sent(work.team("A team"), "generator", "gen", outputs_of("gen")).json()
    operation = described["paths"]["/api/submissions/{submission}"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert record.keys() == schema["properties"].keys()
    assert json.dumps(described)


# ---------------------------------------------------------------- people rate what joined


@pytest.mark.slow
def test_a_generator_is_submitted_rated_and_on_the_leaderboard(work: BoardAtWork) -> None:
    """GENIE's loop, over HTTP from the first file to the interval."""
    team = work.team("A team")
    identity = sent(team, "generator", "gen", outputs_of("gen")).json()["id"]
    assert work.does("study", submission=identity).status_code == 400  # it has not joined yet
    work.works()
    study = work.does("study", submission=identity, raters="3")
    assert study.status_code == 200
    name = study.url.path.rpartition("/")[2]
    table = "/boards/news/tables/leaderboard.csv"
    assert "gen," not in work.browser().get(table).text
    token = study.text.split('name="csrf" value="')[1].split('"')[0]
    fields = {"csrf": token, "number": "3", "language": "en"}
    page = work.owner.post(f"/owner/study/{name}/people", data=fields).text
    links = dict.fromkeys(re.findall(r'href="(http[^"]+/r/[^"]+)"', page))
    assert len(links) == 3
    for link in links:
        person = Person(work.served.address)
        person.get(link)
        assert len(rate(person, name)) == SOURCES  # only what was submitted
        person.client.close()
    keep(work.ledger, Forms(work.ledger), work.root, study_of(work.ledger, name))
    work.works()
    board = work.browser().get("/boards/news").text
    row = re.search(r'<th scope="row">gen</th><td>([^<]+)</td><td>([^<]+)</td><td>([^<]+)<', board)
    assert row
    ranks, score, interval = row.groups()
    low, high = map(float, interval.split(" to "))
    assert low < float(score) < high
    assert ranks[0] in "1234"
    assert "ratings" in list(metal.billboard_history(work.folder)["what"])

    rater = people_of(work.ledger, name)[0]
    of_study = study_of(work.ledger, name)
    set_aside(work.ledger, of_study, rater, WITHDRAWN)
    assert let_go(work.ledger, work.root, of_study) == 1
    left = with_submissions(load_dataset(work.folder), work.folder).ratings
    assert rater.name not in set(left["rater"].astype(str))
    assert people_of(work.ledger, name)[1].name in set(left["rater"].astype(str))


@pytest.mark.slow
def test_only_generators_on_the_board_are_sent_to_people(work: BoardAtWork) -> None:
    team = work.team("A team")
    identity = sent(team, "metric-scores", "mine", scores_of(work.folder)).json()["id"]
    work.works()
    reply = work.does("study", submission=identity)
    assert tells(reply.text, "mine", "not a generator", "board")
    assert work.does("study", submission="x").status_code == 404


# ---------------------------------------------------------------- the database


@pytest.mark.slow
def test_both_databases(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with board_at_work(tmp_path, database) as work:
        work.opens(readers="link", moderated="on")
        team = work.team("A team")
        scores = scores_of(work.folder)
        one, two = (sent(team, "metric-scores", name, scores).json() for name in ("one", "two"))
        assert sent(team, "metric-scores", "one", scores).status_code == 400
        work.does("accept", submission=one["id"])
        work.does("refuse", submission=two["id"])
        assert claim(work.ledger, "killed", lease=-1)
        work.works()
        states = {each["name"]: each["state"] for each in team.get(API).json()}
        assert states == {"one": "joined", "two": "refused"}
        assert team.get("/boards/news/api").status_code == 404  # a token opens no page
        work.does("withdraw", submission=one["id"])
        work.works()
        assert team.get(f"{API}/{one['id']}").json()["state"] == "withdrawn"
        assert list(metal.billboard_history(work.folder)["what"])[-1] == "withdrawn"


def test_a_body_that_is_longer_than_it_says_is_not_kept(
    work: BoardAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.serving.server.LARGEST_SUBMISSION", 2**20)
    team = work.team("A team")
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'

    def body() -> Iterator[bytes]:
        yield head
        for _ in range(40):
            yield b"x" * 2**16

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    assert team.post(API, content=body(), headers=headers).status_code == 413
    assert kept_files(work) == []
