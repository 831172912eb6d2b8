"""The progress of long work: a callback gets the number of steps done and of all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import ContextVar
from functools import partial
from itertools import accumulate, repeat
from typing import TypeAlias, TypeVar, cast

Progress: TypeAlias = Callable[[int, int], None]
Step = TypeVar("Step")
PARTS = 200  # of one piece of work that are reported, whatever the number of its steps
BYTES = "bytes"


def no_progress(done: int, total: int) -> None:
    """A progress callback that does nothing."""


# Who follows what no parameter tells of, as any work may begin or end with files and tables: called
# with the unit (a plural), the steps done and the steps in all; set by who shows it.
FOLLOWER: ContextVar[Callable[[str, int, int], None]] = ContextVar(
    "FOLLOWER", default=lambda unit, done, total: None
)


def follower(unit: str) -> Progress:
    """A progress callback for steps of this unit that reports to FOLLOWER."""
    return partial(FOLLOWER.get(), unit)


def followed(
    steps: Iterable[Step],
    progress: Progress,
    total: int | None = None,
    sizes: Iterable[int] = repeat(1),
) -> Iterator[Step]:
    """Iterate over steps, and report each once it is done; without steps nothing is reported.

    total: the number of steps, or the sum of their sizes; needed if the steps have no length.
    """
    total = len(cast(Sized, steps)) if total is None else total
    done, reported = 0, -total
    try:
        for step, size in zip(steps, sizes, strict=False):
            if total and (done - reported) * PARTS >= total:
                reported = done
                progress(done, total)
            yield step
            done += size
    # also where the rest is not wanted; a total of 0 would say that nobody knows how many there are
    finally:
        if total:
            progress(total, total)


def counted_as(
    steps: Iterable[Step],
    unit: str,
    total: int | None = None,
    sizes: Iterable[int] = repeat(1),
) -> Iterator[Step]:
    """Iterate over steps as in `followed`, reporting to FOLLOWER.

    unit: what the steps are, as a plural.
    """
    yield from followed(steps, follower(unit), total, sizes)


def divided(progress: Progress, *weights: int) -> list[Progress]:
    """Progress callbacks for the parts of a job, which report percentages of the whole job.

    weights: how long the parts take, relative to each other.
    """

    def part(before: int, weight: int) -> Progress:
        return lambda done, total: progress(
            int(100 * (before + weight * done / max(total, 1)) / sum(weights)), 100
        )

    return [
        part(end - weight, weight) for end, weight in zip(accumulate(weights), weights, strict=True)
    ]
