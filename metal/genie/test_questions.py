"""Test questions: outputs of which we know what should be said of them, hidden among those to be rated.

A positive question shows a source with its own gold (its reference), a negative one with the gold of another source
(GENIE, section 5). They are outputs like any other to whoever rates them, but stay out of the dataset's own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.records import Criterion, Output, Source
from metal.errors import UsageError
from metal.stats.patterns import Numbers

POSITIVE, NEGATIVE = "positive", "negative"
SIDES = (POSITIVE, NEGATIVE)
DEFAULT = "5%+5%"
_PREFIX = "test:"
_GENERATOR = {POSITIVE: "gold", NEGATIVE: "gold of another source"}


@dataclass(frozen=True)
class Shares:
    """How many test questions there are for each output to be rated, as shares."""

    positive: float = 0.05
    negative: float = 0.05

    @classmethod
    def read(cls, text: str) -> Shares:
        """`5%+5%`: positives, then negatives. Raises UsageError for anything else."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*\+\s*(\d+(?:\.\d+)?)\s*%\s*", text)
        shares = [float(part) / 100 for part in found.groups()] if found else []
        if not shares or max(shares) > 1 or max(shares) == 0:
            raise UsageError(
                f"shares {text!r}: write positives + negatives as percentages of the outputs, e.g. "
                f"--test-questions={DEFAULT}"
            )
        return cls(*shares)

    def of(self, outputs: int) -> dict[str, int]:
        """How many questions of each side go with so many outputs: at least one, where there are to be any."""
        shares = {POSITIVE: self.positive, NEGATIVE: self.negative}
        return {side: max(1, round(share * outputs)) if share and outputs else 0 for side, share in shares.items()}


@dataclass(frozen=True)
class Drawn:
    """Test questions for some outputs. short: (language, side) -> how many fewer than asked for, for want of golds."""

    questions: tuple[Output, ...]
    short: Mapping[tuple[str, str], int]


def draw(
    sources: Mapping[str, Source],
    outputs: Iterable[Output],
    shares: Shares,
    *,
    seed: int = 0,
    known: Mapping[str, Output] | None = None,
    used: Container[str] = (),
) -> Drawn:
    """Test questions to hide among the outputs, for each of their languages.

    Sources with a gold stand in an order that only seed and ids decide. Negatives take the first of them, each with
    the gold of the next one that differs, the last with that of the first, so that golds are permuted cyclically and no
    source meets its own; positives take the last ones, so that no source has both while there are enough of them. More
    questions keep those that fewer would have been.
    known: questions of earlier exports, by id; they stay as they were asked. used: ids of questions that were answered
    in earlier rounds: asked again they would say nothing new.
    """
    outputs = list(outputs)
    questions: list[Output] = []
    short: dict[tuple[str, str], int] = {}
    for language in dict.fromkeys(output.language for output in outputs):
        mine = [output for output in outputs if output.language == language]
        ring = _ring({output.source for output in mine}, sources, language, seed)
        wanted = shares.of(len(mine))
        candidates = {
            NEGATIVE: (_question(NEGATIVE, language, source, other) for source, other in _shifted(ring)),
            POSITIVE: (_question(POSITIVE, language, source, source) for source in reversed(ring)),
        }
        for side, all_of_it in candidates.items():
            found = list(islice((one for one in all_of_it if one.output not in used), wanted[side]))
            questions += found
            if len(found) < wanted[side]:
                short[language, side] = wanted[side] - len(found)
    known = known or {}
    return Drawn(tuple(known.get(question.output, question) for question in questions), short)


def _ring(names: Iterable[str], sources: Mapping[str, Source], language: str, seed: int) -> list[Source]:
    """The sources that have a gold, in the order of a hash of seed, language and id."""
    usable = [sources[name] for name in names if gold(sources[name])]
    return sorted(usable, key=lambda one: (_hash(seed, language, one.source), one.source))


def _hash(*parts: object) -> bytes:
    return blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def gold(source: Source) -> str:
    """The first reference that is not blank; empty where there is none."""
    return next((text for text in source.references if text.strip()), "")


def _shifted(ring: Sequence[Source]) -> Iterator[tuple[Source, Source]]:
    """Each source with the next one in the ring that has another gold; none for a source that all golds belong to."""
    golds = [_same(gold(source)) for source in ring]
    different = set(golds)
    for place, source in enumerate(ring):
        own = {_same(text) for text in source.references}
        if different <= own:
            continue
        others = ((place + step) % len(ring) for step in range(1, len(ring)))
        yield source, ring[next(other for other in others if golds[other] not in own)]


def _same(text: str) -> str:
    """What makes two golds the same: their words, whatever the white space and case."""
    return " ".join(text.split()).casefold()


def _question(side: str, language: str, source: Source, of: Source) -> Output:
    """note: the source whose gold is shown."""
    name = f"{_PREFIX}{side}:{language}:{source.source}"
    return Output(name, source.source, _GENERATOR[side], language, gold(of), note=of.source)


def side_of(output: str) -> str:
    """`positive` or `negative` for the id of a test question, empty for any other output."""
    side = output.removeprefix(_PREFIX).partition(":")[0] if output.startswith(_PREFIX) else ""
    return side if side in SIDES else ""


def tells(criterion: Criterion, side: str) -> bool:
    """Whether a right answer on the criterion can be told from a wrong one: its scale has a best and a worst end, and
    for a negative question the source matters (a gold of another source is as well written as any)."""
    return criterion.scale.ends is not None and (side == POSITIVE or criterion.of_source)


def rightness(criterion: Criterion, side: str, scores: Numbers, *, comparative: bool = False) -> Numbers:
    """For each score 1 where it falls on the right side of the middle of the scale, else 0; NaN without a score.

    The middle itself is wrong on both sides; but where outputs are rated against the gold (comparative), the middle is
    what a positive question deserves: there the gold meets itself. Source: GENIE, section 5 (binarised at 0.5).
    """
    share = criterion.share(scores)
    right = share < 0.5 if side == NEGATIVE else (share >= 0.5 if comparative else share > 0.5)
    return np.where(np.isnan(share), np.nan, right)


def check_ids(dataset: Dataset, questions: Iterable[Output]) -> None:
    """Raises UsageError where an output of the dataset has the id of a question."""
    for name in (question.output for question in questions):
        if name in dataset.outputs:
            raise UsageError(f"dataset {dataset.card.name}: output {name!r} has the id of a test question; rename it")


def with_questions(dataset: Dataset, questions: Sequence[Output]) -> Dataset:
    """The dataset with its test questions among the outputs, to judge. Errors: as `check_ids`."""
    check_ids(dataset, questions)
    more = {question.output: question for question in questions}
    return Dataset(
        dataset.card,
        dataset.criteria,
        dataset.sources,
        {**dataset.outputs, **more},
        dataset.raters,
        dataset.ratings,
        dataset.extra,
    )


def apart(facts: pd.DataFrame, questions: Container[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ratings of the dataset's own outputs, and answers to these test questions."""
    outputs = facts["output"].astype("category")
    is_test = np.array([str(name) in questions for name in outputs.cat.categories], dtype=bool)
    mask = is_test[outputs.cat.codes.to_numpy()] if len(is_test) else np.zeros(len(facts), dtype=bool)
    return _part(facts, ~mask), _part(facts, mask)


def _part(facts: pd.DataFrame, rows: np.ndarray[Any, Any]) -> pd.DataFrame:
    """These rows, and only the names that occur in them."""
    part = facts[rows].reset_index(drop=True)
    for column in part.columns:
        if isinstance(part[column].dtype, pd.CategoricalDtype):
            part[column] = part[column].cat.remove_unused_categories()
    return part


def leaked(dataset: Dataset, questions: Mapping[str, Output]) -> list[str]:
    """Ids of the dataset's outputs that show what a test question shows: they are no outputs of a generator.

    An output with the id of a question, or with the same text for the same source as a negative question.
    """
    shown = {(one.source, _same(one.text)) for one in questions.values() if side_of(one.output) == NEGATIVE}
    return sorted(
        name
        for name, output in dataset.outputs.items()
        if side_of(name) or (output.source, _same(output.text)) in shown
    )


def leak_line(dataset: Dataset, questions: Mapping[str, Output]) -> str:
    """What to say and do about `leaked` ones; empty where there are none."""
    leaks = leaked(dataset, questions)
    if not leaks:
        return ""
    return (
        f"{len(leaks):,} outputs of the dataset show what a test question shows, the first {leaks[0]!r}: test "
        "questions are no outputs of a generator; take them out of outputs.jsonl and the ratings"
    )
