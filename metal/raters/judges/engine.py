"""What carries a run out: in this process (runner), through a provider's batch service (batch/), on a cluster.

Whatever the engine, the same questions are asked under the same keys, and every reply is a line of the run's journal.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from metal.raters.judges.models import Model

ATTEMPTS = 6


@dataclass(frozen=True)
class Rules:
    """How a run is carried out. reasks: for replies without a verdict. limit: at most so many calls are begun.

    attempts: at a call that fails for a while. max_cost: US dollars. backoff: seconds, about, before the second
    attempt; twice as long before each further one.
    """

    reasks: int = 1
    limit: int | None = None
    attempts: int = ATTEMPTS
    max_cost: float | None = None
    backoff: float = 1.0


@dataclass
class Progress:
    """What has happened to one model's calls in this session.

    done: calls of the plan with an answer, earlier sessions' too. kinds: of replies and failures. sent: requests.
    retries: what had to be asked again, by reason. stopped: why the judge cannot go on; empty while it can. under_way:
    calls that are with the provider, which answers them all together; arriving: those of them that have an answer;
    awaited: where they are, in a few words. unused: answers to calls that the plan does not have any more.
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


async def together(works: Iterable[Coroutine[Any, Any, None]], close: Callable[[], Iterable[Awaitable[None]]]) -> None:
    """Do all of these at once; the first failure ends the others and is raised. close: what is closed in the end."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    finally:
        await asyncio.gather(*close(), return_exceptions=True)


def _first(error: BaseException) -> BaseException:
    """The first failure in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class Engine(Protocol):
    """A run in progress. stopping: set once somebody has asked it to stop."""

    over_budget: bool
    stopping: asyncio.Event

    @property
    def progress(self) -> Sequence[Progress]:
        """A model each, in the plan's order."""
        ...

    def stop(self) -> str:
        """Begin nothing more, and end as soon as nothing is lost by it; what to tell the user."""
        ...

    async def go(self) -> None:
        """Until there is nothing left to ask, a judge cannot go on, or it was stopped. Raises OSError of the disk."""
        ...
