"""A selection in words: what is left open, and what the figures mean."""

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
            f" every language with a threshold, but for a chance of {percent(settings['delta'])} at"
            " most."
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
            "The probability of the answered level, where ratings have one; else the share of"
            " raters that give the judge's answer: asked again, in both orders, with other prompts,"
            " in other languages, other judges."
        ),
        "Threshold": (
            "From strict to loose on a fixed grid, as long as the upper limit of errors among the"
            " kept stays at or below the share allowed; a language's limit holds at its part of the"
            " chance to be wrong. One output of each source decides, drawn."
        ),
        "May answer": (
            "Alone: everything above the threshold is everything. In part: people answer the rest."
            " People only: no threshold is sure enough."
        ),
        "At least": (
            "The lower limit of the agreement above the threshold, by the outputs that decided."
        ),
        "Cascade": (
            "Judges in the order given: the first whose confidence reaches the one threshold of all"
            " answers."
        ),
        "ECE": (
            "Mean distance of confidence and agreement over ten bins of equal mass; 95% interval"
            " over sources. Equal width: over ten bins of equal width between the smallest and the"
            " largest confidence. By chance: about what it would be if confidence were exactly"
            " right."
        ),
        "Brier": "Mean squared distance of confidence and being right.",
        "AUROC": (
            "The chance that an answer that agrees has more confidence than one that does not."
        ),
        "Mapped": (
            "Confidence turned into a chance by isotonic regression on sources apart (five folds)."
        ),
        "Per 1,000": (
            "Dollars for 1,000 outputs: each judge that is asked, and people for the rest."
        ),
    }
