"""The batch services that tests use: time passes over jobs as it should, and nothing is answered twice unasked."""

from __future__ import annotations

from typing import Any

import pytest

from tests import batch_jobs
from tests.batch_jobs import BatchService, Behaviour, in_turn
from tests.llm_server import Fault, LlmServer, prompt_digest

PATH = "/v1/chat/completions"


@pytest.fixture
def server() -> LlmServer:
    return LlmServer()


@pytest.fixture
def service(server: LlmServer) -> BatchService:
    return BatchService(server.line_reply)


def requests(count: int = 4, start: int = 0) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"key-{number}", {"model": "m", "messages": [{"role": "user", "content": f"Question {number}"}]})
        for number in range(start, start + count)
    ]


def test_time_passes_only_when_somebody_looks(server: LlmServer, service: BatchService) -> None:
    service.wait, service.rate = 10.0, 2.0
    service.behaviour = in_turn(Behaviour(finalizing=5.0))
    job = service.submit(PATH, requests())
    seen = []
    for seconds in (0.0, 11.0, 0.6, 1.0, 5.0):  # 10 s of waiting, then one each half second
        service.ahead += seconds
        looked_at = service.job(job.id)
        assert looked_at
        seen.append((looked_at.state, looked_at.answered))
    expected = [("validating", 0), ("in_progress", 2), ("in_progress", 3), ("finalizing", 4), ("completed", 4)]
    assert seen == expected
    assert job.ended == pytest.approx(job.made + 10 + 2 + 5)
    assert server.counts[prompt_digest("Question 0")] == 1


def test_an_expired_job_has_answered_its_share_and_says_so(server: LlmServer, service: BatchService) -> None:
    service.behaviour = in_turn(Behaviour(expires_after=0.5), Behaviour(expires_after=0.5, silent=True))
    first, second = service.submit(PATH, requests()), service.submit(PATH, requests(start=4))
    assert [job.state for job in service.jobs] == ["expired", "expired"]
    assert [one.status for one in first.results] == [200, 200, 0, 0]
    assert [one.why for one in first.results] == ["", "", "expired", "expired"]
    assert len(second.results) == 2
    assert sum(server.counts.values()) == 4


def test_a_cancelled_job_answers_nothing_more(server: LlmServer, service: BatchService) -> None:
    service.rate = 1.0
    service.behaviour = in_turn(Behaviour(cancelling=3.0))
    job = service.submit(PATH, requests())
    service.ahead += 2.5
    service.cancel(job.id)
    assert job.state == batch_jobs.CANCELLING
    service.ahead += 100.0
    assert service.jobs[0].state == batch_jobs.CANCELLED
    assert sum(server.counts.values()) == len(job.results) == 2
    service.cancel(job.id)
    assert job.state == batch_jobs.CANCELLED


def test_half_the_requests_fail_and_are_no_answers(server: LlmServer, service: BatchService) -> None:
    service.behaviour = in_turn(Behaviour(failing=0.5, fault=Fault("429")))
    job = service.submit(PATH, requests(10))
    service.advance()
    assert sorted(one.status for one in job.results) == [200] * 5 + [429] * 5
    assert sum(server.counts.values()) == service.stats()["answered"] == job.answered == 5


def test_enqueued_tokens_count_while_jobs_are_open(service: BatchService) -> None:
    service.enqueued_tokens, service.wait = 20.0, 10.0  # four prompts of three tokens each
    first, second = service.submit(PATH, requests()), service.submit(PATH, requests(start=4))
    service.ahead += 10.0
    third = service.submit(PATH, requests(start=8))
    service.ahead += 10.0
    service.advance()
    assert [job.tokens for job in (first, second, third)] == [12, 12, 12]
    assert [job.state for job in (first, second, third)] == ["completed", "failed", "completed"]
    assert second.refusal == batch_jobs.TOO_MANY_TOKENS
    assert not second.results


def test_what_is_paid_twice_is_seen(service: BatchService) -> None:
    service.wait = 10.0
    service.submit(PATH, requests(2))
    service.submit(PATH, requests(2, start=1))
    assert service.overlapping == {"key-1"}
    service.ahead += 10.0
    stats = service.stats()
    assert (stats["answered"], stats["answered_twice"], stats["overlapping"]) == (4, 1, 1)
