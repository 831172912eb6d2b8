"""How far people agree: METAL's Table 6, the three ceilings, the classes they give (Figure 2)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from metal.auditing.paper_tables import PEOPLE
from metal.data.languages import language_name
from metal.data.text import UNDEFINED, count, figure
from metal.runs.audit_run import AuditRun
from metal.show.charts.classes import Bar, class_bars
from metal.show.notes import undefined
from metal.show.view import Cell, Chart, TableView


def agreement_table(run: AuditRun) -> TableView:
    """Languages in rows, criteria in columns, Fleiss' kappa / pairwise F1 in cells."""
    cells = {(row["language"], row["criterion"]): row for row in run.records("people")}
    rows = [
        (
            Cell(language, language_name(language)),
            *(_pair(cells.get((language, criterion.name))) for criterion in run.audited),
        )
        for language in run.languages
    ]
    columns = ("", *(criterion.short for criterion in run.audited))
    notes = undefined(run, "people", cells.values(), ("fleiss_kappa", "pairwise_f1"))
    return TableView.of(run, "table_6", "Fleiss' kappa / pairwise F1", columns, rows, notes=notes)


def _pair(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(UNDEFINED)
    return Cell(f"{figure(row['fleiss_kappa'])} / {figure(row['pairwise_f1'])}")


def ceilings_table(run: AuditRun) -> TableView:
    """Every language and criterion with its coefficients and the three human ceilings."""
    rows = run.records("people")
    agreeing = ("all_agree", "some_agree", "none_agree")
    return TableView.of_figures(
        run,
        "people",
        "What people reach",
        rows,
        cells={
            "criterion": lambda row: Cell(run.short(row["criterion"])),
            "all_agree": lambda row: Cell(" / ".join(count(row[items]) for items in agreeing)),
        },
        heads=2,
        notes=undefined(run, "people", rows),
    )


def class_charts(run: AuditRun) -> list[Chart]:
    """A chart a criterion: the aggregate classes of the people in each language and in all."""
    charts = []
    for criterion in run.audited:
        counts: dict[str, dict[str, int]] = {}
        for row in run.records("class_distribution", criterion=criterion.name, case="all items", side=PEOPLE):
            counts.setdefault(row["language"], {})[row["level"]] = int(row["count"])
        in_all = Counter[str]()
        for by in counts.values():
            in_all.update(by)
        bars = [Bar("", "all languages", in_all)] if len(counts) > 1 else []
        bars += [
            Bar("", f"{code} {language_name(code)}", by) for code, by in sorted(counts.items()) if any(by.values())
        ]
        label = criterion.label or criterion.name
        charts.append(class_bars(f"classes_{run.slug(criterion)}", label, criterion, bars))
    return charts
