"""Scores of Langfuse: the export of its page of scores (CSV, JSON), the files of its blob storage
export, or the answer of its API (`data`). Fields are spelled `traceId` or `trace_id`.

The source of a score says whose it is: ANNOTATION is a person (`authorUserId`, or `authorUserName`
in the export of the page), EVAL a judge. API may be anybody; it is read as a judge, and a note says
how to call it a person. An output is a trace, or an observation in it.

The files of the blob storage name no author unless they have the field group `score_provenance`.
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
    either,
    metadata_in,
    records_in,
    records_of,
)
from metal.data.formats.harnesses.values import language_in, mapping, prefixed
from metal.data.people import PERHAPS
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of

SENT = "API"  # the source of scores that a program sent, and their rater without an author
KINDS = {"ANNOTATION": "human", "EVAL": "llm", "API": "llm"}
NOT_A_RATING = {"CORRECTION": "corrected texts", "TEXT": "free texts"}
ANNOTATE = "score the traces in Langfuse (source ANNOTATION) and export again"
AUTHORS = ("authorUserId", "authorUserName")
PROVENANCE = (
    "To have people named, export the page of scores, or add the field group score_provenance to"
    " the blob storage export"
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of scores."""
    records = records_in(path, "scores of Langfuse", "data")
    return _gathered(records).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of scores."""
    return _gathered(records_of(frame)).draft({"name": "ratings", **options}, FRAME)


def _gathered(scores: Iterable[Mapping[str, Any]]) -> HarnessRows:
    gathered, labels, repeats = HarnessRows("Langfuse", ANNOTATE), LabelledNumbers(), Repeats()
    sent = unnamed = 0
    for score in scores:
        kind = KINDS.get(str(score.get("source")).upper())
        type_of_data = _type_of_data(score)
        subject = _subject(score)
        if kind is None or type_of_data in NOT_A_RATING:
            gathered.leave_out(NOT_A_RATING.get(type_of_data, "scores of other sources"))
            continue
        if not subject:
            gathered.leave_out("scores of no trace, observation or session")
            continue
        if repeats.is_copy(score):
            gathered.leave_out("copies of earlier scores")
            continue
        rater, criterion = _rater(score, kind), str(score.get("name") or "score")
        sent += str(score.get("source")).upper() == SENT
        unnamed += rater is None
        metadata = metadata_in(score, "metadata")
        gathered.add(
            prefixed("metadata", metadata),
            output=subject,
            language=language_in(metadata, score),
            rater=rater,
            kind=kind,
            criterion=criterion,
            score=_value(score, type_of_data, labels),
            reason="no value",
            comment=score.get("comment"),
            repeat=repeats.number(subject, rater, criterion),
        )
    labels.say(gathered)
    if unnamed:
        gathered.notes.append(PROVENANCE)
    if sent:
        gathered.notes.append(
            f"{sent:,} scores that a program sent (source API) are read as those of a judge;"
            f" {PERHAPS} them: `kinds={ {SENT: 'human'} }`"
        )
    return gathered


def _subject(score: Mapping[str, Any]) -> str:
    """What was scored: a trace with the observation in it or, if there is no trace, a session or an
    experiment.
    """
    inside = [either(score, name) for name in ("traceId", "observationId")]
    if any(inside):
        return "/".join(str(name) for name in inside if name)
    subject = mapping(score.get("subject")).get("id")
    return str(either(score, "sessionId") or either(score, "datasetRunId") or subject or "")


def _rater(score: Mapping[str, Any], kind: str) -> str | None:
    """Who gave the score, by the tool's own mark; None for a person without a name."""
    authors = [str(either(score, name)) for name in AUTHORS if either(score, name)]
    author = authors[0] if authors else None
    if kind == "human":
        return author
    if str(score.get("source")).upper() == SENT:
        return author or SENT
    return str(either(score, "evaluatorId") or EVALUATOR)


def _type_of_data(score: Mapping[str, Any]) -> str:
    """The type of the score's value. If the file does not say it, a label makes it a category."""
    kind_of_value = either(score, "dataType")
    if kind_of_value is None and either(score, "stringValue"):
        return "CATEGORICAL"
    return str(kind_of_value or "NUMERIC").upper()


def _value(score: Mapping[str, Any], type_of_data: str, labels: LabelledNumbers) -> Any:
    """The number or, for a category, its label; None if there is neither."""
    label, number = either(score, "stringValue"), score.get("value")
    if type_of_data == "BOOLEAN" and label:
        labels.note(str(score.get("name")), label, number)
        return number
    if type_of_data == "CATEGORICAL":
        labels.note(str(score.get("name")), label, number)
        return label or number
    return number


FORMAT = Format(
    "scores of Langfuse (CSV, JSON, Parquet)",
    read,
    OPTIONS,
    keys=marks_of("langfuse"),
    read_frame=read_frame,
)
