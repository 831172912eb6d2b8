"""The page of generated texts."""

from __future__ import annotations

from metal.questions.generate.run import GenerateRun
from metal.show.view import Section, TableView

MOST_ROWS = 200


def answer(run: GenerateRun) -> TableView:
    """Texts by language."""
    return TableView.of_figures(run, "languages", "Texts by language", run.records("languages"), most=MOST_ROWS)


def sections(run: GenerateRun) -> list[Section]:
    """Who wrote them."""
    rows = run.records("texts")
    table = TableView.of_figures(run, "texts", "Texts by generator", rows, heads=3, most=MOST_ROWS)
    return [Section("generators", "Who wrote them", tables=(table,))]
