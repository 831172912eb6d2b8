"""What is wrong with a generated text as an output: it refuses, copies the passage, or is in another language."""

from __future__ import annotations

import regex

from metal.building.languages import LanguageProfiles
from metal.data.languages import language_name, sides
from metal.data.records import Source
from metal.raters.judges.baselines import measure

REFUSES, COPIES = "refuses", "copies the passage"

# How models begin when they decline in English, and what they say they will not do; in other languages a refusal cannot
# be distinguished from a summary. Both parts are needed: news may begin with "Sorry state of roads" or "As an AI boom
# sweeps the world". Text in quotation marks is somebody else's words.
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
COPIED_LENGTH, COPIED_OVERLAP = 0.8, 0.95  # shares of the passage's length and of the text's words; above is a copy


def flags(text: str, source: Source, profiles: LanguageProfiles) -> tuple[str, ...]:
    """What is wrong with a summary of that passage; empty if nothing is.

    A bad summary may be bad in any other way; with one of these faults it is no summary in that language at all.
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
