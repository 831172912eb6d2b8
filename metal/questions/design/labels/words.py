"""A plan of labels in words."""

from __future__ import annotations

from metal.questions.design.labels.compute import BOUND, LEAST_PILOT
from metal.questions.design.labels.run import LabelPlan

SOURCES = {"Labels": "Angelopoulos et al. 2023 (PPI++)", "Languages": "Neyman 1934"}


def facts(run: LabelPlan) -> dict[str, str]:
    """What is left open."""
    return {
        "Do not conclude": (
            "That judge and people agree elsewhere as they do in this pilot, or that other"
            " people would vary as these do."
        )
    }


def definitions(run: LabelPlan) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Labels": (
            "The fewest whose interval is as narrow as asked: variance sd² / n (1 − rho² (1 − n /"
            f" N)) with n labelled of N sources, Student's t. rho is the lower {BOUND:.0%} bound of"
            " the pilot's correlation between people and judge over sources; a pilot has at least"
            f" {LEAST_PILOT}."
        ),
        "Judge does not pay": (
            "Labels alone are as cheap: rho² is below 4 h j / (h + j)², h being the price of a"
            " label and j the judge's for a source, or no label is saved."
        ),
        "Worth at most": (
            "1 / (1 − rho²): labels alone that one label beside the judge is worth if it rates any"
            " number of sources."
        ),
        "Languages": (
            "A budget goes to languages in proportion to the spread of their labels, less what the"
            " judge explains, over the root of their price."
        ),
    }
