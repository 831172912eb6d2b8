"""A jury in words: how it combines its members' answers, and what the figures mean."""

from __future__ import annotations

from metal.questions.jury.run import Jury

RULES = {
    "majority": (
        "The level that most members gave; if no level has the most votes, the members' mean if "
        "that is a level, else no rating."
    ),
    "mean": (
        "The level nearest to the members' mean (of two equally near, the worse); for scores"
        " without levels, the mean."
    ),
    "weights": ("Weights learned from people's ratings on other sources (ridge regression)."),
    "dawid-skene": (
        "The most probable level, given how reliable each member seems compared with the others."
    ),
}
WORDS = {
    "Agrees": (
        "Share of outputs on which the answer equals people's aggregate; for scores without"
        " classes, 1 minus the mean distance as a share of the range."
    ),
    "Best member": (
        "The member that agrees most with people on the other four fifths of the sources, so that "
        "luck does not choose it; the table names the member that agrees most on all sources."
    ),
    "Gain": (
        "The jury's agreement minus that of the best member; percentile bootstrap over sources,"
        " 95%."
    ),
    "Better": "Yes: the interval of the gain is above 0. No: it is below 0. Otherwise unclear.",
    "Worth": (
        "k / (1 + (k − 1) r) for k members, where r is the mean correlation of their mistakes (at "
        "least 0)."
    ),
    "Weights": (
        "Fitted without the sources on which they are used; the table shows the mean over"
        " five folds."
    ),
}
SOURCES = {"Worth": "Kish 1965", "Weights": "Hoerl and Kennard 1970; Wolpert 1992; Breiman 1996"}


def facts(run: Jury) -> dict[str, str]:
    """Facts from the tables that the headline does not state."""
    return {
        "Members": ", ".join(run.settings["judges"]),
        "Rule": RULES.get(run.settings["by"], run.settings["by"]),
        "Do not conclude": (
            "That a jury of other judges, or this jury on outputs of another kind, would do"
            " as well."
        ),
    }


def definitions(run: Jury) -> dict[str, str]:
    """The definitions behind the page."""
    return WORDS
