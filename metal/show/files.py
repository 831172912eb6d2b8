"""The files of a report: its charts, and its tables as LaTeX with booktabs, ready for \\input in a
paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from metal.data.copies import replace_files
from metal.data.progress import Progress
from metal.data.text import printable, without_isolates
from metal.errors import MissingExtra, UsageError
from metal.show.svg import standalone
from metal.show.view import Cell, Chart, TableView

FORMATS = (".svg", ".pdf", ".png")
_ESCAPES = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    # At the start of a row these would be read as options of what stands before it.
    **{char: f"{{{char}}}" for char in "[]*"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "\N{MINUS SIGN}": r"$-$",
    "\N{EN DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\n": " ",
}
HEAD = (
    "% {title}. Needs \\usepackage{{booktabs,graphicx}}.\n"
    "% Names beyond Latin scripts need LuaLaTeX or XeLaTeX with a font that has them.\n"
)
PAGE_LINES = 44  # of a table that still fits a page
PAGE_CHARACTERS = 72  # of a row that still fits the usual width of text
LAST_LATIN = "\u017f"  # of the characters that pdfLaTeX knows


def chart_svg(chart: Chart) -> str:
    """The chart as the text of an SVG file of its own.

    Raises UsageError if the chart has only numbers.
    """
    if not chart.svg:
        raise UsageError(f"the chart {chart.name!r} has no drawing: {' '.join(chart.notes)}")
    return standalone(chart.svg, chart.alt)


def _picture(chart: Chart, ending: str) -> bytes:
    """The chart as the content of a file in one of FORMATS."""
    drawn = chart_svg(chart)
    if ending == ".svg":
        return drawn.encode("utf-8")
    if ending == ".pdf":
        return bytes(_converter().svg_to_pdf(drawn))
    return bytes(_converter().svg_to_png(drawn, scale=3))


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("writing charts as PDF and PNG", "figures") from None
    return vl_convert


def write_charts(charts: Sequence[Chart], folder: Path, advance: Progress) -> int:
    """Write every chart as SVG, PDF and PNG into the folder; return the number of charts.

    Raises MissingExtra before anything is written.
    """
    _converter()
    drawn = [chart for chart in charts if chart.svg]
    pictures = {}
    for done, chart in enumerate(drawn):
        advance(done, len(drawn))
        for ending in FORMATS:
            pictures[f"{chart.name}{ending}"] = _picture(chart, ending)
    replace_files(folder, pictures)
    advance(len(drawn), len(drawn))
    return len(drawn)


def write_svg(charts: Iterable[Chart], folder: Path) -> int:
    """Write every chart as SVG only, which needs no extra; return the number of charts."""
    drawn = list(charts)
    replace_files(folder, {f"{chart.name}.svg": _picture(chart, ".svg") for chart in drawn})
    return len(drawn)


def write_tables_latex(tables: Sequence[TableView], folder: Path) -> tuple[int, bool]:
    """Write every table as a .tex file into the folder; return their number, and whether pdfLaTeX
    knows all letters.
    """
    texts = {table.name: to_latex(table) for table in tables}
    replace_files(folder, {f"{name}.tex": text.encode() for name, text in texts.items()})
    return len(texts), all(char <= LAST_LATIN for text in texts.values() for char in text)


def escape(text: str) -> str:
    """Text for LaTeX with every special character escaped."""
    return "".join(_ESCAPES.get(char, char) for char in printable(without_isolates(text)))


def to_latex(table: TableView) -> str:
    """The table as `table` environments with caption, label, notes and signature; a long table has
    several parts.

    The lower line of a cell goes into a row of its own in small type. A table that is too wide is
    scaled to the width of the text.
    """
    parts = _parts(table)
    lines = [HEAD.format(title=" ".join(escape(table.title).split()))]
    for index, rows in enumerate(parts):
        part = f" ({index + 1} of {len(parts)})" if parts[1:] else ""
        label = f"{table.name.replace('_', '-')}-{index + 1}" if part else table.name
        lines += _part(table, rows, part, label.replace("_", "-"))
        if index == len(parts) - 1:
            lines += [rf"\par\smallskip\footnotesize {escape(note)}" for note in table.remarks]
        lines.append(r"\end{table}")
    if table.signature:
        lines.append("% " + " ".join(printable(table.signature).split()))
    return "\n".join(lines) + "\n"


def _parts(table: TableView) -> list[list[tuple[Cell, ...]]]:
    """The rows, cut into pages; if possible, a page ends where a group of rows ends."""
    parts: list[list[tuple[Cell, ...]]] = [[]]
    used = 0
    for row in table.rows:
        height = 2 if any(cell.below for cell in row) else 1
        begins = bool(parts[-1]) and row[0].text != parts[-1][-1][0].text
        if used + height > PAGE_LINES or (begins and used > PAGE_LINES * 2 / 3):
            parts.append([])
            used = 0
        parts[-1].append(row)
        used += height
    return parts


def _part(
    table: TableView, rows: Sequence[tuple[Cell, ...]], part: str, label: str
) -> Iterator[str]:
    """The lines of an environment up to its notes.

    part: the number of this part, if there are several.
    """
    columns = "".join("l" if left else "r" for left in table.flush_left)
    wide = _width(table) > PAGE_CHARACTERS
    yield r"\begin{table}[p]" if part else r"\begin{table}"
    yield r"\centering\small"
    yield rf"\caption{{{escape(table.title)}{part}}}"
    yield rf"\label{{tab:{label}}}"
    if wide:
        yield r"\resizebox{\textwidth}{!}{%"
    yield rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}"
    yield r"\toprule"
    yield " & ".join(map(escape, table.columns)) + r" \\"
    yield r"\midrule"
    before = None
    for row in rows:
        first = row[0]
        if table.heads > 1 and first.text == before:
            first = Cell("")
        elif table.heads > 1 and before is not None:
            yield r"\addlinespace"
        before = row[0].text
        yield from _lines((first, *row[1:]))
    yield r"\bottomrule"
    yield r"\end{tabular}" + ("}" if wide else "")


def _lines(row: Sequence[Cell]) -> Iterator[str]:
    """A row, followed by a row with the lower lines of its cells."""
    texts = " & ".join(map(_cell, row))
    if not any(cell.below for cell in row):
        yield texts + r" \\"
        return
    yield texts + r" \\[-2pt]"
    below = (rf"\scriptsize {escape(cell.below)}" if cell.below else "" for cell in row)
    yield " & ".join(below) + r" \\[1pt]"


def _width(table: TableView) -> float:
    """The approximate width of a row in characters."""
    cells = zip(*(list(map(Cell, table.columns)), *table.rows), strict=True)
    return sum(
        max(max(len(cell.text), 0.75 * len(cell.below)) for cell in column) + 2 for column in cells
    )


def _cell(cell: Cell) -> str:
    return rf"\textbf{{{escape(cell.text)}}}" if cell.mark == "strong" else escape(cell.text)
