"""`metal annotate push mturk` and `pull mturk`: tasks out to workers and ratings back."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import fromstring

import click
import pytest

from metal.building.crowdsourcing import mturk, schedule
from metal.building.crowdsourcing.mturk_campaign import MTurkCampaign
from metal.data.dataset import load_dataset
from tests.cli.forks import SLOWEST, Metal, environment
from tests.cli.mturk_crowd import AWS, HIDDEN, KEY_ID, SAID, SECRET, Crowd
from tests.saying import tells

# ---------------------------------------------------------------- there and back


class Page(HTMLParser):
    """The texts and fields of a page as a browser takes them apart."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.text, self.tags, self.fields = "", [], set()
        self.feed(fromstring(question)[0].text or "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fields |= {value or "" for name, value in attrs if name == "name"}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_there_and_back(crowd: Crowd) -> None:
    words = crowd.push()
    assert "Posted 4 tasks in the sandbox" in words
    assert (
        "4 tasks x 2 workers x $0.25 = $2.00, and $0.40 for Mechanical Turk: $2.40 in all, in the"
        " sandbox" in words
    )
    crowd.once()
    hits = crowd.hit_of()
    for output, hit in hits.items():
        for worker in ("A1", "A2"):
            crowd.server.submit(
                hit, worker, SAID | {"task_quality": "2" if worker == "A1" else "1"}
            )
        assert crowd.server.hits[hit]["Title"].startswith("Read a short text in ")
        assert ("Arabic" if "-ar-" in output else "English") in crowd.server.hits[hit]["Title"]
    words = crowd.pull()
    assert "Fetched 8 new assignments" in words
    assert "rehearse on a copy" in words
    result = crowd.ratings()
    for output in hits:
        scores = {key[1:]: score for key, score in result.items() if key[0] == output}
        assert scores == {
            (name, f"mturk:{worker}"): score
            for worker, quality in (("A1", 2), ("A2", 1))
            for name, score in (("task_quality", quality), ("hallucinations", 0), ("fluency", 73.5))
        }
    full = load_dataset(crowd.folder / "mine")
    assert {rater.group for rater in full.raters.values()} == {"sandbox"}
    assert set(full.ratings["comment"]) == {SAID["comment"]}


def test_hostile_texts_reach_workers_as_text(crowd: Crowd) -> None:
    crowd.push()
    outputs = load_dataset(crowd.folder / "mine").outputs
    benign = Page(crowd.server.hits[crowd.hit_of()["xgoodx-ar-0"]]["Question"])
    for output, hit in crowd.hit_of().items():
        page = Page(crowd.server.hits[hit]["Question"])
        assert outputs[output].text in page.text
        assert page.tags == benign.tags  # no text has become a tag
        assert page.fields == {"task_quality", "hallucinations", "fluency", "comment"}


def test_nothing_tells_where_an_output_comes_from(crowd: Crowd) -> None:
    crowd.push("--cap", "2")
    sent = json.dumps([*crowd.server.hits.values(), *crowd.server.types.values()])
    assert not [word for word in HIDDEN if word in sent]


def test_no_secret_is_kept(crowd: Crowd) -> None:
    crowd.push()
    crowd.server.submit(next(iter(crowd.server.hits)), "A1", SAID)
    crowd.pull("--approve", "--bonus", "A1=1")
    kept = b"".join(path.read_bytes() for path in crowd.folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert KEY_ID.encode() not in kept


# ---------------------------------------------------------------- pulling


def test_a_running_campaign_is_pulled_again_and_again(crowd: Crowd) -> None:
    crowd.push()
    assert tells(crowd.pull(), "no answers", "yet")
    first, second, *_ = crowd.server.hits
    crowd.server.submit(first, "A1", SAID)
    crowd.pull()
    before = crowd.ratings()
    assert len(before) == 3
    crowd.server.submit(first, "A2", SAID)
    gone = crowd.server.submit(second, "A2", SAID)
    crowd.server.review(gone, "Rejected")
    words = crowd.pull()
    assert "Fetched 2 new assignments" in words
    assert "1 rejected assignment" in words
    assert len(crowd.ratings()) == 6
    assert before.items() <= crowd.ratings().items()
    answers = (crowd.folder / "mine" / "annotation" / "answers.jsonl").read_text(encoding="utf-8")
    assert answers.count("\n") == 2  # each once, however often it was pulled
    counts = {"posted": 4, "submitted": 2, "approved": 0, "rejected": 1, "open": 5}
    assert crowd.standing().items() >= counts.items()


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb">]><QuestionFormAnswers>&b;</QuestionFormAnswers>'


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        (BOMB, "declares XML entities"),
        ("<QuestionFormAnswers>", "not XML"),
        (SAID | {"task_quality": "9"}, "not on the scale of task_quality"),
        (SAID | {"taskAnswers": "[[[["}, "not a list of objects"),
    ],
)
def test_a_hostile_answer_is_left_out_by_itself(
    crowd: Crowd, hostile: Mapping[str, str] | str, words: str
) -> None:
    crowd.push()
    hit = next(iter(crowd.server.hits))
    crowd.server.submit(hit, "A1", SAID)
    bad = crowd.server.submit(hit, "A2", hostile)
    assert words in crowd.pull("--approve")
    assert {rater for _, _, rater in crowd.ratings()} == {"mturk:A1"}
    assert crowd.server.assignments[bad]["AssignmentStatus"] == "Submitted"


def test_fields_that_workers_make_up_change_nothing(crowd: Crowd) -> None:
    crowd.push()
    made_up = {
        "Input.task": "t0",
        "WorkerId": "A9",
        "task_qualitz": "1",
        "task_quality.;;;;;;;;;;;;;;;;": "2",
    }
    crowd.server.submit(next(iter(crowd.server.hits)), "A1", SAID | made_up)
    crowd.pull()
    assert {rater for _, _, rater in crowd.ratings()} == {"mturk:A1"}


def test_only_complete_answers_are_approved_and_once(crowd: Crowd) -> None:
    crowd.push()
    hit = next(iter(crowd.server.hits))
    full = crowd.server.submit(hit, "A1", SAID)
    part = crowd.server.submit(hit, "A2", SAID | {"fluency": " "})
    crowd.pull()
    assert crowd.server.assignments[full]["AssignmentStatus"] == "Submitted"  # never by itself
    crowd.server.faults = {("ApproveAssignment", 1): "lose"}
    assert "Approved: 1" in crowd.pull("--approve")
    assert "Approved: 0" in crowd.pull("--approve")
    assert crowd.server.assignments[full]["AssignmentStatus"] == "Approved"
    assert crowd.server.assignments[part]["AssignmentStatus"] == "Submitted"
    assert crowd.standing()["spent"] == 0.30  # the reward and 20%
    assert crowd.standing()["waiting"] == 0.30
    assert crowd.server.balance == Decimal("9999.75")


def test_a_bonus_is_paid_once(crowd: Crowd) -> None:
    crowd.push()
    crowd.server.submit(next(iter(crowd.server.hits)), "A1", SAID)
    crowd.server.faults = {("SendBonus", 1): "lose"}
    assert "Bonuses paid: 1" in crowd.pull("--bonus", "A1=2.50")
    assert "Bonuses paid: 0, 1 were paid before" in crowd.pull("--bonus", "mturk:A1=2.50")
    assert [each["BonusAmount"] for each in crowd.server.bonuses] == ["2.50"]
    crowd.pull("--bonus", "A1=2.50", "--bonus-reason", "Another one.")
    assert len(crowd.server.bonuses) == 2
    assert crowd.standing()["spent"] == 6.0  # two of 2.50 and 20%
    assert "worker 'A7' has no assignment" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--bonus", "A7=1"
    )
    assert "not a sum in USD" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--bonus", "A1=nan"
    )


def test_a_bonus_of_a_pull_that_was_killed_long_ago_is_paid_once(crowd: Crowd) -> None:
    crowd.push()
    crowd.server.submit(next(iter(crowd.server.hits)), "A1", SAID)
    crowd.pull("--bonus", "A1=2.50")
    lines = (crowd.state / "bonuses.jsonl").read_text().splitlines(keepends=True)
    (crowd.state / "bonuses.jsonl").write_text(lines[0])  # killed before it knew
    crowd.server.remembers_tokens = False  # a day later
    assert "1 were paid before" in crowd.pull("--bonus", "A1=2.50")
    assert len(crowd.server.bonuses) == 1


# ---------------------------------------------------------------- who may work


def test_who_reached_the_cap_or_is_noisy_gets_no_further_tasks(crowd: Crowd) -> None:
    crowd.push("--cap", "2")
    first, second, third, _ = crowd.server.hits
    for hit in (first, second):
        crowd.server.submit(hit, "A1", SAID)
    crowd.server.submit(first, "A2", SAID)
    words = crowd.pull("--exclude", "mturk:A2")
    assert "No further tasks for 2 more workers" in words
    assert [crowd.server.may_work(third, worker) for worker in ("A1", "A2", "A3")] == [
        False,
        False,
        True,
    ]
    crowd.pull()
    assert crowd.server.calls["AssociateQualificationWithWorker"] == 2
    # A later campaign of the dataset begins without the noisy one; a full one may work again.
    crowd.push("--name", "later")
    latest = list(crowd.server.hits)[-1]
    assert [crowd.server.may_work(latest, worker) for worker in ("A1", "A2", "A3")] == [
        True,
        False,
        True,
    ]


def test_requirements_and_a_test(crowd: Crowd) -> None:
    (crowd.folder / "test.jsonl").write_text(
        '{"question": "q?", "choices": ["a", "b"], "right": "b"}\n'
    )
    crowd.push(
        "--test",
        "test.jsonl",
        "--completed-hits",
        "5000",
        "--approved",
        "99",
        "--country",
        "US,GB",
        "-l",
        "en",
    )
    assert len(crowd.server.hits) == 3
    test, shut = crowd.server.types.values()
    assert "q?" in test["Test"]
    assert test["TestDurationInSeconds"] == 3600
    needed = next(iter(crowd.server.hits.values()))["QualificationRequirements"]
    assert {each["QualificationTypeId"]: each.get("IntegerValues") for each in needed} == {
        "00000000000000000040": [5000],
        "000000000000000000L0": [99],
        test["QualificationTypeId"]: [80],
        "00000000000000000071": None,
        shut["QualificationTypeId"]: None,
    }


def test_expire(crowd: Crowd) -> None:
    crowd.push()
    crowd.pull("--expire")
    assert all(
        each["Expiration"] < datetime.now(UTC).timestamp() + 1
        for each in crowd.server.hits.values()
    )
    standing = crowd.standing()
    assert standing["expires"] <= datetime.now(UTC).isoformat()
    assert standing["open"] == 0


def test_extend(crowd: Crowd) -> None:
    crowd.push("--days", "1")
    assert "mutually exclusive" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--expire", "--extend", "2"
    )
    crowd.pull("--extend", "30")
    later = datetime.now(UTC) + timedelta(days=29)
    assert all(each["Expiration"] > later.timestamp() for each in crowd.server.hits.values())
    assert crowd.standing()["expires"] > later.isoformat()


def test_only_what_is_named_is_rejected_and_not_taken_in(crowd: Crowd) -> None:
    crowd.push()
    hit = next(iter(crowd.server.hits))
    named, other = (crowd.server.submit(hit, worker, SAID) for worker in ("A1", "A2"))
    assert "is not in campaign" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--reject", f"{named}x=why"
    )
    assert "workers are told why" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--reject", named
    )
    crowd.server.faults = {("RejectAssignment", 1): "lose"}
    assert "Rejected: 1" in crowd.pull("--reject", f"{named}=It was answered at random.")
    assert "Rejected: 0" in crowd.pull("--reject", f"{named}=It was answered at random.")
    assert [crowd.server.assignments[name]["AssignmentStatus"] for name in (named, other)] == [
        "Rejected",
        "Submitted",
    ]
    assert {rater for _, _, rater in crowd.ratings()} == {"mturk:A2"}


def test_a_hit_that_was_deleted_keeps_its_answers(crowd: Crowd) -> None:
    crowd.push()
    first, second, *_ = crowd.server.hits
    crowd.server.submit(first, "A1", SAID)
    crowd.pull()
    del crowd.server.hits[first]
    crowd.server.submit(second, "A1", SAID)
    assert tells(crowd.pull(), "1 task", "no longer")
    assert len(crowd.ratings()) == 6


def test_production_needs_to_be_asked_for_and_confirmed(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "pass `yes=True`" in crowd.refused(*crowd.pushing, "--production")
    real = [*crowd.pushing[:-1], mturk.ENDPOINTS["production"]]
    assert "`production=True`" in crowd.refused(*real)
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
    assert {rater.group for rater in load_dataset(crowd.folder / "mine").raters.values()} == {
        "crowd"
    }
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "pass `yes=True`" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--bonus", "A1=1"
    )
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
    assert re.search(rf"task {task}: .* 1\d\d,\d+ bytes", crowd.refused(*crowd.pushing))
    assert not crowd.server.hits


def test_tasks_of_another_dataset(crowd: Crowd) -> None:
    table = crowd.folder / "out" / "tasks-en.csv"
    rows = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join([*rows, rows[-1]]), encoding="utf-8")
    assert "there twice" in crowd.refused(*crowd.pushing)
    table.write_text("\n".join([*rows, rows[-1].replace("t", "x", 1)]), encoding="utf-8")
    assert "not in this dataset" in crowd.refused(*crowd.pushing)
    table.write_text("\n".join([*rows, "t1,a"]), encoding="utf-8")
    assert tells(crowd.refused(*crowd.pushing), "tasks-en.csv row 5:", "not a row")


def test_a_campaign_asks_the_same_throughout(crowd: Crowd) -> None:
    crowd.push()
    asks_more = [*crowd.pushing, "--minutes", "5"]
    assert tells(crowd.refused(*asks_more), "campaign 'out'", "(duration was 1800, now 300)")
    starting = [*asks_more, "--start", "Mon-Fri 10:00 America/Los_Angeles"]
    assert "other settings" in crowd.refused(*starting)  # at once, not when it starts
    assert "cannot name a campaign" in crowd.refused(*crowd.pushing, "--name", "../x")
    assert "cannot name a campaign" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--name", "../out"
    )
    assert "did you mean 'out'?" in crowd.refused(
        "annotate", "pull", "mturk", "mine", "--name", "ou"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--reward", "0.255"), "whole cents"),
        (("--reward", "-1"), "not a sum in USD"),
        (("--country", "Kenya"), "'Kenya' is not a code"),
        (("--qualification", "a/b"), "is not ID or ID=LOWEST"),
        (("-l", "sw"), "no tasks in 'sw'"),
        (("--endpoint-url", "http://me:password@127.0.0.1"), "name or password"),
        (("--print-start",), "`print_start`.*`start`"),
    ],
)
def test_what_is_asked_wrongly(crowd: Crowd, options: tuple[str, ...], words: str) -> None:
    assert re.search(words, crowd.refused(*crowd.pushing, *options))


def test_nothing_pushed_yet(crowd: Crowd) -> None:
    assert "no campaign on Mechanical Turk; push one first" in crowd.refused(
        "annotate", "pull", "mturk", "mine"
    )
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
    assert tells(words, "Friday 2024-03-08 10:00 PST", "1 min 30 s")
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


@pytest.fixture
def killed(crowd: Crowd, processes: Metal) -> Any:
    """Runs `metal` as a process, and kills it (kill -9) when the server was asked for something."""
    started = processes.at(crowd.folder, environment(crowd.folder, **AWS))

    def run(fault: tuple[str, int], kind: str, *arguments: object) -> None:
        crowd.server.faults = {fault: kind}
        running = started.start(*arguments)
        assert crowd.server.held.wait(SLOWEST), running.files["err"].read_text()
        running.send(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        crowd.server.released.set()
        crowd.server.faults = {}

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "kind", "present"),
    [
        (("CreateHIT", 1), "hold", 1),  # posted, and the process never knew
        (("CreateHIT", 3), "hold", 3),
        (("CreateHIT", 3), "hold-before", 2),  # announced, and never posted
        (("CreateQualificationType", 1), "hold", 0),
    ],
)
def test_a_killed_push_posts_nothing_twice(
    crowd: Crowd, killed: Any, fault: Any, kind: str, present: int
) -> None:
    killed(fault, kind, *crowd.pushing)
    assert len(crowd.server.hits) == present
    posted = 4 - present if kind == "hold" else 2
    assert f"Posted {posted} task" in crowd.push()
    crowd.once()
    assert len(crowd.server.types) == 1
    assert "Posted 0 tasks in the sandbox, 4 were there" in crowd.push()
    crowd.once()


def test_a_push_killed_days_ago_posts_nothing_twice(crowd: Crowd, killed: Any) -> None:
    killed(("CreateHIT", 2), "hold", *crowd.pushing)
    crowd.server.remembers_tokens = False
    crowd.push()
    crowd.once()


def test_a_hit_that_is_not_listed_yet_is_found_by_its_token(
    crowd: Crowd, killed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(("CreateHIT", 2), "hold", *crowd.pushing)
    monkeypatch.setattr(crowd.server, "ListHITs", lambda wish: {"HITs": []}, raising=False)
    crowd.push()
    crowd.once()


def test_answers_that_are_lost_or_delayed_post_nothing_twice(crowd: Crowd) -> None:
    crowd.server.faults = {
        ("CreateHIT", 1): "lose",
        ("CreateHIT", 3): "throttle",
        ("CreateHIT", 4): "throttle",
        ("CreateHIT", 6): "lose",
        ("CreateQualificationType", 1): "lose",
    }
    crowd.push()
    crowd.once()


@pytest.mark.slow
def test_a_killed_pull_approves_and_pays_once(crowd: Crowd, killed: Any) -> None:
    crowd.push()
    first, second, *_ = crowd.server.hits
    for hit in (first, second):
        crowd.server.submit(hit, "A1", SAID)
    pulling = ("annotate", "pull", "mturk", "mine", "--approve", "--bonus", "A1=1")
    killed(("ApproveAssignment", 2), "hold", *pulling)
    crowd.server.held.clear()
    crowd.server.released.clear()
    assert len(crowd.ratings()) == 6
    killed(("SendBonus", 1), "hold", *pulling)
    crowd.pull("--approve", "--bonus", "A1=1")
    assert len(crowd.server.bonuses) == 1
    assert crowd.server.balance == Decimal("9999.50")  # two rewards
    assert crowd.standing()["spent"] == pytest.approx(2 * 0.30 + 1.20)
