"""The report of an audit as one HTML file."""

from __future__ import annotations

from typing import Any

from metal.data.csv_cells import csv_text
from metal.runs.audit_run import AuditRun
from metal.show.dataset import dataset_charts, dataset_tables
from metal.show.differences import difference_tables, prompt_charts
from metal.show.disagreements import pack
from metal.show.distribution import case_charts, prediction_table
from metal.show.document import PAGE_BYTES, document
from metal.show.exclusions import exclusions_table
from metal.show.judges import agreement_charts, f1_table, figures_table, self_agreement_table
from metal.show.methods import definitions, left_out_table
from metal.show.overview import legend, matrices
from metal.show.packing import Packed
from metal.show.people import agreement_table, ceilings_table, class_charts
from metal.show.sections import settings_in_words
from metal.show.summary import summary
from metal.show.view import Chart, TableView

LEAST_ROOM = 400_000  # for disagreements and CSV, even where tables and charts alone fill a page


def charts(run: AuditRun) -> list[Chart]:
    """Every chart of the report, in its order (also for files of their own)."""
    of_judges = [chart for criterion in run.audited for chart in agreement_charts(run, criterion)]
    return [*dataset_charts(run), *class_charts(run), *of_judges, *prompt_charts(run), *case_charts(run)]


def tables(run: AuditRun) -> list[TableView]:
    """Every table of the report, in its order (also for LaTeX)."""
    of_judges = [f1_table(run), figures_table(run), prediction_table(run)] if run.judge_names else []
    again = [table for table in [self_agreement_table(run)] if table.rows]
    people = [*dataset_tables(run), agreement_table(run), ceilings_table(run)]
    people += filter(None, [exclusions_table(run)])
    return [*people, *of_judges, *difference_tables(run), *again, left_out_table(run)]


def page(run: AuditRun) -> str:
    """The whole report. Two runs with equal tables give equal pages."""
    write = document("report.html", _content(run), styles=("report.css",), scripts=("common.js", "disagreements.js"))
    empty = Packed("", 0, run.disagreement_table.num_rows, frozenset(run.tables))
    room = max(PAGE_BYTES - len(write(empty).encode()), LEAST_ROOM)
    csv = {key: csv_text(table) for key, table in run.tables.items()}
    return write(pack(run, csv, room))


def _content(run: AuditRun) -> dict[str, Any]:
    shown = tables(run)
    return {
        "run": run,
        "brand": "audit of judges per language",
        "facts": summary(run),
        "settings": settings_in_words(run),
        "matrices": matrices(run),
        "legend": legend(),
        "tables": {table.name: table for table in shown},
        "dataset_tables": dataset_tables(run),
        "dataset_charts": dataset_charts(run),
        "people_charts": class_charts(run),
        "judge_charts": [(criterion, agreement_charts(run, criterion)) for criterion in run.audited]
        if run.judge_names
        else [],
        "prompt_charts": prompt_charts(run),
        "case_charts": case_charts(run),
        "definitions": definitions(run),
    }
