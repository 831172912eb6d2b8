"""Simulated worlds for verdicts: people and judges who answer a known truth. For tests/audit and
`make bench`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.settings import AuditSettings
from metal.auditing.verdict import INFORMATIVE, Verdict, verdict
from metal.auditing.verdict import LIKE_A_PERSON as LIKE
from metal.data.ratings import NOT_ASKED, CodeMatrix
from metal.data.records import Criterion, Level, Scale

# Shares of the classes; the last is the bad end.
MIXES = {
    "50/50": (0.5, 0.5),
    "80/15/5": (0.8, 0.15, 0.05),
    "95/5": (0.95, 0.05),
    "3 ordered": (0.3, 0.4, 0.3),
    "5 ordered": (0.1, 0.15, 0.3, 0.3, 0.15),
}
LIKE_A_PERSON = "a person"
KNOW_NOTHING = ("constant", "random", "adversarial")
WORSE = (
    *KNOW_NOTHING,
    *("80% of bad good", "misses the rare", "80% constant", "-.15", "-.30"),
    *("half copied, -.15", "copied, -.15", "copied, -.30"),
)
WORSE_ON_FIVE = ("never the worst", "half one up", "bad one up")
WORSE_SCORES = (*KNOW_NOTHING, "shift", "slope", "noise", "80% constant", "half of bad good")
CARELESS = 0.4  # how often a careless person is right
MEAN, SPREAD = 60.0, 20.0  # of true scores


@dataclass(frozen=True)
class World:
    """right: how often people are. outputs: of a source; if several, half have the true class of
    the first, and every other source is hard: 80% of the errors are there. alone: of the items, the
    share that one person rated.
    """

    mix: str
    items: int
    right: float
    people: int = 3
    careless: int = 0
    outputs: int = 1
    alone: float = 0.0
    title: ClassVar[str] = "classes, how often people are right"

    @property
    def ordered(self) -> bool:
        return "ordered" in self.mix

    @property
    def row(self) -> str:
        """What it shares with worlds of other sizes."""
        return f"{self.mix}, {self.right}"

    @property
    def panel(self) -> str:
        """`3 people, 1 careless, 8 outputs a source`"""
        people = f"{self.people} people" if self.people > 1 else "One person an item"
        careless = f", {self.careless} careless" if self.careless else ""
        alone = f", {self.alone:.0%} of the items rated by one of them" if self.alone else ""
        return (
            people
            + careless
            + alone
            + (f", {self.outputs} outputs a source" if self.outputs > 1 else "")
        )

    def best(self, kind: str) -> tuple[str, ...]:
        """The verdicts that only a judge like a person should get, or one that knows anything."""
        if self.alone and kind in KNOW_NOTHING:
            return LIKE, INFORMATIVE
        return (INFORMATIVE if self.people == 1 else LIKE,)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of judges; all but the first are not like a person, or with one person per item
        know nothing.
        """
        worse = KNOW_NOTHING if self.people == 1 else WORSE
        return (
            LIKE_A_PERSON,
            *worse,
            *(WORSE_ON_FIVE if self.mix == "5 ordered" and self.people > 1 else ()),
        )

    def draw(self, rng: np.random.Generator, kinds: tuple[str, ...]) -> AuditCell:
        """A cell with a judge of each kind."""
        shares = MIXES[self.mix]
        source = np.arange(self.items) // self.outputs
        truth = rng.choice(len(shares), self.items, p=shares)
        errors = np.ones(self.items)
        if self.outputs > 1:
            truth = np.where(rng.random(self.items) < 0.5, truth[source * self.outputs], truth)
            errors = np.where(source % 2, 1.6, 0.4)
        rights = [CARELESS] * self.careless + [self.right] * (self.people - self.careless)
        people = np.stack(
            [
                answers(rng, truth, len(shares), 1 - errors * (1 - right), self.ordered)
                for right in rights
            ],
            axis=1,
        )
        judges = [self.judge(kind, rng, truth, people[:, -1], errors) for kind in kinds]
        people[self.unasked(rng)] = NOT_ASKED
        return cell_of(
            people, np.stack(judges, axis=1), kinds, self.ordered, self.outputs, len(shares)
        )

    def unasked(self, rng: np.random.Generator) -> Any:
        """(items, people) who was not asked: on items of one person, the others."""
        who = rng.integers(0, self.people, self.items)[:, None] != np.arange(self.people)
        return who & (np.arange(self.items) < self.alone * self.items)[:, None]

    def judge(
        self, kind: str, rng: np.random.Generator, truth: Any, person: Any, errors: Any
    ) -> Any:
        """(items,) what a judge of this kind says. `copied`: from one person, with errors of its
        own added.
        """
        shares = MIXES[self.mix]
        less = {"-.15": 0.15, "-.30": 0.3}.get(kind[-4:], 0.0)
        worst, most = len(shares) - 1, int(np.argmax(shares))
        said = answers(rng, truth, len(shares), 1 - errors * (1 - self.right + less), self.ordered)
        copied = answers(rng, person, len(shares), 1 - less / self.right, self.ordered)
        chance = rng.random(len(truth))
        return {
            "constant": np.full_like(truth, most),
            "random": rng.choice(len(shares), len(truth), p=shares),
            "adversarial": (truth + 1) % len(shares),
            "80% of bad good": np.where((truth == worst) & (chance < 0.8), 0, said),
            "misses the rare": np.where(said == worst, most, said),
            "half copied, -.15": np.where(chance < 0.5, copied, said),
            "copied, -.15": copied,
            "copied, -.30": copied,
            "80% constant": np.where(chance < 0.8, most, said),
            "never the worst": np.where(said == worst, worst - 1, said),
            "half one up": np.where(chance < 0.5, np.maximum(said - 1, 0), said),
            "bad one up": np.where(truth >= worst - 1, np.maximum(said - 1, 0), said),
        }.get(kind, said)

    def verdicts(self, seed: int, kinds: tuple[str, ...] = ()) -> dict[str, Verdict]:
        """The verdict on a judge of each kind, all in one draw. Who misses the rare class is not
        told what is bad.
        """
        cell = self.draw(np.random.default_rng([seed, *map(ord, repr(self))]), kinds or self.kinds)
        unnamed = replace(cell, settings=replace(cell.settings, bad=""))
        return {
            kind: verdict(unnamed if kind == "misses the rare" else cell, kind)
            for kind in cell.judges
        }


@dataclass(frozen=True)
class ScoreWorld(World):
    """Scores without classes. right: how well two people correlate. outputs: half of the quality is
    the source's.
    """

    title: ClassVar[str] = "correlation of two people"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (LIKE_A_PERSON, *(KNOW_NOTHING if self.people == 1 else WORSE_SCORES))

    def draw(self, rng: np.random.Generator, kinds: tuple[str, ...]) -> AuditCell:
        source = np.arange(self.items) // self.outputs
        own, shared = rng.normal(0, SPREAD, (2, self.items))
        truth = MEAN + (own if self.outputs == 1 else (own + shared[source]) / 2**0.5)
        noise = SPREAD * (1 / self.right - 1) ** 0.5
        spread = [SPREAD * 2] * self.careless + [noise] * (self.people - self.careless)
        people = truth[:, None] + rng.normal(0, spread, (self.items, self.people))
        judges = [self.score(kind, rng, truth, noise) for kind in kinds]
        people[self.unasked(rng)] = np.nan
        return cell_of(people, np.stack(judges, axis=1), kinds, outputs=self.outputs)

    def score(self, kind: str, rng: np.random.Generator, truth: Any, noise: float) -> Any:
        """(items,) what a judge of this kind says."""
        said = truth + rng.normal(0, noise, len(truth))
        chance = rng.random(len(truth))
        return {
            "constant": np.full(len(truth), MEAN),
            "random": rng.permutation(said),
            "adversarial": 2 * MEAN - said,
            "shift": said + 1.3 * SPREAD,
            "slope": MEAN + (said - MEAN) / 4,
            "noise": truth + rng.normal(0, (noise**2 + SPREAD**2 / 2) ** 0.5, len(truth)),
            "80% constant": np.where(chance < 0.8, MEAN, said),
            "half of bad good": np.where(
                (truth < MEAN - 0.75 * SPREAD) & (chance < 0.5), MEAN + SPREAD, said
            ),
        }.get(kind, said)


def answers(
    rng: np.random.Generator, truth: Any, levels: int, right: Any, ordered: bool = False
) -> Any:
    """Right with this probability, else any other class; on ordered scales one beside it."""
    other = (truth + rng.integers(1, levels, len(truth))) % levels
    if ordered:
        beside = truth + rng.choice([-1, 1], len(truth))
        other = np.where((beside < 0) | (beside >= levels), 2 * truth - beside, beside)
    return np.where(rng.random(len(truth)) < right, truth, other)


def cell_of(
    people: Any,
    judges: Any,
    names: tuple[str, ...] = ("j",),
    ordered: bool = False,
    outputs: int = 1,
    levels: int = 0,
) -> AuditCell:
    """A cell whose lower scores are better. people: (items, people), judges: (items, judges);
    floats are no classes.
    """
    codes, values = np.column_stack([people, judges]), np.zeros(0)
    if codes.dtype.kind == "f":
        values, codes = np.unique(codes, return_inverse=True)
        codes, values = (
            np.where(np.isnan(values[codes]), NOT_ASKED, codes),
            values[~np.isnan(values)],
        )
        scale, bad = Scale("interval"), ""
    else:
        levels = levels or int(codes.max()) + 1
        values = np.arange(float(levels))
        scale = Scale(
            "ordinal" if ordered else "nominal", tuple(Level(k, f"L{k}") for k in range(levels))
        )
        bad = "" if ordered else f"L{levels - 1}"
    codes = codes.reshape(len(people), -1).astype(np.int32)
    persons, items = tuple(f"p{place}" for place in range(people.shape[1])), np.arange(len(codes))
    matrix = CodeMatrix(
        codes, items // outputs, tuple(map(str, items.tolist())), (*persons, *names), codes, values
    )
    groups, settings = dict.fromkeys(persons, ""), AuditSettings(resamples=300, bad=bad)
    return AuditCell(
        "en", Criterion("c", scale, "lower"), matrix, items, persons, names, groups, settings
    )
