"""The whole board: a dataset and settings in, tables out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cell import BoardCell
from metal.boards.cells import ALL_LANGUAGES, OVERALL, board_cells, main_criterion
from metal.boards.crowd import BoardFigures, Figures, crowd
from metal.boards.ensemble import GROUP as ENSEMBLES
from metal.boards.ensemble import (
    NAME,
    BoardEnsemble,
    board_ensemble,
    ensemble_row,
    member_rows,
)
from metal.boards.generators import generator_rows
from metal.boards.lint import lint
from metal.boards.overrating import families, human_generators, overrating_rows, self_preference_rows
from metal.boards.ranking import Ranked, ceiling, comparisons, ranking
from metal.boards.settings import BoardSettings
from metal.boards.signature import ensemble_base, ensemble_signature, signature
from metal.data.dataset import Dataset, people_named
from metal.errors import Undefined, UsageError
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import Codes

PEOPLE = "people"  # the reference, as those by whom generators are ranked

TABLES: Mapping[str, tuple[str, ...]] = {
    "raters": ("language", "criterion", "rank", "cluster", "rater", "kind", "group", "pearson"),
    "generators": ("language", "criterion", "by", "rank", "cluster", "generator", "score"),
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

    tables: name -> rows, each with its signature; the columns listed in TABLES are there even without rows. With
    other people or LLM judges on the board also those of metal.boards.crowd. main: the
    criterion shown first. ensembles: by signature, everything needed to apply them. people: the reference.
    """

    data: str
    settings: BoardSettings
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
    progress: Callable[[int, int], None] | None = None,
) -> Board:
    """Rank a dataset's raters by the reference people, and its generators, on every criterion and in every language.

    stored: the ensembles of earlier boards (`Board.ensembles`): one that scores alike has its signature.
    progress: called with cells done and cells in all. Raises UsageError where the people rated nothing, UnknownName
    for names that do not occur.
    """
    cells = board_cells(dataset, settings)
    _check_names(cells)
    bootstrap = SourceBootstrap(settings.resamples, settings.seed)
    main = main_criterion([cell.criterion for cell in cells])
    written, of_family = human_generators(dataset, settings), families(dataset, settings)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    notes, ensembles = [], {}
    figures: list[Figures] = []
    for done, cell in enumerate(cells):
        if progress:
            progress(done, len(cells))
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
            notes += [(cell, f"{dropped}, and is no candidate for the ensemble") for dropped in ensemble.dropped]
        shown = cell.with_rater(ensemble.rater, ensemble.unseen) if ensemble else cell
        ranked = ranking(shown, bootstrap, settings.permutations)
        rows["raters"] += ranked.rows
        rows["comparisons"] += comparisons(cell, ranked)
        rows["within_generators"] += ranked.within
        figures.append(ranked.figures)
        rows["generators"] += _generators(cell, ranked, ensemble, bootstrap, settings, written)
        rated = cell.with_rater(replace(ensemble.rater, name=_named(ensemble)), ensemble.scores) if ensemble else cell
        rows["overrating"] += overrating_rows(rated, written)
        rows["self_preference"] += self_preference_rows(cell, of_family)
        rows["people"].append(_people(cell, dataset, settings))
    tables = {name: _table(name, records, dataset, settings) for name, records in rows.items()}
    tables |= _crowd(dataset, settings, BoardFigures(cells, figures, bootstrap))
    if progress:
        progress(len(cells), len(cells))
    return Board(
        dataset.identity,
        settings,
        main,
        people_named(dataset, settings.reference),
        tuple(dict.fromkeys(row["rater"] for row in rows["raters"])),
        tables,
        ensembles,
        (
            *_mixed_groups(dataset, settings),
            *_unlike(cells),
            *_without_overall(dataset, cells, settings),
            *_on_different_sources(tables["generators"]),
            *_absent(dataset, cells, settings),
            *lint(dataset, cells),
            *_noted(notes, cells),
        ),
        signature(dataset.identity, settings),
    )


def _check_names(cells: Sequence[BoardCell]) -> None:
    """No rater may pass for the reference people or for the board's own ensemble. Raises UsageError."""
    for rater in dict.fromkeys(rater.name for cell in cells for rater in cell.raters):
        if rater in (PEOPLE, NAME) or rater.startswith("ensemble of "):
            raise UsageError(f"rater {rater!r}: a name the board itself uses; rename it, or leave it out with `raters`")


def _generators(
    cell: BoardCell,
    ranked: Ranked,
    ensemble: BoardEnsemble | None,
    bootstrap: SourceBootstrap,
    settings: BoardSettings,
    written: tuple[str, ...],
) -> list[dict[str, Any]]:
    """Generators by people, the best rater, the best metric, the best that scored every generator, and the ensemble."""
    by = {PEOPLE: cell.human}
    defined = [
        row for row in ranked.rows if row["rank"] and row["kind"] in ("metric", "llm") and row["group"] != ENSEMBLES
    ]
    metrics = [row for row in defined if row["kind"] == "metric"]
    everywhere = [row for row in defined if _scored_all(cell, row["rater"])]
    for row in [*defined[:1], *metrics[:1], *everywhere[:1]]:
        by[row["rater"]] = cell.of(row["rater"])
    if ensemble:
        by[_named(ensemble)] = ensemble.scores
    return [
        row
        for name, scores in by.items()
        for row in generator_rows(cell, name, scores, bootstrap, settings.permutations, written)
    ]


def _crowd(dataset: Dataset, settings: BoardSettings, figures: BoardFigures) -> dict[str, pd.DataFrame]:
    """The tables of `crowd`, for the people and judges on the board; none where there are neither."""
    raters = {rater.name for cell in figures.cells for rater in cell.raters if rater.kind in ("human", "llm")}
    if not raters:
        return {}
    # What all of the board's raters scored in common is not what all of these did.
    crowd_settings = replace(settings, raters=tuple(sorted(raters)))
    return crowd(dataset, crowd_settings, computed=None if settings.common else figures).tables


def _scored_all(cell: BoardCell, rater: str) -> bool:
    scores = cell.of(rater)
    return len(set(cell.generator[scores == scores].tolist())) == len(cell.generators)


def _named(ensemble: BoardEnsemble) -> str:
    """The ensemble fitted to all generators, beside the one on the board, which has not seen those it scores."""
    return f"ensemble of {len(ensemble.members)}"


def _people(cell: BoardCell, dataset: Dataset, settings: BoardSettings) -> dict[str, Any]:
    one_against_others = ceiling(cell)
    return {
        "language": cell.language,
        "criterion": cell.criterion,
        "people": len(people_named(dataset, settings.reference)),
        "outputs": int(cell.rated.sum()),
        "criteria": cell.criteria,
        "scale_low": cell.scale.low,
        "scale_high": cell.scale.high,
        "one_against_others": one_against_others.value,
        "undefined": f"one_against_others: {one_against_others.reason}" if one_against_others.reason else "",
    }


def ensemble_record(dataset: Dataset, settings: BoardSettings, ensemble: BoardEnsemble) -> dict[str, Any]:
    """Everything needed to score other outputs with an ensemble, and to say where it comes from, as plain values."""
    place = {metric: index for index, metric in enumerate(ensemble.candidates)}
    about = {name: rater.about for name, rater in dataset.raters.items()}  # a group of people is not among them
    return {
        "long": signature(dataset.identity, settings, crit=ensemble.criterion, lang=ensemble.language or "all"),
        "board": dataset.card.name,
        "version": settings.version,
        "criterion": ensemble.criterion,
        "language": ensemble.language,
        "intercept": ensemble.ensemble.intercept,
        "alpha": ensemble.alpha,
        "alpha_intervals": [list(interval) for interval in ensemble.intervals],
        "pearson_unseen": ensemble.left_out if ensemble.left_out == ensemble.left_out else None,
        "members": [
            {
                "rater": metric,
                "coefficient": float(ensemble.ensemble.coefficients[place[metric]]),
                "mean": float(ensemble.ensemble.mean[place[metric]]),
                "spread": float(ensemble.ensemble.spread[place[metric]]),
                "signature": str(about.get(metric, {}).get("signature", "")),
                "negated": bool(about.get(metric, {}).get("negated", False)),
            }
            for metric in ensemble.members
        ],
    }


def _table(name: str, records: list[dict[str, Any]], dataset: Dataset, settings: BoardSettings) -> pd.DataFrame:
    """The records as a table, each with the signature of its figures; the columns are there without records too."""
    if not records:
        return pd.DataFrame(columns=[*TABLES[name], "signature"])
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
    table = pd.DataFrame(records)
    empty = [str(column) for column in table if table[column].isna().all()]
    table = table.astype(dict.fromkeys(empty, np.float64))  # undefined everywhere: still a column of numbers
    first = [column for column in TABLES[name] if column in table]
    return table[[*first, *(column for column in table if column not in first)]]


def _where(cell: BoardCell) -> str:
    return cell.criterion if cell.language == ALL_LANGUAGES else f"{cell.language} {cell.criterion}"


def _noted(notes: Sequence[tuple[BoardCell, str]], cells: Sequence[BoardCell]) -> list[str]:
    """Notes about cells, each said once with all the cells it is about."""
    about: dict[str, list[BoardCell]] = {}
    for cell, note in notes:
        about.setdefault(note, []).append(cell)
    return [
        f"{'every criterion and language' if len(where) == len(cells) > 1 else ', '.join(map(_where, where))}: {note}"
        for note, where in about.items()
    ]


def _unlike(cells: Sequence[BoardCell]) -> list[str]:
    """Criteria on which raters scored different outputs, so that their figures are about different ones."""
    unlike = [cell for cell in cells if _answered_unlike(np.isnan(cell.scores[:, cell.rated]))]
    if not unlike:
        return []
    where = "every criterion" if len(unlike) == len(cells) else ", ".join(map(_where, unlike))
    return [f"{where}: raters scored different outputs (see coverage); `common=True` compares them on those all scored"]


def _answered_unlike(missing: Codes) -> bool:
    return bool((missing != missing[:1]).any())


def _without_overall(dataset: Dataset, cells: Sequence[BoardCell], settings: BoardSettings) -> list[str]:
    """Why there is no overall where there are several criteria."""
    names = list(dict.fromkeys(cell.criterion for cell in cells))
    if settings.criteria or len(names) < 2 or OVERALL in names:
        return []
    return [
        f"no {OVERALL}: the criteria have different scales, and not all have a range; declare range = [LOW, HIGH] in "
        "dataset.toml"
    ]


def _on_different_sources(generators: pd.DataFrame) -> list[str]:
    """Rankings whose generators were scored on different sources, so that their means are about different ones."""
    if generators.empty:
        return []
    counts: Any = generators.groupby(["criterion", "language", "by"])["sources"].nunique()
    mixed = sorted({criterion for (criterion, _, _), count in counts.items() if count > 1})
    if not mixed:
        return []
    return [
        f"{', '.join(mixed)}: generators were scored on different numbers of sources; their means are not of the same"
    ]


def _mixed_groups(dataset: Dataset, settings: BoardSettings) -> list[str]:
    groups = sorted({dataset.raters[name].group for name in people_named(dataset, settings.reference)})
    if len(groups) < 2:
        return []
    named = ", ".join(group or "(none)" for group in groups)
    return [f'people of several groups ({named}) are the reference together; `reference="group=NAME"` takes one']


def _absent(dataset: Dataset, cells: list[BoardCell], settings: BoardSettings) -> list[str]:
    """Raters that are on no board though they were to be: they scored nothing that the reference people rated."""
    on_board = {rater.name for cell in cells for rater in cell.raters}
    missing = sorted(
        name
        for name, rater in dataset.raters.items()
        if rater.kind != "human"
        and name not in on_board
        and "repeats" not in rater.about
        and (not settings.raters or name in settings.raters)
    )
    return [f"{name} scored no output and criterion that the people rated; it is not on the board" for name in missing]
