"""The table of a shared task in words: what it rests on, and what its figures mean."""

from __future__ import annotations

from metal.boards.official.layout import STATISTICS
from metal.boards.official.table import EVERY
from metal.boards.official.tasks import SOFT_DRAWS
from metal.data.text import capital, name
from metal.questions.official.run import OfficialTable

SOURCES = {
    "Ranks": "Deutsch, Dror and Roth 2021; Freitag et al. 2022",
    STATISTICS["pairwise-accuracy"][0]: "Kocmi et al. 2021",
    STATISTICS["pairwise-accuracy-with-ties"][0]: "Deutsch, Foster and Freitag 2023",
    STATISTICS["soft-pairwise-accuracy"][0]: "Thompson et al. 2024",
    STATISTICS["pairwise-difference-pearson"][0]: "DiIanni and Deutsch 2025",
    STATISTICS["kendall-like"][0]: "Mathur et al. 2020",
    STATISTICS["kendall-c"][0]: "Stuart 1953",
}
MEANINGS = {
    "pearson": "Pearson's correlation with people's scores.",
    "spearman": "Pearson's correlation of the ranks.",
    "kendall": (
        "Concordant minus discordant pairs, divided by the geometric mean of the numbers of pairs "
        "that the rater and people do not tie."
    ),
    "kendall-c": "Concordant minus discordant pairs, for scores with few different values.",
    "kendall-like": (
        "Of pairs that people score 25 points apart or more: the share that the rater ranks "
        "like people, minus the share that it ranks otherwise. A tie of the rater counts as "
        "ranked otherwise."
    ),
    "pairwise-difference-pearson": (
        "Pearson's correlation between the score differences of the rater and of people, over pairs"
        " of outputs; each pair is counted in both orders."
    ),
    "pairwise-accuracy": (
        "The share of pairs that rater and people rank alike: both tie them, or prefer the same."
    ),
    "pairwise-accuracy-with-ties": (
        "Pairwise accuracy in which the rater's differences up to a threshold count as ties. "
        "The threshold is the one with the largest mean over groups."
    ),
    "soft-pairwise-accuracy": (
        "One minus the mean difference between people's p and the rater's p that the first of two"
        f" generators is better, from {SOFT_DRAWS:,} permutations of paired scores."
    ),
}


def facts(run: OfficialTable) -> dict[str, str]:
    """Whose table it is, what people's scores are, and what not to conclude."""
    settings = run.settings
    floats = (
        "Scores are compared as they are; scores that differ only by rounding do not tie."
        if settings["exact"]
        else "Scores that differ by rounding only are ties."
    )
    return {
        "Table": f"{run.titled}. {name(settings['source'], 200)}".rstrip(". ") + ".",
        "Compared with": f"People's scores, on {_criteria(run)}. {floats}",
        "Do not conclude": (
            "That raters of one cluster are equal, or that every pair of two clusters differs:"
            " pairs are tested one by one, at 5% each."
        ),
    }


def _criteria(run: OfficialTable) -> str:
    gold = str(run.settings["gold"])
    return "every criterion that they scored" if gold == EVERY else name(gold, 100)


def definitions(run: OfficialTable) -> dict[str, str]:
    """The definitions behind the page, for the statistics that its tasks use."""
    used = dict.fromkeys(row["statistic"] for row in run.task_list)
    average = (
        "The mean of the tasks by weight. A correlation r counts as (r + 1) / 2, so that "
        "all statistics run from 0 to 1. A rater that lacks a value in any task has no "
        "average."
    )
    if run.are_correlations:
        average = (
            "The mean of the tasks' correlations by weight. The files of this run have it as "
            "`average`, the share (r + 1) / 2 of the range from -1 to 1. A rater that lacks a "
            "value in any task has no average."
        )
    return {
        capital(run.average_heading): average,
        "Ranks": (
            "In the order of values, a new cluster begins at the first rater that some rater of "
            "the current cluster beats with p at most 0.05. p is the share of random exchanges "
            "of two raters' standardised scores (of single comparisons, for accuracy with ties) "
            "that give a lead at least as large."
        ),
    } | {STATISTICS[key][0]: MEANINGS[key] for key in used}
