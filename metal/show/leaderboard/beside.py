"""Automatic metrics and LLM judges beside people, on the same outputs."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, known, name, percent, within
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.leaderboard.share import share
from metal.show.notes import places
from metal.show.view import Cell, TableView

MOST_RATERS = 40


def beside_table(run: LeaderboardRun) -> TableView | None:
    """The main ranking with what each metric and judge gives; None where there is none."""
    found = run.records("beside", language=run.language)
    rows = [row for row in found if row["criterion"] == run.main or row["scale"] == "own"]
    columns = list(dict.fromkeys((row["rater"], row["criterion"], row["kind"]) for row in rows))
    if not columns:
        return None
    values = {(row["generator"], row["rater"], row["criterion"]): row for row in rows}
    people = {row["generator"]: row["score"] for row in run.ranking(run.main, run.language)}
    shown = columns[:MOST_RATERS]
    lines = tuple(
        (
            Cell(name(generator)),
            Cell(share(score)),
            *(_mean(values.get((generator, rater, criterion))) for rater, criterion, _ in shown),
        )
        for generator, score in people.items()
    )
    raters = [rater for rater, _, _ in columns]
    heads = [name(rater if raters.count(rater) == 1 else f"{rater}, {criterion}") for rater, criterion, _ in shown]
    notes = [
        "Means over the outputs that people rated. Metrics have scales of their own; of each, higher is better. Judges "
        "are on the people's scale, from 0 to 1."
    ]
    if any(row["coverage"] < 1 for row in rows):
        notes.append("A percentage: of these outputs it scored so many only, so its mean is of others.")
    if elsewhere := [one for one in dict.fromkeys(row["rater"] for row in found) if one not in raters]:
        notes.append(
            f"Not asked for all criteria, and so only in the CSV: {places([within(one) for one in elsewhere])}."
        )
    if len(columns) > MOST_RATERS:
        notes.append(f"The first {MOST_RATERS} of {len(columns)}; the CSV has all.")
    title = f"Metrics and judges beside people: {run.where(run.main, run.language)}"
    return TableView(
        "beside",
        title,
        ("generator", "people", *heads),
        lines,
        "beside",
        run.signature_of("beside"),
        notes=tuple(notes),
    )


def _mean(row: dict[str, Any] | None) -> Cell:
    if row is None or not known(row["score"]):
        return Cell(UNDEFINED)
    text = share(row["score"]) if row["scale"] == "share" else f"{row['score']:.4g}"
    return Cell(text, "" if row["coverage"] == 1 else percent(min(row["coverage"], 0.99)))
