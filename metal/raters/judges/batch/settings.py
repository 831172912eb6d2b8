"""What judges.toml may say about a judge's batches: [judges.NAME.batch]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from metal.errors import DataError, UnknownName


@dataclass(frozen=True)
class BatchSettings:
    """How batches are made. 0 or "": the provider's default.

    requests, bytes: at most, in one batch. tokens: that may wait at the provider at once, over all batches. poll:
    seconds between two status requests. settle: seconds after which the provider's list shows a submitted batch.
    bucket: gs://... for Vertex AI. machine_type, accelerator_type, accelerator_count, replicas: for a model you
    deployed, where its endpoint does not tell.
    """

    requests: int = 0
    bytes: int = 0
    tokens: float = 0
    poll: float = 0
    settle: float = 0
    bucket: str = ""
    machine_type: str = ""
    accelerator_type: str = ""
    accelerator_count: int = 0
    replicas: int = 0


def read_batch_settings(entry: Mapping[str, Any], place: str) -> BatchSettings:
    """The settings from their TOML table. Raises UnknownName, or DataError for a value of the wrong kind."""
    kinds = {field.name: type(field.default) for field in fields(BatchSettings)}
    for key, value in entry.items():
        if key not in kinds:
            raise UnknownName(f"{place}: batch: key", key, kinds)
        if kinds[key] is str:
            if not isinstance(value, str):
                raise DataError(place, f"batch: {key} = {value!r}", "It is a text")
            continue
        integer = isinstance(value, int) and not isinstance(value, bool)
        if not integer and not (isinstance(value, float) and key in ("tokens", "poll", "settle")):
            raise DataError(place, f"batch: {key} = {value!r}", "It is a number above 0")
        if not 0 < value < float("inf"):
            raise DataError(place, f"batch: {key} = {value!r}", "It is a number above 0; leave it out for the default")
    return BatchSettings(**entry)
