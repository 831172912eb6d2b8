"""Records of Argilla: JSON (`Dataset.records.to_json`), or the table of `to_datasets`, of version 2
or 1, as Parquet or CSV.

Responses are people's, suggestions are models' unless their type is `human`. A discarded response
is a missing answer; drafts are left out. The metadata of records that METAL exported say more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.argilla_metal import OfMetal, described_in, questions_of
from metal.data.formats.harnesses.records import (
    EVALUATOR,
    metadata_in,
    records_in,
    records_of,
)
from metal.data.formats.harnesses.texts import texts_in
from metal.data.formats.harnesses.values import is_scalar, language_in, mapping, objects, prefixed
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of

RESPONSES, SUGGESTION, OLD_SUGGESTION = ".responses", ".suggestion", "-suggestion"
BESIDE = re.compile(r"\.(responses|suggestion)(\.\w+)?$|-suggestion(-metadata)?$")
MOST_LETTERS = 200  # of an answer that is a label
RESPOND = "submit responses in Argilla and export again"
NO_FIELDS = {"id", "external_id", "status", "metadata", "_server_id", "vectors"}


@dataclass(frozen=True)
class ArgillaAnswer:
    """An answer to a question. user: who gave it; None for a model, "" for a person without a name.
    status: of a response.
    """

    question: str
    value: Any
    user: str | None = None
    agent: str | None = None
    status: str | None = None
    confidence: Any = None


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of records."""
    records = records_in(path, "records of Argilla", "items")
    return _gathered(records, path).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of records."""
    return _gathered(records_of(frame), FRAME).draft({"name": "ratings", **options}, FRAME)


def _gathered(records: Iterable[Mapping[str, Any]], file: Path) -> HarnessRows:
    gathered, records = HarnessRows("Argilla", RESPOND), list(records)
    described = described_in(records)
    gathered.describe(described, file)
    questions = {question: name for name, question in questions_of(described).items()}
    for number, record in enumerate(records):
        name = record.get("id") or record.get("external_id") or f"record {number}"
        _add_record(gathered, record, str(name), questions)
    return gathered


def _add_record(
    gathered: HarnessRows, record: Mapping[str, Any], name: str, questions: Mapping[str, str]
) -> None:
    """Add the ratings of a record. questions: name -> criterion, of those that METAL named."""
    nested = "responses" in record or "suggestions" in record
    answers = list(_nested(record) if nested else _flat(record))
    fields = mapping(record.get("fields")) or _fields(record, answers)
    metadata = metadata_in(record, "metadata")
    item = _item(fields, metadata or fields) | {"output": name}
    further = prefixed("metadata", metadata)
    of_metal = OfMetal(metadata or record)
    if of_metal:
        item, further = item | of_metal.texts(fields), {}
    rows = []
    for answer in answers:
        criterion = questions.get(answer.question, answer.question)
        own = _roles(gathered, answer, of_metal.people)
        rows += [of_metal.completed(own | {"criterion": criterion})] if own else []
    rows += of_metal.left()
    for row in rows:
        gathered.add(further, **item, **row)
    if not answers and not rows:
        gathered.leave_out("records without an answer")


def _roles(
    gathered: HarnessRows, answer: ArgillaAnswer, names: Mapping[str, str]
) -> dict[str, Any]:
    """The roles of an answer, without its criterion; none if it is left out."""
    discarded = answer.status == "discarded"
    if answer.status == "draft":
        gathered.leave_out("drafts")
        return {}
    short = is_scalar(answer.value) and len(str(answer.value)) <= MOST_LETTERS
    if not (discarded or answer.value is None or short):
        gathered.leave_out("answers that are texts, spans, rankings or several labels")
        return {}
    own: dict[str, Any] = {"rater": answer.agent or EVALUATOR, "kind": "llm"}
    if answer.user is not None:
        own = {"rater": names.get(answer.user, answer.user) or None, "kind": "human"}
    own |= {"score": answer.value, "reason": "no answer", "confidence": answer.confidence}
    if discarded:
        own |= {"score": None, "reason": "discarded"}
    return own


# ---------------------------------------------------------------- answers


def _nested(record: Mapping[str, Any]) -> Iterator[ArgillaAnswer]:
    """The answers of a record as JSON: `responses` and `suggestions` by question."""
    for question, responses in mapping(record.get("responses")).items():
        for response in objects(responses):
            user, status = response.get("user_id"), response.get("status")
            yield ArgillaAnswer(question, response.get("value"), _name(user), None, status)
    for question, suggestion in mapping(record.get("suggestions")).items():
        yield _suggested(question, mapping(suggestion))


def _suggested(question: str, suggestion: Mapping[str, Any]) -> ArgillaAnswer:
    agent, score = suggestion.get("agent"), suggestion.get("score")
    by_a_person = suggestion.get("type") == "human"
    user = _name(agent) if by_a_person else None
    confidence = score if isinstance(score, int | float) else None
    return ArgillaAnswer(question, suggestion.get("value"), user, agent, None, confidence)


def _flat(record: Mapping[str, Any]) -> Iterator[ArgillaAnswer]:
    """The answers in a row of a table, of version 2 (`q.responses`) or 1 (`q`, `q-suggestion`)."""
    for name, cell in record.items():
        question = name.removesuffix(RESPONSES)
        if name.endswith(RESPONSES) and isinstance(cell, list):
            users, statuses = (_list(record.get(f"{name}.{part}")) for part in ("users", "status"))
            for value, user, status in zip_longest(cell, users, statuses):
                yield ArgillaAnswer(question, value, _name(user), None, status)
        elif name.endswith(SUGGESTION):
            yield _suggested(
                name.removesuffix(SUGGESTION),
                {"value": cell, "agent": record.get(f"{name}.agent")}
                | {"score": record.get(f"{name}.score")},
            )
        elif name.endswith(OLD_SUGGESTION):
            by_whom = mapping(record.get(f"{name}-metadata"))
            yield _suggested(name.removesuffix(OLD_SUGGESTION), {**by_whom, "value": cell})
        elif isinstance(cell, list):
            for response in objects(cell):
                if {"user_id", "value"} <= response.keys():
                    user, status = _name(response["user_id"]), response.get("status")
                    yield ArgillaAnswer(name, response["value"], user, None, status)


def _name(user: Any) -> str:
    return "" if user is None else str(user)


def _list(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else []


# ---------------------------------------------------------------- what was rated


def _fields(record: Mapping[str, Any], answers: Iterable[ArgillaAnswer]) -> dict[str, Any]:
    """The texts in a row of a table: what is neither an answer nor an id."""
    questions = {answer.question for answer in answers}
    return {
        name: cell
        for name, cell in record.items()
        if name not in NO_FIELDS and is_scalar(cell) and BESIDE.sub("", name) not in questions
    }


def _item(fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of a record."""
    source_text, text = texts_in(fields)
    return {
        "text": text,
        "source_text": source_text,
        "language": language_in(metadata, fields),
        "generator": metadata.get("generator") or metadata.get("model"),
        "source": metadata.get("source"),
    }


FORMAT = Format(
    "records of Argilla (JSON; Parquet or CSV of `to_datasets`)",
    read,
    OPTIONS,
    keys=marks_of("argilla"),
    read_frame=read_frame,
)
