"""The ends that the user gives a scale without levels, in the option `ranges`: for formats whose
scores have none, such as MQM and z-scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from metal.data.records import Criterion, Scale
from metal.data.scale_texts import ends_of
from metal.errors import UnknownName


def give_ends(criterion: str) -> str:
    """How to give the scale of a criterion its ends, for messages."""
    return (
        f"read the file with `ranges` and the ends of the scale, such as {criterion}=0..100, or"
        " declare range = [LOW, HIGH] in dataset.toml"
    )


def with_ranges(criteria: Iterable[Criterion], options: Mapping[str, Any]) -> tuple[Criterion, ...]:
    """The criteria, with the ends that `ranges` ({criterion or pattern: range}) gives; `*` alone is
    for all that have no ends. Raises UnknownName for a pattern that fits no continuous criterion,
    UsageError for what is no range.
    """
    ranges: Mapping[str, Any] = options.get("ranges") or {}
    by_name = {criterion.name: criterion for criterion in criteria}
    continuous = [name for name, criterion in by_name.items() if not criterion.scale.levels]
    # from the most general pattern to the name itself
    for pattern in sorted(ranges, key=lambda pattern: (-pattern.count("*"), len(pattern))):
        fitting = [name for name in continuous if fnmatchcase(name, pattern)]
        if not fitting:
            raise UnknownName("`ranges`: continuous criterion", pattern, continuous)
        scale = Scale("interval", (), *ends_of(ranges[pattern]))
        for name in fitting:
            if pattern != "*" or by_name[name].scale.ends is None:
                by_name[name] = replace(by_name[name], scale=scale)
    return tuple(by_name.values())
