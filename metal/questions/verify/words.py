"""A verification in words: what was done, and what no library has."""

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
    " scores; figures on standardised scores, or on labels by Dawid-Skene or MACE; of boards the"
    " groups of people, ensembles and generators. These libraries do not have them as METAL does."
)


def with_versions(run: Verified) -> str:
    """The libraries with their versions, in a sentence."""
    return listed([f"{library} {version}" for library, version in run.libraries.items()])


def facts(run: Verified) -> dict[str, str]:
    """What the tables say beyond the headline."""
    return {
        "For a reviewer": (
            "Each figure was computed twice: by METAL, and from the same ratings by"
            f" {with_versions(run)}. Separate code made labels, pairs and panels for these; none of"
            " METAL's statistics took part."
        )
    }


def definitions(run: Verified) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Equal": (
            f"To {LEAST_DIGITS} digits or more, counted after the point, of numbers above 1 in all;"
            " in each of the files that the run has of the table. Of numbers that no library has,"
            " the files (CSV, JSON, Parquet) are held against each other."
        ),
        "Undefined in both": "The run has a reason in the place of a number, the library none.",
        "Undefined in the library": (
            "The library has no number for what METAL defines: a correlation of a judge with one"
            " answer (0 by METAL), Fleiss' kappa of outputs with different numbers of people."
        ),
        "Left undefined by METAL": "The library has a number, METAL a reason against it.",
        "Alternative annotator test": (
            "No library has it. Who is closer to the others is counted as in the program of the"
            " paper's authors, the test is scipy's one-sample t (or Wilcoxon's), the correction by"
            " Benjamini and Yekutieli statsmodels'."
        ),
        "Quadratic kappa": "By statsmodels, because the values of levels are its weights.",
    }
