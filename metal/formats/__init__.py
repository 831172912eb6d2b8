"""Other people's formats, one file each.

A reader is a function `read(path, options) -> Draft`. To add a format, write its file and add its line
to FORMATS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from metal.errors import UnknownName
from metal.formats.draft import Draft


@dataclass(frozen=True)
class Format:
    """A readable format: its name on the command line, its module, what it reads in one line."""

    name: str
    module: str
    summary: str


FORMATS = (
    Format("table", "table", "CSV, TSV, JSONL, Parquet, XLSX; a rating a row or a column a rater"),
    Format("hf", "hugging_face", "a Hugging Face dataset, local path or hub name (extra: hf)"),
    Format("metal-release", "metal_release", "METAL's published JSON with human and LLM scores"),
    Format("pariksha", "pariksha", "PARIKSHA release folder: ratings by workers and GPT-4"),
    Format("alttest", "alttest", "alternative annotator test folder: labels of people and LLMs"),
    Format("thumb", "thumb", "THumB 1.0 JSONL: expert and crowd ratings of CNNDM summaries"),
    Format("basse", "basse", "BASSE folder: summaries, annotators and LLM judges"),
)


def read(name: str, path: Path, options: Mapping[str, Any]) -> Draft:
    """Read `path` in the named format. Raises UnknownName, DataError or UsageError."""
    for entry in FORMATS:
        if entry.name == name:
            draft: Draft = import_module(f"metal.formats.{entry.module}").read(path, options)
            return draft
    raise UnknownName("format", name, [entry.name for entry in FORMATS], "`metal import --list` explains each")
