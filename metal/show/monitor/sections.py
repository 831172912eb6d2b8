"""The sections of the page about people as raters: test questions, colleagues, what leaving people out changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from metal.data.languages import language_name
from metal.data.text import UNDEFINED, count, figure, known, name, plural, signed, slug, within
from metal.genie.behaviour import ALL_CRITERIA
from metal.genie.gold_questions import SIDES
from metal.genie.noisy import THRESHOLD
from metal.runs.columns import Row
from metal.runs.monitor_run import MonitorRun
from metal.show.charts.dots import Dot, Mark
from metal.show.charts.lines import ItemsCurve, design_curve
from metal.show.parts import dots_chart, exclusions_table
from metal.show.view import Cell, Chart, Section, TableView

TESTS_LOOKS = {"fine": (0, "not flagged"), "noisy": (5, "noisy"), "judge": (1, "LLM judge, not flagged")}
MOST_QUESTIONS = 30


def examined_section(run: MonitorRun) -> Section | None:
    """Accuracy of each rater where they did worst, and who is noisy."""
    if not run.examined:
        return None
    words = (
        "Each rater by the task (language, criterion, side) that speaks most against them: share right with 95% "
        f"interval. Left of the line at {THRESHOLD:g} somebody is wrong too often; noisy is who almost surely is.",
    )
    return Section("tests", "Test questions", words, (_tests_chart(run),), (raters_table(run),), (_cells(run),))


def _tests_chart(run: MonitorRun) -> Chart:
    examined = [row for row in run.examined if known(row["share_right"])]
    rows = [Dot(row["rater"], row["share_right"], row["share_low"], row["share_high"], _look(row)) for row in examined]
    weakest = {row["rater"]: row["weakest"] for row in examined}
    noisy = sum(bool(row["noisy"]) for row in examined)
    return dots_chart(
        "share_right",
        "Test questions right, where it speaks most against them",
        f"Dots with intervals for {plural(len(rows), 'rater')}: {noisy} noisy.",
        rows,
        TESTS_LOOKS,
        value="share right",
        between={"task": lambda row: name(weakest[row.label])},
        caption="Share right, as drawn",
        heads=2,
        source="raters",
        marks=(Mark(THRESHOLD, f"accuracy {THRESHOLD:g}"),),
    )


def _look(row: dict[str, Any]) -> str:
    return "noisy" if row["noisy"] else "fine" if row["kind"] == "human" else "judge"


def _right(side: str) -> Callable[[Row], Cell]:
    """How many of the answers to the questions of a side are right."""

    def cell(row: Row) -> Cell:
        right, asked = row[f"{side}_right"], row[f"{side}_asked"]
        return Cell(f"{count(right)} of {count(asked)}" if asked else UNDEFINED)

    return cell


RIGHT = {f"{side}_right": _right(side) for side in SIDES}


def raters_table(run: MonitorRun, without: Iterable[str] = (), most: int | None = None) -> TableView:
    """Everybody who was asked, noisiest first. without: columns left out. most: rows."""
    cells = {**RIGHT, "weakest": lambda row: Cell(name(row["weakest"]) if known(row["weakest"]) else UNDEFINED)}
    title = "Answers to test questions"
    return TableView.of_figures(
        run, "raters", title, run.examined, cells=cells, without=without, name="examined", most=most
    )


def _cells(run: MonitorRun) -> TableView:
    cells = {**RIGHT, "criterion": lambda row: Cell(run.short(row["criterion"]))}
    return TableView.of_figures(
        run, "workers", "By language and criterion", run.records("workers"), cells=cells, heads=3
    )


def question_section(run: MonitorRun) -> Section | None:
    """The questions that were answered wrong most often: their golds may be at fault."""
    asked = [row for row in run.records("questions") if row["asked"]]
    if not asked:
        return None
    asked.sort(key=lambda row: (row["right"] / row["asked"], -row["asked"], row["question"]))
    wrong = [row for row in asked if row["right"] < row["asked"]]
    nobody = sum(row["right"] == 0 and row["asked"] > 1 for row in asked)
    words = [f"{plural(len(asked), 'question')} by criterion answered, {len(wrong):,} of them wrong by somebody."]
    if nobody:
        words.append(f"{nobody:,} nobody got right: look at these golds before at the people.")
    rows = (
        (
            Cell(within(row["source"]), f"gold of {within(row['gold_of'])}" if row["side"] != SIDES[0] else ""),
            Cell(row["language"]),
            Cell(row["side"]),
            Cell(run.short(row["criterion"])),
            Cell(f"{count(row['right'])} of {count(row['asked'])}"),
        )
        for row in wrong
    )
    columns = ("source", "language", "side", "criterion", "right")
    title = "Questions answered wrong most often"
    table = TableView.of(run, "questions", title, columns, rows, heads=4, most=MOST_QUESTIONS)
    return Section("questions", "Questions", tuple(words), (), (table,) if wrong else ())


COLLEAGUES_LOOKS = {"alike": (0, "as the others"), "out": (5, "stands out")}


def beside_section(run: MonitorRun) -> Section | None:
    """Who stands out and why; agreement with colleagues; severity; competence."""
    rows = run.records("behaviour")
    if not rows:
        return None
    overall = [row for row in rows if row["criterion"] == ALL_CRITERIA]
    words = ["Each person beside the colleagues who rated the same outputs, so that hard outputs condemn nobody."]
    tables = [_reasons(run)] if run.standing_out else []
    if not run.standing_out:
        words.append("Nobody stands out.")
    charts = tuple(chart for chart in (_colleagues_chart(overall),) if chart)
    tables.append(_colleagues_table(run, overall, "behaviour", "All criteria together"))
    if apart := [row for row in overall if known(row["not_compared"]) and row["not_compared"]]:
        tables.append(_apart(apart))
    each = [row for row in rows if row["criterion"] != ALL_CRITERIA]
    further = (_colleagues_table(run, each, "behaviour_by_criterion", "By criterion"),)
    return Section("beside", "People beside each other", tuple(words), charts, tuple(tables), further)


def _reasons(run: MonitorRun) -> TableView:
    rows = tuple((Cell(name(rater)), Cell(line)) for rater, lines in run.standing_out.items() for line in lines)
    return TableView("standing_out", "Who stands out, and why", ("rater", "why"), rows, "behaviour", heads=2)


def _apart(rows: list[dict[str, Any]]) -> TableView:
    body = tuple((Cell(name(row["rater"])), Cell(name(row["language"])), Cell(row["not_compared"])) for row in rows)
    return TableView("not_compared", "Who cannot be compared", ("rater", "language", "why"), body, "behaviour", heads=3)


def _colleagues_chart(rows: list[dict[str, Any]]) -> Chart | None:
    compared = [row for row in rows if known(row["agreement_difference"])]
    if not compared:
        return None
    several = len({row["language"] for row in compared}) > 1
    dots = [
        Dot(
            f"{row['rater']} {row['language']}" if several else row["rater"],
            row["agreement_difference"],
            row.get("agreement_difference_low", float("nan")),
            row.get("agreement_difference_high", float("nan")),
            "out" if row["stands_out"] else "alike",
        )
        for row in sorted(compared, key=lambda row: float(row["agreement_difference"]))
    ]
    out = sum(dot.look == "out" for dot in dots)
    return dots_chart(
        "agreement_difference",
        "Agreement with colleagues, against theirs among themselves",
        f"Dots with intervals for {plural(len(dots), 'person', 'people')}; {out} stand out for some reason.",
        dots,
        COLLEAGUES_LOOKS,
        value="difference",
        caption="As drawn",
        source="behaviour",
        sides=("agrees less", "agrees more"),
        form=signed,
    )


def _colleagues_table(run: MonitorRun, rows: list[dict[str, Any]], key: str, title: str) -> TableView:
    cells = {"criterion": lambda row: Cell(run.short(row["criterion"]))}
    return TableView.of_figures(run, "behaviour", title, rows, cells=cells, name=key, heads=3)


def agreement_section(run: MonitorRun) -> Section | None:
    """Agreement of the people, with all of them and without the noisy ones."""
    records = run.records("agreement")
    if not records:
        return None
    columns = [column for column in run.columns("agreement") if column.shown]
    after = {(row["language"], row["criterion"]): row for row in records if row["without_noisy"]}
    rows = []
    for row in records:
        if row["without_noisy"]:
            continue
        left = after.get((row["language"], row["criterion"]))
        cells = [Cell(row["language"]), Cell(run.short(row["criterion"])), Cell(count(row["people"]))]
        cells.append(Cell(count(row["items"]), f"then {count(left['items'])}" if left else ""))
        cells += [Cell(column.text(row), f"then {column.text(left)}" if left else "") for column in columns]
        rows.append(cells)
    words = ("Below each figure, what it is without noisy people.",) if after else ()
    heads = ("language", "", "people", "outputs", *(column.title for column in columns))
    table = TableView.of(run, "agreement", "Agreement of the people", heads, rows, heads=2)
    return Section("agreement", "Agreement", words, (), (table,))


def exclusion_section(run: MonitorRun) -> Section | None:
    """Whom --exclude-noisy leaves out, and how many ratings that are."""
    table = exclusions_table(run)
    if not table:
        return None
    words = (
        "These ratings are still in the dataset. --exclude-noisy of audit, billboard, leaderboard, design and others "
        "leaves them out, counts them and names the people.",
    )
    return Section("exclusions", "Exclusions", words, (), (table,))


def history_section(run: MonitorRun) -> Section | None:
    """How many ratings everybody had after each import, and how they stood on the test questions."""
    records = run.records("rounds")
    if not records:
        return None
    rounds = dict.fromkeys((row["round"], row["at"]) for row in records)
    by_round = {(row["round"], row["rater"]): row for row in records}
    rows = [
        (Cell(name(rater)), *(_standing(by_round.get((number, rater))) for number, _ in rounds))
        for rater in dict.fromkeys(row["rater"] for row in records)
    ]
    columns = ("rater", *(f"{number}: {str(at)[:16].replace('T', ' ')}" for number, at in rounds))
    table = TableView.of(run, "rounds", "Ratings after each import", columns, rows)
    words = ("What each import brought, added up; times are UTC. annotation/answers.jsonl has every answer.",)
    return Section("history", "History", words, (), (table,))


def _standing(row: dict[str, Any] | None) -> Cell:
    """A rater's ratings after an import, and how many test answers were right."""
    if row is None:
        return Cell(UNDEFINED)
    right, asked = (sum(row[f"{side}_{what}"] for side in SIDES) for what in ("right", "asked"))
    return Cell(count(row["ratings"]), f"{count(right)} of {count(asked)} right" if asked else "")


TARGET = 0.05
MOST_CHARTS = 6
SIZES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the outputs there are
WIDTH = 2 * 1.96  # of a 95% interval, in standard deviations


def design_section(run: MonitorRun) -> Section | None:
    """Width of the interval of people's mean score, by outputs and people an output."""
    rows = [row for row in run.records("panels") if known(row["sd"]) and row["sd"] > 0]
    if not rows:
        return None
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["language"], row["criterion"]), []).append(row)
    words = [
        f"Width of the 95% interval of a mean score, in shares of the scale; the line is {TARGET:g}. Twice the outputs "
        "help more than twice the people on each.",
        "metal design asks the same of a judge's F1 and of the alternative annotator test, with cost and hours.",
    ]
    if len(cells) > MOST_CHARTS:
        words.append(f"Drawn are the first {MOST_CHARTS} of {len(cells)} languages and criteria; the table has all.")
    charts = tuple(_design_chart(run, *cell, of_cell) for cell, of_cell in list(cells.items())[:MOST_CHARTS])
    return Section("design", "How many are needed", tuple(words), charts, (_design_table(run, cells),))


def _needed(row: dict[str, Any]) -> int:
    """Outputs that make the interval as narrow as TARGET: its width falls with the root of their number."""
    return math.ceil(float(row["items"]) * (WIDTH * float(row["sd"]) / TARGET) ** 2)


def _design_chart(run: MonitorRun, language: str, criterion: str, rows: list[dict[str, Any]]) -> Chart:
    curves = [
        ItemsCurve(
            int(row["raters"]),
            [(row["items"] * size, WIDTH * row["sd"] / math.sqrt(size)) for size in SIZES if row["items"] * size >= 2],
            float(row["items"]),
            float(_needed(row)),
        )
        for row in rows
    ]
    title = f"{run.short(criterion)}, {language_name(language)}"
    numbers = TableView(
        f"design_{slug(criterion)}_{slug(language)}_numbers",
        title,
        ("people an output", "width now", f"outputs for {TARGET:g}"),
        tuple((Cell(count(row["raters"])), Cell(figure(WIDTH * row["sd"])), Cell(count(_needed(row)))) for row in rows),
        "panels",
    )
    least = min(rows, key=_needed)
    alt = (
        f"Falling lines, one a number of people an output: with {plural(int(least['raters']), 'person', 'people')} "
        f"{count(_needed(least))} outputs make the interval {TARGET:g} wide."
    )
    picture = design_curve(curves, TARGET, "width")
    return Chart(f"design_{slug(criterion)}_{slug(language)}", title, alt, picture, numbers)


def _design_table(run: MonitorRun, cells: dict[tuple[str, str], list[dict[str, Any]]]) -> TableView:
    sizes = sorted({int(row["raters"]) for rows in cells.values() for row in rows})
    body = []
    for (language, criterion), rows in cells.items():
        by_size = {int(row["raters"]): row for row in rows}
        head = (Cell(language), Cell(run.short(criterion)), Cell(count(rows[0]["items"])))
        body.append((*head, *(_width(by_size.get(size)) for size in sizes)))
    columns = ("language", "", "outputs", *(plural(size, "person", "people") for size in sizes))
    title = "Width of a mean score's interval, by people an output"
    return TableView.of(run, "panels", title, columns, body, heads=2)


def _width(row: dict[str, Any] | None) -> Cell:
    return Cell(figure(WIDTH * row["sd"]), f"{count(_needed(row))} for {TARGET:g}") if row else Cell(UNDEFINED)
