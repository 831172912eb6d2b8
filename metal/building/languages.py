"""Whether a text is in the language it should be in, judged by the dataset's own passages.

A language's profile is how often three letters follow each other in the words of its passages. English always has one,
from the texts of METAL's own rubrics, because models fall back to it. There is no list of languages and no model: it
works for any language that has passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import langcodes
import regex

from metal.raters.judges.baselines import native_letters, terms_of

_LETTER = regex.compile(r"\p{L}\p{M}*")  # with the marks over and under it
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+")
LEAST = 20  # letter groups; shorter texts are not judged
AHEAD = 0.35  # in natural logarithms per letter group: how much better another language has to fit
UNSEEN = 0.1  # total probability of all letter groups that a language's passages do not have


def words_of(text: str) -> list[str]:
    """The text's terms (metal.raters.judges.baselines) without digits, which belong to no language.

    >>> words_of("In 2024 it rained.")
    ['in', 'it', 'rained']
    """
    return terms_of(" ".join(_WORD.findall(text)))


def letter_groups(text: str) -> Iterator[str]:
    """Every three letters in a row of each word; its beginning and end count as letters.

    >>> list(letter_groups("rain"))
    [' ra', 'rai', 'ain', 'in ']
    """
    for word in words_of(text):
        padded = f" {word} "
        yield from (padded[start : start + 3] for start in range(len(padded) - 2))


class LanguageProfiles:
    """How often letter groups occur in each language."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """texts: (language, text)."""
        self._counts: dict[str, Counter[str]] = {}
        in_script: Counter[str] = Counter()
        for language, text in texts:
            self._counts.setdefault(language, Counter()).update(letter_groups(text))
            native, foreign = by_script(text, language)
            in_script[language] += len(words_of(native)) - len(words_of(foreign))
        # Uzbek counts as Latin, but is often written in Cyrillic; then the script proves nothing.
        self._own_script = {language for language in self._counts if in_script[language] < 0}
        self._totals = {language: max(1, counts.total()) for language, counts in self._counts.items()}
        self._kinds = len({group for counts in self._counts.values() for group in counts}) + 1

    def fits(self, text: str) -> Mapping[str, float]:
        """Mean log-likelihood of a letter group in each language; empty for a short text.

        A group that a language lacks is equally unlikely in all languages, however many passages they have.
        """
        groups = list(letter_groups(text))
        if len(groups) < LEAST:
            return {}
        unseen = UNSEEN / self._kinds
        return {
            language: sum(math.log((1 - UNSEEN) * counts[group] / self._totals[language] + unseen) for group in groups)
            / len(groups)
            for language, counts in self._counts.items()
        }

    def another(self, text: str, language: str) -> str:
        """The language that the text is clearly in instead of `language`; "?" for another script; else empty.

        A name in foreign letters proves nothing: if at least half of the words are in the language's own script, only
        those are compared. Varieties of one language (`en-GB`, `en`) are not distinguished.
        """
        native, foreign = (text, "") if language in self._own_script else by_script(text, language)
        in_script = len(words_of(native)) >= len(words_of(foreign))
        fits = self.fits(native if in_script else text)
        best = max(fits, key=lambda candidate: fits[candidate], default=language)
        if language in fits and fits[best] - fits[language] > AHEAD and _base(best) != _base(language):
            return best
        return "" if in_script else "?"


def by_script(text: str, language: str) -> tuple[str, str]:
    """The text without letters of other scripts than the language's, and the text without letters of its own."""
    letters = native_letters(language)
    native = _LETTER.sub(lambda letter: letter[0] if letters.match(letter[0]) else " ", text)
    foreign = _LETTER.sub(lambda letter: " " if letters.match(letter[0]) else letter[0], text)
    return native, foreign


def _base(language: str) -> str | None:
    return langcodes.Language.get(language).language
