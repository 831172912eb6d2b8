"""The page of a plan of labels, and what `metal design --for scores` prints."""

from __future__ import annotations

from typing import Any

from metal.questions.design.labels.answer import cards, headline, scope
from metal.questions.design.labels.run import LabelPlan
from metal.questions.design.labels.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import reasons
from metal.show.view import Section, TableView

MOST_ROWS = 60
EXPLAINED = (
    "95% intervals of means, as shares of the scale; the correlation is taken at its lower 80%"
    " bound."
)


def answer(run: LabelPlan) -> TableView:
    """The page's only table."""
    rows = run.records("labels")
    notes = (EXPLAINED, *reasons(run, "labels", rows, "language"))
    without = [] if "pay" in run.manifest["settings"].get("prices", {}) else ["usd"]
    # the headline names it
    alone = [head for head in ("criterion", "judge") if len({row[head] for row in rows}) == 1]
    options: dict[str, Any] = {
        "without": (*without, *alone),
        "heads": 3 - len(alone),
        "notes": notes,
    }
    return TableView.of_figures(
        run, "labels", "Labels for corrected means", rows, most=MOST_ROWS, **options
    )


def sections(run: LabelPlan) -> list[Section]:
    """No sections, because the table shows everything."""
    return []


PAGE = Page(
    brand="plan of labels",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
