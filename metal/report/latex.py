"""Tables for papers: LaTeX with booktabs, ready to \\input."""

from __future__ import annotations

from metal.report.text import printable
from metal.report.view import Cell, TableView

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\N{MINUS SIGN}": r"$-$",
    "\N{EN DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\n": " ",
}
HEAD = (
    "% {title}. Needs \\usepackage{{booktabs}}{wide}.\n"
    "% Names beyond Latin scripts need LuaLaTeX or XeLaTeX with a font that has them.\n"
)


def escape(text: str) -> str:
    """Text for LaTeX, every special character harmless. \\textquotedbl needs T1, so straight quotes become ''."""
    return "".join(_ESCAPES.get(char, char) for char in printable(text)).replace(r"\textquotedbl{}", "''")


def to_latex(table: TableView) -> str:
    """The table as a `table` environment with caption, label, notes and signature.

    What stands below in a cell goes small into a row of its own; more than eight columns are scaled to fit.
    """
    columns = "l" * table.heads + "r" * (len(table.columns) - table.heads)
    wide = len(table.columns) > 8
    lines = [
        HEAD.format(title=" ".join(escape(table.title).split()), wide=" and graphicx" if wide else ""),
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{escape(table.title)}}}",
        rf"\label{{tab:{table.name.replace('_', '-')}}}",
    ]
    if wide:
        lines.append(r"\resizebox{\textwidth}{!}{%")
    lines += [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    lines += [" & ".join(escape(column) for column in table.columns) + r" \\", r"\midrule"]
    before = None
    for row in table.rows:
        if table.heads > 1 and before is not None and row[0].text != before:
            lines.append(r"\addlinespace")
        first = Cell("") if table.heads > 1 and row[0].text == before else row[0]
        before = row[0].text
        lines.append(" & ".join(_cell(cell) for cell in (first, *row[1:])) + r" \\")
        if any(cell.below for cell in row):
            below = (rf"\scriptsize {escape(cell.below)}" if cell.below else "" for cell in row)
            lines[-1] += "[-2pt]"
            lines.append(" & ".join(below) + r" \\[1pt]")
    lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
    lines += [rf"\par\smallskip\footnotesize {escape(note)}" for note in table.notes]
    lines.append(r"\end{table}")
    if table.signature:
        lines.append("% " + " ".join(printable(table.signature).split()))
    return "\n".join(lines) + "\n"


def _cell(cell: Cell) -> str:
    return rf"\textbf{{{escape(cell.text)}}}" if cell.mark == "strong" else escape(cell.text)
