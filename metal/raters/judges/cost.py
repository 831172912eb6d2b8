"""Tokens and money: estimates before a run, sums during one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from metal.errors import UsageError
from metal.raters.judges.call import Question, Questions, Reply
from metal.raters.judges.engine import Progress
from metal.raters.judges.models import Model, Price

SECONDS_A_CALL = 2.0  # a guess, for the time a run may take
BATCH_SECONDS = 24 * 3600.0  # within which batch services promise to be done


@dataclass
class Budget:
    """What may be spent on a run, and what has been. limit None: no limit. Calls in flight count as estimated."""

    limit: float | None = None
    spent: float = 0.0
    committed: float = 0.0

    def take(self, estimate: float) -> bool:
        """Set the cost of a call aside; False when that would go beyond the limit."""
        if self.limit is not None and estimate and self.spent + self.committed + estimate > self.limit:
            return False
        self.committed += estimate
        return True

    def spent_up(self, estimate: float) -> bool:
        """Whether a call of that cost would go beyond the limit even if those in flight cost nothing."""
        return self.limit is not None and estimate > 0 and self.spent + estimate > self.limit

    def release(self, estimate: float) -> None:
        """The call has ended, and what it cost has been added to what is spent."""
        self.committed -= estimate


@dataclass
class TokenGuess:
    """Tokens of a call before it is made: a rough count, put right by the calls that came back.

    expected: tokens of an answer, until there is one.
    """

    expected: float
    guessed: float = 0.0
    counted: float = 0.0
    answers: int = 0
    answer_tokens: float = 0.0
    worst_ratio: float = 1.0
    longest: float = 0.0

    def of(self, rough: float) -> tuple[float, float]:
        """Tokens in and out to expect of a call with that rough count."""
        ratio = self.counted / self.guessed if self.guessed else 1.0
        return rough * ratio, self.answer_tokens / self.answers if self.answers else self.expected

    def most(self, rough: float, longest: float = 0.0) -> tuple[float, float]:
        """Tokens in and out that a call may have at most, as far as calls have shown. longest: before any came back."""
        return rough * self.worst_ratio, self.longest if self.answers else max(longest, self.expected)

    def learn(self, rough: float, tokens_in: int | None, tokens_out: int | None) -> None:
        """What a call had."""
        if tokens_in:
            self.guessed += rough
            self.counted += tokens_in
            ratio = tokens_in / rough if rough else 1.0
            self.worst_ratio = max(self.worst_ratio, ratio) if self.answers else ratio
        if tokens_out is not None:
            self.answers += 1
            self.answer_tokens += tokens_out
            self.longest = max(self.longest, tokens_out)


def book(progress: Progress, guess: TokenGuess, price: Price | None, call: Question, reply: Reply) -> float:
    """Count the tokens and the money of a reply; its US dollars. What the provider does not count is guessed."""
    guess.learn(call.rough_tokens, reply.tokens_in, reply.tokens_out)
    guessed = guess.of(call.rough_tokens)
    if not price:
        return 0.0
    tokens_in = guessed[0] if reply.tokens_in is None else reply.tokens_in
    tokens_out = guessed[1] if reply.tokens_out is None else reply.tokens_out
    cost = price.cost(tokens_in, tokens_out)
    progress.cost += cost
    return cost


@dataclass
class Estimate:
    """What is to come of one model: calls still to be made, tokens, dollars (None: no price known), seconds.

    begins: how many calls of the plan come before the first of them. batch: they go through the batch service.
    """

    model: Model
    calls: int = 0
    known: int = 0
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
        """How long it may take: by calls in flight, or by a limit of requests or tokens a minute; a batch's day."""
        model = self.model
        if self.batch:
            return BATCH_SECONDS if self.calls else 0.0
        bounds = [self.calls * SECONDS_A_CALL / model.concurrency]
        if model.requests_per_minute:
            bounds.append(60 * self.calls / model.requests_per_minute)
        if model.tokens_per_minute:
            bounds.append(60 * (self.tokens_in + self.tokens_out) / model.tokens_per_minute)
        return max(bounds)


def estimates(plan: Questions, known: set[bytes], limit: int | None = None, *, batch: bool = False) -> list[Estimate]:
    """What each model has still to be asked. known: keys that are answered already."""
    found = []
    left = limit
    seen: set[bytes] = set()  # two names of one model ask the same
    for model in plan.models:
        one = Estimate(model, batch=batch)
        for place, call in enumerate(plan.calls(model)):
            key = bytes.fromhex(call.key)
            if key in seen:
                continue
            seen.add(key)
            if key in known:
                one.known += 1
                continue
            if left is not None and one.calls >= left:
                break
            one.calls += 1
            if not one.first:
                one.first, one.begins = call, place
            one.tokens_in += call.rough_tokens
        one.tokens_out = one.calls * plan.answer_tokens
        left = None if left is None else left - one.calls
        found.append(one)
    return found


def check_priced(models: Iterable[Model]) -> None:
    """Raises UsageError when --max-cost cannot be kept because a price is unknown."""
    unpriced = next((model.name for model in models if not model.price), None)
    if unpriced:
        raise UsageError(
            f"--max-cost: the price of {unpriced} is not known; give it in judges.toml: "
            "price = { input = 2.5, output = 10 } (dollars a million tokens; zeros for a model of your own)"
        )
