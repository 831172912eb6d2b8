"""`metal.billboard_crowd`, `billboard_references`, `billboard_apply`, `billboard_history`: further
views of a board.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    Force,
    Languages,
    Names,
    Option,
    Progress,
    StrPath,
    documented,
    documented_by,
    names,
    no_progress,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.boards.settings import BoardSettings, CrowdSettings, ReferenceSettings
from metal.data.escaping import csv_text
from metal.data.files import read_json, write_new
from metal.data.holdings import CROWD, REFERENCES
from metal.data.replacing import check_new, check_new_file, heads, kept_file, new_folder
from metal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.boards.crowd import Crowd
    from metal.boards.references import ReferenceCurve

Reference = Annotated[
    str, Option("group=NAME or rater=NAME,NAME. [default: all people]", metavar="PEOPLE")
]
Criteria = Annotated[Names, Option("Criteria, including `overall`. [default: all]", "-c")]
Figures = Annotated[StrPath | None, Option("Write one picture per cell, as SVG.", metavar="DIR")]


@documented_by(BoardSettings, CrowdSettings)
def billboard_crowd(
    data: Data,
    *ratings: Ratings,
    reference: Reference = "",
    raters: Annotated[
        Names, Option("Raters, including metrics. [default: other people and LLM judges]", "-r")
    ] = (),
    criteria: Criteria = (),
    languages: Languages = (),
    area: float = 1 / 3,
    examples: int = 5,
    equal_panels: bool = False,
    permutations: Annotated[
        int,
        Option(
            "Permutations per test; more if many comparisons are adjusted together.",
            least=100,
            rare=True,
        ),
    ] = 1000,
    resamples: int = 2000,
    exclude_noisy: str = "",
    seed: int = 0,
    figures: Figures = None,
    out: Annotated[StrPath | None, Option("Write the tables as CSV.", metavar="DIR")] = None,
    force: Force = False,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Crowd:
    """Compare crowd workers and LLM judges with the reference people, by criterion and language.

    `ratings` are run folders whose ratings are added. The people of a group count as one rater,
    with their mean as the score. `under` and `over` count the outputs on which a rater and the
    people disagree most: one puts the output in the bottom part of the people's scale (`area`), the
    other in the top part. Metrics have no such areas, since each has its own scale.

    Args:
        data: A board's dataset folder, or a dataset from `metal.read`.
        progress: Called with the cells done and the cells in all.

    Returns:
        Tables, as described in metal.boards.crowd.crowd, and notes.
        Source: Billboard 2.5, Figure 2.

    Raises:
        UsageError: If there is nobody to compare.
        UnknownName: For a name that does not occur.

    Example:
        metal.billboard_crowd("datasets/cnndm").tables
    """
    from metal.boards.crowd import crowd
    from metal.show.charts.scatter import crowd_charts
    from metal.show.files import write_svg

    if out:
        check_new(Path(out), CROWD, force=force)
    choices = CrowdSettings(area, examples, equal_panels)
    settings = BoardSettings(
        reference,
        names(criteria),
        names(languages),
        names(raters),
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        exclude_noisy=exclude_noisy,
    )
    dataset, warnings = load(data, ratings, reading).without_noisy(exclude_noisy)
    result = replace(
        crowd(dataset, settings, choices, progress=progress or no_progress), warnings=warnings
    )
    if figures:
        result = replace(result, pictures=write_svg(crowd_charts(result, area), Path(figures)))
    if out:
        with new_folder(Path(out), CROWD, force=force) as partial:
            for name, table in result.tables.items():
                (partial / f"{name}.csv").write_bytes(csv_text(table).encode())
    return result


@documented_by(BoardSettings, ReferenceSettings)
def billboard_references(
    data: Data,
    *,
    metric: Annotated[
        Names,
        Option(
            "Metrics to compute: chrf, rouge-l, 'bleu(tokenize=zh)', path/to/metric.py:score, ...",
            "-m",
            commas=True,
        ),
    ],
    reference: Reference = "",
    beside: Names = (),
    most: int | None = None,
    draws: int = 5,
    criteria: Criteria = (),
    languages: Languages = (),
    exclude_noisy: str = "",
    seed: int = 0,
    figures: Figures = None,
    out: Annotated[
        StrPath | None, Option("Write the figures to FILE.csv, or DIR.", metavar="FILE|DIR")
    ] = None,
    force: Force = False,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> ReferenceCurve:
    """Compute metrics with 1, 2, ... references and correlate each with the reference people.

    For each number METAL draws random subsets of each source's references (`draws`), the same for
    all its outputs. It scores only outputs that people rated, and equal texts once. Metrics that
    need no references, and raters named in `beside`, appear as lines.

    Args:
        data: A board's dataset folder, or a dataset from `metal.read`.
        progress: Called with the texts scored and the texts in all.

    Returns:
        The curve, whose table is described in metal.boards.references.reference_curve.
        Source: Billboard, Figure 3.

    Raises:
        UsageError: If no source has references, or none has as many as asked for.

    Example:
        metal.billboard_references("datasets/cnndm", metric="rouge-l").table
    """
    from metal.boards.references import COLUMNS, reference_curve
    from metal.running.scoring import find_metrics
    from metal.show.charts.lines import reference_charts
    from metal.show.files import write_svg

    if out and _is_csv(out):
        check_new_file(
            Path(out), lambda path: heads(path)[: len(COLUMNS)] == [*COLUMNS], force=force
        )
    elif out:
        check_new(Path(out), REFERENCES, force=force)
    settings = BoardSettings(
        reference, names(criteria), names(languages), seed=seed, exclude_noisy=exclude_noisy
    )
    choices = ReferenceSettings(most, draws, names(beside))
    dataset, warnings = load(data, (), reading).without_noisy(exclude_noisy)
    curve = reference_curve(
        dataset, find_metrics(metric), settings, choices, progress=progress or no_progress
    )
    curve = replace(curve, warnings=warnings)
    if figures:
        curve = replace(curve, pictures=write_svg(reference_charts(curve), Path(figures)))
    if out:
        _write_references(curve, Path(out), force)
    return curve


def _is_csv(out: StrPath) -> bool:
    return Path(out).suffix.lower() == ".csv"


def _write_references(curve: ReferenceCurve, out: Path, force: bool) -> None:
    """Write FILE.csv, or a folder with references.csv and the pictures."""
    from metal.show.charts.lines import reference_charts
    from metal.show.files import write_svg

    text = csv_text(curve.table)
    if _is_csv(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with kept_file(out):
            write_new(out, text)
        return
    with new_folder(out, REFERENCES, force=force) as folder:
        (folder / "references.csv").write_bytes(text.encode())
        write_svg(reference_charts(curve), folder)


# ---------------------------------------------------------------- ensembles


@dataclass(frozen=True, repr=False)
class EnsembleScores:
    """The scores that an ensemble gives outputs. ensemble: its signature. table: output, score, and
    the reason if there is no score.
    """

    ensemble: str
    table: pd.DataFrame

    def __repr__(self) -> str:
        return f"<scores by {self.ensemble}: {len(self.table)} outputs in .table>"


@documented
def billboard_apply(
    signature: str,
    outputs: StrPath,
    *,
    board: Annotated[
        StrPath | None,
        Option(
            "Dataset or run folder that has the ensemble. [default: all in datasets/ and runs/]"
        ),
    ] = None,
    out: Annotated[StrPath | None, Option("CSV file to write.", metavar="FILE")] = None,
    force: Annotated[
        bool, Option("Replace an earlier result in `out`; it is kept as NAME.replaced.")
    ] = False,
) -> EnsembleScores:
    """Score `outputs` with the ensemble of this `signature`, on the current version of a board or
    an older one.

    Args:
        signature: Such as ensemble.cnndm+refs.AB+version.1, or a part of it that only one ensemble
            has.
        outputs: One of a table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one for
            each member of the ensemble, scores as on the board, higher is better; a folder with
            ratings by the members, a dataset or a run of `metal.score`; a table with the columns
            source and text, for sources of the board, where the members are run if they can be.

    Returns:
        Output, score, and the reason if there is no score.

    Raises:
        UnknownName: For an ensemble that does not exist.
        UsageError: If several fit or the members cannot be run.
        DataError: For a file that cannot be used.

    Example:
        metal.billboard_apply("ensemble.cnndm+refs.AB+version.1", "scores.csv", board="runs/board")
    """
    from metal.boards.ensemble_records import apply_ensemble, find_ensemble, members

    if out:
        check_new_file(
            Path(out), lambda path: heads(path) == ["output", "score", "reason"], force=force
        )
    scored, folder = Path(outputs), Path(board) if board else None
    record = find_ensemble(signature, _ensembles(folder))
    wanted = members(record)
    scores = (
        _folder_scores(scored, wanted) if scored.is_dir() else _table_scores(scored, wanted, folder)
    )
    table = apply_ensemble(record, scores)
    if out:
        with kept_file(Path(out)):
            write_new(Path(out), csv_text(table))
    return EnsembleScores(str(record["ensemble"]), table)


def _ensembles(board: Path | None) -> list[Mapping[str, Any]]:
    """The ensembles of a dataset or run folder, or of all in datasets/ and runs/."""
    from metal.boards.ensemble_records import read_ensemble
    from metal.boards.store import stored_ensembles

    folders = (
        [board] if board else [*sorted(Path("datasets").glob("*")), *sorted(Path("runs").glob("*"))]
    )
    ensembles: list[Mapping[str, Any]] = []
    for folder in folders:
        ensembles += stored_ensembles(folder)
        path = folder / "ensembles.json"
        if path.is_file():
            listed = read_json(path, "a list of ensembles")
            ensembles += [
                read_ensemble(record, path)
                for record in (listed if isinstance(listed, list) else [listed])
            ]
    if not ensembles:
        searched = str(board) if board else "datasets/ and runs/"
        raise UsageError(
            f"{searched}: no ensembles; `metal.billboard(...)` makes them, `board` names where they"
            " are"
        )
    return ensembles


def _folder_scores(folder: Path, members: list[str]) -> pd.DataFrame:
    """The members' scores in a folder with ratings; for a board, including those of its
    submissions.
    """
    from metal.boards.store import open_board, read_history
    from metal.data.ratings_files import find_ratings, read_facts
    from metal.data.records import METRIC_SCORE

    path = find_ratings(folder)
    facts = open_board(folder).dataset.ratings if read_history(folder) else read_facts(path)
    scores = facts[facts["rater"].isin(members) & (facts["criterion"] == METRIC_SCORE.name)]
    if (again := scores.duplicated(["output", "rater"])).any():
        first = scores[again].iloc[0]
        raise DataError(
            path, f"two scores of {first['output']!r} by {first['rater']!r}", "Keep one of them"
        )
    wide = scores.astype({"output": object, "rater": object}).pivot(
        index="output", columns="rater", values="score"
    )
    return wide.reset_index()


def _table_scores(path: Path, members: list[str], board: Path | None) -> pd.DataFrame:
    """The members' scores in a table, or computed from its texts."""
    from metal.boards.ensemble_records import member_columns
    from metal.boards.history import SOURCE, TEXT
    from metal.boards.metrics import member_scores
    from metal.data.tables.files import read_frame

    frame = read_frame(path)
    frame.columns = [str(name).strip() for name in frame.columns]
    columns, lower = set(frame.columns), {name.lower() for name in frame.columns}
    if "output" in columns and columns & set(members):
        return member_columns(frame, members, path)
    if lower & set(SOURCE) and lower & set(TEXT):
        if board is None or not (board / "dataset.toml").is_file():
            raise UsageError(
                f"{path} has texts; scoring them needs the board's sources: `board=DATASET`"
            )
        return member_scores(board, frame, path, members)
    raise DataError(
        path,
        f"neither scores nor texts (columns found: {', '.join(sorted(columns))})",
        f"It needs the columns output and {', '.join(members)}; or source and text",
    )


# ---------------------------------------------------------------- history


@documented
def billboard_history(data: StrPath) -> pd.DataFrame:
    """Show the versions of `data`: what joined, what was withdrawn, when its data changed.

    Args:
        data: A board's dataset folder.

    Returns:
        One row per version: version, what (data, generator, metric, withdrawn), name (that of what
            joined or was withdrawn; the dataset's if its data are new or changed), by, at (UTC, as
        in ISO 8601), about (what else was recorded: outputs, signature, direction, ...).

    Raises:
        UsageError: If the folder is not a board.

    Example:
        metal.billboard_history("datasets/cnndm")
    """
    import pandas as pd

    from metal.boards.store import open_board, record

    board = open_board(Path(data))
    record(board)
    rows = [
        (
            entry.version,
            entry.what,
            entry.name or board.base.card.name,
            entry.by,
            entry.at,
            dict(entry.about or {}),
        )
        for entry in board.entries
    ]
    return pd.DataFrame(rows, columns=["version", "what", "name", "by", "at", "about"])
