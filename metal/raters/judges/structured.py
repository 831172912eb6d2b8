"""Find the JSON objects in a reply, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import regex

REASON_KEYS = (
    "justification",
    "reason",
    "explanation",
    "rationale",
    "comments",
    "comment",
    "reasoning",
)
_OBJECT = regex.compile(r"\{\s*+[\"}]")
_WITH_KEY = regex.compile(r"\{\s*+\"[^\"\n]{1,60}\"\s*+:")
_MEMBER = regex.compile(r"\s*+[{\[,]\s*+(?:(?P<name>\"(?:[^\"\\]|\\.)*+\")\s*+:\s*+)?", regex.S)
_KEY_OR_OBJECT = regex.compile(
    r"(?P<name>\"(?:[^\"\\]|\\.)*+\")(?:\s*+(?P<colon>:)\s*+)?|\{", regex.S
)
_COMMA = regex.compile(r"\s*+,")
# {"criterion": "fluency", "score": 4}
_NAMES_OF_PARTS = ("criterion", "name", "metric", "aspect", "dimension")
# each costs a pass over the text; after that many only the last objects are tried
_MOST_FAULTS = 200
_DEEPEST = 4


def objects_with(
    text: str, names: tuple[str, ...]
) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """The position and fields of each JSON object in a text that has one of the names as a key, in
    order.

    If objects are nested, this gives the outermost object whose value under the name is not an
    object, with the justification around it. An object that the end of the text cuts off comes
    last, without fields.
    """
    for start, value in objects_in(text):
        for fields in _with_key(value, names) if value else [{}]:
            yield start, fields


def objects_in(text: str, partly: bool = False) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """The position and content of each JSON object in a text, except objects inside another. An
    object that is cut off comes last and is empty.

    Objects are found amid fences, prose and lists. Keys are in lower case. A key that is repeated
    with another value holds a list of both values, which is not a verdict. partly: whether to give
    the complete parts of an object that is cut off.
    """
    decode = _DECODER.raw_decode
    starts = [match.start() for match in _OBJECT.finditer(text)]
    end = faults = turn = 0
    while turn < len(starts):
        start, turn = starts[turn], turn + 1
        if start < end:
            continue
        try:
            value, end = decode(text, start)
            if value:
                yield (start, end), value
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and _is_cut(text, start, error, partly):
                yield (start, len(text)), _complete_parts(text, start) if partly else {}
                return
            faults += 1
            if faults == _MOST_FAULTS:
                turn = max(turn, len(starts) - _MOST_FAULTS)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, list[Any]] = {}
    for key, value in pairs:
        values = fields.setdefault(key.lower(), [])
        if value not in values:
            values.append(value)
    return {key: values if len(values) > 1 else values[0] for key, values in fields.items()}


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_fields)


def _is_cut(text: str, start: int, error: json.JSONDecodeError, after_objects: bool) -> bool:
    """Whether a JSON object is cut off by the end of the text. after_objects: whether the cut may
    come after an object inside it.
    """
    at_the_end = error.msg.startswith("Unterminated string") or error.pos >= len(text) - len(
        "\\uABCD"
    )
    ended = not after_objects and text.rstrip("` \n]").endswith("}")
    return at_the_end and not ended and bool(_WITH_KEY.match(text, start))


def _complete_parts(text: str, start: int, depth: int = 0) -> dict[str, Any]:
    """The complete members of an object or list that is cut off, and the complete objects and lists
    inside its last, incomplete member.

    The incomplete member itself is left out.
    """
    members: list[tuple[str, Any]] = []
    while begin := _MEMBER.match(text, start):
        try:
            value, start = _DECODER.raw_decode(text, begin.end())
            name = _DECODER.decode(begin["name"] or '""')
            about_it = isinstance(value, str) and name.lower() in _NAMES_OF_PARTS
            # a last number may go on
            if not about_it and (isinstance(value, dict) or _COMMA.match(text, start)):
                members.append((name, value))
        except (ValueError, RecursionError):
            inner = _complete_parts(text, begin.end(), depth + 1) if depth < _DEEPEST else {}
            return _fields(
                [
                    *members,
                    *(
                        (name, part)
                        for name, part in inner.items()
                        if isinstance(part, dict | list)
                    ),
                ]
            )
    return _fields(members)


def _with_key(value: object, names: tuple[str, ...], depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return
    values = value.values() if isinstance(value, dict) else value
    named = [value] if isinstance(value, dict) and not value.keys().isdisjoint(names) else []
    if named and not isinstance(field_of(named[0], names), dict | list):
        yield from named
    else:
        inside = [fields for inner in values for fields in _with_key(inner, names, depth + 1)]
        reasons = {}
        if named:
            reasons = {key: reason for key, reason in named[0].items() if key in REASON_KEYS}
        yield from [reasons | fields for fields in inside] or named


def parts_under(value: object, names: tuple[str, ...], depth: int = 0) -> Iterator[Any]:
    """In order, the values under one of the names in the outermost objects that have the name as a
    key, and the objects that give the name as their subject.
    """
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return
    if isinstance(value, dict):
        part = field_of(value, names)
        if part is None and str(field_of(value, _NAMES_OF_PARTS)).strip().lower() in names:
            part = value
        if part is not None:
            yield part
            return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from parts_under(inner, names, depth + 1)


def members_in(
    text: str, at: tuple[int, int], names: Collection[str]
) -> Iterator[tuple[str, Any, tuple[int, int]]]:
    """Key, value and span of each complete member with one of the names in the object at a
    position, at any depth. If one of the names is empty, also the objects themselves.
    """
    for token in _KEY_OR_OBJECT.finditer(text, *at):
        is_key = token["colon"] is not None
        if not is_key and not (token[0] == "{" and "" in names):
            continue
        try:
            key = _DECODER.decode(token["name"]).lower() if is_key else ""
            if key in names:
                value, end = _DECODER.raw_decode(text, token.end() if is_key else token.start())
                yield key, value, (token.start(), end)
        except (ValueError, RecursionError):
            continue  # cut off


def field_of(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The value under the first of these names that has a value; None if none has."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def justification_in(fields: Mapping[str, Any]) -> str:
    """The justification of a structured reply; empty if it has none."""
    reason = field_of(fields, REASON_KEYS)
    if isinstance(reason, list):
        reason = " ".join(map(str, reason))
    return str(reason).strip() if isinstance(reason, str | int | float) else ""
