"""What `metal annotate push mturk` refuses before anything is posted, and the start it waits for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import click
import pytest

from metal.building.crowdsourcing import mturk, schedule
from metal.building.crowdsourcing.mturk_campaign import MTurkCampaign
from metal.data.dataset import load_dataset
from tests.cli.mturk_crowd import SAID, Crowd


def test_production_needs_to_be_asked_for_and_confirmed(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pass `yes=True` where nobody can be asked" in crowd.refused(*crowd.pushing, "--production")
    real = [*crowd.pushing[:-1], mturk.ENDPOINTS["production"]]
    assert "is the real Mechanical Turk; pass `production=True`" in crowd.refused(*real)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", lambda text: "production, for up to $2.40" not in text)
    assert crowd.refused(*crowd.pushing, "--production") == "nothing was sent"
    assert not crowd.server.hits
    assert not crowd.state.exists()
    crowd.push("--production", "--yes")
    assert crowd.standing()["environment"] == "production"
    needed = next(iter(crowd.server.hits.values()))["QualificationRequirements"]
    assert [each["IntegerValues"] for each in needed if "IntegerValues" in each] == [[5000], [99]]
    crowd.server.submit(next(iter(crowd.server.hits)), "A1", SAID)
    assert "rehearse" not in crowd.pull("--approve")
    assert {rater.group for rater in load_dataset(crowd.folder / "mine").raters.values()} == {"crowd"}
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "pass `yes=True`" in crowd.refused("annotate", "pull", "mturk", "mine", "--bonus", "A1=1")
    assert not crowd.server.bonuses


def test_without_the_money(crowd: Crowd) -> None:
    crowd.server.balance = Decimal("2.39")
    assert "has $2.39 and this costs $2.40; nothing was posted" in crowd.refused(*crowd.pushing)
    assert not crowd.server.hits


def test_too_long_a_task_is_named_before_anything_is_posted(crowd: Crowd) -> None:
    table = crowd.folder / "out" / "tasks-en.csv"
    rows = table.read_text(encoding="utf-8").splitlines()
    place = next(place for place, row in enumerate(rows) if "Nr. 1" in row)
    task = rows[place].split(",")[0]
    rows[place] = rows[place].replace("Nr. 1", "ب" * 70_000)
    table.write_text("\n".join(rows), encoding="utf-8")
    assert re.search(rf"task {task}: the page and its texts are 1\d\d,\d+ bytes", crowd.refused(*crowd.pushing))
    assert not crowd.server.hits


def test_tasks_of_another_dataset(crowd: Crowd) -> None:
    table = crowd.folder / "out" / "tasks-en.csv"
    rows = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join([*rows, rows[-1]]), encoding="utf-8")
    assert "there twice" in crowd.refused(*crowd.pushing)
    table.write_text("\n".join([*rows, rows[-1].replace("t", "x", 1)]), encoding="utf-8")
    assert "none of this dataset's" in crowd.refused(*crowd.pushing)
    table.write_text("\n".join([*rows, "t1,a"]), encoding="utf-8")
    assert "tasks-en.csv row 5: not a row as it was exported" in crowd.refused(*crowd.pushing)


def test_a_campaign_asks_the_same_throughout(crowd: Crowd) -> None:
    crowd.push()
    asks_more = [*crowd.pushing, "--minutes", "5"]
    assert "campaign 'out' was begun otherwise (duration was 1800, now 300)" in crowd.refused(*asks_more)
    starting = [*asks_more, "--start", "Mon-Fri 10:00 America/Los_Angeles"]
    assert "was begun otherwise" in crowd.refused(*starting)  # at once, not when it starts
    assert "cannot name a campaign" in crowd.refused(*crowd.pushing, "--name", "../x")
    assert "cannot name a campaign" in crowd.refused("annotate", "pull", "mturk", "mine", "--name", "../out")
    assert "did you mean 'out'?" in crowd.refused("annotate", "pull", "mturk", "mine", "--name", "ou")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--reward", "0.255"), "not a sum in USD and whole cents"),
        (("--reward", "-1"), "not a sum in USD"),
        (("--country", "Kenya"), "'Kenya' is not a code"),
        (("--qualification", "a/b"), "is not ID or ID=LOWEST"),
        (("-l", "sw"), "no tasks in 'sw'"),
        (("--endpoint-url", "http://me:password@127.0.0.1"), "without a name or password"),
        (("--print-start",), "`print_start` says when `start` is"),
    ],
)
def test_what_is_asked_wrongly(crowd: Crowd, options: tuple[str, ...], words: str) -> None:
    assert words in crowd.refused(*crowd.pushing, *options)


def test_nothing_pushed_yet(crowd: Crowd) -> None:
    assert "no campaign on Mechanical Turk; push one first" in crowd.refused("annotate", "pull", "mturk", "mine")
    assert "begins one" in crowd("annotate", "status", "mine")
    assert "is not a dataset" in crowd.refused("annotate", "status", "elsewhere")


# ---------------------------------------------------------------- scheduled starts

PACIFIC = "Mon-Fri 10:00 America/Los_Angeles"


class Time:
    """A clock that only sleeping moves. 2024-03-08 is a Friday."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = datetime(2024, 3, 8, 17, 58, 30, tzinfo=UTC)
        monkeypatch.setattr(schedule, "now", lambda: self.now)
        monkeypatch.setattr(schedule.clocks, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_a_push_waits_for_its_start(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time(monkeypatch)
    words = crowd.push("--start", PACIFIC)
    assert "Start: Friday 2024-03-08 10:00 PST, in 1 min 30 s" in words
    assert clock.now == datetime(2024, 3, 8, 18, tzinfo=UTC)
    hits = MTurkCampaign.open(crowd.folder / "mine").hits().values()
    assert {each["at"] for each in hits} == {"2024-03-08T18:00:00+00:00"}


def test_print_start_posts_nothing(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    Time(monkeypatch).sleep(90)
    words = crowd.push("--start", PACIFIC, "--print-start")
    assert words == "Start: Monday 2024-03-11 10:00 PDT, in 2 d 23 h"
    assert not crowd.server.calls


def test_an_interrupted_wait_posts_nothing(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time(monkeypatch)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(schedule.clocks, "sleep", interrupted)
    with pytest.raises((KeyboardInterrupt, click.exceptions.Abort)):
        crowd.push("--start", PACIFIC)
    assert "Nothing was posted." in crowd.capture.readouterr().out
    assert clock.now < datetime(2024, 3, 8, 18, tzinfo=UTC)
    assert not crowd.server.hits
    assert not crowd.state.exists()
