"""Judge or crowd? Compare people outside the reference, and LLM judges, with the reference people.

Source: Bidimensional Leaderboards, section 2.5 and Figure 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import (
    BoardCell,
    BoardRater,
    ScaleEnds,
    board_cells,
    left_out,
    main_criterion,
)
from metal.boards.crowd_rows import (
    CEILING,
    OVERRATED,
    UNDERRATED,
    Example,
    adjust,
    answer_row,
    area_of,
    compared,
    dots,
    examples,
    largest_family,
    reference_name,
    sampled,
)
from metal.boards.ranking import (
    WITH_INTERVAL,
    agreements,
    ceiling,
    figure_columns,
    intervals,
    rank_figures,
    table_of,
)
from metal.boards.settings import BoardSettings, CrowdSettings
from metal.data.dataset import Dataset
from metal.data.own_ranges import give_ends
from metal.data.people import people_named
from metal.data.progress import Progress, followed, no_progress
from metal.data.records import METRIC_SCORE, Estimate
from metal.data.text import signature_line
from metal.errors import UsageError
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.correlation import distinct
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.permutation import correlates_better, resolution
from metal.version import __version__

# Permutations for each comparison of the family, at least: Holm's smallest p is then at most 0.02;
# and 0.001, in small
# families.
ENOUGH, PLENTY, MOST_PLENTY = 100, 2_000, 16_000

TABLES: Mapping[str, tuple[str, ...]] = {
    "crowd_raters": (
        "language",
        "criterion",
        "rater",
        "kind",
        "group",
        "people",
        "outputs",
        "pearson",
    ),
    "crowd_answers": (
        "language",
        "criterion",
        "answer",
        "sentence",
        "crowd",
        "judge",
        "p_adjusted",
    ),
    "crowd_comparisons": ("language", "criterion", "crowd", "judge", "better", "p", "p_adjusted"),
    "crowd_examples": ("language", "criterion", "rater", "area", "output", "people", "score"),
    "crowd_dots": ("language", "criterion", "rater", "score", "people", "outputs"),
}


# by rater, then by name: pearson, system_pearson, kendall
Figures = Mapping[str, Mapping[str, Estimate]]


@dataclass(frozen=True)
class BoardFigures:
    """What a board has already computed: its cells, the figures of each cell's raters, and the
    bootstrap.
    """

    cells: Sequence[BoardCell]
    figures: Sequence[Figures]
    bootstrap: SourceBootstrap


@dataclass(frozen=True, repr=False)
class Crowd:
    """LLM judges and crowd compared with the reference people. tables: by name; the columns of
    TABLES come first.

    main: the criterion shown first. reference: the name of the reference people. scales: criterion
    -> scale. notes: problems of the data. warnings: about people left out beforehand. pictures: how
    many pictures were written. titles: criterion -> title.
    """

    main: str
    reference: str
    people: tuple[str, ...]
    tables: dict[str, pd.DataFrame]
    scales: dict[str, ScaleEnds]
    notes: tuple[str, ...]
    signature: str
    warnings: tuple[str, ...] = ()
    pictures: int = 0
    titles: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Crowd(against {self.reference}, tables: {', '.join(self.tables)})"


def crowd(
    dataset: Dataset,
    settings: BoardSettings,
    choices: CrowdSettings | None = None,
    *,
    computed: BoardFigures | None = None,
    progress: Progress = no_progress,
) -> Crowd:
    """Compare raters with the reference people, on every criterion and in every language of the
    board.

    Raters are settings.raters, or else the people outside the reference (a group is one rater,
    whose score is the mean of theirs) and the LLM judges. Scores are higher-is-better: negated if
    the criterion says lower.

    crowd_raters: one row per rater, and one of kind `ceiling`: one reference person compared with
    the mean of the others.
      outputs: scored by both; pearson, kendall, system_pearson, bias with _low and _high. bias:
          mean of (rater minus people), in points of the people's scale. underrated, overrated, and
          _share: the number and share of outputs in the areas of `area_of`. undefined: reasons.
          people: the number of people in the rater, None if it is not people.
    crowd_answers: one row per cell.
      answer: judge, metric, baseline, crowd, undecided, neither or unknown; `judge only` if there
          is no other side. Also the sentence that says so, the best rater of each side with its
          _pearson, p_adjusted of their difference, and the ceiling.
    crowd_comparisons: every rater that is people compared with every rater that is not.
      p: two-sided, by paired permutation (at least ENOUGH times as many permutations as
          comparisons). at_most: whether p is the smallest value that so many permutations can give.
          p_adjusted: over all comparisons of a criterion; those of all languages together are a
          family of their own.
    crowd_examples: a seeded sample of the outputs in each area, with texts, both scores and
    comments.
    crowd_dots: how many outputs have which two scores, on a grid of GRID steps if there are more.

    computed: what a board with the same people, and with at least these raters, has already
    computed. progress: called with the number of cells done and of all cells.

    Raises UsageError if there is nobody to compare, and the errors of `board_cells`.
    """
    choices = choices or CrowdSettings()
    people = people_named(dataset, settings.reference)
    shown, notes = (
        equal_panels(dataset, people, settings.seed) if choices.equal_panels else (dataset, ())
    )
    cells = _cells(shown, settings, computed)
    bootstrap = (
        computed.bootstrap if computed else SourceBootstrap(settings.resamples, settings.seed)
    )
    family = largest_family(cells)
    permutations = max(settings.permutations, ENOUGH * family, min(PLENTY * family, MOST_PLENTY))
    # metrics answer with a number of their own, not on the people's scale
    ratings = dataset.ratings
    elsewhere = set(
        ratings.loc[(ratings["criterion"] == METRIC_SCORE.name).to_numpy(), "rater"].unique()
    )
    chosen: list[Example] = []
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for index, cell in enumerate(followed(cells, progress)):
        only = cell.only_rated()
        on_scale = np.array([rater.name not in elsewhere for rater in cell.raters], dtype=bool)
        figures = computed.figures[index] if computed else _figures(only, bootstrap)
        rows["crowd_raters"] += rater_rows(only, on_scale, choices.area, figures, bootstrap)
        rows["crowd_comparisons"] += _comparisons(only, permutations, settings.seed)
        for rater, scores, on in zip(only.raters, only.scores, on_scale, strict=True):
            rows["crowd_dots"] += dots(only, rater, scores)
            if on:
                chosen += sampled(
                    only, rater, scores, choices.area, choices.examples, settings.seed
                )
    rows["crowd_examples"] = examples(dataset, chosen, people)
    adjust(rows["crowd_comparisons"])
    for cell in cells:
        raters, pairs = (
            _of_cell(rows["crowd_raters"], cell),
            _of_cell(rows["crowd_comparisons"], cell),
        )
        rows["crowd_answers"].append(answer_row(raters, pairs, settings.reference))
    signature = _signature(dataset, settings, choices)
    for record in chain.from_iterable(rows.values()):
        record["signature"] = signature
    return Crowd(
        main_criterion([cell.criterion for cell in cells]),
        reference_name(settings.reference),
        people,
        {
            name: table_of(rows[name], columns, ("crowd", "judge", "better"))
            for name, columns in TABLES.items()
        },
        {cell.criterion: cell.scale for cell in cells},
        (*notes, *left_out(dataset, settings)),
        signature,
        titles={cell.criterion: dataset.called(cell.criterion) for cell in cells},
    )


def _comparisons(cell: BoardCell, permutations: int, seed: int) -> list[dict[str, Any]]:
    """Compare every rater that is people with every rater that is not, in a cell with only rated
    items.
    """
    person = np.array([rater.kind == "human" for rater in cell.raters], dtype=bool)
    better = correlates_better(
        cell.human,
        cell.scores,
        np.random.default_rng([seed, len(cell.human)]),
        source=cell.source,
        resamples=permutations,
        wanted=person[:, None] & ~person,
    )
    return compared(cell, better, resolution(permutations))


def _of_cell(rows: Sequence[dict[str, Any]], cell: BoardCell) -> list[dict[str, Any]]:
    key = (cell.language, cell.criterion)
    return [row for row in rows if (row["language"], row["criterion"]) == key]


def _cells(
    dataset: Dataset, settings: BoardSettings, computed: BoardFigures | None
) -> list[BoardCell]:
    """The board's cells with the raters to compare. Raises UsageError if there are none."""
    every = computed.cells if computed else board_cells(dataset, settings)
    cells = [_chosen(cell, settings) for cell in every]
    if not any(cell.raters for cell in cells):
        raise UsageError(
            f"dataset {dataset.card.name}: neither other people nor an LLM judge rated what the"
            " reference people rated; add a judges' run with `ratings`, or name metrics in `raters`"
        )
    return cells


def _chosen(cell: BoardCell, settings: BoardSettings) -> BoardCell:
    """The cell with only the named raters or, if none are named, with people and LLM judges."""
    kept = [
        index
        for index, rater in enumerate(cell.raters)
        if (rater.name in settings.raters if settings.raters else rater.kind in ("human", "llm"))
    ]
    return replace(
        cell, scores=cell.scores[kept], raters=tuple(cell.raters[index] for index in kept)
    )


# ---------------------------------------------------------------- figures


def _figures(cell: BoardCell, bootstrap: SourceBootstrap) -> Figures:
    """The figures of each rater of a cell in which people rated all items."""
    with_people = agreements(cell.scores, cell.human, cell.source, cell.generator, bootstrap)
    human = distinct(cell.human)
    return {
        rater.name: {
            "pearson": of_rater.instance,
            "kendall": rank_figures(scores, human, cell.source)["kendall"],
            "system_pearson": of_rater.system,
        }
        for rater, scores, of_rater in zip(cell.raters, cell.scores, with_people, strict=True)
    }


def rater_rows(
    cell: BoardCell, on_scale: Codes, area: float, figures: Figures, bootstrap: SourceBootstrap
) -> list[dict[str, Any]]:
    """The rows of a cell in which people rated all items: each rater, then the ceiling. on_scale:
    (raters,) whether a rater is on people's scale.
    """
    rows = []
    biases = iter(bias(cell, cell.scores[on_scale], bootstrap))
    for index, rater in enumerate(cell.raters):
        scores = cell.scores[index]
        both = int((~np.isnan(scores)).sum())
        own_figures = {
            name: figures[rater.name][name] for name in ("pearson", "kendall", "system_pearson")
        }
        if on_scale[index]:
            own_figures |= {"bias": next(biases)} | _areas(cell, scores, area, both)
        else:
            own = Estimate.undefined("its scores are not on the people's scale", both)
            own_figures |= dict.fromkeys(("bias", UNDERRATED, OVERRATED), own)
        rows.append(_row(cell, rater, own_figures, both))
    kendall = rank_figures(cell.alone, distinct(np.round(cell.others, 10)), cell.alone_source)[
        "kendall"
    ]
    alone = {"pearson": ceiling(cell), "kendall": kendall}
    apart = Estimate.undefined(
        "a person is compared with the other people, not with all", len(cell.alone)
    )
    alone |= dict.fromkeys(("system_pearson", "bias", UNDERRATED, OVERRATED), apart)
    return [*rows, _row(cell, BoardRater(CEILING, "ceiling", ""), alone, int(cell.rated.sum()))]


def _row(
    cell: BoardCell, rater: BoardRater, figures: Mapping[str, Estimate], outputs: int
) -> dict[str, Any]:
    columns: dict[str, Estimate | float | None] = {}
    for name, figure in figures.items():
        columns[name] = figure
        if name in (UNDERRATED, OVERRATED):
            columns[f"{name}_share"] = (
                None if figure.value is None or not outputs else figure.value / outputs
            )
    return {
        **cell.row_of(rater),
        "people": len(rater.people) or None,
        "outputs": outputs,
        **figure_columns(columns, (*WITH_INTERVAL, "bias")),
    }


def bias(cell: BoardCell, scores: Numbers, bootstrap: SourceBootstrap) -> list[Estimate]:
    """For each rater, the mean of (rater minus people) over the outputs that both scored, with an
    interval from a bootstrap over sources. scores: (raters, items).
    """
    if not len(scores):
        return []
    both = ~np.isnan(scores) & ~np.isnan(cell.human)
    apart = np.where(both, scores - cell.human, 0.0)
    names, which = np.unique(cell.source, return_inverse=True)
    parts = [
        np.bincount(which, part, len(names))
        for pair in zip(both, apart, strict=True)
        for part in pair
    ]
    sums = np.stack(parts, axis=1).reshape(len(names), len(scores), 2)
    totals, drawn = sums.sum(axis=0), bootstrap.totals(sums)
    low, high = intervals(ratio(drawn[..., 1], drawn[..., 0]))
    estimates = []
    for count, total, low_end, high_end in zip(*totals.T, low, high, strict=True):
        if not count:
            estimates.append(Estimate.undefined("no output that both scored"))
            continue
        figure = Estimate(
            float(total / count), n=int(count), method="percentile bootstrap over sources"
        )
        if len(names) > 1 and not np.isnan(low_end):
            figure = replace(figure, low=float(low_end), high=float(high_end))
        estimates.append(figure)
    return estimates


def _areas(cell: BoardCell, scores: Numbers, share: float, both: int) -> dict[str, Estimate]:
    areas = area_of(cell.human, scores, cell.scale, share)
    if not areas:
        reason = f"the people's scale has no ends; {give_ends(cell.criterion)}"
        return dict.fromkeys((UNDERRATED, OVERRATED), Estimate.undefined(reason, both))
    return {name: Estimate(int(inside.sum()), n=both) for name, inside in areas.items()}


# ---------------------------------------------------------------- who counts


def equal_panels(
    dataset: Dataset, people: Sequence[str], seed: int
) -> tuple[Dataset, tuple[str, ...]]:
    """Drop surplus people, so that on each output no group has more people than the reference; also
    return notes.

    On each output, the people of a group are put in a random order, which is the same for all
    criteria. For each criterion, the first people who answered it count.
    """
    groups: dict[str, int] = {}
    group_of = {
        name: 0 if name in people else groups.setdefault(rater.group, len(groups) + 1)
        for name, rater in dataset.raters.items()
        if rater.kind == "human" and rater.about.get("repeats") not in dataset.raters
    }
    table = dataset.ratings.reset_index(drop=True)
    answered = table.loc[table["score"].notna(), ["output", "criterion", "rater"]]
    answered["group"] = answered["rater"].astype(object).map(group_of)
    asked = ["output", "criterion"]
    wanted = answered[answered["group"] == 0].groupby(asked, observed=True).size().rename("wanted")
    others = answered[answered["group"] > 0].join(wanted, on=asked).fillna({"wanted": 0})
    person = others.groupby(["output", "rater"], observed=True).ngroup().to_numpy()
    lots = np.random.default_rng(seed).random(person.max(initial=-1) + 1)
    panels = (
        others.assign(lot=lots[person]).sort_values("lot").groupby([*asked, "group"], observed=True)
    )
    turns = panels.cumcount()
    kept = table.drop(index=turns.index[turns >= others["wanted"][turns.index]]).reset_index(
        drop=True
    )
    short = int((panels.size() < panels["wanted"].first()).sum())
    notes = (
        f"equal panels: in {short:,} cases a group has fewer people on an output than the reference"
        " has",
    )
    return replace(dataset, ratings=kept), notes if short else ()


def _signature(dataset: Dataset, settings: BoardSettings, choices: CrowdSettings) -> str:
    panels = "equal" if choices.equal_panels else "all"
    return signature_line(
        {
            "metal": __version__,
            "data": dataset.identity,
            "stat": "crowd",
            "ref": settings.reference or "all-people",
            "raters": "+".join(settings.raters),
            "crit": "+".join(settings.criteria),
            "lang": "+".join(settings.languages),
            "common": "yes" if settings.common else "",
            "panels": panels,
            "area": f"{choices.area:.6g}",
            "bs": settings.resamples,
            "perm": settings.permutations,
            "seed": settings.seed,
        }
    )
