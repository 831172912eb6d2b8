"""The page of a language-bias audit, and what `metal bias` prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from metal.auditing.scored_outputs import EVEN, LEANS, MARGIN, UNKNOWN
from metal.data.languages import language_name
from metal.data.text import UNDEFINED, figure, interval, known, listed, name, signed, slug, within
from metal.questions.bias.answer import anchors_said, cards, headline, scope
from metal.questions.bias.between_languages import PEOPLE
from metal.questions.bias.conditions import OF_TEXT
from metal.questions.bias.language_pairs import BY_PAIRS
from metal.questions.bias.run import LanguageBias
from metal.questions.bias.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.charts.dots import Dot, Numbers, dots_chart
from metal.show.pages import Page
from metal.show.parts import across_languages, by_criterion_and_judge, languages_shown, reasons
from metal.show.view import Cell, Chart, Rows, Section, TableView

LOOKS = {LEANS: (5, "leans"), EVEN: (0, "even"), UNKNOWN: (7, UNKNOWN)}
MOST_CHARTS = 12
MOST_ROWS = 300
EXPLAINED = (
    "Above 0: more lenient than in the mean of all languages, for equal quality. Intervals are 95%."
)
OF_PAIRS = (
    "The share of comparisons that the outputs of a language win against outputs of the same "
    "contents in another language (a tie counts half), minus 1/2. Intervals are 95%."
)
OF_PEOPLE = (
    "Above 0: people give higher scores than in the mean of all languages on the same contents,"
    " because the outputs are better there or the people are more lenient."
)


def lean_charts(run: LanguageBias) -> list[Chart]:
    """A chart of leans for each criterion and judge."""
    drawn = []
    for (criterion, judge), rows in list(by_criterion_and_judge(run, "language_bias").items())[
        :MOST_CHARTS
    ]:
        dots = [Dot.of(row, "lean", language_name(row["language"]), row["says"]) for row in rows]
        title = f"{run.criteria[criterion].title}, {name(judge)}"
        leans = [
            f"{language_name(row['language'])} {signed(row['lean'])}"
            for row in rows
            if row["says"] == LEANS
        ]
        who = "people lean" if judge == PEOPLE else f"{within(judge)} leans"
        alt = (
            f"How far {who} in {len(rows)} languages; leaning: {', '.join(leans) or 'none shown'}."
        )
        key = f"lean_{slug(criterion)}_{slug(judge)}"
        sides = ("lower", "higher") if judge == PEOPLE else ("more severe", "more lenient")
        opening = "People lean" if judge == PEOPLE else "It leans"
        drawn.append(
            dots_chart(
                key,
                title,
                alt,
                dots,
                LOOKS,
                Numbers("lean", label="language", source="language_bias"),
                form=signed,
                sides=sides,
                finding=f"{opening} in {listed(leans)}." if leans else "No lean is shown.",
            )
        )
    return drawn


def answer(run: LanguageBias) -> TableView:
    """A table of conclusions and leans with their intervals: rows are criteria and judges, columns
    are languages.
    """
    rows = run.records("language_bias")
    judges = {row["judge"] for row in rows}
    explained = []
    if judges != {PEOPLE}:
        explained.append(EXPLAINED)
    if PEOPLE in judges:
        explained.append(OF_PEOPLE)
    if any(row["by"] == BY_PAIRS for row in rows):
        explained = [OF_PAIRS]
    if any(row["says"] == EVEN for row in rows):
        explained.append(
            f"Even: the 90% interval lies within {MARGIN:.0%} of the scale on either side of 0"
            " (for a scale without ends: of the range of scores that occur), even if 0 is outside"
            " the 95% interval."
        )
    notes = (*explained, *reasons(run, "language_bias", rows, "language", ("lean",)))
    title = "In which languages judges lean"
    if judges == {PEOPLE}:
        title = "In which languages people lean"
    elif len(judges) == 1:
        title = f"In which languages {name(*judges)} leans"
    keys, languages = {"criterion": "", "judge": "judge"}, languages_shown(rows, (LEANS,))
    return across_languages(
        run, "language_bias", title, rows, keys, _cell, languages, name="leans", notes=notes
    )


def heat_map(run: LanguageBias) -> TableView:
    """A heat map of each judge's figures by language, darker the farther a figure is from an even
    judge's.

    Columns: lean, slope, excess flips, and the effect of a prompt in the text's language.
    """
    changes = {
        (row["judge"], row["criterion"], row["language"]): row["change"]
        for row in run.records("conditions")
        if row["condition"] == OF_TEXT
    }
    rows: Rows = []
    for row in run.records("language_bias"):
        span = run.span(row["criterion"])
        change = changes.get((row["judge"], row["criterion"], row["language"]), math.nan)
        cells = (
            _shaded(row["lean"], signed, row["lean"] / span),
            _shaded(row["slope"], figure, 1 - row["slope"]),
            _shaded(row["excess_flips"], signed, max(row["excess_flips"], 0)),
            _shaded(change, signed, change / span),
        )
        rows.append(
            (
                language_name(row["language"]),
                run.criterion(row["criterion"]),
                name(row["judge"]),
                *cells,
            )
        )
    columns = (
        "language",
        "criterion",
        "judge",
        "lean",
        "slope",
        "excess flips",
        "prompt in its language",
    )
    notes = (
        "Darker: farther from an even judge (0, and a slope of 1), in tenths of the scale or of 1.",
    )
    options: dict[str, Any] = {"name": "heat", "heads": 3, "notes": notes, "most": MOST_ROWS}
    return TableView.of(run, "language_bias", "At a glance", columns, rows, **options)


def _shaded(value: float, form: Callable[[Any], str], off: float) -> Cell:
    """A cell with a figure, darker the larger `off` is; blank if the figure is undefined."""
    return (
        Cell(form(value), mark=f"q{min(1 + int(abs(off) * 10), 9)}")
        if known(value)
        else Cell(UNDEFINED)
    )


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    says = f"{row['says']} {signed(row['lean'])}" if known(row["lean"]) else row["says"]
    ends = interval(row["lean_low"], row["lean_high"], signed)
    return Cell(says, ends, "strong" if row["says"] == LEANS else "")


def sections(run: LanguageBias) -> list[Section]:
    """Charts of leans, and every figure in tables."""
    rows = run.records("language_bias")
    shown = [
        heat_map(run),
        TableView.of_figures(run, "language_bias", "All figures", rows, heads=3, most=MOST_ROWS),
    ]
    if severity := run.records("severity"):
        title = "How severe people are, compared with those they share outputs with"
        notes = reasons(run, "severity", severity, "person")
        options: dict[str, Any] = {"heads": 3, "notes": notes, "most": MOST_ROWS}
        shown.append(TableView.of_figures(run, "severity", title, severity, **options))
    if anchors := run.records("anchors"):
        title = "How many shared contents would separate the judge's bias from people's severity"
        options = {
            "heads": 2,
            "notes": (anchors_said(run), *reasons(run, "anchors", anchors, "language")),
        }
        shown.append(
            TableView.of_figures(run, "anchors", title, anchors, **options, most=MOST_ROWS)
        )
    if len(run.tables["conditions"]):
        conditions = run.records("conditions")
        title = "How scores change between an output and one made from it"
        shown.append(
            TableView.of_figures(run, "conditions", title, conditions, heads=3, most=MOST_ROWS)
        )
    return [
        Section("leans-drawn", "Leans with their intervals", charts=tuple(lean_charts(run))),
        Section("figures", "All figures, including the naive ones", tables=tuple(shown)),
    ]


PAGE = Page(
    brand="judges between languages",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
