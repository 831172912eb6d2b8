"""A report on probes in words: what not to conclude, and what its figures mean."""

from __future__ import annotations

from metal.auditing.scored_outputs import MARGIN
from metal.questions.probe.compute import LEVEL
from metal.questions.probe.run import ProbeReport

SOURCES = {
    "A": "Vargha and Delaney 2000",
    "Blind, lured, moved": "Holm 1979; Schuirmann 1987",
    "Falls with the dose": "Page 1963",
}


def facts(run: ProbeReport) -> dict[str, str]:
    """What the report leaves open."""
    caution = (
        "That a judge is good where nothing is shown against it: a change may be easier to see than"
        " real faults."
    )
    return {"Do not conclude": caution}


def definitions(run: ProbeReport) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "A": (
            "The share of pairs in which the clean output gets the better score, with ties as"
            " half: 0.5 is chance, 1 means that it sees every change. Intervals are 95%, over"
            " sources."
        ),
        "Blind, lured, moved": (
            "Blind: the judge surely notices fewer than half of the changes: A is below 1/2 +"
            " r/4, where r is the share of clean outputs whose score can fall. Lured: a change"
            " that must not raise a score raises it. Moved: a change that does not matter moves"
            f" the mean, and is not shown to move it by less than {MARGIN:.0%} of the scale. Tests"
            " are one-sided, by Student's t over sources (moved: two-sided), with Holm's"
            " correction over all rows of a judge that decide something, so that at most"
            f" {LEVEL:.0%} of sound judges get any of these words."
        ),
        "Certain, graded, invariant, bait": (
            "Certain: a change that anybody who reads the language sees. Graded: a change that"
            " counts only where people who rated the changed outputs were shown to notice it"
            " (their A surely above 0.5). Invariant: a change that must not change scores. Bait:"
            " a change that must not raise a score."
        ),
        "Most changes that spoil a text": (
            "All pairs with a change of the kind “certain”, taken together."
        ),
        "Selectivity": (
            "A on this criterion minus the mean A on criteria that the change leaves alone."
        ),
        "To the best score": (
            "Share of pairs in which the changed output gets the best score and the clean one"
            " does not."
        ),
        "Could fall": "The share of clean outputs that do not have the worst score already.",
        "Falls with the dose": (
            "1 if each score falls with each dose, 0 if scores do not depend on the dose."
        ),
    }
