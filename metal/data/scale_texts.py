"""Read levels and ends of a scale as people type them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from metal.errors import UsageError

_TWO_ENDS = re.compile(r"\s*([+-]?[\d.]+?)\s*(?:-|\.\.|:|to)\s*([+-]?[\d.]+)\s*")


def numbered_labels(value: Any) -> list[tuple[float, str]]:
    """The number and label of each level. Raises UsageError.

    value: `0=Bad,1=Good`, `Bad<Good` (0, 1), `1<2<3` (each its own number), {0: "Bad"}, or pairs.
    """
    if not isinstance(value, str):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(float(number), str(label)) for number, label in pairs]
    if "<" in value:
        labels = [label.strip() for label in value.split("<")]
        if all(map(is_number, labels)):
            return [(float(label), label) for label in labels]
        return [(float(rank), label) for rank, label in enumerate(labels)]
    levels = []
    for part in filter(None, value.split(",")):
        number, _, label = part.partition("=")
        try:
            levels.append((float(number), label.strip() or number.strip()))
        except ValueError:
            remedy = 'write "Bad<Good" or NUMBER=LABEL, e.g. "0=Bad,1=Medium,2=Good"'
            raise UsageError(f"`levels={part!r}`: {remedy}") from None
    return levels


def ends_of(value: Any) -> tuple[float, float]:
    """The two ends of a scale, from `0-100`, `0..100` or a pair. Raises UsageError."""
    match = _TWO_ENDS.fullmatch(value) if isinstance(value, str) else None
    try:
        low, high = (float(match[1]), float(match[2])) if match else map(float, value)
    except (TypeError, ValueError):
        raise UsageError(f"{value!r} is not a range: write both ends, e.g. 0-100") from None
    return low, high


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
