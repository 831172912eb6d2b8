"""A judge made of four counts, so that everybody can see why it gave a score.

overlap     share of the output's terms that occur in the source
length      characters of the output / characters of the source
repetition  share of the output's pairs of neighbouring terms that occur earlier in it
script      share of the output's letters that belong to the script of its language

Terms are words; in scripts written without spaces they are pairs of neighbouring characters. The
thresholds were set by reading a few texts, not by fitting: it is a floor, not a competitor.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import langcodes
import regex

from metal.data.languages import sides
from metal.data.records import Criterion, Output, Source

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LETTER = regex.compile(r"\p{L}")
_NUMBER = regex.compile(r"\p{Nd}+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
# Scripts with a name in CLDR that Unicode's script property does not have, and scripts that mix several.
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


def lexical_rating(output: Output, source: Source, criterion: Criterion) -> tuple[float | None, str]:
    """The level value and why, or None and the reason for no answer."""
    rule = _RULES.get(criterion.name)
    if rule is None:
        return None, "no lexical rule for this criterion"
    if not source.text:
        return None, "source has no text"
    surface = measure(output.text, source.text, output.language)
    level = rule.level(surface)
    score = _on_scale(rule, level, criterion)
    if score is None:
        return None, f"rule gives {level} of 0 to {rule.top}, which this scale has no level for"
    why = (
        f"overlap {surface.overlap:.2f}, length {surface.length:.2f}, repetition {surface.repetition:.2f}, "
        f"script {surface.script:.2f}"
    )
    if surface.new_numbers:
        why += f", new numbers {' '.join(surface.new_numbers[:3])}"
    return score, why


def measure(text: str, source: str, language: str) -> Surface:
    """The four measures. An output without terms counts as empty."""
    terms, source_terms = terms_of(text), set(terms_of(source))
    if not terms:
        return Surface(True, 0.0, 0.0, 0.0, 0.0, ())
    pairs = list(pairwise(terms))
    letters = _LETTER.findall(text)
    native = native_letters(language).findall(text)
    source_numbers = set(_NUMBER.findall(source))
    return Surface(
        empty=False,
        overlap=sum(term in source_terms for term in terms) / len(terms),
        length=len(text) / len(source),
        repetition=1 - len(set(pairs)) / len(pairs) if pairs else 0.0,
        script=len(native) / len(letters) if letters else 0.0,
        new_numbers=tuple(number for number in _NUMBER.findall(text) if number not in source_numbers),
    )


def terms_of(text: str) -> list[str]:
    """Words, lower-cased; stretches without spaces as pairs of neighbouring characters."""
    terms = []
    for word in _WORD.findall(text.lower()):
        if _UNSPACED.fullmatch(word) and len(word) > 1:
            terms += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            terms.append(word)
    return terms


@lru_cache(maxsize=256)
def native_letters(language: str) -> regex.Pattern[str]:
    """Letters of the script a language is written in; of a translation pair, of the target."""
    script = langcodes.Language.get(sides(language)[1]).maximize().script or "Latn"
    names = _SCRIPTS.get(script, script).split()
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in names) + r"&&\p{L}]", regex.V1)


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


def _consistency(surface: Surface) -> int:
    return 2 - 2 * _hallucination(surface)


@dataclass(frozen=True)
class Rule:
    """level: gives an integer from 0 to top."""

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
    "consistency": Rule(_consistency),
}


def _on_scale(rule: Rule, level: int, criterion: Criterion) -> float | None:
    """The scale's value for a rule's level; None where it has none."""
    values = criterion.scale.values
    if len(values) == rule.top + 1 and level in values:
        return float(level)
    if criterion.scale.measure != "ordinal" or len(values) < rule.top + 1:
        return None
    return values[level * (len(values) - 1) // rule.top]
