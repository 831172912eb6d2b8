"""What the raters of a run saw: a hash of each output's texts, stored with the run's ratings.

If ids later belong to other outputs, as may happen with row numbers, ratings would join texts that
nobody rated. So the texts are compared before a run's ratings join a dataset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from metal.data.records import SWAPPED, Output, Source
from metal.errors import DataError

Outputs = Mapping[str, Output]
Sources = Mapping[str, Source]

KEY = b"metal:texts"  # in the metadata of ratings.parquet


def texts_seen(shown: Iterable[Output], outputs: Outputs, sources: Sources) -> dict[str, str]:
    """A hash of each output's text and its source's; a pair has the same hash in both orders."""
    return {output.output: _digest(output, outputs, sources) for output in shown}


def check_seen(ratings: Path, outputs: Outputs, sources: Sources) -> None:
    """Raise DataError if outputs of a dataset have other texts than the raters of a run saw.

    ratings: the run's ratings file. Runs of METAL 0.1.0 stored no hashes, and outputs may have no
    texts; neither is a fault.
    """
    changed = []
    seen = texts_rated(ratings)
    for name, digest in seen.items():
        output = outputs.get(name)
        if output and output.text and _digest(output, outputs, sources) != digest:
            changed.append(name)
    if not changed:
        return
    problem = (
        f"{len(changed):,} of {len(seen):,} outputs have other texts than the judges saw, the first"
        f" {changed[0]!r}"
    )
    remedy = (
        f"Give the dataset that was judged, or ask again about these alone:"
        f" `metal.judge(resume={str(ratings.parent)!r})`"
    )
    raise DataError(ratings.parent, problem, remedy)


def texts_rated(ratings: Path) -> Mapping[str, str]:
    """The hash of each output that is stored with a run's ratings; empty if none is."""
    import pyarrow.parquet as pq

    if ratings.suffix != ".parquet" or not ratings.is_file():
        return {}
    kept = (pq.read_metadata(ratings).metadata or {}).get(KEY)
    hashes: dict[str, str] = json.loads(kept) if kept else {}
    return hashes


def _digest(output: Output, outputs: Outputs, sources: Sources) -> str:
    if output.condition == SWAPPED:
        output = outputs.get(output.of, output)
    source = sources.get(output.source)
    text = f"{output.text}\0{source.text if source else ''}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
