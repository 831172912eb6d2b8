"""What leaving noisy people out would change, and how everybody stood after each round."""

from __future__ import annotations

from metal.data.text import UNDEFINED, count, figure, name
from metal.genie.gold_questions import SIDES
from metal.show.exclusions import exclusions_table
from metal.show.monitor.run import MonitorRun
from metal.show.sections import Section
from metal.show.view import Cell, TableView

FIGURES = {"percent_agreement": "agreement", "fleiss_kappa": "Fleiss' kappa", "alpha": "alpha"}


def agreement_section(run: MonitorRun) -> Section | None:
    """Agreement of the people, with all of them and without the noisy ones."""
    found = run.records("agreement")
    if not found:
        return None
    after = {(row["language"], row["criterion"]): row for row in found if row["without_noisy"]}
    rows = []
    for row in found:
        if row["without_noisy"]:
            continue
        left = after.get((row["language"], row["criterion"]))
        cells = [Cell(row["language"]), Cell(run.criterion(row["criterion"]))]
        cells += [Cell(count(row["people"])), Cell(count(row["items"]), _then(count(left["items"]) if left else ""))]
        cells += [Cell(figure(row[key]), _then(figure(left[key]) if left else "")) for key in FIGURES]
        rows.append(tuple(cells))
    words = ("Below each figure, what it is without noisy people.",) if after else ()
    columns = ("language", "", "people", "outputs", *FIGURES.values())
    table = TableView(
        "agreement",
        "Agreement of the people",
        columns,
        tuple(rows),
        "agreement",
        run.signature_of("agreement"),
        heads=2,
    )
    return Section("agreement", "Agreement", words, (), (table,))


def _then(text: str) -> str:
    return f"then {text}" if text else ""


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
    found = run.records("rounds")
    if not found:
        return None
    rounds = list(dict.fromkeys((row["round"], row["at"]) for row in found))
    there = {(row["round"], row["rater"]): row for row in found}
    rows = []
    for rater in dict.fromkeys(row["rater"] for row in found):
        cells = [Cell(name(rater))]
        for number, _ in rounds:
            row = there.get((number, rater))
            asked = sum(row[f"{side}_asked"] for side in SIDES) if row else 0
            right = sum(row[f"{side}_right"] for side in SIDES) if row else 0
            tests = f"{int(right):,} of {int(asked):,} right" if asked else ""
            cells.append(Cell(count(row["ratings"]), tests) if row else Cell(UNDEFINED))
        rows.append(tuple(cells))
    columns = ("rater", *(f"{number}: {str(at)[:16].replace('T', ' ')}" for number, at in rounds))
    table = TableView("rounds", "Ratings after each import", columns, tuple(rows), "rounds", run.signature_of("rounds"))
    words = ("What each import brought, added up; times are UTC. annotation/answers.jsonl has every answer.",)
    return Section("history", "History", words, (), (table,))
