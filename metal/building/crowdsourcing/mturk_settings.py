"""What is asked of Mechanical Turk, read from what people write: sums, addresses, qualifications, bonuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit

from metal.building.crowdsourcing.campaign import digest_of
from metal.building.crowdsourcing.label_studio import checked_url
from metal.building.crowdsourcing.mturk import ENDPOINTS
from metal.building.crowdsourcing.mturk_campaign import MTurkSettings
from metal.building.crowdsourcing.qualifications import QualificationTest
from metal.building.crowdsourcing.question import fields_of
from metal.errors import UsageError

DAY, MINUTE = 86_400, 60  # seconds
DESCRIPTION = "Read a text in LANGUAGE and say how good it is. Guidelines are on the page."
OFFENSIVE = " It may hold offensive content."
KEYWORDS = "LANGUAGE, text, rating, quality, reading"
COMPLETED_HITS, APPROVED = 5000, 99  # HITs done, percent approved: GENIE, section 6


def mturk_settings(
    files: Mapping[str, bytes],
    languages: tuple[str, ...],
    test: QualificationTest | None,
    *,
    production: bool,
    endpoint_url: str | None,
    reward: str,
    assignments: int,
    days: float,
    minutes: int,
    auto_approval: int,
    title: str,
    completed_hits: int | None,
    approved: int | None,
    countries: tuple[str, ...],
    qualifications: Sequence[str],
    cap: int | None,
    adult: bool,
    test_pass: int,
    start: str | None,
) -> MTurkSettings:
    """The settings of a campaign, in the units of MTurk. files: what is posted.

    completed_hits, approved: None for what GENIE asks in production, and for nothing in the sandbox. Raises UsageError
    for a bad sum, address or qualification.
    """
    layouts = [files[f"layout-{language}.html"].decode("utf-8", "replace") for language in languages]
    return MTurkSettings(
        environment="production" if production else "sandbox",
        endpoint=read_endpoint(endpoint_url, production),
        reward=f"{read_usd(reward, 'reward'):.2f}",
        assignments=assignments,
        lifetime=round(days * DAY),
        duration=minutes * MINUTE,
        auto_approval=auto_approval * DAY,
        languages=languages,
        title=title,
        description=DESCRIPTION + (OFFENSIVE if adult else ""),
        keywords=KEYWORDS,
        completed_hits=(COMPLETED_HITS if production else 0) if completed_hits is None else completed_hits,
        share_approved=(APPROVED if production else 0) if approved is None else approved,
        countries=countries,
        minimum=dict(map(read_qualification, qualifications)),
        cap=cap or 0,
        adult=adult,
        test=digest_of({"form": test.form.encode(), "key": test.key.encode()}) if test else "",
        test_pass=test_pass if test else 0,
        fields=tuple(dict.fromkeys(field for layout in layouts for field in fields_of(layout))),
        digest=digest_of(files),
        start=start or "",
    )


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
        raise UsageError(
            f"{host} is the real Mechanical Turk; pass `production=True`, or leave `endpoint_url` out"
        )
    return url
