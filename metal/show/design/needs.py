"""How many items and people each language needs, the curves that say so, and what it costs."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, figure, known, name, percent, plural, within
from metal.genie.design.planning import F1, SCORE, TEST
from metal.runs.design_run import DesignRun, spoken
from metal.show.charts.design_curve import ItemsCurve, design_curve
from metal.show.notes import places
from metal.show.view import Cell, Chart, TableView

MEASURES = {F1: ("F1", "width"), SCORE: ("score", "width"), TEST: ("people beaten", "power")}
KEYS = {F1: "needs_f1", SCORE: "needs_score", TEST: "needs_test"}


def asked_for(run: DesignRun, question: str) -> str:
    """What a question asks, with its target."""
    width, power = figure_of(run.settings["width"]), percent(run.settings["power"])
    return {
        F1: f"A judge's F1 within an interval narrower than {width}",
        SCORE: f"A generator's score within an interval narrower than {width}",
        TEST: f"The alternative annotator test with a power of {power}",
    }[question]


def figure_of(value: float) -> str:
    """A width as it was given."""
    return f"{value:g}"


def widest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
    shown = widest(rows) if question == SCORE else rows
    reasons: dict[str, list[str]] = {}
    for row in shown:
        if row["undefined"]:
            where = f"{row['language']} {run.criterion(row['criterion'])}, {int(row['raters'])} an item"
            reasons.setdefault(row["undefined"], []).append(where)
    value, now = MEASURES[question]
    notes = [
        "Items with ± the Monte Carlo error of the simulation. Below, how many times as many sources as there are: "
        "beyond 1 it is as if there were more like these.",
        "A row rests on the items that have as many people or more; rows need not rest on the same ones.",
        *(
            ["Of each criterion and language the generator that needs most; the CSV has all."]
            if question == SCORE
            else []
        ),
        *(f"{UNDEFINED}: {reason} ({places(where)})." for reason, where in reasons.items()),
    ]
    return TableView(
        KEYS[question],
        asked_for(run, question),
        ("", "who", "people an item", value, "items now", f"{now} now", "items needed", f"{now} there", "USD", "hours"),
        tuple(_row(run, row) for row in shown),
        "needs",
        run.signature_of("needs"),
        heads=2,
        notes=tuple(notes),
    )


def _row(run: DesignRun, row: dict[str, Any]) -> tuple[Cell, ...]:
    needed = Cell(UNDEFINED)
    if known(row["items_needed"]):
        times = row["sources_needed"] / row["sources_now"]
        needed = Cell(f"{count(row['items_needed'])} ± {count(max(1, round(row['items_error'])))}", f"x {times:.1f}")
    return (
        Cell(run.where(row["criterion"], row["language"])),
        Cell(name(row["who"])),
        Cell(count(row["raters"])),
        Cell(figure(row["value"])),
        Cell(count(row["items_now"]), plural(int(row["sources_now"]), "source")),
        Cell(three(row["now"])),
        needed,
        Cell(three(row["at_needed"])),
        Cell(whole(row["usd"])),
        Cell(whole(row["hours"])),
    )


def whole(value: Any) -> str:
    """Money or hours, rounded."""
    return count(round(value)) if known(value) else UNDEFINED


def three(value: Any) -> str:
    """A width or power with three digits."""
    return f"{value:.3f}" if known(value) else UNDEFINED


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
    told = [
        f"{plural(curve.people, 'person', 'people')} an item: "
        + (f"{count(curve.needed)} items" if known(curve.needed) else "undefined")
        for curve in curves
    ]
    key = f"{measure}_{run.key(criterion, language, who)}"
    numbers = TableView(
        key,
        title,
        ("people", "items", measure, "±", ""),
        tuple(
            (
                Cell(str(people)),
                Cell(count(row["items"])),
                Cell(three(row["value"])),
                Cell(three(row["error"])),
                Cell("beyond the data" if row["extrapolated"] else ""),
            )
            for people, rows in sorted(points.items())
            for row in rows
        ),
    )
    alt = f"{title}. Needed for {figure(target)}: {'; '.join(told)}."
    return Chart(key, title, alt, design_curve(curves, target, measure), numbers)


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
    return TableView(
        "costs",
        "What a language needs for all of it",
        ("", "for", "people an item", "items", "tasks", "of them test questions", "USD", "hours", "because of"),
        tuple(
            (
                Cell(spoken(row["language"])),
                Cell(row["question"]),
                Cell(count(row["raters"])),
                *(Cell(whole(row[key])) for key in ("items_needed", "tasks", "test_questions", "usd", "hours")),
                Cell(name(row["for"]), row["undefined"] if known(row["tasks"]) else ""),
            )
            for row in rows
        ),
        "costs",
        run.signature_of("costs"),
        heads=2,
        notes=(*notes, *(f"{UNDEFINED}: {reason}." for reason in reasons)),
    )
