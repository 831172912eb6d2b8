"""Test questions: outputs with known right answers, hidden among the outputs to be rated.

A positive question shows a source with its own gold (its reference), a negative one with the gold
of another source (GENIE, section 5). To raters they look like any other output, but they are kept
out of the dataset's own outputs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice

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
    """Test questions per output to be rated, as shares."""

    positive: float = 0.05
    negative: float = 0.05

    @classmethod
    def read(cls, text: str) -> Shares:
        """`5%+5%`: positives, then negatives. Raises UsageError for anything else."""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*\+\s*(\d+(?:\.\d+)?)\s*%\s*", text)
        shares = [float(part) / 100 for part in match.groups()] if match else []
        if not shares or max(shares) > 1 or max(shares) == 0:
            raise UsageError(
                f"shares {text!r}: write positives + negatives as percentages of the outputs, e.g. "
                f'`test_questions="{DEFAULT}"`'
            )
        return cls(*shares)

    def of(self, outputs: int) -> dict[str, int]:
        """How many positive and negative questions to ask for this many outputs: at least 1 if the
        share is above 0.
        """
        shares = {POSITIVE: self.positive, NEGATIVE: self.negative}
        return {
            side: max(1, round(share * outputs)) if share and outputs else 0
            for side, share in shares.items()
        }


@dataclass(frozen=True)
class DrawnQuestions:
    """The test questions drawn for some outputs. short: (language, side) -> how many questions are
    missing because there were too few golds.
    """

    questions: tuple[Output, ...]
    short: Mapping[tuple[str, str], int]


def draw(
    sources: Mapping[str, Source],
    outputs: Iterable[Output],
    shares: Shares,
    *,
    seed: int = 0,
    earlier: Mapping[str, Output] | None = None,
    used: Container[str] = (),
) -> DrawnQuestions:
    """Draw test questions to hide among the outputs, separately for each language.

    The sources with a gold are put in an order that depends only on seed and ids. Negative
    questions take the first sources. Each gets the gold of the next source in this order whose gold
    differs; after the last source comes the first. So no source gets its own gold. Positive
    questions take the last sources, so a source gets both kinds only if there are too few sources.
    A larger draw includes the questions of a smaller one. earlier: questions of earlier exports, by
    id; they stay unchanged. used: ids of questions answered in earlier rounds; asking them again
    would show nothing new.
    """
    outputs = list(outputs)
    questions: list[Output] = []
    short: dict[tuple[str, str], int] = {}
    for language in dict.fromkeys(output.language for output in outputs):
        in_language = [output for output in outputs if output.language == language]
        ring = _ring({output.source for output in in_language}, sources, language, seed)
        wanted = shares.of(len(in_language))
        candidates = {
            NEGATIVE: (
                _question(NEGATIVE, language, source, other) for source, other in _shifted(ring)
            ),
            POSITIVE: (_question(POSITIVE, language, source, source) for source in reversed(ring)),
        }
        for side, possible in candidates.items():
            drawn = list(
                islice(
                    (question for question in possible if question.output not in used), wanted[side]
                )
            )
            questions += drawn
            if len(drawn) < wanted[side]:
                short[language, side] = wanted[side] - len(drawn)
    earlier = earlier or {}
    return DrawnQuestions(
        tuple(earlier.get(question.output, question) for question in questions), short
    )


def _ring(
    names: Iterable[str], sources: Mapping[str, Source], language: str, seed: int
) -> list[Source]:
    """The sources that have a gold, ordered by a hash of seed, language and id."""

    def by_hash(source: Source) -> tuple[bytes, str]:
        text = f"{seed}\0{language}\0{source.source}"
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), source.source

    return sorted((sources[name] for name in names if gold(sources[name])), key=by_hash)


def gold(source: Source) -> str:
    """The first reference that is not blank; empty if there is none."""
    return next((text for text in source.references if text.strip()), "")


def _shifted(ring: Sequence[Source]) -> Iterator[tuple[Source, Source]]:
    """Pair each source with the next source in the ring that has another gold; leave out sources
    without one.
    """
    golds = [_normalised(gold(source)) for source in ring]
    different = set(golds)
    for position, source in enumerate(ring):
        own = set(map(_normalised, source.references))
        if different <= own:
            continue
        others = ((position + step) % len(ring) for step in range(1, len(ring)))
        yield source, ring[next(other for other in others if golds[other] not in own)]


def _normalised(text: str) -> str:
    """The text with plain spaces and in one case; two golds count as the same if these forms are
    equal.
    """
    return " ".join(text.split()).casefold()


def _question(side: str, language: str, source: Source, of: Source) -> Output:
    """Make the output that asks a test question. Its note names the source whose gold is shown."""
    name = f"{_PREFIX}{side}:{language}:{source.source}"
    return Output(name, source.source, _GENERATOR[side], language, gold(of), note=of.source)


def question_again(
    name: str, language: str, text: str, sources: Mapping[str, Source]
) -> Output | None:
    """A test question that was asked before, from what its raters saw; None if its source is not
    there any more.
    """
    side, source = side_of(name), name.removeprefix(_PREFIX).partition(":")[2].partition(":")[2]
    if not side or source not in sources:
        return None
    candidates = [sources[source]] if side == POSITIVE else sources.values()
    of = next((each.source for each in candidates if gold(each) == text), "")
    return Output(name, source, _GENERATOR[side], language, text, note=of)


def side_of(output: str) -> str:
    """`positive` or `negative` for the id of a test question, empty for any other output.

    >>> side_of("test:negative:en:s1"), side_of("s1/gpt")
    ('negative', '')
    """
    side = output.removeprefix(_PREFIX).partition(":")[0] if output.startswith(_PREFIX) else ""
    return side if side in SIDES else ""


def tells(criterion: Criterion, side: str) -> bool:
    """Whether a right answer on the criterion can be told from a wrong one.

    The criterion's scale needs a best and a worst end. For a negative question, the criterion must
    also look at the source, because the gold of another source is as well written as the right one.
    """
    return criterion.scale.ends is not None and (side == POSITIVE or criterion.of_source)


def rightness(
    criterion: Criterion, side: str, scores: Numbers, *, comparative: bool = False
) -> Numbers:
    """(answers,) 1 for each score on the right side of the middle of the scale, else 0; NaN without
    a score.

    The middle itself is wrong on both sides. comparative: whether outputs are compared with the
    gold. Then the middle is right for a positive question, because the gold is compared with
    itself. Source: GENIE, section 5 (binarised at 0.5).
    """
    share = criterion.share(scores)
    if side == NEGATIVE:
        right = share < 0.5
    else:
        right = share >= 0.5 if comparative else share > 0.5
    return np.where(np.isnan(share), np.nan, right)


def check_ids(dataset: Dataset, questions: Iterable[Output]) -> None:
    """Raise UsageError if an output of the dataset has the id of a question."""
    for name in (question.output for question in questions):
        if name in dataset.outputs:
            raise UsageError(
                f"dataset {dataset.card.name}: output {name!r} has the id of a test question;"
                " rename it"
            )


def with_questions(dataset: Dataset, questions: Sequence[Output]) -> Dataset:
    """The dataset with its test questions among the outputs, for a judge. Raises UsageError like
    `check_ids`.
    """
    check_ids(dataset, questions)
    return replace(
        dataset,
        outputs={**dataset.outputs, **{question.output: question for question in questions}},
    )


def apart(facts: pd.DataFrame, questions: Collection[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split rows into ratings of the dataset's own outputs and answers to these test questions."""
    mask = facts["output"].isin(list(questions))
    return without_unused_names(facts[~mask]), without_unused_names(facts[mask])


def without_unused_names(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, numbered from 0; categories that no row uses are dropped from their columns."""
    rows = rows.reset_index(drop=True)
    for column in rows.columns:
        if isinstance(rows[column].dtype, pd.CategoricalDtype):
            rows[column] = rows[column].cat.remove_unused_categories()
    return rows


def leaked(dataset: Dataset, questions: Mapping[str, Output]) -> list[str]:
    """Find outputs of the dataset that are really test questions; judges would rate them as a
    generator's work.

    Such an output has the id of a question, or the text of a negative question about the same
    source.
    """
    shown = {
        (question.source, _normalised(question.text))
        for question in questions.values()
        if side_of(question.output) == NEGATIVE
    }
    return sorted(
        name
        for name, output in dataset.outputs.items()
        if side_of(name) or (output.source, _normalised(output.text)) in shown
    )


def leak_warning(dataset: Dataset, questions: Mapping[str, Output]) -> str:
    """A warning that says what to do about `leaked` outputs; empty if there are none."""
    leaks = leaked(dataset, questions)
    if not leaks:
        return ""
    return (
        f"{len(leaks):,} outputs of the dataset have the text of a test question, the first"
        f" {leaks[0]!r}: test questions are not outputs of a generator; take them out of"
        " outputs.jsonl and the ratings"
    )
