"""How a run is carried out: in this process, through the providers' batch services, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from metal.errors import UsageError
from metal.raters.judges.batch.ledger import FOLDER, Ledger, open_calls
from metal.raters.judges.call import Client, Questions
from metal.raters.judges.engine import Engine, Rules
from metal.raters.judges.journal import Journal
from metal.raters.judges.lines import Answered
from metal.raters.judges.models import Model
from metal.raters.judges.providers import open_batch_client
from metal.raters.judges.runner import Run
from metal.raters.judges.secrets import Secrets

LOCAL, BATCH, RAY = "local", "batch", "ray"
OpenClient = Callable[[Model], Client]


@dataclass(frozen=True)
class How:
    """An engine and what it needs to know. wait: for the batches' end. cancelling: the open batches; nothing is asked.

    address: of the Ray cluster; empty: one of this machine, for this run.
    """

    engine: str = LOCAL
    wait: bool = True
    cancelling: bool = False
    address: str = ""


def engine_of(out: Path) -> str:
    """The engine that a run goes on with when it is resumed: the one it was begun with."""
    return BATCH if (out / FOLDER).is_dir() else LOCAL  # there before the first question is asked


def under_way(out: Path, how: How) -> set[bytes]:
    """The keys of calls that are in open batches. Raises UsageError when another engine would pay for them again."""
    found = open_calls(out)
    if found and how.engine != BATCH:
        raise UsageError(
            f'{out}: {len(found):,} calls are in open batches; fetch them with `metal.judge(resume="{out}")`, or '
            f'cancel them with `metal.judge_cancel("{out}")`'
        )
    return found


async def check_clients(models: Iterable[Model], how: How, connect: OpenClient) -> None:
    """Keys, addresses and libraries are there, before anything is written."""
    if how.engine == RAY:
        from metal.raters.judges.cluster.nodes import check_ray, knock

        check_ray()
        knock(how.address)
    for model in models:
        if how.engine == BATCH:
            await open_batch_client(model).close()
        await connect(model).close()


def open_engine(
    plan: Questions,
    journal: Journal,
    answered: Answered,
    rules: Rules,
    secrets: Secrets,
    out: Path,
    how: How,
    connect: OpenClient,
) -> Engine:
    """The engine, ready to go, for the running event loop."""
    if how.engine == BATCH:
        from metal.raters.judges.batch.run import BatchRun

        return BatchRun(
            plan,
            journal,
            answered,
            rules,
            secrets,
            Ledger(out),
            connect,
            open_batch_client,
            wait=how.wait,
            cancelling=how.cancelling,
        )
    if how.engine == RAY:
        from metal.raters.judges.cluster.engine import RayRun

        return RayRun(plan, journal, answered, rules, secrets, out, how.address)
    return Run(plan, journal, answered, rules, connect, secrets)
