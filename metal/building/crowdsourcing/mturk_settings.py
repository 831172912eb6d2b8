"""What is asked of Mechanical Turk, and how sums, addresses, qualifications and bonuses are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit

from metal.building.crowdsourcing.label_studio import checked_url
from metal.building.crowdsourcing.mturk import ENDPOINTS
from metal.errors import UsageError


@dataclass(frozen=True)
class MTurkSettings:
    """What a campaign asks of Mechanical Turk and its workers.

    reward: USD an assignment. lifetime, duration, auto_approval: seconds that a HIT is offered, that a worker has for
    it, and until MTurk itself pays what nobody reviewed. cap: assignments a worker may do, 0 for any number.
    minimum: qualification type -> lowest score. fields: of the layouts. digest: of what is posted. key: makes the
    tokens; not secret. start: the schedule it was published on, if any.
    """

    environment: str
    endpoint: str
    reward: str
    assignments: int
    lifetime: int
    duration: int
    auto_approval: int
    languages: tuple[str, ...]
    title: str
    description: str
    keywords: str
    completed_hits: int = 0
    share_approved: int = 0
    countries: tuple[str, ...] = ()
    minimum: Mapping[str, int] = field(default_factory=dict)
    cap: int = 0
    adult: bool = False
    test: str = ""
    test_pass: int = 0
    fields: tuple[str, ...] = ()
    digest: str = ""
    platform: str = "mturk"
    key: str = ""
    created: str = ""
    start: str = ""


def read_usd(text: str, parameter: str) -> Decimal:
    """Money in whole cents. Raises UsageError, naming the parameter.

    >>> read_usd("$0.25", "reward")
    Decimal('0.25')
    """
    try:
        usd = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or usd <= 0 or usd != usd.quantize(Decimal("0.01")):
        raise UsageError(f"`{parameter}` {text!r} is not a sum in USD and whole cents, such as 0.25")
    return usd


def read_qualification(text: str) -> tuple[str, int]:
    """(qualification type, lowest score) of `ID=LOWEST`; without a score 1."""
    kind, _, lowest = text.partition("=")
    if not kind.isalnum() or not (lowest or "1").isdecimal():
        raise UsageError(f"`qualification` {text!r} is not ID or ID=LOWEST")
    return kind, int(lowest or 1)


def read_bonus(text: str) -> tuple[str, Decimal]:
    """(worker, USD) of `WORKER=USD`."""
    worker, equals, usd = text.rpartition("=")
    if not equals or not worker:
        raise UsageError(f"`bonus` {text!r} is not WORKER=USD, such as A1B2C3=2.50")
    return worker.removeprefix("mturk:"), read_usd(usd, "bonus")


def read_rejection(text: str) -> tuple[str, str]:
    """(assignment, reason) of `ASSIGNMENT=REASON`."""
    assignment, _, reason = text.partition("=")
    if not assignment or not reason.strip():
        raise UsageError(f"`reject` {text!r} is not ASSIGNMENT=REASON; workers are told why")
    return assignment, reason.strip()


def read_endpoint(url: str | None, production: bool) -> str:
    """Where calls go. Raises UsageError for an address with a password, and for production without `production`."""
    if not url:
        return ENDPOINTS["production" if production else "sandbox"]
    checked_url(url, "endpoint_url", "http://127.0.0.1:8000")
    host = urlsplit(url).hostname or ""
    if host.endswith(".amazonaws.com") and "sandbox" not in host and not production:
        raise UsageError(f"{host} is the real Mechanical Turk; pass `production=True`, or leave `endpoint_url` out")
    return url
