"""Classes by agreement case: METAL's Figure 3, and how far judges over- and under-predict each class."""

from __future__ import annotations

import pandas as pd

from metal.report.charts.classes import Bar, class_bars
from metal.report.people import PEOPLE
from metal.report.run import Run
from metal.report.text import count, name
from metal.report.view import Cell, Chart, TableView

ALL_ITEMS = "all items"


def _by_case(run: Run, criterion: str) -> dict[str, dict[str, dict[str, int]]]:
    """case -> rater -> level -> count, over all languages; cases without items are left out."""
    rows = run.rows("class_distribution_overall", criterion=criterion)
    found: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows.to_dict("records"):
        found.setdefault(row["case"], {}).setdefault(row["rater"], {})[row["level"]] = int(row["count"])
    return {case: by for case, by in found.items() if sum(by[PEOPLE].values())}


def case_charts(run: Run) -> list[Chart]:
    """A chart a criterion: people and judges in each agreement case."""
    charts = []
    for criterion in run.audited:
        by_case = {case: by for case, by in _by_case(run, criterion.name).items() if case != ALL_ITEMS}
        levels = list(dict.fromkeys(_levels(run.rows("class_distribution_overall", criterion=criterion.name))))
        bars = [
            Bar(f"{case} ({sum(by[PEOPLE].values()):,} items)", rater, counts)
            for case, by in by_case.items()
            for rater, counts in by.items()
            if sum(counts.values())
        ]
        label = criterion.label or criterion.name
        chart = class_bars(f"cases_{criterion.name}", label, criterion, levels, bars)
        if chart:
            charts.append(chart)
    return charts


def _levels(rows: pd.DataFrame) -> list[str]:
    """The levels in the order of the scale, then what is no level."""
    names = list(dict.fromkeys(rows["level"]))
    return [*(level for level in names if not level.startswith("(")), *(level for level in names if level[0] == "(")]


def prediction_table(run: Run) -> TableView:
    """How much more or less often than the people a judge gives each class, by agreement case, over all languages."""
    rows = []
    widest = max(
        (
            len([level for level in by[PEOPLE] if level[0] != "("])
            for c in run.audited
            for by in _by_case(run, c.name).values()
        ),
        default=0,
    )
    for criterion in run.audited:
        for case, by in _by_case(run, criterion.name).items():
            people = by[PEOPLE]
            levels = [level for level in people if level[0] != "("]
            for judge, counts in by.items():
                if judge == PEOPLE or not sum(counts.get(level, 0) for level in levels):
                    continue
                cells = [_over(level, people, counts, levels) for level in levels]
                cells += [Cell("")] * (widest - len(cells))
                rows.append((Cell(criterion.short), Cell(case), Cell(name(judge)), *cells))
    columns = ("", "case", "judge", *(f"class {place}" for place in range(1, widest + 1)))
    return TableView(
        "over_prediction",
        "Over- and under-prediction of each class, in percentage points",
        columns,
        tuple(rows),
        "class_distribution_overall",
        run.signature("class_distribution_overall"),
        heads=3,
        notes=(
            "Share of the class among the judge's answers minus its share among the people's aggregates; below it the "
            "two counts, judge and people. Unanswered items and items without an aggregate class are left out of both.",
        ),
    )


def _over(level: str, people: dict[str, int], judge: dict[str, int], levels: list[str]) -> Cell:
    of_people, of_judge = (sum(counts.get(one, 0) for one in levels) for counts in (people, judge))
    if not of_people or not of_judge:
        return Cell("–", "no aggregate class")
    mine, theirs = judge.get(level, 0), people.get(level, 0)
    points = 100 * (mine / of_judge - theirs / of_people)
    words = f"{points:+.0f}".replace("-", "−")
    return Cell(f"{level}: {'0' if words in ('+0', '−0') else words}", f"{count(mine)} to {count(theirs)}")
