"""The page of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.runs.audit_run import AuditRun
from metal.show import disagreements
from metal.show.dataset import dataset_charts, dataset_tables
from metal.show.differences import difference_tables, prompt_charts
from metal.show.distribution import case_charts, prediction_table
from metal.show.exclusions import exclusions_table
from metal.show.judges import agreement_charts, f1_table, figures_table, self_agreement_table
from metal.show.methods import definitions, left_out_table
from metal.show.overview import legend, matrices
from metal.show.packing import Payload
from metal.show.people import agreement_table, ceilings_table, class_charts
from metal.show.sections import Page
from metal.show.summary import summary
from metal.show.view import Chart, TableView

LEAST_ROOM = 400_000  # for disagreements and CSV, even where tables and charts alone fill a page


def charts(run: AuditRun) -> list[Chart]:
    """Every chart of the page, in its order."""
    of_judges = [chart for criterion in run.audited for chart in agreement_charts(run, criterion)]
    return [*dataset_charts(run), *class_charts(run), *of_judges, *prompt_charts(run), *case_charts(run)]


def tables(run: AuditRun) -> list[TableView]:
    """Every table of the page, in its order."""
    of_judges = [f1_table(run), figures_table(run), prediction_table(run)] if run.judge_names else []
    again = [table for table in [self_agreement_table(run)] if table.rows]
    people = [*dataset_tables(run), agreement_table(run), ceilings_table(run)]
    people += filter(None, [exclusions_table(run)])
    return [*people, *of_judges, *difference_tables(run), *again, left_out_table(run)]


def content(run: AuditRun) -> dict[str, Any]:
    """What the template shows."""
    criteria = run.audited if run.judge_names else ()
    return {
        "matrices": matrices(run),
        "legend": legend(),
        "tables": {table.name: table for table in tables(run)},
        "dataset_tables": dataset_tables(run),
        "dataset_charts": dataset_charts(run),
        "people_charts": class_charts(run),
        "judge_charts": [(criterion, agreement_charts(run, criterion)) for criterion in criteria],
        "prompt_charts": prompt_charts(run),
        "case_charts": case_charts(run),
    }


def pack(run: AuditRun, csv: Mapping[str, str], room: int) -> Payload:
    """Disagreements and CSV files, for which there is always some room."""
    return disagreements.pack(run, csv, max(room, LEAST_ROOM))


PAGE = Page(
    brand="audit of judges per language",
    facts=summary,
    definitions=definitions,
    charts=charts,
    tables=tables,
    content=content,
    template="report.html",
    styles=("report.css",),
    scripts=("common.js", "disagreements.js"),
    pack=pack,
)
