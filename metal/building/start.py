"""Waiting for the time of the week at which tasks are published."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

LONGEST_SLEEP = 30.0  # seconds: a machine that was asleep meanwhile looks at its clock again


def clock() -> datetime:
    return datetime.now(UTC)


def start_of(text: str) -> datetime:
    """The next start of a schedule such as `Mon-Fri 10:00 America/Los_Angeles`, in its zone."""
    from metal.building.crowdsourcing.schedule import next_start, parse_schedule

    return next_start(parse_schedule(text), clock())


def show_start(start: datetime) -> None:
    from metal.show.terminal import console as show

    show.say(f"Start: {start:%A %Y-%m-%d %H:%M} {start.tzname()}, in {_in_words(start - clock())}", wrap=False)


def wait_until(start: datetime) -> None:
    """Return at `start`, not before; a terminal shows how long that is. Ctrl-C ends it, with nothing posted."""
    from metal.show.terminal import console as show

    show_start(start)
    show.say("Waiting; nothing is posted before. Ctrl-C ends this.")
    counting = sys.stderr.isatty()
    try:
        while (left := (start - clock()).total_seconds()) > 0:
            if counting:
                print(f"\r{_in_words(timedelta(seconds=left)):<24}", end="", file=sys.stderr, flush=True)
            time.sleep(min(left, 1.0 if counting else LONGEST_SLEEP))
    except KeyboardInterrupt:
        show.say("Nothing was posted.")
        raise
    finally:
        if counting:
            print(f"\r{'':<24}\r", end="", file=sys.stderr, flush=True)


def _in_words(left: timedelta) -> str:
    """`2 d 3 h`, `3 h 20 min`, `4 min 10 s`."""
    seconds = max(0, round(left.total_seconds()))
    parts = [(seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next((place for place, (count, _) in enumerate(parts) if count), 3)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])
