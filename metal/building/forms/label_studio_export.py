"""Check and read Label Studio's exports, JSON and JSON-MIN, as annotations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metal.data.files import json_in, whole_text
from metal.errors import DataError

FIELD = "score:"  # before the name of a criterion
KINDS = {"choices": "choices", "number": "number", "rating": "rating", "textarea": "text"}


@dataclass(frozen=True)
class Annotation:
    """The answers of one login to one task. values: field -> answer as text. login: blank if the
    file does not name it.
    """

    where: str
    task: str
    rater: str
    language: str
    login: str
    values: Mapping[str, str]
    seconds: float | None
    skipped: bool


def read_annotations(name: str, content: bytes) -> Iterator[Annotation]:
    """Every submitted or skipped annotation in the order of the file. Raises DataError if the file
    has another structure.
    """
    shape = "It should be Label Studio's export as JSON"
    entries = json_in(content, name, shape)
    if not isinstance(entries, list):
        raise DataError(name, "not a list of tasks", shape)
    for row, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise DataError(f"{name} task {row} of the file", "not an object", shape)
        location = f"{name} task {_text(entry.get('id', f'{row} of the file'))}"
        if "annotations" in entry:
            yield from _full(location, entry)
        else:
            yield _brief(location, entry)


def _full(location: str, entry: Mapping[str, Any]) -> Iterator[Annotation]:
    """Read an entry of a JSON export: a task with its data and its annotations."""
    data = entry.get("data")
    if not isinstance(data, dict):
        raise DataError(location, "no data", "Export as JSON")
    if not isinstance(entry["annotations"], list):
        raise DataError(location, "its annotations are not a list", "Export as JSON")
    for annotation in entry["annotations"]:
        if not isinstance(annotation, dict):
            raise DataError(location, "an annotation is not an object", "Export as JSON")
        results = annotation.get("result") or []
        if not isinstance(results, list):
            raise DataError(location, "the result of an annotation is not a list", "Export as JSON")
        values: dict[str, str] = {}
        for result in results:
            field, value = _result(location, result)
            if field in values:
                raise DataError(
                    location,
                    f"{field!r} was answered twice in one annotation",
                    "Keep one of the answers",
                )
            values[field] = value
        yield _annotation(location, data, annotation.get("completed_by"), values, annotation)


def _result(location: str, result: object) -> tuple[str, str]:
    """The field and its value as text; both are blank for kinds of fields that our forms do not
    have.
    """
    if not isinstance(result, dict) or not isinstance(result.get("value", {}), dict):
        raise DataError(location, "a result is not an object with a value", "Export as JSON")
    field = _text(result.get("from_name", ""))
    return field, _value(
        location, field, result.get("value", {}).get(KINDS.get(str(result.get("type")), ""))
    )


def _brief(location: str, entry: Mapping[str, Any]) -> Annotation:
    """Read an entry of a JSON-MIN export: an annotation whose data and fields are side by side. A
    number has the form `[{"number": 1.5}]`.
    """
    values = {
        field: _value(location, field, _unpacked(value))
        for field, value in entry.items()
        if field.startswith(FIELD) or field == "comment"
    }
    return _annotation(location, entry, entry.get("annotator"), values, entry)


def _unpacked(value: object) -> object:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0].get("number", value[0].get("rating", value))
    return value


def _annotation(
    location: str,
    data: Mapping[str, Any],
    login: object,
    values: Mapping[str, str],
    annotation: Mapping[str, Any],
) -> Annotation:
    for field in ("task", "rater"):
        if not isinstance(data.get(field), str) or not data[field].strip():
            raise DataError(
                location,
                f"no {field} in its data",
                "Export a project into which PERSON.json was imported",
            )
    if isinstance(login, dict):
        login = login.get("email") or login.get("id")
    if not isinstance(login, str | int | None):
        raise DataError(
            location, f"annotated by {login!r}", "It should be the number or the email of a login"
        )
    seconds = annotation.get("lead_time")
    timed = (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and 0 <= seconds < math.inf
    )
    annotator = "" if login is None else _text(login)
    if not timed:
        seconds = None
    rater = _text(data["rater"])
    language = _text(data.get("language") or rater)
    return Annotation(
        location,
        _text(data["task"]),
        rater,
        language,
        annotator,
        values,
        seconds if seconds is None else float(seconds),
        bool(annotation.get("was_cancelled", False)),
    )


def _value(location: str, field: str, value: object) -> str:
    """The text of a value, which is a choice, a number or the lines of a text."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        if field.startswith(FIELD) and len(value) > 1:
            raise DataError(location, f"{field!r} has {len(value)} answers", "Keep one of them")
        return "\n".join(map(_text, value))
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return _text(value)
    raise DataError(
        location, f"{field!r} is neither a choice nor a number nor a text", "Export as JSON"
    )


def _text(value: object) -> str:
    return whole_text(str(value))
