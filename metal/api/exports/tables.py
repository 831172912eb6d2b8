"""The ratings table as it is: CSV, JSONL, Parquet, and a folder of the library `datasets`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from metal.api.exports import Exported, Target, json_text
from metal.data.escaping import csv_text
from metal.data.formats.hugging_face import load_library
from metal.data.progress import Progress, followed

BLOCK = 20_000  # rows that are written at once


def _csv(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    table = exported.table
    starts = range(0, max(len(table), 1), BLOCK)
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in followed(starts, progress, len(starts)):
            file.write(csv_text(table.iloc[start : start + BLOCK], header=not start))
    return ()


def _jsonl(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    table = exported.table
    starts = range(0, max(len(table), 1), BLOCK)
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in followed(starts, progress, len(starts)):
            rows = table.iloc[start : start + BLOCK].astype(object)
            records = rows.where(rows.notna(), None).to_dict("records")
            file.writelines(f"{json_text(record)}\n" for record in records)
    return ()


def _parquet(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    exported.table.to_parquet(path, index=False)
    return ()


def _hugging_face(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    datasets = load_library("writing Hugging Face datasets")
    datasets.Dataset.from_pandas(exported.table, preserve_index=False).save_to_disk(str(path))
    return ()


CSV = Target("a CSV file, a rating per row", _csv)
JSONL = Target("a JSON object per rating and line", _jsonl)
PARQUET = Target("a Parquet file, a rating per row", _parquet)
HUGGING_FACE = Target("a folder for `datasets.load_from_disk`", _hugging_face, folder=True)
