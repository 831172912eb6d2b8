"""`metal.export`: the ratings out, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import ExcludeNoisy, Option, StrPath, documented

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.inputs import Data, Ratings
    from metal.data.dataset import Dataset

HUGGING_FACE = ("dataset_info.json",)  # what a folder of save_to_disk holds


@documented
def export(
    data: Data,
    *ratings: Ratings,
    to: Annotated[Literal["csv", "jsonl", "parquet", "hf"], Option(choices=("csv", "jsonl", "parquet", "hf"))],
    out: Annotated[StrPath, Option("File (hf: folder) to write.")],
    exclude_noisy: ExcludeNoisy = "",
    texts: Annotated[bool, Option("Add the texts of source and output to every row.")] = False,
    force: Annotated[bool, Option("Replace what is at `out`.")] = False,
) -> pd.DataFrame:
    """Write the joined ratings table of `data`, one rating a row, with the label in words.

    In CSV, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets an
    apostrophe before it; the other formats hold every text as it is. `ratings` are run folders.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.

    Returns the table that was written; `attrs["warnings"]` says who was left out.
    """
    from metal.api.inputs import load
    from metal.data.files import check_new, check_new_file
    from metal.genie.excluding import without_noisy

    out = Path(out)
    if to == "hf":
        check_new(out, force=force, marks=HUGGING_FACE)
    else:
        check_new_file(out, force=force)
    inputs = load(data, ratings)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    table = _labelled(dataset, texts)
    if to == "hf":
        _write_folder(table, out, force)
    else:
        _write_file(table, to, out)
    table.attrs["warnings"] = list(excluded.lines) if excluded else []
    return table


def _labelled(dataset: Dataset, texts: bool) -> pd.DataFrame:
    """The tidy table with the label of each score, and the texts if asked."""
    table = dataset.ratings.copy()
    for name in table.columns:
        if table[name].dtype.name == "category":
            table[name] = table[name].astype("str")
    labels = {
        (name, level.value): level.label
        for name, criterion in dataset.criteria.items()
        for level in criterion.scale.levels
    }
    pairs = zip(table["criterion"], table["score"], strict=True)
    table.insert(list(table.columns).index("score") + 1, "label", [labels.get(pair, "") for pair in pairs])
    if texts:
        table["source_text"] = table["source"].map({name: source.text for name, source in dataset.sources.items()})
        table["text"] = table["output"].map({name: output.text for name, output in dataset.outputs.items()})
    return table


def _write_file(table: pd.DataFrame, to: str, out: Path) -> None:
    from metal.data.escaping import csv_text
    from metal.data.files import new_file

    out.parent.mkdir(parents=True, exist_ok=True)
    with new_file(out) as partial:
        if to == "csv":
            partial.write_text(csv_text(table), encoding="utf-8", newline="")
        elif to == "jsonl":
            table.to_json(partial, orient="records", lines=True, force_ascii=False)
        else:
            table.to_parquet(partial, index=False)


def _write_folder(table: pd.DataFrame, out: Path, force: bool) -> None:
    from metal.data.files import new_folder
    from metal.errors import MissingExtra

    try:
        from datasets import Dataset as HuggingFace
    except ImportError:
        raise MissingExtra("writing Hugging Face datasets", "hf") from None
    with new_folder(out, force=force, marks=HUGGING_FACE) as partial:
        HuggingFace.from_pandas(table, preserve_index=False).save_to_disk(str(partial))
