"""How often a watch and a gate are wrong, in simulated worlds. Prints two tables.

A stream that stays at its level is watched to its end, by bets and by a z test at 5% at every step; then one of four
languages loses agreement. A gate's paired differences are as large as the margin, or none.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from metal.stats.drift import Stream, paired_difference

LANGUAGES = 4


def watch(streams: int, steps: int) -> None:
    """Alarms over the whole path."""
    print("level  true   alarm by bets  alarm by z at every step  median steps to the alarm")
    for least, true in ((0.5, 0.5), (0.75, 0.75), (0.9, 0.9), (0.75, 0.8), (0.75, 0.7), (0.75, 0.6), (0.75, 0.5)):
        rng = np.random.default_rng([round(least * 100), round(true * 100)])
        stream, first, peeking = (
            Stream(np.full(streams, least)),
            np.full(streams, np.inf),
            np.zeros(streams, dtype=bool),
        )
        for step in range(1, steps + 1):
            stream = stream.after((rng.random(streams) < true).astype(float))
            first = np.where((stream.log_e >= math.log(20)) & np.isinf(first), step, first)
            z = (stream.total / step - least) / math.sqrt(least * (1 - least) / step)
            peeking |= (z < -1.645) & (step >= 20)
        caught = np.isfinite(first)
        steps_taken = f"{np.median(first[caught]):.0f}" if caught.mean() > 0.5 else "-"
        print(f"{least:5.2f} {true:5.2f} {caught.mean():15.3f} {peeking.mean():25.3f}  {steps_taken:>25}")


def named(streams: int, steps: int) -> None:
    """Which of four languages alarm, when the first loses .2 after a half of the steps; threshold 4 / .05."""
    rng, alarms = np.random.default_rng(8), np.zeros((LANGUAGES, streams), dtype=bool)
    for language in range(LANGUAGES):
        stream = Stream(np.full(streams, 0.75))
        for step in range(steps):
            true = 0.6 if language == 0 and step >= steps // 2 else 0.8
            stream = stream.after((rng.random(streams) < true).astype(float))
            alarms[language] |= stream.log_e >= math.log(LANGUAGES / 0.05)
    others = alarms[1:].any(axis=0).mean()
    print(f"a language that lost .2 is named in {alarms[0].mean():.3f} of streams, another one in {others:.3f}")


def gate(times: int) -> None:
    """How often a difference passes for equivalent, and for changed."""
    print("outputs  margin  discordant  true difference  equivalent  p < .05")
    for n in (50, 100, 300, 1000):
        for margin in (0.05, 0.1):
            for discordant in (0.1, 0.2, 0.4):
                for true in (margin, 0.0):
                    rng = np.random.default_rng([n, round(margin * 100), round(discordant * 100), round(true * 100)])
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
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--times", type=int, default=1000)
    options = parser.parse_args()
    watch(options.streams, options.steps)
    named(options.streams, options.steps)
    gate(options.times)
