"""What `metal annotate import` shows: who answered, how far people agree, and where not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metal.show.terminal import console as show

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import pandas as pd

    from metal.building.answers import CheckedAnswers
    from metal.building.tasks import Assignment
    from metal.data.dataset import Dataset
    from metal.data.records import Output

SHOWN = 10


def counted(count: int, what: str) -> str:
    """`1 output`, `2 outputs`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def show_handed_out(assignments: Sequence[Assignment], questions: Sequence[Output]) -> None:
    """How many tasks go to whom, and what the test questions among them are judged by."""
    from metal.genie.test_questions import NEGATIVE, POSITIVE, tells

    rows = []
    for language in dict.fromkeys(assignment.language for assignment in assignments):
        mine = [assignment for assignment in assignments if assignment.language == language]
        loads = sorted({len(assignment.tasks) for assignment in mine})
        count = len({task.task for assignment in mine for task in assignment.tasks})
        names = f"{mine[0].rater} to {mine[-1].rater}" if len(mine) > 1 else mine[0].rater
        rows.append([language, f"{count:,}", names, " or ".join(map(str, loads))])
    asked = [rubric.criterion for rubric in assignments[0].rubrics.values()]
    title = f"Tasks for people: {', '.join(criterion.short for criterion in asked)}"
    show.table(title, ["", "tasks", "people", "each rates"], rows)
    if questions:
        by = {
            side: ", ".join(criterion.short for criterion in asked if tells(criterion, side)) or "nothing"
            for side in (POSITIVE, NEGATIVE)
        }
        show.say(
            f"{counted(len(questions), 'test question')} among them: positive ones tell by {by[POSITIVE]}, negative "
            f"ones by {by[NEGATIVE]} (of_source in dataset.toml)"
        )


def show_returned(returned: CheckedAnswers) -> None:
    """How many tasks each person answered, and what became of their answers."""
    from metal.building.store import ANSWERS, FOLDER

    names = sorted({*returned.answered, *returned.open})
    rows = [
        [
            name,
            *(f"{count:,}" for count in (returned.answered[name], returned.partly[name], returned.open.get(name, 0))),
        ]
        for name in names
    ]
    show.table("Tasks answered", ["person", "in these files", "in part", "still open"], rows)
    remarks = f"; {returned.remarks:,} with a comment, kept in {FOLDER}/{ANSWERS}" if returned.remarks else ""
    for count, what, then in (
        (returned.same, "rating", "there already"),
        (returned.replaced, "rating", "replaced"),
        (returned.blank, "task", f"without any score, passed over{remarks}"),
    ):
        if count:
            show.say(f"{counted(count, what)} {then}")


def show_tests(
    dataset: Dataset, questions: Mapping[str, Output], answers: pd.DataFrame, compared: Container[str]
) -> None:
    """How everybody did on the test questions so far, and who is noisy by them."""
    from metal.genie.monitoring import monitor
    from metal.genie.test_questions import SIDES

    found = monitor(answers, questions, dataset.criteria, dataset.raters, comparative=compared)
    counts = found.workers.groupby("rater")[[f"{side}_{figure}" for side in SIDES for figure in ("right", "asked")]]
    rows = [
        [str(name), *(f"{row[f'{side}_right']:,} of {row[f'{side}_asked']:,}" for side in SIDES)]
        for name, row in counts.sum().to_dict("index").items()
    ]
    show.table("Answers to test questions right", ["person", *SIDES], rows)
    for name, why in found.noisy.items():
        show.say(f"{name} is noisy: {'; '.join(why)}")
    if found.noisy:
        show.say("Their ratings are kept; --exclude-noisy leaves them out of an audit or a board.")


def show_agreement(dataset: Dataset) -> None:
    """Agreement of the people so far, a row a language and criterion."""
    from metal.auditing.cells import cells
    from metal.auditing.layouts import UNDEFINED, number
    from metal.auditing.people import QUICK, people_row
    from metal.auditing.settings import AuditSettings
    from metal.stats.bootstrap import SourceBootstrap

    rows = []
    if not any(rater.kind == "human" for rater in dataset.raters.values()):
        return
    for cell in cells(dataset, AuditSettings()):
        if not cell.people:
            continue
        row = people_row(cell, SourceBootstrap(1, 0), QUICK)
        figures = (row[name] for name in ("percent_agreement", "fleiss_kappa", "alpha"))
        shown = (UNDEFINED if value is None or value != value else number(value) for value in figures)
        rows.append([f"{cell.language} {cell.criterion.short}", f"{row['items']:,}", *shown])
    if rows:
        columns = ["", "outputs", "agreement", "Fleiss' kappa", "alpha"]
        show.table(
            "Agreement of the people so far",
            columns,
            rows,
            note="Of outputs that enough people rated; -: not defined yet.",
        )


def show_ambiguous(unclear: pd.DataFrame, dataset: Dataset, path: Path | None) -> None:
    """What everybody rated differently, and what can be done with it; path: where all of it was written, if it was."""
    if unclear.empty:
        return
    show.say(f"Rated differently by everybody, to be looked at again ({counted(len(unclear), 'time')}):")
    for one in unclear.head(SHOWN).itertuples():
        show.say(f"  {one.output} {dataset.criteria[str(one.criterion)].short}: {one.labels}")
    if path is None:
        return
    show.say(f"All are in {path}; others can rate them:", wrap=False)
    show.say(f"  metal annotate export DATASET --to html --only {path}", wrap=False)
