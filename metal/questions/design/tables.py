"""How to spend a budget of labels best, and how many items and people each language needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.data.text import (
    UNDEFINED,
    count,
    figure,
    interval,
    known,
    name,
    percent,
    plural,
    share,
    spread,
    within,
)
from metal.questions.design.plans import SCORE
from metal.questions.design.run import Design, interval_of
from metal.questions.design.study import ALL, LABELLINGS
from metal.runs.columns import Row
from metal.show.charts.dots import MOST_POPULATIONS, Dot, Numbers, dots_chart, population_panels
from metal.show.charts.lines import ItemsCurve, design_curve
from metal.show.parts import places
from metal.show.view import Cell, Chart, Rows, TableView

LOOKS = {
    "unilabelling": (0, "unilabelling: one label each for many items"),
    "multilabelling": (1, "multilabelling: several labels each for few items"),
}
MEASURES = {
    LIKE_A_PERSON: ("share kept", "power"),
    INFORMATIVE: ("share kept", "power"),
    SCORE: ("score", "width"),
}
KEYS = {LIKE_A_PERSON: "as_good", INFORMATIVE: "informative", SCORE: "score"}
SCALES = {"as rated": "scale as rated", "binary": "binary"}


def designs(run: Design) -> dict[tuple[str, ...], dict[str, Row]]:
    """The rows of the designs with all raters together, by (criterion, language, scale,
    aggregation), then by labelling.
    """
    by_design: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in run.records("designs", population=ALL):
        key = (row["criterion"], row["language"], row["scale"], row["aggregation"])
        by_design.setdefault(key, {})[row["labelling"]] = row
    return by_design


def designs_table(run: Design) -> TableView:
    """A table with one row per cell and design: the score's mean and standard deviation for both
    ways of spending the labels.
    """
    rows: Rows = []
    for (criterion, language, scale, aggregation), by_labelling in designs(run).items():
        figures = (
            cell for labelling in LABELLINGS for cell in _mean_and_spread(by_labelling, labelling)
        )
        rows.append([run.where(criterion, language), scale, aggregation, *figures])
    return TableView.of(
        run,
        "designs",
        "Mean score and standard deviation at one budget of labels",
        ("", "scale", "put together", "one label", "sd", "several labels", "sd"),
        rows,
        heads=3,
        notes=(
            "Bold: the lower standard deviation. Below the mean, the central 95% of the rounds.",
            *_reasons(run.records("designs", population=ALL)),
        ),
    )


def _mean_and_spread(by_labelling: Mapping[str, Row], labelling: str) -> tuple[Cell, Cell]:
    """The mean with the central 95% of the rounds, and the standard deviation, which is bold if it
    is the lower one.
    """
    row = by_labelling[labelling]
    least = min(
        (other["sd"] for other in by_labelling.values() if known(other["sd"])), default=None
    )
    size = f"{count(row['items'])} items x {count(row['labels'])}" if known(row["items"]) else ""
    return (
        Cell(figure(row["mean"]), interval(row["low"], row["high"])),
        Cell(spread(row["sd"]), size, "strong" if known(row["sd"]) and row["sd"] == least else ""),
    )


def _reasons(rows: Sequence[Row]) -> list[str]:
    return [
        f"{UNDEFINED}: {reason}."
        for reason in dict.fromkeys(row["undefined"] for row in rows)
        if reason
    ]


def spread_chart(run: Design, criterion: str, language: str) -> Chart:
    """A chart of the standard deviation by design, as in Figure 3."""
    rows = run.records("designs", criterion=criterion, language=language, population=ALL)
    rows.sort(key=lambda row: (row["scale"] != "as rated", row["aggregation"] != "mean"))
    dots = [
        Dot(f"{row['scale']}, {row['aggregation']}", row["sd"], look=row["labelling"])
        for row in rows
    ]
    case = run.where(criterion, language)
    spreads = [f"{dot.label}, {dot.look} {spread(dot.value)}" for dot in dots]
    return dots_chart(
        f"sd_{run.key(criterion, language)}",
        f"Standard deviation by design: {case}",
        f"Standard deviation of the score over rounds, {within(case)}: {'; '.join(spreads)}.",
        dots,
        LOOKS,
        Numbers(
            "sd",
            label="design",
            between={"labels": lambda row: row.look},
            caption=f"Standard deviations: {case}",
            heads=2,
        ),
        finding=_least_spread(dots),
        form=spread,
    )


def _least_spread(dots: Sequence[Dot]) -> str:
    """Name the design whose score repeats best, and the one whose score repeats worst."""
    defined = sorted(
        (dot for dot in dots if known(dot.value)), key=lambda dot: float(dot.value or 0)
    )
    if len(defined) < 2:
        return ""
    best, worst = (
        f"{dot.label}, {dot.look} ({spread(dot.value)})" for dot in (defined[0], defined[-1])
    )
    return f"The score repeats best with {best}, worst with {worst}."


def population_chart(run: Design, criterion: str, language: str) -> Chart:
    """A chart of the score by population and design, as in Figure 2."""
    rows = run.records("designs", criterion=criterion, language=language)
    panels: dict[str, list[Row]] = {}
    for row in rows:
        panels.setdefault(f"{SCALES[row['scale']]}, {row['aggregation']}", []).append(row)
    case = run.where(criterion, language)
    key = f"populations_{run.key(criterion, language)}"
    populations = list(dict.fromkeys(row["population"] for row in rows))
    numbers = [
        (
            Cell(name(row["population"]), f"{count(row['people'])} people"),
            f"{row['scale']}, {row['aggregation']}",
            row["labelling"],
            figure(row["mean"]),
            interval(row["low"], row["high"]) or UNDEFINED,
        )
        for row in rows
        if row["population"] in populations[:MOST_POPULATIONS]
    ]
    columns = ("population", "design", "labels", "score", "95%")
    cut = len(populations) > MOST_POPULATIONS
    return Chart(
        key,
        f"Score by population of raters: {case}",
        f"Mean score with the central 95% of the rounds by population, {within(case)}, one panel"
        " per design; the numbers are in the table.",
        population_panels(panels, LOOKS),
        TableView.of(
            None, "", f"Scores by population: {case}", columns, numbers, name=key, heads=3
        ),
        (f"The first {MOST_POPULATIONS} of {len(populations)} populations.",) if cut else (),
        _range(rows),
    )


def _range(rows: Sequence[Row]) -> str:
    """A phrase on the range of the populations' scores."""
    scores = sorted((row for row in rows if known(row["mean"])), key=lambda row: row["mean"])
    ends = [
        f"{figure(row['mean'])} ({within(row['population'])})"
        for row in (*scores[:1], *scores[-1:])
    ]
    return f"Scores run from {ends[0]} to {ends[1]}." if scores else ""


def stability_table(run: Design) -> TableView:
    """A table of how far populations of raters differ, by cell, scale and labelling; labels are
    combined by their mean.
    """
    rows = run.records("populations", aggregation="mean")
    return TableView.of_figures(
        run,
        "populations",
        "Mean scores across populations of raters",
        rows,
        cells={"criterion": lambda row: run.where(row["criterion"], row["language"])},
        heads=3,
        notes=_reasons(rows),
    )


def raters_table(run: Design) -> TableView:
    """A table of standard deviations by people per item, with the number of labels held equal, and
    with the number of items.
    """
    records = run.records("raters")
    sizes = sorted({int(row["raters"]) for row in records})
    panels: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in records:
        key = (row["criterion"], row["language"], row["scale"], row["fixed"])
        panels.setdefault(key, {})[int(row["raters"])] = row
    rows: Rows = []
    for (criterion, language, scale, fixed), by_size in panels.items():
        kept = f"{fixed} in all" if fixed == "labels" else fixed
        rows.append(
            [
                run.where(criterion, language),
                scale,
                kept,
                *(_panel(by_size.get(size)) for size in sizes),
            ]
        )
    fewer = any(len(by_size) < len(sizes) for by_size in panels.values())
    return TableView.of(
        run,
        "raters",
        "Standard deviation by people per item",
        ("", "scale", "kept alike", *map(str, sizes)),
        rows,
        heads=3,
        notes=(f"{UNDEFINED}: items have fewer labels.",) if fewer else (),
    )


def _panel(row: Row | None) -> Cell:
    return Cell(spread(row["sd"]), f"{count(row['items'])} items") if row else Cell(UNDEFINED)


def asked_for(run: Design, question: str) -> str:
    """What a question asks for, with its target."""
    width, power = f"{run.settings['width']:g}", percent(run.settings["power"])
    return {
        LIKE_A_PERSON: f"A judge found like a person with a power of {power}",
        INFORMATIVE: f"A judge found informative or better with a power of {power}",
        SCORE: f"A generator's score within an interval narrower than {width}",
    }[question]


def _widest(rows: Sequence[Row]) -> list[Row]:
    """For each cell and number of people, only the generator that needs most."""
    best: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["criterion"], row["language"], row["raters"])
        if key not in best or (row["items_needed"] or -1) > (best[key]["items_needed"] or -1):
            best[key] = row
    return list(best.values())


def needs_table(run: Design, question: str) -> TableView:
    """A table with one row per cell, judge and number of people; for generators, only the one that
    needs most.
    """
    rows: Sequence[Row] = run.records("needs", question=question)
    rows = _widest(rows) if question == SCORE else rows
    cells: dict[str, list[str]] = {}
    for row in rows:
        if row["undefined"]:
            case = f"{run.where(row['criterion'], row['language'])}, {int(row['raters'])} per item"
            cells.setdefault(row["undefined"], []).append(case)
    value, now = MEASURES[question]
    form = share if question == SCORE else percent
    notes = [
        _how_sure(run, rows),
        "A row uses the items with at least this many people, so rows may use different items.",
        (
            "Hours and cost are for everything needed at the upper end, including what is rated "
            "already; the CSV has what is still to be collected."
        ),
    ]
    if question == SCORE:
        notes.append(
            "For each criterion and language, the generator that needs most is shown; the CSV has"
            " all."
        )
    notes += [f"{UNDEFINED}: {reason} ({places(cases)})." for reason, cases in cells.items()]
    return TableView.of_figures(
        run,
        "needs",
        asked_for(run, question),
        rows,
        cells={
            "criterion": lambda row: run.where(row["criterion"], row["language"]),
            "value": lambda row: (figure if question == SCORE else percent)(row["value"]),
            "items_needed": _needed,
            "now": lambda row: form(row["now"]),
            "at_needed": lambda row: form(row["at_needed"]),
        },
        titles={"value": value, "now": f"{now} now", "at_needed": f"{now} there"},
        without=[
            column for column in ("now", "at_needed") if not any(known(row[column]) for row in rows)
        ],
        name=f"needs_{KEYS[question]}",
        heads=2,
        notes=notes,
    )


def _how_sure(run: Design, rows: Sequence[Row]) -> str:
    """A note that explains what stands beside and below each number of items."""
    beside = "Items with ± the Monte Carlo error of the simulation."
    if not any(known(row["items_low"]) for row in rows):
        return (
            f"{beside} Below is the number of sources as a multiple of the existing ones; above 1"
            " the plan assumes more sources like these."
        )
    if not run.thorough:
        beside = "Items by a formula; `--thorough` simulates them."
    return (
        f"{beside} Below is an 80% interval: the existing sources were resampled, and the number"
        " computed for each resample."
    )


def _needed(row: Row) -> Cell:
    if not known(row["items_needed"]):
        return Cell(UNDEFINED, interval_of(row))
    if not known(row["items_error"]):
        return Cell(count(row["items_needed"]), interval_of(row))
    times = row["sources_needed"] / row["sources_now"]
    error = count(max(1, round(row["items_error"])))
    return Cell(f"{count(row['items_needed'])} ± {error}", interval_of(row) or f"x {times:.1f}")


def judges(run: Design, criterion: str, language: str) -> list[str]:
    """The judges of a cell, in the study's order."""
    rows = run.records("needs", criterion=criterion, language=language, question=LIKE_A_PERSON)
    return list(dict.fromkeys(row["who"] for row in rows))


def curve_chart(
    run: Design, question: str, criterion: str, language: str, who: str
) -> Chart | None:
    """A chart of power by items, one line per number of people; None if nothing was simulated."""
    of_curve = {"question": question, "criterion": criterion, "language": language, "who": who}
    points: dict[int, list[Row]] = {}
    for row in run.records("curves", **of_curve):
        points.setdefault(int(row["raters"]), []).append(row)
    if not points:
        return None
    needs = {int(row["raters"]): row for row in run.records("needs", **of_curve)}
    curves = [
        ItemsCurve(
            people,
            [(float(row["items"]), float(row["value"])) for row in rows],
            needs[people]["items_now"],
            needs[people]["items_needed"],
        )
        for people, rows in sorted(points.items())
    ]
    measure = MEASURES[question][1]
    form = share if question == SCORE else percent
    target = run.settings[measure]
    title = f"Power of {question} by items, {within(who)}: {run.where(criterion, language)}"
    needed = [
        f"{plural(curve.people, 'person', 'people')} per item: "
        + (f"{count(curve.needed)} items" if known(curve.needed) else "undefined")
        for curve in curves
    ]
    key = f"{measure}_{KEYS[question]}_{run.key(criterion, language, who)}"
    numbers = [
        (
            str(people),
            count(row["items"]),
            form(row["value"]),
            form(row["error"]),
            "beyond the data" if row["extrapolated"] else "",
        )
        for people, rows in sorted(points.items())
        for row in rows
    ]
    view = TableView.of(None, "", title, ("people", "items", measure, "±", ""), numbers, name=key)
    finding = f"Needed for {form(target)}: {'; '.join(needed)}."
    return Chart(
        key,
        title,
        f"{title}. {finding}",
        design_curve(curves, target, measure, form),
        view,
        finding=finding,
    )


def costs_table(run: Design) -> TableView:
    """A table of what each language needs for all criteria, judges and generators at once."""
    prices = run.settings["prices"]
    rows = run.records("costs")
    notes = [
        (
            "A task asks all criteria of an output, and all generators are rated on the same"
            " sources; so a language needs what its most demanding row needs."
        ),
        (
            "Items, hours and cost are for everything needed at the upper ends, including what is"
            " rated already."
        ),
        (
            f"Fee {percent(prices['fee'])} on top of the pay; {percent(prices['test_share'])} of"
            " the tasks are test questions."
        ),
    ]
    notes += (
        []
        if "pay" in prices
        else [f"{UNDEFINED} cost: the pay for a task was not given (`--pay`)."]
    )
    notes += (
        []
        if "seconds" in prices
        else [f"{UNDEFINED} hours: how long a task takes is not known (`--seconds`)."]
    )
    reasons = dict.fromkeys(
        row["undefined"] for row in rows if not known(row["tasks"]) and row["undefined"]
    )
    notes += [f"{UNDEFINED}: {reason}." for reason in reasons]

    def because(row: Row) -> Cell:
        criterion, apart, who = row["for"].partition(", ")
        return Cell(
            f"{run.criterion(criterion)}{apart}{name(who)}",
            row["undefined"] if known(row["tasks"]) else "",
        )

    title = "What a language needs for all of these"
    return TableView.of_figures(
        run, "costs", title, rows, heads=2, notes=notes, cells={"for": because}
    )
