"""`metal judge` as people run it: processes against a local server, killed, interrupted, resumed,
refused.
"""

from __future__ import annotations

import json
import math
import os
import pty
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from metal.data.dataset import Card, assemble, save_dataset
from metal.data.dataset_lines import read_raters
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from tests import DEMO
from tests.cli.forks import SLOWEST, Killer, Metal, Started, by_itself, environment
from tests.cli.runs import KEY, records, snapshot, until
from tests.conftest import TASK_QUALITY
from tests.llm_server import (
    Fault,
    LlmServer,
    always,
    prompt_digest,
    random_faults,
    rejects_parameters,
)
from tests.saying import tells

OUTPUTS = 80  # of the demo
SMALL = ("-l", "en,fr", "-c", "task_quality")  # 16 calls
RATES = {"429": 0.05, "500": 0.03, "503": 0.02, "drop": 0.02, "drop_mid_body": 0.02, "502": 0.01}


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        server.answer = lambda prompt, body: json.dumps(
            {"score": 1, "justification": f"<{prompt_digest(prompt)}>"}
        )
        yield server


def answered(run: Path) -> list[str]:
    """The digest of each answered prompt, from the answer itself."""
    return [
        record["text"].split("<")[1].split(">")[0]
        for record in records(run)
        if "<" in record.get("text", "")
    ]


def ratings(run: Path) -> pd.DataFrame:
    return pd.read_parquet(run / "ratings.parquet")


# ---------------------------------------------------------------- a whole run


def test_a_run_and_its_audit(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    done = metal(
        "judge", DEMO, "-j", "openai:gpt-4o,openai:gpt-4o-mini", "-p", "simple,detailed", *SMALL
    )
    run = tmp_path / "runs" / "demo-judges"
    assert llm_server.requests == 64
    assert set(llm_server.counts.values()) == {2}  # each prompt by two models
    table = ratings(run)
    assert len(table) == 64
    assert table.groupby("rater", observed=True).size().to_dict() == {
        f"openai:{model}/{prompt}": 16
        for model in ("gpt-4o", "gpt-4o-mini")
        for prompt in ("simple", "detailed")
    }
    assert table["score"].notna().all()
    assert "64 ratings in runs/demo-judges" in done.said
    assert "Next: metal audit" in done.said
    assert max(map(len, done.out.split("64 ratings")[0].splitlines())) <= 80
    assert done.err == ""
    about = tomllib.loads((run / "run.toml").read_text())
    assert about["settings"]["state"] == {"ratings": 64, "not_asked": 0, "complete": True}
    assert not [path for path in run.iterdir() if path.suffix == ".part"]
    audit = metal("audit", DEMO, run, *SMALL, "--resamples", "100", "--out", "audit")
    assert "openai:gpt-4o" in audit.said
    assert (tmp_path / "audit" / "report" / "report.html").is_file() or list(
        (tmp_path / "audit").rglob("*.html")
    )
    again = metal(
        "judge", DEMO, "-j", "openai:gpt-4o,openai:gpt-4o-mini", "-p", "simple,detailed", *SMALL
    )
    assert llm_server.requests == 64
    assert "64 ratings" in again.said
    assert tells(again.said, "metal judge --resume", "runs/demo-judges", "--judge NAME")
    metal("judge", "--resume", run)
    assert llm_server.requests == 64


@pytest.mark.slow
def test_a_process_of_its_own_leaves_nothing_on_standard_error(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    """Not a fork: unclosed sessions and coroutines that were never awaited would show here."""
    env = environment(
        tmp_path, OPENAI_BASE_URL=llm_server.openai_url, OPENAI_API_KEY=KEY, PYTHONDEVMODE="1",
        GEMINI_API_KEY=KEY,
        GOOGLE_GEMINI_BASE_URL=llm_server.url, PYTHONWARNINGS="ignore::DeprecationWarning",
    )  # fmt: skip
    done = by_itself(
        "judge", DEMO, *SMALL, "-j", "openai:gpt-4o,gemini:gemini-2.5-pro", cwd=tmp_path, env=env
    )
    assert done.code == 0, done.err
    assert "nclosed" not in done.err
    assert "never awaited" not in done.err
    assert "Traceback" not in done.err
    assert len(ratings(tmp_path / "runs" / "demo-judges")) == 32


@pytest.mark.slow
def test_baselines_beside_llm_judges(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    metal("judge", DEMO, "-j", "majority,openai:gpt-4o,lexical", *SMALL, "--out", "r")
    assert llm_server.requests == 16
    counts = ratings(tmp_path / "r").groupby("rater", observed=True).size().to_dict()
    assert counts["openai:gpt-4o/detailed"] == 16
    assert len(counts) >= 3
    assert set(counts.values()) == {16}
    metal("judge", DEMO, "-j", "majority", *SMALL, "--out", "b")
    assert llm_server.requests == 16
    # judges added to baselines
    metal("judge", DEMO, "-j", "majority,openai:gpt-4o,lexical", *SMALL, "--out", "b")
    assert llm_server.requests == 32


@pytest.mark.slow
def test_a_judge_is_added_without_naming_the_earlier_ones(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o,majority", *SMALL, "-p", "simple", "--out", "r")
    added = metal.refused(
        "judge", DEMO, "-j", "openai:gpt-4o-mini", *SMALL, "-p", "simple", "--out", "r"
    )
    assert (
        "begun with --judge 'openai:gpt-4o, majority'; `metal judge --resume r --judge"
        " openai:gpt-4o-mini`" in added
    )
    assert "keeps its dataset" in metal.refused(
        "judge", DEMO, "--resume", "r", "-j", "openai:gpt-4o-mini"
    )
    assert llm_server.requests == 16
    metal("judge", "--resume", "r", "-j", "openai:gpt-4o-mini")
    assert set(llm_server.counts.values()) == {2}  # 16 prompts, each asked once of each model
    raters = {"openai:gpt-4o/simple", "openai:gpt-4o-mini/simple", "majority"}
    assert ratings(tmp_path / "r").groupby(
        "rater", observed=True
    ).size().to_dict() == dict.fromkeys(raters, 16)
    asked = tomllib.loads((tmp_path / "r" / "run.toml").read_text())["settings"]["judges"]
    assert asked == ["openai:gpt-4o", "majority", "openai:gpt-4o-mini"]
    metal("judge", "--resume", "r", "-j", "majority")  # there already
    assert llm_server.requests == 32


def test_a_judge_of_judges_toml(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    url = llm_server.openai_url
    (tmp_path / "judges.toml").write_text(
        f'[judges.mine]\nmodel = "openai-compatible:qwen"\nbase_url = "{url}"\napi_key_env ='
        ' "MY_OWN"\ntemperature = 0.5\nparameters = { seed = 3 }\nheaders = { "X-Own" ='
        ' "$OWN_HEADER" }\nprice = { input = 1, output = 2 }\nconcurrency ='
        " 2\nrequests_per_minute = 6000\n"
    )
    metal.env |= {"MY_OWN": "another-canary-key-1", "OWN_HEADER": "header-canary-1"}
    llm_server.answer = lambda prompt, body: (
        '{"score": 1, "justification": "another-canary-key-1 header-canary-1"}'
    )
    metal("judge", DEMO, "-j", "mine", *SMALL, "--out", "r")
    assert llm_server.seen_headers["authorization"] == "Bearer another-canary-key-1"
    assert llm_server.seen_headers["x-own"] == "header-canary-1"
    assert (llm_server.bodies[-1]["temperature"], llm_server.bodies[-1]["seed"]) == (0.5, 3)
    assert llm_server.max_in_flight <= 2
    assert not [name for name, body in snapshot(tmp_path / "r").items() if b"canary" in body]
    (rater,) = read_raters(tmp_path / "r")
    tokens = [record["tokens"] for record in records(tmp_path / "r") if "text" in record]
    dollars = sum(tokens_in * 1 + tokens_out * 2 for tokens_in, tokens_out in tokens) / 1e6
    assert rater.about["dollars_per_thousand"] == pytest.approx(1000 * dollars / 16)
    (listed,) = json.loads(metal("ls", ".", "--json").out)
    assert (listed["state"], listed["cost"]) == ("finished", pytest.approx(dollars))


# ---------------------------------------------------------------- kill -9


@pytest.mark.slow
def test_killed_twenty_times(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    """Nothing that was on disk is asked again; nothing is missing in the end; little is paid for
    twice.
    """
    llm_server.latency_ms = 30
    rng, killer = random.Random(20), Killer()
    llm_server.faults = lambda call: killer.strikes() and None
    run, concurrency = tmp_path / "r", 4
    command = (
        "judge",
        DEMO,
        "-j",
        "openai:gpt-4o",
        "-p",
        "simple",
        "--concurrency",
        concurrency,
        "--out",
        run,
    )
    resume = ("judge", "--resume", run, "--concurrency", concurrency)
    lost = 0
    for number in range(20):
        known, seen, completed = set(answered(run)), len(llm_server.calls), llm_server.completed
        goal = rng.randint(2, 20)
        # it cannot end before the kill
        llm_server.held_from = llm_server.requests + goal + concurrency
        at_a_request = goal if number % 4 == 1 else 0
        begun = command if number % 2 or not (run / "run.toml").exists() else resume
        started = killer.start(metal, *begun, requests=at_a_request)
        if number % 4 > 1:  # when each reply that was sent is on disk, and so many are awaited
            until(lambda started=started: len(llm_server.held) == concurrency or started.over)
        if number % 4 != 1:  # else at once
            started.send(signal.SIGKILL)
        assert started.wait().code == -signal.SIGKILL
        llm_server.settle()
        llm_server.held.clear()
        asked = llm_server.calls[seen:]
        assert not known & {call.digest for call in asked}, (
            "asked again although its answer was on disk"
        )
        now = answered(run)
        assert len(now) == len(set(now))
        assert known <= set(now)
        unkept = (llm_server.completed - completed) - (len(now) - len(known))
        assert unkept <= (0 if number % 4 > 1 else concurrency)
        lost += unkept
    llm_server.held_from = math.inf
    done = metal("judge", "--resume", run)
    assert "400 ratings" in done.said
    final = answered(run)
    assert len(final) == len(set(final)) == 400
    assert llm_server.completed == 400 + lost
    table = ratings(run)
    assert len(table) == 400
    assert table["score"].notna().all()
    assert len(table[["output", "criterion"]].drop_duplicates()) == 400
    rows = {(row.output, row.criterion): row.comment for row in table.itertuples()}
    told = {(record["output"], record["criterion"]): record["text"] for record in records(run)}
    assert all(
        json.loads(told[place])["justification"] == comment for place, comment in rows.items()
    )


@pytest.mark.slow
@pytest.mark.reference
def test_new_judges_beside_a_released_one(
    reference: Path, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """PARIKSHA imported, judged through faults and a kill, resumed, audited."""
    calls = 2 * 30 * 3 * 2  # of two models: outputs, criteria, prompts
    metal.env |= {"GOOGLE_GEMINI_BASE_URL": llm_server.url, "GEMINI_API_KEY": KEY}
    llm_server.held_from = 200  # it cannot end before the kill
    llm_server.faults = random_faults(3, RATES, max_attempt=1, retry_after=0.1)
    metal("import", "pariksha", reference / "pariksha", "--out", "pariksha")
    run = tmp_path / "judges"
    command = (
        "judge",
        "pariksha",
        "-j",
        "openai:gpt-4o,gemini:gemini-2.5-pro",
        "-p",
        "simple,detailed",
    )
    started = metal.start(*command, "--sample", "30", "--concurrency", "4", "--out", run)
    until(lambda: llm_server.completed >= 60 or started.over)
    started.send(signal.SIGKILL)
    assert started.wait().code == -signal.SIGKILL
    assert 40 <= len(records(run)) < calls
    llm_server.release()
    done = metal("judge", "--resume", run, "--concurrency", "16")
    assert f"{calls} ratings" in done.said
    assert len(records(run)) == len({record["key"] for record in records(run)}) == calls
    assert llm_server.completed <= calls + 8  # those in flight at the kill
    assert len(ratings(run)) == calls
    assert ratings(run)["score"].notna().all()
    assert not [name for name, body in snapshot(run).items() if KEY.encode() in body]
    audit = metal("audit", "pariksha", run, "-l", "hi,ta", "--resamples", "100", "--out", "audit")
    names = {f"{model}/{prompt}" for model in ("openai:gpt-4o", "gemini:gemini-2.5-pro")
             for prompt in ("simple", "detailed")}  # fmt: skip
    board = pd.read_csv(next((tmp_path / "audit" / "tables").glob("judges*.csv")))
    assert names | {"gpt-4-32k/detailed"} <= set(board["judge"])
    assert "gpt-4-32k" in audit.said


def test_killed_before_the_run_has_a_manifest(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """A kill can leave the lock, and run.toml half-written under its other name."""
    run = tmp_path / "r"
    run.mkdir()
    (run / ".lock").touch()
    (run / ".run.toml.4194000.part").write_text("half")
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", run)
    assert len(ratings(run)) == 16


def test_files_a_kill_left_half_written_are_cleared(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "r")
    (tmp_path / "r" / ".ratings.parquet.4194000.part").write_bytes(b"half")
    metal("judge", "--resume", "r")
    assert sorted(path.name for path in (tmp_path / "r").iterdir() if path.name != ".lock") == [
        "journal.jsonl", "raters.jsonl", "ratings.parquet", "run.toml",
    ]  # fmt: skip


def test_a_damaged_journal_is_told(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "r")
    path = tmp_path / "r" / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"what is this\n", *lines[3:]]))
    assert "journal.jsonl line 4" in metal.refused("judge", "--resume", "r")
    path.write_bytes(b"".join([*lines[:3], lines[3][:60] + b"\n", *lines[4:]]))
    assert "journal.jsonl" in metal("judge", "--resume", "r", expect=2).err


# ---------------------------------------------------------------- two processes, Ctrl-C


def test_a_second_process_is_refused(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.held_from = 2
    command = ("judge", DEMO, "-j", "openai:gpt-4o", "--concurrency", "1", *SMALL, "--out", "r")
    first = metal.start(*command)
    until(lambda: records(tmp_path / "r"))
    for other in (command, ("judge", "--resume", "r")):
        assert "another `metal judge`" in metal.refused(*other)
    llm_server.release()
    assert first.wait().code == 0
    assert llm_server.requests == 16
    assert len(ratings(tmp_path / "r")) == 16


def under_way(metal: Metal, server: LlmServer, run: Path, *more: object) -> Started:
    """A run of 400 calls, some of them answered."""
    started = metal.start(
        "judge", DEMO, "-j", "openai:gpt-4o", "--concurrency", "4", "--out", run, *more
    )
    until(lambda: len(records(run)) >= 8 or started.over)
    return started


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_finishes_calls_in_flight(
    number: int, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.held_from = 9
    run = tmp_path / "r"
    started = under_way(metal, llm_server, run)
    until(lambda: llm_server.in_flight == 4 or started.over)
    started.send(number)
    until(lambda: "calls in flight" in started.files["err"].read_text() or started.over)
    llm_server.release()
    done = started.wait()
    assert done.code == 130
    assert "Traceback" not in done.err
    assert "calls in flight" in done.err
    assert f"metal judge --resume {run}" in done.said
    assert len(records(run)) == llm_server.requests == len(ratings(run)) == 12
    metal("judge", "--resume", run)
    assert llm_server.requests == len(ratings(run)) == 400


@pytest.mark.slow
def test_a_terminal_that_closes_costs_no_answer(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.latency_ms = 60
    run = tmp_path / "r"
    command = (
        "-m",
        "metal",
        "judge",
        DEMO,
        "-j",
        "openai:gpt-4o",
        "--concurrency",
        "4",
        "--yes",
        "--out",
        run,
    )
    process, terminal = pty.fork()
    if not process:
        # ignored where the tests were started with nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.chdir(metal.cwd)
        os.execve(sys.executable, [sys.executable, *map(str, command)], metal.env)
    until(lambda: (run / "journal.jsonl").is_file() and len(records(run)) >= 8)
    os.close(terminal)
    os.kill(process, signal.SIGHUP)  # as a shell does beside the kernel
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    assert len(records(run)) == llm_server.requests == len(ratings(run)) < 400


@pytest.mark.slow
def test_a_run_that_goes_on_keeps_its_concurrency(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.latency_ms = 5
    run = tmp_path / "r"
    metal("judge", DEMO, "-j", "openai:gpt-4o", "--concurrency", "3", "--limit", "30", "--out", run)
    for concurrency, more in ((3, ()), (5, ("--concurrency", "5")), (5, ())):
        llm_server.reset()
        llm_server.held_from = 2
        started = metal.start("judge", "--resume", run, "--limit", "30", *more)
        until(
            lambda most=concurrency, started=started: llm_server.in_flight >= most or started.over
        )
        llm_server.release()
        assert started.wait().code == 0
        assert llm_server.max_in_flight == concurrency


def test_a_second_ctrl_c_drops_calls_in_flight(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    run = tmp_path / "r"
    llm_server.faults = lambda call: Fault("hang") if call.number > 30 else None
    started = under_way(metal, llm_server, run)
    until(lambda: len(records(run)) == 30)
    started.send(signal.SIGINT)
    until(lambda: "calls in flight" in started.files["err"].read_text())
    time.sleep(0.2)
    assert not started.over
    started.send(signal.SIGINT)
    done = started.wait()
    assert done.code == 130
    assert "Traceback" not in done.err
    assert "nclosed" not in done.err
    assert len(ratings(run)) == 30
    assert "--resume" in done.said


@pytest.mark.slow
def test_many_ctrl_c_end_without_a_traceback(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    run = tmp_path / "r"
    for pause in (0.0, 0.002, 0.01):
        last = llm_server.requests + 8  # to be answered
        llm_server.faults = lambda call, last=last: Fault("hang") if call.number > last else None
        started = under_way(metal, llm_server, run)
        until(lambda: llm_server.in_flight == 4)
        for _ in range(8):
            started.send(signal.SIGINT)
            time.sleep(pause)
        until(
            lambda started=started: (
                "calls in flight" in started.files["err"].read_text() or started.over
            )
        )
        started.send(signal.SIGINT)  # signals that come before the first was seen count as one
        done = started.wait()
        assert done.code == 130
        assert "Traceback" not in done.err
        assert "Error" not in done.err
        until(lambda: not llm_server.in_flight)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "settings"),
    [
        (Fault("429", retry_after=500.0), ""),
        (Fault("503", retry_after=500.0), ""),
        (None, "requests_per_minute = 2\n"),
    ],
    ids=["429", "503", "rate"],
)
def test_ctrl_c_while_all_wait(
    fault: Fault | None, settings: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(fault) if fault else None
    (tmp_path / "judges.toml").write_text(f'[judges.slow]\nmodel = "openai:gpt-4o"\n{settings}')
    started = metal.start("judge", DEMO, "-j", "slow", "--out", "r")
    until(lambda: llm_server.requests)
    time.sleep(0.3)
    started.send(signal.SIGINT)
    done = started.wait()
    assert done.code == 130
    assert "--resume r" in done.said


# ---------------------------------------------------------------- what is paid for


@pytest.mark.slow
def test_more_criteria_languages_and_prompts_pay_for_the_new_part(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    base = ("judge", DEMO, "-j", "openai:gpt-4o", "--out", "r")
    for command, calls in (
        ((*base, "-c", "task_quality", "-l", "en"), 8),
        ((*base, "-c", "task_quality,hallucinations", "-l", "en"), 16),
        ((*base, "-c", "task_quality,hallucinations", "-l", "en,sw"), 32),
        ((*base, "-c", "task_quality,hallucinations", "-l", "en,sw", "-p", "detailed,simple"), 64),
        (
            (
                *base,
                "-c",
                "task_quality,hallucinations",
                "-l",
                "en,sw",
                "-p",
                "detailed,simple",
                "--repeat",
                "2",
            ),
            128,
        ),
        (
            (*base, "-c", "task_quality,hallucinations", "-p", "detailed,simple", "--repeat", "2"),
            640,
        ),
    ):
        metal(*command)
        assert llm_server.requests == calls
        assert len(ratings(tmp_path / "r")) == calls
    assert set(llm_server.counts.values()) == {2}


def test_answers_of_another_run_are_reused(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault("refusal") if call.number == 3 else None
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "old")
    llm_server.faults = None
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", "-l", "en,fr,sw", "-c", "task_quality",
        "--out", "new",
                 "--reuse", "old")  # fmt: skip
    assert "15 answers taken from old" in done.said
    assert "15 answers reused" in done.said
    assert llm_server.requests == 16 + 9  # the refusal is no answer, and asked anew
    table = ratings(tmp_path / "new")
    assert len(table) == 24
    assert table["score"].notna().all()
    metal("judge", DEMO, "-j", "openai:gpt-4o", "-l", "en,fr,sw", "-c", "task_quality", "--out",
        "third",
          "--reuse", "new")  # fmt: skip
    assert llm_server.requests == 25
    assert "no journal.jsonl there" in metal.refused(
        "judge", DEMO, "-j", "openai:gpt-4o", "--reuse", tmp_path
    )


def test_failed_calls_are_not_reused(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = lambda call: Fault("400") if "ferry" in call.prompt.casefold() else None
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "old")
    failed = ratings(tmp_path / "old")["score"].isna().sum()
    assert 0 < failed < 16
    assert f"{failed} failed. Continue with: metal judge --resume old" in done.said
    llm_server.faults = None
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "new", "--reuse", "old")
    assert llm_server.requests == 16 + failed


@pytest.mark.slow
def test_a_sample_and_its_extension(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    metal(
        "judge", DEMO, "-j", "openai:gpt-4o", "-c", "task_quality", "--sample", "20", "--out", "r"
    )
    assert llm_server.requests == 20
    languages = ratings(tmp_path / "r")["output"].str[:2].value_counts()
    assert set(languages) == {2}
    metal(
        "judge", DEMO, "-j", "openai:gpt-4o", "-c", "task_quality", "--sample", "40", "--out", "r"
    )
    assert llm_server.requests == 40
    metal("judge", DEMO, "-j", "openai:gpt-4o", "-c", "task_quality", "--out", "r")
    assert llm_server.requests == 80
    assert len(ratings(tmp_path / "r")) == 80


def test_a_dry_run_sends_and_writes_nothing(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    del metal.env["OPENAI_API_KEY"]
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--dry-run")
    assert "Nothing was sent." in done.said
    assert "[user]" in done.said
    assert "$" in done.said
    assert llm_server.requests == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_max_cost(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    refused = metal.refused(
        "judge", DEMO, "-j", "openai:own-tune", *SMALL, "--max-cost", "1", "--out", "r"
    )
    assert "price of openai:own-tune is not known" in refused
    assert not (tmp_path / "r").exists()
    command = ("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--max-cost", "0.012", "--out", "r")
    done = metal(*command)
    assert tells(done.said, "Stopped", "--max-cost")
    further = shlex.split(done.out.split("Continue with: metal ")[1].splitlines()[0])
    assert float(further[-1]) > 0.012
    made = len(records(tmp_path / "r"))
    for _ in range(2):  # three sessions with the same limit spend no more than one would
        metal(*command)
    assert llm_server.requests <= made + 1
    assert 0 < made < 16
    spent = (
        sum(
            record["tokens"][0] * 2.5 + record["tokens"][1] * 10
            for record in records(tmp_path / "r")
        )
        / 1e6
    )
    assert spent <= 0.012
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--max-cost", "0", "--out", "s")
    assert not records(tmp_path / "s")
    metal(*further)  # as printed, it goes on
    assert llm_server.requests == 16


# ---------------------------------------------------------------- what has changed; what is in the
# way


def a_dataset(folder: Path, texts: list[str]) -> Path:
    """A dataset with these outputs, of one source, and a person's ratings."""
    outputs = [Output(f"o{n}", "s", "g", "en", text) for n, text in enumerate(texts)]
    person, source = Rater("A1", "human", "native"), Source("s", "en", "the passage")
    ratings = facts_from(
        [Rating(output.output, "task_quality", "A1", n % 3) for n, output in enumerate(outputs)]
    )
    save_dataset(
        assemble(Card("made"), [TASK_QUALITY], [source], outputs, [person], ratings), folder
    )
    (folder / "outputs.jsonl").write_text(
        "".join(json.dumps(asdict(output)) + "\n" for output in outputs)
    )
    return folder


def test_a_dry_run_warns_of_what_the_run_would(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    folder = a_dataset(tmp_path / "d", ["plain", " "])
    (folder / "sources.jsonl").write_text(
        '{"source": "s", "language": "en", "text": ""}\n', encoding="utf-8"
    )
    told = metal("judge", folder, "-j", "openai:gpt-4o", "--dry-run").said
    assert tells(told, "warning: 1 outputs", "no text", "not judged")
    assert tells(told, "warning: 1 outputs", "without their source")


def test_hostile_output_texts(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    texts = [
        "plain",
        "nul \0 here",
        "half \ud83d a pair",
        "x" * 1_000_000,
        "\r\n\u2028\x1b[31m",
        "   ",
        "\0",
        "{{ output }}",
    ]
    dataset = a_dataset(tmp_path / "d", texts)
    done = metal("judge", dataset, "-j", "openai:gpt-4o", "--out", "r")
    assert llm_server.requests == 7
    assert "1 outputs have no text" in done.said
    table = ratings(tmp_path / "r").set_index("output")
    assert table["score"].notna().sum() == 7
    assert table.loc["o5", "reason"] == "no text"
    metal("audit", dataset, "r", "--resamples", "100", "--out", "audit")


@pytest.mark.slow
def test_changed_prompts_and_settings_are_refused(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    dataset = a_dataset(tmp_path / "d", [f"text {n}" for n in range(6)])
    own = tmp_path / "own" / "judge"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text(
        'system = "You judge."\nuser = "{{ criterion.question }} {{ output }}"\n'
    )
    (tmp_path / "judges.toml").write_text('[judges.fast]\nmodel = "openai:gpt-4o"\n')
    base = ("judge", dataset, "-j", "fast", "--prompt-folders", "own", "--out", "r")
    metal(*base, "-p", "mine")
    whole = snapshot(tmp_path / "r")

    def changed(*command: object, said: str) -> None:
        assert said in metal.refused(*command)
        assert snapshot(tmp_path / "r") == whole

    other = a_dataset(tmp_path / "e", ["a", "b"])
    changed("judge", other, *base[2:], "-p", "mine", said="is a run over")
    changed(*base, "-p", "simple", said="--prompt mine")
    changed(*base[:2], "-j", "openai:gpt-4o", *base[4:], "-p", "mine", said="--judge fast")
    changed(*base, "-p", "mine", "--sample", "2", said="--sample")
    changed(*base, "-p", "mine", "--seed", "2", said="--seed")
    (tmp_path / "judges.toml").write_text(
        '[judges.fast]\nmodel = "openai:gpt-4o"\ntemperature = 1\n'
    )
    changed(*base, "-p", "mine", said="judges.toml or the")
    changed("judge", "--resume", "r", said="judges.toml or the")
    (tmp_path / "judges.toml").write_text(
        '[judges.fast]\nmodel = "openai:gpt-4o"\nconcurrency = 3\n'
    )
    metal("judge", "--resume", "r")
    (own / "mine.toml").write_text(
        'system = "You judge!"\nuser = "{{ criterion.question }} {{ output }}"\n'
    )
    whole = snapshot(tmp_path / "r")
    changed("judge", "--resume", "r", said="the prompts' files")
    assert llm_server.requests == 6


def test_options_that_resume_does_not_take_are_refused(metal: Metal, llm_server: LlmServer) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "r")
    for more in (
        ("-c", "hallucinations"),
        ("-l", "sw"),
        ("-p", "simple"),
        ("--repeat", "2"),
        ("--sample", "5"),
    ):
        assert "--resume r" in metal.refused("judge", "--resume", "r", *more)


def test_foreign_folders_are_refused_and_never_deleted(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    dataset = a_dataset(tmp_path / "d", ["a", "b"])
    shutil.copytree(dataset, tmp_path / "built")
    (tmp_path / "built" / "run.toml").write_text('command = "build"\n')  # a dataset that METAL made
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"jpg")
    (tmp_path / "file").write_text("a file")
    metal("audit", dataset, "--resamples", "100", "--out", "audit")
    before = snapshot(tmp_path)
    base = ("judge", dataset, "-j", "openai:gpt-4o", "--out")
    for out in ("d", "built", "photos", "file", "audit"):
        metal.refused(*base, out)
        if out != "audit":
            metal.refused(*base, out, "--force")
    assert snapshot(tmp_path) == before
    assert llm_server.requests == 0


def test_force_begins_anew_and_leaves_other_files(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "majority", *SMALL, "--out", "r")
    (tmp_path / "r" / "notes.txt").write_text("mine")
    before = (tmp_path / "r" / "ratings.parquet").read_bytes()
    metal(
        "judge",
        DEMO,
        "-j",
        "openai:gpt-4o-mini",
        "-l",
        "sw",
        "-c",
        "task_quality",
        "--out",
        "r",
        "--force",
    )
    assert (tmp_path / "r" / "notes.txt").read_text() == "mine"
    assert set(ratings(tmp_path / "r")["rater"]) == {"openai:gpt-4o-mini/detailed"}
    assert (tmp_path / "r.replaced" / "ratings.parquet").read_bytes() == before


def test_replies_that_were_paid_for_are_not_replaced(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "r")
    before, requests = snapshot(tmp_path), llm_server.requests
    for dry in ((), ("--dry-run",)):
        said = metal.refused(
            "judge", DEMO, "-j", "openai:gpt-4o-mini", *SMALL, "--out", "r", "--force", *dry
        )
        assert "r holds a journal of replies (journal.jsonl) and is not replaced" in said
        assert "`metal judge --resume r` continues it" in said
    assert "a run of `metal judge` and holds a journal" in metal.refused(
        "audit", DEMO, "--out", "r", "--force"
    )
    assert (snapshot(tmp_path), llm_server.requests) == (before, requests)
    metal("judge", "--resume", "r")


def test_what_is_missing_is_told_before_anything_is_written(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    for judge, said in (
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("azure:d", "AZURE_OPENAI_API_KEY"),
        ("openai-compatible:x", "--base-url"),
        ("gpt-4o", "judge"),
        ("nobody:x", "provider"),
        ("vertex:text-bison", "shut down"),
    ):
        metal.env.pop("OPENAI_API_KEY", None)
        assert said in metal.refused("judge", DEMO, "-j", judge, *SMALL, "--out", "r")
        assert not list(tmp_path.iterdir())
    for more in (
        ("-c", "nonsense"),
        ("-l", "xx"),
        ("-p", "nonsense"),
        ("--prompt-folders", "nowhere"),
        ("--flip", "nonsense"),
    ):
        metal.refused("judge", DEMO, "-j", "openai:gpt-4o", "--out", "r", *more)
        assert not list(tmp_path.iterdir())
    metal.refused("judge", DEMO)
    metal.refused("judge", "--resume", "nowhere")
    assert not list(tmp_path.iterdir())


def test_a_missing_extra(metal: Metal, tmp_path: Path) -> None:
    hide = "import sys; sys.modules['openai'] = None"
    done = by_itself(
        "judge", DEMO, "-j", "openai:gpt-4o", "--out", "r", cwd=tmp_path, env=metal.env, first=hide
    )
    assert done.code == 2, done.err
    assert "metal-eval[openai]" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "r").exists()


# ---------------------------------------------------------------- judges that stop; keys


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["401", "403", "404"])
def test_a_judge_that_stops_says_why_in_one_line(
    kind: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault(kind) if call.model == "wrong" else None
    done = metal("judge", DEMO, "-j", "openai:wrong,openai:gpt-4o", *SMALL, "--out", "r", expect=2)
    assert done.err.count("\n") == 1
    assert "openai:wrong stopped" in done.err
    assert "OPENAI_API_KEY" in done.err
    assert "model wrong" in done.err
    assert KEY not in done.err + done.out
    assert len(ratings(tmp_path / "r")) == 16
    llm_server.faults = None
    metal("judge", "--resume", "r")
    assert len(ratings(tmp_path / "r")) == 32
    assert set(llm_server.counts.values()) == {2}


@pytest.mark.slow
def test_a_provider_that_is_down_is_told_and_the_run_resumed(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault("503") if call.number > 20 else None
    done = metal(
        "judge", DEMO, "-j", "openai:gpt-4o", "--concurrency", "16", "--out", "r", expect=2
    )
    assert "seems to be down" in done.err
    assert "metal judge --resume r" in done.said
    llm_server.faults = None
    metal("judge", "--resume", "r")
    assert len(ratings(tmp_path / "r")) == 400
    assert set(llm_server.counts.values()) == {1}


@pytest.mark.parametrize("ending", ["", "\n"], ids=["as it is", "with a line break"])
def test_the_key_is_nowhere(
    ending: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Not even when the provider echoes it, in an error that stops the judge, in one that does not,
    in a reply.
    """
    metal.env["OPENAI_API_KEY"] = KEY + ending
    llm_server.answer = lambda prompt, body: json.dumps(
        {"score": 1, "justification": f"the key is {KEY}"}
    )
    faults = {"unauthorized": Fault("unauthorized", text=f"Incorrect API key: {KEY}"),
              "picky": Fault("400", text=f"temperature is not supported with {KEY}"),
              "shy": Fault("400", text=f"I know {KEY}"), "plain": None}  # fmt: skip
    llm_server.faults = lambda call: (
        None if call.model == "picky" and "temperature" not in call.body else
        None if call.model == "shy" and call.number % 2 else faults[call.model]
    )  # fmt: skip
    names = ",".join(f"openai:{name}" for name in faults)
    done = metal("judge", DEMO, "-j", names, *SMALL, "--out", "r", expect=2)
    assert llm_server.requests >= 48
    assert "[key hidden]" in done.err
    audit = metal("audit", DEMO, "r", *SMALL, "--resamples", "100", "--out", "audit")
    said = done.out + done.err + audit.out + audit.err
    assert KEY not in said
    files = snapshot(tmp_path)
    assert any(name.endswith("report.html") for name in files)
    assert not [name for name, body in files.items() if KEY.encode() in body]
    comments = set(ratings(tmp_path / "r")["comment"])
    assert "the key is [key hidden]" in comments
    assert not [comment for comment in comments if KEY in str(comment)]


def test_a_password_in_the_address_is_nowhere(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """run.toml has the address, and people share run folders; so a password has to come another
    way.
    """
    url = llm_server.openai_url.replace("http://", "http://me:pass-canary-1234@")
    refused = metal.refused(
        "judge", DEMO, "-j", "openai-compatible:qwen", "--base-url", url, *SMALL, "--out", "r"
    )
    assert "canary" not in refused
    assert not list(tmp_path.iterdir())


def test_parameters_a_model_rejects_are_told_and_remembered(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = rejects_parameters("temperature")
    command = ("judge", DEMO, "-j", "openai:o9", *SMALL, "--concurrency", "1", "--out", "r")
    done = metal(*command, "--limit", "4")
    assert tells(done.said, "openai:o9/detailed:", "without temperature", "rejects")
    assert llm_server.requests == 5
    metal(*command)
    assert llm_server.requests == 17
    about = [
        json.loads(line) for line in (tmp_path / "r" / "raters.jsonl").read_text().splitlines()
    ]
    assert "temperature" not in json.dumps(
        about[0]["sent"] if "sent" in about[0] else about[0]["about"]["sent"]
    )


def test_what_was_odd_is_told(metal: Metal, llm_server: LlmServer) -> None:
    kinds = [Fault("refusal"), Fault("text", text="no idea"), Fault("model_version"), None]
    llm_server.faults = lambda call: (
        kinds[int(prompt_digest(call.prompt), 16) % 4] if call.attempt == 1 else None
    )
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", "-c", "task_quality", "--out", "r")
    assert "several model versions" in done.said
    assert "refused" in done.said
    assert "only when asked again" in done.said


def test_the_terminal_is_not_rewritten_by_a_provider(metal: Metal, llm_server: LlmServer) -> None:
    llm_server.faults = always(Fault("401", text="\x1b[2J\x1b]0;title\x07 go away \u202e"))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--out", "r", expect=2)
    assert not set(done.out + done.err) & {"\x1b", "\x07", "\u202e"}


# ---------------------------------------------------------------- the disk


@pytest.mark.slow
def test_a_full_disk_is_told_in_one_line(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """A limit on the size of files stands in for a full disk; byte code cut to it would stay."""
    command = ("judge", DEMO, "-j", "openai:gpt-4o", "--out", "r")

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    env = metal.env | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = by_itself(*command, "--concurrency", 2, cwd=tmp_path, env=env, preexec_fn=small)
    assert done.code == 2, done.err
    assert done.err.count("\n") == 1
    assert "journal.jsonl" in done.err
    known = len(answered(tmp_path / "r"))
    assert known > 10
    before = llm_server.requests
    assert before <= known + 3
    metal(*command)
    assert llm_server.requests == before + 400 - known
    assert len(ratings(tmp_path / "r")) == 400


# ---------------------------------------------------------------- asking before spending


@pytest.mark.parametrize("said", ["n\n", "\n", ""], ids=["no", "nothing", "end of input"])
def test_nothing_is_sent_without_a_yes(
    said: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "majority", *SMALL, "--out", "old")
    before, requests = snapshot(tmp_path / "old"), llm_server.requests
    for more in (("--out", "new"), ("--out", "old", "--force")):
        done = metal.start(
            "judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--ask", *more, typed=said
        ).wait()
        assert done.code in (2, 130), done.err
        assert "$0.0" in done.out
    assert llm_server.requests == requests
    assert not (tmp_path / "new").exists()
    assert snapshot(tmp_path / "old") == before  # --force replaces nothing either


def test_ctrl_c_is_an_answer(llm_server: LlmServer, tmp_path: Path) -> None:
    env = environment(
        tmp_path, OPENAI_BASE_URL=llm_server.openai_url, OPENAI_API_KEY=KEY, PYTHONUNBUFFERED="1"
    )
    command = [
        sys.executable,
        "-c",
        "from metal.cli import main; main()",
        "judge",
        str(DEMO),
        *SMALL,
        "--ask",
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*command, "-j", "openai:gpt-4o"], cwd=tmp_path, env=env, **pipes
    ) as process:
        assert process.stdout
        printed = b""
        while b"Continue?" not in printed:
            printed += (more := os.read(process.stdout.fileno(), 1000))
            assert more, "it ended without a question"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(SLOWEST) == 130
    assert llm_server.requests == 0
    assert not (tmp_path / "runs" / "demo-judges").exists()


def test_a_yes_is_a_yes(metal: Metal, llm_server: LlmServer) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--ask", typed="y\n")
    assert llm_server.requests == 16


# ---------------------------------------------------------------- what an audit says of a run


@pytest.mark.slow
def test_an_audit_says_that_a_run_is_not_whole(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *SMALL, "--limit", "5", "--out", "r")
    said = metal("audit", DEMO, "r", *SMALL, "-v", "--resamples", "100", "--out", "a").said
    assert tells(said, "warning: r is not complete: 11 calls", "`metal judge --resume r`")
    assert "r is not complete" in (tmp_path / "a" / "report.html").read_text()
    metal("judge", "--resume", "r")
    assert (
        "not complete"
        not in metal("audit", DEMO, "r", *SMALL, "--resamples", "100", "--out", "b").said
    )


@pytest.mark.slow
def test_ratings_of_texts_that_have_changed_are_refused_until_judged_again(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    shutil.copytree(DEMO, tmp_path / "d")
    metal("judge", "d", "-j", "openai:gpt-4o", *SMALL, "--out", "r")
    asked = llm_server.requests
    outputs = tmp_path / "d" / "outputs.jsonl"
    lines = outputs.read_text().splitlines(keepends=True)
    first = json.loads(next(line for line in lines if '"language": "en"' in line))
    changed = [line.replace(first["text"], f"{first['text']} More.") for line in lines]
    outputs.write_text("".join(changed))
    refused = metal.refused("audit", "d", "r", "--resamples", "100", "--out", "a")
    assert tells(refused, "r: 1 of 16 outputs", "other texts")
    assert "metal judge --resume r" in refused
    metal("judge", "--resume", "r")
    assert llm_server.requests == asked + 1
    assert metal("audit", "d", "r", "--resamples", "100", "--out", "a").code == 0


def test_rows_that_left_a_table_move_no_ratings_to_other_texts(
    metal: Metal, tmp_path: Path
) -> None:
    rows = [
        f"en,text number {number} here,{rater},{number % 3}"
        for number in range(12)
        for rater in "ab"
    ]

    def write(rows: list[str]) -> None:
        numbered = [f"{place // 2},{row}" for place, row in enumerate(rows)]
        lines = ["id,language,text,rater,quality", *numbered]
        (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")

    write(rows)
    metal("judge", "t.csv", "-j", "majority", "--out", "r")
    write(rows[:4] + rows[6:])
    refused = metal("audit", "t.csv", "r", "--resamples", "100", "--out", "a", expect=2).err
    assert tells(refused, "9 of 12 outputs", "other texts", "the first '2'")
    said = " ".join(metal("judge", "--resume", "r").said.split())
    assert tells(said, "1 output that", "no longer in the data", "'11'")
    assert metal("audit", "t.csv", "r", "--resamples", "100", "--out", "a").code == 0
