"""What judges' bias towards their own family and towards the first place shows, in simulated
worlds.

Prints how often a judge without the bias is cleared (nothing said in any language), and how often
an injected bias is named in its language, and elsewhere. What sways a judge inside a text is in
`tests.bench.probes`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd

import metal
from metal.auditing.cells import cells
from metal.auditing.own_outputs import AGAINST, PREFERS, own_output_rows
from metal.auditing.pairs import pair_rows
from metal.auditing.settings import AuditSettings
from metal.data.dataset import assemble
from metal.data.ratings import facts_from
from metal.data.records import COMPARED, Criterion, Output, Rater, Rating, Source

LANGUAGES = ("en", "hi", "sw")


def own(rng: np.random.Generator, outputs: int, bias: float, *, levels: int = 7) -> set[str]:
    """The languages in which a judge is said to prefer its own, or to be against it. bias: in
    levels, in Swahili.

    Three people; a quarter of the outputs are its own, and a level better than the others.
    """
    parts = []
    for language in LANGUAGES:
        number = np.arange(outputs)
        mine = number % 4 == 0
        quality = rng.normal(levels / 2, 1.2, outputs) + mine
        judge = quality + rng.normal(0, 0.8, outputs) + 0.4 + bias * mine * (language == "sw")
        raters = {"gpt-4": judge} | {
            f"{language}{person}": quality + rng.normal(0, 0.9, outputs) for person in "ABC"
        }
        for rater, scores in raters.items():
            about = {
                "language": language,
                "rater": rater,
                "kind": "llm" if rater == "gpt-4" else "human",
            }
            table = {
                "source": [f"{language}{n // 4}" for n in number],
                "score": np.clip(np.rint(scores), 1, levels),
            }
            parts.append(
                pd.DataFrame(
                    table
                    | {"generator": np.where(mine, "gpt-3.5", [f"g{n % 4}" for n in number])}
                    | about
                )
            )
    data = metal.read(pd.concat(parts), levels={"*": " < ".join(map(str, range(1, levels + 1)))})
    return {
        row["language"]
        for row in own_output_rows(
            data, AuditSettings(), list(cells(data, AuditSettings(), continuous=True))
        )
        if row["says"] in (PREFERS, AGAINST)
    }


def first(rng: np.random.Generator, pairs: int, bias: float) -> set[str]:
    """The languages in which the order is said to matter. bias: log odds of the first place, in
    Swahili.
    """
    sources = [Source(f"{language}{n}", language) for language in LANGUAGES for n in range(pairs)]
    named = [
        Output(f"o{s.source}", s.source, "a | b", s.language, first="a", second="b")
        for s in sources
    ]
    both = [each for output in named for each in (output, output.swapped)]
    chosen = [
        float(
            (rng.uniform() > 1 / (1 + np.exp(-bias * (output.language == "sw"))))
            != bool(output.condition)
        )
        for output in both
    ]
    ratings = [
        Rating(output.output, "better", "j", score)
        for output, score in zip(both, chosen, strict=True)
    ]
    criterion = Criterion("better", COMPARED)
    raters = [Rater("j", "llm"), Rater("A", "human")]
    data = assemble(
        metal.data.dataset.Card("pairs"), [criterion], sources, both, raters, facts_from(ratings)
    )
    return {row["language"] for row in pair_rows(data, AuditSettings()) if row["p_adjusted"] < 0.05}


def line(what: str, said: Callable[[float], set[str]], bias: float, times: int) -> None:
    """How often the bias is named in Swahili, and anything elsewhere; without a bias, how often
    nothing is said.
    """
    runs = [said(bias) for _ in range(times)]
    other = np.mean([bool(languages - {"sw"}) for languages in runs])
    named = np.mean(["sw" in languages for languages in runs])
    figures = (
        f"named {named:.2f}, elsewhere {other:.2f}"
        if bias
        else f"cleared {np.mean([not run for run in runs]):.3f}"
    )
    print(f"{what}, bias {bias:g}: {figures}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=200)
    times, rng = options.parse_args().times, np.random.default_rng(0)
    for outputs in (100, 300):
        for bias in (0.0, 0.5, 1.0):
            line(
                f"its own among {outputs} outputs", lambda b, n=outputs: own(rng, n, b), bias, times
            )  # type: ignore
    for pairs in (60, 200):
        for bias in (0.0, 0.5, 1.0):
            line(f"the first of {pairs} pairs", lambda b, n=pairs: first(rng, n, b), bias, times)  # type: ignore


if __name__ == "__main__":
    main()
