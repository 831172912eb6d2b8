"""Examples in prompts: rated outputs, shown with people's ratings. Other outputs of their sources
are not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.grouping import grouped
from metal.data.records import Output
from metal.data.text import listed
from metal.errors import UsageError


@dataclass(frozen=True)
class RatedExample:
    """An output with the text of its source, and people's score by criterion."""

    output: Output
    source: str
    scores: Mapping[str, float]


def draw_examples(
    dataset: Dataset, outputs: Sequence[Output], criteria: Iterable[str], count: int, seed: int
) -> dict[str, tuple[RatedExample, ...]]:
    """Draw `count` examples for each language of the outputs, each from another source, with as
    many different scores as possible.

    An output can be an example if, on every criterion rated in its language, more than half of its
    raters agree on a level; scores without levels are averaged. criteria: the criteria asked; the
    same examples are drawn whichever are asked. Raises UsageError if a language has too few
    examples, or if nobody rated a criterion in it.
    """
    agreed = _agreed(dataset)
    by_language = grouped(outputs, lambda output: output.language)
    drawn = {}
    for language, own in by_language.items():
        rated = {criterion for output in own for criterion in agreed.get(output.output, ())}
        if lacking := [criterion for criterion in criteria if criterion not in rated]:
            raise UsageError(
                f"`examples`: no output in {language} has people's ratings on {listed(lacking)}"
            )
        pool = [
            output
            for output in own
            if output.has_text and rated == agreed.get(output.output, {}).keys()
        ]
        if len({output.source for output in own}) <= count:
            raise UsageError(f"`examples={count}`: {language} would have no source left to judge")
        rng = np.random.default_rng([seed, *blake2b(language.encode(), digest_size=8).digest()])
        chosen = _most_varied(pool, agreed, count, rng)
        if len(chosen) < count:
            raise UsageError(
                f"`examples={count}`: in {language} only {len(chosen)} sources have an output"
                " that most people rate alike on all criteria"
            )
        drawn[language] = tuple(
            RatedExample(output, dataset.sources[output.source].text, agreed[output.output])
            for output in chosen
        )
    return drawn


def _most_varied(
    pool: Sequence[Output],
    agreed: Mapping[str, Mapping[str, float]],
    count: int,
    rng: np.random.Generator,
) -> list[Output]:
    """Up to `count` outputs in random order, each from another source; scores that occur least
    often are preferred.
    """
    free = [pool[row] for row in rng.permutation(len(pool))]
    chosen: list[Output] = []
    shown: Counter[tuple[str, float]] = Counter()
    while free and len(chosen) < count:
        rarest = min(
            free, key=lambda output: sum(shown[score] for score in agreed[output.output].items())
        )
        chosen.append(rarest)
        shown.update(agreed[rarest.output].items())
        free = [output for output in free if output.source != rarest.source]
    return chosen


def _agreed(dataset: Dataset) -> dict[str, dict[str, float]]:
    """Output -> criterion -> the level that more than half of the people gave, or people's mean if
    there are no levels.
    """
    ratings = dataset.ratings
    people = ratings[
        (ratings["kind"] == "human")
        & ratings["score"].notna()
        & ratings["criterion"].isin(dataset.asked)
    ]
    keys = ["output", "criterion"]
    counts = people.groupby([*keys, "score"], observed=True).size()
    share = counts / counts.groupby(keys, observed=True).transform("sum")
    most = share[share > 0.5].reset_index()[[*keys, "score"]]
    mean = people.groupby(keys, observed=True)["score"].mean().reset_index()
    levelled = {name for name, criterion in dataset.asked.items() if criterion.scale.levels}
    table = pd.concat(
        [most[most["criterion"].isin(levelled)], mean[~mean["criterion"].isin(levelled)]]
    )
    agreed: dict[str, dict[str, float]] = {}
    for output, criterion, score in table.sort_values(keys).itertuples(index=False):
        agreed.setdefault(str(output), {})[str(criterion)] = float(score)
    return agreed


def apart(
    outputs: Iterable[Output], dataset: Dataset, examples: Mapping[str, Sequence[RatedExample]]
) -> list[Output]:
    """The outputs that share neither source, nor content of a source, nor text with an example."""
    shown = [example.output for drawn in examples.values() for example in drawn]
    sources = {output.source for output in shown}
    contents = {dataset.sources[source].content for source in sources} - {""}
    texts = {text for output in shown for text in output.shown}
    return [
        output
        for output in outputs
        if output.source not in sources
        and dataset.sources[output.source].content not in contents
        and texts.isdisjoint(output.shown)
    ]
