"""`metal.export`: ratings for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from metal.api.options import ExcludeNoisy, Option, StrPath, documented
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.data.escaping import csv_text
from metal.data.files import new_file
from metal.data.holdings import EXPORT, is_export
from metal.data.progress import Progress, counted_as, followed, no_progress
from metal.data.replacing import check_new, check_new_file, kept_file, new_folder
from metal.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.data.dataset import Dataset

BLOCK = 20_000  # rows that are written at once


@documented
def export(
    data: Data,
    *ratings: Ratings,
    to: Annotated[
        Literal["csv", "jsonl", "parquet", "hf"], Option(choices=("csv", "jsonl", "parquet", "hf"))
    ],
    out: Annotated[StrPath, Option("File (hf: folder) to write.")],
    exclude_noisy: ExcludeNoisy = "",
    texts: Annotated[bool, Option("Add the texts of source and output to every row.")] = False,
    force: Annotated[
        bool, Option("Replace an earlier result in `out`; it is kept as NAME.replaced.")
    ] = False,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> pd.DataFrame:
    """Write the joined ratings table of `data`, one rating per row, with the label in words.

    In CSV, an apostrophe is added wherever a spreadsheet could read a formula (before = + - @ at
    the start of a text or after a line break, tab or semicolon). `metal.read` removes it again; the
    other formats keep every text unchanged. `ratings` are run folders.

    Args:
        to: The format; hf is a folder for `datasets.load_from_disk`.
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the blocks of rows written and all of them.

    Returns:
        The table that was written; `attrs["warnings"]` says who was left out.

    Raises:
        DataError, UsageError, UnknownName: As `metal.read`; UsageError for a format that cannot
            hold the data.

    Example:
        metal.export("datasets/news", "runs/news-judges", to="parquet", out="news.parquet")
    """
    out = Path(out)
    if to == "hf":
        check_new(out, EXPORT, force=force)
    else:
        check_new_file(out, is_export, force=force)
    dataset, warnings = load(data, ratings, reading).without_noisy(exclude_noisy)
    table = _labelled(dataset, texts)
    out.parent.mkdir(parents=True, exist_ok=True)
    if to == "hf":
        with new_folder(out, EXPORT, force=force) as partial:
            _write(table, to, partial, progress or no_progress)
    else:
        with kept_file(out), new_file(out) as partial:
            _write(table, to, partial, progress or no_progress)
    table.attrs["warnings"] = list(warnings)
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
        list(table.columns).index("score") + 1, "label", [labels.get(pair, "") for pair in pairs]
    )
    if texts:
        table["source_text"] = table["source"].map(
            {name: source.text for name, source in dataset.sources.items()}
        )
        table["text"] = table["output"].map(
            {name: output.text for name, output in dataset.outputs.items()}
        )
    return table


def _write(table: pd.DataFrame, to: str, path: Path, progress: Progress) -> None:
    if to in ("csv", "jsonl"):
        starts = range(0, max(len(table), 1), BLOCK)
        with path.open("w", encoding="utf-8", newline="") as file:
            for start in followed(starts, progress, len(starts)):
                rows = table.iloc[start : start + BLOCK]
                if to == "csv":
                    file.write(csv_text(rows, header=not start))
                else:
                    rows.to_json(file, orient="records", lines=True, force_ascii=False)
    elif to == "parquet":
        table.to_parquet(path, index=False)
    else:
        try:
            from datasets import Dataset as HuggingFace
        except ImportError:
            raise MissingExtra("writing Hugging Face datasets", "hf") from None
        HuggingFace.from_pandas(table, preserve_index=False).save_to_disk(str(path))
