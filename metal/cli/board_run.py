"""A board's run folder: run.toml, raters.jsonl, warnings.txt, history.jsonl, ensembles.json, tables/, report.html."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from metal.billboard.board import Board
from metal.billboard.history import Entry
from metal.cli.run_folder import write_tables
from metal.dataset import Dataset
from metal.dataset_lines import rater_record
from metal.folders import new_folder
from metal.json_files import write_jsonl
from metal.records import Manifest


def write_board(
    folder: Path, found: Board, dataset: Dataset, about: Manifest, history: Sequence[Entry], *, force: bool
) -> None:
    """A board's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        described = about.to_dict() | {"board": {"main": found.main, "people": list(found.people)}}
        (partial / "run.toml").write_text(tomli_w.dumps(described), encoding="utf-8")
        lines = "".join(f"{' '.join(text.split())}\n" for text in found.warnings)
        (partial / "warnings.txt").write_text(lines, encoding="utf-8")
        known = [dataset.raters[name] for name in found.raters if name in dataset.raters]
        write_jsonl(partial / "raters.jsonl", map(rater_record, known))
        write_jsonl(partial / "history.jsonl", (entry.to_dict() for entry in history))
        ensembles = json.dumps(list(found.ensembles.values()), indent=1, ensure_ascii=False)
        (partial / "ensembles.json").write_text(ensembles + "\n", encoding="utf-8")
        write_tables(partial / "tables", found.tables)
