"""What `metal design` prints."""

from __future__ import annotations

from collections.abc import Sequence

from metal.genie.design.planning import F1, SCORE, TEST
from metal.runs.design_run import DesignRun
from metal.show.design.facts import facts
from metal.show.design.labels import designs_table, raters_table, stability_table
from metal.show.design.needs import costs_table, needs_table
from metal.show.screen import closing
from metal.show.view import Paragraph, Screen


def screen(run: DesignRun, by: Sequence[str] = ()) -> Screen:
    """Budgets of labels, populations, what each language needs, what that costs."""
    needs = (needs_table(run, question) for question in (F1, TEST, SCORE))
    for view in (designs_table(run), stability_table(run), raters_table(run), *needs, costs_table(run)):
        if view.rows:
            yield view
    yield from (Paragraph(line.says) for line in facts(run) if line.about == "Pay")
    yield from closing(run)
