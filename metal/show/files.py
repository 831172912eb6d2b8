"""Files that a report becomes: the page, its charts, its tables for papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from metal.data.folders import new_file
from metal.errors import MissingExtra
from metal.show.latex import beyond_latin, to_latex
from metal.show.svg import standalone
from metal.show.view import Chart, TableView


def write_charts(charts: Sequence[Chart], folder: Path, advance: Callable[[int, int], None]) -> int:
    """Every chart as SVG, PDF and PNG in the folder; their number. Raises MissingExtra before anything is written."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("writing charts as PDF and PNG", "figures") from None
    drawn = [chart for chart in charts if chart.svg]
    folder.mkdir(parents=True, exist_ok=True)
    for done, chart in enumerate(drawn):
        advance(done, len(drawn))
        picture = standalone(chart.svg, chart.alt)
        contents = {
            "svg": picture.encode("utf-8"),
            "pdf": vl_convert.svg_to_pdf(picture),
            "png": vl_convert.svg_to_png(picture, scale=3),
        }
        for ending, content in contents.items():
            with new_file(folder / f"{chart.name}.{ending}") as partial:
                partial.write_bytes(content)
    advance(len(drawn), len(drawn))
    return len(drawn)


def write_svg(charts: Iterable[Chart], folder: Path) -> int:
    """Every chart as SVG alone, which needs no extra; their number."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for chart in charts:
        with new_file(folder / f"{chart.name}.svg") as partial:
            partial.write_text(standalone(chart.svg, chart.alt), encoding="utf-8")
        written += 1
    return written


def write_tables_latex(tables: Sequence[TableView], folder: Path) -> tuple[int, bool]:
    """Every table as a .tex file in the folder; how many, and whether pdfLaTeX knows all letters."""
    written = {table.name: to_latex(table) for table in tables}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        with new_file(folder / f"{name}.tex") as partial:
            partial.write_text(text, encoding="utf-8")
    return len(written), not any(map(beyond_latin, written.values()))
