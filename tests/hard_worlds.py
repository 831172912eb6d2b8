"""Worlds whose items are hard for everybody: people's errors go together, so that agreement shows
less than it seems.

Every item has a true class, a difficulty shared by people and judges, and a tempting wrong class
that most errors fall on. For tests/audit and `make bench`; docs/explanation/verdict.md has the
figures they are to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.verdict import Verdict, verdict
from metal.data.ratings import NOT_ASKED, UNANSWERED
from tests.worlds import cell_of

# correlation of two people's errors -> spread of the difficulty
SPREADS = {0.0: 0.001, 0.2: 1.5, 0.4: 2.5}
TEMPTED = 0.8  # of the errors fall on the tempting class
LEVELS_5 = (0.10, 0.15, 0.30, 0.30, 0.15)
LIKERT_7 = (0.05, 0.08, 0.12, 0.20, 0.25, 0.20, 0.10)
SKEWED, UNEVEN, EVEN = (0.90, 0.07, 0.03), (0.80, 0.15, 0.05), (0.5, 0.5)

EQUAL = "like the people"
WORSE = (
    "-.20",
    "-.30",
    "80% of bad good",
    "60% of bad good",
    "constant",
    "80% constant",
    "-.15, refuses the hardest",
)


@dataclass(frozen=True)
class HardWorld:
    """shares: of the classes, the last is the bad end. rights: how often each person is right.
    together: the correlation of two people's errors. workers: so many people instead, of whom three
    rate each item.
    """

    shares: tuple[float, ...]
    rights: tuple[float, ...]
    together: float = 0.2
    items: int = 300
    ordered: bool = False
    workers: int = 0

    def __str__(self) -> str:
        shares = "/".join(f"{100 * share:.0f}" for share in self.shares)
        crowd = f", {self.workers} workers" if self.workers else f", {len(self.rights)} people"
        right = f" right in {float(np.mean(self.rights)):.2f}, phi {self.together:g}"
        return f"{shares}{' ordered' if self.ordered else ''}{crowd}{right}, {self.items} items"

    def draw(self, seed: int, kinds: tuple[str, ...]) -> AuditCell:
        """A cell with a judge of each kind."""
        rng = np.random.default_rng(
            [seed, self.items, *map(ord, repr((self.shares, self.rights, self.together)))]
        )
        truth = rng.choice(len(self.shares), self.items, p=self.shares)
        hard, wrong = rng.normal(size=self.items), self.other(rng, truth)
        rights = self.rights if not self.workers else tuple(np.resize(self.rights, self.workers))
        people = np.stack([self.say(rng, truth, hard, wrong, right) for right in rights], axis=1)
        if self.workers:
            turn = np.argsort(np.argsort(rng.random(people.shape), axis=1), axis=1)
            people[turn >= 3] = NOT_ASKED
        judges = np.stack([self.judge(kind, rng, truth, hard, wrong) for kind in kinds], axis=1)
        return cell_of(people, judges, kinds, self.ordered, levels=len(self.shares))

    def other(self, rng: np.random.Generator, truth: Any) -> Any:
        """A wrong class of each item; on ordered scales the one beside it."""
        levels = len(self.shares)
        if not self.ordered:
            return (truth + rng.integers(1, levels, len(truth))) % levels
        beside = truth + rng.choice([-1, 1], len(truth))
        return np.where((beside < 0) | (beside >= levels), 2 * truth - beside, beside)

    def say(self, rng: np.random.Generator, truth: Any, hard: Any, wrong: Any, right: float) -> Any:
        """What somebody says who is right so often over all items."""
        spread = SPREADS[self.together]
        chance = 1 / (1 + np.exp(-(_intercept(round(right, 4), spread) + spread * hard)))
        errors = np.where(rng.random(len(truth)) < TEMPTED, wrong, self.other(rng, truth))
        return np.where(rng.random(len(truth)) < chance, truth, errors)

    def judge(self, kind: str, rng: np.random.Generator, truth: Any, hard: Any, wrong: Any) -> Any:
        """(items,) what a judge of this kind says."""
        mean, best, bad = float(np.mean(self.rights)), max(self.rights), len(self.shares) - 1
        common, chance = int(np.argmax(self.shares)), rng.random(len(truth))
        less = {"-.04": 0.04, "-.10": 0.1, "-.15": 0.15, "-.20": 0.2, "-.30": 0.3}.get(
            kind.partition(",")[0], 0.0
        )
        said = self.say(rng, truth, hard, wrong, max(mean - less, 0.05))
        good = self.say(rng, truth, hard, wrong, best)
        return {
            "constant": np.full(len(truth), common),
            "random": rng.choice(len(self.shares), len(truth), p=self.shares),
            "80% of bad good": np.where(
                (truth == bad) & (chance < 0.8), common if common != bad else 0, good
            ),
            "60% of bad good": np.where(
                (truth == bad) & (chance < 0.6), common if common != bad else 0, good
            ),
            "80% constant": np.where(chance < 0.8, common, good),
            "half one up": np.where(chance < 0.5, np.maximum(good - 1, 0), good),
            "never bad": np.where(good == bad, 0, good),
            "always right": truth,
            "-.15, refuses the hardest": np.where(
                hard < np.quantile(hard, 0.045), UNANSWERED, said
            ),
            "refuses the hardest": np.where(hard < np.quantile(hard, 0.045), UNANSWERED, said),
        }.get(kind, said)

    def verdicts(self, seed: int, kinds: tuple[str, ...]) -> dict[str, Verdict]:
        """The verdict on a judge of each kind, all in one draw."""
        cell = self.draw(seed, kinds)
        return {kind: verdict(cell, kind, ranges=False) for kind in cell.judges}


@dataclass(frozen=True)
class HardScores:
    """Scores of a spread of 18 about 60; noise: of a person. heavy: most outputs score 0, and a few
    far below.
    """

    noise: float
    items: int = 300
    people: int = 3
    heavy: bool = False
    alone: float = 0.0  # share of items with one person

    def __str__(self) -> str:
        return (
            f"scores, noise {self.noise:g}{', heavy tails' if self.heavy else ''}, {self.items}"
            " items"
        )

    def draw(self, seed: int, kinds: tuple[str, ...]) -> AuditCell:
        """A cell with a judge of each kind."""
        rng = np.random.default_rng(
            [seed, self.items, int(10 * self.noise), self.people, self.heavy]
        )
        truth = rng.normal(60, 18, self.items)
        if self.heavy:
            truth = np.where(
                rng.random(self.items) < 0.75, 0.0, -(rng.exponential(4, self.items) ** 1.6)
            )

        def say(noise: float) -> Any:
            if not self.heavy:
                return np.clip(np.round(truth + rng.normal(0, noise, self.items)), 0, 100)
            slips = rng.random(self.items) < noise / 40
            return np.round(
                np.where(
                    slips,
                    -rng.exponential(3, self.items),
                    truth * rng.uniform(0.5, 1.5, self.items),
                )
            )

        people = np.stack([say(self.noise) for _ in range(self.people)], axis=1)
        if self.alone:
            one = (rng.random(self.items) < self.alone)[:, None] & (np.arange(self.people) > 0)
            people[one] = np.nan
        low = truth <= np.quantile(truth, 0.2)
        chance = rng.random(self.items)
        kinds_of = {
            "twice the noise": say(2 * self.noise),
            "60% of the low at 80": np.where(low & (chance < 0.6), 80.0, say(self.noise)),
            "80% of the low at 80": np.where(low & (chance < 0.8), 80.0, say(self.noise)),
            "80% constant": np.where(chance < 0.8, float(np.median(truth)), say(self.noise)),
            "half slope": np.round(60 + (say(self.noise) - 60) / 2),
            "constant": np.full(self.items, 60.0),
            "random": rng.permutation(say(self.noise)),
            "26 higher": say(self.noise) + 26,
        }
        judges = np.stack(
            [np.asarray(kinds_of.get(kind, say(self.noise)), dtype=float) for kind in kinds], axis=1
        )
        return cell_of(people, judges, kinds)

    def verdicts(self, seed: int, kinds: tuple[str, ...]) -> dict[str, Verdict]:
        """The verdict on a judge of each kind, all in one draw."""
        cell = self.draw(seed, kinds)
        return {kind: verdict(cell, kind, ranges=False) for kind in cell.judges}


@cache
def _intercept(right: float, spread: float) -> float:
    """The logit at a difficulty of 0 with which somebody is right so often over all items."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    low, high = -8.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float(weights @ (1 / (1 + np.exp(-(middle + spread * nodes)))) / weights.sum())
        low, high = (middle, high) if mean < right else (low, middle)
    return low
