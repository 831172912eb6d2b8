"""The dataset that was rated: METAL's Run 1 and 2 with rates, and Figure 2."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from metal.building.describe import ALL, LENGTHS
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, name, slug
from metal.runs.audit_run import AuditRun
from metal.show.charts.classes import Bar, class_bars
from metal.show.view import Cell, Chart, TableView


def lengths_view(found: pd.DataFrame, signature: str = "") -> TableView:
    """Tokens of passages and outputs by language, and how many outputs there are of each quality."""
    listed = [str(column) for column in found.columns if column not in (*LENGTHS, "signature")]
    rows = []
    left = 0
    for row in found.to_dict("records"):
        cells = [_mean(row["passage_mean"], row["passage_sd"]), _mean(row["output_mean"], row["output_sd"])]
        left += row["passages"] - row["passages_counted"] + row["outputs"] - row["outputs_counted"]
        numbers = [Cell(count(int(row[quality]))) for quality in listed]
        rows.append((Cell(name(language_name(row["language"]))), Cell(count(row["passages"])), *cells, *numbers))
    notes = ["Means in tokens, the standard deviation (n - 1) below."]
    notes += [f"{left:,} texts whose tokens are not known are left out of the means."] if left else []
    columns = ("", "passages", "tokens a passage", "tokens an output", *listed)
    return TableView("lengths", "Lengths and qualities", columns, tuple(rows), "lengths", signature, notes=tuple(notes))


def _mean(mean: float, sd: float) -> Cell:
    if mean != mean:
        return Cell(UNDEFINED)
    return Cell(f"{mean:,.1f}", f"± {sd:,.1f}" if sd == sd else "")


def classes_view(found: pd.DataFrame, criteria: Mapping[str, Criterion], signature: str = "") -> TableView:
    """The share of each class among outputs of each quality, over all languages, the counts below."""
    whole = found[found["language"] == ALL]
    listed = list(dict.fromkeys(whole["quality"]))
    rows = []
    for (criterion, level), mine in whole.groupby(["criterion", "level"], sort=False):
        by = {row["quality"]: row for row in mine.to_dict("records")}
        cells = [
            Cell(f"{by[one]['share']:.1%}", f"{by[one]['count']:,} of {by[one]['items']:,}") if one in by else Cell("0")
            for one in listed
        ]
        rows.append((Cell(criteria[str(criterion)].short), Cell(name(str(level))), *cells))
    notes = (
        "What the people settled on, as rates of the outputs of that quality: counts alone mislead where there are "
        "more outputs of one quality than of the other.",
    )
    columns = ("", "class", *listed)
    title = "Classes by quality of the output"
    return TableView("classes_by_quality", title, columns, tuple(rows), "classes_by_quality", signature, 2, notes)


def quality_charts(found: pd.DataFrame, criteria: Mapping[str, Criterion]) -> list[Chart]:
    """A chart a criterion: the classes of all outputs and of each quality, over all languages (METAL's Figure 2)."""
    whole = found[found["language"] == ALL]
    charts = []
    for key, mine in whole.groupby("criterion", sort=False):
        criterion = criteria[str(key)]
        bars = [
            Bar("", f"{quality} outputs", dict(zip(rows["level"], rows["count"].astype(int), strict=True)))
            for quality, rows in mine.groupby("quality", sort=False)
        ]
        label = criterion.label or criterion.name
        charts.append(class_bars(f"quality_{slug(criterion.name)}", label, criterion, bars))
    return charts


def has_dataset_section(run: AuditRun) -> bool:
    """Whether lengths or qualities are known: else the section would repeat what others say."""
    found = run.tables["lengths"]
    if found.empty:
        return False
    listed = [column for column in found.columns if column not in (*LENGTHS, "signature")]
    return bool(listed) or bool(found[["passages_counted", "outputs_counted"]].to_numpy().any())


def dataset_tables(run: AuditRun) -> list[TableView]:
    """The section's tables; none where nothing is known."""
    if not has_dataset_section(run):
        return []
    tables = [lengths_view(run.tables["lengths"], run.signature_of("lengths"))]
    classes = run.tables["classes_by_quality"]
    if _qualities(classes):
        tables.append(classes_view(classes, run.criteria, run.signature_of("classes_by_quality")))
    return tables


def dataset_charts(run: AuditRun) -> list[Chart]:
    """The section's charts; none where no quality is known."""
    classes = run.tables["classes_by_quality"]
    return quality_charts(classes, run.criteria) if _qualities(classes) else []


def _qualities(classes: pd.DataFrame) -> bool:
    return not classes.empty and bool((classes["quality"] != ALL).any())
