"""Generated texts in words."""

from __future__ import annotations

from metal.building.flags import AHEAD, COPIED_LENGTH, COPIED_OVERLAP
from metal.questions.generate.run import GeneratedTexts

SOURCES = {"Good and bad": "METAL paper, 3.1.2"}


def facts(run: GeneratedTexts) -> dict[str, str]:
    """What not to conclude."""
    return {
        "Do not conclude": (
            "That a text meant to be good is good, or one meant to be bad is bad: only people can "
            "say that. Texts without a flag may be faulty, too."
        )
    }


def definitions(run: GeneratedTexts) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Good and bad": (
            "What the model was told to write: a text that gets high ratings (at temperature "
            "0), or a text in an adversarial role (at temperature 1). References were written "
            "by people."
        ),
        "Declined": (
            "Texts that begin by saying, in English, that they will not do what was asked; they "
            "count as flagged."
        ),
        "Flagged": (
            f"Declines; copies the passage (over {COPIED_LENGTH:.0%} of its length and"
            f" {COPIED_OVERLAP:.0%} of the words); or is in another language: its groups of three"
            " letters fit passages of that language better, on average by"
            f" {AHEAD:g} in natural logarithms. Flagged texts"
            " are kept, and not chosen unless `keep_flagged` was given."
        ),
        "To be rated": (
            "Chosen: one of a passage's texts at random, or all if `choose` says so. What people"
            " have rated or were given stays chosen."
        ),
        "No text": "No usable reply, or not asked yet.",
    }
