"""What commands print about drawn passages, about sources and contents drawn for people, about
plans, and about scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from metal.data.dataset import Dataset
from metal.data.languages import language_name, language_order
from metal.data.text import capital, count, name, plural
from metal.questions.bias.run import DESCRIBED
from metal.questions.dataset.contents import titled
from metal.questions.design.drawn import DrawnSources
from metal.questions.design.planned_columns import (
    CHANGED,
    CONDITIONS,
    DRAWN_CONTENTS,
    DRAWN_SOURCES,
    PASSAGES,
    SCORES,
)
from metal.runs.columns import Column
from metal.show.view import Paragraph, Screen, TableView


def passages(dataset: Dataset, table: pd.DataFrame) -> Screen:
    """How many passages were drawn, and from how many."""
    drawn, most = (int(table[column].sum()) for column in ("drawn", "passages"))
    answer = (
        f"{dataset.card.name}: {drawn:,} of {plural(most, 'passage')} drawn in"
        f" {plural(len(table), 'language')}."
    )
    yield Paragraph(answer, strong=True)
    yield _by_language("Passages of about the same length", table, PASSAGES)


def drawn(draw: DrawnSources) -> Screen:
    """How many sources people should rate; for contents also the reason, and how their scores are
    spread.
    """
    if draw.needed is None:
        return _sources(draw.table)
    return _contents(draw.dataset, draw.needed, draw.table)


def _sources(table: pd.DataFrame) -> Screen:
    drawn, most = (int(table[column].sum()) for column in ("drawn", "sources"))
    yield Paragraph(
        f"{drawn:,} of {plural(most, 'source')} are drawn for people to rate.", strong=True
    )
    yield _by_language("Sources drawn", table, DRAWN_SOURCES)


def _contents(dataset: Dataset, needed: pd.DataFrame, table: pd.DataFrame) -> Screen:
    drawn, most = (int(table[column].sum()) for column in ("drawn", "contents"))
    those = f"{drawn:,} of up to {plural(most, 'content')} that exist in every language"
    answer = f"{those} are drawn, for the people of each language to rate."
    yield Paragraph(answer, strong=True)
    if len(needed):
        title, described = (
            "How many contents make the people of two languages comparable",
            DESCRIBED["anchors"],
        )
        cells, notes = (
            {"criterion": titled(dataset.criteria)},
            [why for why in needed["undefined"].unique() if why],
        )
        rows: list[dict[Any, Any]] = needed.to_dict("records")
        options: dict[str, Any] = {"cells": cells, "heads": 2, "notes": map(capital, notes)}
        yield TableView.of_figures(None, "anchors", title, rows, described=described, **options)
    title = "Contents drawn, by their mean score as a share of the scale"
    groups: list[dict[Any, Any]] = table.to_dict("records")
    yield TableView.of_figures(None, "contents", title, groups, described=DRAWN_CONTENTS)


def changes(dataset: Dataset, changed: pd.DataFrame, calls: int) -> Screen:
    """How many outputs were changed, how, and in which languages."""
    outputs, asked = (
        plural(len(dataset.outputs), "output"),
        plural(len(dataset.asked), "criterion", "criteria"),
    )
    answer = (
        f"{outputs}, each changed and unchanged, on {asked}: {calls:,} calls for a judge with one"
        " prompt."
    )
    yield Paragraph(answer, strong=True)
    table = changed.pivot_table(
        index=["kind", "what"], columns="language", values="made", sort=False
    )
    codes = sorted(map(str, table), key=language_order)
    languages = (Column(code, language_name(code), count) for code in codes)
    rows: list[dict[Any, Any]] = table.reset_index().to_dict("records")
    described = (*CHANGED, *languages)
    yield TableView.of_figures(
        None, "probes", "Changed outputs", rows, described=described, heads=2
    )


def conditions(table: pd.DataFrame) -> Screen:
    """The conditions that a language-bias audit has and lacks."""
    lacking = table.loc[table["state"] != "there", "condition"].unique()
    every = table["condition"].nunique()
    answer = "The data have every condition that a language-bias audit looks at."
    if len(lacking):
        answer = (
            f"{len(lacking)} of the {every} conditions that a language-bias audit looks at are"
            " missing in at least one language; the commands below make them."
        )
    yield Paragraph(answer, strong=True)
    rows: list[dict[Any, Any]] = table.to_dict("records")
    yield TableView.of_figures(
        None, "conditions", "Conditions by language", rows, described=CONDITIONS, heads=2
    )


def scores(dataset: Dataset, records: Sequence[Mapping[str, Any]]) -> Screen:
    """How many outputs got scores, and why the others got none."""
    scored, missing = (
        sum(row["scored"] for row in records),
        sum(sum(row["without"].values()) for row in records),
    )
    rest = f"{plural(missing, 'score')} could not be computed" if missing else "none is missing"
    by = plural(len(records), "metric")
    answer = (
        f"{plural(scored, 'score')} of the outputs of {name(dataset.card.name)} by {by}; {rest}."
    )
    yield Paragraph(answer, strong=True)
    yield TableView.of_figures(None, "scores", "Scores", records, described=SCORES)


def _by_language(title: str, table: pd.DataFrame, described: Sequence[Column]) -> TableView:
    rows: list[dict[Any, Any]] = table.to_dict("records")
    rows.sort(key=lambda row: language_order(row["language"]))
    has = [column for column in described if column.name in table]
    return TableView.of_figures(None, "drawn", title, rows, described=has)
