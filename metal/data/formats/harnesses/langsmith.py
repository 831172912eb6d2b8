"""Feedback of LangSmith: a table of runs with a column for each kind of feedback
(`feedback.correctness`), or the feedback itself, with one record for each (`key`, `score`,
`feedback_source`).

The source of feedback says whose it is: `app` is a person, `model` and `auto_eval` are judges;
`api` may be anybody, and is read as a judge. A table of runs has no source; in a table, people are
recognized by the column's name (`feedback.human_correctness`). Runs with the same inputs have the
same source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.people import is_a_person
from metal.data.formats.harnesses.records import (
    EVALUATOR,
    Repeats,
    metadata_in,
    records_in,
    records_of,
)
from metal.data.formats.harnesses.values import KnownInputs, language_in, mapping, prefixed
from metal.data.people import PERHAPS
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of

KINDS = {"app": "human", "model": "llm", "auto_eval": "llm", "api": "llm"}
FEEDBACK = "feedback."
ANNOTATE = "annotate runs in LangSmith, or call the feedback human_CRITERION, and export again"
SENT = "api"


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a table of runs, or records of feedback."""
    records = records_in(path, "runs or feedback of LangSmith", "runs", "feedback", "data")
    return _gathered(records, options).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of runs or of feedback."""
    gathered = _gathered(records_of(frame), options)
    return gathered.draft({"name": "ratings", **options}, FRAME)


def _gathered(records: Iterable[Mapping[str, Any]], options: Mapping[str, Any]) -> HarnessRows:
    gathered, repeats, inputs = HarnessRows("LangSmith", ANNOTATE), Repeats(), KnownInputs()
    sent = 0
    for record in records:
        if "key" in record and ("run_id" in record or "trace_id" in record):
            sent += _add_feedback(gathered, repeats, record)
        else:
            _add_run(gathered, inputs, record, options.get("kinds") or {})
    if sent:
        gathered.notes.append(
            f"feedback that a program sent (source api) is read as a judge's: {sent:,};"
            f" {PERHAPS} it: `kinds={{'{SENT}': 'human'}}`"
        )
    return gathered


# ---------------------------------------------------------------- feedback, a record each


def _add_feedback(gathered: HarnessRows, repeats: Repeats, feedback: Mapping[str, Any]) -> bool:
    """Add a record of feedback. Returns whether a program sent it."""
    source = {**mapping(feedback.get("feedback_source")), **_below("feedback_source.", feedback)}
    mark = str(source.get("type") or SENT)
    kind = KINDS.get(mark)
    if kind is None or feedback.get("feedback_group_id"):
        what = "feedback of other sources" if kind is None else "feedback that compares runs"
        gathered.leave_out(what)
        return False
    output, criterion = feedback.get("run_id") or feedback.get("trace_id"), str(feedback["key"])
    rater: Any = SENT if mark == SENT else EVALUATOR
    if kind == "human":
        rater = source.get("user_name") or source.get("user_id")
    metadata = {**metadata_in(feedback, "extra"), **mapping(source.get("metadata"))}
    score = feedback.get("score")
    gathered.add(
        prefixed("metadata", metadata),
        output=output,
        language=language_in(metadata, feedback),
        rater=rater,
        kind=kind,
        criterion=criterion,
        score=feedback.get("value") if score is None else score,
        reason="no score",
        comment=feedback.get("comment"),
        repeat=repeats.number(output, rater, criterion),
    )
    return mark == SENT


# ---------------------------------------------------------------- a table of runs


def _add_run(
    gathered: HarnessRows, inputs: KnownInputs, run: Mapping[str, Any], kinds: Mapping[str, str]
) -> None:
    metadata = {**metadata_in(run, "metadata"), **_below("metadata.", run)}
    output, asked = run.get("id") or run.get("run_id"), _text(run, "inputs")
    item = {
        "output": output,
        "source": inputs.source_of(output, asked),
        "source_text": asked,
        "text": _text(run, "outputs"),
        "reference": _text(run, "reference_outputs"),
        "language": language_in(metadata),
    }
    further = prefixed("metadata", metadata)
    scores = {**mapping(run.get("feedback_stats")), **_below(FEEDBACK, run)}
    if not scores:
        gathered.leave_out("runs without feedback")
    for name, value in scores.items():
        if isinstance(value, dict):
            if value.get("n") not in (1, None):
                gathered.leave_out("means of several feedbacks")
                continue
            value = value.get("avg")
        if is_a_person(name, kinds):
            gathered.add_people({name: value}, further, **item)
        else:
            own = {"rater": EVALUATOR, "kind": "llm", "criterion": name, "score": value}
            gathered.add(further, **item, **own, reason="no score")


def _below(prefix: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns whose names begin with this prefix, under names without the prefix."""
    names = [name for name in record if name.startswith(prefix)]
    return {name.removeprefix(prefix): record[name] for name in names}


def _text(run: Mapping[str, Any], part: str) -> Any:
    """The text of a part of the run: its only value or, if there are several, all of them."""
    values = {**mapping(run.get(part)), **_below(f"{part}.", run)}
    if len(values) == 1:
        return next(iter(values.values()))
    return values or run.get(part)


FORMAT = Format(
    "runs and feedback of LangSmith (CSV, JSON, Parquet)",
    read,
    OPTIONS,
    keys=marks_of("langsmith"),
    read_frame=read_frame,
)
