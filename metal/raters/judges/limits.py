"""Limits of a run: tokens and money (estimated before the run, counted during it), and pace.

Each judge has one Pace, which limits calls in flight, and requests and tokens per minute, and says
when to stop asking. The limit of calls in flight begins at the given bound. It is cut if the
provider reports too many requests, and grows again by one for every round of answers (additive
increase, multiplicative decrease). If the provider asks for a wait, all calls wait, because limits
apply to the account and not to a call.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from metal.data.progress import followed, no_progress
from metal.errors import UsageError
from metal.raters.judges.call import Question, Reply, RunPlan
from metal.raters.judges.engine import Progress
from metal.raters.judges.models import Model
from metal.raters.judges.prices import Price

BATCH_SECONDS = 24 * 3600.0  # within which batch services promise to be done


@dataclass
class Budget:
    """US dollars that a run may spend, and has spent. limit: None for no limit. committed: reserved
    for calls in flight.
    """

    limit: float | None = None
    spent: float = 0.0
    committed: float = 0.0

    def take(self, cost: float) -> bool:
        """Reserve the highest cost of a call. Return False if that would exceed the limit."""
        if self.limit is not None and cost and self.spent + self.committed + cost > self.limit:
            return False
        self.committed += cost
        return True

    def spent_up(self, cost: float) -> bool:
        """Whether a call of that cost exceeds the limit even if calls in flight cost nothing."""
        return self.limit is not None and cost > 0 and self.spent + cost > self.limit

    def release(self, cost: float) -> None:
        """Give back what was reserved, after the call ended and its cost was added to `spent`."""
        self.committed -= cost


@dataclass
class TokenEstimator:
    """Estimates the tokens of a question and its answer before it is asked: rough counts, corrected
    by the replies so far.
    """

    guessed: float = 0.0
    counted: float = 0.0
    worst_ratio: float = 1.0
    answers: int = 0
    answers_guessed: float = 0.0
    answers_counted: float = 0.0
    worst_answer: float = 0.0

    def expected(self, rough: float, answer: float) -> tuple[float, float]:
        """Tokens in and out to expect of a question with these rough counts."""
        ratio = self.counted / self.guessed if self.guessed else 1.0
        return rough * ratio, answer * (
            self.answers_counted / self.answers_guessed if self.answers_guessed else 1.0
        )

    def most(self, rough: float, answer: float, longest: float = 0.0) -> tuple[float, float]:
        """The most tokens in and out, judging by the replies so far. longest: the longest answer to
        expect before there is a reply.
        """
        return rough * self.worst_ratio, (
            answer * self.worst_answer if self.answers else max(longest, answer)
        )

    def learn(
        self, rough: float, answer: float, tokens_in: int | None, tokens_out: int | None
    ) -> None:
        """Take a reply into account. tokens_in, tokens_out: None if the provider does not count
        them.
        """
        if tokens_in:
            self.guessed += rough
            self.counted += tokens_in
            ratio = tokens_in / rough if rough else 1.0
            self.worst_ratio = max(self.worst_ratio, ratio) if self.answers else ratio
        if tokens_out is not None:
            self.answers += 1
            self.answers_guessed += answer
            self.answers_counted += tokens_out
            self.worst_answer = max(self.worst_answer, tokens_out / answer if answer else 0.0)


def book(
    progress: Progress,
    estimator: TokenEstimator,
    price: Price | None,
    question: Question,
    reply: Reply,
) -> float:
    """Count a reply's tokens and its US dollars; return the dollars. Tokens that the provider does
    not count are estimated.
    """
    rough = question.rough_tokens, question.answer_tokens
    estimator.learn(*rough, reply.tokens_in, reply.tokens_out)
    if not price:
        return 0.0
    tokens_in, tokens_out = estimator.expected(*rough)
    if reply.tokens_in is not None:
        tokens_in = reply.tokens_in
    if reply.tokens_out is not None:
        tokens_out = reply.tokens_out
    cost = price.cost(tokens_in, tokens_out)
    progress.cost += cost
    return cost


@dataclass
class CostEstimate:
    """The calls still to be made to one model: calls, tokens, dollars (None if no price is known),
    seconds.

    answered: how many questions need not be asked. begins: index of the first unanswered question
    in the plan. batch: whether the calls go through the batch service.
    """

    model: Model
    calls: int = 0
    answered: int = 0
    begins: int = 0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    first: Question | None = field(default=None, repr=False)
    batch: bool = False

    @property
    def cost(self) -> float | None:
        """The cost in US dollars, if the price is known."""
        price = (self.batch and self.model.batch_price) or self.model.price
        return price.cost(self.tokens_in, self.tokens_out) if price else None

    @property
    def seconds(self) -> float:
        """How long the calls may take, from the calls in flight and the limits per minute; for
        batches, a day.

        For a function, the time is unknown; then this is 0.
        """
        model = self.model
        if self.batch:
            return BATCH_SECONDS if self.calls else 0.0
        bounds = [self.calls * model.seconds_a_call / model.concurrency]
        if model.requests_per_minute:
            bounds.append(60 * self.calls / model.requests_per_minute)
        if model.tokens_per_minute:
            bounds.append(60 * (self.tokens_in + self.tokens_out) / model.tokens_per_minute)
        return max(bounds)


def estimates(
    plan: RunPlan,
    settled: set[bytes],
    limit: int | None = None,
    *,
    batch: bool = False,
    progress: Callable[[int, int], None] = no_progress,
) -> list[CostEstimate]:
    """The calls still to be made to each model. settled: keys of questions that need not be asked.
    limit: the most calls of the whole run.

    progress: called for each model with the number of questions counted and of all questions.
    """
    result = []
    left = limit
    seen: set[bytes] = set()  # two names of one model ask the same
    for model in plan.models:
        estimate = CostEstimate(model, batch=batch)
        for position, question in enumerate(
            followed(plan.questions(model), progress, plan.questions_per_model)
        ):
            key = bytes.fromhex(question.key)
            if key in seen:
                continue
            seen.add(key)
            if key in settled:
                estimate.answered += 1
                continue
            if left is not None and estimate.calls >= left:
                break
            estimate.calls += 1
            if not estimate.first:
                estimate.first, estimate.begins = question, position
            estimate.tokens_in += question.rough_tokens
            estimate.tokens_out += question.answer_tokens
        left = None if left is None else left - estimate.calls
        result.append(estimate)
    return result


def check_priced(models: Iterable[Model]) -> None:
    """Raise UsageError for the first model without a price, because `max_cost` needs the price of
    every model.
    """
    unpriced = next((model.name for model in models if not model.price), None)
    if unpriced:
        raise UsageError(
            f"`max_cost`: the price of {unpriced} is not known; give it in judges.toml: price = {{"
            " input = 2.5, output = 10 } (dollars per million tokens; zeros for a model of your"
            " own)"
        )


# ---------------------------------------------------------------- pace

CUT = 0.7
# failed attempts in a row, without an answer between them, after which a provider counts as down
STREAK = 20


async def sleep_until(event: asyncio.Event, seconds: float) -> bool:
    """Sleep, but wake at the event; return whether the event has come."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


@dataclass
class Allowance:
    """An allowance of units per minute, spent evenly. Spending units moves the time from which more
    may be used.
    """

    a_minute: float
    burst: float = 1.0  # seconds of allowance that may be used at once
    _next: float = 0.0

    def delay(self, amount: float, now: float) -> float:
        """Spend the amount. Returns the seconds until it may be used."""
        begin = max(self._next, now - self.burst)
        self._next = begin + amount * 60.0 / self.a_minute
        return max(0.0, begin - now)


def allowances(model: Model) -> tuple[Allowance | None, Allowance | None]:
    """The allowances of the model for requests and tokens per minute; None for no limit."""
    requests, tokens = (
        Allowance(float(limit)) if limit else None
        for limit in (model.requests_per_minute, model.tokens_per_minute)
    )
    return requests, tokens


@dataclass
class Pace:
    """The pace of one judge. most: the most calls in flight; limit: how many are allowed now."""

    most: int
    requests: Allowance | None = None
    tokens: Allowance | None = None
    limit: float = field(init=False)
    in_flight: int = 0
    streak: int = 0
    _open_at: float = 0.0
    _cut_at: float = 0.0
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = float(self.most)

    async def enter(self, tokens: float, over: asyncio.Event) -> None:
        """Wait for a free place, then until limits allow a request of that many tokens. Stop
        waiting if `over` is set.
        """
        while self.in_flight >= int(self.limit):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()  # it was given a place, which somebody else can use
                raise
        self.in_flight += 1
        try:
            await self.hold(tokens, over)
        except BaseException:
            self.leave()
            raise

    async def hold(self, tokens: float, over: asyncio.Event) -> None:
        """Wait until limits and the provider's waits allow a request of that many tokens, or until
        `over` is set.
        """
        now = time.monotonic()
        delay = self.requests.delay(1, now) if self.requests else 0.0
        if self.tokens:
            delay = max(delay, self.tokens.delay(tokens, now))
        # another call may be told to wait
        while (delay := max(delay, self._open_at - time.monotonic())) > 0:
            if await sleep_until(over, delay):
                return
            delay = 0.0

    def leave(self) -> None:
        """Give back the place of a call in flight."""
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        room = int(self.limit) - self.in_flight
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    def answered(self) -> None:
        """Register a reply. For each round of replies, allow one more call in flight."""
        self.streak = 0
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1.0 / self.limit)

    def failed(self) -> None:
        """Register that an attempt failed at the provider or on the way."""
        self.streak += 1

    def busy(self, wait: float, sent_at: float) -> None:
        """React to too many requests: cut the limit once for all calls that were in flight
        together, and wait as long as the provider asks.
        """
        now = time.monotonic()
        self._open_at = max(self._open_at, now + wait)
        if sent_at >= self._cut_at:
            self.limit = max(1.0, self.limit * CUT)
            self._cut_at = now

    @property
    def down(self) -> bool:
        """Whether enough attempts failed in a row that the provider seems to be down."""
        return self.streak >= max(STREAK, 2 * int(self.limit))
