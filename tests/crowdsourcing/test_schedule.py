"""Starts at the same local time of the week, whatever clocks do in between."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.building.crowdsourcing.schedule import Schedule, next_start, parse_schedule
from metal.errors import UnknownName, UsageError

PACIFIC = "America/Los_Angeles"


def start(text: str, after: str) -> str:
    """The next start after an instant in UTC, with its offset."""
    return next_start(
        parse_schedule(text), datetime.fromisoformat(after).replace(tzinfo=UTC)
    ).isoformat()


def test_genies_hour():
    # 2024-03-08 is a Friday; 10:00 Pacific is 18:00 UTC in winter and 17:00 from Sunday, March 10,
    # on.
    assert start(f"Mon-Fri 10:00 {PACIFIC}", "2024-03-08T17:59:59") == "2024-03-08T10:00:00-08:00"
    assert start(f"Mon-Fri 10:00 {PACIFIC}", "2024-03-08T18:00:00") == "2024-03-11T10:00:00-07:00"
    assert start(f"weekdays 10:00 {PACIFIC}", "2024-11-01T17:00:00") == "2024-11-04T10:00:00-08:00"


def test_a_time_that_does_not_exist_is_the_first_after_the_gap():
    # 02:30 on 2024-03-10: from 02:00 clocks go to 03:00.
    assert start(f"Sun 02:30 {PACIFIC}", "2024-03-10T00:00:00") == "2024-03-10T03:00:00-07:00"
    # Lord Howe Island goes forward by half an hour, from 02:00 to 02:30.
    assert (
        start("Sun 02:15 Australia/Lord_Howe", "2024-10-05T00:00:00") == "2024-10-06T02:30:00+11:00"
    )
    # Samoa had no 2011-12-30: that Friday's start is Saturday's first instant.
    assert start("Fri 10:00 Pacific/Apia", "2011-12-29T20:00:00") == "2011-12-31T00:00:00+14:00"


def test_a_time_that_comes_twice_is_the_first():
    # 01:30 on 2024-11-03 is 08:30 UTC, and 09:30 UTC once more.
    assert start(f"Sun 01:30 {PACIFIC}", "2024-11-03T00:00:00") == "2024-11-03T01:30:00-07:00"
    assert start(f"Sun 01:30 {PACIFIC}", "2024-11-03T08:30:00") == "2024-11-10T01:30:00-08:00"


def test_days():
    assert parse_schedule("Sat-Mon 09:30 Asia/Tokyo").days == {5, 6, 0}
    assert parse_schedule("monday,Wed 9:30 UTC").days == {0, 2}
    assert parse_schedule("daily 00:00 UTC").days == set(range(7))
    assert parse_schedule("weekend 9:05 UTC") == Schedule(
        frozenset({5, 6}), time(9, 5), ZoneInfo("UTC")
    )


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("10:00 UTC", UsageError, "Mon-Fri 10:00 America/Los_Angeles"),
        ("Mon 24:00 UTC", UsageError, "not a time of day"),
        ("Mon 10:60 UTC", UsageError, "not a time of day"),
        ("Mondy 10:00 UTC", UnknownName, "Mon"),
        ("Mon-Fry 10:00 UTC", UnknownName, "Fri"),
        ("Mon 10:00 America/Los_Angles", UnknownName, "America/Los_Angeles"),
        ("Mon 10:00 ../../etc/passwd", UnknownName, "time zone"),
    ],
)
def test_what_is_no_start(text, error, words):
    with pytest.raises(error, match=words):
        parse_schedule(text)


schedules = st.builds(
    lambda days, at, zone: Schedule(frozenset(days), at, ZoneInfo(zone)),
    st.sets(st.integers(0, 6), min_size=1),
    st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    st.sampled_from(
        [PACIFIC, "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "America/St_Johns"]
    ),
)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))


@given(schedules, instants)
def test_the_next_start_is_the_next(schedule, after):
    result = next_start(schedule, after)
    assert after < result
    assert result - after <= timedelta(days=8)
    # Whoever asks just before it gets the same, and whoever asks at it gets a later one.
    assert next_start(schedule, result.astimezone(UTC) - timedelta(microseconds=1)) == result
    assert next_start(schedule, result.astimezone(UTC)).astimezone(UTC) > result.astimezone(UTC)


@given(schedules, instants)
def test_it_is_at_that_local_time_unless_the_clock_never_shows_it(schedule, after):
    result = next_start(schedule, after)
    shown = result.astimezone(UTC).astimezone(schedule.zone)
    assert shown.weekday() in schedule.days
    if shown.time() == schedule.at:
        assert shown.fold == 0
        return
    just_before = (result.astimezone(UTC) - timedelta(seconds=1)).astimezone(schedule.zone)
    assert just_before.time() < schedule.at < shown.time()  # the clock jumped over it, just then
    assert just_before.utcoffset() < shown.utcoffset()


@given(schedules, instants, st.integers(0, 9 * 86_400))
def test_no_start_is_passed_over(schedule, after, seconds):
    """An instant between two starts belongs to the later one."""
    first = next_start(schedule, after)
    between = after + timedelta(seconds=seconds)
    if between < first.astimezone(UTC):
        assert next_start(schedule, between) == first
