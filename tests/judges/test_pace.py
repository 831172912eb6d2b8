"""Pace: allowances, calls in flight cut and grown, waits that the provider asks for."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.raters.judges.limits import CUT, STREAK, Allowance, Pace
from metal.raters.judges.providers.failures import retry_after


def test_an_allowance_is_spent_evenly() -> None:
    allowance = Allowance(60)  # one a second, and one second's worth at once
    assert [allowance.delay(1, 1000.0) for _ in range(4)] == [0, 0, 1, 2]
    assert allowance.delay(1, 1003.0) == 0
    assert allowance.delay(30, 1100.0) == 0
    assert allowance.delay(1, 1100.0) == 29


def test_what_was_not_used_is_lost() -> None:
    allowance = Allowance(120, burst=2.0)
    assert [allowance.delay(2, 5000.0) for _ in range(4)] == [0, 0, 0, 1]
    assert [allowance.delay(2, 9000.0) for _ in range(4)] == [0, 0, 0, 1]


@given(
    st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 10)), min_size=1, max_size=30),
    st.floats(1, 1000),
)
def test_no_more_than_the_allowance_and_its_burst(
    asked: list[tuple[float, float]], a_minute: float
) -> None:
    allowance, now, used = Allowance(a_minute), 100.0, []
    for amount, gap in asked:
        now += gap
        used.append((now + allowance.delay(amount, now), amount))
    begins = [begin for begin, _ in used]
    assert begins == sorted(begins)
    for first, (start, _) in enumerate(used):  # what begins in any window was allowed in it
        for last in range(first, len(used)):
            spent = sum(amount for _, amount in used[first:last])
            assert spent <= (used[last][0] - start + allowance.burst) * a_minute / 60 + 1e-6


def test_no_more_calls_in_flight_than_allowed() -> None:
    async def run() -> int:
        pace, now, peak = Pace(3), 0, 0

        async def call() -> None:
            nonlocal now, peak
            await pace.enter(1, asyncio.Event())
            now += 1
            peak = max(peak, now)
            await asyncio.sleep(0)
            now -= 1
            pace.leave()

        await asyncio.gather(*(call() for _ in range(50)))
        assert pace.in_flight == 0
        return peak

    assert asyncio.run(run()) == 3


def test_cut_when_busy_and_grown_by_one_a_round() -> None:
    pace = Pace(10)
    sent = time.monotonic()
    pace.busy(0, sent)
    assert pace.limit == pytest.approx(10 * CUT)
    pace.busy(0, sent - 1)  # sent before the cut: the same crowd
    assert pace.limit == pytest.approx(10 * CUT)
    for _ in range(7):
        pace.answered()
    assert pace.limit == pytest.approx(8, abs=0.1)
    for _ in range(100):
        pace.answered()
    assert pace.limit == 10
    for _ in range(100):
        pace.busy(0, time.monotonic() + 1)
    assert pace.limit == 1


def test_all_calls_wait_as_long_as_the_provider_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = [100.0], []
    pace = Pace(4)

    async def sleep(over: asyncio.Event, seconds: float) -> bool:
        slept.append(seconds)
        clock[0] += seconds
        if len(slept) == 1:
            pace.busy(3.0, 0.0)  # told to wait again while waiting
        return False

    monkeypatch.setattr("metal.raters.judges.limits.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("metal.raters.judges.limits.sleep_until", sleep)
    pace.busy(5.0, 100.0)
    asyncio.run(pace.hold(1, asyncio.Event()))
    assert slept == [5.0, 3.0]
    pace.busy(1.0, 0.0)
    pace.busy(0.5, 0.0)  # a shorter wait does not shorten the longer one
    asyncio.run(pace.hold(1, asyncio.Event()))
    assert slept[2:] == [1.0]


def test_no_wait_outlives_the_end() -> None:
    async def run() -> None:
        pace, over = Pace(1), asyncio.Event()
        pace.busy(3600.0, 0.0)
        waiting = asyncio.create_task(pace.enter(1, over))
        await asyncio.sleep(0)
        over.set()
        await waiting

    asyncio.run(run())


def test_the_slower_limit_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(over: asyncio.Event, seconds: float) -> bool:
        slept.append(seconds)
        return False

    monkeypatch.setattr("metal.raters.judges.limits.time.monotonic", lambda: 100.0)
    monkeypatch.setattr("metal.raters.judges.limits.sleep_until", sleep)
    pace = Pace(4, Allowance(60), Allowance(600))

    async def run() -> None:
        for _ in range(3):
            # ten seconds' worth of tokens, one second's of requests
            await pace.hold(100, asyncio.Event())

    asyncio.run(run())
    assert slept == [9.0, 19.0]


def test_a_place_comes_back_when_a_call_is_cancelled_while_it_waits() -> None:
    async def run() -> None:
        pace = Pace(1)
        pace.busy(60.0, 0.0)
        waiting = asyncio.create_task(pace.enter(1, asyncio.Event()))
        await asyncio.sleep(0)
        assert pace.in_flight == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert pace.in_flight == 0

    asyncio.run(run())


def test_a_place_given_to_a_call_that_is_cancelled_goes_to_the_next() -> None:
    async def run() -> None:
        pace = Pace(1)
        await pace.enter(1, asyncio.Event())
        first, second = (asyncio.create_task(pace.enter(1, asyncio.Event())) for _ in range(2))
        await asyncio.sleep(0)
        pace.leave()  # gives the place to the first
        first.cancel()  # which is cancelled before it can take it
        done, _ = await asyncio.wait([second], timeout=60)
        second.cancel()
        assert done

    asyncio.run(run())


def test_down_after_a_streak_of_failures() -> None:
    pace = Pace(4)
    for _ in range(STREAK - 1):
        pace.failed()
    assert not pace.down
    pace.failed()
    assert pace.down
    pace.answered()
    assert not pace.down
    wide = Pace(100)
    for _ in range(199):
        wide.failed()
    assert not wide.down
    wide.failed()
    assert wide.down


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after-ms": "nan"}, 0),
        ({"retry-after-ms": "-1"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        # Our own clock may be hours off.
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT",
                "date": "Wed, 21 Oct 2015 07:27:55 GMT",
            },
            5,
        ),
    ],
)
def test_how_long_a_provider_asks_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers) == seconds
