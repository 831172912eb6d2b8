"""What `metal judge` prints when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metal.data.text import duration
from metal.raters.judges.call import REFUSED
from metal.raters.judges.collect import CallStatistics
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.reader import OFF_SCALE, UNPARSABLE
from metal.show.terminal import console as show
from metal.show.terminal.asking_text import oddities, show_calls


def show_judges(tallies: Mapping[str, CallStatistics], plan: JudgingPlan) -> None:
    """The closing tables, a row a judge, and what is odd about a judge's answers."""
    rows = []
    for name in plan.names.values():
        tally = tallies[name]
        kinds = [tally.answered, tally.kinds[UNPARSABLE] + tally.kinds[OFF_SCALE], tally.kinds[REFUSED]]
        rest = sum(tally.kinds.values()) - sum(kinds)
        rows.append([name, *(f"{count:,}" for count in (*kinds, rest, tally.retried + tally.asked_again))])
    if rows:
        show.table("Answers", ["judge", "answered", "unparsable", "refused", "other", "retried"], rows)
        show_calls(tallies, plan)
    for name in plan.names.values():
        for line in oddities(name, tallies[name]):
            show.say(line)


def show_ratings(rows: int, unanswered: Mapping[tuple[str, str], int], out: Path, seconds: float) -> None:
    """How many ratings there are, and what baselines did not answer."""
    for (name, reason), count in unanswered.items():
        show.say(f"{name}: {count:,} without an answer ({reason})")
    show.say(f"{rows:,} ratings in {out} ({duration(seconds)})", wrap=False)
