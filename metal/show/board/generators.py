"""Generators by people, by the best rater and by the ensemble, and where these disagree."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, interval, name, plural, score, within
from metal.runs.board_run import BoardRun
from metal.show.charts.ranks import Ranks, rank_lines
from metal.show.dots import generator_dots, scored
from metal.show.notes import places
from metal.show.view import Cell, Chart, TableView

PEOPLE = "people"
Ranked = dict[str, Any]  # a row of the table `generators`


def generator_table(run: BoardRun, criterion: str, language: str, key: str = "generators") -> TableView:
    """A generator a row: rank, mean score with interval, and cluster by each that ranks them."""
    rankings = _rankings(run, criterion, language)
    generators = list(dict.fromkeys(generator for ranked in rankings.values() for generator in ranked))
    rows = []
    for generator in generators:
        human = any(ranked[generator]["human"] for ranked in rankings.values() if generator in ranked)
        placed = [cell for ranked in rankings.values() for cell in _placed(ranked.get(generator))]
        rows.append((Cell(name(generator), "human writing" if human else ""), *placed))
    columns = ("generator", *(head for by in rankings for head in (f"by {name(by)}", "cluster")))
    blank = any(len(ranked) < len(generators) for ranked in rankings.values())
    notes = ["Rank; below it the mean score with its 95% interval by source, on the scale of whoever ranks."]
    notes += ["A dash: not scored, or not rated."] if blank else []
    title = f"Generators: {run.where(criterion, language)}"
    return TableView.of(run, "generators", title, columns, rows, name=key, notes=notes)


def _rankings(run: BoardRun, criterion: str, language: str) -> dict[str, dict[str, Ranked]]:
    """by -> generator -> row, in the order of ranks."""
    rankings: dict[str, dict[str, Ranked]] = {}
    for row in run.records("generators", criterion=criterion, language=language):
        rankings.setdefault(row["by"], {})[row["generator"]] = row
    return rankings


def _placed(row: Ranked | None) -> tuple[Cell, Cell]:
    if row is None:
        return Cell(UNDEFINED), Cell("")
    below = f"{score(row['score'])} {interval(row['score_low'], row['score_high'], score)}"
    return Cell(count(row["rank"]), below.strip()), Cell(count(row["cluster"]))


def generator_charts(run: BoardRun) -> list[Chart]:
    """Where the rankings go apart, and what people give with intervals."""
    rankings = _rankings(run, run.main, run.language)
    return [chart for chart in (_lines(run, rankings), _dots(run, rankings.get(PEOPLE, {}))) if chart]


def _lines(run: BoardRun, rankings: dict[str, dict[str, Ranked]]) -> Chart | None:
    """Ranks among the generators that everybody ranked; None where these are too few."""
    if len(rankings) < 2:
        return None
    first, *rest = rankings.values()
    shared = [generator for generator in first if all(generator in ranked for ranked in rest)]
    if len(shared) < 2:
        return None
    # Each ranking again among these alone, so that nobody moves because others are missing.
    orders = {by: [generator for generator in ranked if generator in shared] for by, ranked in rankings.items()}
    people = frozenset(
        generator for generator in shared if any(ranked[generator]["human"] for ranked in rankings.values())
    )
    shown = Ranks(
        {by: {generator: place for place, generator in enumerate(order, 1)} for by, order in orders.items()}, people
    )
    title = f"Where rankings disagree: {run.where(run.main, run.language)}"
    missing = [key for key in dict.fromkeys(key for ranked in rankings.values() for key in ranked) if key not in shared]
    named = places([within(generator) for generator in missing])
    notes = (f"Ranks among the {len(shared)} generators that all of these ranked; without {named}.",) if missing else ()
    return Chart("generators_ranks", title, shown.words(), rank_lines(shown), _numbers(shown, title), notes)


def _numbers(shown: Ranks, title: str) -> TableView:
    columns = ("generator", *(f"by {name(by)}" for by in shown.by))
    rows = tuple(
        (Cell(name(generator)), *(Cell(str(ranks[generator])) for ranks in shown.by.values()))
        for generator in shown.generators
    )
    return TableView("generators_ranks_numbers", title, columns, rows, "generators")


def _dots(run: BoardRun, ranked: dict[str, Ranked]) -> Chart | None:
    if not ranked:
        return None
    rows = [scored(generator, row) for generator, row in ranked.items()]
    best, last = rows[0], rows[-1]
    alt = (
        f"Dots with 95% intervals, the mean score that people give to each of {plural(len(rows), 'generator')}, best "
        f"first: from {within(best.label)} {score(best.value)} to {within(last.label)} {score(last.value)}."
    )
    return generator_dots(
        "generators_people",
        f"What people give: {run.where(run.main, run.language)}",
        alt,
        rows,
        value="mean score",
        source="generators",
        form=score,
    )


def further_generators(run: BoardRun) -> list[tuple[str, TableView]]:
    """Every other criterion and language: who is first there, and the table."""
    further = []
    for place, cell in enumerate(run.cells[1:], 2):
        if rankings := _rankings(run, *cell):
            best = next(iter(next(iter(rankings.values()))))
            further.append((f"{run.where(*cell)}: {within(best)}", generator_table(run, *cell, f"generators_{place}")))
    return further
