"""One CSV file per person, to fill in with any spreadsheet, and the guidelines as an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metal.building.forms import crowd_csv, guidelines, mturk
from metal.building.forms.sheet import about, answers_from, csv_rows, header, is_csv
from metal.building.tasks import Answer, Assignment
from metal.data.escaping import csv_text
from metal.data.records import Criterion


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """guidelines.html, then RATER.csv for each person, with a row for each task and empty columns
    for answers.
    """
    for number, assignment in enumerate(assignments):
        if number == 0:
            yield (
                "guidelines.html",
                guidelines.as_html(assignment.rubrics, assignment.template).encode(),
            )
        yield f"{assignment.rater}.csv", _content(assignment)


def _content(assignment: Assignment) -> bytes:
    """The CSV in UTF-8 with a byte order mark; without it, Excel assumes another encoding."""
    import pandas as pd

    blanks = [""] * (len(assignment.rubrics) + 1)
    rows = [
        header(assignment.rubrics, assignment.template),
        *([*about(assignment, task), *blanks] for task in assignment.tasks),
    ]
    text = csv_text(pd.DataFrame(rows, dtype=object), header=False, ends="\r\n")
    return text.encode("utf-8-sig")


def recognises(name: str, content: bytes) -> bool:
    """Whether this is a CSV that belongs to no other form."""
    return (
        is_csv(name)
        and not mturk.recognises(name, content)
        and not crowd_csv.recognises(name, content)
    )


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """The answers of one filled-in file. Errors: see `sheet.answers_from`."""
    return answers_from(name, csv_rows(name, content), criteria)
