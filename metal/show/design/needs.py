"""How many items and people each language needs, the curves that say so, and what it costs."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, figure, known, percent, plural, share, within
from metal.genie.design.planning import F1, SCORE, TEST
from metal.runs.columns import Row
from metal.runs.design_run import DesignRun
from metal.show.charts.design_curve import ItemsCurve, design_curve
from metal.show.notes import places
from metal.show.view import Cell, Chart, TableView

MEASURES = {F1: ("F1", "width"), SCORE: ("score", "width"), TEST: ("people beaten", "power")}
KEYS = {F1: "needs_f1", SCORE: "needs_score", TEST: "needs_test"}


def asked_for(run: DesignRun, question: str) -> str:
    """What a question asks, with its target."""
    width, power = f"{run.settings['width']:g}", percent(run.settings["power"])
    return {
        F1: f"A judge's F1 within an interval narrower than {width}",
        SCORE: f"A generator's score within an interval narrower than {width}",
        TEST: f"The alternative annotator test with a power of {power}",
    }[question]


def _widest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of generators, for each cell and number of people the one that needs most."""
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = (row["criterion"], row["language"], row["raters"])
        if key not in best or (row["items_needed"] or -1) > (best[key]["items_needed"] or -1):
            best[key] = row
    return list(best.values())


def needs_table(run: DesignRun, question: str) -> TableView:
    """A cell, judge and number of people a row; of generators the one that needs most."""
    rows = run.records("needs", question=question)
    rows = _widest(rows) if question == SCORE else rows
    cells: dict[str, list[str]] = {}
    for row in rows:
        if row["undefined"]:
            where = f"{row['language']} {run.criterion(row['criterion'])}, {int(row['raters'])} an item"
            cells.setdefault(row["undefined"], []).append(where)
    value, now = MEASURES[question]
    notes = [
        "Items with ± the Monte Carlo error of the simulation. Below, how many times as many sources as there are: "
        "beyond 1 it is as if there were more like these.",
        "A row rests on the items that have as many people or more; rows need not rest on the same ones.",
    ]
    if question == SCORE:
        notes.append("Of each criterion and language the generator that needs most; the CSV has all.")
    notes += [f"{UNDEFINED}: {reason} ({places(where)})." for reason, where in cells.items()]
    return TableView.of_figures(
        run,
        "needs",
        asked_for(run, question),
        rows,
        cells={"criterion": lambda row: Cell(run.where(row["criterion"], row["language"])), "items_needed": _needed},
        titles={"value": value, "now": f"{now} now", "at_needed": f"{now} there"},
        name=KEYS[question],
        heads=2,
        notes=notes,
    )


def _needed(row: Row) -> Cell:
    if not known(row["items_needed"]):
        return Cell(UNDEFINED)
    times = row["sources_needed"] / row["sources_now"]
    return Cell(f"{count(row['items_needed'])} ± {count(max(1, round(row['items_error'])))}", f"x {times:.1f}")


def judges(run: DesignRun, criterion: str, language: str) -> list[str]:
    """The judges of a cell, in the study's order."""
    rows = run.records("needs", criterion=criterion, language=language, question=F1)
    return list(dict.fromkeys(row["who"] for row in rows))


def curve_chart(run: DesignRun, question: str, criterion: str, language: str, who: str) -> Chart | None:
    """Width or power by items, a line a number of people; None where nothing was simulated."""
    where = {"question": question, "criterion": criterion, "language": language, "who": who}
    points: dict[int, list[dict[str, Any]]] = {}
    for row in run.records("curves", **where):
        points.setdefault(int(row["raters"]), []).append(row)
    if not points:
        return None
    needs = {int(row["raters"]): row for row in run.records("needs", **where)}
    curves = [
        ItemsCurve(
            people,
            [(float(row["items"]), float(row["value"])) for row in rows],
            float(needs[people]["items_now"]),
            float(needs[people]["items_needed"]) if known(needs[people]["items_needed"]) else float("nan"),
        )
        for people, rows in sorted(points.items())
    ]
    target = run.settings["power" if question == TEST else "width"]
    measure = MEASURES[question][1]
    title = f"{measure.capitalize()} by items, {within(who)}: {run.where(criterion, language)}"
    needed = [
        f"{plural(curve.people, 'person', 'people')} an item: "
        + (f"{count(curve.needed)} items" if known(curve.needed) else "undefined")
        for curve in curves
    ]
    key = f"{measure}_{run.key(criterion, language, who)}"
    numbers = tuple(
        (
            Cell(str(people)),
            Cell(count(row["items"])),
            Cell(share(row["value"])),
            Cell(share(row["error"])),
            Cell("beyond the data" if row["extrapolated"] else ""),
        )
        for people, rows in sorted(points.items())
        for row in rows
    )
    view = TableView(key, title, ("people", "items", measure, "±", ""), numbers)
    alt = f"{title}. Needed for {figure(target)}: {'; '.join(needed)}."
    return Chart(key, title, alt, design_curve(curves, target, measure), view)


def costs_table(run: DesignRun) -> TableView:
    """What each language needs for all criteria, judges and generators at once."""
    prices = run.settings["prices"]
    rows = run.records("costs")
    notes = [
        "A task asks all criteria of an output, and all generators are rated on the same sources; so a language needs "
        "what its most demanding row needs.",
        f"Fee {percent(prices['fee'])} on top of the pay; {percent(prices['test_share'])} of the tasks are test "
        "questions.",
    ]
    notes += [] if "pay" in prices else [f"{UNDEFINED} USD: the pay for a task was not given (--pay)."]
    notes += [] if "seconds" in prices else [f"{UNDEFINED} hours: how long a task takes is not known (--seconds)."]
    reasons = dict.fromkeys(row["undefined"] for row in rows if not known(row["tasks"]) and row["undefined"])
    notes += [f"{UNDEFINED}: {reason}." for reason in reasons]
    return TableView.of_figures(run, "costs", "What a language needs for all of it", rows, heads=2, notes=notes)
