"""How often a watch and a gate are wrong, in simulated worlds. Prints a table for each question.

Streams whose baseline is a sample of anchors are watched to their end, by bets and by a z test at
5% at every step: without a loss, and with one. A gate's paired differences are as large as the
margin, or none.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metal.stats.drift import paired_difference
from metal.stats.stream import Baseline, Stream, stake_at_alarm

ALPHA, MARGIN = 0.05, 0.05
ANCHORS, STREAMS = (30, 60, 100, 300, 1000), (1, 8, 40)


@dataclass(frozen=True)
class Watched:
    """A stream whose baseline is a sample of `anchors` sources, one of `streams`; from step `after`
    on it loses `loss`.

    together: how many steps in a row have the same value, as outputs of one source would, counted
    apart.
    """

    anchors: int
    streams: int
    mean: float = 0.8
    loss: float = 0.0
    after: int = 0
    steps: int = 2000
    together: int = 1


@dataclass(frozen=True)
class Alarms:
    """first: (worlds,) step of the first alarm, infinite without one. peeking: share with an alarm
    of a z test at 5% at every step. after: the step of the loss.
    """

    first: np.ndarray[Any, np.dtype[np.float64]]
    peeking: float
    after: int

    def in_any(self, streams: int) -> float:
        """The chance of an alarm in any of so many independent streams like these."""
        return float(1 - (1 - np.isfinite(self.first).mean()) ** streams)

    @property
    def found(self) -> float:
        """Share that alarmed after the loss."""
        return float((np.isfinite(self.first) & (self.first > self.after)).mean())

    @property
    def before_loss(self) -> float:
        """Share that alarmed too early."""
        return float((self.first <= self.after).mean())

    @property
    def median(self) -> float:
        """Steps from the loss to the alarm, of half of the worlds; infinite where fewer than half
        alarmed.
        """
        late = np.where(self.first > self.after, self.first - self.after, np.inf)
        return float(np.median(late))


def alarms(world: Watched, worlds: int, *, exact: bool = False) -> Alarms:
    """The first alarms of streams like `world`, each with a baseline of its own. exact: take the
    baseline for exact.
    """
    rng = np.random.default_rng(
        [world.anchors, world.streams, round(100 * world.mean), round(100 * world.loss)]
    )
    baselines = rng.binomial(world.anchors, world.mean, worlds) / world.anchors
    if exact:
        least, stake = np.maximum(baselines - MARGIN, 0.001), world.streams / ALPHA
    else:
        sampled = (Baseline(mean, world.anchors) for mean in baselines.tolist())
        least = np.array([baseline.level(MARGIN, ALPHA, world.streams) for baseline in sampled])
        stake = stake_at_alarm(ALPHA, world.streams)
    stream, first, peeking = Stream(least), np.full(worlds, np.inf), np.zeros(worlds, dtype=bool)
    against = np.clip(baselines, 0.01, 0.99)
    for step in range(1, world.steps + 1):
        mean = world.mean - (world.loss if step > world.after else 0)
        if (step - 1) % world.together == 0:
            value = (rng.random(worlds) < mean).astype(float)
        stream = stream.after(value)
        first = np.where((stream.log_e >= math.log(stake)) & np.isinf(first), step, first)
        z = (stream.total / step - against) / np.sqrt(against * (1 - against) / step)
        peeking |= (z < -1.645) & (step >= 20)
    return Alarms(first, float(peeking.mean()), world.after)


def watch(worlds: int, steps: int) -> None:
    """False alarms in every cell of anchors and streams, and how soon losses are found."""
    print(
        f"No loss, {steps} steps: false alarms in any of the streams, by a baseline taken for"
        " exact, by z at every step"
    )
    print("anchors streams  mean  false alarms  exact baseline  z, one stream")
    for anchors in ANCHORS:
        for streams in STREAMS:
            for mean in (0.6, 0.8, 0.95):
                world = Watched(anchors, streams, mean, steps=steps)
                held, exact = alarms(world, worlds), alarms(world, worlds, exact=True)
                rates = (
                    f"{held.in_any(streams):13.3f} {exact.in_any(streams):15.3f}"
                    f" {held.peeking:14.3f}"
                )
                print(f"{anchors:7} {streams:7} {mean:5.2f} {rates}")
    print(
        "A loss after 200 steps: found within 400 and 1,500 steps, alarms before it, median steps"
        " to the alarm"
    )
    print("anchors streams  loss  in 400  in 1,500  before  median")
    for anchors in ANCHORS:
        for streams in STREAMS:
            for loss in (0.1, 0.15, 0.25):
                world = Watched(anchors, streams, loss=loss, after=200, steps=1700)
                seen = alarms(world, worlds)
                soon = (seen.first > 200) & (seen.first <= 600)
                rates = (
                    f"{soon.mean():7.3f} {seen.found:9.3f} {seen.before_loss:7.3f}"
                    f" {seen.median:7.0f}"
                )
                print(f"{anchors:7} {streams:7} {loss:5.2f} {rates}")


def named(worlds: int) -> None:
    """Which of eight languages alarm, when the first loses .2 after 200 steps."""
    world = Watched(300, 8, steps=1700)
    first, others = (
        alarms(replace(world, loss=0.2, after=200), worlds),
        alarms(world, worlds).in_any(7),
    )
    print(
        f"300 anchors: a language that lost .2 is named in {first.found:.3f} of worlds, another one"
        f" in {others:.3f}"
    )


def gate(times: int) -> None:
    """How often a difference passes for equivalent, and for changed."""
    print("outputs  margin  discordant  true difference  equivalent  p < .05")
    for n in (50, 100, 300, 1000):
        for margin in (0.05, 0.1):
            for discordant in (0.1, 0.2, 0.4):
                for true in (margin, 0.0):
                    rng = np.random.default_rng(
                        [n, round(margin * 100), round(discordant * 100), round(true * 100)]
                    )
                    shares = [(discordant - true) / 2, (discordant + true) / 2, 1 - discordant]
                    equal = changed = 0
                    for better, worse, same in rng.multinomial(n, shares, times):
                        values = np.repeat([1.0, -1.0, 0.0], [better, worse, same])
                        difference = paired_difference(values, np.arange(n))
                        low, high = difference.interval(0.05)
                        equal += -margin < low and high < margin
                        changed += difference.p < 0.05
                    rates = f"{equal / times:11.3f} {changed / times:8.3f}"
                    print(f"{n:7} {margin:7.2f} {discordant:11.2f} {-true:16.2f} {rates}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--times", type=int, default=1000)
    options = parser.parse_args()
    watch(options.worlds, options.steps)
    named(options.worlds)
    gate(options.times)
