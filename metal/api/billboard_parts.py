"""`metal.billboard_crowd`, `billboard_references`, `billboard_apply`, `billboard_history`: further views of a board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.api.inputs import Folder, as_names, load, no_progress, noise_model
from metal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from metal.boards.crowd import Crowd
    from metal.boards.references import ReferenceCurve
    from metal.data.dataset import Dataset

CROWD_MARKS = ("crowd_raters.csv",)  # files by which a folder of earlier results is known
REFERENCE_MARKS = ("references.csv",)


def billboard_crowd(
    dataset: Folder | Dataset,
    ratings: Folder | Iterable[Folder] = (),
    *,
    reference: str = "",
    raters: str | Iterable[str] = (),
    criteria: str | Iterable[str] = (),
    languages: str | Iterable[str] = (),
    area: float = 1 / 3,
    examples: int = 5,
    equal_panels: bool = False,
    permutations: int = 1000,
    resamples: int = 2000,
    exclude_noisy: str | bool = "",
    seed: int = 0,
    figures: Folder | None = None,
    out: Folder | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] = no_progress,
) -> Crowd:
    """Compare crowd workers and LLM judges with the reference people, by criterion and language (Billboard 2.5).

    The people of a group are one rater, whose score is the mean of theirs. Underrated and overrated outputs are those
    on which a rater and the people disagree most: one puts it in the bottom part of the people's scale, the other in
    the top part. Metrics have no such areas, since their scores are on a scale of their own.

    ratings: run folders whose ratings are added. reference: the reference people, `group=NAME` or `rater=NAME,NAME`;
    empty for all people. raters: whom to compare, metrics among them; empty for the other people and LLM judges.
    criteria (`overall` among them), languages: empty for all. area: share of the scale that is low, or high. examples:
    drawn from each area. equal_panels: as many crowd workers on an output as reference people, drawn by the seed.
    permutations: of each test, at least; resamples: of each 95% interval by source. exclude_noisy: leave out people who
    fail the test questions, by this model (True for the default). figures: a folder for a picture per cell, as SVG.
    out: a folder for the tables as CSV; force: replace it. progress: called with cells done and in all.

    The result's tables are described at metal.boards.crowd.crowd. Raises UsageError where there is nobody to compare,
    UnknownName for a name that does not occur.
    """
    from metal.boards.crowd import CrowdSettings, crowd
    from metal.boards.settings import BoardSettings
    from metal.data.csv_cells import csv_text
    from metal.data.folders import check_new, new_folder
    from metal.show.charts.board_cells import crowd_charts
    from metal.show.files import write_svg

    if out:
        check_new(Path(out), force=force, marks=CROWD_MARKS)
    choices = CrowdSettings(area, examples, equal_panels)
    settings = BoardSettings(
        reference,
        as_names(criteria),
        as_names(languages),
        as_names(raters),
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        exclude_noisy=noise_model(exclude_noisy),
    )
    loaded, warnings = load(dataset, ratings, exclude_noisy, board=True)
    result = replace(crowd(loaded, settings, choices, progress=progress), warnings=warnings)
    if figures:
        result = replace(result, pictures=write_svg(crowd_charts(result, area), Path(figures)))
    if out:
        with new_folder(Path(out), force=force, marks=CROWD_MARKS) as partial:
            for name, table in result.tables.items():
                (partial / f"{name}.csv").write_text(csv_text(table), encoding="utf-8")
    return result


def billboard_references(
    dataset: Folder | Dataset,
    *,
    metrics: str | Iterable[str],
    reference: str = "",
    beside: str | Iterable[str] = (),
    most: int | None = None,
    draws: int = 5,
    criteria: str | Iterable[str] = (),
    languages: str | Iterable[str] = (),
    exclude_noisy: str | bool = "",
    seed: int = 0,
    figures: Folder | None = None,
    out: Folder | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] = no_progress,
) -> ReferenceCurve:
    """Compute metrics with 1, 2, ... references and correlate each with the reference people (Billboard, Figure 3).

    For each number of references every source gives random subsets of its references, the same for all of its outputs.
    Only outputs that the people rated are scored, equal texts once. Metrics that need no references, and raters named
    in `beside`, are lines.

    metrics: to compute, such as "chrf,rouge-l", "bleu(tokenize=zh)" or "path/to/metric.py:score". reference: the
    reference people, `group=NAME` or `rater=NAME,NAME`; empty for all people. beside: raters in the dataset to show
    beside the metrics. most: references; None for as many as all sources have. draws: random subsets for each number.
    criteria (`overall` among them), languages: empty for all. exclude_noisy: leave out people who fail the test
    questions, by this model (True for the default). figures: a folder for a picture per cell, as SVG. out: FILE.csv,
    or a folder for the table and the pictures; force: replace it. progress: called with texts scored and in all.

    The result's table is described at metal.boards.references.reference_curve. Raises UsageError where no source has
    references, or as many as asked for.
    """
    from metal.boards.references import ReferenceSettings, reference_curve
    from metal.boards.settings import BoardSettings
    from metal.data.folders import check_new, check_new_file
    from metal.raters.metrics import find_metric, split_names
    from metal.show.charts.board_cells import reference_charts
    from metal.show.files import write_svg

    if out and _is_csv(out):
        check_new_file(Path(out), force=force)
    elif out:
        check_new(Path(out), force=force, marks=REFERENCE_MARKS)
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    opened = [find_metric(name) for names in asked for name in split_names(names)]
    settings = BoardSettings(
        reference, as_names(criteria), as_names(languages), seed=seed, exclude_noisy=noise_model(exclude_noisy)
    )
    choices = ReferenceSettings(most, draws, as_names(beside))
    loaded, warnings = load(dataset, (), exclude_noisy, board=True)
    distinct = list({metric.name: metric for metric in opened}.values())
    curve = reference_curve(loaded, distinct, settings, choices, progress=progress)
    curve = replace(curve, warnings=warnings)
    if figures:
        curve = replace(curve, pictures=write_svg(reference_charts(curve), Path(figures)))
    if out:
        _write_references(curve, Path(out), force)
    return curve


def _is_csv(out: Folder) -> bool:
    return Path(out).suffix.lower() == ".csv"


def _write_references(curve: ReferenceCurve, out: Path, force: bool) -> None:
    """FILE.csv, or a folder with references.csv and the pictures."""
    from metal.data.csv_cells import csv_text
    from metal.data.folders import new_file, new_folder
    from metal.show.charts.board_cells import reference_charts
    from metal.show.files import write_svg

    text = csv_text(curve.table)
    if _is_csv(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with new_file(out) as partial:
            partial.write_text(text, encoding="utf-8")
        return
    with new_folder(out, force=force, marks=REFERENCE_MARKS) as folder:
        (folder / "references.csv").write_text(text, encoding="utf-8")
        write_svg(reference_charts(curve), folder)


# ---------------------------------------------------------------- ensembles


@dataclass(frozen=True)
class EnsembleScores:
    """What an ensemble gives outputs. ensemble: its signature. table: output, score, and the reason without one."""

    ensemble: str
    table: pd.DataFrame

    def __repr__(self) -> str:
        return f"EnsembleScores({self.ensemble}, {len(self.table)} outputs in .table)"


def billboard_apply(
    signature: str,
    outputs: Folder,
    *,
    board: Folder | None = None,
    out: Folder | None = None,
    force: bool = False,
) -> EnsembleScores:
    """Score outputs with an ensemble of a board, also with an old one.

    signature: such as ensemble.cnndm+refs.AB+version.1, or a part of it that only one ensemble has. outputs: one of a
    table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one for each member of the ensemble, scores as on
    the board, higher is better; a folder with ratings by the members, a dataset or a run of `metal.score(...)`; a table
    with the columns source and text, for sources of the board, where the members are run if they can be.
    board: the dataset or run folder that has the ensemble; None for all in datasets/ and runs/. out: a CSV file to
    write; force: replace it.

    Raises UnknownName for an ensemble that does not exist, UsageError where several fit or the members cannot be run,
    DataError for a file that cannot be used.
    """
    from metal.boards.apply import apply_ensemble, find_ensemble, members
    from metal.data.csv_cells import csv_text
    from metal.data.folders import check_new_file, new_file

    if out:
        check_new_file(Path(out), force=force)
    given, place = Path(outputs), Path(board) if board else None
    record = find_ensemble(signature, _ensembles(place))
    names = members(record)
    scores = _folder_scores(given, names) if given.is_dir() else _table_scores(given, names, place)
    table = apply_ensemble(record, scores)
    if out:
        with new_file(Path(out)) as partial:
            partial.write_text(csv_text(table), encoding="utf-8", newline="")
    return EnsembleScores(str(record["ensemble"]), table)


def _ensembles(board: Path | None) -> list[Mapping[str, Any]]:
    """The ensembles of a dataset or run folder, or of all in datasets/ and runs/."""
    from metal.boards.apply import read_ensemble
    from metal.boards.store import stored_ensembles
    from metal.data.json_files import read_json

    folders = [board] if board else [*sorted(Path("datasets").glob("*")), *sorted(Path("runs").glob("*"))]
    ensembles: list[Mapping[str, Any]] = []
    for folder in folders:
        ensembles += stored_ensembles(folder)
        path = folder / "ensembles.json"
        if path.is_file():
            listed = read_json(path, "a list of ensembles")
            ensembles += [read_ensemble(record, path) for record in (listed if isinstance(listed, list) else [listed])]
    if not ensembles:
        where = str(board) if board else "datasets/ and runs/"
        raise UsageError(f"{where}: no ensembles; `metal.billboard(...)` makes them, `board` says where they are")
    return ensembles


def _folder_scores(folder: Path, names: list[str]) -> pd.DataFrame:
    """The members' scores in a folder with ratings; of a board, also those of its submissions."""
    from metal.boards.store import open_board, read_history
    from metal.data.ratings_files import find_ratings, read_facts
    from metal.data.records import METRIC_SCORE

    where = find_ratings(folder)
    facts = open_board(folder).dataset.ratings if read_history(folder) else read_facts(where)
    scores = facts[facts["rater"].isin(names) & (facts["criterion"] == METRIC_SCORE.name)]
    if (again := scores.duplicated(["output", "rater"])).any():
        first = scores[again].iloc[0]
        raise DataError(where, f"two scores of {first['output']!r} by {first['rater']!r}", "Keep one of them")
    wide = scores.astype({"output": object, "rater": object}).pivot(index="output", columns="rater", values="score")
    return wide.reset_index()


def _table_scores(path: Path, names: list[str], board: Path | None) -> pd.DataFrame:
    """The members' scores in a table, or computed from its texts."""
    from metal.boards.apply import member_columns
    from metal.boards.submission import SOURCE, TEXT
    from metal.boards.submitting import member_scores
    from metal.data.formats.table import read_frame

    frame = read_frame(path, as_text=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    columns, lower = set(frame.columns), {name.lower() for name in frame.columns}
    if "output" in columns and columns & set(names):
        return member_columns(frame, names, path)
    if lower & set(SOURCE) and lower & set(TEXT):
        if board is None or not (board / "dataset.toml").is_file():
            raise UsageError(f"{path} has texts; to score them the board's sources are needed: `board=DATASET`")
        return member_scores(board, frame, path, names)
    raise DataError(
        path,
        f"neither scores nor texts (columns found: {', '.join(sorted(columns))})",
        f"It has output and {', '.join(names)}; or source and text",
    )


# ---------------------------------------------------------------- history


def billboard_history(dataset: Folder) -> pd.DataFrame:
    """The versions of a board, a row each: version, what (data, generator, metric, withdrawn), name, by, at, about.

    name: of what joined or was withdrawn; the dataset's where its data are new or changed. at: UTC, as in ISO 8601.
    about: what else was recorded (outputs, signature, direction, ...).
    """
    import pandas as pd

    from metal.boards.store import open_board

    board = open_board(Path(dataset))
    rows = [
        (entry.version, entry.what, entry.name or board.base.card.name, entry.by, entry.at, dict(entry.about or {}))
        for entry in board.entries
    ]
    return pd.DataFrame(rows, columns=["version", "what", "name", "by", "at", "about"])
