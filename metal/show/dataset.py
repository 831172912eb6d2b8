"""The dataset that was rated: METAL's Run 1 and 2 with rates, and Figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from metal.building.describe import ALL, LENGTHS
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import count, figure, known, name, slug
from metal.runs.audit_run import AuditRun
from metal.show.charts.classes import Bar, class_bars
from metal.show.view import Cell, Chart, TableView


def _lengths_view(run: AuditRun) -> TableView:
    """Tokens of passages and outputs by language, and how many outputs there are of each quality."""
    qualities = _qualities_of(run)
    rows = []
    uncounted = 0
    for row in run.records("lengths"):
        uncounted += row["passages"] - row["passages_counted"] + row["outputs"] - row["outputs_counted"]
        means = (_mean(row["passage_mean"], row["passage_sd"]), _mean(row["output_mean"], row["output_sd"]))
        numbers = (Cell(count(row[quality])) for quality in qualities)
        rows.append((Cell(name(language_name(row["language"]))), Cell(count(row["passages"])), *means, *numbers))
    notes = ["Means in tokens, the standard deviation (n - 1) below."]
    notes += [f"{uncounted:,} texts whose tokens are not known are left out of the means."] if uncounted else []
    columns = ("", "passages", "tokens a passage", "tokens an output", *qualities)
    return TableView.of(run, "lengths", "Lengths and qualities", columns, rows, notes=notes)


def _qualities_of(run: AuditRun) -> list[str]:
    """The qualities of outputs, each a column of the table of lengths."""
    return [str(column) for column in run.tables["lengths"].columns if column not in (*LENGTHS, "signature")]


def _mean(mean: float, sd: float) -> Cell:
    return Cell(figure(mean, ",.1f"), f"± {figure(sd, ',.1f')}" if known(mean) and known(sd) else "")


def _classes_view(run: AuditRun) -> TableView:
    """The share of each class among outputs of each quality, over all languages, the counts below."""
    overall = run.rows("classes_by_quality", language=ALL)
    qualities = list(dict.fromkeys(overall["quality"]))
    rows = []
    for (criterion, level), of_level in overall.groupby(["criterion", "level"], sort=False):
        by_quality = {row["quality"]: row for row in of_level.to_dict("records")}
        cells = (_rate(by_quality.get(quality)) for quality in qualities)
        rows.append((Cell(run.short(str(criterion))), Cell(name(str(level))), *cells))
    explained = (
        "What the people settled on, as rates of the outputs of that quality: counts alone mislead where there are "
        "more outputs of one quality than of the other."
    )
    title = "Classes by quality of the output"
    return TableView.of(run, "classes_by_quality", title, ("", "class", *qualities), rows, heads=2, notes=(explained,))


def _rate(row: Mapping[Any, Any] | None) -> Cell:
    return Cell(f"{row['share']:.1%}", f"{row['count']:,} of {row['items']:,}") if row else Cell("0")


def quality_charts(classes: pd.DataFrame, criteria: Mapping[str, Criterion]) -> list[Chart]:
    """A chart a criterion: the classes of all outputs and of each quality, over all languages (METAL's Figure 2)."""
    overall = classes[classes["language"] == ALL]
    charts = []
    for key, of_criterion in overall.groupby("criterion", sort=False):
        criterion = criteria[str(key)]
        bars = [
            Bar("", f"{quality} outputs", dict(zip(rows["level"], rows["count"].astype(int), strict=True)))
            for quality, rows in of_criterion.groupby("quality", sort=False)
        ]
        label = criterion.label or criterion.name
        charts.append(class_bars(f"quality_{slug(criterion.name)}", label, criterion, bars))
    return charts


def dataset_tables(run: AuditRun) -> list[TableView]:
    """The section's tables; none where neither lengths nor qualities are known, which others would say again."""
    lengths = run.tables["lengths"]
    counted = not lengths.empty and bool(lengths[["passages_counted", "outputs_counted"]].to_numpy().any())
    if lengths.empty or not (counted or _qualities_of(run)):
        return []
    return [_lengths_view(run), *([_classes_view(run)] if _has_qualities(run.tables["classes_by_quality"]) else [])]


def dataset_charts(run: AuditRun) -> list[Chart]:
    """The section's charts; none where no quality is known."""
    classes = run.tables["classes_by_quality"]
    return quality_charts(classes, run.criteria) if _has_qualities(classes) else []


def _has_qualities(classes: pd.DataFrame) -> bool:
    return not classes.empty and bool((classes["quality"] != ALL).any())
