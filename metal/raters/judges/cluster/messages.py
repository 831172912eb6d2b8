"""What the coordinator and the workers tell each other. Times are spans: the clocks of two machines differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from metal.raters.judges.engine import JudgeSetup
from metal.raters.judges.journal import Record
from metal.raters.judges.limits import TokenEstimator


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker has to know of its judge. keys: values of environment variables, never shown.

    addresses: environment variables as the driver has them; None: not set.
    """

    judge: JudgeSetup
    ever_answered: bool
    keys: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, str | None] = field(repr=False)


@dataclass(frozen=True)
class LeaseRequest:
    """What a worker needs to continue. turns: tokens of each request; calls: US dollars of each call, at most."""

    turns: tuple[float, ...] = ()
    calls: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lease:
    """What a worker gets: every turn, the first after `delay` seconds and one each `spacing`; the first `calls` calls.

    over: no further call will be granted. estimator: of tokens, by all replies of the judge so far.
    """

    delay: float
    spacing: float
    calls: int
    over: bool
    estimator: TokenEstimator


@dataclass(frozen=True)
class JudgeStatus:
    """The state of a judge. places: calls that the worker may have in flight. halted: the run was asked to stop.

    hold: seconds for which nothing may be sent, because the provider asked for a wait; holds: how often it has.
    """

    places: int
    holds: int
    hold: float = field(compare=False)
    stopped: str
    closed: bool
    halted: bool
    ever_answered: bool
    rejected: Mapping[str, str]


@dataclass
class WorkerReport:
    """What has happened at a worker since its last report.

    records: (shard, record) for the shards' journals. ended: calls that it had a lease for; released: US dollars of
    these leases; spent: US dollars of replies. learned: (rough tokens, in, out) of replies. busy: the longest wait that
    the provider asked for. rejected: parameter -> what was said, the line for the journal. places: the most calls it
    will have in flight from now on.
    """

    records: list[tuple[int, Record]] = field(default_factory=list)
    ended: int = 0
    released: float = 0.0
    spent: float = 0.0
    sent: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    learned: list[tuple[float, int | None, int | None]] = field(default_factory=list)
    busy: float = 0.0
    stopped: str = ""
    rejected: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    places: int | None = None
    in_flight: int = 0
