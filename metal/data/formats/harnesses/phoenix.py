"""Annotations of Phoenix: the table of `get_span_annotations_dataframe` (CSV, Parquet), or the
answer of its API (`data`), in which score and label are in `result`.

`annotator_kind` says whose an annotation is: HUMAN, LLM or CODE. The score counts; the label stands
in where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.records import (
    EVALUATOR,
    LabelledNumbers,
    Repeats,
    metadata_in,
    records_in,
    records_of,
)
from metal.data.formats.harnesses.values import language_in, mapping, prefixed
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of

KINDS = {"HUMAN": "human", "LLM": "llm", "CODE": "metric"}
ANNOTATE = "annotate in Phoenix (annotator_kind HUMAN) and export again"
SUBJECTS = ("context.span_id", "span_id", "context.trace_id", "trace_id", "session_id")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of annotations."""
    records = records_in(path, "annotations of Phoenix", "data")
    return _gathered(records).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of annotations, whose index may be the span."""
    return _gathered(records_of(frame)).draft({"name": "ratings", **options}, FRAME)


def _gathered(annotations: Iterable[Mapping[str, Any]]) -> HarnessRows:
    gathered, labels, repeats = HarnessRows("Phoenix", ANNOTATE), LabelledNumbers(), Repeats()
    for annotation in annotations:
        kind = KINDS.get(str(annotation.get("annotator_kind")).upper())
        output = subject_of(annotation)
        if kind is None or not output:
            what = "annotations of other kinds" if kind is None else "annotations of no span"
            gathered.leave_out(what)
            continue
        if repeats.is_copy(annotation):
            gathered.leave_out("copies of earlier annotations")
            continue
        criterion = str(annotation.get("annotation_name") or annotation.get("name") or "score")
        rater = _rater(annotation, kind, criterion)
        label, number = _result(annotation, "label"), _result(annotation, "score")
        labels.note(criterion, label, number)
        metadata = metadata_in(annotation, "metadata")
        gathered.add(
            prefixed("metadata", metadata),
            output=output,
            language=language_in(metadata, annotation),
            rater=rater,
            kind=kind,
            criterion=criterion,
            score=label if number is None else number,
            reason="no score and no label",
            comment=_result(annotation, "explanation"),
            repeat=repeats.number(output, rater, criterion),
        )
    labels.say(gathered)
    return gathered


def subject_of(annotation: Mapping[str, Any]) -> str:
    """The span, trace or session that was annotated, with the place of a document in it."""
    subject = next((annotation[name] for name in SUBJECTS if annotation.get(name)), "")
    position = annotation.get("document_position")
    return str(subject) if position is None or not subject else f"{subject}/{position}"


def _rater(annotation: Mapping[str, Any], kind: str, criterion: str) -> Any:
    """Who annotated; None for a person without a name."""
    identifier = annotation.get("identifier")
    if kind == "human":
        return annotation.get("user_id") or identifier or None
    return identifier or (EVALUATOR if kind == "llm" else criterion)


def _result(annotation: Mapping[str, Any], name: str) -> Any:
    """The field, wherever the export has it: `score`, `result.score`, or in `result`."""
    inside = mapping(annotation.get("result")).get(name)
    return annotation.get(name, annotation.get(f"result.{name}", inside))


FORMAT = Format(
    "annotations of Phoenix (CSV, JSON, Parquet)",
    read,
    OPTIONS,
    keys=marks_of("phoenix"),
    read_frame=read_frame,
)
