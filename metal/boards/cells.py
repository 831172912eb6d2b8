"""The cells of a board: criteria x languages, joined from a dataset.

People outside the reference count as one rater a group, whose score is the mean of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from metal.boards.cell import BoardCell, BoardRater
from metal.boards.criteria import can_be_combined, combined, criterion_scores, without_rounding
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset, people_named
from metal.data.records import METRIC_SCORE
from metal.errors import UnknownName, UsageError

OVERALL = "overall"
ALL_LANGUAGES = ""


def board_cells(dataset: Dataset, settings: BoardSettings) -> list[BoardCell]:
    """The cells of a dataset: criteria in their declared order, then `overall`; all languages together, then each.

    `overall` is the mean of the criteria that the reference people rated, where there are several: of the scores where
    these have one scale, else of the shares of their ranges (without ranges there is none). Metrics give one score for
    all criteria. Raises UnknownName for a rater, criterion or language that does not occur, UsageError where the people
    rated nothing.
    """
    cells = list(_cells(dataset, settings))
    if not cells:
        raise UsageError(
            f"dataset {dataset.card.name}: the people to compare with rated nothing"
            + (f" in {', '.join(settings.languages)}" if settings.languages else "")
            + (f" on {', '.join(settings.criteria)}" if settings.criteria else "")
        )
    return cells


def main_criterion(criteria: Sequence[str]) -> str:
    """The criterion a board shows first: overall, else the first."""
    return OVERALL if OVERALL in criteria else criteria[0]


def _cells(dataset: Dataset, settings: BoardSettings) -> Iterator[BoardCell]:
    people = people_named(dataset, settings.reference)
    raters, row_of = _rows(dataset, settings, people)
    scores = criterion_scores(dataset, row_of, len(raters) + 1)
    rated = [name for name, part in scores.items() if part.counts[0].any()]
    shown = [*rated, OVERALL] if len(rated) > 1 and OVERALL not in rated else rated
    _check_choices(dataset, settings, shown)
    outputs = list(dataset.outputs.values())
    language_of = np.array([output.language for output in outputs])
    generators, generator = np.unique([output.generator for output in outputs], return_inverse=True)
    source_place = {name: place for place, name in enumerate(dataset.sources)}
    source = np.array([source_place[output.source] for output in outputs], dtype=np.int64)
    languages = tuple(dict.fromkeys(settings.languages)) or dataset.languages
    # Permutation tests go through the items in this order, so that the order of lines in a file does not matter.
    by_name = np.array(sorted(range(len(outputs)), key=lambda place: outputs[place].output), dtype=np.int64)
    for name in shown:
        if settings.criteria and name not in settings.criteria:
            continue
        parts = [scores[name]] if name in rated else [scores[part] for part in rated]
        if not (settings.criteria or can_be_combined(parts)):
            continue
        means, scale, each_against_others = combined(parts)
        if METRIC_SCORE.name in scores:
            means[1:] = np.where(np.isnan(means[1:]), scores[METRIC_SCORE.name].means[1:], means[1:])
        means = np.stack([without_rounding(row) for row in means])
        for language in [ALL_LANGUAGES, *languages] if len(languages) > 1 else languages:
            inside = np.isin(language_of, languages) if language == ALL_LANGUAGES else language_of == language
            items = by_name[inside[by_name]]
            human, others_scores = means[0, items], means[1:, items]
            if np.isnan(human).all():
                continue
            present = np.flatnonzero((~np.isnan(others_scores[:, ~np.isnan(human)])).any(axis=1))
            used, codes = np.unique(generator[items], return_inverse=True)
            cell = BoardCell(
                name,
                language,
                scale,
                human,
                others_scores[present],
                tuple(raters[place] for place in present),
                items,
                codes,
                source[items],
                tuple(str(generators[place]) for place in used),
                np.array([]),
                np.array([]),
                len(parts),
            )
            cell = _common(cell) if settings.common else cell
            compared = np.zeros(len(outputs), dtype=bool)
            compared[cell.outputs[cell.rated]] = True
            alone, others = each_against_others(compared)
            yield replace(cell, alone=alone, others=others)


def _common(cell: BoardCell) -> BoardCell:
    """The cell in which only items that every rater scored count as rated by people."""
    kept = ~np.isnan(cell.scores).any(axis=0) & cell.rated
    if not kept.any():
        fewest = int(np.argmin((~np.isnan(cell.scores[:, cell.rated])).sum(axis=1)))
        raise UsageError(
            f"`common`: no output of {cell.criterion} was scored by all raters; the fewest by "
            f"{cell.raters[fewest].name!r}; choose raters with `raters`"
        )
    return replace(cell, human=np.where(kept, cell.human, np.nan))


def _rows(
    dataset: Dataset, settings: BoardSettings, people: Sequence[str]
) -> tuple[tuple[BoardRater, ...], Mapping[str, int]]:
    """The board's raters, and the row of each of the dataset's raters: 0 for the reference; others are not on it."""
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
        raters.append(BoardRater(f"{name} (people)" if name in taken else name, "human", group, tuple(members)))
    if settings.raters:
        names = [rater.name for rater in raters]
        for name in settings.raters:
            if name not in names:
                raise UnknownName("rater", name, names)
        raters = [rater for rater in raters if rater.name in settings.raters]
    if not raters:
        raise UsageError(f"dataset {dataset.card.name}: there is no rater but the people to compare with")
    rows = dict.fromkeys(people, 0)
    for row, board_rater in enumerate(raters, 1):
        rows |= dict.fromkeys(board_rater.people or [board_rater.name], row)
    return tuple(raters), rows


def _check_choices(dataset: Dataset, settings: BoardSettings, shown: Sequence[str]) -> None:
    """Raises where the people rated nothing, and for a criterion or language that does not occur."""
    if not shown:
        reference = f" ({settings.reference})" if settings.reference else ""
        raise UsageError(f"dataset {dataset.card.name}: the people to compare with{reference} rated nothing")
    for name in settings.criteria:
        if name not in shown:
            raise UnknownName("criterion that the people rated", name, shown)
    for name in settings.languages:
        if name not in dataset.languages:
            raise UnknownName("language", name, dataset.languages)
