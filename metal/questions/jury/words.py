"""A jury in words: how it came to its answers, and what the figures mean."""

from __future__ import annotations

from metal.questions.jury.run import Jury

RULES = {
    "majority": (
        "The level that most members gave; without one their mean, where that is a level; else no"
        " rating."
    ),
    "mean": (
        "The level nearest to the members' mean, of two as near the worse; of scores without levels"
        " the mean."
    ),
    "weights": (
        "What people's ratings on other sources say each member is worth (ridge regression)."
    ),
    "dawid-skene": "The likeliest level, given how reliable each member seems beside the others.",
}
WORDS = {
    "Agrees": (
        "Share of outputs on which the answer is people's aggregate; of scores without classes 1"
        " less the mean distance as a share of the range."
    ),
    "Best member": (
        "The member that agrees most with people on the four fifths of sources that an output is"
        " not in, so that it is not picked by luck; the table names the one that agrees most on"
        " all."
    ),
    "Gain": (
        "The jury's agreement less that of the best member; percentile bootstrap over sources, 95%."
    ),
    "Better": "Yes: the interval of the gain is above 0; no: below; else unclear.",
    "Worth": (
        "k / (1 + (k − 1) r) of k members whose mistakes have the mean correlation r, 0 at least."
    ),
    "Weights": (
        "Fitted without the sources that they are used on; shown is their mean over five folds."
    ),
}
SOURCES = {"Worth": "Kish 1965", "Weights": "Hoerl and Kennard 1970; Wolpert 1992; Breiman 1996"}


def facts(run: Jury) -> dict[str, str]:
    """What the tables say beyond the headline."""
    return {
        "Members": ", ".join(run.settings["judges"]),
        "Rule": RULES.get(run.settings["by"], run.settings["by"]),
        "Do not conclude": (
            "That a jury of other judges would do as well, or that this one does on outputs of "
            "another kind."
        ),
    }


def definitions(run: Jury) -> dict[str, str]:
    """The definitions behind the page."""
    return WORDS
