"""What the four peers share: the same prompts, schema, warm-up and clock. Standard library only.

Each peer is a script beside this file, run by the python of its own environment. A peer gives `run`
its judge: an async function of one prompt (a dictionary of "system" and "user") that returns the
score, or None where the reply holds none. Imports and warm-up are over before the clock starts;
reading the score out of the reply is inside it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

WARM_UP = 32
SCHEMA = {
    "type": "object",
    "properties": {
        "justification": {"type": "string"},
        "score": {"type": "integer", "enum": [0, 1, 2]},
    },
    "required": ["justification", "score"],
    "additionalProperties": False,
}
RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "judgement", "schema": SCHEMA, "strict": True},
}

Prompt = dict[str, str]
Judge = Callable[[Prompt], Awaitable[int | None]]


def arguments(description: str | None) -> argparse.Namespace:
    """--base-url, --prompts, --model and --in-flight."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--base-url", required=True, help="of an OpenAI-compatible server, up to and with /v1"
    )
    parser.add_argument(
        "--prompts", required=True, type=Path, help='JSONL of {"system": ..., "user": ...}'
    )
    parser.add_argument(
        "--model", default="gpt-4o", help="name sent to the server (default: %(default)s)"
    )
    parser.add_argument(
        "--in-flight", type=int, default=64, help="calls under way at once (default: %(default)s)"
    )
    return parser.parse_args()


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """The prompt as OpenAI messages."""
    return [
        {"role": "system", "content": prompt["system"]},
        {"role": "user", "content": prompt["user"]},
    ]


def score_in(reply: str | None) -> int | None:
    """The score of a JSON reply; None where there is none.

    >>> score_in('{"justification": "clear", "score": 2}')
    2
    """
    try:
        found = json.loads(reply or "")
    except ValueError:
        return None
    score = found.get("score") if isinstance(found, dict) else None
    return score if isinstance(score, int) else None


async def all_scores(judge: Judge, prompts: Sequence[Prompt], in_flight: int) -> list[int | None]:
    """Every prompt's score, in order. The semaphore is taken before a task is made: no more than
    in_flight exist.
    """
    scores: list[int | None] = [None] * len(prompts)
    free = asyncio.Semaphore(in_flight)

    async def one(place: int, prompt: Prompt) -> None:
        try:
            scores[place] = await judge(prompt)
        finally:
            free.release()

    async with asyncio.TaskGroup() as tasks:
        for place, prompt in enumerate(prompts):
            await free.acquire()
            tasks.create_task(one(place, prompt))
    return scores


async def run(judge: Judge, prompts_file: Path, in_flight: int) -> None:
    """Warm up, judge every prompt, print one line of JSON. CPU is of all threads, user and
    system.
    """
    lines = prompts_file.read_text(encoding="utf-8").split("\n")
    prompts = [json.loads(line) for line in lines if line]
    await all_scores(judge, prompts[:WARM_UP], in_flight)
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    scores = await all_scores(judge, prompts, in_flight)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    measured = {
        "calls": len(scores),
        "wall_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "answered": sum(score is not None for score in scores),
    }
    print(json.dumps(measured), flush=True)
