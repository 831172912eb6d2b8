"""How time, memory and cost of judging grow with the calls: in one process, through a batch
service, on a cluster.

    python -m tests.bench.growth                                  # 1,000 and 30,000 measured,
    1,000,000 simulated python -m tests.bench.growth --calls 1000 --engine local batch

`metal judge` as its user runs it, against a local server of its own process: every call takes a
second, 64 are in flight and no more than 6,000 per minute may be made; a batch waits for 30 seconds
and is then answered at 200 requests a second, of at most 10,000 requests each. Simulated is what
these settings and the measured seconds of METAL itself (its start, and its work for a call) come
to; the same formula stands beside what was measured, to be judged by it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import pandas as pd

from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.raters.judges.prices import Price, listed_price
from tests.bench.clock import ROOT, serving
from tests.bench.scale import Cost, measure

MODEL = "gpt-4o-mini"
CRITERIA, OUTPUTS_A_SOURCE = 5, 10
LATENCY, IN_FLIGHT, A_MINUTE = 1.0, 64, 6_000
BATCH_WAITS, BATCH_RATE, BATCH_REQUESTS = 30.0, 200.0, 10_000
CLUSTER_STARTS = 20.0  # seconds until a cluster of this machine makes its first call
MEASURED, SIMULATED = (1_000, 30_000), (1_000_000,)
SERVERS = {
    "local": ("llm_server.py", "--light", "--latency-ms", f"{1000 * LATENCY:g}"),
    "batch": ("openai_batch_server.py", "--wait", f"{BATCH_WAITS:g}", "--rate", f"{BATCH_RATE:g}"),
}
SERVERS["ray"] = SERVERS["local"]


def write_dataset(folder: Path, calls: int) -> None:
    """Sources of about 3 KB, ten outputs of 400 bytes each, five criteria; nobody has rated any."""
    levels = (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))
    criteria = [
        Criterion(
            f"q{number}", Scale("ordinal", levels), question=f"How good is it in respect {number}?"
        )
        for number in range(CRITERIA)
    ]
    outputs = calls // CRITERIA
    sources = [
        Source(
            f"s{number}",
            "en",
            f"Article {number}. " + "The council met and agreed on the plan. " * 75,
        )
        for number in range(-(-outputs // OUTPUTS_A_SOURCE))
    ]
    made = [
        Output(
            f"o{number}",
            sources[number // OUTPUTS_A_SOURCE].source,
            f"g{number % OUTPUTS_A_SOURCE}",
            "en",
            f"Summary {number}: " + "the plan was agreed on. " * 16,
        )
        for number in range(outputs)
    ]
    save_dataset(
        assemble(Card("growth"), criteria, sources, made, [Rater("p", "human")], facts_from([])),
        folder,
    )


def judge(data: Path, engine: str, calls: int, folder: Path) -> tuple[Cost, float]:
    """What `metal judge` takes to its end, and US dollars. Raises where it has not a rating for
    each call.
    """
    with serving(*SERVERS[engine]) as url:
        os.environ |= {"OPENAI_API_KEY": "sk-bench-0123456789", "OPENAI_BASE_URL": url}
        (folder / "judges.toml").write_text(
            f'[judges.j]\nmodel = "openai:{MODEL}"\nconcurrency = {IN_FLIGHT}\nrequests_per_minute'
            f" = {A_MINUTE}\n[judges.j.batch]\nrequests = {BATCH_REQUESTS}\npoll = 1\n",
            encoding="utf-8",
        )
        out = folder / f"{engine}-{calls}"
        arguments = [
            "judge",
            str(data),
            "-j",
            "j",
            "-p",
            "simple",
            "--engine",
            engine,
            "--out",
            str(out),
            "--yes",
        ]
        os.chdir(folder)
        cost = measure([sys.executable, "-m", "metal", *arguments], folder / "log")
    rated = pd.read_parquet(out / "ratings.parquet", columns=["score"])["score"]
    if len(rated) != calls or rated.isna().any():
        raise RuntimeError(
            f"{len(rated):,} ratings, {rated.isna().sum():,} without a score, of {calls:,} calls"
        )
    return cost, spent(out / "journal.jsonl", engine)


def spent(journal: Path, engine: str) -> float:
    """US dollars of the tokens in a journal, at the list price."""
    price = listed_price("openai", MODEL)
    assert price
    halved: Price = price.halved()
    dollars = 0.0
    with journal.open("rb") as lines:
        for line in lines:
            record = json.loads(line)
            dollars += (halved if "batch" in record else price).cost(*record["tokens"])
    return dollars


def simulated(engine: str, calls: int, start: float, a_call: float) -> float:
    """Seconds: the slowest of what the settings allow and METAL can do.

    start, a_call: seconds of METAL itself, as measured: to start, and to work on a call, one after
    the other.
    """
    if engine == "batch":
        parts = -(-calls // BATCH_REQUESTS)
        waves = -(-parts // 50)  # at the service at once, at most
        answering = waves * (BATCH_WAITS + min(calls, BATCH_REQUESTS) / BATCH_RATE)
        return start + max(answering, calls * a_call) + min(calls, BATCH_REQUESTS) * a_call
    start += CLUSTER_STARTS if engine == "ray" else 0.0
    return (
        start + max(calls * LATENCY / IN_FLIGHT, 60.0 * calls / A_MINUTE, calls * a_call) + LATENCY
    )


def main() -> None:
    """Print a table: a line an engine and number of calls."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, nargs="+", default=MEASURED)
    parser.add_argument("--simulate", type=int, nargs="*", default=SIMULATED)
    parser.add_argument("--engine", choices=list(SERVERS), nargs="+", default=list(SERVERS))
    parser.add_argument(
        "--own", type=float, nargs=2, default=(2.0, 0.0008), metavar=("START", "A_CALL")
    )
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    own = options.own
    print(f"{'calls':>10} {'engine':<8}{'seconds':>10}{'formula':>10}{'GB':>8}{'dollars':>10}")
    dollars: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for calls in options.calls:
            data = Path(scratch) / f"data-{calls}"
            write_dataset(data, calls)
            for engine in options.engine:
                cost, paid = judge(data, engine, calls, Path(scratch))
                dollars[engine] = paid / calls
                line(calls, engine, f"{cost.seconds:.0f}", own, f"{cost.gigabytes:.2f}", paid)
    for calls in options.simulate:
        for engine in options.engine:
            line(calls, engine, "-", own, "-", dollars.get(engine, float("nan")) * calls)


def line(
    calls: int, engine: str, seconds: str, own: tuple[float, float], gigabytes: str, dollars: float
) -> None:
    formula = f"{simulated(engine, calls, *own):,.0f}"
    print(
        f"{calls:>10,} {engine:<8}{seconds:>10}{formula:>10}{gigabytes:>8}{dollars:>10.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
