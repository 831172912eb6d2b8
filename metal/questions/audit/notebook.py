"""An audit in a notebook: the page's matrix of verdicts, where each cell opens to show its reason.

Each element has its own style attribute, because notebooks, and sites that show them, drop style
sheets and scripts.
"""

from __future__ import annotations

from itertools import chain

from markupsafe import Markup, escape

from metal.data.text import UNDEFINED, count, name, plural, printable_sentence
from metal.questions.audit.matrix import LOOKS
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import (
    AGREEMENT,
    JudgeVerdicts,
    VerdictCell,
    by_judge,
    judged_criteria,
    standing,
)
from metal.show.pages import headline
from metal.show.parts import headings

MOST_VERDICTS = 600  # of all matrices; further judges have a line each
INK = "#17181b"
TABLE = '<div style="overflow-x:auto"><table style="border-collapse:separate;border-spacing:2px">'
HEAD = '<th style="text-align:left;font-weight:normal;white-space:nowrap">{}</th>'
CELL = (
    '<td style="text-align:left;vertical-align:top;background:{};color:{};border:1px solid {};'
    'border-radius:3px;padding:2px 6px;max-width:16em"><details><summary>{} <b>{}</b><br>'
    "<small>{}</small></summary><small>{}</small></details></td>"
)
JUDGE = Markup("<details {}><summary><b>{}</b> <small>{}</small></summary>{}</details>")


def in_notebook(run: AuditRun) -> str:
    """The headline and the verdicts of each judge as HTML, best judge first and open."""
    judges = sorted(by_judge(run), key=standing)
    parts = [Markup("<p><b>{}</b></p>").format(headline(run))]
    drawn = 0
    for number, judge in enumerate(judges):
        counts = ", ".join(
            f"{count(number)} {verdict.lower()}" for _, verdict, number in judge.counts
        )
        drawn += len(judge.verdicts)
        matrix = _matrix(run, judge) if not number or drawn <= MOST_VERDICTS else Markup()
        opened = "" if number else "open"
        parts.append(JUDGE.format(opened, name(judge.judge), counts, matrix))
    rest = f"Choose a cell to see its reason. {AGREEMENT}" if judges else "No judges took part."
    if drawn > MOST_VERDICTS:
        rest += f" audit.verdicts has all {plural(drawn, 'verdict')}."
    parts.append(Markup("<p><small>{}</small></p>").format(rest))
    return printable_sentence("".join(parts))


def _matrix(run: AuditRun, judge: JudgeVerdicts) -> Markup:
    """One judge's verdicts: criteria in rows, languages in columns."""
    criteria = [name(criterion.title) for criterion in judged_criteria(run)]
    languages = list(map(name, headings(run.languages)))
    rows = [chain(["<td></td>"], map(_head, languages))]
    rows += [
        chain([_head(title)], map(_cell, cells))
        for title, cells in zip(criteria, judge.cells, strict=True)
    ]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return Markup(f"{TABLE}{body}</table></div>")  # noqa: S704  each cell is escaped


def _head(text: str) -> str:
    return HEAD.format(escape(text))


def _cell(cell: VerdictCell | None) -> str:
    if not cell:
        return f"<td>{UNDEFINED}</td>"
    fill, border, _ = LOOKS[cell.word]
    reason = " ".join([cell.reason, *cell.lines])
    texts = map(escape, (cell.sign, cell.words, cell.figure, reason))
    return CELL.format(fill, INK, border, *texts)
