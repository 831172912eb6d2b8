"""What a board's figures mean, in plain words, and which of them have no value."""

from __future__ import annotations

from metal.boards.ensemble import LEAST_COVERAGE
from metal.data.text import count, within
from metal.runs.board_run import BoardRun
from metal.runs.columns import title_of
from metal.show.notes import parts, places
from metal.show.sections import Definition
from metal.show.view import Cell, TableView

MOST_ROWS = 60


def definitions(run: BoardRun) -> list[Definition]:
    """The definitions behind this board, with the settings of this run."""
    settings = run.manifest["settings"]
    resamples, permutations = settings.get("resamples", 2000), settings.get("permutations", 1000)
    return [
        Definition(
            "People",
            "An output's score is the mean of what the reference people gave. Everybody else is a rater; people "
            "outside the reference are one rater a group, with the mean of theirs.",
        ),
        Definition(
            "r",
            "Pearson correlation with the people's score over all outputs that both scored. rho is Spearman's, tau "
            "Kendall's tau-b. All scores are turned so that higher is better.",
            "Bidimensional Leaderboards 2.1",
        ),
        Definition(
            "Overall",
            "The mean of the criteria that people rated; where their scales differ, of the shares of their ranges.",
        ),
        Definition(
            "One of the people",
            "Each person's score against the mean of the others, pooled over people: what a rater as good as a person "
            "could be expected to reach. Raters are compared with the mean of all, which is somewhat easier.",
        ),
        Definition("r between generators", "Pearson correlation of the generators' mean scores."),
        Definition(
            "SPA",
            "Soft pairwise accuracy: how alike people and the rater are in how sure they are that one generator is "
            "better than another, by permutation tests, over pairs of generators.",
            "Thompson et al. 2024",
        ),
        Definition(
            "Pairwise accuracy",
            "The share of pairs of outputs of one source that a rater orders as people do, ties included; scores "
            "nearer than a threshold count as tied, and the threshold is the one that fits best.",
            "Deutsch et al. 2023",
        ),
        Definition(
            "Intervals",
            f"95%, percentile bootstrap with {count(resamples)} resamples of whole sources; of more than 4,096, random "
            "blocks are drawn.",
        ),
        Definition(
            "Clusters",
            "Paired permutation tests of every two raters (or generators), "
            f"at least {count(permutations)} permutations (a random subgroup of all, which makes the test exact), "
            "corrected by Holm. Whoever is significantly worse than the first of a cluster begins the next. Alike is "
            "not equal.",
            "Freitag et al. 2023; Holm 1979; Koning and Hemerik 2024",
        ),
        Definition(
            "Ensemble",
            f"A linear model of {settings.get('nonzero', 3)} metrics, chosen by the lasso among those that scored at "
            f"least {LEAST_COVERAGE:.0%} of the outputs. On unseen generators: each generator is scored by a model "
            "that was fitted without it.",
            "Bidimensional Leaderboards 2.2",
        ),
        Definition(
            "Overrating",
            "A linear mixed model of a rater's standardised score, by REML: machine or human, the people's score, and "
            "the source as a random intercept. The coefficient of machine, with a 90% interval: by how much a rater "
            "prefers machine writing that people find equally good. Self-preference is the same for generators of the "
            "judge's own family.",
            "Bidimensional Leaderboards 2.3",
        ),
        Definition(
            "Coverage", "Outputs that a rater scored, of those that people rated. The rest is missing, never 0."
        ),
        Definition("Undefined", "A figure without a value is a dash with its reason, never 0."),
    ]


def undefined_table(run: BoardRun) -> TableView | None:
    """Every figure that has no value, by reason; None where all have one."""
    places_of: dict[tuple[str, str, str], list[str]] = {}
    for table in ("raters", "within_generators", "overrating", "self_preference", "people"):
        for row in run.records(table):
            for figure, reason in parts(row.get("undefined")):
                where = run.where(row["criterion"], row["language"])
                who = " on ".join(within(row[key]) for key in ("rater", "generator") if key in row)
                places_of.setdefault((table, figure, reason), []).append(f"{who} ({where})" if who else where)
    if not places_of:
        return None
    rows = [
        (
            Cell(table.replace("_", " ")),
            Cell(title_of(run.columns(table), figure) or figure),
            Cell(reason),
            Cell(count(len(where))),
            Cell(places(where)),
        )
        for (table, figure, reason), where in places_of.items()
    ]
    cut = (f"The first {MOST_ROWS} of {len(rows)} reasons; the CSV files have all.",) if len(rows) > MOST_ROWS else ()
    columns = ("table", "figure", "why it has no value", "times", "for")
    return TableView("undefined", "Figures without a value", columns, tuple(rows[:MOST_ROWS]), heads=3, notes=cut)
