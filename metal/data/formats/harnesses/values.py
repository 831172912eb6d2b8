"""Values of JSON in the form that readers of harnesses need: objects of any shape, metadata, texts
and scores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from metal.data.tables.cells import plain_text
from metal.data.tables.names import GUESSES, plain

LARGEST = 10**300  # what a float holds


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a JSON object; an empty object otherwise."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list of JSON; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def language_in(*metadata: Any) -> str | None:
    """The language that an item's metadata name (`language`, `lang`, `locale`, ...); None if they
    name none. The first object that names one counts.
    """
    for each in metadata:
        if key := language_key(mapping(each)):
            return str(each[key])
    return None


def language_key(metadata: Mapping[str, Any]) -> str:
    """The name of the field that names the language; "" if there is none."""
    for key in _keys_of_language(tuple(metadata)):
        value = metadata[key]
        if isinstance(value, str) and value.strip():
            return key
    return ""


@lru_cache(maxsize=4096)  # the same few keys in every item
def _keys_of_language(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of an object that may name the language, the likeliest first."""
    by_name = {plain(key): key for key in keys}
    return tuple(by_name[name] for name in GUESSES["language"] if name in by_name)


@dataclass
class KnownInputs:
    """The sources of outputs that name no source: outputs with the same input share one. first: the
    input -> the first output that has it.
    """

    first: dict[str, str] = field(default_factory=dict)

    def source_of(self, output: Any, asked: Any) -> str | None:
        """The source of an output: the first one with this input; None if the input is unknown."""
        text = as_text(asked)
        return None if text is None else self.first.setdefault(text, str(output))


def prefixed(prefix: str, metadata: Any) -> dict[str, Any]:
    """The metadata as further columns, without the language: {"metadata.topic": "law"}."""
    metadata = mapping(metadata)
    language = language_key(metadata)
    return {f"{prefix}.{name}": each for name, each in metadata.items() if name != language}


def is_number(value: Any) -> bool:
    """Whether a value of JSON or of a cell is a number, true or false; an integer of hundreds of
    digits does not count.
    """
    if isinstance(value, str):
        return re.fullmatch(r"[+-]?\d{1,15}(\.\d{1,15})?", value.strip()) is not None
    if isinstance(value, int):
        return abs(value) < LARGEST
    return isinstance(value, float) and not math.isnan(value)


def is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) and value != ""


def as_text(value: Any) -> str | None:
    """A value as text; None if it is empty."""
    if isinstance(value, str) and value.isascii():  # most of a large file
        return value or None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return plain_text(value) or None


def as_answer(value: Any) -> Any:
    """A score in the form that the table reader takes: true is 1; a value that is neither a number
    nor a text becomes its JSON text, which is not a score.
    """
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not is_number(value):
        return f"a number of {value.bit_length():,} bits"
    return value if isinstance(value, int | float | str | None) else plain_text(value)
