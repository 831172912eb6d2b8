"""Find ranges that are given in place of a score, in digits (`3-4`, `between 10 and 15`) or words
(`three or four`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import regex

from metal.raters.judges.forms import AFTER_WORD, AFTER_WORD_ELSEWHERE, DIGITS, UNIT
from metal.raters.judges.reply_words import (
    LETTER_UNSPACED,
    OF_FORMS,
    Deferred,
    number_words,
    numbered_languages,
    pattern_of,
    words_in,
    words_of,
)
from metal.raters.judges.traced import replaced

_DASHES = "~〜～\N{EN DASH}\N{NON-BREAKING HYPHEN}-"
_TOKEN = re.compile(rf"[^\s.,;:!?()\"*_|/।。，،：؛！？{_DASHES}]+|[{_DASHES}]")
_UNSPACED = ("zh", "ja", "ko")
_NUMBERS, _JOINTS = ("numbers",), ("range_to", "either", "between_and")
_FARTHEST = 5  # words from one end of a range to the other: üç ya da dört
_AND = "\N{ARABIC LETTER WAW}"  # and, which is written as one with the number after it


def _any_of(key: str, languages: tuple[str, ...]) -> str:
    any_word = words_of(key, *languages)
    return pattern_of(any_word) if any_word else "(?!)"


def _between(languages: tuple[str, ...]) -> str:
    return rf"(?P<between>(?<={_any_of('between', languages)}\s*))?+"


def _joint(high: str, languages: tuple[str, ...]) -> str:
    """A pattern for the text between both ends of a range. high: a pattern for the second end."""
    both = _any_of("between_and", languages)
    joined = rf"\s+{_AND}(?=\p{{L}})" if _AND in words_of("between_and", *languages) else "(?!)"
    return (
        rf"(?:\s*[{_DASHES}]\s*|"
        rf"\s*{_any_of('range_to', languages)}\s*|\s*(?P<either>{_any_of('either', languages)})\s*|"
        rf"\s*(?P<either>{both})\s*(?={high}\s?{UNIT}?\s*{_any_of('between_after', languages)})|"
        rf"(?(between)(?P<either>\s*{both}\s*|{joined})|(?!)))"
    )


# What follows close to a range and does not go on with it is what it counts: 3到4个, 3から4つ.
_GOES_ON = (
    rf"(?:{UNIT}|{_any_of('between_after', numbered_languages())}|(?!つ)\p{{Hiragana}}|"
    r"입니다|이다|정도)"
)
_COUNTED = rf"(?:(?P<counted>(?!{_GOES_ON})(?={LETTER_UNSPACED}))|)"
# 10-15 | 10 to 15 | 30 or 40 | between 10 and 15 | 10/100-15/100 | zwischen 10 und 15 | 10 bis 15
RANGE = Deferred(
    rf"(?i){_between(numbered_languages())}"
    rf"(?<![.,/-])(?<!(?!{LETTER_UNSPACED})\w)(?P<low>{DIGITS})"
    rf"(?:\s*/\s*(?P<low_top>\d{{1,9}})|\s*%|\s?{UNIT}|\s+points?)?"
    rf"{_joint(DIGITS, numbered_languages())}"
    rf"(?P<high>{DIGITS})(?:(?=\s*/\s*(?P<top>\d{{1,9}})(?![/\d]|[.,]\d))|"
    rf"(?!(?!{LETTER_UNSPACED}|{UNIT})\w|[.,/:-]\d|-\w){_COUNTED})"
)


def ranges_in_digits(text: str) -> str:
    """Replace ranges in words by ranges in digits.

    A range that counts something, or that is one of several, becomes blanks: one or two errors;
    two, three or four.

    >>> ranges_in_digits("Score: three or four")
    'Score: 3-4          '
    """
    for language in _languages_of_ranges(text.lower()):
        text = replaced(_range_of_words(language), _in_digits(language), text)
    return text


def _languages_of_ranges(lowered: str) -> list[str]:
    """The languages in which a text in lower case may contain a range in words.

    This test is faster than searching for the range itself.
    """
    numbers = _languages_of(_NUMBERS)
    languages: set[str] = set()
    tokens = _TOKEN.findall(lowered)
    places = [index for index, token in enumerate(tokens) if token in numbers or token.isdigit()]
    for first, second in pairwise(places):
        if second - first <= _FARTHEST:
            languages |= _languages_of_range(tokens[first : second + 1])
    if not lowered.isascii():
        languages.update(name for name in _UNSPACED if words_in(lowered, "numbers", name))
    return [name for name in numbered_languages() if name in languages]


def _languages_of_range(tokens: Sequence[str]) -> set[str]:
    """The languages in which tokens from one number to the next may be a range in words."""
    numbers, joints = _languages_of(_NUMBERS), _languages_of(_JOINTS)
    ends = [numbers[token] for token in (tokens[0], tokens[-1]) if token in numbers]
    between = [joints[token] for token in tokens[1:-1] if token in joints]
    if not ends or not (between or tokens[-1].startswith(_AND)):
        return set()
    return set.intersection(*ends, *between[:1])


@lru_cache(maxsize=2)
def _languages_of(keys: tuple[str, ...]) -> dict[str, set[str]]:
    """word -> the languages that list it, up to a gap, under one of these keys. Dashes belong to
    all languages.
    """
    languages = {dash: set(numbered_languages()) for dash in _DASHES if keys == _JOINTS}
    for language in numbered_languages():
        for word in [word for key in keys for word in words_of(key, language)]:
            for form in word.split("|"):
                languages.setdefault(form.split()[0].lower(), set()).add(language)
    return languages | {_AND + word: {"ar"} for word in number_words("ar")}


@lru_cache(maxsize=32)
def _in_digits(language: str) -> Any:
    """A function that replaces a match of `_range_of_words` by digits or by blanks."""
    return partial(_range_in_digits, numbers=number_words(language))


def _range_in_digits(match: Any, numbers: Mapping[str, float]) -> str:
    if match["before"] or match["counted"] is not None:
        return " " * len(match[0])
    low, high = (str(numbers.get(match[end].lower(), match[end])) for end in ("low", "high"))
    low, high = low.removesuffix(".0"), high.removesuffix(".0")
    if match["either"] and float(low) > float(high):
        low, high = high, low
    return f"{low}-{high}".ljust(len(match[0]))


@lru_cache(maxsize=32)
def _range_of_words(language: str) -> Any:
    """The pattern of a range between two numbers of a language, at least one of which is a word.

    Group `counted` matches if the numbers count something, group `before` if other numbers precede
    them.
    """
    numbers = number_words(language)
    word, number = pattern_of(numbers), rf"(?:{pattern_of(numbers)}|{DIGITS})"
    after = AFTER_WORD if language == OF_FORMS else AFTER_WORD_ELSEWHERE
    joined = rf"|(?<=\s{_AND})(?:{'|'.join(numbers)})(?!\p{{L}})" if language == "ar" else ""
    between_after = _any_of("between_after", (language,))
    return regex.compile(
        rf"(?i)(?P<before>(?:{word}\s*[,、，،]\s*)++)?{_between((language,))}(?<![\d.,/])"
        rf"(?:(?P<low>{word})\s?{UNIT}?{_joint(number, (language,))}(?P<high>{number}{joined})|"
        rf"(?P<low>{DIGITS})\s?{UNIT}?{_joint(word, (language,))}(?P<high>{word}{joined}))"
        r"(?![\d.,]*\d)"
        rf"(?:(?={after}|\s?{UNIT}?\s*{between_after})|(?P<counted>))"
    )
