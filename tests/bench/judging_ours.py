"""METAL's whole pipeline as the peers of tests/bench/judging.py are timed, in a process of its own.

    python -m tests.bench.judging_ours --base-url http://127.0.0.1:8000/v1

Prompts are rendered, sent, read and journaled durably by `runner.LocalRun`. The clock starts after
imports and 32 calls of warm-up, and stops when the journal is synced and closed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from metal.data.dataset import Card, Dataset, assemble
from metal.data.files import bundled
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.raters.judges.call import Client
from metal.raters.judges.engine import Rules, Session
from metal.raters.judges.journal import Answered, Journal
from metal.raters.judges.models import Model
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.providers import open_client
from metal.raters.judges.rubric import rubrics_for
from metal.raters.judges.runner import LocalRun
from metal.raters.judges.secrets import Secrets, known_keys
from metal.raters.judges.templates import load_template
from tests.bench.peers.measuring import WARM_UP

LATIN = (
    "the summary keeps what matters in this article and tells it to readers of every city plainly"
)
DEVANAGARI = "यह सारांश लेख की मुख्य बातें बताता है और भाषा सरल तथा स्पष्ट रखता है"
SIZE = 3_700  # bytes of a source and its output; with the prompt around them 5 KB
SCALE = Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good")))
JUDGE = "openai-compatible:gpt-4o"


def dataset(outputs: int, criteria: int = 1) -> Dataset:
    """Different outputs, each with a source of its own; half of their phrases in Devanagari."""
    rng = random.Random(0)
    sources, made = [], []
    for number in range(outputs):
        phrases, room = [f"Article {number}."], SIZE
        while room > 0:
            words = (DEVANAGARI if len(phrases) % 2 else LATIN).split()
            phrases.append(" ".join(rng.choices(words, k=8)) + (" ।" if len(phrases) % 2 else "."))
            room -= len(phrases[-1].encode()) + 1
        cut = len(phrases) * 3 // 4
        sources.append(Source(f"s{number}", "hi", " ".join(phrases[:cut])))
        made.append(Output(f"o{number}", f"s{number}", "generator", "hi", " ".join(phrases[cut:])))
    asked = [
        Criterion(f"q{number}", SCALE, question=f"How good is it in respect {number}?")
        for number in range(criteria)
    ]
    ratings = facts_from(
        Rating(one.output, criterion.name, "p", 1.0) for one in made for criterion in asked
    )
    return assemble(Card("bench"), asked, sources, made, [Rater("p", "human")], ratings)


def plan_of(found: Dataset, base_url: str, in_flight: int) -> JudgingPlan:
    """One judge with the bundled prompt `simple` on every criterion."""
    folders = [bundled("prompts")]
    template = load_template("simple", folders)
    prompt = Prompt(template, rubrics_for(found.criteria.values(), folders, needed=template.needed))
    model = Model(JUDGE, *JUDGE.split(":"), base_url=base_url, concurrency=in_flight)
    return JudgingPlan(
        (model,), (prompt,), found.criteria, list(found.outputs.values()), found.sources
    )


def run_of(
    plan: JudgingPlan, journal: Journal, limit: int, opener: Callable[[Model], Client] = open_client
) -> LocalRun:
    """A run as `metal judge` makes it."""
    rules, secrets, folder = Rules(limit=limit), Secrets(known_keys()), journal.path.parent
    return LocalRun(Session(plan, journal, Answered(), rules, secrets, folder, open_client=opener))


async def measure(plan: JudgingPlan, calls: int, folder: Path) -> dict[str, float]:
    """Warm up, judge, and what it took: CPU is of all threads, user and system."""
    warm = Journal(folder / "warm.jsonl")
    await run_of(plan, warm, WARM_UP).go()
    await warm.close()
    gc.collect()
    journal = Journal(folder / "journal.jsonl")
    run = run_of(plan, journal, calls)
    cpu, wall = time.process_time(), time.perf_counter()
    await run.go()
    await journal.close()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with (folder / "journal.jsonl").open("rb") as lines:
        assert sum(1 for _ in lines) == calls
    return {
        "calls": calls,
        "answered": run.progress[0].kinds["verdict"],
        "wall_s": wall,
        "cpu_s": cpu,
    }


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--base-url", required=True, help="of an OpenAI-compatible server, up to and with /v1"
    )
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--in-flight", type=int, default=64)
    asked = parser.parse_args()
    # looked for in every line, as any key is
    os.environ["OPENAI_COMPATIBLE_API_KEY"] = "sk-bench-0123456789abcdefghij"
    plan = plan_of(dataset(asked.calls), asked.base_url, asked.in_flight)
    with tempfile.TemporaryDirectory() as folder:
        json.dump(asyncio.run(measure(plan, asked.calls, Path(folder))), sys.stdout)


if __name__ == "__main__":
    main()
