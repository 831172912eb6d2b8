"""How far people agree: METAL's Table 6, the three ceilings, the classes they give (Figure 2)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from metal.auditing.distribution import PEOPLE
from metal.data.languages import language_name
from metal.data.text import UNDEFINED, count, figure, interval
from metal.runs.audit_run import AuditRun
from metal.show import notes
from metal.show.charts.classes import Bar, class_bars
from metal.show.view import Cell, Chart, TableView

CEILINGS = {
    "pairwise_f1": "F1 pairwise",
    "leave_one_out_f1": "F1 against the others",
    "against_all_f1": "F1 against all",
}


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
    return TableView(
        "table_6",
        "Fleiss' kappa / pairwise F1",
        ("", *(criterion.short for criterion in run.audited)),
        tuple(rows),
        "table_6",
        run.signature_of("table_6"),
        notes=notes.undefined(cells.values(), run, ("fleiss_kappa", "pairwise_f1")),
    )


def _pair(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(UNDEFINED)
    return Cell(f"{figure(row['fleiss_kappa'])} / {figure(row['pairwise_f1'])}")


def ceilings_table(run: AuditRun) -> TableView:
    """Every language and criterion with its coefficients and the three human ceilings."""
    shown = (*CEILINGS, "fleiss_kappa", "alpha", "gwet_ac1", "percent_agreement")
    records = run.records("people")
    rows = [
        (
            Cell(run.criteria[row["criterion"]].short),
            Cell(row["language"], language_name(row["language"])),
            Cell(count(row["people"])),
            Cell(count(row["items_with_class"]), f"{count(row['sources'])} sources"),
            *(_estimate(row, key) for key in (*CEILINGS, "fleiss_kappa")),
            Cell(figure(row["alpha"])),
            _estimate(row, "gwet_ac1"),
            Cell(figure(row["percent_agreement"])),
            Cell(f"{count(row['all_agree'])} / {count(row['some_agree'])} / {count(row['none_agree'])}"),
        )
        for row in records
    ]
    columns = (
        "",
        "language",
        "people",
        "items",
        *CEILINGS.values(),
        "Fleiss' kappa",
        "alpha",
        "AC1",
        "agreement",
        "all / some / none agree",
    )
    return TableView(
        "people",
        "What people reach",
        columns,
        tuple(rows),
        "people",
        run.signature_of("people"),
        heads=2,
        notes=notes.undefined(records, run, shown),
    )


def _estimate(row: dict[str, Any], key: str) -> Cell:
    return Cell(figure(row[key]), interval(row[f"{key}_low"], row[f"{key}_high"]))


def class_charts(run: AuditRun) -> list[Chart]:
    """A chart a criterion: the aggregate classes of the people in each language and in all."""
    charts = []
    for criterion in run.audited:
        counts: dict[str, dict[str, int]] = {}
        for row in run.records("class_distribution", criterion=criterion.name, case="all items", side=PEOPLE):
            counts.setdefault(row["language"], {})[row["level"]] = int(row["count"])
        whole = Counter[str]()
        for by in counts.values():
            whole.update(by)
        bars = [Bar("", "all languages", whole)] if len(counts) > 1 else []
        bars += [
            Bar("", f"{code} {language_name(code)}", by) for code, by in sorted(counts.items()) if any(by.values())
        ]
        label = criterion.label or criterion.name
        charts.append(class_bars(f"classes_{run.slug(criterion)}", label, criterion, bars))
    return charts
