"""Forms for Mechanical Turk: the input CSV and the page layout of a project for each language, with
instructions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from metal.building.forms import guidelines, sheet
from metal.building.tasks import Answer, Assignment
from metal.data.escaping import FORMULAS, csv_text, environment
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.errors import DataError

HIT_LIMIT = 65_535  # bytes of layout and texts together that Mechanical Turk takes for one HIT
ANSWER, AT_ONCE = "Answer.", "Answer.taskAnswers"


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """tasks-LANG.csv and layout-LANG.html for each language, README.txt, and the guidelines as a
    page.

    Each task is a HIT. Workers answer instead of the people named in the assignments.
    """
    groups = sheet.by_language(assignments)
    import pandas as pd

    batches = [_batch(language, group) for language, group in groups.items()]
    for batch in batches:
        # a cell has no formula
        table = csv_text(pd.DataFrame(batch["rows"], dtype=object), guard=False)
        yield f"tasks-{batch['language']}.csv", table.encode()
        yield f"layout-{batch['language']}.html", batch["layout"].encode()
    if batches:
        first = next(iter(groups.values()))[0]
        described = {"batches": batches, "language_name": language_name, "limit": HIT_LIMIT}
        described |= {"taken_in": first.template.taken_in}
        yield (
            "README.txt",
            environment("metal.building.forms", _plain)
            .get_template("mturk_readme.txt")
            .render(described)
            .encode(),
        )
        yield "guidelines.html", guidelines.as_html(first.rubrics, first.template).encode()


def _batch(language: str, assignments: Sequence[Assignment]) -> dict[str, Any]:
    """The HITs of a language: the rows of the CSV, how many people rate each task, and the layout
    into which the rows are inserted.

    too_long: the tasks whose texts do not fit into a HIT.
    """
    people = Counter(task.task for assignment in assignments for task in assignment.tasks)
    rubrics, template = assignments[0].rubrics, assignments[0].template
    source, output = sheet.sides(language)
    variables = {
        "asked": [(sheet.column_of(name), rubric) for name, rubric in rubrics.items()],
        "source_side": source,
        "output_side": output,
        "template": template,
        "variable": lambda column: Markup(f"${{{column}}}"),  # noqa: S704  a name of ours
    }
    page = environment("metal.building.forms", _markup).get_template("mturk.html")
    layout = page.render(guidelines.content(rubrics, template) | variables)
    rows = [
        {column: _cell(text) for column, text in row.items()}
        for row in sheet.crowd_rows(assignments)
    ]
    room = HIT_LIMIT - len(layout.encode())
    return {
        "language": language,
        "rows": rows,
        "people": Counter(people.values()).most_common(1)[0][0],
        "layout": layout,
        "too_long": [
            row["task"] for row in rows if sum(len(cell.encode()) for cell in row.values()) > room
        ],
    }


def _cell(text: str) -> str:
    """A text as HTML on one line, as Mechanical Turk inserts it into the page."""
    line = str(_markup(text)).replace("\n", "<br>")
    return FORMULAS.sub(lambda signs: "".join(f"&#{ord(sign)};" for sign in signs[0]), line)


def _markup(value: Any) -> Any:
    """The value, escaped. Characters outside the BMP, which an upload must not contain, and `${`,
    which starts a variable, become character references.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = str(escape(sheet.printable(value))).replace("${", "&#36;{")
    return Markup("".join(char if ord(char) <= 0xFFFF else f"&#{ord(char)};" for char in text))  # noqa: S704


def _plain(value: Any) -> Any:
    return Markup(sheet.printable(value)) if isinstance(value, str) else value  # noqa: S704  README.txt is not HTML


# ---------------------------------------------------------------- reading


def recognises(name: str, content: bytes) -> bool:
    """Whether this is the table of results of a batch on Mechanical Turk."""
    head = content[:4096].replace(b"\0", b"")
    return sheet.is_csv(name) and b"AssignmentId" in head and b"WorkerId" in head


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """The answers of a batch's results, without rejected assignments.

    An answer is in the column `Answer.CRITERION`, or is the one column `Answer.CRITERION.VALUE`
    that is true, or is in the JSON of `Answer.taskAnswers`. The rater is `mturk:` and the worker's
    id; seconds are WorkTimeInSeconds. Raises DataError for missing columns, rows without a task or
    worker, and unreadable JSON. Raises UnknownName for an answer with nearly the name of a
    criterion.
    """
    return answers_in(name, *_results(name, content), criteria)


def answers_in(
    name: str,
    head: Sequence[str],
    rows: Iterable[tuple[str, dict[str, str]]],
    criteria: Mapping[str, Criterion],
) -> list[Answer]:
    """The answers in rows of a table of results. A row is its location, for messages, and its cells
    by column. Errors: see `read`.
    """
    fields = list(
        dict.fromkeys(_named(column, criteria) for column in head if column.startswith(ANSWER))
    )
    sheet.check_criteria(name, fields, criteria)
    kept = [(location, row) for location, row in rows if not _is_rejected(row)]
    answers = [
        _at_once(location, row[AT_ONCE], criteria)
        if row.get(AT_ONCE)
        else _in_columns(row, criteria)
        for location, row in kept
    ]
    asked = [
        criterion
        for criterion in criteria
        if any(sheet.column_of(criterion) in answer for answer in answers)
    ]
    if answers and not asked:
        needed = sheet.listed([ANSWER + sheet.column_of(criterion) for criterion in criteria])
        raise DataError(
            name,
            "no answers to a criterion",
            f"Columns found: {sheet.listed(head)}; needed: {needed}",
        )
    return [
        _answer(location, row, answer, asked)
        for (location, row), answer in zip(kept, answers, strict=True)
    ]


def _answer(
    location: str, row: Mapping[str, str], answers: Mapping[str, str], asked: Sequence[str]
) -> Answer:
    for column in ("Input.task", "WorkerId"):
        if not row[column]:
            raise DataError(location, f"{column} is missing", "Download the results again")
    scores = {criterion: answers.get(sheet.column_of(criterion), "") for criterion in asked}
    seconds = sheet.seconds_in(row.get("WorkTimeInSeconds", ""))
    return Answer(
        row["Input.task"],
        f"mturk:{row['WorkerId']}",
        scores,
        answers.get(sheet.COMMENT, ""),
        location,
        seconds,
    )


def notes(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[str]:
    """A note on rejected assignments, which `read` leaves out."""
    rejected = sum(_is_rejected(row) for _, row in _results(name, content)[1])
    return [f"{name}: {rejected:,} rejected assignments left out"] if rejected else []


def _is_rejected(row: Mapping[str, str]) -> bool:
    return row.get("AssignmentStatus", "").casefold() == "rejected"


def _results(name: str, content: bytes) -> tuple[list[str], list[tuple[str, dict[str, str]]]]:
    """The columns, and each row as its location and its cells by column."""
    filled = sheet.filled_rows(sheet.csv_rows(name, content))
    head = filled[0][1] if filled else []
    for column in ("Input.task", "WorkerId"):
        if column not in head:
            raise DataError(
                name,
                f"no column {column!r}, so these are not the results of a batch",
                "Choose 'Download CSV' on the page of the batch's results",
            )
    rows = []
    for number, row in filled[1:]:
        cells = [*row, *[""] * (len(head) - len(row))]
        rows.append((f"{name} row {number}", dict(zip(head, cells, strict=False))))
    return head, rows


def _named(column: str, criteria: Iterable[str]) -> str:
    """The criterion that a column answers: `task_quality` for `Answer.task_quality` and
    `Answer.task_quality.2`.
    """
    rest = column.removeprefix(ANSWER)
    fields = [sheet.COMMENT, *map(sheet.column_of, criteria)]
    return (
        rest
        if rest in fields
        else next((field for field in fields if rest.startswith(f"{field}.")), rest)
    )


def _in_columns(row: Mapping[str, str], criteria: Mapping[str, Criterion]) -> dict[str, str]:
    """A worker's answers by field, from a table with a column for each field or for each choice."""
    answers: dict[str, str] = {}
    for column, cell in row.items():
        field = _named(column, criteria)
        if column == f"{ANSWER}{field}":
            answers[field] = cell
        elif column.startswith(f"{ANSWER}{field}."):
            choice = column.removeprefix(f"{ANSWER}{field}.") if cell.casefold() == "true" else ""
            answers[field] = ", ".join(filter(None, [answers.get(field, ""), choice]))
    return answers


def _at_once(location: str, cell: str, criteria: Mapping[str, Criterion]) -> dict[str, str]:
    """A worker's answers, by field, from `[{"task_quality": {"0": false, "2": true}, "comment":
    "..."}]`.
    """
    try:
        parsed = json.loads(cell)
        parts = parsed if isinstance(parsed, list) else [parsed]
        fields = {key: value for part in parts for key, value in part.items()}
    except (ValueError, AttributeError, RecursionError):
        raise DataError(
            location, f"{AT_ONCE} is not a list of objects in JSON", "Download the results again"
        ) from None
    sheet.check_criteria(location, list(fields), criteria)
    return {field: _chosen(value) for field, value in fields.items()}


def _chosen(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            sheet.printable(choice) for choice, chosen in value.items() if chosen is True
        )
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return sheet.printable(str(value)).strip()
