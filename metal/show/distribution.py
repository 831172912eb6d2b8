"""Classes by agreement case: METAL's Figure 3, and how far judges over- and under-predict each class."""

from __future__ import annotations

from typing import Any

from metal.auditing.paper_tables import PEOPLE
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, figure, name
from metal.runs.audit_run import AuditRun
from metal.show.charts.classes import Bar, class_bars
from metal.show.view import Cell, Chart, TableView

ALL_ITEMS = "all items"
MOST_ROWS = 150  # a longer table is for the CSV

# Level -> its row of class_distribution_overall.
Levels = dict[str, dict[str, Any]]


def _by_case(run: AuditRun, criterion: Criterion) -> dict[str, dict[tuple[str, str], Levels]]:
    """case -> (side, rater) -> levels, people first, over all languages; cases without items are left out."""
    cases: dict[str, dict[tuple[str, str], Levels]] = {}
    for row in run.records("class_distribution_overall", criterion=criterion.name):
        by = cases.setdefault(row["case"], {})
        by.setdefault((row["side"], row["rater"]), {})[row["level"]] = row
    return {case: by for case, by in cases.items() if _total(by[PEOPLE, PEOPLE], "count")}


def _total(levels: Levels, column: str) -> int:
    return sum(int(row[column]) for row in levels.values())


def case_charts(run: AuditRun) -> list[Chart]:
    """A chart a criterion: people and judges in each agreement case."""
    charts = []
    for criterion in run.audited:
        bars = [
            Bar(
                f"{case} ({_total(by[PEOPLE, PEOPLE], 'count'):,} items)",
                rater,
                {level: int(row["count"]) for level, row in levels.items()},
            )
            for case, by in _by_case(run, criterion).items()
            if case != ALL_ITEMS
            for (_, rater), levels in by.items()
            if _total(levels, "count")
        ]
        label = criterion.label or criterion.name
        charts.append(class_bars(f"cases_{run.slug(criterion)}", label, criterion, bars))
    return charts


def prediction_table(run: AuditRun) -> TableView:
    """How much more or less often than the people a judge gives each class, by agreement case, over all languages."""
    rows, missing = [], []
    widest = max(len(criterion.scale.levels) for criterion in run.audited)
    for criterion in run.audited:
        levels = [level.shown for level in criterion.scale.levels]
        for case, by in _by_case(run, criterion).items():
            for (side, judge), given in by.items():
                if side == PEOPLE:
                    continue
                head = (Cell(criterion.short), Cell(case), Cell(name(judge)))
                compared = sum(int(given[level]["compared"]) for level in levels)
                if not compared:
                    missing.append(f"{criterion.short} {case} {name(judge)}")
                cells = [_over(level, given[level], compared) for level in levels]
                rows.append((*head, Cell(count(compared)), *cells, *[Cell("")] * (widest - len(levels))))
    columns = ("", "case", "judge", "items", *(f"class {place}" for place in range(1, widest + 1)))
    explained = (
        "Share of the class among the judge's answers minus its share among the people's aggregates, over the items "
        "that have both, in all languages together; below it the two counts, judge and people."
    )
    nothing = f"{UNDEFINED}: no item that the judge answered and that has a class of the people ({len(missing)} rows)."
    return TableView.of(
        run,
        "class_distribution_overall",
        "Over- and under-prediction of each class, in percentage points",
        columns,
        rows,
        name="over_prediction",
        heads=3,
        notes=(explained, *([nothing] if missing else [])),
        most=MOST_ROWS,
    )


def _over(level: str, row: dict[str, Any], compared: int) -> Cell:
    if not compared:
        return Cell(f"{level}: {UNDEFINED}")
    points = round(100 * (row["compared"] - row["compared_people"]) / compared)
    return Cell(f"{level}: {figure(points, '+d')}", f"{count(row['compared'])} to {count(row['compared_people'])}")
