"""Traces of MLflow with their assessments: `search_traces` as JSON, Parquet or CSV, traces as JSON
(`mlflow traces search --output json`), one at a line or in a list.

Feedback is a rating, whose source says who gave it: HUMAN, LLM_JUDGE or CODE. An assessment that
another one overrides is left out. An expectation is what should have come out: a reference.
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
    Repeats,
    metadata_in,
    records_in,
    records_of,
    unpacked,
)
from metal.data.formats.harnesses.values import KnownInputs, language_in, mapping, objects, prefixed
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of
from metal.errors import DataError

KINDS = {"HUMAN": "human", "LLM_JUDGE": "llm", "AI_JUDGE": "llm", "CODE": "metric"}
FEEDBACK = "give feedback in MLflow (source_type HUMAN) and export again"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of traces."""
    records = records_in(path, "traces of MLflow", "traces")
    return _gathered(records, path).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read the DataFrame of `search_traces`."""
    return _gathered(records_of(frame), FRAME).draft({"name": "ratings", **options}, FRAME)


def _gathered(traces: Iterable[Mapping[str, Any]], file: Path) -> HarnessRows:
    gathered, repeats, inputs = HarnessRows("MLflow", FEEDBACK), Repeats(), KnownInputs()
    for number, row in enumerate(traces, 1):
        trace = _whole(row)
        info = {**trace, **mapping(trace.get("info"))}
        assessments = _assessments(info, f"{file} trace {number}")
        if not assessments:
            gathered.leave_out("traces without an assessment")
        item, further = _item(info, assessments)
        item["source"] = inputs.source_of(item["output"], item["source_text"])
        for assessment in assessments:
            _add(gathered, repeats, assessment, item, further, _inner_spans(trace))
    return gathered


def _whole(trace: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trace with the contents of its column `trace`, unless another column has the assessments
    as JSON. `to_csv` writes Python objects in that column as Python's own text.
    """
    if objects(unpacked(trace.get("assessments"))):
        return trace
    return {**trace, **mapping(unpacked(trace.get("trace")))}


def _assessments(info: Mapping[str, Any], location: str) -> list[Mapping[str, Any]]:
    """The assessments of a trace. Raises DataError if they are text that is not JSON."""
    assessments = unpacked(info.get("assessments"))
    if isinstance(assessments, str) and assessments.strip():
        raise DataError(
            location,
            "assessments is text that is not JSON; pandas' to_csv writes objects as Python's text",
            "Keep the column trace, which is JSON, or write the traces with"
            " to_json(FILE, orient='records')",
        )
    return objects(assessments)


def _item(
    info: Mapping[str, Any], assessments: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The roles of a trace, and what else it says."""
    metadata = metadata_in(info, "tags", "trace_metadata", "metadata", "request_metadata")
    own = {name: value for name, value in metadata.items() if not str(name).startswith("mlflow.")}
    expected = None
    for assessment in assessments:
        value = mapping(assessment.get("expectation")).get("value")
        if str(assessment.get("assessment_name")).startswith("expected_"):
            expected = value if isinstance(value, str) else expected
    item = {
        "output": info.get("trace_id") or info.get("request_id"),
        "source_text": info.get("request") or info.get("request_preview"),
        "text": info.get("response") or info.get("response_preview"),
        "language": language_in(own),
        "reference": expected,
    }
    return item, prefixed("tags", own)


def _inner_spans(trace: Mapping[str, Any]) -> set[str]:
    """The spans of a trace that are inside another one."""
    spans = objects(unpacked(trace.get("spans"))) or objects(
        mapping(trace.get("data")).get("spans")
    )
    inner = [span for span in spans if span.get("parent_id") or span.get("parent_span_id")]
    return {str(span.get("span_id")) for span in inner}


def _add(
    gathered: HarnessRows,
    repeats: Repeats,
    assessment: Mapping[str, Any],
    item: Mapping[str, Any],
    further: Mapping[str, Any],
    inner: set[str],
) -> None:
    feedback = assessment.get("feedback")
    source = mapping(assessment.get("source"))
    kind = KINDS.get(str(source.get("source_type")).upper())
    if "expectation" in assessment or "feedback" not in assessment or kind is None:
        expected = "expectation" in assessment
        gathered.leave_out("expectations" if expected else "assessments of other kinds")
        return
    if assessment.get("valid") is False:
        gathered.leave_out("assessments that others override")
        return
    criterion = str(assessment.get("assessment_name") or assessment.get("name") or "feedback")
    nameless = {"human": None, "llm": EVALUATOR, "metric": criterion}
    rater = source.get("source_id") or nameless[kind]
    span = str(assessment.get("span_id"))
    output = f"{item['output']}/{span}" if span in inner else item["output"]
    error = mapping(mapping(feedback).get("error"))
    failed = error.get("error_message") or error.get("error_code")
    language = item["language"] or language_in(assessment.get("metadata"))
    answer = {"score": mapping(feedback).get("value"), "reason": "no value"}
    if failed:
        answer = {"score": None, "reason": f"error: {failed}"}
    gathered.add(
        further,
        **{**item, "output": output, "language": language},
        **answer,
        rater=rater,
        kind=kind,
        criterion=criterion,
        comment=assessment.get("rationale"),
        repeat=repeats.number(output, rater, criterion),
    )


FORMAT = Format(
    "traces of MLflow with assessments (JSON, Parquet, CSV)",
    read,
    OPTIONS,
    keys=marks_of("mlflow"),
    read_frame=read_frame,
)
