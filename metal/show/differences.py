"""Judges against each other, and prompts of one model against each other, paired on the same items."""

from __future__ import annotations

from typing import Any

from metal.data.text import interval, known, p_value, signed, within
from metal.runs.audit_run import AuditRun
from metal.show.charts.forest import Difference, forest
from metal.show.view import Cell, Chart, TableView

MOST_PAIRS = 30  # of a criterion; the CSV has all
NOTE = (
    "First minus second in weighted F1, over the items both answered. Bold and starred: significant at 5% after Holm's "
    "correction over the languages of the pair."
)


def is_prompt_pair(run: AuditRun, row: dict[str, Any]) -> bool:
    """Whether both judges are the same model asked with different prompts."""
    (model, prompt), (other, another) = (run.model_and_prompt(row[side]) for side in ("first", "second"))
    return model == other and prompt != another and bool(prompt or another)


def difference_tables(run: AuditRun) -> list[TableView]:
    """A table of prompt pairs and one of judge pairs; those that have rows."""
    records = run.records("differences")
    prompts = [row for row in records if is_prompt_pair(run, row)]
    judges = [row for row in records if not is_prompt_pair(run, row)]
    tables = (
        _table(run, "differences_prompts", "Between prompts of one model", prompts),
        _table(run, "differences_judges", "Between judges", judges),
    )
    return [table for table in tables if table.rows]


def _table(run: AuditRun, key: str, title: str, records: list[dict[str, Any]]) -> TableView:
    rows, cut = [], []
    for criterion in run.audited:
        pairs: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        for row in records:
            if row["criterion"] == criterion.name:
                pairs.setdefault((row["first"], row["second"]), {})[row["language"]] = row
        shown = sorted(pairs.items(), key=lambda pair: _smallest_p(pair[1]))[:MOST_PAIRS]
        if len(pairs) > MOST_PAIRS:
            cut.append(
                f"{criterion.short}: the {MOST_PAIRS} pairs of {len(pairs)} with the smallest p; the CSV has all."
            )
        for (first, second), by in shown:
            cells = (_cell(by.get(language)) for language in run.languages)
            rows.append((Cell(criterion.short), Cell(f"{within(first)} − {within(second)}"), *cells))
    columns = ("", "first − second", *run.languages)
    return TableView.of(run, "differences", title, columns, rows, name=key, heads=2, notes=(NOTE, *cut))


def _smallest_p(by_language: dict[str, dict[str, Any]]) -> float:
    return min((row["p_adjusted"] for row in by_language.values() if known(row["p_adjusted"])), default=2.0)


def _cell(row: dict[str, Any] | None) -> Cell:
    if row is None or not known(row["difference"]):
        return Cell(signed(None), (row or {}).get("undefined") or "")
    significant = known(row["p_adjusted"]) and row["p_adjusted"] < 0.05
    below = f"{interval(row['difference_low'], row['difference_high'], signed)} p {p_value(row['p_adjusted'])}"
    return Cell(
        signed(row["difference"]) + (" *" if significant else ""), below.strip(), "strong" if significant else ""
    )


def prompt_charts(run: AuditRun) -> list[Chart]:
    """A chart a criterion of the differences between prompts."""
    records = [row for row in run.records("differences") if is_prompt_pair(run, row)]
    charts = []
    for criterion in run.audited:
        differences = [
            Difference(
                _pair_name(run, row),
                row["language"],
                row["difference"],
                row["difference_low"],
                row["difference_high"],
                row["p_adjusted"],
            )
            for row in sorted(records, key=lambda row: (row["first"], row["second"], row["language"]))
            if row["criterion"] == criterion.name
        ]
        if differences:
            label = criterion.label or criterion.name
            charts.append(
                forest(f"prompts_{run.slug(criterion)}", label, differences, "second is better", "first is better")
            )
    return charts


def _pair_name(run: AuditRun, row: dict[str, Any]) -> str:
    model, first = run.model_and_prompt(row["first"])
    _, second = run.model_and_prompt(row["second"])
    return f"{model}: {first or '(none)'} − {second or '(none)'}"
