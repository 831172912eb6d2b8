"""METAL's five criteria (section 3.2), as prompts/criteria/ declares them, and scores on them as released."""

from __future__ import annotations

import math

from metal.bundled import bundled
from metal.dataset import read_criterion, read_toml
from metal.records import Criterion

METAL_CRITERIA = (
    "linguistic_acceptability",
    "output_content_quality",
    "task_quality",
    "problematic_content",
    "hallucinations",
)
SHOWN = 40  # characters of an unreadable score that its reason repeats


def metal_criterion(name: str) -> Criterion:
    """One of METAL_CRITERIA."""
    path = bundled("prompts") / "criteria" / f"{name}.toml"
    return read_criterion(name, read_toml(path), path)


def metal_criteria() -> dict[str, Criterion]:
    """All of METAL_CRITERIA by name, in the order of the paper."""
    return {name: metal_criterion(name) for name in METAL_CRITERIA}


def score_or_reason(criterion: Criterion, given: object) -> tuple[float, str]:
    """A score as it stands in somebody's JSON, or NaN and the reason why it is none.

    Text is never read as a number: "2" is what a model that ignored the format wrote, and is kept as such.

    >>> score_or_reason(metal_criterion("hallucinations"), 2)
    (nan, 'off scale: 2')
    """
    if given is None or given == "" or (isinstance(given, float) and math.isnan(given)):
        return math.nan, "no answer"
    if isinstance(given, bool) or not isinstance(given, int | float):
        return math.nan, f"not a number: {str(given)[:SHOWN]!r}"
    if given not in criterion.scale.values:
        return math.nan, f"off scale: {given:g}"
    return float(given), ""
