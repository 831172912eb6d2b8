"""Files that a report becomes: its charts, and its tables for papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

from metal.data.files import new_file
from metal.errors import MissingExtra, UsageError
from metal.show.latex import beyond_latin, to_latex
from metal.show.svg import standalone
from metal.show.view import Chart, TableView

FORMATS = (".svg", ".pdf", ".png")


def chart_svg(chart: Chart) -> str:
    """The chart as the text of an SVG file of its own.

    Raises UsageError where the chart is numbers alone.
    """
    if not chart.svg:
        raise UsageError(f"the chart {chart.name!r} has no drawing: {' '.join(chart.notes)}")
    return standalone(chart.svg, chart.alt)


def save_chart(chart: Chart, path: str | Path) -> None:
    """The chart as SVG, PDF or PNG, by the ending of the path; a file that is there is replaced.

    Raises MissingExtra where the library for PDF and PNG is not installed, UsageError for any other ending.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise UsageError(f"{path}: a chart is written as {', '.join(FORMATS)}; choose one of these endings")
    picture = chart_svg(chart)
    if ending == ".svg":
        content = picture.encode("utf-8")
    elif ending == ".pdf":
        content = _converter().svg_to_pdf(picture)
    else:
        content = _converter().svg_to_png(picture, scale=3)
    with new_file(path) as partial:
        partial.write_bytes(content)


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("writing charts as PDF and PNG", "figures") from None
    return vl_convert


def write_charts(charts: Sequence[Chart], folder: Path, advance: Callable[[int, int], None]) -> int:
    """Every chart as SVG, PDF and PNG in the folder; their number. Raises MissingExtra before anything is written."""
    _converter()
    drawn = [chart for chart in charts if chart.svg]
    folder.mkdir(parents=True, exist_ok=True)
    for done, chart in enumerate(drawn):
        advance(done, len(drawn))
        for ending in FORMATS:
            save_chart(chart, folder / f"{chart.name}{ending}")
    advance(len(drawn), len(drawn))
    return len(drawn)


def write_svg(charts: Iterable[Chart], folder: Path) -> int:
    """Every chart as SVG alone, which needs no extra; their number."""
    drawn = list(charts)
    folder.mkdir(parents=True, exist_ok=True)
    for chart in drawn:
        save_chart(chart, folder / f"{chart.name}.svg")
    return len(drawn)


def write_tables_latex(tables: Sequence[TableView], folder: Path) -> tuple[int, bool]:
    """Every table as a .tex file in the folder; how many, and whether pdfLaTeX knows all letters."""
    texts = {table.name: to_latex(table) for table in tables}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with new_file(folder / f"{name}.tex") as partial:
            partial.write_text(text, encoding="utf-8")
    return len(texts), not any(map(beyond_latin, texts.values()))
