"""`metal.export`: ratings for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.exports import Exported, json_text, load_target, notes_on_lacking
from metal.api.options import ExcludeNoisy, Option, StrPath, documented
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.data.files import new_file
from metal.data.holdings import CRITERION_RECORD, EXPORT, LABEL, VERDICTS, is_export
from metal.data.progress import Progress, counted_as, no_progress
from metal.data.records import with_swapped
from metal.data.replacing import check_new, check_new_file, kept_file, new_folder
from metal.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.data.dataset import Dataset


@documented
def export(
    data: Data,
    *ratings: Ratings,
    to: Annotated[str, Option("Format or program that will read it.", metavar="TARGET")],
    out: Annotated[StrPath, Option("File to write; for hf, evalset and every-eval-ever a folder.")],
    verdicts: Annotated[
        StrPath | None,
        Option(
            "Run of `metal.audit`: its verdict goes with each rating by a judge.", metavar="RUN"
        ),
    ] = None,
    exclude_noisy: ExcludeNoisy = "",
    texts: Annotated[
        bool, Option("csv, jsonl, parquet, hf: add the texts of source and output to every row.")
    ] = False,
    force: Annotated[
        bool, Option("Replace an earlier result in `out`; it is kept as NAME.replaced.")
    ] = False,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> pd.DataFrame:
    """Write the ratings of `data` for another program, with the scores' labels and the texts.

    \b
    csv, jsonl    the joined table, one rating per row; METAL reads it back
    parquet, hf   the same; hf is a folder for `datasets.load_from_disk`
    inspect       score edits, a line each: arguments of inspect_ai's `edit_score`
    promptfoo     results with named scores, for `promptfoo import`
    deepeval      goldens, for `EvaluationDataset.add_goldens_from_json_file`
    argilla       records, for `Dataset.records.from_json`
    label-studio  tasks with annotations (people) and predictions (judges)
    evalset       a folder for mt-metrics-eval: translations, by language pair
    every-eval-ever  records of people's means, and a sidecar of all ratings

    In CSV, an apostrophe is added wherever a spreadsheet could read a formula (before = + - @ at
    the start of a text or after a line break, tab or semicolon). `metal.read` removes it again; the
    other formats keep every text unchanged. `ratings` are run folders.

    Args:
        to: The target; packages add others (entry points in `metal.exports`).
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the parts written and all of them.

    Returns:
        The table of what was written; `attrs["warnings"]` says who was left out and what the
        target cannot hold.

    Raises:
        DataError, UsageError, UnknownName: As `metal.read`; UnknownName for a target that does not
            exist, UsageError for verdicts of an audit of other judges.

    Example:
        metal.export("datasets/news", "runs/news-judges", to="parquet", out="news.parquet")
    """
    out = Path(out)
    target = load_target(to)
    if target.folder:
        check_new(out, EXPORT, force=force)
    else:
        check_new_file(out, is_export, force=force)
    dataset, warnings = load(data, ratings, reading).without_noisy(exclude_noisy)
    table = _labelled(dataset, texts)
    if verdicts is not None:
        _add_verdicts(table, Path(verdicts), texts)
    exported = Exported(dataset, table)
    _add_records(exported)
    out.parent.mkdir(parents=True, exist_ok=True)
    if target.folder:
        with new_folder(out, EXPORT, force=force) as partial:
            notes = list(target.write(exported, partial, progress or no_progress))
    else:
        with kept_file(out), new_file(out) as partial:
            notes = list(target.write(exported, partial, progress or no_progress))
    table.attrs["warnings"] = [*warnings, *notes, *notes_on_lacking(exported, target)]
    return table


def _labelled(dataset: Dataset, texts: bool) -> pd.DataFrame:
    """The tidy table with the label of each score, and the texts if asked."""
    table = dataset.ratings.copy()
    for name in counted_as(table.columns, "columns"):
        if table[name].dtype.name == "category":
            table[name] = table[name].astype("str")
    labels = {
        (name, level.value): level.label
        for name, criterion in dataset.criteria.items()
        for level in criterion.scale.levels
    }
    pairs = counted_as(zip(table["criterion"], table["score"], strict=True), "rows", len(table))
    table.insert(
        list(table.columns).index("score") + 1, LABEL, [labels.get(pair, "") for pair in pairs]
    )
    if texts:
        outputs = with_swapped(dataset.outputs, table["output"].unique())
        table["source_text"] = table["source"].map(
            {name: source.text for name, source in dataset.sources.items()}
        )
        table["text"] = table["output"].map({name: output.text for name, output in outputs.items()})
    return table


def _add_records(exported: Exported) -> None:
    """Add a column with each criterion as JSON, in the first of its rows."""
    table = exported.table
    records = {name: json_text(record) for name, record in exported.criteria.items()}
    first = ~table["criterion"].duplicated()
    table[CRITERION_RECORD] = table["criterion"].map(records).where(first, "")


def _add_verdicts(table: pd.DataFrame, folder: Path, texts: bool) -> None:
    """Add an audit's verdict, and its reason, to each rating by a judge that it speaks of.

    The two columns come before those of texts. Raises UsageError if the folder is no audit, or if
    none of its judges rated here.
    """
    from metal.runs.kinds import kind_of, load

    audit = load(kind_of("audit").run).read(folder)
    by_cell = {
        (row["judge"], row["language"], row["criterion"]): (row["verdict"], row["reason"])
        for row in audit.judged
    }
    cells = list(zip(table["rater"], table["language"], table["criterion"], strict=True))
    if not any(cell in by_cell for cell in cells):
        judges = ", ".join(sorted({judge for judge, _, _ in by_cell})[:6]) or "no judge"
        raise UsageError(
            f"{folder} has verdicts on {judges}, but none of these judges rated these outputs; give"
            " the audit of these data"
        )
    end = len(table.columns) - (2 if texts else 0)
    for number, name in enumerate(VERDICTS):
        table.insert(end + number, name, [by_cell.get(cell, ("", ""))[number] for cell in cells])
