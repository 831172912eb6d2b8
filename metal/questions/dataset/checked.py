"""What `metal check` prints: whether the data are sound, the warnings, and who rated what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from metal.auditing.as_read import Finding
from metal.data.dataset import Dataset
from metal.data.languages import language_order
from metal.data.text import count, name, percent, plural
from metal.questions.dataset.columns import RATERS, RATINGS
from metal.questions.dataset.contents import contents, titled
from metal.show.view import Paragraph, Rows, Screen, TableView

MOST_ROWS = 8
FINDINGS = {
    "test-questions": "test questions",
    "never-meet": "judges and people who share no outputs",
    "identical-raters": "two raters with the same scores",
    "identical-generators": "two generators with the same scores",
    "one-label": "one answer to everything",
    "label-of-machines-only": "answers that no person gives",
    "other-scale": "two scales",
    "far-levels": "scores far from all others",
    "doubtful-direction": "scores that may be better when lower",
    "alike-names": "names that are almost the same",
    "own-sources": "outputs without a common source",
    "sources-by-text": "few sources, told apart by their texts",
    "unread-columns": "columns that were not read",
    "places-in-lists": "people named only by their place in a list",
    "opposite-criterion": "a criterion opposite to all others",
    "few-items": "people who rated few outputs",
    "unanswered": "missing answers",
    "unrated-language": "languages that nobody rated",
    "model-versions": "models that changed",
    "not-sent": "parameters that a model rejects",
}  # code -> the kind of problem in words


def checked(
    dataset: Dataset,
    tables: Mapping[str, pd.DataFrame],
    findings: Sequence[Finding],
    *,
    verbose: bool,
    labels: bool,
) -> Screen:
    """The answer, the doubtful points grouped by kind, and the ratings by language and criterion.

    verbose: show all remarks, raters and rows. labels: also show how often each rater gave each
    label.
    """
    by_kind: dict[str, list[str]] = {}
    for finding in findings:
        by_kind.setdefault(FINDINGS[finding.code], []).append(finding.message)
    doubts = plural(len(findings), "warning")
    if len(by_kind) < len(findings):
        doubts += f" of {plural(len(by_kind), 'kind')}"
    yield Paragraph(contents(dataset), strong=True)
    yield Paragraph(f"No errors, {doubts if findings else 'no warnings'}.", strong=True)
    shown = [ratings_view(dataset, tables["ratings"]), raters_view(tables["raters"])]
    if verbose:
        yield from shown
    else:
        yield replace(shown[0].first(MOST_ROWS, rest="-v shows all"), brief=True)
    if labels:
        yield from _labels(dataset, tables["labels"])
    if findings:
        yield Paragraph("")
    for kind, messages in by_kind.items():
        more = f" ({count(len(messages))}, -v shows all)" if len(messages) > 1 else ""
        for message in messages if verbose else [f"{kind}{more}: {messages[0]}"]:
            yield Paragraph(f"warning: {message}")


def ratings_view(dataset: Dataset, ratings: pd.DataFrame) -> TableView:
    """A table of ratings by kind of rater, and of outputs by the number of people who
    rated them.
    """
    described = [column for column in RATINGS if column.name in ratings]
    rows: list[dict[Any, Any]] = ratings.to_dict("records")
    criteria = list(dataset.criteria)
    rows.sort(key=lambda row: (language_order(row["language"]), criteria.index(row["criterion"])))
    title, cells = (
        "Ratings by kind of rater; outputs by number of people",
        {"criterion": titled(dataset.criteria)},
    )
    return TableView.of_figures(
        None, "ratings", title, rows, described=described, cells=cells, heads=2
    )


def raters_view(raters: pd.DataFrame) -> TableView:
    """A table of raters: who rated, how much, and what share of the questions each answered."""
    rows: list[dict[Any, Any]] = raters.to_dict("records")
    return TableView.of_figures(None, "raters", "Raters", rows, described=RATERS)


def _labels(dataset: Dataset, labels: pd.DataFrame) -> Screen:
    """How often each rater gave each label: one table per criterion."""
    for criterion, of_criterion in labels.groupby("criterion", sort=False):
        rows: Rows = [
            [
                name(rater),
                *(
                    f"{count(row['count'])} ({percent(row['share'])})"
                    for row in counts.to_dict("records")
                ),
            ]
            for rater, counts in of_criterion.groupby("rater", sort=True)
        ]
        columns = ("rater", *map(name, of_criterion["level"].unique()))
        yield TableView.of(
            None, "labels", f"Labels: {name(dataset.called(str(criterion)))}", columns, rows
        )
