"""What batch services do, whatever their protocol: jobs that wait, run, fail, expire, are
cancelled, and lose answers.

    service = BatchService(server.line_reply, wait=0.1, rate=500.0) service.behaviour =
    in_turn(Behaviour(expires_after=0.5), Behaviour(lost=True)) job =
    service.submit("/v1/chat/completions", [("key-1", {"messages": [...]})], {"metal": "token"})

Nothing runs in the background: whenever somebody looks, everything happens that was due by then. So
a service stands any killing of its clients, and answers only what a real one would have answered.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.llm_server import ERRORS, ErrorShape, Fault, HttpReply, LlmServer, SideRequest, text_of

Json = dict[str, Any]

VALIDATING, RUNNING, CANCELLING = "validating", "in_progress", "cancelling"
COMPLETED, FAILED, EXPIRED, CANCELLED = "completed", "failed", "expired", "cancelled"
ENDED = frozenset({COMPLETED, FAILED, EXPIRED, CANCELLED})


class Refusal(NamedTuple):
    """Why a job as a whole is refused, nothing of it being asked."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


TOO_MANY_TOKENS = Refusal(
    "token_limit_exceeded",
    "Enqueued token limit reached for this model. Please try again once some in_progress batches"
    " have been completed.",
)


@dataclass(frozen=True)
class Behaviour:
    """What becomes of a job; without anything it is answered as a whole.

    wait, rate: as of the service, for this job. refusal: it fails when it is looked at first.
    expires_after: the share of its requests that is answered before it expires; stops_after: before
    somebody else cancels it. silent: requests that were not asked are left out of the results (a
    cancelled job's always are). failing: the share of its requests that come to nothing, with this
    fault. shuffled: results in another order. lost: the job is made, but the answer to the call
    that made it never arrives; refused_call: the call that would make it is answered with this HTTP
    status, and there is no job. hidden: seconds before it can be seen in a list. cancelling:
    seconds that takes.
    """

    wait: float | None = None
    rate: float | None = None
    refusal: Refusal | None = None
    expires_after: float | None = None
    stops_after: float | None = None
    silent: bool = False
    failing: float = 0.0
    fault: Fault = Fault("500")  # noqa: RUF009 - frozen
    shuffled: bool = False
    lost: bool = False
    refused_call: int = 0
    hidden: float = 0.0
    cancelling: float = 0.0


NORMAL = Behaviour()


def rough(refusal: Refusal) -> tuple[Behaviour, ...]:
    """Everything that befalls batches, the first nothing; refusal: as the service says it of too
    many.
    """
    return (
        NORMAL,
        Behaviour(expires_after=0.5),
        Behaviour(expires_after=0.3, silent=True),
        Behaviour(failing=0.5),
        Behaviour(failing=0.2, fault=Fault("429"), shuffled=True),
        Behaviour(lost=True),
        Behaviour(refusal=refusal),
        Behaviour(stops_after=0.4),
        Behaviour(refused_call=503),
        Behaviour(shuffled=True, wait=0.3),
    )


Behaves = Callable[["Job"], Behaviour]


def in_turn(*behaviours: Behaviour) -> Behaves:
    """The n-th behaviour for the n-th job of all, then normal."""
    return lambda job: behaviours[job.number - 1] if job.number <= len(behaviours) else NORMAL


def drawn(seed: int, *behaviours: Behaviour, attempts: int = 3) -> Behaves:
    """One of these, drawn from (seed, number of the job); normal once a first request has had so
    many attempts.
    """
    return lambda job: (
        random.Random(f"{seed} {job.number}").choice(behaviours)
        if job.attempt <= attempts
        else NORMAL
    )


class Outcome(NamedTuple):
    """What came of one request. status: HTTP; 0 when it was never asked, and then why: EXPIRED or
    CANCELLED.
    """

    key: str
    status: int
    body: bytes = b""
    why: str = ""


@dataclass
class Job:
    """One batch. number: of all jobs, attempt: at its first request, from 1. about: whatever the
    protocol keeps.

    made, ended: time.time(). outcomes: in the order of the requests; results: as they are handed
    out.
    """

    id: str
    number: int
    attempt: int
    path: str
    requests: Sequence[tuple[str, Json]]
    metadata: Mapping[str, str]
    about: Json
    tokens: int
    made: float
    behaviour: Behaviour = NORMAL
    refusal: Refusal | None = None
    state: str = VALIDATING
    stopping: float = math.inf  # when somebody asked to cancel it
    ended: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list)
    failing: frozenset[int] = frozenset()

    @property
    def is_over(self) -> bool:
        return self.state in ENDED

    @property
    def answered(self) -> int:
        """Requests with HTTP 200."""
        return sum(one.status == 200 for one in self.outcomes)

    @property
    def failed(self) -> int:
        """Requests that came to nothing, those that were never asked as well."""
        return len(self.outcomes) - self.answered

    @property
    def results(self) -> list[Outcome]:
        """What there is to fetch, in the order in which it is handed out."""
        found = list(self.outcomes)
        if self.behaviour.shuffled:
            random.Random(self.number).shuffle(found)
        return found


class BatchService:
    """Jobs, and the time that passes over them. All of it may be set and looked at from any thread,
    at any time.

    answer: LlmServer.line_reply. wait: seconds before a job's first request is answered; rate:
    requests per second of each job after that. enqueued_tokens: a job is refused (too_many) that
    would bring the open ones above it. ahead: seconds that its clock is ahead; who adds to it lets
    time pass.
    """

    def __init__(
        self,
        answer: Callable[[str, Json, Fault | None], HttpReply],
        *,
        wait: float = 0.0,
        rate: float = math.inf,
        enqueued_tokens: float = math.inf,
        prefix: str = "batch_",
    ) -> None:
        self.answer, self.wait, self.rate, self.enqueued_tokens = (
            answer,
            wait,
            rate,
            enqueued_tokens,
        )
        self.behaviour: Behaves = lambda job: NORMAL
        self.too_many = TOO_MANY_TOKENS
        self.prefix = prefix
        self.ahead = 0.0
        self.lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._first: Counter[str] = Counter()
        self._made = 0
        self.answers: Counter[str] = Counter()  # key -> how often it was answered with HTTP 200
        self.overlapping: set[str] = set()  # keys that were in two open jobs at once

    def now(self) -> float:
        """time.time() by its clock."""
        return time.time() + self.ahead

    # ------------------------------------------------------------ what a protocol calls

    def submit(
        self,
        path: str,
        requests: Sequence[tuple[str, Json]],
        metadata: Mapping[str, str] | None = None,
        **about: Any,
    ) -> Job:
        """A new job, for requests (key, body) to `path`. With behaviour.refused_call it is not
        kept.
        """
        with self.lock:
            self.advance()
            first = repr(requests[0]) if requests else ""
            self._first[first] += 1
            self._made += 1
            name = f"{self.prefix}{self._made:06d}{random.Random(self._made).randrange(16**8):08x}"
            tokens = sum(len(text_of(body)) // 4 + 1 for _, body in requests)
            attempt = self._first[first]
            job = Job(
                name, self._made, attempt, path, requests, metadata or {}, about, tokens, self.now()
            )
            job.behaviour = self.behaviour(job)
            if job.behaviour.refused_call:
                return job
            job.refusal = job.behaviour.refusal or (
                self.too_many if self.over_limit(tokens) else None
            )
            failing = round(job.behaviour.failing * len(requests))
            job.failing = frozenset(random.Random(job.number).sample(range(len(requests)), failing))
            if not job.refusal:
                still = {
                    key
                    for other in self._jobs.values()
                    if not other.is_over
                    for key, _ in other.requests
                }
                self.overlapping |= still.intersection(key for key, _ in requests)
            self._jobs[job.id] = job
            return job

    def over_limit(self, tokens: int) -> bool:
        """Whether a job with so many tokens would bring the open ones above the limit."""
        waiting = sum(job.tokens for job in self._jobs.values() if not (job.is_over or job.refusal))
        return waiting + tokens > self.enqueued_tokens

    def job(self, name: str) -> Job | None:
        """The job as it is now."""
        with self.lock:
            self.advance()
            return self._jobs.get(name)

    def listed(self) -> list[Job]:
        """The jobs that a list shows, newest first."""
        with self.lock:
            self.advance()
            now = self.now()
            return [
                job
                for job in reversed(self._jobs.values())
                if now >= job.made + job.behaviour.hidden
            ]

    def cancel(self, name: str) -> Job | None:
        """Ask for nothing more of a job to be answered; nothing happens to one that is over."""
        with self.lock:
            job = self.job(name)
            if job and not job.is_over and job.state != CANCELLING:
                job.stopping = self.now()
                self._advance(job, job.stopping)
            return job

    def remove(self, name: str) -> None:
        """Forget a job."""
        with self.lock:
            self._jobs.pop(name, None)

    # ------------------------------------------------------------ what tests look at

    @property
    def jobs(self) -> list[Job]:
        """All jobs as they are now, oldest first, hidden ones as well."""
        with self.lock:
            self.advance()
            return list(self._jobs.values())

    def stats(self) -> Json:
        """Counters: jobs by state, requests answered, answered twice, open twice at a time."""
        with self.lock:
            return {
                "states": dict(Counter(job.state for job in self.jobs)),
                "answered": sum(self.answers.values()),
                "answered_twice": sum(times > 1 for times in self.answers.values()),
                "overlapping": len(self.overlapping),
            }

    # ------------------------------------------------------------ time

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        with self.lock:
            now = self.now()
            for job in self._jobs.values():
                if not job.is_over:
                    self._advance(job, now)

    def _advance(self, job: Job, now: float) -> None:
        how = job.behaviour
        begins = job.made + (self.wait if how.wait is None else how.wait)
        rate = self.rate if how.rate is None else how.rate
        if job.refusal:
            if now >= begins:
                self._end(job, FAILED, begins)
            return
        until = min(now, job.stopping)
        asked = (
            min(how.expires_after or 0.0, 1.0) if how.expires_after is not None else how.stops_after
        )
        goal = len(job.requests) if asked is None else int(asked * len(job.requests))
        if until >= begins:
            due = goal if rate == math.inf else min(goal, int((until - begins) * rate))
            job.state = RUNNING
            while len(job.outcomes) < due:
                self._answer(job, len(job.outcomes))
        if len(job.outcomes) >= goal and until >= begins:
            last = (
                EXPIRED
                if how.expires_after is not None
                else CANCELLED
                if how.stops_after is not None
                else COMPLETED
            )
            self._end(job, last, begins + goal / rate)
        elif now >= job.stopping:
            job.state = CANCELLING
            if now >= job.stopping + how.cancelling:
                self._end(job, CANCELLED, job.stopping + how.cancelling)

    def _answer(self, job: Job, turn: int) -> None:
        key, body = job.requests[turn]
        reply = self.answer(job.path, body, job.behaviour.fault if turn in job.failing else None)
        job.outcomes.append(Outcome(key, reply.status, reply.payload))
        self.answers[key] += reply.status == 200

    def _end(self, job: Job, state: str, when: float) -> None:
        job.state, job.ended = state, when
        if state == EXPIRED and not job.behaviour.silent:
            job.outcomes += [
                Outcome(key, 0, why=EXPIRED) for key, _ in job.requests[len(job.outcomes) :]
            ]


class BatchServer(LlmServer):
    """A server with batches beside its models. service: its jobs, and what becomes of them.

    disturbs: what goes wrong with a request that is not for a model, the n-th for that method and
    path: an HTTP error, drop, drop_mid_body, hang, slow. asked: (method, path) -> how often.
    """

    def __init__(self, port: int = 0, prefix: str = "batch_", **timing: float) -> None:
        self.service = BatchService(self.line_reply, prefix=prefix, **timing)
        self.disturbs: Callable[[SideRequest, int], Fault | None] | None = None
        self.asked: Counter[tuple[str, str]] = Counter()
        self.files_made = 0
        super().__init__(port)

    def routed(self, request: SideRequest) -> HttpReply | None:
        """The reply to a request about files or batches; None: it is about something else."""
        raise NotImplementedError

    def error(self, status: int, message: str, shape: ErrorShape | None = None) -> HttpReply:
        """An error as the service words it."""
        raise NotImplementedError

    def side_reply(self, request: SideRequest) -> HttpReply:
        self.asked[request.method, request.path] += 1
        fault = (
            self.disturbs(request, self.asked[request.method, request.path])
            if self.disturbs
            else None
        )
        if fault and (fault.kind in ERRORS or fault.kind.isdigit()):
            shape = ERRORS.get(fault.kind) or ERRORS["500"]._replace(
                status=int(fault.kind), message="HTTP error."
            )
            message = fault.text or shape.message.format(
                model="", key=request.headers.get("authorization"), tokens=0
            )
            reply = self.error(fault.status or shape.status, message, shape)
            reply.retry_after = fault.retry_after
            return reply
        try:
            with self.service.lock:
                reply = self.routed(request) or super().side_reply(request)
        except Exception as mistake:
            self.errors.append(mistake)
            return self.error(500, repr(mistake))
        if fault:
            reply.fault = fault.kind
            reply.delay = fault.seconds or (1.0 if fault.kind == "slow" else 0.0)
        return reply
