"""Flag generated texts that cannot serve as outputs: refusals, copies of the passage, and texts in
another language.

The language of a text is recognised with the dataset's own passages. A language's profile says how
often each group of three letters occurs in the words of its passages. English always has a profile,
made from METAL's own rubrics, because models fall back to English. This needs no list of languages
and no model, so it works for any language that has passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import langcodes
import regex

from metal.data.languages import language_name, sides
from metal.data.records import Source
from metal.raters.judges.baselines import measure, native_letters, terms_of

REFUSES, COPIES = "refuses", "copies the passage"

# How models begin when they decline in English, and what they say they will not do; in other
# languages a refusal cannot be distinguished from a summary. Both parts are needed: news may begin
# with "Sorry state of roads" or "As an AI boom sweeps the world". Text in quotation marks is
# somebody else's words.
_ASKED_FOR = (
    r"(?:help|assist|comply|provide|fulfil\w*|summari[sz]e|write|create|generate|produce|translate|do"
    r" (?:that|this|so)"
    r"|complete|continue|process|access|respond|answer|engage|participate|offer|support)"
)
_DECLINES = regex.compile(
    r"[\s*_#>-]*+(?:(?:(?:i['’]?m|i am|we are|we['’]re) )?(?:(?:very|so|really) )?sorry\b.{0,60}?"
    r"|i (?:must )?apologi[sz]e\b.{0,60}?"
    r"|as an? (?:ai|(?:large )?language model)\b.{0,60}?|unfortunately,? )??"
    r"\b(?:i|we)(?:['’]m|['’]re| am| are)? "
    r"(?:can ?not|can['’]?t|won['’]?t|will not|(?:not|un)[- ]?able to|must decline to|have to"
    r" decline to"
    r"|do not|don['’]?t) (?:(?:be able to|feel comfortable|directly|currently|really) ?){0,2}"
    + _ASKED_FOR
    + r"\b",
    regex.IGNORECASE | regex.DOTALL,
)
# shares of the passage's length and of the text's words; above is a copy
COPIED_LENGTH, COPIED_OVERLAP = 0.8, 0.95


def flags(text: str, source: Source, profiles: LanguageProfiles) -> tuple[str, ...]:
    """The faults of a summary of that passage; empty if there are none.

    A bad summary may have other faults. A text with one of these faults is not a summary in that
    language at all.
    """
    faults = []
    if _DECLINES.match(text):
        faults.append(REFUSES)
    if source.text.strip():
        # White space is evened out: a copy with another layout is a copy.
        surface = measure(" ".join(text.split()), " ".join(source.text.split()), source.language)
        if surface.length > COPIED_LENGTH and surface.overlap > COPIED_OVERLAP:
            faults.append(COPIES)
    language = sides(source.language)[1]
    other = profiles.another(text, language)
    if other:
        faults.append("in another script" if other == "?" else f"in {language_name(other)}")
    return tuple(faults)


_LETTER = regex.compile(r"\p{L}\p{M}*")  # with the marks over and under it
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+")
LEAST = 20  # letter groups; shorter texts are not judged
AHEAD = 0.35  # in natural logarithms per letter group: how much better another language has to fit
UNSEEN = 0.1  # total probability of all letter groups that a language's passages do not have


def words_of(text: str) -> list[str]:
    """The terms of a text (metal.raters.judges.baselines) without digits, because digits belong to
    no language.

    >>> words_of("In 2024 it rained.")
    ['in', 'it', 'rained']
    """
    return terms_of(" ".join(_WORD.findall(text)))


def letter_groups(text: str) -> Iterator[str]:
    """Every group of three letters in a row in each word; the beginning and the end of a word count
    as letters.

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
        self._totals = {
            language: max(1, counts.total()) for language, counts in self._counts.items()
        }
        self._kinds = len({group for counts in self._counts.values() for group in counts}) + 1

    def fits(self, text: str) -> Mapping[str, float]:
        """Mean log-likelihood of a letter group in each language; empty for a short text.

        A group that a language lacks is equally unlikely in all languages, however many passages
        they have.
        """
        groups = list(letter_groups(text))
        if len(groups) < LEAST:
            return {}
        unseen = UNSEEN / self._kinds
        return {
            language: (
                sum(
                    math.log((1 - UNSEEN) * counts[group] / self._totals[language] + unseen)
                    for group in groups
                )
                / len(groups)
            )
            for language, counts in self._counts.items()
        }

    def another(self, text: str, language: str) -> str:
        """The language in which the text clearly is, if it is not `language`; "?" for another
        script; else empty.

        A name in foreign letters proves nothing. So if at least half of the words are in the
        language's own script, only these words are compared. Varieties of one language (`en-GB`,
        `en`) are not distinguished.
        """
        native, foreign = (text, "") if language in self._own_script else by_script(text, language)
        in_script = len(words_of(native)) >= len(words_of(foreign))
        fits = self.fits(native if in_script else text)
        best = max(fits, key=lambda candidate: fits[candidate], default=language)
        if (
            language in fits
            and fits[best] - fits[language] > AHEAD
            and _base(best) != _base(language)
        ):
            return best
        return "" if in_script else "?"


def by_script(text: str, language: str) -> tuple[str, str]:
    """Split a text by script: the text without letters of foreign scripts, and the text without
    letters of the language's own script.
    """
    letters = native_letters(language)
    native = _LETTER.sub(lambda letter: letter[0] if letters.match(letter[0]) else " ", text)
    foreign = _LETTER.sub(lambda letter: " " if letters.match(letter[0]) else letter[0], text)
    return native, foreign


def _base(language: str) -> str | None:
    return langcodes.Language.get(language).language
