"""New judges beside a released one: PARIKSHA imported, judged through faults and a kill, resumed, audited."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.forks import environment, starter
from tests.llm_server import LlmServer, random_faults

pytestmark = pytest.mark.reference

KEY = "sk-canary-key-0123456789"
CALLS = 30 * 3 * 2  # outputs, criteria, prompts: of each model
RATES = {"429": 0.05, "500": 0.03, "503": 0.02, "drop": 0.02, "drop_mid_body": 0.02, "not_json_body": 0.01}


def test_new_judges_beside_a_released_one(reference: Path, tmp_path: Path) -> None:
    with starter() as metal, LlmServer(latency_ms=30) as server:
        server.faults = random_faults(3, RATES, max_attempt=1, retry_after=0.1)
        metal = metal.at(
            tmp_path,
            environment(
                tmp_path,
                OPENAI_BASE_URL=server.openai_url,
                OPENAI_API_KEY=KEY,
                GOOGLE_GEMINI_BASE_URL=server.url,
                GEMINI_API_KEY=KEY,
            ),
        )
        metal("import", "pariksha", reference / "pariksha", "--out", "pariksha")
        run = tmp_path / "judges"
        command = ("judge", "pariksha", "-j", "openai:gpt-4o,gemini:gemini-2.5-pro", "-p", "simple,detailed")
        command += ("--sample", "30", "--concurrency", "4", "--out", str(run))
        started = metal.start(*command)
        until = time.monotonic() + 30
        while server.completed < 60:
            assert time.monotonic() < until
            assert not started.over, started.wait().err
            time.sleep(0.005)
        started.send(signal.SIGKILL)
        assert started.wait().code == -signal.SIGKILL
        whole = (run / "journal.jsonl").read_bytes()
        known = whole[: whole.rfind(b"\n") + 1].count(b"\n")
        assert 40 <= known < 2 * CALLS
        done = metal("judge", "--resume", run, "--concurrency", "16")
        assert f"{2 * CALLS} ratings" in done.said
        lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
        assert len(lines) == len({line["key"] for line in lines}) == 2 * CALLS
        wasted = sum(call.fault == "not_json_body" for call in server.calls)
        assert server.completed - wasted <= 2 * CALLS + 8  # those in flight at the kill
        table = pd.read_parquet(run / "ratings.parquet")
        assert len(table) == 2 * CALLS
        assert table["score"].notna().all()
        assert not [path for path in run.iterdir() if path.is_file() and KEY.encode() in path.read_bytes()]
        audit = metal("audit", "pariksha", run, "--resamples", "100", "--out", "audit")
        names = ["gpt-4-32k/detailed"]
        names += [f"{model}/{prompt}" for model in ("openai:gpt-4o", "gemini:gemini-2.5-pro")
                  for prompt in ("simple", "detailed")]  # fmt: skip
        board = pd.read_csv(next((tmp_path / "audit" / "tables").glob("judges*.csv")))
        assert set(names) <= set(board["judge"])
        assert "gpt-4-32k" in audit.said
