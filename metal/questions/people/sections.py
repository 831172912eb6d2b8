"""The sections of the page about people as raters: test questions, colleagues, and the effect of
leaving people out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from metal.data.grouping import grouped
from metal.data.languages import language_name
from metal.data.text import (
    UNDEFINED,
    count,
    figure,
    known,
    name,
    percent_change,
    plural,
    slug,
    within,
)
from metal.genie.behaviour import ALL_CRITERIA
from metal.genie.gold_questions import SIDES
from metal.genie.noisy import THRESHOLD
from metal.questions.people.run import Monitor
from metal.runs.columns import Column, Row
from metal.show.charts.dots import Dot, Numbers, dots_chart
from metal.show.charts.lines import ItemsCurve, design_curve
from metal.show.parts import exclusions_table
from metal.show.view import Cell, Chart, Rows, Section, TableView, folded

TESTS_LOOKS = {
    "fine": (0, "not flagged"),
    "noisy": (5, "noisy"),
    "judge": (1, "LLM judge, not flagged"),
}
COLLEAGUES_LOOKS = {"alike": (0, "like the others"), "out": (5, "stands out")}
RIGHT_THERE = (
    "Right there: the share of right answers on the task and side that speaks most against the "
    "rater, with "
    "the 95% interval of the rater's own answers. P(noisy): the model's probability."
)
MOST_QUESTIONS = 30
MOST_CHARTS = 6
TARGET = 0.05  # width of an interval
SIZES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the outputs there are
WIDTH = 2 * 1.96  # of a 95% interval, in standard deviations


def examined_section(run: Monitor) -> Section | None:
    """A section on the accuracy of each rater where they did worst, and on who is noisy."""
    if not run.examined:
        return None
    intro = (
        (
            "Each rater by the task (language, criterion, side) that speaks most against them:"
            f" share right with 95% interval. Left of the line at {THRESHOLD:g} somebody is wrong"
            " too often; people for whom this is almost certain are noisy."
        ),
    )
    by_cell = run.records("workers")
    further = TableView.of_figures(
        run, "workers", "By language and criterion", by_cell, cells=RIGHT, heads=3
    )
    return Section(
        "tests",
        "Test questions",
        intro,
        (_tests_chart(run),),
        (raters_table(run),),
        (folded(further, by=("criterion",)),),
    )


def _tests_chart(run: Monitor) -> Chart:
    examined = [row for row in run.examined if known(row["share_right"])]
    rows = [
        Dot(row["rater"], row["share_right"], row["share_low"], row["share_high"], _look(row))
        for row in examined
    ]
    weakest = {row["rater"]: row["weakest"] for row in examined}
    noisy = sum(bool(row["noisy"]) for row in examined)
    return dots_chart(
        "share_right",
        "Test questions right, on the task that speaks most against each rater",
        f"Dots with intervals for {plural(len(rows), 'rater')}: {noisy} noisy.",
        rows,
        TESTS_LOOKS,
        Numbers(
            "share right",
            between={"task": lambda row: name(weakest[row.label])},
            caption="Share right, as drawn",
            heads=2,
            source="raters",
        ),
        finding=f"{noisy} of {plural(len(rows), 'rater')} {'is' if noisy == 1 else 'are'} noisy.",
        mark=(THRESHOLD, f"accuracy {THRESHOLD:g}"),
    )


def _look(row: Row) -> str:
    if row["noisy"]:
        return "noisy"
    return "fine" if row["kind"] == "human" else "judge"


def _right(side: str, row: Row) -> str:
    """How many answers to the questions of a side are right."""
    right, asked = row[f"{side}_right"], row[f"{side}_asked"]
    return f"{count(right)} of {count(asked)}" if asked else UNDEFINED


RIGHT = {f"{side}_right": partial(_right, side) for side in SIDES}


def raters_table(run: Monitor) -> TableView:
    """A table of everybody who got test questions, noisiest first."""
    return TableView.of_figures(
        run,
        "raters",
        "Answers to test questions",
        run.examined,
        cells={
            **RIGHT,
            "weakest": lambda row: name(row["weakest"]) if known(row["weakest"]) else UNDEFINED,
        },
        name="examined",
        notes=(RIGHT_THERE,),
    )


def question_section(run: Monitor) -> Section | None:
    """A section on the questions answered wrong most often, because their expected answers may be
    at fault.
    """
    asked = [row for row in run.records("questions") if row["asked"]]
    if not asked:
        return None
    asked.sort(key=lambda row: (row["right"] / row["asked"], -row["asked"], row["question"]))
    wrong = [row for row in asked if row["right"] < row["asked"]]
    nobody = sum(row["right"] == 0 and row["asked"] > 1 for row in asked)
    intro = [
        f"{plural(len(asked), 'question')} by criterion answered, {len(wrong):,} of them wrong by"
        " somebody."
    ]
    if nobody:
        intro.append(f"Nobody got {nobody:,} of them right: check their expected answers first.")
    rows = (
        (
            Cell(
                within(row["source"]),
                f"gold of {within(row['gold_of'])}" if row["side"] != SIDES[0] else "",
            ),
            name(language_name(row["language"])),
            row["side"],
            run.criterion(row["criterion"]),
            f"{count(row['right'])} of {count(row['asked'])}",
        )
        for row in wrong
    )
    columns = ("source", "language", "side", "criterion", "right")
    title = "Questions answered wrong most often"
    table = TableView.of(run, "questions", title, columns, rows, heads=4, most=MOST_QUESTIONS)
    return Section("questions", "Questions", tuple(intro), (), (table,) if wrong else ())


def beside_section(run: Monitor) -> Section | None:
    """A section on who stands out and why, with agreement with colleagues, severity and
    competence.
    """
    rows = run.records("behaviour")
    if not rows:
        return None
    overall = [row for row in rows if row["criterion"] == ALL_CRITERIA]
    intro = [
        "Each person is compared with the colleagues who rated the same outputs, so hard outputs"
        " count against nobody."
    ]
    if not run.standing_out:
        intro.append("Nobody stands out.")
    why = [(name(rater), line) for rater, lines in run.standing_out.items() for line in lines]
    apart = [row for row in overall if known(row["not_compared"]) and row["not_compared"]]
    uncompared = [
        (name(row["rater"]), name(language_name(row["language"])), row["not_compared"])
        for row in apart
    ]
    tables = [
        *_why("standing_out", "Who stands out, and why", ("rater", "why"), why),
        TableView.of_figures(run, "behaviour", "All criteria together", overall, heads=3),
        *_why("not_compared", "Who cannot be compared", ("rater", "language", "why"), uncompared),
    ]
    charts = tuple(filter(None, (_colleagues_chart(overall),)))
    each, key = [row for row in rows if row["criterion"] != ALL_CRITERIA], "behaviour_by_criterion"
    further = TableView.of_figures(run, "behaviour", "By criterion", each, name=key, heads=3)
    return Section(
        "beside",
        "People compared with each other",
        tuple(intro),
        charts,
        tuple(tables),
        (folded(further, by=("criterion",)),),
    )


def _why(
    key: str, title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> list[TableView]:
    """A table of people and reasons; None without rows."""
    table = TableView.of(None, "behaviour", title, columns, rows, name=key, heads=len(columns))
    return [table] if rows else []


def _colleagues_chart(rows: Sequence[Row]) -> Chart | None:
    compared = [row for row in rows if known(row["agreement_difference"])]
    if not compared:
        return None
    several = len({row["language"] for row in compared}) > 1
    dots = []
    for row in sorted(compared, key=lambda row: float(row["agreement_difference"])):
        label = row["rater"]
        if several:
            label += f" {language_name(row['language'])}"
        figures = (
            row["agreement_difference"],
            row.get("agreement_difference_low", float("nan")),
            row.get("agreement_difference_high", float("nan")),
        )
        dots.append(Dot(label, *figures, "out" if row["stands_out"] else "alike"))
    out = sum(dot.look == "out" for dot in dots)
    who, stand = plural(len(dots), "person", "people"), "stands" if out == 1 else "stand"
    return dots_chart(
        "agreement_difference",
        "Agreement with colleagues, and colleagues' agreement among themselves",
        f"Dots with intervals for {who}; {out} {stand} out over all criteria together.",
        dots,
        COLLEAGUES_LOOKS,
        Numbers("difference", caption="As drawn", source="behaviour"),
        finding=f"{out} of {who} {stand} out over all criteria together.",
        sides=("agrees less", "agrees more"),
        form=percent_change,
    )


def _agreed(column: Column, row: Row, left: Row | None) -> Cell:
    """A cell with a figure and its interval; below them is the figure without noisy people."""
    without = f"then {column.text(left)} {column.ends(left)}".strip() if left else ""
    return Cell(column.text(row), "\n".join(filter(None, [column.ends(row), without])))


def agreement_section(run: Monitor) -> Section | None:
    """A section on how far people agree, with all of them and without the noisy ones."""
    records = run.records("agreement")
    if not records:
        return None
    columns = [column for column in run.columns("agreement") if column.shown]
    after = {(row["language"], row["criterion"]): row for row in records if row["without_noisy"]}
    rows: Rows = []
    for row in records:
        if row["without_noisy"]:
            continue
        left = after.get((row["language"], row["criterion"]))
        items = Cell(count(row["items"]), f"then {count(left['items'])}" if left else "")
        figures = (_agreed(column, row, left) for column in columns)
        heads = name(language_name(row["language"])), run.criterion(row["criterion"])
        rows.append((*heads, count(row["people"]), items, *figures))
    intro = ("Below each figure is its value without noisy people.",) if after else ()
    titles = ("language", "", "people", "outputs", *(column.title for column in columns))
    table = TableView.of(run, "agreement", "Agreement of the people", titles, rows, heads=2)
    return Section("agreement", "Agreement", intro, (), (table,))


def exclusion_section(run: Monitor) -> Section | None:
    """A section on the people whom --exclude-noisy leaves out, and the number of their ratings."""
    table = exclusions_table(run)
    if not table:
        return None
    intro = (
        (
            "These ratings are still in the dataset. `metal audit --exclude-noisy` leaves them "
            "out, counts them and names the people. billboard, leaderboard, design and others do "
            "the same."
        ),
    )
    return Section("exclusions", "Exclusions", intro, (), (table,))


def history_section(run: Monitor) -> Section | None:
    """A section on how many ratings each rater had after each import, and on their results in the
    test questions.
    """
    records = run.records("rounds")
    if not records:
        return None
    rounds = dict.fromkeys((row["round"], row["at"]) for row in records)
    by_round = {(row["round"], row["rater"]): row for row in records}
    rows = [
        (name(rater), *(_standing(by_round.get((number, rater))) for number, _ in rounds))
        for rater in dict.fromkeys(row["rater"] for row in records)
    ]
    columns = ("rater", *(f"{number}: {str(at)[:16].replace('T', ' ')}" for number, at in rounds))
    table = TableView.of(run, "rounds", "Ratings after each import", columns, rows)
    intro = (
        (
            "What each import brought, added up; times are UTC. annotation/answers.jsonl has every"
            " answer."
        ),
    )
    return Section("history", "History", intro, (), (table,))


def _standing(row: Row | None) -> Cell | str:
    """The number of a rater's ratings after an import, and how many test answers were right."""
    if row is None:
        return UNDEFINED
    right, asked = (sum(row[f"{side}_{what}"] for side in SIDES) for what in ("right", "asked"))
    return Cell(count(row["ratings"]), f"{count(right)} of {count(asked)} right" if asked else "")


def design_section(run: Monitor) -> Section | None:
    """A section on the width of the interval of people's mean score, by outputs and people per
    output.
    """
    rows = [row for row in run.records("panels") if known(row["sd"]) and row["sd"] > 0]
    if not rows:
        return None
    cells: dict[tuple[str, str], list[Row]] = grouped(
        rows, lambda row: (row["language"], row["criterion"])
    )
    intro = [
        (
            "Width of the 95% interval of a mean score, as a share of the scale; the line is at"
            f" {TARGET:g}. Twice as many outputs help more than twice as many people on each."
        ),
        (
            "metal design does the same for a judge's F1 and the alternative annotator test, with"
            " cost and hours."
        ),
    ]
    if len(cells) > MOST_CHARTS:
        intro.append(
            f"The chart shows the first {MOST_CHARTS} of {len(cells)} languages and criteria; the"
            " table has all."
        )
    charts = tuple(
        _design_chart(run, *cell, of_cell) for cell, of_cell in list(cells.items())[:MOST_CHARTS]
    )
    return Section(
        "design", "How many are needed", tuple(intro), charts, (_design_table(run, cells),)
    )


def _needed(row: Row) -> int:
    """How many outputs make the interval as narrow as TARGET; the width falls with the square root
    of the number of outputs.
    """
    return math.ceil(float(row["items"]) * (WIDTH * float(row["sd"]) / TARGET) ** 2)


def _design_chart(run: Monitor, language: str, criterion: str, rows: list[Row]) -> Chart:
    curves = [
        ItemsCurve(
            int(row["raters"]),
            [
                (row["items"] * size, WIDTH * row["sd"] / math.sqrt(size))
                for size in SIZES
                if row["items"] * size >= 2
            ],
            float(row["items"]),
            float(_needed(row)),
        )
        for row in rows
    ]
    key, title = f"design_{slug(criterion)}_{slug(language)}", run.where(criterion, language)
    columns = ("people per output", "width now", f"outputs for {TARGET:g}")
    body = ((count(row["raters"]), figure(WIDTH * row["sd"]), count(_needed(row))) for row in rows)
    numbers = TableView.of(None, "panels", title, columns, body, name=f"{key}_numbers")
    least = min(rows, key=_needed)
    people = plural(int(least["raters"]), "person", "people")
    finding = (
        f"With {people} an output, {count(_needed(least))} outputs make the interval {TARGET:g}"
        " wide."
    )
    alt = f"Falling lines, one per number of people per output. {finding}"
    return Chart(key, title, alt, design_curve(curves, TARGET, "width"), numbers, finding=finding)


def _design_table(run: Monitor, cells: dict[tuple[str, str], list[Row]]) -> TableView:
    sizes = sorted({int(row["raters"]) for rows in cells.values() for row in rows})
    body: Rows = []
    for (language, criterion), rows in cells.items():
        by_size = {int(row["raters"]): row for row in rows}
        widths = (_width(by_size.get(size)) for size in sizes)
        body.append(
            [
                name(language_name(language)),
                run.criterion(criterion),
                count(rows[0]["items"]),
                *widths,
            ]
        )
    columns = ("language", "", "outputs", *(plural(size, "person", "people") for size in sizes))
    title = "Width of a mean score's interval, by people per output"
    return TableView.of(run, "panels", title, columns, body, heads=2)


def _width(row: Row | None) -> Cell:
    return (
        Cell(figure(WIDTH * row["sd"]), f"{count(_needed(row))} for {TARGET:g}")
        if row
        else Cell(UNDEFINED)
    )


def sections(run: Monitor) -> list[Section]:
    """The sections that have something to show."""
    parts = (
        examined_section,
        question_section,
        beside_section,
        agreement_section,
        exclusion_section,
        design_section,
        history_section,
    )
    return [section for part in parts if (section := part(run))]
