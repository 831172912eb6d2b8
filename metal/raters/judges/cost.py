"""Tokens and money: estimates before a run, budget and counts during one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from metal.errors import UsageError
from metal.raters.judges.call import Question, Reply, RunPlan
from metal.raters.judges.engine import Progress
from metal.raters.judges.models import Model, Price

SECONDS_A_CALL = 2.0  # a guess, for the time a run may take
BATCH_SECONDS = 24 * 3600.0  # within which batch services promise to be done


@dataclass
class Budget:
    """What may be spent on a run, and what has been. limit None: no limit. committed: reserved for calls in flight."""

    limit: float | None = None
    spent: float = 0.0
    committed: float = 0.0

    def take(self, cost: float) -> bool:
        """Reserve what a call may cost; False when that would exceed the limit."""
        if self.limit is not None and cost and self.spent + self.committed + cost > self.limit:
            return False
        self.committed += cost
        return True

    def spent_up(self, cost: float) -> bool:
        """Whether a call of that cost would exceed the limit even if those in flight cost nothing."""
        return self.limit is not None and cost > 0 and self.spent + cost > self.limit

    def release(self, cost: float) -> None:
        """Give back what was reserved; the call has ended, and its cost was added to `spent`."""
        self.committed -= cost


@dataclass
class TokenEstimator:
    """Tokens of a question before it is asked: a rough count, corrected by the replies so far.

    first_guess: tokens of an answer, until there is one.
    """

    first_guess: float
    guessed: float = 0.0
    counted: float = 0.0
    answers: int = 0
    answer_tokens: float = 0.0
    worst_ratio: float = 1.0
    longest: float = 0.0

    def expected(self, rough: float) -> tuple[float, float]:
        """Tokens in and out to expect of a question with that rough count."""
        ratio = self.counted / self.guessed if self.guessed else 1.0
        return rough * ratio, self.answer_tokens / self.answers if self.answers else self.first_guess

    def most(self, rough: float, longest: float = 0.0) -> tuple[float, float]:
        """Tokens in and out at most, judging by the replies so far. longest: the answer, before there is a reply."""
        return rough * self.worst_ratio, self.longest if self.answers else max(longest, self.first_guess)

    def learn(self, rough: float, tokens_in: int | None, tokens_out: int | None) -> None:
        """Take a reply into account; None: not counted by the provider."""
        if tokens_in:
            self.guessed += rough
            self.counted += tokens_in
            ratio = tokens_in / rough if rough else 1.0
            self.worst_ratio = max(self.worst_ratio, ratio) if self.answers else ratio
        if tokens_out is not None:
            self.answers += 1
            self.answer_tokens += tokens_out
            self.longest = max(self.longest, tokens_out)


def book(progress: Progress, estimator: TokenEstimator, price: Price | None, question: Question, reply: Reply) -> float:
    """Count a reply's tokens and US dollars, which are returned. Tokens the provider does not count are estimated."""
    estimator.learn(question.rough_tokens, reply.tokens_in, reply.tokens_out)
    if not price:
        return 0.0
    tokens_in, tokens_out = estimator.expected(question.rough_tokens)
    cost = price.cost(
        tokens_in if reply.tokens_in is None else reply.tokens_in,
        tokens_out if reply.tokens_out is None else reply.tokens_out,
    )
    progress.cost += cost
    return cost


@dataclass
class CostEstimate:
    """What is still to be asked of one model: calls, tokens, dollars (None: no price is known), seconds.

    answered: questions that need not be asked. begins: how many questions of the plan precede the first open one.
    batch: they go through the batch service.
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
        """US dollars, where the price is known."""
        price = (self.batch and self.model.batch_price) or self.model.price
        return price.cost(self.tokens_in, self.tokens_out) if price else None

    @property
    def seconds(self) -> float:
        """How long it may take: by the calls in flight and the limits a minute; for batches, a day."""
        model = self.model
        if self.batch:
            return BATCH_SECONDS if self.calls else 0.0
        bounds = [self.calls * SECONDS_A_CALL / model.concurrency]
        if model.requests_per_minute:
            bounds.append(60 * self.calls / model.requests_per_minute)
        if model.tokens_per_minute:
            bounds.append(60 * (self.tokens_in + self.tokens_out) / model.tokens_per_minute)
        return max(bounds)


def estimates(
    plan: RunPlan, settled: set[bytes], limit: int | None = None, *, batch: bool = False
) -> list[CostEstimate]:
    """What each model has still to be asked. settled: keys that need not be asked. limit: calls of the whole run."""
    result = []
    left = limit
    seen: set[bytes] = set()  # two names of one model ask the same
    for model in plan.models:
        estimate = CostEstimate(model, batch=batch)
        for place, question in enumerate(plan.questions(model)):
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
                estimate.first, estimate.begins = question, place
            estimate.tokens_in += question.rough_tokens
        estimate.tokens_out = estimate.calls * plan.answer_tokens
        left = None if left is None else left - estimate.calls
        result.append(estimate)
    return result


def check_priced(models: Iterable[Model]) -> None:
    """Raises UsageError when `max_cost` cannot be kept because a price is unknown."""
    unpriced = next((model.name for model in models if not model.price), None)
    if unpriced:
        raise UsageError(
            f"`max_cost`: the price of {unpriced} is not known; give it in judges.toml: "
            "price = { input = 2.5, output = 10 } (dollars a million tokens; zeros for a model of your own)"
        )
