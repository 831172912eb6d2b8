"""Small datasets to plan from: sources with outputs of some generators, people on a scale,
judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source

LIKERT = Scale("ordinal", tuple(Level(value, f"l{value}") for value in (1.0, 2.0, 3.0, 4.0, 5.0)))
BINARY = Scale("nominal", (Level(0.0, "Absent"), Level(1.0, "Present")))
Draw = Callable[[np.random.Generator, float], float]


def likert(rng: np.random.Generator, quality: float) -> float:
    """A rating of 1 to 5 around the output's quality."""
    return float(np.clip(round(quality + rng.normal(0, 0.4)), 1, 5))


def study(
    *,
    sources: int = 40,
    languages: Sequence[str] = ("hi",),
    generators: Sequence[str] = ("g1", "g2"),
    people: Sequence[str] = ("A1", "A2", "A3"),
    judges: Sequence[str] = ("j",),
    criteria: Mapping[str, Scale] | None = None,
    about: Mapping[str, Mapping[str, Any]] | None = None,
    groups: Mapping[str, str] | None = None,
    seed: int = 0,
    title: str = "",
) -> Dataset:
    """A dataset; languages have names of raters of their own where there are several."""
    rng = np.random.default_rng(seed)
    scales = criteria if criteria is not None else {"fluency": LIKERT}
    made, outputs, ratings = [], [], []
    raters = [
        Rater(name, "human", (groups or {}).get(name, "native"), (about or {}).get(name, {}))
        for name in people
    ]
    raters += [Rater(name, "llm", name) for name in judges]
    for language in languages:
        for number in range(sources):
            source = Source(f"{language}{number}", language)
            made.append(source)
            for generator in generators:
                output = Output(f"{source.source}/{generator}", source.source, generator, language)
                outputs.append(output)
                for criterion, scale in scales.items():
                    quality = rng.uniform(1.5, 4.8)
                    for rater in raters:
                        score = likert(rng, quality)
                        if len(scale.levels) == 2:
                            score = float(score >= 3)
                        ratings.append(Rating(output.output, criterion, rater.rater, score))
    declared = [Criterion(name, scale) for name, scale in scales.items()]
    return assemble(
        Card("study", title=title), declared, made, outputs, raters, facts_from(ratings)
    )
