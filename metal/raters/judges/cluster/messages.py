"""What the coordinator and the workers say to each other. Times are spans: clocks of two machines differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from metal.raters.judges.cost import TokenGuess
from metal.raters.judges.engine import Rules
from metal.raters.judges.models import Model
from metal.raters.judges.secrets import Secrets


@dataclass(frozen=True)
class Settings:
    """What a worker has to know of its judge. keys: values of environment variables, never shown.

    addresses: environment variables as the driver has them; None: not set.
    """

    model: Model
    rules: Rules
    answer_tokens: int
    rejected: Mapping[str, str]
    ever_answered: bool
    keys: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, str | None] = field(repr=False)
    secrets: Secrets = field(repr=False)


@dataclass(frozen=True)
class Known:
    """What a shard's journal holds already, by key: settled, or how many unreadable replies."""

    settled: frozenset[bytes] = frozenset()
    unreadable: Mapping[bytes, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Wish:
    """What a worker needs to go on. turns: tokens of each request; calls: US dollars of each call, at most."""

    turns: tuple[float, ...] = ()
    calls: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lease:
    """What it gets: every turn, the first after `delay` seconds and then one each `spacing`; the first `calls` calls.

    over: no further call will be granted. guess: of tokens, by all the judge's replies so far.
    """

    delay: float
    spacing: float
    calls: int
    over: bool
    guess: TokenGuess


@dataclass(frozen=True)
class News:
    """How a judge stands. places: calls that the worker may have in flight. halted: somebody asked the run to stop.

    hold: seconds for which nothing may be sent, because the provider wants to be left alone; the holds-th time.
    """

    places: int
    holds: int
    hold: float = field(compare=False)
    stopped: str
    closed: bool
    halted: bool
    ever_answered: bool
    rejected: Mapping[str, str]


@dataclass(frozen=True)
class Line:
    """A line for the journal of a shard; see metal.raters.judges.settling.Host.write."""

    shard: int
    line: bytes
    kind: str
    settled: bool


@dataclass
class Report:
    """What happened at a worker since its last one.

    ended: calls that it had a lease for; released: US dollars of these leases, spent: of replies. learned: (rough
    tokens, in, out) of replies. busy: the longest wait that the provider asked for. places: the most that it will have
    in flight from now on. refused: parameter -> what was said, its line for the journal.
    """

    lines: list[Line] = field(default_factory=list)
    ended: int = 0
    released: float = 0.0
    spent: float = 0.0
    sent: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    learned: list[tuple[float, int | None, int | None]] = field(default_factory=list)
    busy: float = 0.0
    stopped: str = ""
    refused: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    places: int | None = None
    in_flight: int = 0
