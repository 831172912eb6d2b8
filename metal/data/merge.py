"""Merge two datasets about the same outputs; outputs are matched by source and generator.

If the incoming dataset names its sources by their position in a list (`counted_from`), its n-th
source is base's n-th of the same language, in the order of base's sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset, assemble, concat_facts
from metal.data.files import read_json
from metal.data.generator_scores import among, joined_scores
from metal.data.languages import sides
from metal.data.merge_scales import on_our_scales
from metal.data.people import people_in
from metal.data.ratings import facts_in, rating_keys
from metal.data.records import Output, Rater, Source, with_swapped
from metal.data.tables.cells import fold
from metal.data.text import first_few
from metal.errors import DataError


@dataclass(frozen=True)
class MergeReport:
    """How many outputs were matched, and how many ratings were added, or existed already with the
    same or another score.

    unmet: the incoming outputs without a counterpart, as `source/generator`. counted: a line on how
    sources were matched by position. off_scale: lines on which answers became missing answers, one
    per criterion.
    """

    met: int
    unmet: tuple[str, ...]
    added: int
    same: int
    different: int
    counted: tuple[str, ...] = ()
    off_scale: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The report in words, with the first outputs that were left out."""
        lines = [
            *self.counted,
            f"{self.met} outputs matched by source and generator; {self.added} ratings added",
        ]
        if self.unmet:
            lines.append(
                f"{len(self.unmet)} incoming outputs matched none of the dataset's and were left"
                f" out: {first_few(self.unmet)}"
            )
        if self.same:
            lines.append(f"{self.same} ratings were there already, with the same score")
        if self.different:
            lines.append(
                f"{self.different} ratings were there already with another score; the dataset's"
                " were kept"
            )
        return [*lines, *self.off_scale]


def read_map(path: str | Path) -> dict[str, str]:
    """A JSON object {incoming id: id in the dataset}."""
    names: Any = read_json(Path(path), '{"incoming id": "id in the dataset"}')
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DataError(
            path, "not an object of names", 'It should be {"incoming id": "id in the dataset"}'
        )
    return names


def merge(
    base: Dataset,
    incoming: Dataset,
    *,
    map_sources: Mapping[str, str] | None = None,
    map_generators: Mapping[str, str] | None = None,
    counted_from: int | None = None,
) -> tuple[Dataset, MergeReport]:
    """Add to `base` the ratings of `incoming` for the outputs that both have.

    map_sources, map_generators: {incoming id: id in base} for ids that differ. counted_from: the
    incoming sources are positions in a list that starts with this number; map_sources takes
    precedence. A rating that both have is kept once; if the scores differ, base's score is kept.
    Texts, references and facts about generators are filled in where base has none. Raises DataError
    if nothing matches, a criterion has another scale, or a rater of the same name is a different
    one.
    """
    map_generators = map_generators or {}
    incoming, counted = _our_criteria(base, incoming)
    map_sources, places = _same_sources(base, incoming, map_sources or {}, counted_from)
    counted += places
    orders = [pair.of or pair.swapped.output for pair in base.outputs.values() if pair.is_pair]
    ours = with_swapped(base.outputs, orders)  # a judge may have been shown the other order
    target = _targets(base, ours, incoming, map_sources, map_generators)
    met = {name: output for name, output in target.items() if output is not None}
    unmet = [
        f"{o.source}/{o.generator}" for name, o in incoming.outputs.items() if target[name] is None
    ]
    if not met:
        problem = (
            f"no output has the same source and generator in both: {_example(incoming)} here,"
            f" {_example(base)} there"
        )
        datasets = f"{incoming.card.name} into {base.card.name}"
        raise DataError(datasets, problem, "Rename ids with `map_sources` and `map_generators`")
    _check_pairs(incoming, ours, met, map_generators)
    counted += _about_languages(ours, incoming, met)
    raters = _raters(base, incoming)
    facts = incoming.ratings.loc[:, facts_in(incoming.ratings)]
    facts = facts[facts["output"].isin(list(met))].copy()
    facts["output"] = facts["output"].astype(object).map(met).astype("category")
    facts, astray = on_our_scales(base, incoming, facts)
    joined = concat_facts([base.ratings, facts])
    rated = {*base.outputs, *met.values()}
    keep, same, different = _once(joined, len(base.ratings))
    dataset = assemble(
        base.card,
        [
            *base.criteria.values(),
            *(c for name, c in incoming.criteria.items() if name not in base.criteria),
        ],
        _sources(base, incoming, map_sources),
        _outputs({name: output for name, output in ours.items() if name in rated}, incoming, met),
        raters,
        joined[keep].reset_index(drop=True),
        extra=_extra(base, incoming, map_generators) | _left_out(base, incoming, target),
    )
    dataset = _with_generator_scores(dataset, base, incoming, map_generators)
    added = len(dataset.ratings) - len(base.ratings)
    return dataset, MergeReport(
        len(met), tuple(unmet), added, same, different, tuple(counted), tuple(astray)
    )


def _with_generator_scores(
    dataset: Dataset, base: Dataset, incoming: Dataset, renamed: Mapping[str, str]
) -> Dataset:
    """Add to the merged dataset the scores that both have for its generators; base's scores take
    precedence.
    """
    theirs = incoming.generator_scores.astype({"generator": str})
    theirs = theirs.assign(generator=theirs["generator"].replace(dict(renamed)))
    theirs = among(theirs, generator={output.generator for output in dataset.outputs.values()})
    return replace(dataset, generator_scores=joined_scores(base.generator_scores, theirs))


def _same_sources(
    base: Dataset, incoming: Dataset, named: Mapping[str, str], counted_from: int | None
) -> tuple[dict[str, str], list[str]]:
    """Match incoming sources with those of base: by given names, by position or by content.

    Returns {incoming source: the same source in base}, and a line on how many were matched by
    position.
    """
    renamed, lines = dict(named), list[str]()
    if counted_from is not None and not renamed:
        renamed, lines = _by_position(base, incoming, counted_from)
    contents = {
        (source.language, source.content): name
        for name, source in base.sources.items()
        if source.content
    }
    # a table of one language does not name it in its ids
    for name, source in incoming.sources.items():
        same = contents.get((source.language, source.content or name))
        if same and name not in base.sources:
            renamed.setdefault(name, same)
    return renamed, lines


def _about_languages(
    ours: Mapping[str, Output], incoming: Dataset, met: Mapping[str, str]
) -> list[str]:
    """Notes on matched outputs whose language differs from base's."""
    other = []
    for their_name, name in met.items():
        language, here = incoming.outputs[their_name].language, ours[name].language
        if sides(language)[-1] not in (*sides(here), "und"):
            other.append(f"{name} ({language} there, {here} here)")
    if not other:
        return []
    problem = f"{len(other):,} matched outputs have another language here; the dataset's was kept"
    return [f"{problem}: {first_few(other, 2)}"]


def _by_position(base: Dataset, incoming: Dataset, first: int) -> tuple[dict[str, str], list[str]]:
    """Match incoming sources with base's sources by their position.

    Returns {incoming source: the source of base in that position}, and lines on how many were
    matched and what looks wrong.

    A number beyond base's sources matches nothing (the name in base is empty), even if it is an id
    in base. Raises DataError if base has no source of the language.
    """
    renamed: dict[str, str] = {}
    lines: list[str] = []
    for language in sorted({source.language for source in incoming.sources.values()}):
        ours = [name for name, source in base.sources.items() if source.language == language]
        if not ours:
            languages = ", ".join(sorted({source.language for source in base.sources.values()}))
            problem = (
                f"{incoming.card.name} numbers sources in {language}, but the dataset's sources are"
                f" in {languages}"
            )
            raise DataError(
                base.card.name,
                problem,
                "Say with `language` in which language the numbered sources are",
            )
        numbers = [
            int(name) for name, source in incoming.sources.items() if source.language == language
        ]
        places = dict(enumerate(ours, first))
        by_number = {str(number): places.get(number, "") for number in numbers}
        renamed |= by_number
        met = len(places.keys() & {*numbers})
        sources = f"the {language} sources of {base.card.name}"
        lines.append(
            f"{met:,} sources matched by their place among {sources}, counting from {first}"
        )
        counted = max(numbers) - first + 1
        if len(ours) != counted:
            lines.append(
                f"{base.card.name} has {len(ours):,} {language} sources, but the numbers count"
                f" {counted:,}: is it the same list?"
            )
        astray = [
            number
            for number, name in by_number.items()
            if number in base.sources and name != number
        ]
        if astray:
            lines.append(
                f"{len(astray):,} numbers are also ids of {sources}, but at other"
                f" positions (the first is {astray[0]}); if you mean them as ids, give them with"
                " `map_sources`"
            )
    return renamed, lines


def _targets(
    base: Dataset,
    ours: Mapping[str, Output],
    incoming: Dataset,
    map_sources: Mapping[str, str],
    map_generators: Mapping[str, str],
) -> dict[str, str | None]:
    """{incoming output id: id among ours}, None if it has no counterpart.

    An output made from another one only matches one that was made in the same way.
    """
    places: dict[tuple[str, str, str], str] = {}
    for output in ours.values():
        key = (output.source, output.generator, output.condition)
        if key in places and not output.of:
            problem = f"two outputs of source {key[0]!r} by {key[1]!r}; a merge needs exactly one"
            raise DataError(base.card.name, problem, "Give the generators different names")
        places[key] = output.output

    def theirs(output: Output) -> str | None:
        source = map_sources.get(output.source, output.source)
        met = places.get(
            (source, map_generators.get(output.generator, output.generator), output.condition)
        )
        by_id = output.source == output.output in base.outputs  # it has an id and no source
        return met or (output.output if by_id else None)

    return {name: theirs(output) for name, output in incoming.outputs.items()}


def _check_pairs(
    incoming: Dataset,
    ours: Mapping[str, Output],
    met: Mapping[str, str],
    map_generators: Mapping[str, str],
) -> None:
    """Raise DataError if the two outputs of a pair differ between the datasets, or if one of these
    does not say which comes first.
    """
    for name, our_name in met.items():
        here, output = ours[our_name], incoming.outputs[name]
        first, second = (map_generators.get(side, side) for side in (output.first, output.second))
        if (first, second) != (here.first, here.second):
            pairs = [
                " and ".join(pair) if pair[0] else "unnamed"
                for pair in ((first, second), (here.first, here.second))
            ]
            problem = (
                f"the two outputs of a pair are called {pairs[0]} in {incoming.card.name},"
                f" {pairs[1]} in the dataset"
            )
            remedy = (
                'Name them alike in both (`columns={"first": COLUMN, "second": COLUMN}`), or import'
                " one table of both"
            )
            raise DataError(f"output {name}", problem, remedy)


def _our_criteria(base: Dataset, incoming: Dataset) -> tuple[Dataset, list[str]]:
    """The incoming dataset with base's names for criteria whose names differ only in case, blanks
    or dashes, and a line about each.
    """
    ours = {fold(name): name for name in base.criteria}
    names = {
        name: ours.get(fold(name), name) for name in incoming.criteria if name not in base.criteria
    }
    names = {
        name: our_name
        for name, our_name in names.items()
        if our_name not in (name, *incoming.criteria)
    }
    if not names:
        return incoming, []
    criteria = {
        names.get(name, name): replace(c, name=names.get(name, name))
        for name, c in incoming.criteria.items()
    }
    ratings = incoming.ratings.assign(
        criterion=incoming.ratings["criterion"].cat.rename_categories(names)
    )
    lines = [f"{name} is the same as the dataset's {our_name}" for name, our_name in names.items()]
    return replace(incoming, criteria=criteria, ratings=ratings), lines


def _example(dataset: Dataset) -> str:
    first = next(iter(dataset.outputs.values()))
    return f"{first.source!r} by {first.generator!r}"


def _raters(base: Dataset, incoming: Dataset) -> list[Rater]:
    for name, rater in incoming.raters.items():
        ours = base.raters.get(name, rater)
        if (ours.kind, ours.group) != (rater.kind, rater.group):
            problem = (
                f"{rater.kind} of group {rater.group!r} here, {ours.kind} of group {ours.group!r}"
                " there"
            )
            raise DataError(f"rater {name}", problem, "Two raters need two names")
    return [
        *base.raters.values(),
        *(rater for name, rater in incoming.raters.items() if name not in base.raters),
    ]


def _once(joined: pd.DataFrame, start: int) -> tuple[Any, int, int]:
    """The rows to keep, and how many incoming ratings base already had, with the same score and
    with another one.
    """
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
    theirs = {renamed.get(name, name): source for name, source in incoming.sources.items()}
    return [
        (
            replace(
                source,
                text=source.text or theirs[name].text,
                title=source.title or theirs[name].title,
                references=source.references or theirs[name].references,
                content=source.content or theirs[name].content,
                document=source.document or theirs[name].document,
                domain=source.domain or theirs[name].domain,
            )
            if name in theirs
            else source
        )
        for name, source in base.sources.items()
    ]


def _outputs(ours: Mapping[str, Output], incoming: Dataset, met: Mapping[str, str]) -> list[Output]:
    texts = {name: incoming.outputs[theirs].text for theirs, name in met.items()}
    return [
        output if output.text else replace(output, text=texts.get(name, ""))
        for name, output in ours.items()
    ]


def _left_out(
    base: Dataset, incoming: Dataset, target: Mapping[str, str | None]
) -> dict[str, list[str]]:
    """The key `left_out` of dataset.toml: how many outputs with people's ratings each merge left
    out, and by which generators.
    """
    people = people_in(incoming.raters)
    rated = set(incoming.ratings.loc[incoming.ratings["rater"].isin(people), "output"].unique())
    lost = Counter(incoming.outputs[name].generator for name in rated if target[name] is None)
    if not lost:
        return {}
    line = (
        f"{lost.total():,} outputs that people rated in {incoming.card.name} are not in the"
        " dataset, by"
        f" {first_few([f'{generator} ({count:,})' for generator, count in sorted(lost.items())])}"
    )
    return {"left_out": list(dict.fromkeys([*base.extra.get("left_out", []), line]))}


def _extra(base: Dataset, incoming: Dataset, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Base's further keys; new keys from the incoming table [generators] are added for base's
    generators.
    """
    ours, theirs = base.extra.get("generators", {}), incoming.extra.get("generators", {})
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return dict(base.extra)
    names = {output.generator for output in base.outputs.values()}
    generators = dict(ours)
    for their_name, their_facts in theirs.items():
        name = renamed.get(their_name, their_name)
        our_facts = generators.get(name, {})
        if name in names and isinstance(their_facts, Mapping) and isinstance(our_facts, Mapping):
            generators[name] = {**their_facts, **our_facts}
    return dict(base.extra) | ({"generators": generators} if generators else {})
