"""The report as one HTML file: nothing is loaded from outside, and only the page's own script and style run."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metal.csv_cells import csv_text
from metal.report import svg
from metal.report.dataset import dataset_charts, dataset_tables
from metal.report.differences import difference_tables, prompt_charts
from metal.report.disagreements import pack
from metal.report.distribution import case_charts, prediction_table
from metal.report.judges import agreement_charts, f1_table, figures_table, self_agreement_table
from metal.report.methods import definitions, left_out_table
from metal.report.overview import legend, matrices
from metal.report.people import agreement_table, ceilings_table, class_charts
from metal.report.run import Run
from metal.report.summary import summary
from metal.report.text import count, name, printable_sentence
from metal.report.view import Chart, TableView

PAGE_BYTES = 1_450_000
LEAST_ROOM = 400_000  # for disagreements and CSV, even where tables and charts alone fill a page


def charts(run: Run) -> list[Chart]:
    """Every chart of the report, in its order (also for files of their own)."""
    of_judges = [chart for criterion in run.audited for chart in agreement_charts(run, criterion)]
    return [*dataset_charts(run), *class_charts(run), *of_judges, *prompt_charts(run), *case_charts(run)]


def tables(run: Run) -> list[TableView]:
    """Every table of the report, in its order (also for LaTeX)."""
    of_judges = [f1_table(run), figures_table(run), prediction_table(run)] if run.judges else []
    again = [table for table in [self_agreement_table(run)] if table.rows]
    people = [*dataset_tables(run), agreement_table(run), ceilings_table(run)]
    return [*people, *of_judges, *difference_tables(run), *again, left_out_table(run)]


def page(run: Run) -> str:
    """The whole report. Two runs with equal tables give equal pages."""
    environment = Environment(
        loader=PackageLoader("metal.report"),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": count, "name": name}
    style, script = _asset(environment, "report.css"), _asset(environment, "report.js")
    template = environment.get_template("report.html")
    content = _content(run) | {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script)}  # noqa: S704
    empty = {"blob": "", "shown": 0, "found": run.disagreements.num_rows, "csv": set(run.tables)}
    room = max(PAGE_BYTES - len(template.render(content, packed=empty).encode()), LEAST_ROOM)
    csv = {key: csv_text(table) for key, table in run.tables.items()}
    return template.render(content, packed=pack(run, csv, room))


def _harmless(value: Any) -> Any:
    """Whatever a template writes, without characters that a page must not hold."""
    if isinstance(value, Markup):
        return Markup(printable_sentence(value))  # noqa: S704  it was markup before
    return printable_sentence(value) if isinstance(value, str) else value


def _content(run: Run) -> dict[str, Any]:
    shown = tables(run)
    return {
        "run": run,
        "summary": summary(run),
        "matrices": matrices(run),
        "legend": legend(),
        "tables": {table.name: table for table in shown},
        "dataset_tables": dataset_tables(run),
        "dataset_charts": dataset_charts(run),
        "people_charts": class_charts(run),
        "judge_charts": [(criterion, agreement_charts(run, criterion)) for criterion in run.audited]
        if run.judges
        else [],
        "prompt_charts": prompt_charts(run),
        "case_charts": case_charts(run),
        "definitions": definitions(run),
        "inline": lambda chart: Markup(chart.svg),  # noqa: S704  metal.report.svg escapes what it is given
    }


def _asset(environment: Environment, file: str) -> str:
    assert environment.loader is not None
    text = environment.loader.get_source(environment, file)[0]
    return text if file.endswith(".js") else _colours() + svg.STYLE + text


def _colours() -> str:
    """The palette as variables, light unless the reader's system is dark; paper is always light."""

    def block(scheme: str) -> str:
        return ":root{" + "".join(f"--{key}:{value};" for key, value in svg.PALETTE[scheme].items()) + "}"

    return f"{block('light')}@media screen and (prefers-color-scheme:dark){{{block('dark')}}}"


def _policy(style: str, script: str) -> str:
    """Content security policy: this style and this script, and nothing from anywhere else."""

    def hashed(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
