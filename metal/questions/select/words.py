"""A selection in words: what it leaves open, and what the figures mean."""

from __future__ import annotations

from metal.data.text import percent
from metal.questions.select.run import Selection

SOURCES = {
    "Threshold": "Jung et al. 2025; Clopper and Pearson 1934",
    "ECE": "Naeini et al. 2015",
    "Brier": "Brier 1950",
    "Mapped": "Zadrozny and Elkan 2002",
}


def facts(run: Selection) -> dict[str, str]:
    """What the tables say beyond the headline."""
    settings = run.manifest["settings"]
    return {
        "Guarantee": (
            f"At most {percent(settings['alpha'])} of the kept answers differ from people's, in"
            " every language with a threshold; the chance that this is wrong is at most"
            f" {percent(settings['delta'])}."
        ),
        "Do not conclude": (
            "Anything about outputs of another kind, other people, or a judge picked because it "
            "looked best here."
        ),
    }


def definitions(run: Selection) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Confidence": (
            "The probability of the answered level, if ratings have one; else the share of raters "
            "that give the judge's answer. These raters are the same judge asked again, in both "
            "orders,"
            " with other prompts or in other languages, or other judges."
        ),
        "Threshold": (
            "Thresholds are tried from strict to loose on a fixed grid, as long as the upper "
            "limit of errors among the kept answers stays at or below the allowed share. Each "
            "language gets its part of the chance to be wrong. One output of each source"
            " decides, drawn at random."
        ),
        "May answer": (
            "Alone: all answers are above the threshold. In part: people answer the rest. People"
            " only: no threshold is sure enough."
        ),
        "At least": (
            "The lower limit of the agreement above the threshold, from the outputs that decided."
        ),
        "Cascade": (
            "Judges are asked in the given order; the first judge whose confidence reaches the "
            "common threshold answers."
        ),
        "ECE": (
            "Mean distance between confidence and agreement over ten bins with equally many "
            "answers; 95% interval over sources. Equal width: over ten bins of equal width "
            "between the smallest and the largest confidence. By chance: about the distance to "
            "expect if confidence were exactly right."
        ),
        "Brier": "Mean squared distance between confidence and being right (0 or 1).",
        "AUROC": (
            "The chance that an answer that agrees with people has more confidence than one that"
            " does not."
        ),
        "Mapped": (
            "Confidence turned into a probability by isotonic regression on other sources (five"
            " folds)."
        ),
        "Per 1,000": (
            "Dollars for 1,000 outputs: each judge that is asked, and people for the rest."
        ),
    }
