"""Small datasets to rank generators on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Level, Output, Rater, Rating, Scale, Source

LIKERT = Scale("ordinal", tuple(Level(value, f"level {value}") for value in range(1, 6)))
QUALITY = Criterion("quality", LIKERT, question="How good is it?")
ERRORS = Criterion("errors", Scale("interval", (), 0, 10), direction="lower")
CATEGORY = Criterion(
    "category", Scale("nominal", tuple(Level(value, f"kind {value}") for value in range(3)))
)
OPEN = Criterion("open", Scale("interval"))
MISTAKES = Criterion("mistakes", Scale("interval"), direction="lower")

Row = tuple[str, str, str, float | None]  # output, criterion, rater, score


def output(name: str, *, chosen: bool = True, text: str = "text") -> Output:
    """`LANGUAGE-SOURCE/GENERATOR`, with `#2` for the second output of a source."""
    source, _, generator = name.partition("/")
    return Output(
        name, source, generator.partition("#")[0], source.partition("-")[0], text, chosen=chosen
    )


def dataset(
    rows: Iterable[Row],
    criteria: Sequence[Criterion] = (QUALITY, ERRORS, CATEGORY, OPEN, MISTAKES, METRIC_SCORE),
    *,
    more: Iterable[Output] = (),
    groups: Mapping[str, str] | None = None,
    human: Sequence[str] = (),
) -> Dataset:
    """Raters called A..., W... are people, m... metrics, j... LLM judges. more: outputs that nobody
    rated.
    """
    rows = list(rows)
    outputs = {name: output(name) for name in sorted({row[0] for row in rows})} | {
        one.output: one for one in more
    }
    sources = sorted({one.source for one in outputs.values()})
    kinds = {"m": "metric", "j": "llm"}
    names = sorted({row[2] for row in rows})
    raters = []
    for name in names:
        kind: Any = kinds.get(name[0], "human")
        raters.append(Rater(name, kind, (groups or {}).get(name, "")))
    ratings = [
        Rating(name, criterion, rater, score, "" if score is not None else "unsure")
        for name, criterion, rater, score in rows
    ]
    return assemble(
        Card("made"),
        criteria,
        [Source(name, name.partition("-")[0], "text") for name in sources],
        outputs.values(),
        raters,
        facts_from(ratings),
        extra={"generators": {name: {"kind": "human"} for name in human}},
    )


def ranked(
    scores: Mapping[str, Sequence[float | None]],
    language: str = "en",
    rater: str = "A1",
    criterion: str = "quality",
) -> list[Row]:
    """generator -> its scores on a criterion for sources 0, 1, ...; None is not rated."""
    return [
        (f"{language}-{place:02d}/{generator}", criterion, rater, score)
        for generator, row in scores.items()
        for place, score in enumerate(row)
        if score is not None
    ]
