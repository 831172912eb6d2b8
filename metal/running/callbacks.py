"""How a run reports and asks. Below the command line nothing is printed and nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from metal.raters.judges.cost import CostEstimate
from metal.raters.judges.engine import Engine


@contextmanager
def unwatched(engine: Engine) -> Iterator[Callable[[], None]]:
    """Nobody looks at the progress."""
    yield lambda: None


@dataclass(frozen=True)
class Callbacks:
    """What a run does with what there is to say. Every default stays silent and goes on.

    say: a note or a warning. estimated: calls, tokens and cost to come, and what they are about, before anything is
    sent. confirm: whether to go on, where something is to be paid. watch: entered with the engine while it works;
    what it gives is called again and again, to show the progress. interrupted: what a first Ctrl-C came to.
    signals: whether Ctrl-C and SIGTERM stop the run in good order; only in the main thread.
    """

    say: Callable[[str], None] = lambda line: None
    estimated: Callable[[Sequence[CostEstimate], str], None] = lambda estimates, what: None
    confirm: Callable[[Sequence[CostEstimate]], bool] = lambda estimates: True
    watch: Callable[[Engine], AbstractContextManager[Callable[[], None]]] = unwatched
    interrupted: Callable[[str], None] = lambda line: None
    signals: bool = False
