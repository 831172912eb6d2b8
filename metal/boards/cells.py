"""A cell of the board: what the reference people and every other rater said on a criterion in a language, as numbers.

People outside the reference count as one rater a group, whose score is the mean of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.data.people import people_named
from metal.data.records import METRIC_SCORE, Criterion
from metal.errors import UnknownName, UsageError
from metal.stats.patterns import Codes, Numbers, ratio

OVERALL = "overall"
ALL_LANGUAGES = ""

# Equal scores that were computed in another order differ beyond this many digits of a rater's largest.
_DIGITS = 12


@dataclass(frozen=True)
class BoardRater:
    """A row of the board. people: who they are, where it is a group of people; about: as in raters.jsonl."""

    name: str
    kind: str
    group: str
    people: tuple[str, ...] = ()
    about: Mapping[str, Any] | None = None

    @property
    def what(self) -> str:
        """For people: `5 people`, `llm`, `metric`."""
        return f"{len(self.people)} people" if len(self.people) > 1 else "person" if self.people else self.kind


@dataclass(frozen=True)
class Scale:
    """The ends of the people's scale, None where it has none."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Cell:
    """One criterion x language. All scores are higher-is-better.

    human: (items,) mean of the reference people, NaN where nobody of them rated. scores: (raters, items), NaN where
    there is none. outputs, source: (items,) places in the dataset, in string order of the outputs; generator:
    (items,) codes into `generators`. alone, others: (ratings,) each reference person's score and the mean of the
    others'. criteria: how many were put together.
    """

    criterion: str
    language: str
    scale: Scale
    human: Numbers
    scores: Numbers
    raters: tuple[BoardRater, ...]
    outputs: Codes
    generator: Codes
    source: Codes
    generators: tuple[str, ...]
    alone: Numbers
    others: Numbers
    criteria: int = 1

    @cached_property
    def rated(self) -> Codes:
        """(items,) whether reference people rated it."""
        return ~np.isnan(self.human)

    def of(self, name: str) -> Numbers:
        """(items,) the scores of one rater."""
        return np.asarray(self.scores[[rater.name for rater in self.raters].index(name)])

    def by_generator(self, scores: Numbers) -> Numbers:
        """(generators, sources) from (items,): the mean where a generator wrote several outputs of a source."""
        sources, column = self._source_places
        there = ~np.isnan(scores)
        place, scores = (self.generator * sources + column)[there], scores[there]
        size = len(self.generators) * sources
        counts = np.bincount(place, minlength=size).astype(np.float64)
        means: Numbers = ratio(np.bincount(place, scores, minlength=size), counts)
        return means.reshape(len(self.generators), sources)

    def sources(self, items: Codes) -> int:
        """How many sources some items (a mask) are of."""
        return int((np.bincount(self._source_places[1][items]) > 0).sum())

    @cached_property
    def _source_places(self) -> tuple[int, Codes]:
        """How many sources there are, and (items,) the place of each item's among them."""
        names, place = np.unique(self.source, return_inverse=True)
        return len(names), place

    def only_rated(self) -> Cell:
        """The cell with the items that people rated; generators that have none are left out."""
        cell = self.only(self.rated)
        used, mine = np.unique(cell.generator, return_inverse=True)
        return replace(cell, generator=mine, generators=tuple(cell.generators[place] for place in used))

    def only(self, items: Codes) -> Cell:
        """The cell with these items (a mask)."""
        if items.all():
            return self
        return replace(
            self,
            human=self.human[items],
            scores=self.scores[:, items],
            outputs=self.outputs[items],
            generator=self.generator[items],
            source=self.source[items],
        )

    def with_rater(self, rater: BoardRater, scores: Numbers) -> Cell:
        """The cell with one more rater."""
        return replace(self, raters=(*self.raters, rater), scores=np.vstack([self.scores, scores]))


@dataclass(frozen=True)
class _Answers:
    """On one criterion: sums and counts by board row and output; row 0 is the reference."""

    criterion: Criterion
    sums: Numbers  # (rows, outputs)
    counts: Numbers
    ratings: Numbers  # (ratings of reference people,)
    rated: Codes  # the output of each
    person: Codes  # and who gave it

    @cached_property
    def means(self) -> Numbers:
        """(rows, outputs), NaN where nobody answered."""
        return np.asarray(ratio(self.sums, self.counts))


def cells(dataset: Dataset, settings: BoardSettings) -> list[Cell]:
    """The cells of a dataset: criteria in their declared order, then `overall`; all languages together, then each.

    `overall` is the mean of the criteria that the reference people rated, if there are several: of the scores where
    these have one scale, else of the shares of their ranges (without ranges it is left out). Metrics give one score
    for all criteria. Raises UnknownName for a rater, criterion or language that does not occur, UsageError where the
    people rated nothing.
    """
    found = list(_cells(dataset, settings))
    if not found:
        raise UsageError(
            f"dataset {dataset.card.name}: the people to compare with rated nothing"
            + (f" in {', '.join(settings.languages)}" if settings.languages else "")
            + (f" on {', '.join(settings.criteria)}" if settings.criteria else "")
        )
    return found


def _cells(dataset: Dataset, settings: BoardSettings) -> Iterator[Cell]:
    people = people_named(dataset, settings.reference)
    raters, row_of = _rows(dataset, settings, people)
    answers = _answers(dataset, row_of, len(raters) + 1, settings)
    everywhere = METRIC_SCORE.name
    rated = [name for name, one in answers.items() if one.counts[0].any()]
    _check_criteria(dataset, settings, rated)
    outputs = list(dataset.outputs.values())
    languages = np.array([output.language for output in outputs])
    generators, generator = np.unique([output.generator for output in outputs], return_inverse=True)
    order = {name: place for place, name in enumerate(dataset.sources)}
    source = np.array([order[output.source] for output in outputs], dtype=np.int64)
    chosen = tuple(dict.fromkeys(settings.languages)) or dataset.languages
    slices = [ALL_LANGUAGES, *chosen] if len(chosen) > 1 else [*chosen]
    by_name = np.array(sorted(range(len(outputs)), key=lambda place: outputs[place].output), dtype=np.int64)
    metric_scores = answers[everywhere].means if everywhere in answers else None
    for name in _shown(rated):
        if settings.criteria and name not in settings.criteria:
            continue
        parts = [answers[name]] if name in rated else [answers[part] for part in rated]
        if not (settings.criteria or _go_together(parts)):
            continue
        means, scale, people_alone = _scores(parts)
        if metric_scores is not None:
            means[1:] = np.where(np.isnan(means[1:]), metric_scores[1:], means[1:])
        means = np.stack([_ties_restored(scores) for scores in means])
        for language in slices:
            mine = np.isin(languages, chosen) if language == ALL_LANGUAGES else languages == language
            items = by_name[mine[by_name]]  # tests by chance go through them: their order in the file shall not matter
            cell = _cell(name, language, scale, means, raters, items, generators, generator, source)
            if cell is not None:
                cell = _common(cell) if settings.common else cell
                compared = np.zeros(len(outputs), dtype=bool)
                compared[cell.outputs[cell.rated]] = True
                alone, others = people_alone(compared)
                yield replace(cell, alone=alone, others=others, criteria=len(parts))


def _cell(
    name: str,
    language: str,
    scale: Scale,
    means: Numbers,
    raters: Sequence[BoardRater],
    items: Codes,
    generators: Numbers,
    generator: Codes,
    source: Codes,
) -> Cell | None:
    """The items given (places), with the raters who scored one that people rated; None where people rated none."""
    human, scores = means[0, items], means[1:, items]
    rated = ~np.isnan(human)
    if not rated.any():
        return None
    there = (~np.isnan(scores[:, rated])).any(axis=1)
    used, mine = np.unique(generator[items], return_inverse=True)
    return Cell(
        name,
        language,
        scale,
        human,
        scores[there],
        tuple(raters[int(place)] for place in np.flatnonzero(there)),
        items,
        mine,
        source[items],
        tuple(str(generators[place]) for place in used),
        np.array([]),
        np.array([]),
    )


def _common(cell: Cell) -> Cell:
    """The items rated by people that every rater scored, with all items that people did not rate."""
    kept = ~np.isnan(cell.scores).any(axis=0) & cell.rated
    if not kept.any():
        least = int(np.argmin((~np.isnan(cell.scores[:, cell.rated])).sum(axis=1)))
        raise UsageError(
            f"--common: no output of {cell.criterion} was scored by all raters; the fewest by "
            f"{cell.raters[least].name!r}; choose raters with --raters"
        )
    return replace(cell, human=np.where(kept, cell.human, np.nan))


# ---------------------------------------------------------------- who and what


def _rows(
    dataset: Dataset, settings: BoardSettings, people: Sequence[str]
) -> tuple[tuple[BoardRater, ...], dict[str, int]]:
    """The board's raters, and the row of each of the dataset's raters: 0 the reference, -1 not on the board."""
    groups: dict[str, list[str]] = {}
    found: list[BoardRater] = []
    for rater in dataset.raters.values():
        if rater.rater in people or rater.about.get("repeats") in dataset.raters:
            continue
        if rater.kind == "human":
            groups.setdefault(rater.group, []).append(rater.rater)
        else:
            found.append(BoardRater(rater.rater, rater.kind, rater.group, about=rater.about))
    taken = {rater.name for rater in found}
    for group, members in groups.items():
        name = group or "other people"
        found.append(BoardRater(f"{name} (people)" if name in taken else name, "human", group, tuple(members)))
    if settings.raters:
        known = [rater.name for rater in found]
        for name in settings.raters:
            if name not in known:
                raise UnknownName("rater", name, known)
        found = [rater for rater in found if rater.name in settings.raters]
    if not found:
        raise UsageError(f"dataset {dataset.card.name}: there is no rater but the people to compare with")
    rows = dict.fromkeys(people, 0)
    for row, one in enumerate(found, 1):
        rows |= dict.fromkeys(one.people or [one.name], row)
    return tuple(found), rows


def _answers(dataset: Dataset, row_of: Mapping[str, int], rows: int, settings: BoardSettings) -> dict[str, _Answers]:
    table = dataset.ratings
    place = {name: index for index, name in enumerate(dataset.outputs)}
    output_of = np.array([place[name] for name in table["output"].cat.categories], dtype=np.int64)
    row = np.array([row_of.get(name, -1) for name in table["rater"].cat.categories], dtype=np.int64)
    score = table["score"].to_numpy()
    rows_of = row[table["rater"].cat.codes.to_numpy()] if len(row) else np.zeros(0, dtype=np.int64)
    outputs = output_of[table["output"].cat.codes.to_numpy()] if len(output_of) else np.zeros(0, dtype=np.int64)
    criterion = table["criterion"].cat.codes.to_numpy()
    given = ~np.isnan(score) & (rows_of >= 0)
    found = {}
    for code, name in enumerate(table["criterion"].cat.categories):
        mine = np.flatnonzero(given & (criterion == code))
        sign = -1.0 if dataset.criteria[name].direction == "lower" else 1.0
        numbers = sign * score[mine]
        cell = rows_of[mine] * len(place) + outputs[mine]
        size = rows * len(place)
        counts = np.bincount(cell, minlength=size).astype(np.float64)
        sums = np.bincount(cell, numbers, minlength=size).astype(np.float64)
        people = mine[rows_of[mine] == 0]
        shape = (rows, len(place))
        found[name] = _Answers(
            dataset.criteria[name],
            sums.reshape(shape),
            counts.reshape(shape),
            sign * score[people],
            outputs[people],
            table["rater"].cat.codes.to_numpy()[people].astype(np.int64),
        )
    return {name: found[name] for name in dataset.criteria if name in found}


def _scores(parts: Sequence[_Answers]) -> tuple[Numbers, Scale, Callable[[Codes], tuple[Numbers, Numbers]]]:
    """Of one criterion, or of several together: (rows, outputs) scores, their scale, and each reference person against
    the others on some outputs (a mask).
    """
    scales = {_scale(part.criterion) for part in parts}
    ends = [_ends(part.criterion) if len(scales) > 1 else (0.0, 1.0) for part in parts]
    scale = scales.pop() if len(scales) == 1 else Scale(0.0, 1.0)
    means = sum((part.means - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True))

    width = 1 + max((int(part.person.max(initial=0)) for part in parts), default=0)
    keys = np.concatenate([part.rated * width + part.person for part in parts])
    values = [(part.ratings - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True)]
    key, which, count = np.unique(keys, return_inverse=True, return_counts=True)
    by_person = np.bincount(which, np.concatenate(values)) / len(parts)
    output_of = key // width

    def alone(items: Codes) -> tuple[Numbers, Numbers]:
        whole = (count == len(parts)) & items[output_of]
        own, output = by_person[whole], output_of[whole]
        people = np.bincount(output, minlength=len(items))[output].astype(np.float64)
        total = np.bincount(output, own, minlength=len(items))[output]
        return own, np.asarray(ratio(total - own, people - 1))

    return np.asarray(means / len(parts)), scale, alone


def _ties_restored(scores: Numbers) -> Numbers:
    """(items,) one rater's scores without what rounding left in their last digits, so that equal ones are equal."""
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if largest < 1e-200:
        return scores
    return np.asarray(np.round(scores, _DIGITS - math.ceil(math.log10(largest))))


def _go_together(parts: Sequence[_Answers]) -> bool:
    """Whether criteria can be put together: one scale, or ranges to take shares of."""
    scales = {_scale(part.criterion) for part in parts}
    return len(scales) == 1 or all(scale.low is not None for scale in scales)


def _ends(criterion: Criterion) -> tuple[float, float]:
    """The ends of a scale that is to be put together with others."""
    scale = _scale(criterion)
    if scale.low is None or scale.high is None:
        raise UsageError(
            f"overall: {criterion.name} has no range, and the criteria have different scales; "
            "declare range = [LOW, HIGH] in dataset.toml, or choose criteria with --criteria"
        )
    return scale.low, scale.high


def _scale(criterion: Criterion) -> Scale:
    """The ends of a criterion's scale, turned round where lower is better."""
    levels = criterion.scale.values
    low, high = (min(levels), max(levels)) if levels else (criterion.scale.low, criterion.scale.high)
    if low is None or high is None:
        return Scale(None, None)
    return Scale(-high, -low) if criterion.direction == "lower" else Scale(low, high)


def _shown(rated: Sequence[str]) -> list[str]:
    """The criteria that have a board."""
    return [*rated, OVERALL] if len(rated) > 1 and OVERALL not in rated else [*rated]


def main_criterion(criteria: Sequence[str]) -> str:
    """The criterion a board shows first: overall, else the first."""
    return OVERALL if OVERALL in criteria else criteria[0]


def _check_criteria(dataset: Dataset, settings: BoardSettings, rated: Sequence[str]) -> None:
    if not rated:
        raise UsageError(
            f"dataset {dataset.card.name}: the people to compare with"
            + (f" ({settings.reference})" if settings.reference else "")
            + " rated nothing"
        )
    for name in settings.criteria:
        if name not in _shown(rated):
            raise UnknownName("criterion that the people rated", name, _shown(rated))
    for name in settings.languages:
        if name not in dataset.languages:
            raise UnknownName("language", name, dataset.languages)
