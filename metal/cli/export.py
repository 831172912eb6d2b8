"""`metal export`: the ratings out, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metal.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from metal.dataset import Dataset


@click.command(short_help="Write the ratings for other programs.")
@options.dataset
@options.more_ratings
@click.option("--to", "target", type=click.Choice(["csv", "jsonl", "parquet", "hf"]), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File (hf: folder) to write.")
@click.option("--texts", is_flag=True, help="Add the texts of source and output to every row.")
@click.option("--force", is_flag=True, help="Replace what is at --out.")
def export(dataset: Path, ratings: tuple[Path, ...], target: str, out: Path, texts: bool, force: bool) -> None:
    """Write the joined ratings table of DATASET, one rating a row, with the label in words.

    In CSV, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets an
    apostrophe before it; the other formats hold every text as it is. RATINGS are run folders.

    \b
    Example:
      metal export datasets/pariksha --to parquet --out pariksha.parquet
    """
    from metal.cli import show
    from metal.errors import UsageError

    if out.exists() and not force:
        raise UsageError(f"{out} exists; give another --out, or --force to replace it")
    if out.is_dir() and target != "hf":
        raise UsageError(f"{out} is a folder; give a file")
    loaded = options.load(dataset, ratings)
    table = _table(loaded, texts)
    out.parent.mkdir(parents=True, exist_ok=True)
    _write(table, target, out)
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


def _write(table: pd.DataFrame, target: str, out: Path) -> None:
    """Whole or not at all: written beside its place, then moved there."""
    import os
    import shutil

    from metal.csv_cells import guard
    from metal.errors import MissingExtra

    partial = out.with_name(out.name + ".part")
    try:
        if target == "csv":
            guard(table).to_csv(partial, index=False, lineterminator="\n")
        elif target == "jsonl":
            table.to_json(partial, orient="records", lines=True, force_ascii=False)
        elif target == "parquet":
            table.to_parquet(partial, index=False)
        else:
            try:
                from datasets import Dataset as HuggingFace
            except ImportError:
                raise MissingExtra("writing Hugging Face datasets", "hf") from None
            HuggingFace.from_pandas(table, preserve_index=False).save_to_disk(str(partial))
        if out.is_dir():
            shutil.rmtree(out)
        os.replace(partial, out)
    finally:
        if partial.is_dir():
            shutil.rmtree(partial)
        partial.unlink(missing_ok=True)
