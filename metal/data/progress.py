"""How far long work has come: a callback that is told the steps done and the steps in all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import accumulate, repeat
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[int, int], None]
Step = TypeVar("Step")
PARTS = 200  # of one piece of work that are reported, whatever the number of its steps


def no_progress(done: int, total: int) -> None:
    """Progress that nobody follows."""


# Who follows files, in bytes read or records written; set by who shows it, as any work may begin or end with files.
FILES: ContextVar[Progress] = ContextVar("FILES", default=no_progress)


def followed(steps: Iterable[Step], progress: Progress, total: int, sizes: Iterable[int] = repeat(1)) -> Iterator[Step]:
    """The steps, each counted once it is done. total: how many there are, or of their sizes the sum."""
    done, reported = 0, -total
    for step, size in zip(steps, sizes, strict=False):
        if (done - reported) * PARTS >= total:
            reported = done
            progress(done, total)
        yield step
        done += size
    progress(total, total)


def divided(progress: Progress, *weights: int) -> list[Progress]:
    """The progress of each part of a job, in per cent of it. weights: how long parts take, beside each other."""

    def part(before: int, weight: int) -> Progress:
        return lambda done, total: progress(int(100 * (before + weight * done / max(total, 1)) / sum(weights)), 100)

    return [part(end - weight, weight) for end, weight in zip(accumulate(weights), weights, strict=True)]
