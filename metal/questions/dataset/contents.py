"""What a dataset has and lacks, in a sentence, with the lengths of its texts and the classes that
people gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from metal.building.describe import ALL, LENGTHS
from metal.data.dataset import Dataset
from metal.data.records import KINDS, Criterion
from metal.data.text import count, listed, name, percent, plural, slug
from metal.questions.dataset import columns as dataset_columns
from metal.runs.columns import Column
from metal.runs.run import Run, by_name
from metal.show.charts.bars import Bar, class_bars
from metal.show.view import Cell, Chart, Paragraph, Rows, Screen, TableView


def sizes(dataset: Dataset) -> str:
    """The size of a dataset, such as `6,720 ratings of 240 outputs of 80 sources`."""
    counts = {
        "rating": len(dataset.ratings),
        "output": len(dataset.outputs),
        "source": len(dataset.sources),
    }
    return " of ".join(plural(number, noun) for noun, number in counts.items())


def raters(dataset: Dataset) -> list[str]:
    """The number of raters of each kind: `12 people`, `4 LLM judges`; a judge that was asked again
    counts once.
    """
    kinds: Counter[str] = Counter(
        rater.kind
        for rater in dataset.raters.values()
        if rater.about.get("repeats") not in dataset.raters
    )
    return [
        plural(kinds[kind], kind_name, "people" * (kind == "human"))
        for kind, kind_name in KINDS.items()
        if kinds[kind]
    ]


def contents(dataset: Dataset) -> str:
    """What the dataset contains, in a sentence."""
    languages, criteria = plural(len(dataset.languages), "language"), len(dataset.criteria)
    by = f" by {listed(raters(dataset))}" if dataset.raters else ""
    asked = f" on {plural(criteria, 'criterion', 'criteria')}" if criteria else ""
    return f"{dataset.identity}: {sizes(dataset)} in {languages}{asked}{by}."


def _missing(dataset: Dataset) -> str:
    """What the dataset lacks, in a sentence; empty if nothing is missing."""
    table = dataset.ratings
    by_people = set(table.loc[(table["kind"] == "human") & table["score"].notna(), "output"])
    parts = []
    for what, noun, lack in (
        ("the texts", "source", [not source.text for source in dataset.sources.values()]),
        ("the texts", "output", [not output.text for output in dataset.outputs.values()]),
        ("people's ratings", "output", [output not in by_people for output in dataset.outputs]),
    ):
        if number := sum(lack):
            how_many = "all" if number == len(lack) > 1 else f"{number:,} of"
            parts.append(f"{what} of {how_many} {plural(len(lack), noun)}")
    unanswered = int(table["score"].isna().sum())
    parts += [f"a score in {plural(unanswered, 'rating')}"] if unanswered else []
    return f"Missing: {listed(parts)}." if parts else ""


def description(dataset: Dataset, tables: Mapping[str, pd.DataFrame], encoding: str) -> Screen:
    """What `metal describe` prints: the answer, then text lengths, and the classes and numbers that
    people gave.
    """
    yield Paragraph(contents(dataset), strong=True)
    if missing := _missing(dataset):
        yield Paragraph(missing)
    if not tables["lengths"].empty:
        yield lengths_view(tables["lengths"], encoding=encoding)
    if not tables["classes_by_quality"].empty:
        yield classes_view(tables["classes_by_quality"], dataset.criteria)
    if not tables["numbers"].empty:
        rows: list[dict[Any, Any]] = tables["numbers"].to_dict("records")
        title, cells = (
            "Numbers that people gave, as means per output",
            {"criterion": titled(dataset.criteria)},
        )
        yield TableView.of_figures(
            None, "numbers", title, rows, described=dataset_columns.NUMBERS, cells=cells
        )


def titled(criteria: Mapping[str, Criterion]) -> Any:
    """A function that shows a row's criterion by its title."""
    return lambda row: name(criteria[row["criterion"]].title)


def counted(lengths: pd.DataFrame) -> bool:
    """Whether any text has a token count."""
    return bool(lengths[["passages_counted", "outputs_counted"]].to_numpy().any())


def qualities(lengths: pd.DataFrame) -> list[str]:
    """The qualities of outputs that the table of lengths has; each is a column."""
    return [str(column) for column in lengths if column not in (*LENGTHS, "signature")]


def lengths_view(lengths: pd.DataFrame, run: Run | None = None, encoding: str = "") -> TableView:
    """A table of tokens in sources and outputs by language, with the number of outputs of each
    quality.
    """
    rows = by_name(lengths.to_dict("records"))
    notes, without = (
        [f"Tokens{f' of {encoding}' if encoding else ''}: mean and standard deviation (n − 1)."],
        [],
    )
    missing = sum(
        row[what] - row[f"{what}_counted"] for row in rows for what in ("passages", "outputs")
    )
    if not counted(lengths):
        notes, without = (
            ["The data have no texts, so tokens cannot be counted."],
            ["passage_mean", "output_mean"],
        )
    elif missing:
        notes.append(f"{missing:,} texts without a token count are left out of the means.")
    described = (
        *dataset_columns.LENGTHS,
        *(Column(quality, quality, count) for quality in qualities(lengths)),
    )
    return TableView.of_figures(
        run,
        "lengths",
        "Lengths and qualities",
        rows,
        described=described,
        without=without,
        notes=notes,
    )


def classes_view(
    classes: pd.DataFrame, criteria: Mapping[str, Criterion], run: Run | None = None
) -> TableView:
    """A table of the share of each class among outputs of each quality, over all languages, with
    counts below.
    """
    overall = classes[classes["language"] == ALL]
    listed = list(dict.fromkeys(overall["quality"]))
    rows: Rows = []
    for (criterion, level), of_level in overall.groupby(["criterion", "level"], sort=False):
        by_quality = {row["quality"]: row for row in of_level.to_dict("records")}
        cells = (_rate(by_quality.get(quality)) for quality in listed)
        rows.append([name(criteria[str(criterion)].title), name(str(level)), *cells])
    title, explained = (
        "Classes that people gave",
        "People's aggregate answers, as a share of the outputs.",
    )
    if len(listed) > 1:
        title = "Classes by quality of the output"
        explained = (
            "People's aggregate answers, as a share of the outputs of that quality: counts alone "
            "mislead if one quality has more outputs than the other."
        )
    columns = ("criterion", "class", *(f"{quality} outputs" for quality in listed))
    return TableView.of(
        run, "classes_by_quality", title, columns, rows, heads=2, notes=(explained,)
    )


def _rate(row: Mapping[Any, Any] | None) -> Cell:
    return (
        Cell(percent(row["share"]), f"{row['count']:,} of {row['items']:,}")
        if row
        else Cell(percent(0))
    )


def quality_charts(classes: pd.DataFrame, criteria: Mapping[str, Criterion]) -> list[Chart]:
    """One chart per criterion: the classes of all outputs and of outputs of each quality, over all
    languages (METAL's Figure 2).
    """
    overall = classes[classes["language"] == ALL]
    charts = []
    for key, of_criterion in overall.groupby("criterion", sort=False):
        criterion = criteria[str(key)]
        bars = [
            Bar(
                "",
                f"{quality} outputs",
                dict(zip(rows["level"], rows["count"].astype(int), strict=True)),
            )
            for quality, rows in of_criterion.groupby("quality", sort=False)
        ]
        charts.append(class_bars(f"quality_{slug(criterion.name)}", criterion, bars))
    return charts
