"""What is wrong with a generated text as an output: it refuses, it is the passage again, it is in another language."""

from __future__ import annotations

import regex

from metal.building.languages import LanguageProfiles
from metal.data.languages import language_name, sides
from metal.data.records import Source
from metal.raters.judges.lexical import measure

REFUSES, COPIES = "refuses", "copies the passage"

# How models begin when they decline in English, and what they then say they do not do; in other languages it cannot be
# told from a summary. Both are needed: "Sorry state of roads" and "As an AI boom sweeps the world" begin news too, and
# who speaks in quotation marks is somebody else.
_ASKED_FOR = (
    r"(?:help|assist|comply|provide|fulfil\w*|summari[sz]e|write|create|generate|produce|translate|do (?:that|this|so)"
    r"|complete|continue|process|access|respond|answer|engage|participate|offer|support)"
)
_DECLINES = regex.compile(
    r"[\s*_#>-]*+(?:(?:(?:i['’]?m|i am|we are|we['’]re) )?(?:(?:very|so|really) )?sorry\b.{0,60}?"
    r"|i (?:must )?apologi[sz]e\b.{0,60}?"
    r"|as an? (?:ai|(?:large )?language model)\b.{0,60}?|unfortunately,? )??"
    r"\b(?:i|we)(?:['’]m|['’]re| am| are)? "
    r"(?:can ?not|can['’]?t|won['’]?t|will not|(?:not|un)[- ]?able to|must decline to|have to decline to"
    r"|do not|don['’]?t) (?:(?:be able to|feel comfortable|directly|currently|really) ?){0,2}" + _ASKED_FOR + r"\b",
    regex.IGNORECASE | regex.DOTALL,
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
        seen = measure(_even(text), _even(source.text), source.language)
        if seen.length > COPIED_LENGTH and seen.overlap > COPIED_OVERLAP:
            found.append(COPIES)
    language = sides(source.language)[1]
    other = profiles.another(text, language)
    if other:
        found.append("in another script" if other == "?" else f"in {language_name(other)}")
    return tuple(found)


def _even(text: str) -> str:
    """The text with one blank for every white space: a copy that is set differently is a copy."""
    return " ".join(text.split())
