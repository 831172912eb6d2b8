"""The goldens that `metal export --to deepeval` writes: ids and ratings of an output in its
`additional_metadata`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from metal.data.formats.harnesses.exported import rater_in
from metal.data.formats.harnesses.values import mapping, objects

_IDS = ("output", "source", "generator", "language")


def ids_of(metadata: Any) -> dict[str, Any]:
    """METAL's ids of the output and its language; none if METAL did not write the metadata."""
    fields = mapping(metadata)
    if not objects(fields.get("ratings")) or not all(fields.get(name) for name in _IDS):
        return {}
    return {name: fields[name] for name in _IDS}


def ratings_in(metadata: Any) -> Iterator[dict[str, Any]]:
    """The roles of each rating of the output."""
    for rating in objects(mapping(metadata).get("ratings")):
        own = rater_in(rating)
        if own and rating.get("criterion"):
            own |= {name: rating.get(name) for name in ("criterion", "score", "comment")}
            yield own | {"reason": rating.get("reason") or "no score"}


def records_in(cases: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The records of criteria, each of which stands in the first rating on its criterion."""
    records = {}
    for case in cases:
        for rating in objects(mapping(case.get("additional_metadata")).get("ratings")):
            if isinstance(rating.get("criterion_record"), str):
                records[str(rating.get("criterion"))] = _parsed(rating["criterion_record"])
    return records


def _parsed(record: str) -> Any:
    """The record, or the text itself if it is no JSON, which is refused by name later."""
    try:
        return json.loads(record)
    except (ValueError, RecursionError):
        return record
