"""datasets/demo: constructed texts, people and judges, the same on every run. `python -m
tests.made.demo` writes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metal.data.dataset import Card, Dataset, assemble, save_dataset
from metal.data.metal_criteria import metal_criterion
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Scale, Source

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "demo"
KEPT = ("README.md", "prompts/criteria/overall_quality.toml")
CARD = Card(
    "demo",
    title="Constructed demo: news summaries in four languages",
    description=(
        "Passages, summaries, people and judges were all constructed to show what METAL does. No"
        " rating is a judgement of a person or of a model; draw no conclusion about any of them"
        " from this dataset."
    ),
    licence="CC0-1.0",
)
TQ, LA, H, OQ = "task_quality", "linguistic_acceptability", "hallucinations", "overall_quality"
OVERALL = Criterion(
    OQ,
    Scale("interval", low=0, high=100),
    abbreviation="OQ",
    label="Overall quality",
    question="How good is the summary, from 0 (useless) to 100 (as good as can be)?",
)
NUMBERS = (200, 300, 400, 600)  # what a story counts: passengers, houses, ...
# What a summary was made to be -> what it deserves for TQ, LA, H and OQ.
QUALITIES = {
    "good": (2, 2, 0, 85),
    "clumsy": (2, 1, 0, 65),  # neighboring words have changed places
    "vague": (1, 2, 0, 50),
    "broken": (1, 0, 0, 30),  # every second word first, then the others
    "a fragment": (0, 1, 0, 20),
    "invented": (0, 2, 1, 25),
    "off topic": (0, 2, 1, 10),  # a good summary of another passage
}
GENERATORS = {  # how probable each quality is
    "constructed-strong": (70, 15, 10, 0, 0, 5, 0),
    "constructed-middling": (25, 20, 20, 10, 5, 15, 5),
    "constructed-weak": (5, 10, 15, 20, 15, 20, 15),
}
COMMENTS = {
    TQ: (
        "It misses what the passage is about.",
        "It has part of what matters.",
        "It has what matters.",
    ),
    LA: ("The sentence falls apart.", "It reads awkwardly.", "It reads naturally."),
    H: ("The passage supports all of it.", "The passage does not say so."),
}


def made() -> Dataset:
    """The dataset."""
    languages = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rng = np.random.default_rng(19)
    sources: list[Source] = []
    outputs: dict[Output, str] = {}  # what each was made to be
    for language, told in languages.items():
        passages = [_told(told, number) for number in range(len(told["towns"]))]
        for number, passage in enumerate(passages):
            source = f"{language}-{number + 1}"
            sources.append(
                Source(source, language, passage["text"], passage["title"], passage["references"])
            )
            texts = _summaries(passage, passages[number - 8]["good"])
            odds = np.array(list(GENERATORS.values()), dtype=float)
            for generator, probable in zip(GENERATORS, odds, strict=True):
                chosen = int(rng.choice(len(QUALITIES), p=probable / probable.sum()))
                odds[:, chosen] = 0  # no two summaries of a passage are the same text
                quality = list(QUALITIES)[chosen]
                name = f"{source}/{generator.removeprefix('constructed-')}"
                output = Output(
                    name,
                    source,
                    generator,
                    language,
                    texts[quality],
                    f"Constructed to be {quality}.",
                )
                outputs[output] = quality
    people = [
        Rater(f"{language}-{number}", "human", "constructed")
        for language in languages
        for number in (1, 2, 3)
    ]
    judges = [
        Rater(f"constructed:{judge}", "llm", "constructed")
        for judge in ("good", "lenient", "blind", "constant")
    ]
    criteria = (*map(metal_criterion, COMMENTS), OVERALL)
    ratings = facts_from(_ratings(outputs, people, judges, rng))
    return assemble(CARD, criteria, sources, outputs, [*people, *judges], ratings)


def _told(told: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A story as it is told of one town."""
    story, count = divmod(number, len(NUMBERS))
    facts = {"town": told["towns"][number], "day": told["days"][count], "n": NUMBERS[count]}
    return {
        key: (
            text.format(**facts)
            if isinstance(text, str)
            else tuple(each.format(**facts) for each in text)
        )
        for key, text in told["stories"][story].items()
    }


def _summaries(passage: Mapping[str, Any], another: str) -> dict[str, str]:
    """A summary of each quality. another: the good summary of another passage."""
    words = passage["good"].split()
    even = len(words) // 2 * 2
    swapped = [words[place ^ 1] if place < even else word for place, word in enumerate(words)]
    return {
        "good": passage["good"],
        "clumsy": " ".join(swapped),
        "vague": passage["vague"],
        "broken": " ".join(words[1::2] + words[::2]),
        "a fragment": " ".join(words[:4]),
        "invented": passage["invented"],
        "off topic": another,
    }


def _ratings(
    outputs: Mapping[Output, str],
    people: Sequence[Rater],
    judges: Sequence[Rater],
    rng: np.random.Generator,
) -> Iterator[Rating]:
    for rater in (*people, *judges):
        for output, quality in outputs.items():
            if rater.kind == "human" and not rater.rater.startswith(output.language):
                continue
            for criterion, deserved in zip((TQ, LA, H, OQ), QUALITIES[quality], strict=True):
                score = _score(rater.rater, output.language, criterion, deserved, rng)
                comment = (
                    COMMENTS[criterion][int(score)]
                    if rater.kind == "llm" and criterion in COMMENTS
                    else ""
                )
                yield Rating(output.output, criterion, rater.rater, score, "", comment)


def _score(
    rater: str, language: str, criterion: str, deserved: float, rng: np.random.Generator
) -> float:
    """What a rater says of what a summary deserves."""
    top = {H: 1, OQ: 100}.get(criterion, 2)
    # how probable a slip by one level is; of OQ, how large
    spread = {H: 0.06, OQ: 7.0}.get(criterion, 0.10)
    slip = (
        rng.normal(0, spread) if criterion == OQ else rng.choice((-1, 1)) * (rng.random() < spread)
    )
    said = float(np.clip(round(deserved + slip), 0, top))
    anything, lifted = float(rng.integers(top + 1)), rng.random() < 0.6
    if rater == "hi-3" and criterion != OQ and rng.random() < 0.7:
        return anything  # reads carelessly
    if rater.startswith("ar-") and criterion == LA and rng.random() < 0.85:
        return anything  # the people of one language have no common idea of a criterion
    if rater == "constructed:lenient":
        return {H: said * (not lifted), OQ: min(said + 15, top)}.get(
            criterion, min(said + lifted, top)
        )
    if rater == "constructed:blind":
        return {H: 0.0, OQ: max(said, 60.0)}.get(criterion, max(said, 1.0))
    return {H: 0.0, OQ: 85.0}.get(criterion, 2.0) if rater == "constructed:constant" else said


if __name__ == "__main__":
    save_dataset(
        made(), FOLDER, force=True, files={name: (FOLDER / name).read_bytes() for name in KEPT}
    )
