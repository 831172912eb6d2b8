"""When tasks are published: at the same time of the week, so that batches do not differ in day and
hour.

GENIE (section 6) publishes on weekdays at 10 am Pacific time.
"""

from __future__ import annotations

import re
import time as clocks
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from metal.errors import UnknownName, UsageError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FULL = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SETS = {"weekday": range(5), "weekdays": range(5), "weekend": range(5, 7), "daily": range(7)}
_SHAPE = re.compile(r"(?P<days>\S+)\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})\s+(?P<zone>\S+)")
EXAMPLE = "Mon-Fri 10:00 America/Los_Angeles"


@dataclass(frozen=True)
class Schedule:
    """A time of day on some days of the week, in a time zone. Day 0 is Monday."""

    days: frozenset[int]
    at: time
    zone: ZoneInfo


def parse_schedule(text: str) -> Schedule:
    """Read a schedule such as `Mon-Fri 10:00 America/Los_Angeles`, `weekday 10:00 UTC` or `Sat,Sun
    09:30 Asia/Tokyo`.

    A range may wrap around Sunday: `Sat-Mon`. Raises UsageError for another shape or an impossible
    time, UnknownName for an unknown day or time zone.

    >>> sorted(parse_schedule("Sat-Mon 10:00 UTC").days)
    [0, 5, 6]
    """
    match = _SHAPE.fullmatch(text.strip())
    if not match:
        raise UsageError(
            f"{text!r} is not a start time; write days, time and time zone: {EXAMPLE!r}"
        )
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 23 or minute > 59:
        raise UsageError(
            f"{text!r}: {hour}:{minute:02} is not a time of day; hours go from 0 to 23, minutes"
            " to 59"
        )
    return Schedule(_weekdays(match["days"]), time(hour, minute), _zone(match["zone"]))


def _weekdays(text: str) -> frozenset[int]:
    """Read weekdays (0 is Monday) from text such as "Mon-Fri", "Sat,Sun" or "daily". Raises
    UnknownName.
    """
    days: set[int] = set()
    for part in text.split(","):
        if part.casefold() in _SETS:
            days.update(_SETS[part.casefold()])
            continue
        first, dash, last = part.partition("-")
        begin = _day(first)
        days.update(
            (begin + step) % 7 for step in range((_day(last) - begin) % 7 + 1 if dash else 1)
        )
    return frozenset(days)


def _day(name: str) -> int:
    for number, (short, full) in enumerate(zip(DAYS, _FULL, strict=True)):
        if name.casefold() in (short.casefold(), full):
            return number
    raise UnknownName("day", name, (*DAYS, *_SETS))


def _zone(name: str) -> ZoneInfo:
    zones = available_timezones()
    if not zones:
        raise UsageError("this system knows no time zones; pip install tzdata")
    if name not in zones:
        raise UnknownName("time zone", name, sorted(zones))
    return ZoneInfo(name)


def next_start(schedule: Schedule, after: datetime) -> datetime:
    """The first start later than `after` (an aware datetime), in the schedule's zone.

    If the local time does not exist because clocks go forward, the start is the first instant after
    the gap. If the local time occurs twice because clocks go back, the start is the first of the
    two.
    """
    today = after.astimezone(schedule.zone).date()
    starts = (
        _instant(day, schedule)
        for day in (today + timedelta(days=step) for step in range(-2, 10))
        if day.weekday() in schedule.days
    )
    return min(start for start in starts if start > after.astimezone(UTC)).astimezone(schedule.zone)


def _instant(day: date, schedule: Schedule) -> datetime:
    """The instant, in UTC, of the start on that day."""
    local = datetime.combine(day, schedule.at, schedule.zone)
    instant = local.astimezone(UTC)
    if instant.astimezone(schedule.zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return instant
    # In a gap, fold=1 uses the offset after the change, which gives an instant before it. Clocks
    # change on a minute.
    instant = local.replace(fold=1).astimezone(UTC)
    offset = instant.astimezone(schedule.zone).utcoffset()
    while instant.astimezone(schedule.zone).utcoffset() == offset:
        instant += timedelta(minutes=1)
    return instant


def now() -> datetime:
    return datetime.now(UTC)


def start_of(text: str) -> datetime:
    """The next start of a schedule such as `Mon-Fri 10:00 America/Los_Angeles`, in the schedule's
    time zone.
    """
    return next_start(parse_schedule(text), now())


def start_line(start: datetime) -> str:
    """The line that announces a start: `Start: Friday 2024-03-08 10:00 PST, in 1 min 30 s`."""
    return f"Start: {start:%A %Y-%m-%d %H:%M} {start.tzname()}, in {in_words(start - now())}"


def wait_until(start: datetime, countdown: Callable[[timedelta], None] = lambda left: None) -> None:
    """Wait until `start`. countdown: called every second with the time left, and with zero at the
    end.

    The clock is read every second, so a machine that was asleep does not wait too long.
    """
    try:
        while (left := start - now()).total_seconds() > 0:
            countdown(left)
            clocks.sleep(min(left.total_seconds(), 1.0))
    finally:
        countdown(timedelta())


def in_words(left: timedelta) -> str:
    """A duration in its two largest units.

    >>> in_words(timedelta(hours=3, minutes=20)), in_words(timedelta(seconds=250))
    ('3 h 20 min', '4 min 10 s')
    """
    seconds = max(0, round(left.total_seconds()))
    parts = [
        (seconds // 86_400, "d"),
        (seconds // 3600 % 24, "h"),
        (seconds // 60 % 60, "min"),
        (seconds % 60, "s"),
    ]
    first = next((index for index, (count, _) in enumerate(parts) if count), 3)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])
