"""Engines carry out a run: in this process (runner), by a provider's batch service (batch/), or on
a Ray cluster (cluster/).

Every engine is an entry point of the group `metal.engines`. All of them ask the same questions
under the same keys, and write every reply to the journal of the run.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from metal.data.plugins import load_plugin
from metal.raters.judges.call import BatchClient, Client, RunPlan
from metal.raters.judges.journal import Answered, Journal
from metal.raters.judges.models import Model
from metal.raters.judges.providers import open_batch_client, open_client
from metal.raters.judges.secrets import Secrets

LOCAL, BATCH = "local", "batch"  # two of the engines


@dataclass(frozen=True)
class Rules:
    """How questions are asked. reasks: how often to ask again after an unreadable reply. attempts:
    the most attempts at one request.

    limit: the most calls to begin. max_cost: US dollars. backoff: about how many seconds to wait
    before the second attempt; the wait doubles before each further attempt.
    """

    reasks: int = 1
    limit: int | None = None
    attempts: int = 6
    max_cost: float | None = None
    backoff: float = 1.0


@dataclass
class Progress:
    """The progress of one model's questions in this session.

    done: questions with an answer, including answers of earlier sessions. kinds: counts of replies
    and failures by kind. cost: US dollars. sent: the number of requests. retries: why questions
    were asked again. stopped: why the judge cannot continue; empty while it can. under_way:
    questions in open batches; arriving: how many of these have an answer. awaited: what the run is
    waiting for. unused: answers to questions that are no longer in the plan.
    """

    model: Model
    total: int = 0
    done: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    cost: float = 0.0
    sent: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    under_way: int = 0
    arriving: int = 0
    unused: int = 0
    awaited: str = ""

    def count(self, kind: str, settled: bool) -> None:
        """Count a journal record that is safe on the disk. settled: whether its question is done
        and need not be asked again.
        """
        if settled:
            self.kinds[kind] += 1
            self.done += 1
        else:
            self.retries[kind] += 1


@dataclass(frozen=True)
class EngineOptions:
    """The name of an engine, and its options. wait: whether to wait for batches to end.

    address: the address of a Ray cluster; empty starts one on this machine. cancelling: cancel the
    open batches, merge what they have answered, and ask nothing.
    """

    wait: bool = True
    cancelling: bool = False
    address: str = ""
    engine: str = LOCAL


@dataclass(frozen=True)
class JudgeSetup:
    """One model's part of a session. questions: how many questions the plan has for the model.
    rejected: parameter -> the model's message.
    """

    model: Model
    rules: Rules
    secrets: Secrets
    questions: int = 0
    rejected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """Everything that an engine needs to carry out a run. folder: the run's folder. answered: what
    the journal already contains.
    """

    plan: RunPlan
    journal: Journal
    answered: Answered
    rules: Rules
    secrets: Secrets
    folder: Path
    options: EngineOptions = EngineOptions()
    open_client: Callable[[Model], Client] = open_client
    open_batch_client: Callable[[Model], BatchClient] = open_batch_client

    def setup(self, model: Model) -> JudgeSetup:
        """Everything needed to ask one model its share of the plan, with the parameters that it has
        already rejected.
        """
        rejected = self.answered.rejected.get(model.name, {})
        return JudgeSetup(model, self.rules, self.secrets, self.plan.questions_per_model, rejected)


class Engine(Protocol):
    """A run in progress. stopping: set once the run was asked to stop. over_budget: whether
    `max_cost` ended the run.
    """

    over_budget: bool
    stopping: asyncio.Event

    def __init__(self, session: Session) -> None: ...

    @staticmethod
    async def check(models: Iterable[Model], options: EngineOptions) -> None:
        """Raise UsageError or MissingExtra if a key, an address or a library is missing. Writes
        nothing.
        """

    @property
    def progress(self) -> Sequence[Progress]:
        """One for each model, in the plan's order."""

    def stop(self) -> str:
        """Begin nothing more, and end as soon as no answer would be lost. Returns a message for the
        user.
        """

    async def go(self) -> None:
        """Ask until nothing is left, no judge can continue, or the run is stopped. Raises OSError
        for errors of the disk.
        """


def load_engine(name: str) -> type[Engine]:
    """The engine of that name. Raises UnknownName."""
    engine: type[Engine] = load_plugin("metal.engines", "engine", name)
    return engine


async def check_clients(models: Iterable[Model]) -> None:
    """Raise UsageError or MissingExtra if a model cannot be asked: no key, no address, or no
    library.
    """
    for model in models:
        await open_client(model).close()


async def run_together(
    works: Iterable[Coroutine[Any, Any, None]], close: Callable[[], Iterable[Awaitable[None]]]
) -> None:
    """Run the coroutines concurrently; the first failure cancels the others and is raised. close:
    called at the end.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
    finally:
        await asyncio.gather(*close(), return_exceptions=True)
