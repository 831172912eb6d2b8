"""How far long work has come: a callback that gets the steps done and the steps in all."""

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
    """Progress that nobody follows."""


# Who follows what no parameter tells of, as any work may begin or end with files and tables: called
# with the unit (a plural), the steps done and the steps in all; set by who shows it.
FOLLOWER: ContextVar[Callable[[str, int, int], None]] = ContextVar(
    "FOLLOWER", default=lambda unit, done, total: None
)


def follower(unit: str) -> Progress:
    """FOLLOWER as the progress of steps of this unit."""
    return partial(FOLLOWER.get(), unit)


def followed(
    steps: Iterable[Step],
    progress: Progress,
    total: int | None = None,
    sizes: Iterable[int] = repeat(1),
) -> Iterator[Step]:
    """The steps, each counted once it is done. total: how many steps there are, or the sum of their
    sizes; needed if the steps have no length. Without steps nothing is reported.
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
    """The steps, as in `followed`, for FOLLOWER. unit: what they are, a plural."""
    yield from followed(steps, follower(unit), total, sizes)


def divided(progress: Progress, *weights: int) -> list[Progress]:
    """The progress of each part of a job, in per cent of the job. weights: how long the parts take,
    relative to each other.
    """

    def part(before: int, weight: int) -> Progress:
        return lambda done, total: progress(
            int(100 * (before + weight * done / max(total, 1)) / sum(weights)), 100
        )

    return [
        part(end - weight, weight) for end, weight in zip(accumulate(weights), weights, strict=True)
    ]
