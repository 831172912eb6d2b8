"""Baseline judges, which need no network. Every LLM judge has to beat them.

majority  the people's most frequent class in the *other* languages; with one language, in the other folds
random    a seeded draw from those class frequencies
lexical   four counts, so that everybody can see why it gave a score

None of them is fitted on the items that it scores. The four counts are

overlap     share of the output's terms that occur in the source
length      characters of the output / characters of the source
repetition  share of the output's pairs of neighbouring terms that occur earlier in it
script      share of the output's letters that belong to the script of its language

Terms are words; in scripts written without spaces they are pairs of neighbouring characters. The
thresholds were set by reading a few texts, not by fitting, because a baseline is not meant to
compete.

criterion                level and rule; the first that holds
linguistic_acceptability 0: empty, script < 0.5 or repetition > 0.5; 1: script < 0.9 or repetition > 0.2; else 2
output_content_quality   as linguistic_acceptability, and 1 where the output is a copy (length > 0.9, overlap > 0.95)
task_quality             0: empty or overlap < 0.2; 1: overlap < 0.5, length > 0.8 or length < 0.05; else 2
hallucinations           1: a number that is not in the source, or overlap < 0.4; else 0
fluency, coherence       as linguistic_acceptability, as output_content_quality
relevance                as task_quality
consistency              0: where hallucinations has 1; else 2
anything else            no answer

On an ordinal scale with other levels the lowest, middle and highest level stand for 0, 1 and 2.
"""  # noqa: E501

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import langcodes
import numpy as np
import pandas as pd
import regex

from metal.data.dataset import Dataset
from metal.data.grouping import grouped
from metal.data.languages import sides
from metal.data.ratings import code_matrix, facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Source
from metal.errors import check_known
from metal.stats.aggregate import aggregate

FOLDS = 5
UNTRAINED = "people rated no other sources"

ClassCounts = np.ndarray[Any, Any]


def run_baselines(
    dataset: Dataset, names: Sequence[str], *, seed: int = 0
) -> tuple[list[Rater], pd.DataFrame]:
    """The raters and facts of the named baselines on every output and criterion with levels.

    If a baseline has no answer (no rule for a criterion, or nothing to learn from), `reason` says
    why. Raises UnknownName for a name not in BASELINES.
    """
    check_known("judge", names, BASELINES)
    criteria = [criterion for criterion in dataset.criteria.values() if criterion.scale.levels]
    ratings: list[Rating] = []
    for name in names:
        for criterion in criteria:
            ratings += BASELINES[name](dataset, criterion, seed)
    raters = [Rater(name, "baseline", "baseline", {"seed": seed}) for name in names]
    return raters, facts_from(ratings)


def lexical(dataset: Dataset, criterion: Criterion, seed: int) -> Iterator[Rating]:
    """Rate outputs by a rule for each criterion that uses the four counts."""
    for output in dataset.outputs.values():
        score, why = lexical_rating(output, dataset.sources[output.source], criterion)
        if score is None:
            yield Rating(output.output, criterion.name, "lexical", None, why)
        else:
            yield Rating(output.output, criterion.name, "lexical", score, "", why)


def learned(name: str, dataset: Dataset, criterion: Criterion, seed: int) -> Iterator[Rating]:
    """A rating for each output, chosen from people's class frequencies in the parts that do not
    contain the output.

    name: majority (the most frequent class; the lowest such class on a tie) or random (drawn with
    the frequencies).
    """
    table = dataset.ratings
    rated = table[(table["kind"] == "human") & (table["criterion"] == criterion.name)]
    held_out = _held_out(dataset, rated["language"].nunique())
    counts = _counts_by_part(rated, criterion, held_out)
    total = sum(counts.values(), np.zeros(len(criterion.scale.levels), dtype=np.int64))
    parts = grouped(dataset.outputs.values(), lambda output: held_out[output.output])
    for part, outputs in parts.items():
        elsewhere = total - counts.get(part, 0)
        if not elsewhere.sum():
            yield from (
                Rating(output.output, criterion.name, name, None, UNTRAINED) for output in outputs
            )
            continue
        if name == "majority":
            codes = np.full(len(outputs), elsewhere.argmax())
        else:
            rng = np.random.default_rng([seed, zlib.crc32(f"{criterion.name}/{part}".encode())])
            codes = rng.choice(len(elsewhere), size=len(outputs), p=elsewhere / elsewhere.sum())
        for output, code in zip(outputs, codes, strict=True):
            yield Rating(output.output, criterion.name, name, criterion.scale.values[int(code)])


BASELINES: Mapping[str, Callable[[Dataset, Criterion, int], Iterator[Rating]]] = {
    "majority": partial(learned, "majority"),
    "random": partial(learned, "random"),
    "lexical": lexical,
}


def _held_out(dataset: Dataset, languages: int) -> dict[str, str]:
    """Output -> the part to which it belongs: its language or, with only one rated language, the
    fold of its source.
    """
    if languages > 1:
        return {output.output: output.language for output in dataset.outputs.values()}
    return {
        output.output: f"fold {zlib.crc32(output.source.encode()) % FOLDS}"
        for output in dataset.outputs.values()
    }


def _counts_by_part(
    rows: pd.DataFrame, criterion: Criterion, held_out: Mapping[str, str]
) -> dict[str, ClassCounts]:
    """Part -> how often each class is people's aggregate rating."""
    if rows.empty:
        return {}
    matrix = code_matrix(rows, criterion)
    ordered = criterion.scale.measure != "nominal"
    classes = aggregate(matrix.codes, np.asarray(criterion.scale.values), ordered=ordered)
    counts: dict[str, ClassCounts] = {}
    for output, code in zip(matrix.outputs, classes.tolist(), strict=True):
        if code >= 0:
            part = counts.setdefault(
                held_out[output], np.zeros(len(criterion.scale.levels), dtype=np.int64)
            )
            part[code] += 1
    return counts


# ---------------------------------------------------------------- lexical

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LETTER = regex.compile(r"\p{L}")
_NUMBER = regex.compile(r"\p{Nd}+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
# Scripts with a name in CLDR that Unicode's script property does not have, and scripts that mix
# several.
_SCRIPTS = {"Hans": "Han", "Hant": "Han", "Jpan": "Han Hiragana Katakana", "Kore": "Hangul Han"}


@dataclass(frozen=True)
class Surface:
    """The four measures of an output against its source; all are 0 for an empty output."""

    empty: bool
    overlap: float
    length: float
    repetition: float
    script: float
    new_numbers: tuple[str, ...]


def lexical_rating(
    output: Output, source: Source, criterion: Criterion
) -> tuple[float | None, str]:
    """The score by the criterion's rule, and the measures behind it; or None, and the reason why
    there is no answer.
    """
    rule = _RULES.get(criterion.name)
    if rule is None:
        return None, "no lexical rule for this criterion"
    if not source.text:
        return None, "source has no text"
    surface = measure(output.text, source.text, output.language)
    level, values = rule.level(surface), criterion.scale.values
    exact = len(values) == rule.top + 1 and level in values
    if not exact and (criterion.scale.measure != "ordinal" or len(values) <= rule.top):
        return None, f"the rule gives {level} on 0 to {rule.top}, for which this scale has no level"
    score = float(level) if exact else values[level * (len(values) - 1) // rule.top]
    why = (
        f"overlap {surface.overlap:.2f}, length {surface.length:.2f}, repetition"
        f" {surface.repetition:.2f}, script {surface.script:.2f}"
    )
    if surface.new_numbers:
        why += f", new numbers {' '.join(surface.new_numbers[:3])}"
    return score, why


@lru_cache(maxsize=1 << 14)
def measure(text: str, source: str, language: str) -> Surface:
    """The four measures, the same for every criterion. An output without terms counts as empty."""
    terms, source_terms = terms_of(text), set(terms_of(source))
    if not terms:
        return Surface(True, 0.0, 0.0, 0.0, 0.0, ())
    pairs = list(pairwise(terms))
    letters = _LETTER.findall(text)
    native = native_letters(language).findall(text)
    source_numbers = set(_NUMBER.findall(source))
    repetition = script = 0.0
    if pairs:
        repetition = 1 - len(set(pairs)) / len(pairs)
    if letters:
        script = len(native) / len(letters)
    return Surface(
        empty=False,
        overlap=sum(term in source_terms for term in terms) / len(terms),
        length=len(text) / len(source),
        repetition=repetition,
        script=script,
        new_numbers=tuple(
            number for number in _NUMBER.findall(text) if number not in source_numbers
        ),
    )


def terms_of(text: str) -> list[str]:
    """The words of a text in lower case; in a script without spaces, each pair of neighbouring
    characters.
    """
    terms = []
    for word in _WORD.findall(text.lower()):
        if _UNSPACED.fullmatch(word) and len(word) > 1:
            terms += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            terms.append(word)
    return terms


@lru_cache(maxsize=256)
def native_letters(language: str) -> regex.Pattern[str]:
    """Letters of the script a language is written in; for a translation pair, the target's."""
    script = langcodes.Language.get(sides(language)[1]).maximize().script or "Latn"
    names = _SCRIPTS.get(script, script).split()
    return regex.compile(
        "[" + "".join(rf"\p{{Script={name}}}" for name in names) + r"&&\p{L}]", regex.V1
    )


def _language(surface: Surface) -> int:
    if surface.empty or surface.script < 0.5 or surface.repetition > 0.5:
        return 0
    return 1 if surface.script < 0.9 or surface.repetition > 0.2 else 2


def _content(surface: Surface) -> int:
    copied = surface.length > 0.9 and surface.overlap > 0.95
    return min(_language(surface), 1) if copied else _language(surface)


def _task(surface: Surface) -> int:
    if surface.empty or surface.overlap < 0.2:
        return 0
    return 1 if surface.overlap < 0.5 or surface.length > 0.8 or surface.length < 0.05 else 2


def _hallucination(surface: Surface) -> int:
    return int(bool(surface.new_numbers) or surface.overlap < 0.4)


@dataclass(frozen=True)
class Rule:
    """A rule of the baseline `lexical`. level: a function that gives an integer from 0 to top."""

    level: Callable[[Surface], int]
    top: int = 2


_RULES = {
    "linguistic_acceptability": Rule(_language),
    "output_content_quality": Rule(_content),
    "task_quality": Rule(_task),
    "hallucinations": Rule(_hallucination, top=1),
    "fluency": Rule(_language),
    "coherence": Rule(_content),
    "relevance": Rule(_task),
    "consistency": Rule(lambda surface: 2 - 2 * _hallucination(surface)),
}
