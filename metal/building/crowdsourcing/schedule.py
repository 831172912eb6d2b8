"""When tasks are published: always at the same time of the week, so that days and hours do not vary with the batch.

GENIE (section 6) publishes on weekdays at 10 am Pacific time.
"""

from __future__ import annotations

import re
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
    """A time of day on some days of the week (0 is Monday), in a time zone."""

    days: frozenset[int]
    at: time
    zone: ZoneInfo

    def __str__(self) -> str:
        return f"{','.join(DAYS[day] for day in sorted(self.days))} {self.at:%H:%M} {self.zone.key}"


def parse_schedule(text: str) -> Schedule:
    """The schedule of `Mon-Fri 10:00 America/Los_Angeles`, `weekday 10:00 UTC`, `Sat,Sun 09:30 Asia/Tokyo`.

    A range may go over Sunday: `Sat-Mon`. Raises UsageError for another shape or an impossible time, UnknownName for
    a day or time zone nobody knows.
    """
    found = _SHAPE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is not a start; write days, time and time zone: {EXAMPLE!r}")
    hour, minute = int(found["hour"]), int(found["minute"])
    if hour > 23 or minute > 59:
        raise UsageError(f"{text!r}: {hour}:{minute:02} is no time of day; hours go from 0 to 23, minutes to 59")
    return Schedule(_days(found["days"]), time(hour, minute), _zone(found["zone"]))


def _days(text: str) -> frozenset[int]:
    days: set[int] = set()
    for part in text.split(","):
        if part.casefold() in _SETS:
            days.update(_SETS[part.casefold()])
            continue
        first, dash, last = part.partition("-")
        begin = _day(first)
        days.update((begin + step) % 7 for step in range((_day(last) - begin) % 7 + 1 if dash else 1))
    return frozenset(days)


def _day(name: str) -> int:
    for number, (short, full) in enumerate(zip(DAYS, _FULL, strict=True)):
        if name.casefold() in (short.casefold(), full):
            return number
    raise UnknownName("day", name, (*DAYS, *_SETS))


def _zone(name: str) -> ZoneInfo:
    known = available_timezones()
    if not known:
        raise UsageError("this system knows no time zones; pip install tzdata")
    if name not in known:
        raise UnknownName("time zone", name, sorted(known))
    return ZoneInfo(name)


def next_start(schedule: Schedule, after: datetime) -> datetime:
    """The first start later than `after`, which is aware; in the schedule's zone.

    Where clocks go forward and the local time does not exist, it is the first instant after the gap; where they go
    back and it comes twice, the first of the two.
    """
    today = after.astimezone(schedule.zone).date()
    starts = (
        _instant(day, schedule)
        for day in (today + timedelta(days=step) for step in range(-2, 10))
        if day.weekday() in schedule.days
    )
    return min(start for start in starts if start > after.astimezone(UTC)).astimezone(schedule.zone)


def _instant(day: date, schedule: Schedule) -> datetime:
    """The instant, in UTC, at which the day's start is due."""
    local = datetime.combine(day, schedule.at, schedule.zone)
    instant = local.astimezone(UTC)
    if instant.astimezone(schedule.zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return instant
    # In a gap, fold=0 reads the clock as before it (an instant after the change), fold=1 as after it (one before).
    before, after = local.replace(fold=1).astimezone(UTC), instant
    offset = before.astimezone(schedule.zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle.astimezone(schedule.zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
