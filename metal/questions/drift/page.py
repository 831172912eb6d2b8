"""The page of judges before and after, and what `metal gate` prints."""

from __future__ import annotations

from typing import Any

from metal.data.languages import language_name
from metal.data.text import (
    capital,
    count,
    estimate,
    known,
    name,
    percent,
    percent_change,
    signed,
    slug,
    within,
)
from metal.questions.drift.answer import cards, headline, scope
from metal.questions.drift.compute import BETTER, DIFFERENT, EQUIVALENT, UNDECIDED, WORSE
from metal.questions.drift.run import FAILED, Diff
from metal.questions.drift.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.charts.dots import Dot, Numbers, dots_chart
from metal.show.pages import Page
from metal.show.parts import (
    across_languages,
    by_criterion_and_judge,
    languages_shown,
    reasons,
)
from metal.show.view import Cell, Chart, Section, TableView

LOOKS = {
    WORSE: (5, "worse"),
    DIFFERENT: (1, "different"),
    UNDECIDED: (7, "undecided"),
    BETTER: (2, "better"),
    EQUIVALENT: (0, "equivalent"),
}
DECIDES = {
    "mean_change": ("change of the mean", signed),
    "coverage_change": ("change of coverage", percent_change),
}
MOST_CHARTS = 12
MOST_ROWS = 300
EXPLAINED = (
    "Change of agreement with people on the same outputs, with its interval (of two one-sided"
    " tests). If another figure decides, that figure is shown instead: the mean, coverage, or the "
    "share of"
    " changed answers"
)
NEEDED = "; below it are the number of outputs and the number that would decide"


def change_charts(run: Diff) -> list[Chart]:
    """A chart of changes for each criterion and judge."""
    drawn = []
    for (criterion, judge), rows in list(by_criterion_and_judge(run, "drift").items())[
        :MOST_CHARTS
    ]:
        if not any(known(row["difference"]) for row in rows):
            continue
        dots = [
            Dot.of(row, "difference", language_name(row["language"]), row["says"]) for row in rows
        ]
        worst = min(
            (row for row in rows if known(row["difference"])), key=lambda row: row["difference"]
        )
        lowest = (
            f"owest in {language_name(worst['language'])}, {percent_change(worst['difference'])}."
        )
        alt = (
            f"Change of agreement with people of {within(judge)} in {len(rows)} languages;"
            f" l{lowest}"
        )
        title = f"{run.criteria[criterion].title}, {name(judge)}"
        key = f"change_{slug(criterion)}_{slug(judge)}"
        drawn.append(
            dots_chart(
                key,
                title,
                alt,
                dots,
                LOOKS,
                Numbers("change", label="language", source="drift"),
                form=percent_change,
                sides=("worse", "better"),
                finding=f"L{lowest}",
            )
        )
    return drawn


def answer(run: Diff) -> TableView:
    """A table of conclusions and changes with their intervals: rows are criteria and judges,
    columns are languages.
    """
    rows = run.records("drift")
    needed = NEEDED * any(known(row["needed"]) for row in rows)
    notes = (
        f"{EXPLAINED}{needed}.",
        *reasons(run, "drift", rows, "language", ("difference", "mean_change", "coverage_change")),
    )
    keys, languages = {"criterion": "", "judge": "judge"}, languages_shown(rows, FAILED)
    return across_languages(
        run,
        "drift",
        "Has the judge changed?",
        rows,
        keys,
        _cell,
        languages,
        name="says",
        notes=notes,
    )


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    needs = (
        [f"{count(row['outputs'])} of about {count(row['needed'])} outputs"]
        if known(row["needed"])
        else []
    )
    if row["by"] == "excess_flips":
        change = f"{percent(row['flips'])} other answers"
    elif row["by"] in DECIDES:
        check, form = DECIDES[row["by"]]
        change = f"{check} {estimate(row, row['by'], form)}"
    else:
        change = estimate(row, "difference", percent_change)
    below = "\n".join([change, *needs])
    return Cell(row["says"], below, "strong" if row["says"] in FAILED else "")


def sections(run: Diff) -> list[Section]:
    """The sections: charts of changes, every figure, and what identifies the judge."""
    rows, signature = run.records("drift"), run.records("signature")
    figures = TableView.of_figures(run, "drift", "All figures", rows, heads=3, most=MOST_ROWS)
    same: dict[str, Any] = {"cells": {"says": _same}, "heads": 2, "most": MOST_ROWS}
    identity = TableView.of_figures(run, "signature", "What the judge is", signature, **same)
    drawn = change_charts(run)
    return [
        *(
            [Section("changes-drawn", "Changes with their intervals", charts=tuple(drawn))]
            if drawn
            else []
        ),
        Section("figures", "All figures, before and now", tables=(figures,)),
        Section("identity", "Model, prompt, schema and parameters", tables=(identity,)),
    ]


def _same(row: Row) -> str:
    """The conclusion about a part of the judge; if it was recorded neither time, it does not count
    as the same.
    """
    return capital(row["says"]) if row["before"] or row["after"] else "Not on record"


PAGE = Page(
    brand="judges before and after",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
