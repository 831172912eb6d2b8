"""How many items and people are needed: for a judge's F1, for a generator's score, for the alternative annotator test.

Designs are simulated by drawing sources, with all their outputs, from those that were rated, and k of an item's people:
as if there were more sources and outputs like these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metal.errors import Undefined
from metal.genie.design.cells import DesignCell
from metal.genie.design.judged import JudgedPool, fewer_than, judged_pool
from metal.genie.design.panels import draw_panels, pool_of
from metal.genie.design.search import Measure, Needed, SimulatedPoint, enough, share_of, width_of
from metal.stats.patterns import Numbers

F1, TEST, SCORE = "judge F1", "alternative annotator test", "generator score"
QUESTIONS = (F1, TEST, SCORE)
NAN = float("nan")


@dataclass(frozen=True)
class SizePlan:
    """The answer to a question: what is needed, and the curve it was read from.

    who: the judge or generator. raters: people an item. now: what the sources there are give. value: the figure itself,
    in the data (F1, score, share of people the judge is shown to stand in for in the end). items: that count, of
    `sources` sources: outputs of this generator, or of all.
    """

    question: str
    who: str
    raters: int
    target: float
    sources: int
    items: int
    value: float
    now: SimulatedPoint | None
    needed: Needed | None
    curve: tuple[SimulatedPoint, ...]
    reason: str = ""
    dropped: str = ""

    def items_of(self, sources: int) -> int:
        """Items of so many sources, with as many each as there are on average."""
        return math.ceil(sources * self.items / self.sources - 1e-9) if self.sources else 0


def plans(cell: DesignCell) -> Iterator[SizePlan]:
    """Every question of a cell, for each number of people an item: judges, then generators."""
    for judge in cell.judges:
        for size in cell.sizes:
            yield from judge_plans(cell, judge, size)
    for generator in dict.fromkeys(sorted(map(str, cell.generators))):
        for size in cell.sizes:
            yield score_plan(cell, generator, size)


def judge_plans(cell: DesignCell, judge: str, size: int) -> tuple[SizePlan, SizePlan]:
    """F1 and test of a judge with `size` people an item."""
    rng = cell.random("judge", judge, size)
    f1, test = _asked(cell, F1, judge, size), _asked(cell, TEST, judge, size)
    try:
        pool = _pool(cell, judge, size, rng)
    except Undefined as error:
        return replace(f1, reason=str(error)), replace(test, reason=str(error))
    drawn: dict[tuple[int, int], Numbers] = {}  # both questions are put to the same samples

    def sums(sources: int, times: int) -> Numbers:
        if (sources, times) not in drawn:
            drawn[sources, times] = pool.pool.draw(sources, cell.settings.rounds * times, rng)
        return drawn[sources, times]

    def width(sources: int, times: int) -> SimulatedPoint:
        return width_of(pool.f1(sums(sources, times)), sources)

    def power(sources: int, times: int) -> SimulatedPoint:
        return share_of(pool.passes(sums(sources, times), cell.epsilon), sources)

    dropped = ", ".join(f"{reason} {count}" for reason, count in pool.dropped.items())
    counts: dict[str, Any] = {"sources": pool.pool.sources, "items": pool.items, "dropped": dropped}
    f1 = _planned(replace(f1, value=float(pool.f1(pool.pool.chances @ pool.pool.sums)), **counts), width)
    leads = pool.leads()
    leads = leads[~np.isnan(leads)]
    if not len(leads):
        reason = "each item needs two people, one to leave out and one to compare with"
        return f1, replace(test, reason=reason, **counts)
    below = int((leads < cell.epsilon).sum())
    test = replace(test, value=below / len(leads), **counts)
    if below * 2 < len(leads):
        reason = (
            f"no number of items would do: epsilon {cell.epsilon:g} makes up for what the judge is behind {below} of "
            f"{len(leads)} people only"
        )
        now = power(test.sources, 1)
        return f1, replace(test, reason=reason, now=now, curve=(now,))
    return f1, _planned(test, power)


def score_plan(cell: DesignCell, generator: str, size: int) -> SizePlan:
    """The mean score of a generator's outputs with `size` people an item."""
    rng = cell.random("generator", generator, size)
    asked = _asked(cell, SCORE, generator, size)
    by_generator = cell.generators == generator
    labels, sources = cell.shares[by_generator], cell.sources[by_generator]
    rated = ~np.isnan(labels)
    full = rated.sum(axis=1) >= size
    if not full.any():
        return replace(asked, reason=_not_there(size, int(rated.sum(axis=1).max())))
    labels, rated, sources = labels[full], rated[full], sources[full]
    chosen = draw_panels(rated, size, rng)
    score = np.round(np.where(chosen, labels, 0.0).sum(axis=-1) / size, 12)
    pool = pool_of(np.stack([score, np.ones_like(score)], axis=-1), sources)

    def width(number: int, times: int) -> SimulatedPoint:
        sums = pool.draw(number, cell.settings.rounds * times, rng)
        return width_of(sums[:, 0] / sums[:, 1], number)

    total, count = pool.chances @ pool.sums
    left = int((~full).sum())
    dropped = f"{fewer_than(size)} {left}" if left else ""
    counts: dict[str, Any] = {
        "sources": pool.sources,
        "items": len(labels),
        "value": float(total / count),
        "dropped": dropped,
    }
    return _planned(replace(asked, **counts), width)


def _pool(cell: DesignCell, judge: str, size: int, rng: np.random.Generator) -> JudgedPool:
    if cell.codes is None:
        raise Undefined("a continuous scale has no classes")
    if judge not in cell.codes.raters:
        raise Undefined("the judge rated nothing here")
    most = int((~np.isnan(cell.scores)).sum(axis=1).max())
    if size > most:
        raise Undefined(_not_there(size, most))
    return judged_pool(
        cell.codes.of(cell.people),
        cell.codes.of([judge])[:, 0],
        cell.sources,
        np.asarray(cell.criterion.scale.values),
        size,
        rule=cell.settings.aggregate,
        ordered=cell.criterion.scale.measure != "nominal",
        rng=rng,
    )


def _not_there(size: int, most: int) -> str:
    return f"not in the data: items were rated by up to {most} people, not {size}"


def _asked(cell: DesignCell, question: str, who: str, size: int) -> SizePlan:
    """A question without an answer."""
    target = cell.settings.power if question == TEST else cell.settings.width
    return SizePlan(question, who, size, target, 0, 0, NAN, None, None, ())


def _planned(plan: SizePlan, measure: Measure) -> SizePlan:
    """The plan with what is needed, or the reason why nobody knows, and every point that was simulated."""
    if plan.sources < 2:
        return replace(plan, reason="one source: nothing says how sources differ")
    points: dict[int, SimulatedPoint] = {}

    def kept(number: int, times: int) -> SimulatedPoint:
        points[number] = here = measure(number, times)  # what was simulated with more rounds comes later, and stays
        return here

    needed, reason = None, ""
    try:
        needed = enough(kept, plan.target, "power" if plan.question == TEST else "width", plan.sources)
    except Undefined as error:
        reason = str(error)
    curve = tuple(points[number] for number in sorted(points))
    if plan.question != TEST and all(point.value == 0 for point in curve):
        needed, reason = None, "every sample is alike: the data do not say how sources differ"
    return replace(plan, now=points.get(plan.sources), needed=needed, curve=curve, reason=reason)
