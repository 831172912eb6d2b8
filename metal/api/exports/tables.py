"""The ratings table as it is: CSV, JSONL, Parquet, and a folder of the library `datasets`.

The table gets the columns that METAL needs to read it back, if the data have what they hold:

repeat    how often the rater had been asked, counted from 1: a judge's second answers stand under
          the judge's own name
reference the first reference of the source, if texts were asked
first, second, of, condition  who wrote the two outputs of a pair; the output from which this one
          was made, and how
first_text, second_text  the two texts of a pair, if texts were asked
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from metal.api.exports import Exported, Target, json_text, note_on_further_references
from metal.data.escaping import csv_text
from metal.data.formats.hugging_face import load_library
from metal.data.holdings import ADDED, CRITERION_RECORD, OF_PAIRS, PAIR_TEXTS, REFERENCE, REPEAT
from metal.data.progress import Progress, followed
from metal.data.records import Output, Rater, with_swapped
from metal.data.text import plural

BLOCK = 20_000  # rows that are written at once


def _csv(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    notes = list(_complete(exported))
    table = exported.table
    starts = range(0, max(len(table), 1), BLOCK)
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in followed(starts, progress, len(starts)):
            file.write(csv_text(table.iloc[start : start + BLOCK], header=not start))
    return notes


def _jsonl(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    notes = list(_complete(exported))
    table = exported.table
    starts = range(0, max(len(table), 1), BLOCK)
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in followed(starts, progress, len(starts)):
            rows = table.iloc[start : start + BLOCK].astype(object)
            records = rows.where(rows.notna(), None).to_dict("records")
            file.writelines(f"{json_text(record)}\n" for record in records)
    return notes


def _parquet(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    notes = list(_complete(exported))
    exported.table.to_parquet(path, index=False)
    return notes


def _hugging_face(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    datasets = load_library("writing Hugging Face datasets")
    notes = list(_complete(exported))
    datasets.Dataset.from_pandas(exported.table, preserve_index=False).save_to_disk(str(path))
    return notes


def _complete(exported: Exported) -> Iterator[str]:
    """Add to the table the columns of ADDED that these data need. Notes: what no column holds."""
    table = exported.table
    yield from _add_repeats(table, exported.dataset.raters)
    _add_pairs(table, exported.dataset.outputs)
    if "text" in table and any(source.references for source in exported.dataset.sources.values()):
        sources = exported.dataset.sources
        table[REFERENCE] = [next(iter(sources[name].references), "") for name in table["source"]]
        yield from note_on_further_references(exported)
    last = [name for name in (*ADDED, CRITERION_RECORD) if name in table]
    for name in last:
        table.insert(len(table.columns) - 1, name, table.pop(name))


def _add_pairs(table: pd.DataFrame, by_name: Mapping[str, Output]) -> None:
    """Write who wrote the outputs of a pair, from what an output was made, and the texts of pairs
    if the table has texts; only the columns that are not empty.
    """
    outputs = with_swapped(by_name, table["output"].unique())
    columns = {
        name: {output.output: getattr(output, name) for output in outputs.values()}
        for name in OF_PAIRS
    }
    if "text" in table:
        for number, name in enumerate(PAIR_TEXTS):
            pairs = (output for output in outputs.values() if output.texts)
            columns[name] = {pair.output: pair.texts[number] for pair in pairs}
    for name, cells in columns.items():
        if any(cells.values()):
            table[name] = table["output"].map(cells).fillna("")


def _add_repeats(table: pd.DataFrame, raters: Mapping[str, Rater]) -> Iterator[str]:
    """Write a judge's repeats under the judge's name, with their numbers. Note: ratings by repeats
    whose names are not JUDGE#NUMBER, which stay raters of their own.
    """
    judge, number = dict[str, str](), dict[str, int]()
    others = set[str]()
    for name in table["rater"].unique():
        asked = raters[name].about.get("repeats")
        time = raters[name].about.get("sample")
        if type(time) is int and time > 1 and name == f"{asked}#{time}":
            judge[name], number[name] = str(asked), time
        elif asked:
            others.add(name)
    if number:
        table[REPEAT] = table["rater"].map(number).fillna(1).astype(int)
        table["rater"] = table["rater"].replace(judge)
    if others:
        count = plural(int(table["rater"].isin(others).sum()), "rating")
        yield (
            f"{count} by judges asked again under names of their own: the table does not say"
            " whose repeats they are"
        )


CSV = Target("a CSV file, a rating per row", _csv)
JSONL = Target("a JSON object per rating and line", _jsonl)
PARQUET = Target("a Parquet file, a rating per row", _parquet)
HUGGING_FACE = Target("a folder for `datasets.load_from_disk`", _hugging_face, folder=True)
