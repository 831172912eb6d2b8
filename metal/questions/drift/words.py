"""A comparison of judges before and after in words: what not to conclude, and what the figures
mean.
"""

from __future__ import annotations

from metal.data.text import percent
from metal.questions.drift.run import Diff

SOURCES = {
    "Equivalent": "Schuirmann 1987; Tango 1998",
    "Worse, different, better": "McNemar 1947; Holm 1979",
}


def facts(run: Diff) -> dict[str, str]:
    """What the comparison leaves open, and what was declared."""
    margins = run.margins
    declared = (
        f"{percent(margins.agreement)} of agreement with people, {percent(margins.mean)} of the"
        f" scale for the mean, {percent(margins.coverage)} of coverage; each claim at"
        f" {percent(margins.alpha)}."
    )
    return {
        "Margins": declared,
        "Do not conclude": (
            "That the judge is good: this page only shows whether it has changed. Nor that an"
            " undecided judge has not changed."
        ),
    }


def definitions(run: Diff) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Agreement with people": (
            "Share of outputs on which the judge gives people's most frequent answer; for scores"
            " without classes, 1 minus the distance from their mean as a share of the scale. It"
            " is computed on outputs answered both times."
        ),
        "Equivalent": (
            "The changes of agreement and of the mean are shown to be within their margins, each by"
            " two one-sided score tests. One further one-sided test shows that coverage (the"
            " share of outputs answered) did not fall by more than its margin. All use the"
            " effective number of independent outputs, because outputs of one source are not"
            " independent."
        ),
        "Worse, different, better": (
            "Not within the margin, and shown not to be 0 by a paired test, after Holm's correction"
            " over all checks of the run. Worse: agreement or coverage fell. Different: the mean"
            " moved, or more answers changed than when the judge was only asked again."
        ),
        "Needed": (
            "(z for the error + z for the power)^2 times the share of outputs on which agreement "
            "changed, divided by the margin squared; but at least the number that unchanged "
            "answers would need."
        ),
        "All languages": (
            "A gate passes if every language passes, which needs no correction; it fails after"
            " Holm's correction."
        ),
    }
