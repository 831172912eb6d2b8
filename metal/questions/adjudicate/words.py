"""Adjudication in words: what the figures mean, and what they do not say."""

from __future__ import annotations

from metal.data.text import count, percent, plural
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.verdicts import AS_ACCURATE, BETTER, ERRS, LESS, UNDECIDED

SOURCES = {
    "Why agreement is not enough": "Albert and Dodd 2004",
    "A gold standard on some": "Albert and Dodd 2008",
    "Drawn with known probabilities": "Horvitz and Thompson 1952; Neyman 1938",
}


def facts(run: Adjudicated) -> dict[str, str]:
    """What the tables say beyond the headline."""
    rows = run.records("adjudicated")
    lines = {
        "Which outputs": (
            "Those on which a judge and a person differ, drawn at random, half of them where"
            " somebody gave the label at the bad end. Where all agree, nothing can change the"
            " comparison, whatever is right."
        )
    }
    undecidable = sum(row["undecidable"] for row in rows)
    if undecidable:
        stand = f"{plural(int(undecidable), 'output')}; the decided ones stand for these too."
        lines |= {"Cannot be decided": stand}
    if pairs := run.records("adjudicators"):
        both, differ = (sum(row[name] for row in pairs) for name in ("both", "differ"))
        alike = f"Two decide alike in {percent(1 - differ / both)} of {count(both)} outputs."
        lines |= {"Adjudicators": f"{alike} Where they differ, each of them counts half."}
    return lines | {
        "Do not conclude": (
            "That a judge is right where everybody agrees: an output that judge and people get"
            " wrong together is not looked at."
        )
    }


def definitions(run: Adjudicated) -> dict[str, str]:
    """Term -> what it means on this page."""
    margin = float(run.manifest["settings"]["margin"])
    return {
        "accuracy less a person's": (
            "How much more often the judge gives the right answer than one of its people, over all"
            " outputs that it was asked about; an answer that is missing is not right. Interval:"
            " one-sided 95% limits, for the draw and for the outputs."
        ),
        f"“{BETTER}”, “{AS_ACCURATE}”, “{LESS}”": (
            f"Surely above 0; surely above −{margin:g}; surely below 0. Else “{UNDECIDED}”. A judge"
            " that finds less than half of the bad end that a person finds, or that is right there"
            " less than half as often, is never called so accurate."
        ),
        "finds of the bad end": (
            "Of outputs that are decided or agreed to have the worst label, the share to which the"
            " judge gives it. Right when it says so: of those to which it gives it, the share where"
            " that is right."
        ),
        f"if {ERRS:.0%} are wrong": (
            "The same if the adjudicator was wrong in a tenth of the outputs: at random, or always"
            " siding with most people where these were wrong."
        ),
    }
