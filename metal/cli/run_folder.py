"""An audit's run folder: run.toml, raters.jsonl, warnings.txt, tables/ (CSV, JSON, Parquet), disagreements.parquet,
report.html.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from metal.audit.disagreements import SCHEMA
from metal.audit.verdict import VERDICTS
from metal.csv_cells import csv_text
from metal.dataset import Dataset, read_criterion, read_toml
from metal.dataset_lines import rater_record, read_raters
from metal.errors import DataError, MissingExtra, UsageError
from metal.folders import new_file, new_folder
from metal.json_files import write_jsonl
from metal.records import Manifest
from metal.report.latex import beyond_latin, to_latex
from metal.report.page import charts, page, tables
from metal.report.run import TABLES, Run
from metal.report.svg import standalone

if TYPE_CHECKING:
    from metal.audit.audit import Audit


def write_audit(folder: Path, found: Audit, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """An audit's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        (partial / "warnings.txt").write_text("".join(f"{_line(text)}\n" for text in found.warnings), encoding="utf-8")
        write_jsonl(partial / "raters.jsonl", (rater_record(dataset.raters[name]) for name in found.compared))
        write_tables(partial / "tables", found.tables)
        pq.write_table(found.disagreements, partial / "disagreements.parquet", compression="zstd")
        write_report(read_run(partial, folder.name), partial)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Each table as CSV, JSON and Parquet; the bytes depend on its figures only."""
    folder.mkdir()
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        (folder / f"{name}.json").write_text(json.dumps(records(table), indent=1, ensure_ascii=False) + "\n", "utf-8")
        table.to_parquet(folder / f"{name}.parquet", index=False)


def _line(text: str) -> str:
    return " ".join(text.split())


AGAIN = "Run `metal audit` again"


def read_run(folder: Path, name: str = "") -> Run:
    """An audit's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such run folder (make one with `metal audit`)")
    if not (folder / "run.toml").is_file():
        raise UsageError(f"{folder}: not a run folder, run.toml is missing (make one with `metal audit`)")
    about = read_toml(folder / "run.toml")
    if about.get("command") != "audit":
        whose = f"a run of `metal {about['command']}`" if "command" in about else "run.toml names no command"
        raise UsageError(f"{folder}: {whose}; a report is made from a run of `metal audit`")
    shapes = {"criteria": dict, "datasets": list, "settings": dict, "signature": str, "libraries": dict, "metal": str}
    for part, shape in shapes.items():
        if not isinstance(about.get(part), shape) or not about[part]:
            raise DataError(folder / "run.toml", f"no {part!r}", AGAIN)
    for part in ("raters.jsonl", "warnings.txt"):
        if not (folder / part).is_file():
            raise DataError(folder / part, "the file is missing", AGAIN)
    run = Run(
        name or folder.resolve().name,
        about,
        {key: read_criterion(key, entry, folder / "run.toml") for key, entry in about["criteria"].items()},
        {rater.rater: rater for rater in read_raters(folder)},
        {table: _table(folder / "tables" / f"{table}.parquet", needed) for table, needed in TABLES.items()},
        _lines(folder / "warnings.txt"),
        _disagreements(folder / "disagreements.parquet"),
    )
    _check_names(run, folder)
    return run


def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError:
        raise DataError(path, "not UTF-8", AGAIN) from None


def _parquet(path: Path) -> pa.Table:
    try:
        return pq.ParquetFile(path).read()
    except FileNotFoundError:
        raise DataError(path, "the file is missing", AGAIN) from None
    except (pa.ArrowInvalid, OSError) as error:
        first = str(error).split("\n")[0]
        raise DataError(path, f"not readable as Parquet ({first})", AGAIN) from None


def _table(path: Path, needed: set[str]) -> pd.DataFrame:
    """A table with the needed columns, or an empty one (of an audit without judges)."""
    table = _parquet(path)
    missing = sorted(needed - set(table.column_names))
    if missing and table.num_rows:
        raise DataError(path, f"no column {missing[0]!r}", AGAIN)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _disagreements(path: Path) -> pa.Table:
    try:
        return _parquet(path).select(SCHEMA.names).cast(SCHEMA)
    except (KeyError, ValueError, TypeError, NotImplementedError) as error:  # Arrow's errors are kinds of these
        if isinstance(error, DataError):
            raise
        first = str(error).split("\n")[0]
        raise DataError(path, f"not the columns of disagreements ({first})", AGAIN) from None


def _check_names(run: Run, folder: Path) -> None:
    """Every name in the tables is known, so that a page is never drawn from parts of different runs."""
    judged = [run.tables[table] for table in ("judges", "verdicts") if len(run.tables[table])]
    disagreeing = run.disagreements["ratings"].combine_chunks().flatten().field("rater").unique().to_pylist()
    known = (
        ("criterion", run.tables["people"]["criterion"], run.criteria, "run.toml"),
        *(("criterion", table["criterion"], run.criteria, "run.toml") for table in judged),
        *(("judge", table["judge"], run.raters, "raters.jsonl") for table in judged),
        ("rater", disagreeing, run.raters, "raters.jsonl"),
        *(("verdict", table["verdict"], VERDICTS, "its place") for table in judged if "verdict" in table),
    )
    for what, names, choices, where in known:
        for one in dict.fromkeys(names):
            if one not in choices:
                raise DataError(folder, f"{what} {one!r} of the tables is not in {where}", AGAIN)


def write_report(run: Run, folder: Path) -> Path:
    """report.html in the folder; one that is there is replaced only when the new one is whole."""
    path = folder / "report.html"
    if path.is_dir():
        raise UsageError(f"{path} is a folder, where the report should stand; move it away")
    with new_file(path) as partial:
        partial.write_text(page(run), encoding="utf-8", newline="\n")
    return path


def write_figures(run: Run, folder: Path, advance: Callable[[int, int], None]) -> int:
    """Every chart as SVG, PDF and PNG in the folder; their number. Raises MissingExtra before anything is written."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("writing charts as PDF and PNG", "figures") from None
    drawn = [chart for chart in charts(run) if chart.svg]
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


def write_latex(run: Run, folder: Path) -> tuple[int, bool]:
    """Every table of the report as a .tex file in the folder; how many, and whether pdfLaTeX knows all letters."""
    written = {table.name: to_latex(table) for table in tables(run)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        with new_file(folder / f"{name}.tex") as partial:
            partial.write_text(text, encoding="utf-8")
    return len(written), not any(map(beyond_latin, written.values()))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; undefined figures are null."""
    plain = table.astype(object)
    return [
        {str(key): value for key, value in row.items()} for row in plain.where(plain.notna(), None).to_dict("records")
    ]
