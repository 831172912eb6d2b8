"""Two datasets about the same outputs become one: they meet on (source, generator).

Where the incoming one names its sources by their place in a list (`counted_from`), its n-th source is base's n-th of
the same language, in the order of base's sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset, assemble, concat_facts
from metal.data.json_files import read_json
from metal.data.ratings import FACTS, rating_keys
from metal.data.records import Criterion, Output, Rater, Source
from metal.errors import DataError

SHOWN = 5


@dataclass(frozen=True)
class MergeReport:
    """What met and what did not. unmet: incoming outputs without a counterpart, as `source/generator`."""

    met: int
    unmet: tuple[str, ...]
    added: int
    same: int
    different: int
    counted: tuple[str, ...] = ()  # how sources met by their place

    def lines(self) -> list[str]:
        """The report in words; what was left out is named."""
        lines = [*self.counted, f"{self.met} outputs met on source and generator; {self.added} ratings added"]
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
    counted_from: int | None = None,
) -> tuple[Dataset, MergeReport]:
    """`base` with the ratings of those outputs of `incoming` that it also holds.

    map_sources, map_generators: {incoming id: id in base} for ids that differ. counted_from: the incoming
    sources are places in a list that starts with this number; a map of sources comes before it. A rating both
    hold is kept once; where the scores differ, base's is kept and counted. Texts, references and what is known
    of generators are filled in where base has none. Raises DataError when nothing meets, a criterion has another
    scale, or a rater is another one.
    """
    counted: tuple[str, ...] = ()
    if counted_from is not None and not map_sources:
        map_sources, counted = _by_place(base, incoming, counted_from)
    target = _targets(base, incoming, map_sources or {}, map_generators or {})
    met = {name: output for name, output in target.items() if output is not None}
    unmet = [f"{o.source}/{o.generator}" for name, o in incoming.outputs.items() if target[name] is None]
    if not met:
        raise DataError(
            f"{incoming.card.name} into {base.card.name}",
            f"no output meets on source and generator: {_example(incoming)} here, {_example(base)} there",
            "Rename ids with `map_sources` and `map_generators`",
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
        extra=_extra(base, incoming, map_generators or {}),
    )
    added = len(dataset.ratings) - len(base.ratings)
    return dataset, MergeReport(len(met), tuple(unmet), added, same, different, counted)


def _by_place(base: Dataset, incoming: Dataset, first: int) -> tuple[dict[str, str], tuple[str, ...]]:
    """{incoming source: the source of base in that place}, and in words how many met and what is odd about it.

    A number beyond base's sources meets nothing (its name there is empty), whatever ids base has. Raises DataError
    where base has no source of the language.
    """
    renamed: dict[str, str] = {}
    lines: list[str] = []
    for language in sorted({source.language for source in incoming.sources.values()}):
        mine = [name for name, source in base.sources.items() if source.language == language]
        if not mine:
            raise DataError(
                base.card.name,
                f"no sources of {language}, which {incoming.card.name} counts; here they are of "
                + ", ".join(sorted({source.language for source in base.sources.values()})),
                "Say with `language` which language's sources are counted",
            )
        numbers = [int(name) for name, source in incoming.sources.items() if source.language == language]
        place = {str(n): mine[n - first] if first <= n < first + len(mine) else "" for n in numbers}
        renamed |= place
        lines += _of_places(place, base, language, first, max(numbers) - first + 1)
    return renamed, tuple(lines)


def _of_places(place: Mapping[str, str], base: Dataset, language: str, first: int, counted: int) -> Iterator[str]:
    """What there is to say about numbers taken as places. counted: how long the list is at least."""
    met = sum(name != "" for name in place.values())
    mine = f"the {language} sources of {base.card.name}"
    yield f"{met:,} sources met by their place among {mine}, counting from {first}"
    held = sum(source.language == language for source in base.sources.values())
    if held != counted:
        yield f"{mine} are {held:,}, the numbers count {counted:,}: is it the same list?"
    astray = [number for number, name in place.items() if number in base.sources and name != number]
    if astray:
        yield (
            f"{len(astray):,} numbers are also ids, in another place, among {mine}, the first {astray[0]}; "
            "if ids are meant, give them with `map_sources`"
        )


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
        if mine and _answers(mine) != _answers(criterion):
            raise DataError(
                f"criterion {name}",
                f"its scales differ: {criterion.scale.describe()} into {mine.scale.describe()}",
                "Rename the criterion, or shift the scores on import",
            )
    return [*base.criteria.values(), *(c for name, c in incoming.criteria.items() if name not in base.criteria)]


def _answers(criterion: Criterion) -> tuple[Any, ...]:
    """The scores a criterion allows: its levels, or the ends of its range."""
    return (criterion.scale.values, criterion.scale.low, criterion.scale.high)


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


def _extra(base: Dataset, incoming: Dataset, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Base's further keys, its table [generators] filled up for those generators it has; base's own values stay."""
    mine, theirs = base.extra.get("generators", {}), incoming.extra.get("generators", {})
    if not isinstance(mine, Mapping) or not isinstance(theirs, Mapping):
        return dict(base.extra)
    there = {output.generator for output in base.outputs.values()}
    known = dict(mine)
    for their_name, about in theirs.items():
        name = renamed.get(their_name, their_name)
        here = known.get(name, {})
        if name in there and isinstance(about, Mapping) and isinstance(here, Mapping):
            known[name] = {**about, **here}
    return dict(base.extra) | ({"generators": known} if known else {})
