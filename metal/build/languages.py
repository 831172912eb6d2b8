"""Whether a text is in the language it should be in, told from the dataset's own passages.

Each language is known by how often three letters follow each other in the words of its passages; English always takes
part, by the texts of METAL's own rubrics, because it is what models fall back to. No list of languages, no model: it
works for any language that has passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import regex

from metal.judges.lexical import native_letters, terms_of

_LETTER = regex.compile(r"\p{L}\p{M}*")  # with what is written over and under it
LEAST = 20  # letter groups; of a shorter text nothing is said
AHEAD = 0.35  # natural logarithm, a letter group: how much better another language has to fit


def letter_groups(text: str) -> Iterator[str]:
    """Every three letters in a row of each word, its beginning and end counting as one."""
    for word in terms_of(text):
        padded = f" {word} "
        yield from (padded[start : start + 3] for start in range(len(padded) - 2))


class LanguageProfiles:
    """How often letter groups occur in each language."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """texts: (language, text)."""
        self._counts: dict[str, Counter[str]] = {}
        for language, text in texts:
            self._counts.setdefault(language, Counter()).update(letter_groups(text))
        self._totals = {language: counts.total() for language, counts in self._counts.items()}
        self._kinds = len({group for counts in self._counts.values() for group in counts}) + 1

    def fits(self, text: str) -> Mapping[str, float]:
        """Mean log-likelihood of a letter group in each language, add-one smoothed; empty for a short text."""
        groups = list(letter_groups(text))
        if len(groups) < LEAST:
            return {}
        return {
            language: sum(math.log((counts[group] + 1) / (self._totals[language] + self._kinds)) for group in groups)
            / len(groups)
            for language, counts in self._counts.items()
        }

    def another(self, text: str, language: str) -> str:
        """The language that the text is clearly in instead of `language`; "?" for another script; else empty.

        A name in foreign letters says nothing: where at least half of the words are in the language's own script, only
        those are compared.
        """
        native = native_letters(language)
        mine = _LETTER.sub(lambda letter: letter[0] if native.match(letter[0]) else " ", text)
        foreign = _LETTER.sub(lambda letter: " " if native.match(letter[0]) else letter[0], text)
        in_script = len(terms_of(mine)) >= len(terms_of(foreign))
        fits = self.fits(mine if in_script else text)
        best = max(fits, key=lambda one: fits[one], default=language)
        if language in fits and fits[best] - fits[language] > AHEAD:
            return best
        return "" if in_script else "?"
