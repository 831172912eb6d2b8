"""The page of a judges' run at work, with a real server of a model and a judge in another
process.
"""

from __future__ import annotations

import json
import signal
import subprocess
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metal.app.library import Library
from metal.app.live import LiveRun, figure_rows
from metal.app.server import View
from metal.data.at_work import WORKER
from tests.app.shop import KEY, SIZES, Shop, check_looks, listened, until
from tests.app.test_guard import asked
from tests.llm_server import Fault, when_prompt_has
from tests.saying import tells


@pytest.mark.slow
def test_a_run_of_another_terminal_is_shown_and_stopped_and_resumed(shop: Shop) -> None:
    shop.server.held_from = 21
    process = shop.judge()
    until(lambda: "<dd>20 " in shop.page() if shop.run.exists() else False)
    text = shop.page()
    assert tells(text, "At work", "20", "of 60", "Task quality", "20", "Good", "people:")
    assert 'http-equiv="refresh"' in text
    assert "http-equiv" not in shop.page("live/runs/j?still")
    assert asked(shop.view, "run/runs/j")[0] == 303
    assert asked(shop.view, "live-stop/runs/j")[0] == 405  # reading stops nothing
    assert asked(shop.view, "live-stop/runs/j", "POST", origin="http://evil.example")[0] == 403
    assert process.poll() is None
    assert asked(shop.view, "live-stop/runs/j", "POST")[0] == 303
    until(lambda: "Stopping" in shop.page())
    shop.server.release()
    assert process.wait(120) == 130
    done = shop.server.completed
    text = shop.page()
    assert tells(text, f"Stopped, {done} answers kept", "Resume", "metal judge --resume=runs/j")
    assert asked(shop.view, "live-resume/runs/j", "POST")[0] == 303
    until(lambda: "Finished" in shop.page())
    assert shop.server.completed == 60  # nothing was asked twice
    text = shop.page()
    assert f'href="{shop.view.address.split("/", 3)[3]}' not in text  # addresses are of this host
    assert "answers/runs/j" in text
    assert KEY not in text


@pytest.mark.slow
def test_a_judge_that_is_killed_has_stopped_and_pays_for_nothing_twice(
    shop: Shop, browser: Any
) -> None:
    shop.server.held_from = 25
    process = shop.judge()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    until(lambda: "<dd>24 " in shop.page() if shop.run.exists() else False)
    page.goto(f"{shop.view.address}live/runs/j")
    page.get_by_role("heading", name="At work").wait_for()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (shop.run / WORKER).exists()
    page.get_by_role("heading", name="Stopped, 24 answers kept").wait_for()  # without a reload
    shop.server.release()
    until(lambda: not shop.server.in_flight)
    before = shop.server.completed
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("heading", name="Finished").wait_for(timeout=60_000)
    assert shop.server.completed - before == 60 - 24  # those in flight were lost
    page.get_by_role("link", name="See the answers").click()
    page.get_by_role("heading", name="Answers").wait_for()
    page.close()


def test_another_process_with_the_number_is_not_stopped(shop: Shop) -> None:
    shop.server.held_from = 5
    process = shop.judge()
    until((shop.run / WORKER).exists)
    until(lambda: shop.server.requests >= 5)
    with subprocess.Popen(["sleep", "600"]) as other:
        note = json.loads((shop.run / WORKER).read_text())
        (shop.run / WORKER).write_text(json.dumps(note | {"pid": other.pid}))
        assert tells(shop.page(), "At work", "Ctrl-C")
        assert "live-stop" not in shop.page()
        asked(shop.view, "live-stop/runs/j", "POST")
        assert (process.poll(), other.poll()) == (None, None)
        other.kill()


def test_failures_have_their_cause_and_hostile_words_stay_words(shop: Shop) -> None:
    hostile = "<img src=x onerror=alert(1)> \u202e{{ 7*7 }} no such deployment"
    shop.server.faults = when_prompt_has("a", Fault("400", text=hostile))
    process = shop.judge()
    process.wait(120)
    shop.server.faults = None
    shop.judge("--limit", "3", "--force").wait(120)
    journal = (shop.run / "journal.jsonl").read_text().splitlines()
    failed = json.loads(journal[0]) | {"kind": "failed", "why": "rejected", "said": hostile}
    for name in ("text", "reply", "seconds"):
        failed.pop(name)
    key = "f" * len(failed["key"])
    line = json.dumps({"key": key, "kind": "failed", **failed, "kind": "failed", "key": key})  # noqa: F601
    with (shop.run / "journal.jsonl").open("a") as file:
        file.write(line.replace(": ", ":").replace(', "kind"', ',"kind"') + "\n")
    text = shop.page()
    assert tells(text, "What went wrong", "1 failed calls", "rejected", "no such deployment")
    assert "<img" not in text
    assert "\u202e" not in text
    assert "49" not in text.split("What went wrong")[1][:400]


def test_a_long_journal_is_counted_before_its_answers_are_read(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.app.live.LOOK", -1.0)  # a look reads a piece, and no answer
    live = LiveRun.of(Library(shelf), shelf / "runs" / "judged")
    progress = live.look()
    assert live.figures
    assert (progress.done, len(live.unread)) == (progress.total, progress.done)
    assert live.figures.counts == {}
    monkeypatch.setattr("metal.app.live.LOOK", 60.0)
    live.unread.append({"output": [], "prompt": {}})  # of a damaged line
    live.look()
    assert not live.unread
    counted = sum(each.scores.total() for each in live.figures.counts.values())
    assert counted == progress.total


def test_runs_that_ask_nothing_have_no_progress(shop: Shop, view: View) -> None:
    status, text, _ = asked(view, "live/runs/audit")
    assert status == 404
    assert tells(text, "audit", "asks")
    assert asked(view, "live/runs/nothing")[0] == 404
    assert asked(view, "live-events/runs/audit")[0] == 404
    assert asked(view, "live-resume/runs/audit", "POST")[0] == 404


@pytest.mark.slow
def test_the_page_changes_by_itself_and_fits(shop: Shop, browser: Any) -> None:
    shop.server.held_from = 11
    shop.judge()
    until(lambda: "<dd>10 " in shop.page() if shop.run.exists() else False)
    for width, scheme in product(SIZES, ("light", "dark")):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        complaints = listened(page)
        page.goto(f"{shop.view.address}live/runs/j")
        page.get_by_role("heading", name="First figures").wait_for()
        check_looks(page, width)
        assert complaints == []
        page.close()
    page = browser.new_page()
    page.goto(f"{shop.view.address}live/runs/j")
    page.locator("dd", has_text="10 of 60").wait_for()
    shop.server.release()
    page.get_by_role("heading", name="Finished").wait_for(timeout=60_000)
    page.locator("dd", has_text="60 of 60").wait_for()
    page.close()


@pytest.mark.slow
def test_without_script_the_page_says_all_and_reloads(shop: Shop, browser: Any) -> None:
    shop.server.held_from = 11
    process = shop.judge()
    until(lambda: "<dd>10 " in shop.page() if shop.run.exists() else False)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{shop.view.address}live/runs/j")
    assert "At work" in page.content()
    shop.server.release()
    assert process.wait(120) == 0
    page.get_by_role("heading", name="Finished").wait_for(timeout=60_000)  # it reloads by itself
    page.get_by_role("link", name="See the answers").click()
    context.close()


def test_equal_scores_are_counted_on_levels_only(shelf: Path) -> None:
    live = LiveRun.of(Library(shelf), shelf / "runs" / "judged")
    live.look()
    while live.unread:  # a look takes a moment only, and reads what it can
        live.look()
    assert live.figures
    rows, _ = figure_rows(live.figures)
    assert {bool(row.levels) for row in rows} == {True, False}
    for row in rows:
        assert bool(row.same) == bool(row.levels)
        assert row.outputs


@pytest.mark.parametrize(
    ("recorded", "typed", "option"),
    [(3.0, "", "--max-cost=inf"), (3.0, "2.5", "--max-cost=2.5"), (None, "", "")],
)
def test_an_emptied_limit_is_no_limit(
    tmp_path: Path, recorded: float | None, typed: str, option: str
) -> None:
    """Without an option, the command would keep the limit that the run has."""
    limit = "" if recorded is None else f"max_cost = {recorded}"
    settings = f'dataset = "gone"\n{limit}\n[settings.identities]'
    (tmp_path / "run.toml").write_text(f'command = "generate"\n[settings]\n{settings}\n')
    commands: list[list[str]] = []
    jobs = SimpleNamespace(root=tmp_path.parent, start=commands.append)
    LiveRun.of(Library(tmp_path), tmp_path).resume(cast(Any, jobs), typed)
    assert commands[0][:3] == ["generate", f"--resume={tmp_path.name}", "--yes"]
    assert "".join(commands[0][3:]) == option
