"""A run of `metal billboard --layout`: run.toml, raters.jsonl, warnings.txt, tables/,
report.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from metal.boards.official.layout import STATISTICS
from metal.boards.official.table import COMPARISONS, RANKING, TASKS
from metal.data.languages import language_name
from metal.data.text import count, listed, name, score
from metal.runs.columns import Column, Row, Tables, with_the_rest
from metal.show.result import Result

# Short names of statistics, for headings.
SHORT = {
    "pearson": "r",
    "spearman": "rho",
    "kendall": "tau",
    "kendall-c": "tau-c",
    "kendall-like": "Kendall-like",
    "pairwise-difference-pearson": "PDP",
    "pairwise-accuracy": "acc",
    "pairwise-accuracy-with-ties": "acc with ties",
    "soft-pairwise-accuracy": "SPA",
}


def value(number: float) -> str:
    """Three digits after the point, as in WMT's tables."""
    return f"{number:.3f}"


DESCRIBED: Tables = {
    "ranking": with_the_rest(
        (
            Column("rank", "", count),
            Column("rater", "rater", name),
            Column("kind", "kind"),
            Column("average", "average", value, direction="higher"),
            Column("average_rank", "mean rank", score, direction="lower"),
        ),
        RANKING,
    ),
    "tasks": with_the_rest(
        (
            Column("task", "task", count),
            Column("languages", "languages", lambda codes: spoken_pairs(codes)),
            Column("criterion", "criterion", name),
            Column("statistic", "statistic", lambda key: STATISTICS[key][0]),
            Column("rank", "rank", count),
            Column("rater", "rater", name),
            Column("value", "value", value, direction="higher"),
            Column("tie_epsilon", "ties up to", score),
            Column("items", "compared", count),
        ),
        TASKS,
    ),
    "comparisons": with_the_rest(
        (
            Column("task", "task", count),
            Column("first", "better", name),
            Column("second", "than", name),
            Column("lead", "by", value),
            Column("p", "p", score),
            Column("p_williams", "p, Williams", score),
        ),
        COMPARISONS,
    ),
}


def spoken_pairs(codes: str) -> str:
    """The languages of a task in words."""
    return listed([language_name(code) for code in codes.split()])


def in_words(row: Row) -> str:
    """What a task is, in words: `Pearson's r over outputs, by source, in English to German`."""
    within = "" if row["by"] == "all" else f", by {row['by']}"
    return (
        f"{STATISTICS[row['statistic']][0]} over {row['level']}{within}"
        f"{_on(row['criterion'])}, in {spoken_pairs(row['languages'])}"
    )


def _on(criterion: str) -> str:
    return f", on {name(criterion)}" if criterion else ""


@dataclass(frozen=True, repr=False)
class OfficialTable(Result):
    """A run that ranks raters by the tasks of a layout."""

    shown = "ranking"
    command = "billboard layout"
    described = DESCRIBED

    @cached_property
    def task_list(self) -> list[Row]:
        """The row of each task's best rater."""
        rows: dict[int, Row] = {}
        for row in self.records("tasks"):
            rows.setdefault(row["task"], row)
        return list(rows.values())

    def heading(self, task: Row) -> str:
        """The heading of a task's column, which says in what the task differs from the others:
        `en-de outputs r`.
        """
        languages = task["languages"].split()
        parts = {
            "languages": languages[0] if len(languages) == 1 else "all",
            "criterion": name(task["criterion"]),
            "level": task["level"],
        }
        differing = [
            part
            for column, part in parts.items()
            if len({row[column] for row in self.task_list}) > 1
        ]
        if task["by"] != "all" and self._names_groups(task["statistic"]):
            differing.append(f"by {task['by']}")
        return " ".join([*differing, SHORT[task["statistic"]]])

    def _names_groups(self, statistic: str) -> bool:
        """Whether headings of a statistic say how its outputs are grouped: not for accuracy with
        ties if all its tasks group them alike.
        """
        if statistic != "pairwise-accuracy-with-ties":
            return True
        return len({row["by"] for row in self.task_list if row["statistic"] == statistic}) > 1

    @cached_property
    def are_correlations(self) -> bool:
        """Whether every task's statistic runs from -1 to 1. People then quote the mean of the
        values, not of their shares of the range.
        """
        return all(STATISTICS[task["statistic"]][1] == -1.0 for task in self.task_list)

    @property
    def average_heading(self) -> str:
        """The heading of the averages that the page shows."""
        return "mean correlation" if self.are_correlations else "average"

    def average(self, row: Row) -> str:
        """A rater's average as the page shows it."""
        return value(2 * row["average"] - 1 if self.are_correlations else row["average"])

    @cached_property
    def by_task(self) -> dict[tuple[int, str], Row]:
        """The rows of tasks by task and rater."""
        return {(row["task"], row["rater"]): row for row in self.records("tasks")}

    @property
    def titled(self) -> str:
        """What the table is called."""
        return name(self.settings["title"])
