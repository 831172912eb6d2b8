"""Judges against people: METAL's Table 3 with intervals, what F1 hides, and the charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import count, figure, interval, known, name, percent, signed
from metal.runs.audit_run import AuditRun
from metal.show import notes, svg
from metal.show.charts.agreement import CriterionF1, PointEstimate, dots, radar
from metal.show.charts.chance import F1AndKappa, f1_against_kappa
from metal.show.view import Cell, Chart, TableView

MOST_ROWS = 150  # a longer table is for the CSV


def f1_table(run: AuditRun) -> TableView:
    """Criterion, model and prompt in rows, languages in columns, weighted F1 and its interval in cells."""
    people = {(row["criterion"], row["language"]): row for row in run.records("people")}
    judges = {(row["criterion"], row["judge"], row["language"]): row for row in run.records("judges")}
    rows = []
    for criterion in run.audited:
        key = criterion.name
        of_people = {code: people.get((key, code)) for code in run.languages}
        for column, words in (("pairwise_f1", "people, pairwise"), ("leave_one_out_f1", "people, against the others")):
            rows.append(_f1_row(criterion, words, "", of_people, column, "floor"))
        if run.judge_names:
            rows.append(_f1_row(criterion, "most frequent class", "", _floors(run, criterion), "majority_f1", "floor"))
        for judge in run.judge_names:
            mine = {code: judges.get((key, judge, code)) for code in run.languages}
            if any(mine.values()):
                rows.append(_f1_row(criterion, *run.shown_as(judge), mine, "weighted_f1", ""))
    return TableView(
        "table_3",
        "Weighted F1 with 95% intervals",
        ("", "model", "prompt", *run.languages),
        tuple(rows),
        "judges",
        run.signature_of("judges"),
        heads=3,
        notes=notes.undefined(judges.values(), run, ("weighted_f1", "majority_f1")),
    )


def _floors(run: AuditRun, criterion: Criterion) -> dict[str, dict[str, Any] | None]:
    """language -> the row with the floor: of the judge with the most items, where judges had different ones."""
    found: dict[str, dict[str, Any] | None] = dict.fromkeys(run.languages)
    for row in run.records("judges", criterion=criterion.name):
        best = found[row["language"]]
        if known(row["majority_f1"]) and (best is None or row["asked"] > best["asked"]):
            found[row["language"]] = row
    return found


def _f1_row(
    criterion: Criterion, model: str, prompt: str, by: Mapping[str, Any], column: str, mark: str
) -> tuple[Cell, ...]:
    values = []
    for row in by.values():
        ends = (row[f"{column}_low"], row[f"{column}_high"]) if row else (None, None)
        values.append(Cell(figure(row[column] if row else None), interval(*ends), mark))
    return Cell(criterion.short), Cell(model, mark=mark), Cell(prompt, mark=mark), *values


def self_agreement_table(run: AuditRun) -> TableView:
    """How often each judge says the same again; no rows where none was asked twice."""
    rows = [
        (
            Cell(run.criteria[row["criterion"]].short),
            Cell(row["language"], language_name(row["language"])),
            Cell(name(row["judge"])),
            Cell(count(row["times"])),
            Cell(count(row["items"])),
            Cell(figure(row["self_agreement"]), interval(row["self_agreement_low"], row["self_agreement_high"])),
            Cell(percent(row["all_equal"] / row["items"] if row["items"] else None)),
            Cell(figure(row["alpha"])),
        )
        for row in run.records("self_agreement")[:MOST_ROWS]
    ]
    return TableView(
        "self_agreement",
        "Judges asked again",
        ("", "language", "judge", "times", "items", "self-agreement", "always the same", "alpha"),
        tuple(rows),
        "self_agreement",
        run.signature_of("self_agreement"),
        heads=3,
        notes=(
            "Self-agreement: share of equal pairs among a judge's answers to the same question, at the same settings.",
            *notes.undefined(run.records("self_agreement"), run, ("self_agreement", "alpha")),
        ),
    )


COEFFICIENTS = ("weighted_f1", "kappa", "kappa_quadratic", "gwet_ac1", "percent_agreement", "macro_f1", "strict_f1")


def figures_table(run: AuditRun) -> TableView:
    """Every judge, language and criterion with all coefficients, lead, distance to people, and test."""
    records = run.records("judges")
    rows = [
        (
            Cell(run.criteria[row["criterion"]].short),
            Cell(row["language"], language_name(row["language"])),
            Cell(name(row["judge"])),
            Cell(count(row["asked"]), f"{count(row['sources'])} sources"),
            Cell(percent(row["coverage"])),
            *(Cell(figure(row[key]), interval(row[f"{key}_low"], row[f"{key}_high"])) for key in COEFFICIENTS),
            Cell(figure(row["alpha"])),
            _signed(row, "lead_over_majority"),
            _signed(row, "difference_to_people"),
            Cell(figure(row["alt_test_winning_rate"]), _passed(row)),
        )
        for row in records[:MOST_ROWS]
    ]
    columns = (
        "",
        "language",
        "judge",
        "items",
        "coverage",
        *(notes.FIGURES[key] for key in COEFFICIENTS),
        "alpha",
        "lead over most frequent class",
        "difference to people",
        "alternative annotator test",
    )
    cut = (f"The first {MOST_ROWS} of {len(records):,} rows; the CSV has all.",) if len(records) > MOST_ROWS else ()
    shown = (*COEFFICIENTS, "alpha", "lead_over_majority", "difference_to_people", "alt_test")
    return TableView(
        "judges",
        "Every judge, with what F1 hides",
        columns,
        tuple(rows),
        "judges",
        run.signature_of("judges"),
        heads=3,
        notes=(*cut, *notes.undefined(records, run, shown)),
    )


def _signed(row: Mapping[str, Any], key: str) -> Cell:
    return Cell(signed(row[key]), interval(row[f"{key}_low"], row[f"{key}_high"], signed))


def _passed(row: Mapping[str, Any]) -> str:
    return {"yes": "passed", "no": "failed"}.get(row["alt_test_passed"], "")


def _chunks(judges: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """As many judges as one drawing can hold apart, and `1 of 2` where there are more."""
    pieces = math.ceil(len(judges) / svg.SERIES)
    size = math.ceil(len(judges) / pieces) if pieces else 0
    for piece in range(pieces):
        yield judges[piece * size : (piece + 1) * size], f"{piece + 1} of {pieces}" if pieces > 1 else ""


def agreement_charts(run: AuditRun, criterion: Criterion) -> list[Chart]:
    """Radar, dots and F1 against kappa of one criterion; several of each where there are many judges."""
    key, label = run.slug(criterion), criterion.label or criterion.name
    people = {row["language"]: row for row in run.records("people", criterion=criterion.name)}
    records = run.records("judges", criterion=criterion.name)
    languages = [code for code in run.languages if code in people]
    column, words = "leave_one_out_f1", "against the others"
    if all(math.isnan(people[code][column]) for code in languages):
        column, words = "pairwise_f1", "pairwise"
    ceiling = {code: people[code][column] for code in languages}
    floor = {code: row["majority_f1"] for code, row in _floors(run, criterion).items() if row}
    charts: list[Chart] = []
    for judges, part in _chunks(tuple(dict.fromkeys(row["judge"] for row in records))):
        points: dict[str, dict[str, PointEstimate]] = {judge: {} for judge in judges}
        for row in records:
            if row["judge"] in points:
                point = PointEstimate(row["weighted_f1"], row["weighted_f1_low"], row["weighted_f1_high"])
                points[row["judge"]][row["language"]] = point
        shown = CriterionF1(key, label, languages, points, ceiling, floor, words, part)
        found = [
            F1AndKappa(
                row["judge"], row["language"], row["weighted_f1"], row["kappa"], row["kappa_low"], row["kappa_high"]
            )
            for row in records
            if row["judge"] in points
        ]
        drawn = (radar(shown), dots(shown), f1_against_kappa(shown.file("f1_kappa"), shown.title, label, found, judges))
        charts += [chart for chart in drawn if chart]
    return charts
