"""Levels and ends of a scale as options and METAL's criteria say them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from metal.data.formats import METAL_CRITERIA, metal_criterion
from metal.data.records import Level
from metal.data.tables.cells import fold
from metal.errors import UsageError

# S1, Level 2, q-3
_LETTERS_NUMBER = re.compile(r"(?P<letters>[^\W\d_]+)[\s_.\-]*(?P<number>\d+)")


def levels_from(value: Any) -> tuple[Level, ...]:
    """Levels from `0=Bad,1=Good`, `Bad<Good` (0, 1), `1<2<3` (as they are), {0: "Bad"} or pairs.
    Raises UsageError.

    >>> levels_from("Bad<Good") == levels_from("0=Bad,1=Good") == levels_from({0: "Bad", 1: "Good"})
    True
    """
    if not isinstance(value, str):
        pairs = value.items() if isinstance(value, Mapping) else value
        return tuple(Level(float(number), str(label)) for number, label in pairs)
    if "<" in value:
        labels = [label.strip() for label in value.split("<")]
        numbers = (
            [float(label) for label in labels]
            if all(map(is_number, labels))
            else range(len(labels))
        )
        return tuple(
            Level(float(number), label) for number, label in zip(numbers, labels, strict=True)
        )
    levels = []
    for part in filter(None, value.split(",")):
        number, _, label = part.partition("=")
        try:
            levels.append(Level(float(number), label.strip() or number.strip()))
        except ValueError:
            remedy = 'write "Bad<Good" or NUMBER=LABEL, e.g. "0=Bad,1=Medium,2=Good"'
            raise UsageError(f"`levels={part!r}`: {remedy}") from None
    return tuple(levels)


_TWO_ENDS = re.compile(r"\s*([+-]?[\d.]+?)\s*(?:-|\.\.|:|to)\s*([+-]?[\d.]+)\s*")


def ends_of(value: Any) -> tuple[float, float]:
    """Two ends, from `0-100`, `0..100` or a pair. Raises UsageError."""
    match = _TWO_ENDS.fullmatch(value) if isinstance(value, str) else None
    try:
        low, high = (float(match[1]), float(match[2])) if match else map(float, value)
    except (TypeError, ValueError):
        raise UsageError(f"{value!r} is no range: write its two ends, e.g. 0-100") from None
    return low, high


def is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def in_list(text: str) -> str:
    """The text as options take it that divide at the commas outside quotes."""
    return f'"{text}"' if "," in text else text


def numbers_in(labels: Iterable[str]) -> dict[str, float]:
    """Label -> its number, of labels such as S1, S2, ..., S5; nothing where one is no such label or
    two are alike.

    >>> numbers_in(["S1", "S3"]), numbers_in(["A1", "B1"])
    ({'S1': 1.0, 'S3': 3.0}, {})
    """
    numbers, letters = {}, set()
    for label in labels:
        match = _LETTERS_NUMBER.fullmatch(label.strip())
        if not match:
            return {}
        letters.add(fold(match["letters"]))
        numbers[label] = float(match["number"])
    if len(letters) != 1 or len(set(numbers.values())) < len(numbers):
        return {}
    return numbers


def metal_name(name: str) -> str:
    """METAL's criterion of that name or label, in any case, also in the singular; "" for others."""
    folded = fold(name).rstrip("s")
    return next((ours for ours in METAL_CRITERIA if fold(ours).rstrip("s") == folded), "")


def metal_levels(name: str) -> tuple[Level, ...]:
    """The levels of METAL's criterion of that name; none for others."""
    return metal_criterion(metal_name(name)).scale.levels if metal_name(name) else ()
