"""How often a lean between languages is seen where there is none, found where there is one, and
covered; and the time of `metal.bias_language` on 10 languages x 1,000 contents x 6 judges. Prints a
table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import metal
from metal.stats.leniency import LEAST, mean_shift, parallel_shifts, shifts_beside_people
from tests.stats.test_leniency import LANGUAGES, rated

LEAN = 0.4
SIZES = (LEAST, 40, 200)  # contents, outputs of a language


def parallel(rng: np.random.Generator, contents: int, lean: float) -> Any:
    """Shifts of a judge that leans in the first language, on the same contents."""
    content = np.repeat(np.arange(contents), LANGUAGES)
    language = np.tile(np.arange(LANGUAGES), contents)
    values = (
        rng.normal(size=contents)[content]
        + rng.normal(size=len(content)) * 0.5
        + lean * (language == 0)
    )
    return parallel_shifts(values, language, content, content, LANGUAGES)


def excess(rng: np.random.Generator, contents: int, errs: float = 0.15) -> Any:
    """Excess flips of a judge that errs as often in another language as when it is asked again."""
    quality = rng.integers(0, 3, contents)
    first, again, other = (
        np.where(rng.random(contents) < errs, (quality + 1) % 3, quality) for _ in range(3)
    )
    return mean_shift((other != first).astype(float) - (again != first), np.arange(contents))


def figures(times: int) -> Iterator[tuple[str, int, float, float, float]]:
    """(method, size, share of false alarms, of leans found, of intervals that hold the lean)"""
    held = LEAN * (1 - 1 / LANGUAGES)
    for size in SIZES:
        rng = np.random.default_rng([7, size])
        drawn = [(parallel(rng, size, 0.0), parallel(rng, size, LEAN)) for _ in range(times)]
        yield ("the same contents", size, *_rates(drawn, held))
        if size > LEAST:
            beside = [
                [shifts_beside_people(rated(rng, lean, size)) for lean in (0.0, [LEAN, 0, 0, 0])]
                for _ in range(min(times, 300))
            ]
            for name in ("gap", "naive_regression", "naive_difference"):
                yield (
                    name,
                    size,
                    *_rates([(null[name], shifted[name]) for null, shifted in beside], held),
                )
        alarms = [float(excess(rng, size).p[0] < 0.05) for _ in range(times)]
        yield "excess flips, noise only", size, float(np.mean(alarms)), np.nan, np.nan


def _rates(drawn: Any, held: float) -> tuple[float, float, float]:
    covers = [low <= held <= high for low, high in (shifted.interval(0) for _, shifted in drawn)]
    alarms = [np.nanmean(null.p < 0.05) for null, _ in drawn]
    return (
        float(np.mean(alarms)),
        float(np.mean([shifted.p[0] < 0.05 for _, shifted in drawn])),
        float(np.mean(covers)),
    )


def seconds() -> float:
    """Of one audit: 10 languages x 1,000 contents x 6 judges, and three people."""
    rng = np.random.default_rng(1)
    codes = ["en", "es", "eu", "fr", "de", "hi", "sw", "ta", "yo", "zh"]
    language, content = (
        each.ravel() for each in np.meshgrid(codes, np.arange(1000), indexing="ij")
    )
    quality = rng.integers(1, 6, 1000)[content]
    parts = [
        pd.DataFrame(
            {
                "source": [f"q{place}" for place in content],
                "language": language,
                "rater": rater,
                "score": np.clip(quality + rng.integers(-1, 2, len(content)), 1, 5),
            }
        )
        for rater in (*(f"gpt-{place}" for place in range(6)), "A1", "A2", "A3")
    ]
    dataset = metal.read(pd.concat(parts), levels={"*": "1<2<3<4<5"})
    started = time.perf_counter()
    metal.bias_language(dataset)
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--times", type=int, default=1000, help="draws of each world (default: 1000)"
    )
    times = parser.parse_args().times
    print(f"{times} draws (300 beside people); lean {LEAN} in one of {LANGUAGES} languages\n")
    print("| method | contents | false alarms | found | covered |\n|---|---|---|---|---|")
    for method, size, *rates in figures(times):
        print(
            f"| {method} | {size} |"
            f" {' | '.join('–' if np.isnan(rate) else f'{rate:.3f}' for rate in rates)} |"
        )
    print(f"\n10 languages x 1,000 contents x 6 judges, 3 people: {seconds():.1f} s")


if __name__ == "__main__":
    main()
