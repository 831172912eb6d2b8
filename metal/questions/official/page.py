"""The page of a shared task's table, and what `metal billboard --layout` prints."""

from __future__ import annotations

from metal.data.text import UNDEFINED, count, known, name, percent, score
from metal.questions.official.answer import cards, headline, scope
from metal.questions.official.run import OfficialTable, in_words, value
from metal.questions.official.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.pages import Page
from metal.show.parts import reasons
from metal.show.view import Cell, Rows, Section, TableView, folded

MOST_ROWS = 200


def answer(run: OfficialTable) -> TableView:
    """Raters in rows; the average and each task in columns, with ranks."""
    rows: Rows = []
    for row in run.records("ranking"):
        head = [_rank(row), name(row["rater"])]
        average = Cell(UNDEFINED)
        if known(row["average"]):
            average = Cell(run.average(row), "baseline" if row["baseline"] else "")
        cells = [average]
        for task in run.task_list:
            figure = run.by_task.get((task["task"], row["rater"]), {})
            defined = known(figure.get("value"))
            cells.append(
                Cell(value(figure["value"]), _rank(figure)) if defined else Cell(UNDEFINED)
            )
        rows.append((*head, *cells))
    columns = ("rank", "rater", run.average_heading, *map(run.heading, run.task_list))
    notes = ["Below each value, the rank of its cluster in that task."]
    notes += reasons(run, "ranking", run.records("ranking"))
    return TableView.of(
        run,
        "ranking",
        run.titled,
        columns,
        rows,
        name="table",
        heads=2,
        notes=notes,
        most=MOST_ROWS,
    )


def _rank(row: Row) -> str:
    return count(row["rank"]) if known(row["rank"]) else UNDEFINED


def sections(run: OfficialTable) -> list[Section]:
    """The tasks, and each with its ranking."""
    columns = ("task", "what", "weight", "compared", "first", "value")
    rows: Rows = []
    for row in run.task_list:
        groups = f"{count(row['groups'])} groups" if row["groups"] > 1 else ""
        cells = (Cell(count(row["items"]), groups), name(row["rater"]), value(row["value"]))
        rows.append(
            (
                count(row["task"]),
                Cell(in_words(row), run.heading(row)),
                percent(row["weight"]),
                *cells,
            )
        )
    listed_tasks = TableView.of(
        run, "tasks", "Tasks and their weights", columns, rows, name="tasks", heads=2
    )
    each = [folded(_ranking(run, row), in_words(row)) for row in run.task_list]
    return [
        Section("tasks", "Tasks", tables=(listed_tasks,)),
        Section("rankings", "The ranking of each task", parts=tuple(each)),
    ]


def _ranking(run: OfficialTable, task: Row) -> TableView:
    """One task: raters with value and rank, and which differences are ties."""
    records = run.records("tasks", task=task["task"])
    ties = any(known(row["tie_epsilon"]) for row in records)
    columns = ["rank", "rater", "value", *(["ties up to"] if ties else [])]
    rows: Rows = []
    for row in records:
        figure = value(row["value"]) if known(row["value"]) else UNDEFINED
        epsilon = [score(row["tie_epsilon"])] if ties else []
        rows.append((_rank(row), name(row["rater"]), figure, *epsilon))
    return TableView.of(
        run,
        "tasks",
        in_words(task),
        columns,
        rows,
        name=f"task_{task['task']}",
        heads=2,
        notes=reasons(run, "tasks", records),
        most=MOST_ROWS,
    )


PAGE = Page(
    brand="table of a shared task",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
