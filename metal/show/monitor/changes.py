"""What leaving noisy people out would change, and how everybody stood after each round."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, name
from metal.genie.gold_questions import SIDES
from metal.runs.monitor_run import MonitorRun
from metal.show.exclusions import exclusions_table
from metal.show.sections import Section
from metal.show.view import Cell, TableView


def agreement_section(run: MonitorRun) -> Section | None:
    """Agreement of the people, with all of them and without the noisy ones."""
    records = run.records("agreement")
    if not records:
        return None
    columns = [column for column in run.columns("agreement") if column.shown]
    after = {(row["language"], row["criterion"]): row for row in records if row["without_noisy"]}
    rows = []
    for row in records:
        if row["without_noisy"]:
            continue
        left = after.get((row["language"], row["criterion"]))
        cells = [Cell(row["language"]), Cell(run.short(row["criterion"])), Cell(count(row["people"]))]
        cells.append(Cell(count(row["items"]), f"then {count(left['items'])}" if left else ""))
        cells += [Cell(column.text(row), f"then {column.text(left)}" if left else "") for column in columns]
        rows.append(cells)
    words = ("Below each figure, what it is without noisy people.",) if after else ()
    heads = ("language", "", "people", "outputs", *(column.title for column in columns))
    table = TableView.of(run, "agreement", "Agreement of the people", heads, rows, heads=2)
    return Section("agreement", "Agreement", words, (), (table,))


def exclusion_section(run: MonitorRun) -> Section | None:
    """Whom --exclude-noisy leaves out, and how many ratings that are."""
    table = exclusions_table(run)
    if not table:
        return None
    words = (
        "These ratings are still in the dataset. --exclude-noisy of audit, billboard, leaderboard, design and others "
        "leaves them out, counts them and names the people.",
    )
    return Section("exclusions", "Exclusions", words, (), (table,))


def history_section(run: MonitorRun) -> Section | None:
    """How many ratings everybody had after each import, and how they stood on the test questions."""
    records = run.records("rounds")
    if not records:
        return None
    rounds = dict.fromkeys((row["round"], row["at"]) for row in records)
    by_round = {(row["round"], row["rater"]): row for row in records}
    rows = [
        (Cell(name(rater)), *(_standing(by_round.get((number, rater))) for number, _ in rounds))
        for rater in dict.fromkeys(row["rater"] for row in records)
    ]
    columns = ("rater", *(f"{number}: {str(at)[:16].replace('T', ' ')}" for number, at in rounds))
    table = TableView.of(run, "rounds", "Ratings after each import", columns, rows)
    words = ("What each import brought, added up; times are UTC. annotation/answers.jsonl has every answer.",)
    return Section("history", "History", words, (), (table,))


def _standing(row: dict[str, Any] | None) -> Cell:
    """A rater's ratings after an import, and how many test answers were right."""
    if row is None:
        return Cell(UNDEFINED)
    right, asked = (sum(row[f"{side}_{what}"] for side in SIDES) for what in ("right", "asked"))
    return Cell(count(row["ratings"]), f"{count(right)} of {count(asked)} right" if asked else "")
