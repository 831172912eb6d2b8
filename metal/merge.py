"""Two datasets about the same outputs become one: they meet on (source, generator)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.dataset import Dataset, assemble, concat_facts
from metal.errors import DataError
from metal.json_files import read_json
from metal.ratings import FACTS, rating_keys
from metal.records import Criterion, Output, Rater, Source

SHOWN = 5


@dataclass(frozen=True)
class MergeReport:
    """What met and what did not. unmet: incoming outputs without a counterpart, as `source/generator`."""

    met: int
    unmet: tuple[str, ...]
    added: int
    same: int
    different: int

    def lines(self) -> list[str]:
        """The report in words; what was left out is named."""
        lines = [f"{self.met} outputs met on source and generator; {self.added} ratings added"]
        if self.unmet:
            shown = ", ".join(self.unmet[:SHOWN]) + (", ..." if len(self.unmet) > SHOWN else "")
            lines.append(f"{len(self.unmet)} incoming outputs met nothing and were left out: {shown}")
        if self.same:
            lines.append(f"{self.same} ratings were there already, with the same score")
        if self.different:
            lines.append(f"{self.different} ratings were there already with another score; the dataset's were kept")
        return lines


def read_map(path: Path) -> dict[str, str]:
    """A JSON object {incoming id: id in the dataset}."""
    read = read_json(path, '{"incoming id": "id in the dataset"}')
    if not isinstance(read, dict) or not all(isinstance(value, str) for value in read.values()):
        raise DataError(path, "not an object of names", 'It should be {"incoming id": "id in the dataset"}')
    renamed: dict[str, str] = read
    return renamed


def merge(
    base: Dataset,
    incoming: Dataset,
    *,
    map_sources: Mapping[str, str] | None = None,
    map_generators: Mapping[str, str] | None = None,
) -> tuple[Dataset, MergeReport]:
    """`base` with the ratings of those outputs of `incoming` that it also holds.

    map_sources, map_generators: {incoming id: id in base} for ids that differ. A rating both hold is kept
    once; where the scores differ, base's is kept and counted. Texts and references missing in base are
    filled in. Raises DataError when nothing meets, a criterion has another scale, or a rater is another one.
    """
    target = _targets(base, incoming, map_sources or {}, map_generators or {})
    met = {name: output for name, output in target.items() if output is not None}
    unmet = [f"{o.source}/{o.generator}" for name, o in incoming.outputs.items() if target[name] is None]
    if not met:
        raise DataError(
            f"{incoming.card.name} into {base.card.name}",
            f"no output meets on source and generator: {_example(incoming)} here, {_example(base)} there",
            "Rename ids with --map-sources and --map-generators",
        )
    criteria = _criteria(base, incoming)
    raters = _raters(base, incoming)
    facts = incoming.ratings.loc[:, list(FACTS)]
    facts = facts[facts["output"].isin(list(met))].copy()
    facts["output"] = facts["output"].astype(object).map(met).astype("category")
    joined = concat_facts([base.ratings, facts])
    keep, same, different = _once(joined, len(base.ratings))
    dataset = assemble(
        base.card,
        criteria,
        _sources(base, incoming, map_sources or {}),
        _outputs(base, incoming, met),
        raters,
        joined[keep].reset_index(drop=True),
        extra=base.extra,
    )
    added = len(dataset.ratings) - len(base.ratings)
    return dataset, MergeReport(len(met), tuple(unmet), added, same, different)


def _targets(
    base: Dataset, incoming: Dataset, map_sources: Mapping[str, str], map_generators: Mapping[str, str]
) -> dict[str, str | None]:
    """Incoming output id -> base output id, None where there is none."""
    places: dict[tuple[str, str], str] = {}
    for output in base.outputs.values():
        key = (output.source, output.generator)
        if key in places:
            raise DataError(
                base.card.name,
                f"two outputs of source {key[0]!r} by {key[1]!r}; a merge needs one",
                "Give the generators different names",
            )
        places[key] = output.output
    return {
        name: places.get(
            (map_sources.get(output.source, output.source), map_generators.get(output.generator, output.generator))
        )
        for name, output in incoming.outputs.items()
    }


def _example(dataset: Dataset) -> str:
    first = next(iter(dataset.outputs.values()))
    return f"{first.source!r} by {first.generator!r}"


def _criteria(base: Dataset, incoming: Dataset) -> list[Criterion]:
    for name, criterion in incoming.criteria.items():
        mine = base.criteria.get(name)
        if mine and mine.scale.values != criterion.scale.values:
            raise DataError(
                f"criterion {name}",
                f"its scales differ: {criterion.scale.describe()} into {mine.scale.describe()}",
                "Rename the criterion, or shift the scores on import",
            )
    return [*base.criteria.values(), *(c for name, c in incoming.criteria.items() if name not in base.criteria)]


def _raters(base: Dataset, incoming: Dataset) -> list[Rater]:
    for name, rater in incoming.raters.items():
        mine = base.raters.get(name)
        if mine and (mine.kind, mine.group) != (rater.kind, rater.group):
            raise DataError(
                f"rater {name}",
                f"{rater.kind} of group {rater.group!r} here, {mine.kind} of group {mine.group!r} there",
                "Two raters need two names",
            )
    return [*base.raters.values(), *(r for name, r in incoming.raters.items() if name not in base.raters)]


def _once(joined: pd.DataFrame, start: int) -> tuple[Any, int, int]:
    """Which rows to keep, and how many incoming ones were there already with the same or another score."""
    key = rating_keys(joined)
    again = pd.Series(key).duplicated().to_numpy(copy=True)
    again[:start] = False
    first: Any = pd.Series(joined["score"].to_numpy(), index=key)
    first = first[~first.index.duplicated()]
    score = joined["score"].to_numpy()[again]
    kept = first.loc[key[again]].to_numpy()
    same = int(((score == kept) | (np.isnan(score) & np.isnan(kept))).sum())
    return ~again, same, int(again.sum()) - same


def _sources(base: Dataset, incoming: Dataset, renamed: Mapping[str, str]) -> list[Source]:
    known = {renamed.get(name, name): source for name, source in incoming.sources.items()}
    filled = []
    for name, source in base.sources.items():
        other = known.get(name)
        if other:
            source = replace(
                source,
                text=source.text or other.text,
                title=source.title or other.title,
                references=source.references or other.references,
            )
        filled.append(source)
    return filled


def _outputs(base: Dataset, incoming: Dataset, met: Mapping[str, str]) -> list[Output]:
    texts = {mine: incoming.outputs[theirs].text for theirs, mine in met.items()}
    return [
        output if output.text else replace(output, text=texts.get(name, "")) for name, output in base.outputs.items()
    ]
