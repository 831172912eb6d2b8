"""The cells of a board: the scores of the reference people and of every other rater, by criterion
and language.

People outside the reference count as one rater per group, whose score is the mean of theirs.
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
from metal.data.languages import check_languages
from metal.data.own_ranges import give_ends
from metal.data.people import people_named
from metal.data.progress import counted_as
from metal.data.ratings import EXPECTED
from metal.data.records import METRIC_SCORE, Criterion
from metal.data.text import first_few
from metal.errors import UsageError, check_known
from metal.stats.patterns import Codes, Numbers, ratio, sums_and_counts

OVERALL, ALL_LANGUAGES = "overall", ""
# of a rater's largest score: beyond these, equal scores computed in another order differ
_DIGITS = 12


@dataclass(frozen=True)
class BoardRater:
    """A row of the board. people: the members, if the row is a group of people. about: what
    raters.jsonl records about the rater.
    """

    name: str
    kind: str
    group: str
    people: tuple[str, ...] = ()
    about: Mapping[str, Any] | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The raters of the dataset that this row combines."""
        return self.people or (self.name,)


@dataclass(frozen=True)
class ScaleEnds:
    """The ends of the people's scale, None if it has none."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class BoardCell:
    """One criterion x language. All scores are higher-is-better.

    human: (items,) mean of the reference people, NaN if none of them rated. scores: (raters,
    items), NaN without a score. outputs, source: (items,) positions in the dataset; items are in
    string order of the outputs. generator: (items,) codes into `generators`. alone: (ratings,) the
    score of one reference person; others: (ratings,) the mean of the other people's scores;
    alone_source: (ratings,) the sources. criteria: the number of criteria combined. nearly_tied:
    the number of pairs of people's scores of one source that only rounding makes different.
    """

    criterion: str
    language: str
    scale: ScaleEnds
    human: Numbers
    scores: Numbers
    raters: tuple[BoardRater, ...]
    outputs: Codes
    generator: Codes
    source: Codes
    generators: tuple[str, ...]
    alone: Numbers
    others: Numbers
    alone_source: Codes
    criteria: int = 1
    nearly_tied: int = 0

    @property
    def place(self) -> dict[str, str]:
        """Language and criterion of the cell, which are the first columns of a table."""
        return {"language": self.language, "criterion": self.criterion}

    def row_of(self, rater: BoardRater) -> dict[str, Any]:
        """The first columns of a rater's row in a table."""
        return {**self.place, "rater": rater.name, "kind": rater.kind, "group": rater.group}

    @cached_property
    def rated(self) -> Codes:
        """(items,) whether reference people rated the item."""
        return ~np.isnan(self.human)

    def of(self, name: str) -> Numbers:
        """(items,) the scores of one rater."""
        return np.asarray(self.scores[[rater.name for rater in self.raters].index(name)])

    def by_generator(self, scores: Numbers) -> Numbers:
        """Arrange (items,) scores as (generators, sources); several outputs of a generator for one
        source are averaged.
        """
        sources, column = self._source_places
        scored = ~np.isnan(scores)
        slot = (self.generator * sources + column)[scored]
        return ratio(*sums_and_counts(slot, scores[scored], len(self.generators), sources))

    def sources(self, items: Codes) -> int:
        """The number of sources of some items. items: a mask."""
        return int((np.bincount(self._source_places[1][items]) > 0).sum())

    @cached_property
    def _source_places(self) -> tuple[int, Codes]:
        """The number of sources, and (items,) the position of each item's source among them."""
        names, codes = np.unique(self.source, return_inverse=True)
        return len(names), codes

    def only_rated(self) -> BoardCell:
        """The cell with only the items that people rated, and the generators that have such an
        item.
        """
        by_item = {
            name: getattr(self, name)[..., self.rated]
            for name in ("human", "scores", "outputs", "source")
        }
        used, codes = np.unique(self.generator[self.rated], return_inverse=True)
        return replace(
            self,
            **by_item,
            generator=codes,
            generators=tuple(self.generators[index] for index in used),
        )

    def with_rater(self, rater: BoardRater, scores: Numbers) -> BoardCell:
        """The cell with one more rater."""
        return replace(self, raters=(*self.raters, rater), scores=np.vstack([self.scores, scores]))


@dataclass(frozen=True)
class CriterionScores:
    """Sums and counts of one criterion's scores by board row and output; row 0 is the reference."""

    criterion: Criterion
    sums: Numbers  # (rows, outputs)
    counts: Numbers
    ratings: Numbers  # (ratings of reference people,)
    output: Codes  # the output of each of these ratings
    person: Codes  # and its rater

    @cached_property
    def means(self) -> Numbers:
        """(rows, outputs), NaN if nobody answered."""
        return np.asarray(ratio(self.sums, self.counts))

    @cached_property
    def scale(self) -> ScaleEnds:
        """The ends of the criterion's scale, negated if lower is better."""
        levels = self.criterion.scale.values
        low, high = (
            (min(levels), max(levels))
            if levels
            else (self.criterion.scale.low, self.criterion.scale.high)
        )
        if low is None or high is None:
            return ScaleEnds(None, None)
        return (
            ScaleEnds(-high, -low) if self.criterion.direction == "lower" else ScaleEnds(low, high)
        )


def criterion_scores(
    dataset: Dataset, row_of: Mapping[str, int], rows: int, expected: bool = False
) -> dict[str, CriterionScores]:
    """The scores of each criterion, in the declared order. row_of: the board row of each rater, -1
    if it has none.

    expected: whether to take means of levels as scores for raters that have them. A rating of such
    a rater without a mean then has no score.
    """
    table = dataset.ratings
    index_of = {name: index for index, name in enumerate(dataset.outputs)}
    output_of = np.array(
        [index_of[name] for name in table["output"].cat.categories], dtype=np.int64
    )
    row = np.array([row_of.get(name, -1) for name in table["rater"].cat.categories], dtype=np.int64)
    score = table["score"].to_numpy()
    if expected and EXPECTED in table:
        means = table[EXPECTED]
        has_means = means.notna().groupby(table["rater"], observed=True).transform("any")
        score = np.where(has_means, means, score)
    rows_of = row[table["rater"].array.codes] if len(row) else np.zeros(0, dtype=np.int64)
    outputs = (
        output_of[table["output"].array.codes] if len(output_of) else np.zeros(0, dtype=np.int64)
    )
    criterion = table["criterion"].array.codes
    counted = ~np.isnan(score) & (rows_of >= 0)
    scores = {}
    for code, name in enumerate(table["criterion"].cat.categories):
        answers = np.flatnonzero(counted & (criterion == code))
        sign = -1.0 if dataset.criteria[name].direction == "lower" else 1.0
        cell = rows_of[answers] * len(index_of) + outputs[answers]
        people = answers[rows_of[answers] == 0]
        scores[name] = CriterionScores(
            dataset.criteria[name],
            *sums_and_counts(cell, sign * score[answers], rows, len(index_of)),
            sign * score[people],
            outputs[people],
            table["rater"].array.codes[people].astype(np.int64),
        )
    return {name: scores[name] for name in dataset.criteria if name in scores}


def can_be_combined(parts: Sequence[CriterionScores]) -> bool:
    """Whether scores can be averaged over criteria: all have the same scale, or all have a range,
    so that scores can be turned into shares of it.
    """
    scales = {part.scale for part in parts}
    return len(scales) == 1 or all(scale.low is not None for scale in scales)


def combined(
    parts: Sequence[CriterionScores],
) -> tuple[Numbers, ScaleEnds, Callable[[Codes], tuple[Numbers, Numbers, Codes]]]:
    """The scores of one criterion or the means of several criteria, (rows, outputs); their scale;
    and a function. The function takes a mask of outputs. It returns each reference person's score,
    the mean of the other people's scores, and the output.

    Scores on different scales are turned into shares of their ranges first. Raises UsageError if
    one criterion has no range.
    """
    scales = {part.scale for part in parts}
    ends = [_ends(part) if len(scales) > 1 else (0.0, 1.0) for part in parts]
    scale = scales.pop() if len(scales) == 1 else ScaleEnds(0.0, 1.0)
    means = sum(
        (part.means - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True)
    )

    width = 1 + max(int(part.person.max(initial=0)) for part in parts)
    keys = np.concatenate([part.output * width + part.person for part in parts])
    values = [
        (part.ratings - low) / (high - low) for part, (low, high) in zip(parts, ends, strict=True)
    ]
    key, which, count = np.unique(keys, return_inverse=True, return_counts=True)
    by_person = np.bincount(which, np.concatenate(values)) / len(parts)
    output_of = key // width

    def each_against_others(items: Codes) -> tuple[Numbers, Numbers, Codes]:
        complete = (count == len(parts)) & items[output_of]
        own, output = by_person[complete], output_of[complete]
        people = np.bincount(output, minlength=len(items))[output].astype(np.float64)
        total = np.bincount(output, own, minlength=len(items))[output]
        return own, np.asarray(ratio(total - own, people - 1)), output

    return np.asarray(means / len(parts)), scale, each_against_others


def _ends(part: CriterionScores) -> tuple[float, float]:
    """The ends of a scale that is combined with others."""
    if part.scale.low is None or part.scale.high is None:
        raise UsageError(
            f"overall: {part.criterion.name} has no range, and the criteria have different scales;"
            f" {give_ends(part.criterion.name)}, or choose criteria with `criteria`"
        )
    return part.scale.low, part.scale.high


def without_rounding(scores: Numbers) -> Numbers:
    """(items,) one rater's scores with the last digits rounded, so that equal sums stay equal if
    they were added up in another order.
    """
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if largest < 1e-200:
        return scores
    return np.asarray(np.round(scores, _DIGITS - math.ceil(math.log10(largest))))


def nearly_tied(scores: Numbers, source: Codes) -> int:
    """The number of pairs of scores of one source that only rounding makes different.

    >>> nearly_tied(np.array([0.1 + 0.2, 0.3, 0.3, np.nan]), np.zeros(4))
    2
    """
    scored = ~np.isnan(scores)
    pairs = []
    for values in (without_rounding(scores), scores):
        _, count = np.unique(np.stack([source[scored], values[scored]]), axis=1, return_counts=True)
        pairs.append(int((count * (count - 1) // 2).sum()))
    return pairs[0] - pairs[1]


NOMINAL = (
    "its labels have no order (nominal), so no rater can correlate with them; `metal.audit(...)`"
    " compares labels"
)


def unordered(dataset: Dataset) -> list[str]:
    """The criteria whose scores are codes of three or more labels without an order."""
    return [
        name
        for name, each in dataset.criteria.items()
        if each.scale.levels and each.scale.ends is None
    ]


def left_out(dataset: Dataset, settings: BoardSettings) -> tuple[str, ...]:
    """A note on each criterion that no board can have; none if criteria were chosen."""
    return tuple(
        f"{name} is left out: {NOMINAL}" for name in unordered(dataset) if not settings.criteria
    )


def board_cells(dataset: Dataset, settings: BoardSettings) -> list[BoardCell]:
    """The cells of a dataset. Criteria are in their declared order, followed by `overall`; for
    each, the cell of all languages comes first, then one per language.

    If the reference people rated several criteria, `overall` is the mean of these criteria. It is
    the mean of the scores if all criteria have the same scale, else the mean of the shares of their
    ranges. There is no `overall` if ranges are needed and missing. Metrics give one score for all
    criteria. Nominal criteria of three or more labels have no cells. Raises UnknownName for a
    rater, criterion or language that does not occur, UsageError if a nominal criterion is named, or
    if people rated nothing.
    """
    people = people_named(dataset, settings.reference)
    raters, row_of = _rows(dataset, settings, people)
    scores = criterion_scores(dataset, row_of, len(raters) + 1, settings.expected)
    codes = unordered(dataset)
    rated = [name for name, part in scores.items() if part.counts[0].any() and name not in codes]
    if refused := [name for name in settings.criteria or codes * (not rated) if name in codes]:
        raise UsageError(f"criterion {refused[0]!r}: {NOMINAL}")
    if not rated:
        reference = f" ({settings.reference})" if settings.reference else ""
        raise UsageError(
            f"dataset {dataset.card.name}: the people to compare with{reference} rated nothing"
        )
    parts_of = _parts_of({name: scores[name] for name in rated}, settings.criteria)
    check_languages(settings.languages, dataset.languages)
    cells = list(_cells(dataset, settings, parts_of, scores.get(METRIC_SCORE.name), raters))
    if not cells:
        limits = {"in": settings.languages, "on": settings.criteria}
        narrowed = (f" {word} {', '.join(names)}" for word, names in limits.items() if names)
        raise UsageError(
            f"dataset {dataset.card.name}: the people to compare with rated nothing"
            + "".join(narrowed)
        )
    return cells


def _parts_of(
    rated: Mapping[str, CriterionScores], chosen: Sequence[str]
) -> dict[str, list[CriterionScores]]:
    """The criteria to show, each with the criteria it combines. rated: the criteria that people
    rated.
    """
    parts_of = {name: [scores] for name, scores in rated.items()}
    if len(rated) > 1:
        parts_of.setdefault(OVERALL, list(rated.values()))
    check_known("criterion that the people rated", chosen, parts_of)
    if chosen:
        return {name: parts for name, parts in parts_of.items() if name in chosen}
    return {name: parts for name, parts in parts_of.items() if can_be_combined(parts)}


def ranked_cells(cells: Sequence[BoardCell]) -> list[BoardCell]:
    """The cells that have a rater other than the people. Raises UsageError if there is none."""
    ranked = [cell for cell in cells if cell.raters]
    if not ranked:
        criteria = first_few([*dict.fromkeys(cell.criterion for cell in cells)])
        raise UsageError(f"no judge or metric scored {criteria}: nothing to rank")
    return ranked


def main_criterion(criteria: Sequence[str]) -> str:
    """The criterion that a board shows first: `overall` if there is one, else the first."""
    return OVERALL if OVERALL in criteria else criteria[0]


def _cells(
    dataset: Dataset,
    settings: BoardSettings,
    parts_of: Mapping[str, Sequence[CriterionScores]],
    of_metrics: CriterionScores | None,
    raters: Sequence[BoardRater],
) -> Iterator[BoardCell]:
    """One cell per criterion and language that people rated; the cell of all languages comes first.
    parts_of: criteria to show, each with the criteria it combines. of_metrics: the scores that
    metrics give for all criteria.
    """
    outputs = list(dataset.outputs.values())
    language_of = np.array([output.language for output in outputs])
    generators, generator = np.unique([output.generator for output in outputs], return_inverse=True)
    source_place = {source: index for index, source in enumerate(dataset.sources)}
    source = np.array([source_place[output.source] for output in outputs], dtype=np.int64)
    # Permutation tests go through the items in this order, so that the order of lines in a file
    # does not matter.
    by_name = np.array(
        sorted(range(len(outputs)), key=lambda index: outputs[index].output), dtype=np.int64
    )
    languages = tuple(dict.fromkeys(settings.languages)) or dataset.languages
    for name, parts in counted_as(parts_of.items(), "criteria"):
        means, scale, each_against_others = combined(parts)
        if of_metrics:
            means[1:] = np.where(np.isnan(means[1:]), of_metrics.means[1:], means[1:])
        exact_human = means[0]
        if not settings.exact:
            means = np.stack(list(map(without_rounding, means)))
        for language in [ALL_LANGUAGES, *languages] if len(languages) > 1 else languages:
            inside = (
                np.isin(language_of, languages)
                if language == ALL_LANGUAGES
                else language_of == language
            )
            items = by_name[inside[by_name]]
            human, others_scores = means[0, items], means[1:, items]
            rated = ~np.isnan(human)
            if not rated.any():
                continue
            present = np.flatnonzero((~np.isnan(others_scores[:, rated])).any(axis=1))
            used, codes = np.unique(generator[items], return_inverse=True)
            scores, shown_raters = (
                others_scores[present],
                tuple(raters[int(index)] for index in present),
            )
            if settings.common:
                human = _common(dataset.called(name), human, scores, shown_raters)
            compared = np.zeros(len(outputs), dtype=bool)
            compared[items[~np.isnan(human)]] = True
            alone, others, output_of = each_against_others(compared)
            yield BoardCell(
                name,
                language,
                scale,
                human,
                scores,
                shown_raters,
                items,
                codes,
                source[items],
                tuple(generators[used].tolist()),
                alone,
                others,
                source[output_of],
                len(parts),
                nearly_tied(exact_human[items], source[items]),
            )


def _common(
    criterion: str, human: Numbers, scores: Numbers, raters: Sequence[BoardRater]
) -> Numbers:
    """(items,) people's scores of the items that every rater scored, NaN elsewhere."""
    scored = ~np.isnan(scores)
    kept = scored.all(axis=0) & ~np.isnan(human)
    if not kept.any():
        fewest = int(np.argmin(scored[:, ~np.isnan(human)].sum(axis=1)))
        raise UsageError(
            f"`common`: no output of {criterion} was scored by all raters; "
            f"{raters[fewest].name!r} scored the fewest; choose raters with `raters`"
        )
    return np.where(kept, human, np.nan)


def _rows(
    dataset: Dataset, settings: BoardSettings, people: Sequence[str]
) -> tuple[tuple[BoardRater, ...], Mapping[str, int]]:
    """The board's raters, and the row of each rater of the dataset. Row 0 is the reference people.
    Raters without a row are not on the board.
    """
    groups: dict[str, list[str]] = {}
    raters: list[BoardRater] = []
    for rater in dataset.raters.values():
        if rater.rater in people or rater.about.get("repeats") in dataset.raters:
            continue
        if rater.kind == "human":
            groups.setdefault(rater.group, []).append(rater.rater)
        else:
            raters.append(BoardRater(rater.rater, rater.kind, rater.group, about=rater.about))
    taken = {rater.name for rater in raters}
    for group, members in groups.items():
        name = group or "other people"
        raters.append(
            BoardRater(
                f"{name} (people)" if name in taken else name, "human", group, tuple(members)
            )
        )
    if settings.raters:
        check_known("rater", settings.raters, [rater.name for rater in raters])
        raters = [rater for rater in raters if rater.name in settings.raters]
    if not raters:
        raise UsageError(
            f"dataset {dataset.card.name}: no rater besides the people to compare with;"
            " `metal.leaderboard(...)` ranks generators by people's ratings, `ratings` adds a run"
            " of judges or metrics"
        )
    rows = dict.fromkeys(people, 0)
    for row, board_rater in enumerate(raters, 1):
        rows |= dict.fromkeys(board_rater.members, row)
    return tuple(raters), rows
