"""What `metal audit` prints; and how every screen ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metal import __version__
from metal.auditing.verdict import VERDICTS
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, count, coverage, name, plural, signature_line, within
from metal.runs.audit_run import AuditRun
from metal.runs.run import Run
from metal.show.judges import floors, self_agreement_table
from metal.show.overview import SIGNS, sentence
from metal.show.view import Cell, Paragraph, Screen, TableView

MOST_LEVELS = 7  # more levels than this are counted, not listed
WITH_REASONS = 60  # more verdicts than this are shown as a matrix only
MOST_WARNINGS = 20
OF_PEOPLE = ("fleiss_kappa", "pairwise_f1", "leave_one_out_f1", "against_all_f1")


def screen(run: AuditRun, by: Sequence[str] = ()) -> Screen:
    """A table a criterion, the verdicts with their reasons, how judges agree with themselves."""
    people = sum(rater.kind == "human" for rater in run.raters.values())
    languages = ", ".join(f"{code} {language_name(code)}" for code in run.languages)
    compared = f"{plural(people, 'person', 'people')}, {plural(len(run.judge_names), 'judge')}"
    yield Paragraph(f"{run.name}: {compared}; {languages}", strong=True)
    for criterion in run.audited:
        yield criterion_table(run, criterion)
        about = {"metal": __version__, "data": run.data["identity"], "stat": "wf1", "crit": criterion.short}
        yield Paragraph(signature_line(about), soft=True, copied=True)
    if run.judge_names:
        yield verdict_table(run)
        yield from _verdict_reasons(run)
    else:
        yield Paragraph("No judges in the data: only the people were compared. Add a run folder of `metal judge`.")
    if len(run.tables["self_agreement"]):
        yield self_agreement_table(run)
    yield from closing(run)


def closing(run: Run) -> Iterator[Paragraph]:
    """The warnings, and the signature under it all."""
    if run.warnings:
        yield Paragraph("")
    yield from (Paragraph(f"warning: {warning}") for warning in run.warnings[:MOST_WARNINGS])
    more = len(run.warnings) - MOST_WARNINGS
    if more > 0:
        yield Paragraph(f"... and {more:,} more warnings: warnings.txt in the run folder, and the report")
    yield Paragraph(f"Signature: {run.signature}", soft=True, copied=True)


def criterion_table(run: AuditRun, criterion: Criterion) -> TableView:
    """One criterion, languages in columns: the people, the most frequent class, every judge."""
    people = {row["language"]: row for row in run.records("people", criterion=criterion.name)}
    judges = run.records("judges", criterion=criterion.name)
    rows = [
        [Cell("items"), *(Cell(count(row["items_with_class"])) for row in people.values())],
        [Cell("left out"), *(Cell(count(_left_out(row))) for row in people.values())],
    ]
    for column in run.columns("people"):
        if column.name in OF_PEOPLE:
            rows.append([Cell(f"people: {column.title}"), *(Cell(column.text(row)) for row in people.values())])
    if judges:
        columns = {column.name: column for column in run.columns("judges")}
        majority = columns["majority_f1"]
        lowest = floors(run, criterion)
        cells = (Cell(majority.text(row) if (row := lowest[code]) else UNDEFINED) for code in people)
        rows.append([Cell(majority.title), *cells])
        by_judge: dict[str, dict[str, dict[str, Any]]] = {}
        for row in judges:
            by_judge.setdefault(row["judge"], {})[row["language"]] = row
        for judge, by_language in by_judge.items():
            rows.append([Cell(name(judge)), *(_judged(run, by_language.get(code)) for code in people)])
    notes = ("Judges: weighted F1, its 95% interval, kappa, coverage where below 100%.",) if judges else ()
    title = f"{criterion.label or criterion.name} ({_scale(criterion)})"
    return TableView.of(run, "judges", title, ("", *people), rows, name=f"on_{run.slug(criterion)}", notes=notes)


def _scale(criterion: Criterion) -> str:
    """The levels and which end is better, where that has a meaning."""
    levels = criterion.scale.levels
    text = criterion.scale.describe() if len(levels) <= MOST_LEVELS else f"{len(levels)} labels"
    if criterion.scale.measure == "nominal" and criterion.direction == "higher":
        return text
    return f"{text}; {criterion.direction} is better"


def _left_out(row: dict[str, Any]) -> int:
    """Items that people rated and that do not count: too few ratings, or no aggregate class."""
    return sum(int(part.split()[-1]) for part in str(row["dropped"]).split(", ") if part)


def _judged(run: AuditRun, row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell("")
    columns = {column.name: column for column in run.columns("judges")}
    f1, kappa = columns["weighted_f1"], columns["kappa"]
    below = [f1.ends(row), f"{kappa.title} {kappa.text(row)}", coverage(row["coverage"]) if row["coverage"] < 1 else ""]
    return Cell(f1.text(row), "\n".join(filter(None, below)))


def verdict_table(run: AuditRun) -> TableView:
    """Judges and criteria in rows, languages in columns, each verdict in a word."""
    records = run.records("verdicts")
    verdicts = {(row["judge"], row["criterion"], row["language"]): row["verdict"] for row in records}
    languages = sorted({language for _, _, language in verdicts})
    rows = [
        [
            Cell(name(judge)),
            Cell(run.short(criterion)),
            *(Cell(_word(verdicts.get((judge, criterion, language)))) for language in languages),
        ]
        for judge in dict.fromkeys(row["judge"] for row in records)
        for criterion in dict.fromkeys(row["criterion"] for row in records)
    ]
    legend = "; ".join(f"{_word(verdict)}: {verdict}" for verdict in VERDICTS if _word(verdict) != verdict)
    return TableView.of(run, "verdicts", "Verdicts", ("judge", "", *languages), rows, heads=2, notes=(f"{legend}.",))


def _word(verdict: str | None) -> str:
    return SIGNS[verdict][1] if verdict else UNDEFINED


def _verdict_reasons(run: AuditRun) -> Iterator[Paragraph]:
    records = run.records("verdicts")
    if len(records) > WITH_REASONS:
        yield Paragraph(f"The reasons for all {len(records)} verdicts stand in tables/verdicts.csv.")
        return
    for row in records:
        where = f"{row['language']} {run.short(row['criterion'])} {within(row['judge'])}"
        yield Paragraph(f"{where}: {row['verdict']}. {sentence(row['reason'])}")
