"""The first screen of a shared task's table: who leads, and who is not shown to be worse."""

from __future__ import annotations

from collections.abc import Iterator

from metal.boards.official.table import AVERAGE
from metal.data.text import known, listed, plural, within
from metal.questions.official.run import OfficialTable
from metal.runs.columns import Row
from metal.show.parts import data_of, places
from metal.show.view import Remark

MOST_NAMED = 4
EQUAL = 1e-12  # values that differ by no more are the same


def headline(run: OfficialTable) -> str:
    """Who leads, by how much, and who shares its cluster."""
    rows = [row for row in run.records("ranking") if known(row["rank"])]
    tasks = plural(len(run.task_list), "task")
    if not rows:
        return f"No rater has a value in every one of the {tasks} of {run.titled}."
    best = rows[0]
    average = f"{'a mean correlation of ' if run.are_correlations else ''}{run.average(best)}"
    leaders = [row for row in rows if abs(row["average"] - best["average"]) <= EQUAL]
    first = places([within(row["rater"]) for row in leaders], MOST_NAMED)
    does = "leads" if len(leaders) == 1 else "lead"
    lead = f"{first} {does} the table with {average} over {tasks}"
    others = [
        within(row["rater"]) for row in rows if row["rank"] == best["rank"] and row not in leaders
    ]
    if others:
        does = "is" if len(others) == 1 else "are"
        return f"{lead}; {places(others, MOST_NAMED)} {does} not shown to be worse."
    alone = len(leaders) == 1 < len(rows)
    return f"{lead}, alone in the first cluster." if alone else f"{lead}."


def scope(run: OfficialTable) -> str:
    """What was compared, for the line above the headline."""
    languages = {code for row in run.task_list for code in row["languages"].split()}
    parts = [run.titled, plural(len(run.records("ranking")), "rater")]
    parts += [plural(len(run.task_list), "task"), plural(len(languages), "language")]
    return " · ".join(parts)


def _first_in(run: OfficialTable, best: Row) -> str:
    """The raters with the highest value in a task. best: the row of one of them."""
    rows = run.records("tasks", task=best["task"])
    rated = [row for row in rows if known(row["value"])]
    equal = [row for row in rated if abs(row["value"] - best["value"]) <= EQUAL]
    return places([within(row["rater"]) for row in equal], MOST_NAMED)


def cards(run: OfficialTable) -> Iterator[Remark]:
    """Cards: who leads which task, where the second is close, and what to do next."""
    best: dict[str, list[str]] = {}
    for row in run.task_list:
        if known(row["value"]):
            best.setdefault(_first_in(run, row), []).append(run.heading(row))
    leaders = [f"{who} in {listed(tasks)}" for who, tasks in best.items()]
    if len(best) == 1 and len(run.task_list) > 1:
        leaders = [f"{who} in all {len(run.task_list)} tasks" for who in best]
    yield Remark("First in each task", f"{'; '.join(leaders)}.")
    compared = run.records("comparisons", task=AVERAGE)
    if compared:
        shown = sum(row["p"] <= 0.05 for row in compared)
        sentence = (
            f"In {shown} of {len(compared):,} pairs of raters the averages differ with p of at most"
            " 0.05, each pair tested by itself. `metal billboard` without a layout has ranks that"
            " hold for all raters at once."
        )
        yield Remark("Ranks are WMT's clusters", sentence)
    yield Remark(
        "What to do next",
        "See each language with intervals, and which generators lead:",
        f"metal billboard {data_of(run)}",
    )
