"""Other people's formats, one file each.

A reader is a function `read(path, options) -> Draft`. To add a format, write its file and add its line
to FORMATS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from metal.data.formats.draft import Draft, keep_kinds
from metal.errors import UnknownName, UsageError


@dataclass(frozen=True)
class Format:
    """A readable format: its name on the command line, its module, what it reads, the options it knows."""

    name: str
    module: str
    summary: str
    options: frozenset[str] = frozenset()


TABLE = frozenset(
    {"columns", "wide", "language", "criterion", "kinds", "groups", "shift", "levels", "measure", "direction"}
)

FORMATS = (
    Format("table", "table", "CSV, TSV, JSONL, Parquet, XLSX; a rating a row or a column a rater", TABLE),
    Format(
        "hf",
        "hugging_face",
        "a Hugging Face dataset, local path or hub name (extra: hf)",
        TABLE | {"subset", "split", "revision"},
    ),
    Format("metal-release", "metal_release", "METAL's published JSON with human and LLM scores"),
    Format("pariksha", "pariksha", "PARIKSHA release folder: ratings by workers and GPT-4"),
    Format("alttest", "alttest", "alternative annotator test folder: labels of people and LLMs"),
    Format("thumb", "thumb", "THumB 1.0 JSONL: expert and crowd ratings of CNNDM summaries"),
    Format(
        "billboard",
        "billboard",
        "Billboard's released scores: a board's results folder, or the release",
        frozenset({"language"}),
    ),
    Format("mqm", "mqm", "MQM scores of WMT 2020 by experts, a mean a segment", frozenset({"language"})),
    Format("basse", "basse", "BASSE folder: summaries, annotators and LLM judges", frozenset({"language"})),
)


def read(name: str, path: Path, options: Mapping[str, Any]) -> Draft:
    """Read `path` in the named format.

    Whatever the format, option `name` names the dataset, and `only` lists the kinds of rater to keep.
    Raises UnknownName for a format, UsageError for an option the format does not know, and what the reader raises.
    """
    entry = next((entry for entry in FORMATS if entry.name == name), None)
    if entry is None:
        raise UnknownName("format", name, [entry.name for entry in FORMATS], "`metal import --list` explains each")
    unused = sorted(set(options) - entry.options - {"name", "only"})
    if unused:
        raise UsageError(f"format {name} does not use the option for {', '.join(unused)}; leave it out")
    draft: Draft = import_module(f"metal.data.formats.{entry.module}").read(path, options)
    if options.get("name"):
        draft = replace(draft, card=replace(draft.card, name=options["name"]))
    return keep_kinds(draft, options["only"]) if options.get("only") else draft
