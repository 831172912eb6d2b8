"""What a budget of labels is best spent on: GENIE's Figures 2 and 3."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, figure, interval, known, name, within
from metal.genie.design.study import ALL, LABELLINGS
from metal.runs.design_run import DesignRun
from metal.show.charts.intervals import Row, interval_dots
from metal.show.charts.labelling import MOST_POPULATIONS, DesignPanel, PopulationScore, population_panels
from metal.show.view import Cell, Chart, TableView

LOOKS = ("unilabelling: one label each for many items", "multilabelling: several labels each for few items")
SCALES = {"as rated": "scale as rated", "binary": "binary"}


def designs_table(run: DesignRun) -> TableView:
    """A cell and design a row: mean score and standard deviation of both ways to spend the labels."""
    rows = []
    by: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in run.records("designs", population=ALL):
        key = (row["criterion"], row["language"], row["scale"], row["aggregation"])
        by.setdefault(key, {})[row["labelling"]] = row
    reasons: dict[str, None] = {}
    for (criterion, language, scale, aggregation), found in by.items():
        cells = [Cell(run.where(criterion, language)), Cell(scale), Cell(aggregation)]
        for labelling in LABELLINGS:
            row = found[labelling]
            reasons |= dict.fromkeys([row["undefined"]] if row["undefined"] else [])
            size = f"{count(row['items'])} items x {count(row['labels'])}" if known(row["items"]) else ""
            cells += [
                Cell(figure(row["mean"]), interval(row["low"], row["high"])),
                Cell(spread(row["sd"]), size, "strong" if _lower(found, labelling) else ""),
            ]
        rows.append(tuple(cells))
    notes = ["Bold: the lower standard deviation. Below the mean, the central 95% of the rounds."]
    return TableView(
        "designs",
        "Mean score and standard deviation at one budget of labels",
        ("", "scale", "put together", "one label", "sd", "several labels", "sd"),
        tuple(rows),
        "designs",
        run.signature_of("designs"),
        heads=3,
        notes=(*notes, *(f"{UNDEFINED}: {reason}." for reason in reasons)),
    )


def _lower(found: dict[str, dict[str, Any]], labelling: str) -> bool:
    mine = found[labelling]["sd"]
    return known(mine) and all(not known(row["sd"]) or mine <= row["sd"] for row in found.values())


def spread(value: Any) -> str:
    """A standard deviation with four digits."""
    return f"{value:.4f}" if known(value) else UNDEFINED


def spread_chart(run: DesignRun, criterion: str, language: str) -> Chart:
    """Standard deviation by design, as in Figure 3."""
    rows = run.records("designs", criterion=criterion, language=language, population=ALL)
    order = sorted(rows, key=lambda row: (row["scale"] != "as rated", row["aggregation"] != "mean"))
    drawn = [
        Row(
            f"{row['scale']}, {row['aggregation']}",
            row["sd"] if known(row["sd"]) else float("nan"),
            look=row["labelling"],
        )
        for row in order
    ]
    looks: dict[str, tuple[int, str]] = {labelling: (place, LOOKS[place]) for place, labelling in enumerate(LABELLINGS)}
    where = run.where(criterion, language)
    told = [f"{row['scale']}, {row['aggregation']}, {row['labelling']} {spread(row['sd'])}" for row in order]
    numbers = TableView(
        f"sd_{run.key(criterion, language)}",
        f"Standard deviations: {where}",
        ("design", "labels", "sd"),
        tuple(
            (Cell(f"{row['scale']}, {row['aggregation']}"), Cell(row["labelling"]), Cell(spread(row["sd"])))
            for row in order
        ),
        heads=2,
    )
    return Chart(
        f"sd_{run.key(criterion, language)}",
        f"Standard deviation by design: {where}",
        f"Standard deviation of the score over rounds, {within(where)}: {'; '.join(told)}.",
        interval_dots(drawn, looks, form=spread),
        numbers,
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
    populations = list(dict.fromkeys(row["population"] for row in rows))
    shown = set(populations[:MOST_POPULATIONS])
    numbers = TableView(
        f"populations_{run.key(criterion, language)}",
        f"Scores by population: {where}",
        ("population", "design", "labels", "score", "95%"),
        tuple(
            (
                Cell(name(row["population"]), f"{count(row['people'])} people"),
                Cell(f"{row['scale']}, {row['aggregation']}"),
                Cell(row["labelling"]),
                Cell(figure(row["mean"])),
                Cell(interval(row["low"], row["high"])),
            )
            for row in rows
            if row["population"] in shown
        ),
        heads=3,
    )
    cut = len(populations) > MOST_POPULATIONS
    notes = (f"The first {MOST_POPULATIONS} of {len(populations)} populations.",) if cut else ()
    return Chart(
        f"populations_{run.key(criterion, language)}",
        f"Score by population of raters: {where}",
        f"Mean score with the central 95% of the rounds by population, {within(where)}, a panel a design; "
        "the numbers are in the table.",
        population_panels([DesignPanel(title, dots) for title, dots in panels.items()], LOOKS),
        numbers,
        notes,
    )


def stability_table(run: DesignRun) -> TableView:
    """How far populations of raters differ, by cell, scale and labelling; their labels put together by the mean."""
    rows = run.records("populations", aggregation="mean")
    reasons = dict.fromkeys(row["undefined"] for row in rows if row["undefined"])
    return TableView(
        "populations",
        "Mean scores across populations of raters",
        ("", "scale", "labels", "populations", "sd", "lowest", "highest"),
        tuple(
            (
                Cell(run.where(row["criterion"], row["language"])),
                Cell(row["scale"]),
                Cell(row["labelling"]),
                Cell(count(row["populations"])),
                Cell(f"{row['sd_between']:.3f}" if known(row["sd_between"]) else UNDEFINED),
                Cell(figure(row["lowest"])),
                Cell(figure(row["highest"])),
            )
            for row in rows
        ),
        "populations",
        run.signature_of("populations"),
        heads=3,
        notes=tuple(f"{UNDEFINED}: {reason}." for reason in reasons),
    )


def raters_table(run: DesignRun) -> TableView:
    """Standard deviation by people an item, with as many labels in all or as many items."""
    rows = run.records("raters")
    sizes = sorted({int(row["raters"]) for row in rows})
    by: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    for row in rows:
        key = (row["criterion"], row["language"], row["scale"], row["fixed"])
        by.setdefault(key, {})[int(row["raters"])] = row
    return TableView(
        "raters",
        "Standard deviation by people an item",
        ("", "scale", "kept alike", *(f"{size}" for size in sizes)),
        tuple(
            (
                Cell(run.where(criterion, language)),
                Cell(scale),
                Cell(f"{fixed} in all" if fixed == "labels" else fixed),
                *(
                    Cell(spread(found[size]["sd"]), f"{count(found[size]['items'])} items")
                    if size in found
                    else Cell(UNDEFINED)
                    for size in sizes
                ),
            )
            for (criterion, language, scale, fixed), found in by.items()
        ),
        "raters",
        run.signature_of("raters"),
        heads=3,
        notes=(f"{UNDEFINED}: items have fewer labels.",)
        if any(len(found) < len(sizes) for found in by.values())
        else (),
    )
