"""The table that `samples_df` of inspect_ai makes of logs: a row per sample and epoch, the value of
each scorer in `score_NAME`, and further facts about the value in `score_NAME_explanation` and
similar columns.

The table never holds the output. It names the model only if columns of evaluations were chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from metal.data.files import parse_json
from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.inspect_scores import (
    LETTERS,
    InspectScore,
    Scorers,
    add_scores,
    scores_of,
)
from metal.data.formats.harnesses.values import language_in, mapping, prefixed
from metal.data.holdings import EXPORT_MARK
from metal.data.tables.cells import MISSING, is_missing

EDIT = (
    "edit scores in the log (their authors are people), or give the samples numbers called"
    " human_CRITERION in their metadata"
)
BESIDE = ("answer", "explanation", "metadata", "history")
_SCORE, _METADATA = "score_", "metadata_"
_BY = " by "  # in the names of scores that METAL wrote into the log; those of scorers have no blank


def gathered_from(frame: pd.DataFrame) -> HarnessRows:
    """The ratings in the table."""
    gathered = HarnessRows("inspect_ai (samples_df)", EDIT)
    scorers, scores = Scorers(), list[InspectScore]()
    names = scorers_in(frame)
    generator = _generators_in(frame, gathered.notes)
    rows = [
        {str(name): cell for name, cell in row.items() if not is_missing(cell)}
        for row in frame.to_dict("records")
    ]
    for name in names:
        _empty_beside_letters(rows, _SCORE + name)
    for cells in rows:
        metadata = _below(_METADATA, cells)
        item = _item(cells, metadata, generator)
        further = prefixed("metadata", metadata)
        for name in names:
            score = _score(name, cells)
            if _BY in name and EXPORT_MARK not in mapping(score.get("metadata")):
                gathered.leave_out(
                    "scores of raters whose kind is only in the log: read the log instead"
                )
                continue
            scorers.note_score(name, score)
            scores += scores_of(item, further, name, score)
        gathered.add_people(metadata, further, **item)
    add_scores(gathered, scores, scorers)
    return gathered


def scorers_in(frame: pd.DataFrame) -> list[str]:
    """The scorers of the table. Columns such as `score_match_answer`, which belong to a scorer, do
    not count.
    """
    names = [name.removeprefix(_SCORE) for name in map(str, frame) if name.startswith(_SCORE)]
    beside = {f"{name}_{part}" for name in names for part in BESIDE}
    return [name for name in names if name not in beside]


def _empty_beside_letters(rows: Sequence[dict[str, Any]], column: str) -> None:
    """Empty the cells of a scorer that hold NaN, None and the like, if all its other values are
    letters of inspect_ai. Programs write such texts for empty cells when they save the table again.
    """
    texts = [str(row[column]).strip() for row in rows if column in row]
    empty = {text for text in texts if text.lower() in MISSING or not text}
    if not {*texts} - empty <= LETTERS.keys():
        return
    for row in rows:
        if str(row.get(column, "")).strip() in empty:
            row.pop(column, None)


def _generators_in(frame: pd.DataFrame, notes: list[str]) -> str:
    """The column that names the generator; "" if there is one generator without a name."""
    if "model" in frame:
        return "model"
    evaluations = frame["eval_id"].nunique() if "eval_id" in frame else 0
    if evaluations < 2:
        return ""
    notes.append(f"{evaluations} evaluations but no column `model`, so eval_id names the generator")
    return "eval_id"


def _score(name: str, cells: Mapping[str, Any]) -> dict[str, Any]:
    """A scorer's value with the facts that belong to it, as in a log."""
    score = {part: _read(cells.get(f"{_SCORE}{name}_{part}")) for part in BESIDE}
    score["value"] = _read(cells.get(_SCORE + name))
    if score["value"] is None and cells.get("error"):
        score["metadata"] = {"reason": f"error: {cells['error']}"}
    return score


def _item(cells: Mapping[str, Any], metadata: Mapping[str, Any], generator: str) -> dict[str, Any]:
    """The roles of a sample."""
    name = cells.get("id", cells.get("sample_id"))
    text = cells.get("input")
    if isinstance(text, str):  # of a single message of the user only its content
        text = text.removeprefix("user:\n").strip()
    item = {
        "source": name,
        "output": name,
        "language": language_in(metadata, _below("task_arg_", cells)),
        "source_text": text,
        "reference": cells.get("target"),
        "repeat": cells.get("epoch"),
    }
    if generator:
        item |= {"output": f"{name}/{cells.get(generator)}", "generator": cells.get(generator)}
    return item


def _below(prefix: str, cells: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): _read(cell)
        for name, cell in cells.items()
        if name.startswith(prefix)
    }


def _read(cell: Any) -> Any:
    """A cell; objects and lists are written as JSON."""
    if isinstance(cell, str) and cell[:1] in ("{", "["):
        try:
            return parse_json(cell)
        except json.JSONDecodeError:
            return cell
    return cell
