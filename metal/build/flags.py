"""What is wrong with a generated text as an output: it refuses, it is the passage again, it is in another language."""

from __future__ import annotations

import regex

from metal.build.languages import LanguageProfiles
from metal.judges.lexical import measure
from metal.languages import language_name, sides
from metal.records import Source

REFUSES, COPIES = "refuses", "copies the passage"

# How models begin when they decline in English; in other languages it cannot be told from a summary.
_DECLINES = regex.compile(
    r"\W*(?:(?:i['’]?m|i am|we are|we['’]re) (?:very |so )?sorry|sorry|i apologi[sz]e|as an? (?:ai|language model)"
    r"|i (?:can ?not|can['’]?t|won['’]?t|will not|am (?:not able|unable)|['’]m (?:not able|unable)))\b",
    regex.IGNORECASE,
)
COPIED_LENGTH, COPIED_OVERLAP = 0.8, 0.95  # of the passage's length and of the text's words: more is a copy


def flags(text: str, source: Source, profiles: LanguageProfiles) -> tuple[str, ...]:
    """What is wrong with a summary of that passage; empty where nothing is.

    A bad summary may be bad in any way but these: then it would be no summary in that language at all.
    """
    found = []
    if _DECLINES.match(text):
        found.append(REFUSES)
    if source.text.strip():
        seen = measure(text, source.text, source.language)
        if seen.length > COPIED_LENGTH and seen.overlap > COPIED_OVERLAP:
            found.append(COPIES)
    language = sides(source.language)[1]
    other = profiles.another(text, language)
    if other:
        found.append("in another script" if other == "?" else f"in {language_name(other)}")
    return tuple(found)
