"""Compute a whole board: from a dataset and settings to tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import (
    OVERALL,
    BoardCell,
    board_cells,
    left_out,
    main_criterion,
    ranked_cells,
)
from metal.boards.crowd import BoardFigures, Figures, crowd
from metal.boards.ensemble import GROUP as ENSEMBLES
from metal.boards.ensemble import (
    NAME,
    BoardEnsemble,
    board_ensemble,
    ensemble_row,
    member_rows,
)
from metal.boards.ensemble_records import ensemble_base, ensemble_record, ensemble_signature
from metal.boards.generators import generator_rows
from metal.boards.lint import lint, where
from metal.boards.overrating import (
    families,
    human_generators,
    overrating_rows,
    self_preference_rows,
)
from metal.boards.ranking import (
    WITH_INTERVAL,
    Ranked,
    ceiling,
    comparisons,
    figure_columns,
    ranking,
    table_of,
)
from metal.boards.settings import BoardSettings, signature
from metal.data.dataset import Dataset
from metal.data.own_ranges import give_ends
from metal.data.people import people_named
from metal.data.progress import Progress, counted_as, followed, follower, no_progress
from metal.data.text import first_few, plural
from metal.errors import Undefined, UsageError
from metal.stats.bootstrap import SourceBootstrap

UNRANKED = "no judge or metric has a score (an overall score needs one on each criterion)"
FITTED = "rank: the ensemble was fitted to people's scores of these outputs"
PEOPLE = "people"  # the reference, as those by whom generators are ranked

TABLES: Mapping[str, tuple[str, ...]] = {
    "raters": (
        "language",
        "criterion",
        "rank",
        "rank_low",
        "rank_high",
        "rater",
        "kind",
        "group",
        "pearson",
    ),
    "generators": (
        "language",
        "criterion",
        "by",
        "rank",
        "rank_low",
        "rank_high",
        "generator",
        "score",
    ),
    "ensembles": ("language", "criterion", "ensemble", "members", "alpha"),
    "ensemble_members": ("language", "criterion", "ensemble", "member", "coefficient"),
    "overrating": ("language", "criterion", "rater", "kind", "value", "low", "high"),
    "self_preference": ("language", "criterion", "rater", "kind", "family", "value", "low", "high"),
    "within_generators": ("language", "criterion", "generator", "rater", "kind", "pearson"),
    "comparisons": ("language", "criterion", "first", "second", "p"),
    "people": ("language", "criterion", "people", "outputs", "one_against_others"),
}


@dataclass(frozen=True)
class Board:
    """What a board shows.

    tables: name -> rows, each with its signature. A table without rows has the columns listed in
    TABLES. If other people or LLM judges are on the board, it also has the tables of
    metal.boards.crowd. main: the criterion shown first. ensembles: signature -> everything needed
    to apply the ensemble. people: the reference people.
    """

    main: str
    people: tuple[str, ...]
    raters: tuple[str, ...]
    tables: dict[str, pd.DataFrame]
    ensembles: dict[str, dict[str, Any]]
    warnings: tuple[str, ...]
    signature: str


def billboard(
    dataset: Dataset,
    settings: BoardSettings,
    *,
    stored: Sequence[Mapping[str, Any]] = (),
    progress: Progress = no_progress,
) -> Board:
    """Rank a dataset's raters by the reference people, and its generators, on every criterion and
    in every language.

    stored: the ensembles of earlier boards (`Board.ensembles`). A new ensemble that gives the same
    scores as one of them gets its signature. progress: called with the number of cells done and of
    all cells. Raises UsageError if the people rated nothing, UnknownName for names that do not
    occur.
    """
    cells = board_cells(dataset, settings)
    main = main_criterion([cell.criterion for cell in ranked_cells(cells)])
    _check_names(cells)
    bootstrap = SourceBootstrap(settings.resamples, settings.seed)
    written, of_family = human_generators(dataset, settings), families(dataset, settings)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    notes: list[tuple[BoardCell, str]] = [(cell, UNRANKED) for cell in cells if not cell.raters]
    ensembles = {}
    figures: list[Figures] = []
    for cell in followed(cells, progress):
        try:
            ensemble = board_ensemble(cell, settings)
        except Undefined as error:
            ensemble = None
            notes.append((cell, f"no ensemble ({error})"))
        if ensemble:
            base = ensemble_base(dataset, ensemble)
            record = ensemble_record(dataset, settings, ensemble)
            ensemble_name = ensemble_signature(base, record, stored)
            rows["ensembles"].append(ensemble_row(ensemble, ensemble_name, settings))
            rows["ensemble_members"] += member_rows(ensemble, ensemble_name)
            ensembles[ensemble_name] = {"ensemble": ensemble_name} | record
            notes += [
                (cell, f"{dropped}, and is not a candidate for the ensemble")
                for dropped in ensemble.dropped
            ]
        shown = cell.with_rater(ensemble.rater, ensemble.unseen) if ensemble else cell
        ranked = ranking(shown, bootstrap, settings.permutations)
        rows["raters"] += ranked.rows
        rows["comparisons"] += comparisons(cell, ranked)
        rows["within_generators"] += ranked.within
        figures.append(ranked.figures)
        rows["generators"] += _generators(cell, ranked, ensemble, bootstrap, settings, written)
        rated = (
            cell.with_rater(replace(ensemble.rater, name=_named(ensemble)), ensemble.scores)
            if ensemble
            else cell
        )
        rows["overrating"] += overrating_rows(rated, written)
        rows["self_preference"] += self_preference_rows(cell, of_family)
        rows["people"].append(_people(cell, dataset, settings))
    tables = {
        name: _table(name, records, dataset, settings)
        for name, records in counted_as(rows.items(), "tables")
    }
    tables |= _crowd(dataset, settings, BoardFigures(cells, figures, bootstrap))
    return Board(
        main,
        people_named(dataset, settings.reference),
        tuple(dict.fromkeys(row["rater"] for row in rows["raters"])),
        tables,
        ensembles,
        (
            *_warnings(dataset, cells, settings, tables["generators"]),
            *lint(dataset, cells),
            *_noted(dataset, notes, cells),
        ),
        signature(dataset.identity, settings),
    )


def _check_names(cells: Sequence[BoardCell]) -> None:
    """Raise UsageError if a rater has the name of the reference people or of the board's
    ensemble.
    """
    for rater in dict.fromkeys(rater.name for cell in cells for rater in cell.raters):
        if rater in (PEOPLE, NAME) or rater.startswith("ensemble of "):
            raise UsageError(
                f"rater {rater!r}: the board itself uses this name; rename it, or leave it out with"
                " `raters`"
            )


def _generators(
    cell: BoardCell,
    ranked: Ranked,
    ensemble: BoardEnsemble | None,
    bootstrap: SourceBootstrap,
    settings: BoardSettings,
    written: tuple[str, ...],
) -> list[dict[str, Any]]:
    """Rank generators by people, by the best rater, by the best metric, by the best rater that
    scored every generator, and by the ensemble.

    The ensemble gives means but no ranks, because it was fitted to people's scores of the same
    outputs.
    """
    by = {PEOPLE: cell.human}
    defined = [
        row
        for row in ranked.rows
        if row["rank"] and row["kind"] in ("metric", "llm") and row["group"] != ENSEMBLES
    ]
    metrics = [row for row in defined if row["kind"] == "metric"]
    codes = range(len(cell.generators))
    everywhere = [
        row for row in defined if set(codes) <= {*cell.generator[~np.isnan(cell.of(row["rater"]))]}
    ]
    for row in [*defined[:1], *metrics[:1], *everywhere[:1]]:
        by[row["rater"]] = cell.of(row["rater"])
    instead: dict[str, dict[str, Any]] = {}
    if ensemble:
        by[_named(ensemble)] = ensemble.scores
        unranked = dict.fromkeys(("rank", "rank_low", "rank_high"))
        instead[_named(ensemble)] = unranked | {"undefined": FITTED}
    return [
        row | {"undefined": ""} | instead.get(name, {})
        for name, scores in by.items()
        for row in generator_rows(cell, name, scores, bootstrap, settings.permutations, written)
    ]


def _crowd(
    dataset: Dataset, settings: BoardSettings, figures: BoardFigures
) -> dict[str, pd.DataFrame]:
    """The tables of `crowd`, for the people and judges on the board; none if there are neither."""
    shown = chain.from_iterable(cell.raters for cell in figures.cells)
    raters = {rater.name for rater in shown if rater.kind in ("human", "llm")}
    if not raters:
        return {}
    # What all of the board's raters scored in common is not what all of these did.
    crowd_settings = replace(settings, raters=tuple(sorted(raters)))
    return crowd(
        dataset,
        crowd_settings,
        computed=None if settings.common else figures,
        progress=follower("cells"),
    ).tables


def _named(ensemble: BoardEnsemble) -> str:
    """The name of the ensemble that was fitted to all generators. The ensemble on the board has
    another name, because it has not seen the generators it scores.
    """
    return f"ensemble of {len(ensemble.members)}"


def _people(cell: BoardCell, dataset: Dataset, settings: BoardSettings) -> dict[str, Any]:
    named = people_named(dataset, settings.reference)
    # means of several people
    panels = sum(bool(dataset.raters[name].about.get("panel")) for name in named)
    return {
        **cell.place,
        "people": len(named) - panels,
        "panels": panels,
        "outputs": int(cell.rated.sum()),
        "criteria": cell.criteria,
        "scale_low": cell.scale.low,
        "scale_high": cell.scale.high,
        **figure_columns({"one_against_others": ceiling(cell)}, WITH_INTERVAL),
    }


def _table(
    name: str, records: list[dict[str, Any]], dataset: Dataset, settings: BoardSettings
) -> pd.DataFrame:
    """The records as a table, each with the signature of its figures."""
    for record in records:
        record["signature"] = signature(
            dataset.identity,
            settings,
            stat=name,
            rater=record.get("rater"),
            by=record.get("by"),
            lang=record["language"] or "all",
            crit=record["criterion"],
            n=record.get("outputs"),
        )
    return table_of(records, TABLES[name])


def _noted(
    dataset: Dataset, notes: Sequence[tuple[BoardCell, str]], cells: Sequence[BoardCell]
) -> list[str]:
    """Give each note about cells once, with a list of all cells to which it applies."""
    of_criterion = Counter(cell.criterion for cell in cells)
    cells_of: dict[str, list[BoardCell]] = {}
    for cell, note in notes:
        cells_of.setdefault(note, []).append(cell)
    lines = []
    for note, noted_cells in cells_of.items():
        noted = Counter(cell.criterion for cell in noted_cells)
        complete = {name for name, times in noted.items() if times == of_criterion[name] > 1}
        names = [
            dataset.called(cell.criterion) if cell.criterion in complete else where(dataset, cell)
            for cell in noted_cells
        ]
        everywhere = len(noted_cells) == len(cells) > 1
        lines.append(
            f"{'every criterion and language' if everywhere else ', '.join(dict.fromkeys(names))}:"
            f" {note}"
        )
    return lines


def _assisted(dataset: Dataset, cells: Sequence[BoardCell], people: Sequence[str]) -> Iterator[str]:
    """A line for each person who saw the answers of a rater on the board. Such people still count,
    because all raters are compared with one mean of people.
    """
    raters = {rater.name for cell in cells for rater in cell.raters}
    for person in people:
        if seen := raters.intersection(dataset.raters[person].assisted_by):
            yield (
                f"{person} saw the answers of {first_few(sorted(seen))} before rating, but still"
                " counts as a reference; to leave this person out, name the other people:"
                ' `reference="rater=NAME,NAME"`'
            )


def _mixed_groups(dataset: Dataset, people: Sequence[str]) -> list[str]:
    """The groups of people of whom several rated the same criterion in the same language."""
    table = dataset.ratings[dataset.ratings["rater"].isin(people)]
    cells = table.groupby(["language", "criterion"], observed=True)["group"].unique()
    mixed = [set(map(str, groups)) for groups in cells if len(groups) > 1]
    return sorted(set().union(*mixed))


def _warnings(
    dataset: Dataset, cells: Sequence[BoardCell], settings: BoardSettings, generators: pd.DataFrame
) -> Iterator[str]:
    """What a reader should know before reading the board. generators: the board's table
    `generators`.
    """
    groups = _mixed_groups(dataset, people_named(dataset, settings.reference))
    if groups:
        named = ", ".join(group or "(none)" for group in groups)
        yield (
            f"the reference people are of several groups ({named});"
            ' `reference="group=NAME"` takes one group'
        )
    unlike = list(filter(_scored_unlike, cells))
    if unlike:
        unlike_cells = ", ".join(where(dataset, cell) for cell in unlike)
        named = "every criterion" if len(unlike) == len(cells) else unlike_cells
        remedy = "`common` compares them only on outputs that all scored"
        yield f"{named}: raters scored different outputs (see coverage); {remedy}"
    yield from _nearly_tied(dataset, cells, settings)
    yield from _assisted(dataset, cells, people_named(dataset, settings.reference))
    yield from left_out(dataset, settings)
    yield from dataset.extra.get("left_out", [])
    titles = {cell.criterion: dataset.called(cell.criterion) for cell in cells}
    if not settings.criteria and len(titles) > 1 and OVERALL not in titles:
        yield (
            f"no {OVERALL}: the criteria have different scales, and not all have a range;"
            f" {give_ends('NAME')}"
        )
    yield from _of_generators(dataset, titles, generators)
    yield from _of_raters(dataset, cells, settings, titles)


def _nearly_tied(
    dataset: Dataset, cells: Sequence[BoardCell], settings: BoardSettings
) -> Iterator[str]:
    """Warn if people's scores tie only up to rounding, so that the result depends on how floats are
    compared. For `overall`, which adds up floats, no warning is given.
    """
    own = [cell for cell in cells if cell.nearly_tied and cell.criteria == 1]
    if own:
        most = max(own, key=lambda cell: cell.nearly_tied)
        effect = "are ties; `exact` compares floats"
        if settings.exact:
            effect = "are no ties (`exact`)"
        yield (
            f"{where(dataset, most)}: {plural(most.nearly_tied, 'pair')} of people's scores of one"
            f" source differ only by rounding, like -25.2 and -25.200000000000003, and {effect}"
        )


def _scored_unlike(cell: BoardCell) -> bool:
    """Whether raters scored different sets of the outputs that people rated."""
    missing = np.isnan(cell.scores[:, cell.rated])
    return bool((missing != missing[:1]).any())


def _of_generators(
    dataset: Dataset, titles: Mapping[str, str], generators: pd.DataFrame
) -> Iterator[str]:
    mixed = set()
    if len(generators):
        counts = generators.groupby(["criterion", "language", "by"])["sources"].nunique()
        mixed = {titles[criterion] for criterion, _, _ in counts.index[counts > 1]}
    if mixed:
        yield (
            f"{', '.join(sorted(mixed))}: generators were scored on different numbers of sources,"
            " so their means cover different sources"
        )
    everyone = {each.generator for each in dataset.outputs.values()}
    if unranked := sorted(everyone - {*generators["generator"]}):
        warning = (
            f"{', '.join(unranked)}: no rank, since neither people nor a rater that ranks"
            " generators scored any of the outputs"
        )
        if not any(source.references for source in dataset.sources.values()):
            warning += "; METAL's own metrics need references, which no source has"
        yield warning


def _of_raters(
    dataset: Dataset,
    cells: Sequence[BoardCell],
    settings: BoardSettings,
    titles: Mapping[str, str],
) -> Iterator[str]:
    criteria_of: dict[str, dict[str, None]] = {}
    for cell in cells:
        for board_rater in cell.raters:
            criteria_of.setdefault(board_rater.name, {})[titles[cell.criterion]] = None
    main = titles[main_criterion([cell.criterion for cell in ranked_cells(cells)])]
    for name, scored in criteria_of.items():
        if main not in scored:
            yield (
                f"{name} is not in the first ranking, on {main}: it is ranked on"
                f" {', '.join(scored)} only"
            )
    for name in sorted({*(settings.raters or dataset.raters)} & dataset.raters.keys()):
        rater = dataset.raters[name]
        asked_again = "repeats" in rater.about
        if rater.kind != "human" and not asked_again and name not in criteria_of:
            yield (
                f"{name} scored no output and criterion that the people rated; it is not on the"
                " board"
            )
