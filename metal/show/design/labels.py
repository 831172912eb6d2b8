"""What a budget of labels is best spent on: GENIE's Figures 2 and 3."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, figure, interval, known, name, spread, within
from metal.genie.design.study import ALL, LABELLINGS
from metal.runs.design_run import DesignRun
from metal.show.charts.intervals import Dot
from metal.show.charts.labelling import MOST_POPULATIONS, DesignPanel, PopulationScore, population_panels
from metal.show.dots import dots_chart
from metal.show.view import Cell, Chart, TableView

LOOKS = ("unilabelling: one label each for many items", "multilabelling: several labels each for few items")
SCALES = {"as rated": "scale as rated", "binary": "binary"}


def designs_table(run: DesignRun) -> TableView:
    """One row per cell and design: mean score and standard deviation of both ways to spend the labels."""
    designs: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    records = run.records("designs", population=ALL)
    for row in records:
        key = (row["criterion"], row["language"], row["scale"], row["aggregation"])
        designs.setdefault(key, {})[row["labelling"]] = row
    rows = [
        (
            Cell(run.where(criterion, language)),
            Cell(scale),
            Cell(aggregation),
            *(cell for labelling in LABELLINGS for cell in _mean_and_spread(by_labelling, labelling)),
        )
        for (criterion, language, scale, aggregation), by_labelling in designs.items()
    ]
    return TableView.of(
        run,
        "designs",
        "Mean score and standard deviation at one budget of labels",
        ("", "scale", "put together", "one label", "sd", "several labels", "sd"),
        rows,
        heads=3,
        notes=(
            "Bold: the lower standard deviation. Below the mean, the central 95% of the rounds.",
            *_reasons(records),
        ),
    )


def _mean_and_spread(by_labelling: dict[str, dict[str, Any]], labelling: str) -> tuple[Cell, Cell]:
    """Mean with the central 95% of the rounds; standard deviation, bold where it is the lower one."""
    row = by_labelling[labelling]
    least = min((other["sd"] for other in by_labelling.values() if known(other["sd"])), default=None)
    size = f"{count(row['items'])} items x {count(row['labels'])}" if known(row["items"]) else ""
    return (
        Cell(figure(row["mean"]), interval(row["low"], row["high"])),
        Cell(spread(row["sd"]), size, "strong" if known(row["sd"]) and row["sd"] == least else ""),
    )


def _reasons(rows: list[dict[str, Any]]) -> list[str]:
    return [f"{UNDEFINED}: {reason}." for reason in dict.fromkeys(row["undefined"] for row in rows) if reason]


def spread_chart(run: DesignRun, criterion: str, language: str) -> Chart:
    """Standard deviation by design, as in Figure 3."""
    rows = run.records("designs", criterion=criterion, language=language, population=ALL)
    rows.sort(key=lambda row: (row["scale"] != "as rated", row["aggregation"] != "mean"))
    dots = [
        Dot(
            f"{row['scale']}, {row['aggregation']}",
            row["sd"] if known(row["sd"]) else float("nan"),
            look=row["labelling"],
        )
        for row in rows
    ]
    where = run.where(criterion, language)
    spreads = [f"{dot.label}, {dot.look} {spread(dot.value)}" for dot in dots]
    return dots_chart(
        f"sd_{run.key(criterion, language)}",
        f"Standard deviation by design: {where}",
        f"Standard deviation of the score over rounds, {within(where)}: {'; '.join(spreads)}.",
        dots,
        {labelling: (place, LOOKS[place]) for place, labelling in enumerate(LABELLINGS)},
        label="design",
        value="sd",
        between={"labels": lambda row: row.look},
        caption=f"Standard deviations: {where}",
        heads=2,
        form=spread,
    )


def population_chart(run: DesignRun, criterion: str, language: str) -> Chart:
    """Score by population and design, as in Figure 2."""
    rows = run.records("designs", criterion=criterion, language=language)
    panels: dict[str, list[PopulationScore]] = {}
    for row in rows:
        dots = panels.setdefault(f"{SCALES[row['scale']]}, {row['aggregation']}", [])
        value, low, high = (row[key] if known(row[key]) else float("nan") for key in ("mean", "low", "high"))
        dots.append(PopulationScore(row["population"], LABELLINGS.index(row["labelling"]), value, low, high))
    where = run.where(criterion, language)
    key = f"populations_{run.key(criterion, language)}"
    populations = list(dict.fromkeys(row["population"] for row in rows))
    shown = set(populations[:MOST_POPULATIONS])
    numbers = tuple(
        (
            Cell(name(row["population"]), f"{count(row['people'])} people"),
            Cell(f"{row['scale']}, {row['aggregation']}"),
            Cell(row["labelling"]),
            Cell(figure(row["mean"])),
            Cell(interval(row["low"], row["high"])),
        )
        for row in rows
        if row["population"] in shown
    )
    columns = ("population", "design", "labels", "score", "95%")
    cut = len(populations) > MOST_POPULATIONS
    return Chart(
        key,
        f"Score by population of raters: {where}",
        f"Mean score with the central 95% of the rounds by population, {within(where)}, a panel a design; "
        "the numbers are in the table.",
        population_panels([DesignPanel(title, dots) for title, dots in panels.items()], LOOKS),
        TableView(key, f"Scores by population: {where}", columns, numbers, heads=3),
        (f"The first {MOST_POPULATIONS} of {len(populations)} populations.",) if cut else (),
    )


def stability_table(run: DesignRun) -> TableView:
    """How far populations of raters differ, by cell, scale and labelling; their labels put together by the mean."""
    rows = run.records("populations", aggregation="mean")
    return TableView.of_figures(
        run,
        "populations",
        "Mean scores across populations of raters",
        rows,
        cells={"criterion": lambda row: Cell(run.where(row["criterion"], row["language"]))},
        heads=3,
        notes=_reasons(rows),
    )


def raters_table(run: DesignRun) -> TableView:
    """Standard deviation by people an item, with as many labels in all or as many items."""
    records = run.records("raters")
    sizes = sorted({int(row["raters"]) for row in records})
    panels: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    for row in records:
        key = (row["criterion"], row["language"], row["scale"], row["fixed"])
        panels.setdefault(key, {})[int(row["raters"])] = row
    rows = [
        (
            Cell(run.where(criterion, language)),
            Cell(scale),
            Cell(f"{fixed} in all" if fixed == "labels" else fixed),
            *(_panel(by_size.get(size)) for size in sizes),
        )
        for (criterion, language, scale, fixed), by_size in panels.items()
    ]
    fewer = any(len(by_size) < len(sizes) for by_size in panels.values())
    return TableView.of(
        run,
        "raters",
        "Standard deviation by people an item",
        ("", "scale", "kept alike", *map(str, sizes)),
        rows,
        heads=3,
        notes=(f"{UNDEFINED}: items have fewer labels.",) if fewer else (),
    )


def _panel(row: dict[str, Any] | None) -> Cell:
    return Cell(spread(row["sd"]), f"{count(row['items'])} items") if row else Cell(UNDEFINED)
