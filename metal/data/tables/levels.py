"""Levels and ends of a scale, as options and METAL's criteria state them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
from metal.data.records import Level
from metal.data.scale_texts import numbered_labels
from metal.data.tables.cells import fold

# S1, Level 2, q-3
_LETTERS_NUMBER = re.compile(r"(?P<letters>[^\W\d_]+)[\s_.\-]*(?P<number>\d+)")


def levels_from(value: Any) -> tuple[Level, ...]:
    """Levels from `0=Bad,1=Good`, `Bad<Good` (0, 1), `1<2<3` (each its own value), {0: "Bad"} or
    pairs. Raises UsageError.

    >>> levels_from("Bad<Good") == levels_from("0=Bad,1=Good") == levels_from({0: "Bad", 1: "Good"})
    True
    """
    return tuple(Level(number, label) for number, label in numbered_labels(value))


def in_list(text: str) -> str:
    """The text as one item of an option that is split at commas outside quotes."""
    return f'"{text}"' if "," in text else text


def numbers_in(labels: Iterable[str]) -> dict[str, float]:
    """The number of each label, for labels such as S1, S2, ..., S5. Empty if a label has another
    form, or if two numbers are equal.

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
    """The name of METAL's criterion with this name or label, whatever its case, and even in the
    singular; "" for other names.
    """
    folded = fold(name).rstrip("s")
    return next((ours for ours in METAL_CRITERIA if fold(ours).rstrip("s") == folded), "")


def metal_levels(name: str) -> tuple[Level, ...]:
    """The levels of METAL's criterion of this name; none for other names."""
    return metal_criterion(metal_name(name)).scale.levels if metal_name(name) else ()
