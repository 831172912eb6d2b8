"""Generators by people, by the best rater and by the ensemble, and where these disagree."""

from __future__ import annotations

from typing import Any

from metal.data.text import MINUS, UNDEFINED, known, name, plural, within
from metal.runs.board_run import BoardRun
from metal.show.charts.intervals import MOST_ROWS, Row, interval_dots
from metal.show.charts.ranks import Ranks, rank_lines
from metal.show.notes import places
from metal.show.view import Cell, Chart, TableView

PEOPLE = "people"
LOOKS = {"machine": (0, "machine"), "human": (2, "human writing")}


def generator_table(run: BoardRun, criterion: str, language: str, key: str = "generators") -> TableView:
    """A generator a row: rank, mean score with interval, and cluster by each that ranks them."""
    found = _ranked(run, criterion, language)
    order: dict[str, None] = {}
    for ranked in found.values():
        order |= dict.fromkeys(ranked)
    rows = []
    for generator in order:
        human = any(ranked[generator]["human"] for ranked in found.values() if generator in ranked)
        placed = [cell for ranked in found.values() for cell in _placed(ranked.get(generator))]
        rows.append((Cell(name(generator), "human writing" if human else ""), *placed))
    columns = [head for by in found for head in (f"by {name(by)}", "cluster")]
    blank = any(len(ranked) < len(order) for ranked in found.values())
    notes = ["Rank; below it the mean score with its 95% interval by source, on the scale of whoever ranks."]
    notes += ["A dash: not scored, or not rated."] if blank else []
    return TableView(
        key,
        f"Generators: {run.where(criterion, language)}",
        ("generator", *columns),
        tuple(rows),
        "generators",
        run.signature_of("generators"),
        notes=tuple(notes),
    )


def _ranked(run: BoardRun, criterion: str, language: str) -> dict[str, dict[str, dict[str, Any]]]:
    """by -> generator -> row, in the order of ranks."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in run.records("generators", criterion=criterion, language=language):
        found.setdefault(row["by"], {})[row["generator"]] = row
    return found


def _placed(row: dict[str, Any] | None) -> tuple[Cell, Cell]:
    if row is None:
        return Cell(UNDEFINED), Cell("")
    cluster = f"{int(row['cluster'])}" if known(row["cluster"]) else UNDEFINED
    ends = f" [{score(row['score_low'])}, {score(row['score_high'])}]" if known(row["score_low"]) else ""
    return Cell(f"{int(row['rank'])}", score(row["score"]) + ends), Cell(cluster)


def generator_charts(run: BoardRun) -> list[Chart]:
    """Where the rankings go apart, and what people give with intervals."""
    found = _ranked(run, run.main, run.language)
    return [chart for chart in (_lines(run, found), _dots(run, found.get(PEOPLE, {}))) if chart]


def _lines(run: BoardRun, found: dict[str, dict[str, dict[str, Any]]]) -> Chart | None:
    """Ranks among the generators that everybody ranked; None where these are too few."""
    if len(found) < 2:
        return None
    first, *rest = found.values()
    shared = [one for one in first if all(one in ranked for ranked in rest)]
    if len(shared) < 2:
        return None
    # Each ranking again among these alone, so that nobody moves because others are missing.
    ranks = {by: [one for one in ranked if one in shared] for by, ranked in found.items()}
    people = frozenset(one for one in shared if any(ranked[one]["human"] for ranked in found.values()))
    shown = Ranks({by: {one: place for place, one in enumerate(order, 1)} for by, order in ranks.items()}, people)
    title = f"Where rankings disagree: {run.where(run.main, run.language)}"
    missing = [one for one in dict.fromkeys(key for ranked in found.values() for key in ranked) if one not in shared]
    notes = []
    if missing:
        named = places([within(one) for one in missing])
        notes.append(f"Ranks among the {len(shared)} generators that all of these ranked; without {named}.")
    return Chart("generators_ranks", title, shown.words(), rank_lines(shown), _numbers(shown, title), tuple(notes))


def _numbers(shown: Ranks, title: str) -> TableView:
    rows = tuple((Cell(name(one)), *(Cell(str(ranks[one])) for ranks in shown.by.values())) for one in shown.generators)
    return TableView(
        "generators_ranks_numbers", title, ("generator", *(f"by {name(by)}" for by in shown.by)), rows, "generators"
    )


def _dots(run: BoardRun, ranked: dict[str, dict[str, Any]]) -> Chart | None:
    if not ranked:
        return None
    rows = [
        Row(
            one,
            row["score"],
            row["score_low"],
            row["score_high"],
            "human" if row["human"] else "machine",
            int(row["cluster"]) if known(row["cluster"]) else None,
        )
        for one, row in ranked.items()
    ]
    title = f"What people give: {run.where(run.main, run.language)}"
    best, last = rows[0], rows[-1]
    alt = (
        f"Dots with 95% intervals, the mean score that people give to each of {plural(len(rows), 'generator')}, best "
        f"first: from {within(best.label)} {score(best.value)} to {within(last.label)} {score(last.value)}."
    )
    numbers = TableView(
        "generators_people_numbers",
        title,
        ("generator", "cluster", "mean score"),
        tuple(
            (
                Cell(name(row.label)),
                Cell(str(row.group) if row.group is not None else UNDEFINED),
                Cell(score(row.value), f"[{score(row.low)}, {score(row.high)}]" if known(row.low) else ""),
            )
            for row in rows
        ),
        "generators",
    )
    looks = LOOKS if any(row.look == "human" for row in rows) else {"machine": (0, "")}
    picture = interval_dots(rows, looks, form=score, group="cluster")
    notes = (f"The first {MOST_ROWS} of {len(rows)}; all are in the table.",) if len(rows) > MOST_ROWS else ()
    return Chart("generators_people", title, alt, picture, numbers, notes)


def further_generators(run: BoardRun) -> list[tuple[str, TableView]]:
    """Every other criterion and language: who is first there, and the table."""
    found = []
    for place, (criterion, language) in enumerate(run.cells):
        ranked = _ranked(run, criterion, language)
        if (criterion, language) == (run.main, run.language) or not ranked:
            continue
        best = next(iter(next(iter(ranked.values()))))
        table = generator_table(run, criterion, language, f"generators_{place + 1}")
        found.append((f"{run.where(criterion, language)}: {within(best)}", table))
    return found


def score(value: Any) -> str:
    """A mean on any scale, four digits."""
    if not known(value):
        return UNDEFINED
    text = f"{value:.4g}"
    return ("0" if float(text) == 0 else text).replace("-", MINUS)
