"""A push or pull on Mechanical Turk that is killed: continued, it posts, approves and pays nothing twice."""

from __future__ import annotations

import signal
from decimal import Decimal
from typing import Any

import pytest

from tests.cli.forks import Metal, environment
from tests.cli.mturk_crowd import AWS, SAID, Crowd


@pytest.fixture
def killed(crowd: Crowd, processes: Metal) -> Any:
    """Runs `metal` as a process, and kills it (kill -9) when the server was asked for something."""
    started = processes.at(crowd.folder, environment(crowd.folder, **AWS))

    def run(fault: tuple[str, int], kind: str, *arguments: object) -> None:
        crowd.server.faults = {fault: kind}
        running = started.start(*arguments)
        assert crowd.server.held.wait(60), running.files["err"].read_text()
        running.send(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        crowd.server.released.set()
        crowd.server.faults = {}

    return run


@pytest.mark.parametrize(
    ("fault", "kind", "present"),
    [
        (("CreateHIT", 1), "hold", 1),  # posted, and the process never knew
        (("CreateHIT", 3), "hold", 3),
        (("CreateHIT", 3), "hold-before", 2),  # announced, and never posted
        (("CreateQualificationType", 1), "hold", 0),
    ],
)
def test_a_killed_push_posts_nothing_twice(crowd: Crowd, killed: Any, fault: Any, kind: str, present: int) -> None:
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
