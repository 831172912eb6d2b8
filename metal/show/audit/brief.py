"""What `metal audit` prints first: the verdicts of each judge, criteria by languages."""

from __future__ import annotations

from collections.abc import Iterator

from metal.data.languages import language_name
from metal.data.text import UNDEFINED, name
from metal.runs.audit_run import AuditRun
from metal.show.audit.people import agreement_table
from metal.show.audit.verdicts import JudgeVerdicts, by_judge, judged_criteria, named_languages, standing
from metal.show.view import Cell, TableView

MOST_MATRICES = 3  # of more judges, the best one's matrix under a line for each


def brief(run: AuditRun) -> Iterator[TableView]:
    """A matrix for each judge; of many, a line each and the best judge's matrix. Without judges, how people agree."""
    judges = sorted(by_judge(run), key=standing)
    judges = [of for of in judges if of.kind != "baseline"] or judges
    if not judges:
        yield agreement_table(run)
    if len(judges) > MOST_MATRICES:
        yield _tally(run, judges)
        judges = judges[:1]
    yield from (_matrix(run, of) for of in judges)


def _tally(run: AuditRun, judges: list[JudgeVerdicts]) -> TableView:
    """How often each judge got each verdict, best judge first."""
    rows = [
        (name(of.judge), Cell(", ".join(f"{number} {words.lower()}" for _, words, number in of.counts)))
        for of in judges
    ]
    return TableView.of(run, "verdicts", "Judges, best first", ("", ""), rows, name="tally", turns=True)


def _matrix(run: AuditRun, of: JudgeVerdicts) -> TableView:
    """The verdicts on a judge in words, with what it keeps of what a person knows."""
    rows = [
        (
            name(criterion.label or criterion.name),
            *(Cell(cell.words, cell.kept, cell.style) if cell else UNDEFINED for cell in cells),
        )
        for criterion, cells in zip(judged_criteria(run), of.cells, strict=True)
    ]
    columns = ("", *(name(language_name(code)) for code in named_languages(run)))
    return TableView.of(run, "verdicts", f"Verdicts on {name(of.judge)}", columns, rows, turns=True)
