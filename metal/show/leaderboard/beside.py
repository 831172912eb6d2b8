"""Automatic metrics and LLM judges beside people, on the same outputs."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, coverage, known, name, score, share, within
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.notes import places
from metal.show.view import Cell, TableView

MOST_RATERS = 40


def beside_table(run: LeaderboardRun) -> TableView | None:
    """The main ranking with what each metric and judge gives; None where there is none."""
    in_language = run.records("beside", language=run.language)
    rows = [row for row in in_language if row["criterion"] == run.main or row["scale"] == "own"]
    columns = list(dict.fromkeys((row["rater"], row["criterion"]) for row in rows))
    if not columns:
        return None
    values = {(row["generator"], row["rater"], row["criterion"]): row for row in rows}
    shown = columns[:MOST_RATERS]
    lines = (
        (
            Cell(name(row["generator"])),
            Cell(share(row["score"])),
            *(_mean(values.get((row["generator"], *column))) for column in shown),
        )
        for row in run.ranking(run.main, run.language)
    )
    raters = [rater for rater, _ in columns]
    heads = [name(rater if raters.count(rater) == 1 else f"{rater}, {criterion}") for rater, criterion in shown]
    notes = [
        "Means over the outputs that people rated. Metrics have scales of their own; of each, higher is better. Judges "
        "are on the people's scale, from 0 to 1."
    ]
    if any(row["coverage"] < 1 for row in rows):
        notes.append("A percentage: of these outputs it scored so many only, so its mean is of others.")
    if elsewhere := [rater for rater in dict.fromkeys(row["rater"] for row in in_language) if rater not in raters]:
        named = places([within(rater) for rater in elsewhere])
        notes.append(f"Not asked for all criteria, and so only in the CSV: {named}.")
    if len(columns) > MOST_RATERS:
        notes.append(f"The first {MOST_RATERS} of {len(columns)}; the CSV has all.")
    title = f"Metrics and judges beside people: {run.where(run.main, run.language)}"
    return TableView.of(run, "beside", title, ("generator", "people", *heads), lines, notes=notes)


def _mean(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(UNDEFINED)
    form = share if row["scale"] == "share" else score
    return Cell(
        form(row["score"]), "" if row["coverage"] == 1 or not known(row["score"]) else coverage(row["coverage"])
    )
