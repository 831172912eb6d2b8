"""A plan of labels in words."""

from __future__ import annotations

from metal.questions.design.labels.compute import BOUND, LEAST_PILOT
from metal.questions.design.labels.run import LabelPlan

SOURCES = {"Labels": "Angelopoulos et al. 2023 (PPI++)", "Languages": "Neyman 1934"}


def facts(run: LabelPlan) -> dict[str, str]:
    """What the plan leaves open."""
    return {
        "Do not conclude": (
            "That judge and people agree elsewhere as they do in this pilot, or that other people "
            "would vary as much as these people."
        )
    }


def definitions(run: LabelPlan) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Labels": (
            "The fewest labels whose interval is as narrow as asked: variance sd² / n (1 − rho²"
            " (1 − n / N)) with n labelled of N sources, Student's t. rho is the lower"
            f" {BOUND:.0%} bound of the pilot's correlation between people and judge over sources;"
            f" a pilot has at least {LEAST_PILOT}."
        ),
        "Judge does not pay off": (
            "Labels alone are as cheap: rho² is below 4 h j / (h + j)², where h is the price of a"
            " label and j the judge's price for a source, or no label is saved."
        ),
        "Worth at most": (
            "1 / (1 − rho²): how many labels alone one label with the judge's help is worth, if"
            " the judge rates any number of sources."
        ),
        "Languages": (
            "A budget is shared among languages in proportion to the spread of their labels that"
            " the judge does not explain, divided by the square root of their price."
        ),
    }
