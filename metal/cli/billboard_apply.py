"""`metal billboard apply`: an ensemble of a board scores other outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


@click.command("apply", short_help="Score outputs with an ensemble of a board.")
@click.argument("signature")
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "--board",
    type=click.Path(path_type=Path),
    help="Dataset or run folder that has the ensemble. [default: all in datasets/ and runs/]",
)
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write. [default: standard output]")
@click.option("--force", is_flag=True, help="Replace the file given with --out.")
def apply(signature: str, outputs: Path, board: Path | None, out: Path | None, force: bool) -> None:
    """Score OUTPUTS with the ensemble SIGNATURE, such as ensemble.cnndm+refs.AB+version.1, also an old one.

    \b
    OUTPUTS is one of
      a table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one for
        each member of the ensemble: scores as on the board, higher is better
      a folder with ratings by the members: a dataset, or a run of `metal score`
      a table with the columns source and text, for sources of the board: the
        members are run, where they can be

    Prints a CSV: output, score, and the reason where there is none.

    \b
    Examples:
      metal billboard apply ensemble.cnndm+refs.AB+version.1 runs/news-scores
      metal billboard apply ensemble.cnndm+refs.AB+version.1 new.jsonl --board datasets/cnndm
    """
    from metal.boards.apply import apply_ensemble, find_ensemble, members
    from metal.data.csv_cells import csv_text
    from metal.data.folders import check_new_file, new_file
    from metal.show.terminal import console as show

    if out:
        check_new_file(out, force=force)
    record = find_ensemble(signature, _ensembles(board))
    scores = _of_folder(outputs, members(record)) if outputs.is_dir() else _of_table(outputs, record, board)
    found = apply_ensemble(record, scores)
    text = csv_text(found)
    if not out:
        click.echo(text, nl=False)
        return
    with new_file(out) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
    without = int(found["score"].isna().sum())
    mean = f", mean {found['score'].mean():.4g}" if without < len(found) else ""
    said = f"{len(found):,} outputs{mean}" + (f"; {without:,} no score" if without else "")
    show.say(f"{record['ensemble']}: {said}; written to {out}")


def _ensembles(board: Path | None) -> list[Mapping[str, Any]]:
    """The ensembles of a dataset or run folder, or of all that are near."""
    from metal.boards.apply import read_ensemble
    from metal.boards.store import stored_ensembles
    from metal.data.json_files import read_json
    from metal.errors import UsageError

    folders = [board] if board else [*sorted(Path("datasets").glob("*")), *sorted(Path("runs").glob("*"))]
    found: list[Mapping[str, Any]] = []
    for folder in folders:
        found += stored_ensembles(folder)
        path = folder / "ensembles.json"
        if path.is_file():
            listed = read_json(path, "a list of ensembles")
            found += [read_ensemble(one, path) for one in (listed if isinstance(listed, list) else [listed])]
    if not found:
        where = str(board) if board else "datasets/ and runs/"
        raise UsageError(
            f"{where}: no ensembles there; `metal billboard DATASET` makes them, --board says where they are"
        )
    return found


def _of_folder(folder: Path, names: list[str]) -> pd.DataFrame:
    """The members' scores in a folder with ratings; of a board, also those of what joined."""
    from metal.boards.store import open_board, read_history
    from metal.data.ratings_files import find_ratings, read_facts
    from metal.data.records import METRIC_SCORE
    from metal.errors import DataError

    where = find_ratings(folder)
    facts = open_board(folder).dataset.ratings if read_history(folder) else read_facts(where)
    mine = facts[facts["rater"].isin(names) & (facts["criterion"] == METRIC_SCORE.name)]
    if (again := mine.duplicated(["output", "rater"])).any():
        first = mine[again].iloc[0]
        raise DataError(where, f"two scores of {first['output']!r} by {first['rater']!r}", "Keep one of them")
    wide = mine.astype({"output": object, "rater": object}).pivot(index="output", columns="rater", values="score")
    return wide.reset_index()


def _of_table(path: Path, record: Mapping[str, Any], board: Path | None) -> pd.DataFrame:
    """The members' scores in a table, or computed from its texts."""
    from metal.boards.apply import members
    from metal.boards.submission import SOURCE, TEXT
    from metal.boards.submitting import member_scores
    from metal.data.formats.table import read_frame
    from metal.errors import DataError, UsageError

    frame = read_frame(path, as_text=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    columns, lower = set(frame.columns), {name.lower() for name in frame.columns}
    if "output" in columns and columns & set(members(record)):
        return _as_numbers(frame, members(record), path)
    if lower & set(SOURCE) and lower & set(TEXT):
        if board is None or not (board / "dataset.toml").is_file():
            raise UsageError(f"{path} has texts; to score them the board's sources are needed: --board DATASET")
        return member_scores(board, frame, path, members(record))
    raise DataError(
        path,
        f"neither scores nor texts (columns found: {', '.join(sorted(columns))})",
        f"It has output and {', '.join(members(record))}; or source and text",
    )


def _as_numbers(frame: pd.DataFrame, names: list[str], path: Path) -> pd.DataFrame:
    import pandas as pd

    from metal.errors import DataError
    from metal.raters.metrics.outside_scores import NO_NUMBER

    first = 1 if path.suffix.lower() in (".jsonl", ".parquet") else 2
    if (empty := frame["output"].isna() | (frame["output"].astype(str).str.strip() == "")).any():
        raise DataError(f"{path} row {int(empty.to_numpy().argmax()) + first}", "output is empty", "Each row names one")
    numbers = {"output": frame["output"]}
    for name in names:
        if name not in frame:
            continue
        column: pd.Series = pd.to_numeric(frame[name], errors="coerce").astype(float)
        text = frame[name].astype(object)
        said = text.notna() & ~text.astype(str).str.strip().str.lower().isin(NO_NUMBER)
        wrong = said & ~(column.abs() < float("inf"))
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            raise DataError(f"{path} row {at + first}", f"{name} is {text.iloc[at]!r}", "Scores are numbers, or empty")
        numbers[name] = column
    return pd.DataFrame(numbers)
