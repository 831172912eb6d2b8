"""The weights of errors in MQM, as WMT's experts use them since 2020 (Freitag et al., TACL 2021),
or as the option `weights` gives them.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.files import parse_json, read_text
from metal.data.text import first_few
from metal.errors import DataError, UsageError

# A category alone, or SEVERITY/CATEGORY, is more specific than a severity alone. The releases weigh
# `source error` (2021) by its severity, and `source issue` (2023) by nothing.
PUBLISHED = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "minor/fluency/punctuation": 0.1,
    "non-translation": 25.0,
    "source issue": 0.0,
    "accuracy/creative reinterpretation": 0.0,
}
KNOWN_SEVERITIES = ("critical",)  # of MQM, but not among the published weights
IN_WORDS = "major 5, minor 1, minor punctuation 0.1, non-translation 25, neutral 0"
AS_TEXT = "Write weights such as major=5,minor=1,minor/fluency/punctuation=0.1, or name a file"


@dataclass(frozen=True)
class Weights:
    """Weights by severity, by category, and by SEVERITY/CATEGORY/SUBCATEGORY, in small letters.

    own: the names of the weights that the user gave.
    """

    weights: Mapping[str, float]
    own: tuple[str, ...] = ()

    def of(self, severity: str, category: str) -> float | None:
        """The weight of an error, which is the weight of the most specific name that fits; None if
        no name fits.
        """
        for name in _parts(category):
            for key in (f"{severity}/{name}", name):
                if key in self.weights:
                    return self.weights[key]
        return self.weights.get(severity)


def spelled(name: str) -> str:
    """A severity or a category in small letters, as weights name it: `Non-translation!` is
    `non-translation`.
    """
    return name.strip().lower().replace("_", " ").replace("no error", "no-error").rstrip("!")


def weights_in(option: Any) -> Weights:
    """The published weights, changed by the option: names and weights, as a mapping or a text, or
    the path of a TOML or JSON file with them.

    Raises UsageError for a text that is neither, and DataError for a fault in the file.
    """
    if not option:
        return Weights(PUBLISHED)
    given_by, location = _given(option)
    own = {}
    for name, weight in given_by.items():
        try:
            number = float(weight)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(location, f"the weight of {name!r} is {weight!r}", AS_TEXT)
        own["/".join(map(spelled, str(name).split("/")))] = abs(number)
    return Weights(PUBLISHED | own, own=tuple(own))


def check_used(weights: Weights, marked: Collection[tuple[str, str]]) -> None:
    """Raise UsageError for a weight of the user's that no error in the file has, by severity or
    category, unless METAL or MQM knows the name. marked: the severity and the category of each.
    """
    severities = {severity for severity, _ in marked}
    categories = {name for _, category in marked for name in _parts(category)}
    both = {f"{severity}/{name}" for severity, category in marked for name in _parts(category)}
    usable = {*PUBLISHED, *KNOWN_SEVERITIES, *severities, *categories, *both}
    for name in weights.own:
        if name not in usable:
            raise UsageError(
                f"`weights`: no error in the file is {name!r}."
                f" Its severities are {first_few(sorted(severities))};"
                f" its categories {first_few(sorted(categories))}"
            )


def _parts(category: str) -> list[str]:
    """A category and the categories that contain it, the most specific first."""
    parts = category.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _given(option: Any) -> tuple[Mapping[str, Any], str]:
    """Names and weights as the user gave them, and where they come from."""
    if isinstance(option, Mapping):
        return option, "`weights`"
    text = str(option)
    if "=" in text:
        parts = [part.partition("=") for part in text.split(",")]
        return {name.strip(): weight.strip() for name, _, weight in parts}, "`weights`"
    file = Path(text)
    if not file.is_file():
        raise UsageError(f"`weights` {text!r}: no such file. {AS_TEXT}")
    try:
        content = read_text(file)
        weights = parse_json(content) if file.suffix == ".json" else tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(file, f"neither TOML nor JSON ({error})", AS_TEXT) from None
    if not isinstance(weights, Mapping):
        raise DataError(file, "not a table of weights", AS_TEXT)
    return weights, str(file)
