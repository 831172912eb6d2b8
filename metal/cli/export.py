"""`metal export`: the ratings out, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metal.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset

HUGGING_FACE = ("dataset_info.json",)  # what a folder of save_to_disk holds


@click.command(short_help="Write the ratings for other programs.")
@options.dataset
@options.more_ratings
@click.option("--to", "target", type=click.Choice(["csv", "jsonl", "parquet", "hf"]), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File (hf: folder) to write.")
@options.exclude_noisy
@click.option("--texts", is_flag=True, help="Add the texts of source and output to every row.")
@click.option("--force", is_flag=True, help="Replace what is at --out.")
def export(
    dataset: Path, ratings: tuple[Path, ...], target: str, out: Path, exclude_noisy: str, texts: bool, force: bool
) -> None:
    """Write the joined ratings table of DATASET, one rating a row, with the label in words.

    In CSV, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets an
    apostrophe before it; the other formats hold every text as it is. RATINGS are run folders.

    \b
    Example:
      metal export datasets/pariksha --to parquet --out pariksha.parquet
    """
    from metal.cli.exclusion import said_without_noisy
    from metal.data.folders import check_new, check_new_file
    from metal.show.terminal import console as show

    if target == "hf":
        check_new(out, force=force, marks=HUGGING_FACE)
    else:
        check_new_file(out, force=force)
    loaded = said_without_noisy(options.load(dataset, ratings), dataset, ratings, exclude_noisy)
    table = _table(loaded, texts)
    if target == "hf":
        _write_folder(table, out, force)
    else:
        _write_file(table, target, out)
    show.say(f"{len(table):,} ratings in {out}")


def _table(dataset: Dataset, texts: bool) -> pd.DataFrame:
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


def _write_file(table: pd.DataFrame, target: str, out: Path) -> None:
    from metal.data.csv_cells import csv_text
    from metal.data.folders import new_file

    out.parent.mkdir(parents=True, exist_ok=True)
    with new_file(out) as partial:
        if target == "csv":
            partial.write_text(csv_text(table), encoding="utf-8", newline="")
        elif target == "jsonl":
            table.to_json(partial, orient="records", lines=True, force_ascii=False)
        else:
            table.to_parquet(partial, index=False)


def _write_folder(table: pd.DataFrame, out: Path, force: bool) -> None:
    from metal.data.folders import new_folder
    from metal.errors import MissingExtra

    try:
        from datasets import Dataset as HuggingFace
    except ImportError:
        raise MissingExtra("writing Hugging Face datasets", "hf") from None
    with new_folder(out, force=force, marks=HUGGING_FACE) as partial:
        HuggingFace.from_pandas(table, preserve_index=False).save_to_disk(str(partial))
