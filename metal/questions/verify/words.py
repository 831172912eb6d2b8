"""A verification in words: what was done, and which figures no library computes."""

from __future__ import annotations

from metal.data.text import listed
from metal.questions.verify.compute import LEAST_DIGITS
from metal.questions.verify.run import Verified

SOURCES = {
    "Alternative annotator test": "Calderon, Reichart and Dror 2025, and their AltTest",
    "Fleiss' kappa": "Fleiss 1971",
    "Krippendorff's alpha": "Krippendorff 2004",
}
NOT_COMPARED = (
    "Intervals, p-values, verdicts, Gwet's AC1, intraclass correlation, concordance and skill of"
    " scores; figures on standardised scores, or on labels by Dawid-Skene or MACE; on boards,"
    " groups of people, ensembles and generators. None of these libraries defines them as METAL"
    " does."
)


def with_versions(run: Verified) -> str:
    """The libraries with their versions, in a sentence."""
    return listed([f"{library} {version}" for library, version in run.libraries.items()])


def facts(run: Verified) -> dict[str, str]:
    """What the tables say beyond the headline."""
    return {
        "For a reviewer": (
            "Each figure was computed twice: by METAL, and from the same ratings by"
            f" {with_versions(run)}. Separate code built labels, pairs and panels for these "
            f"libraries; no code of METAL's statistics was used."
        )
    }


def definitions(run: Verified) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Equal": (
            f"Equal to {LEAST_DIGITS} digits or more: digits after the point or, for numbers above"
            " 1, digits in all. This must hold in each file of the run that contains the table."
            " If no library has a number, the files (CSV, JSON, Parquet) are compared with each"
            " other."
        ),
        "Undefined in both": (
            "The run has a reason instead of a number; the library has no number either."
        ),
        "Undefined in the library": (
            "The library has no number for what METAL defines: a correlation of a judge with one"
            " answer (METAL says 0), or Fleiss' kappa over outputs with different numbers of"
            " people."
        ),
        "Left undefined by METAL": "The library has a number; METAL has a reason for giving none.",
        "Alternative annotator test": (
            "No library has this test. How often the judge or the person is closer to the others "
            "is counted as in the program of the paper's authors; the test is scipy's one-sample "
            "t (or"
            " Wilcoxon's), and the correction by Benjamini and Yekutieli is statsmodels'."
        ),
        "Quadratic kappa": (
            "Computed by statsmodels, because it takes the values of levels as weights."
        ),
    }
