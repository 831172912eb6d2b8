"""A small board made on the spot: experts, crowd workers, judges, a metric; sources with
references.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import (
    METRIC_SCORE,
    Criterion,
    Kind,
    Level,
    Output,
    Rater,
    Rating,
    Scale,
    Source,
)

QUALITY = Criterion(
    "quality", Scale("ordinal", (Level(0, "bad"), Level(1, "fair"), Level(2, "good")))
)
SYSTEMS = ("a", "b")
Answers = Mapping[str, Sequence[float | None]]  # rater -> a score an output


def kind_of(rater: str) -> tuple[Kind, str]:
    """E1.. are experts, C1.. the crowd, m.. metrics, all others judges."""
    if rater[0] in "EC":
        return "human", {"E": "expert", "C": "crowd"}[rater[0]]
    return ("metric", "metric") if rater.startswith("m") else ("llm", rater)


def board(
    answers: Mapping[str, Mapping[str, Answers]],
    criteria: Sequence[Criterion] = (QUALITY,),
    references: Sequence[Sequence[str]] = (),
    comments: Mapping[tuple[str, str, str], str] | None = None,
    texts: Sequence[str] = (),
) -> Dataset:
    """board({"en": {"quality": {"E1": [0, 1, 2, None], ...}}}): two generators a source, in turn.

    references: of each source, in turn; comments: by (output, criterion, rater); texts: of outputs,
    in turn.
    """
    sources: dict[str, Source] = {}
    outputs: list[Output] = []
    raters: dict[str, Rater] = {}
    ratings = []
    for language, by_criterion in answers.items():
        count = max(len(row) for by_rater in by_criterion.values() for row in by_rater.values())
        mine = []
        for item in range(count):
            place = item // len(SYSTEMS)
            name, system = f"{language}{place}", SYSTEMS[item % len(SYSTEMS)]
            known = tuple(references[place % len(references)]) if references else ()
            sources[name] = Source(name, language, f"source {place}", references=known)
            text = texts[item % len(texts)] if texts else f"text {item}"
            mine.append(Output(f"{name}/{system}", name, system, language, text))
        outputs += mine
        for criterion, by_rater in by_criterion.items():
            for rater, row in by_rater.items():
                raters[rater] = Rater(rater, *kind_of(rater))
                for output, score in zip(mine, row, strict=True):
                    said = (comments or {}).get((output.output, criterion, rater), "")
                    given = (None, "skipped") if score is None or math.isnan(score) else (score, "")
                    ratings.append(Rating(output.output, criterion, rater, *given, said))
    whole = (
        [METRIC_SCORE, *criteria]
        if any(one.kind == "metric" for one in raters.values())
        else list(criteria)
    )
    return assemble(
        Card("made"), whole, sources.values(), outputs, raters.values(), facts_from(ratings)
    )
