"""Adjudication in words: what the figures mean, and what they do not show."""

from __future__ import annotations

from metal.data.text import plural
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED
from metal.questions.adjudicate.verdicts import AS_ACCURATE, BETTER, ERRS, LESS, UNDECIDED

SOURCES = {
    "Why agreement is not enough": "Albert and Dodd 2004",
    "A gold standard on some": "Albert and Dodd 2008",
    "Drawn with known probabilities": "Horvitz and Thompson 1952; Neyman 1938",
}


WHICH = {
    DISPUTED: (
        "Outputs on which a judge and a person differ, drawn at random; half of them are "
        "outputs to which somebody gave the worst label. An output on which all agree cannot "
        "change the comparison, whichever answer is right."
    ),
    AMBIGUOUS: (
        "Outputs to which all people gave different answers, drawn at random; half of them are "
        "outputs to which somebody gave the worst label."
    ),
    BETWEEN: (
        "Outputs that the two raters score most differently: the first scores half of them higher,"
        " the second the other half. Whoever decided them saw no score."
    ),
}
NOT_SAID = {
    DISPUTED: (
        "That a judge is right where everybody agrees: an output that judge and people get wrong"
        " together is not looked at."
    ),
    AMBIGUOUS: "That people are wrong as often elsewhere: these are the hardest outputs.",
    BETWEEN: "How often either rater is right elsewhere: on these outputs the two differ most.",
}


def facts(run: Adjudicated) -> dict[str, str]:
    """Facts from the tables that the headline does not state."""
    lines = {"Which outputs": WHICH[run.draw]}
    undecidable = sum(row.get("undecidable", 0) for row in run.records(run.shown))
    if undecidable:
        stand = f"{plural(int(undecidable), 'output')}; the decided outputs stand for them as well."
        lines |= {"Cannot be decided": stand}
    return lines | {"Do not conclude": NOT_SAID[run.draw]}


def definitions(run: Adjudicated) -> dict[str, str]:
    """The meaning of each term on this page."""
    if run.draw == AMBIGUOUS:
        return {
            "right": (
                "The share of these outputs on which the rater's answer was decided to be "
                "right. Each output is weighted by the number of outputs for which it stands. "
                "90% interval over sources."
            )
        }
    if run.draw == BETWEEN:
        return {
            "sides with the first": (
                "The share of outputs that are good where the first rater scores higher, or bad"
                " where the second does. 90% interval over sources."
            )
        }
    margin = float(run.manifest["settings"]["margin"])
    return {
        "accuracy less a person's": (
            "How much more often the judge gives the right answer than one of its people, over "
            "all outputs that it was asked about; an answer that is missing is not right. "
            "Interval: one-sided 95% limits; they allow for chance both in the draw and in "
            "which outputs were rated."
        ),
        f"“{BETTER}”, “{AS_ACCURATE}”, “{LESS}”": (
            f"Surely above 0; surely above −{margin:g}; surely below 0; otherwise “{UNDECIDED}”. "
            "A judge that finds less than half as many of the worst outputs as a person, or "
            "that is right less than half as often when it gives the worst label, is never "
            f"called “{AS_ACCURATE}”."
        ),
        "finds of the bad end": (
            "Of outputs that are decided or agreed to have the worst label (the bad end), the "
            "share to which the judge gives it. Right when it says so: of outputs to which the "
            "judge gives this label, the share for which that is right."
        ),
        f"if {ERRS:.0%} are wrong": (
            "The same if the adjudicator was wrong in a tenth of the outputs: either at random, "
            "or always in favour of what most people answered where they are wrong."
        ),
    }
