"""How long people wait at `metal serve`, and what a server that is killed loses.

    python -m tests.bench.serving                          # 100,000 outputs, 200 people, 2 minutes
    python -m tests.bench.serving --kills 10 --cuts 5      # killed, and cut off from PostgreSQL
    python -m tests.bench.serving --database sqlite

Each person thinks for `--think` seconds on average before each answer, as long as the time lasts.
*Next tasks* is the page with the next ten tasks, *save* an answer until the server has it on disk.
Without kills, the seconds of both; with kills, whether all that was acknowledged is there, once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import metal
from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from metal.serving.ledger import ServingLedger
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.serving.crowd import Crowd, check_dataset, check_promises
from tests.serving.postgres import Cluster, cluster
from tests.serving.web import ServedProcess

TEXT = "It rained all day, and the market stayed closed. " * 8


def write_outputs(folder: Path, items: int) -> None:
    """A dataset of so many outputs in Hindi, which nobody rated."""
    sources = [Source(f"s{number}", "hi", f"{TEXT}{number}") for number in range(items // 4)]
    outputs = [
        Output(f"{each.source}/{letter}", each.source, letter, "hi", f"It rained. {each.source}")
        for each in sources
        for letter in "abcd"
    ]
    criteria = [TASK_QUALITY, HALLUCINATIONS]
    save_dataset(assemble(Card("large"), criteria, sources, outputs, [], facts_from([])), folder)


def trouble(server: ServedProcess, crowd: Crowd, every: float, kills: int) -> None:
    """Kill the server now and then, and start it again."""
    for _ in range(kills):
        if crowd.over.wait(every):
            return
        server.kill()
        server.start()


def cutting(postgres: Cluster, database: str, crowd: Crowd, every: float, cuts: int) -> None:
    """Break the connections of the database now and then."""
    for _ in range(cuts):
        if crowd.over.wait(every):
            return
        postgres.cut(database)


def line(name: str, seconds: list[float]) -> str:
    """A row of the table."""
    half, most = np.percentile(seconds, [50, 95]) * 1000
    return f"| {name} | {len(seconds):,} | {half:,.0f} ms | {most:,.0f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--think", type=float, default=4)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres, name, database = None, "", ""
        if options.database == "postgresql":
            postgres = stack.enter_context(cluster())
            name = postgres.new()
            database = postgres.address(name)
        write_outputs(folder / "large", options.items)
        began = time.perf_counter()
        _, links = metal.study_new(
            folder / "large", folder=folder, database=database, people=options.people, raters=3
        )
        print(f"a study of {options.items:,} outputs: {time.perf_counter() - began:.0f} s")
        server = ServedProcess(folder, database)
        crowd = Crowd(server.address, "large", think=options.think)
        paths = [path for _, path in links]
        rating = threading.Thread(target=crowd.rate, args=(paths, options.seconds))
        load = os.getloadavg()[0]
        rating.start()
        helpers = []
        if options.kills:
            every = options.seconds / (options.kills + 1)
            helpers.append(threading.Thread(target=trouble, args=(server, crowd, every,
                                                                  options.kills)))  # fmt: skip
        if postgres and options.cuts:
            every = options.seconds / (options.cuts + 1)
            helpers.append(threading.Thread(target=cutting, args=(postgres, name, crowd, every,
                                                                  options.cuts)))  # fmt: skip
        for helper in helpers:
            helper.start()
        for thread in (rating, *helpers):
            thread.join()
        server.kill()
        ledger = ServingLedger(folder, database)
        check_promises(ledger, crowd)
        whole = check_dataset(ledger, folder, crowd)
        ledger.close()
        assert crowd.failures == [], crowd.failures[:3]
        print(
            f"{options.people} people, {options.seconds:.0f} s, {options.database}, {options.kills}"
            f" kills, {options.cuts} cuts; load before {load:.1f}\n"
            f"{len(crowd.acknowledged):,} answers acknowledged, all there once, also in the dataset"
            f"; {whole:,} outputs have all their raters;"
            f" {crowd.broken:,} requests broke off and were asked again\n\n"
            "| step | times | p50 | p95 |\n| --- | ---: | ---: | ---: |\n"
            f"{line('next tasks', crowd.pages)}\n{line('save', crowd.saves)}"
        )


if __name__ == "__main__":
    main()
