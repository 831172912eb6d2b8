"""Make pairs to compare from single outputs of one source, or of one content in two languages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset, assemble
from metal.data.languages import SEVERAL
from metal.data.pairs import MADE
from metal.data.ratings import tidy_facts
from metal.data.records import BETTER, COMPARED, FIRST, SECOND, TIE, Criterion, Output, Source
from metal.errors import UnknownName, UsageError

ALL, RANDOM, SWISS, LANGUAGES = "all", "random", "swiss", "languages"
Pair = tuple[Output, Output]


def compared(dataset: Dataset, which: str, *, seed: int = 0) -> Dataset:
    """Make a dataset of pairs: each output is a pair of outputs of one source. Preferences follow
    from their scores.

    which: ALL means all pairs of generators. A generator's name means each other generator paired
    with this one. `random:N` means N random pairs for each source. SWISS means pairs of generators
    that are about equal by people's preferences so far, so that the pairs go to generators whose
    order is least certain. LANGUAGES means a generator's outputs for one content in two languages;
    then each language is treated as a generator. A rater who scored both outputs prefers the output
    with the better score, or neither if the scores are equal. The outputs of a pair are in the
    order of their generators' names, so two outputs make only one pair. Criteria keep their names
    and questions. MADE in dataset.toml records how the dataset was made. Raises UsageError if no
    source has two outputs, or if the outputs are already pairs. Raises UnknownName for any other
    `which`.
    """
    if dataset.asked and all(criterion.scale.compares for criterion in dataset.asked.values()):
        raise UsageError(
            "`pairs` makes pairs of single outputs, but these are pairs already; leave out `pairs`"
        )
    if which == LANGUAGES:
        dataset = _across_languages(dataset)
    every = _pairs_by_source(dataset.outputs.values())
    if not every:
        nothing = (
            "of one content, and no generator has outputs for a content in two languages"
            if which == LANGUAGES
            else "of one source, and no source has outputs of two generators"
        )
        raise UsageError(f"`pairs` compares outputs {nothing}")
    scored = _shares(dataset)
    chosen = list(_chosen(every, which, scored, seed))
    facts = _preferences(chosen, scored)
    rated, kept = set(facts["rater"]), {first.source for first, _ in chosen}
    return assemble(
        replace(dataset.card, name=f"{dataset.card.name}-pairs"),
        map(_asked, dataset.asked.values()),
        [source for name, source in dataset.sources.items() if name in kept],
        map(_joined, chosen),
        [rater for name, rater in dataset.raters.items() if name in rated],
        tidy_facts(facts),
        extra={MADE: {"of": dataset.identity, "which": which, "seed": seed}},
    )


def _pairs_by_source(outputs: Iterable[Output]) -> dict[str, list[Pair]]:
    """source -> all pairs of its single outputs that are to be rated; sources without pairs are
    left out.
    """
    singles: dict[str, list[Output]] = defaultdict(list)
    for output in outputs:
        if output.chosen and not output.condition and not output.is_pair:
            singles[output.source].append(output)
    every = {source: _pairs(outputs) for source, outputs in singles.items()}
    return {source: pairs for source, pairs in every.items() if pairs}


def _across_languages(dataset: Dataset) -> Dataset:
    """Rearrange the dataset so that each (content, generator) is a source and each language is a
    generator.
    """
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    outputs, contents = {}, {}
    for name, output in dataset.outputs.items():
        source = dataset.sources[output.source]
        own = f"{source.content or source.source} / {output.generator}"
        contents[own] = source.content or source.source
        texts[own][source.text] = None
        outputs[name] = replace(output, source=own, generator=output.language, language=SEVERAL)
    sources = {
        name: Source(name, SEVERAL, "\n\n".join(filter(None, each)), content=contents[name])
        for name, each in texts.items()
    }
    return replace(dataset, sources=sources, outputs=outputs)


def _pairs(outputs: Iterable[Output]) -> list[Pair]:
    """All pairs of outputs of different generators, each in the order of the generators' names."""
    ordered = sorted(outputs, key=lambda output: (output.generator, output.output))
    return [(a, b) for a, b in combinations(ordered, 2) if a.generator != b.generator]


def _joined(pair: Pair) -> Output:
    a, b = pair
    return Output(
        f"{a.output} | {b.output}",
        a.source,
        f"{a.generator} | {b.generator}",
        a.language,
        first=a.generator,
        second=b.generator,
        texts=(a.text, b.text) if a.text.strip() and b.text.strip() else (),
    )


def _asked(criterion: Criterion) -> Criterion:
    question = f"{BETTER} {criterion.question}".strip()
    return replace(criterion, scale=COMPARED, direction="higher", question=question)


def _shares(dataset: Dataset) -> pd.DataFrame:
    """Scores as shares of the scale: 0 is the worst, 1 the best. On a scale without ends, scores
    stay unchanged, or are negated if lower is better.
    """
    table = dataset.ratings[dataset.ratings["score"].notna()]
    parts = []
    for name, rows in table.groupby("criterion", observed=True):
        criterion = dataset.asked.get(str(name))
        if criterion is None or (
            criterion.scale.measure == "nominal" and criterion.scale.ends is None
        ):
            continue
        scores = rows["score"].to_numpy()
        sign = 1 if criterion.direction == "higher" else -1
        parts.append(
            rows.assign(share=criterion.share(scores) if criterion.scale.ends else sign * scores)
        )
    columns = ["output", "criterion", "rater", "kind", "share"]
    shares = pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)
    return shares.astype(dict.fromkeys(columns[:4], object))


def _preferences(pairs: Iterable[Pair], shares: pd.DataFrame) -> pd.DataFrame:
    """The preference of each rater who scored both outputs of a pair on a criterion."""
    names = [(_joined(pair).output, pair[0].output, pair[1].output) for pair in pairs]
    frame = pd.DataFrame(names, columns=["pair", "first", "second"], dtype=object)
    left = frame.merge(shares, left_on="first", right_on="output")
    both = left.merge(
        shares, left_on=["second", "criterion", "rater"], right_on=["output", "criterion", "rater"]
    )
    ahead = (both["share_x"] - both["share_y"]).to_numpy(dtype=np.float64)
    score = np.select([ahead > 0, ahead < 0], [FIRST, SECOND], TIE)
    return both[["criterion", "rater"]].assign(output=both["pair"], score=score)


def _chosen(
    every: Mapping[str, list[Pair]], which: str, shares: pd.DataFrame, seed: int
) -> Iterator[Pair]:
    """The pairs that `which` selects."""
    outputs = chain.from_iterable(chain.from_iterable(every.values()))
    generators = {output.generator for output in outputs}
    kind, _, number = which.partition(":")
    rng = np.random.default_rng(seed)
    if which == SWISS:
        return _swiss(every, shares, rng)
    if which in (*generators, ALL, LANGUAGES):
        kept = (pair for pairs in every.values() for pair in pairs)
        return (
            pair
            for pair in kept
            if which in (ALL, LANGUAGES) or which in (pair[0].generator, pair[1].generator)
        )
    if kind == RANDOM and number.isdigit() and int(number):
        drawn = ((pairs, rng.permutation(len(pairs))[: int(number)]) for pairs in every.values())
        return (pairs[index] for pairs, places in drawn for index in sorted(places))
    remedy = (
        f"`pairs` is {ALL}, {SWISS}, {RANDOM}:N, {LANGUAGES}, or the generator that all others are"
        " compared with"
    )
    raise UnknownName(
        "choice of pairs",
        which,
        [ALL, SWISS, LANGUAGES, f"{RANDOM}:2", *sorted(generators)],
        remedy,
    )


def _swiss(
    every: Mapping[str, list[Pair]], shares: pd.DataFrame, rng: np.random.Generator
) -> Iterator[Pair]:
    """Make a round of a Swiss tournament for each source: it pairs generators with about equal
    points in the source's language.

    A generator gets a point if a person prefers its output; points are averaged over people and
    criteria.
    """
    people = (
        shares[shares["kind"] == "human"].groupby("output", observed=True)["share"].mean().to_dict()
    )
    points: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    met: dict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    games: Counter[tuple[str, str]] = Counter()
    for source in rng.permutation(list(every)).tolist():
        pairs = {frozenset((a.generator, b.generator)): (a, b) for a, b in every[source]}
        language = every[source][0][0].language
        standing, meetings = points[language], met[language]
        waiting = sorted(
            {name for names in pairs for name in names}, key=lambda name: (-standing[name], name)
        )
        if len(waiting) % 2:  # who has played most sits out
            waiting.remove(
                max(waiting, key=lambda name: (games[language, name], waiting.index(name)))
            )
        while len(waiting) > 1:
            player = waiting.pop(0)
            opponent = min(
                waiting,
                key=lambda other: (meetings[frozenset((player, other))], waiting.index(other)),
            )
            waiting.remove(opponent)
            names = frozenset((player, opponent))
            meetings[names] += 1
            games.update((language, name) for name in names)
            a, b = pairs[names]
            ahead = people.get(a.output, 0.0) - people.get(b.output, 0.0)
            standing[a.generator] += (1 + np.sign(ahead)) / 2
            standing[b.generator] += (1 - np.sign(ahead)) / 2
            yield a, b
