"""Rows of a sheet: clean cells, read CSV as other programs save it, and read answers from returned
rows.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from metal.building.tasks import METAL, TEXTS, Answer, Assignment, Task, TaskTemplate
from metal.data import languages
from metal.data.escaping import FORMULA_STARTS
from metal.data.grouping import grouped
from metal.data.languages import text_direction
from metal.data.records import Criterion
from metal.errors import DataError, UnknownName

ABOUT = ("task", "rater", "language", "title", "source", "output")
COMMENT = "comment"
# columns that no criterion can have, in any template
OURS = (*dict.fromkeys((*ABOUT, *TEXTS)), COMMENT)
# UTF-16 units in a cell of Excel; a longer one spills over into other rows when a CSV is opened
CELL_LIMIT = 32_767
CUT = "\n[… cut here: a spreadsheet cell cannot hold more of this text]"

_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Controls, lone surrogates and noncharacters: neither XML nor UTF-8 can hold all of them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def printable(text: str) -> str:
    r"""The text with \n as its only line break, and U+FFFD for characters that files cannot hold.

    Marks of writing direction stay, because people rate the text as the generator wrote it. Their
    effect ends with the cell or block.
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", _LINE_BREAKS.sub("\n", text))


def cut(text: str) -> str:
    """The printable text, cut with a visible mark if a spreadsheet cell cannot hold it."""
    text = printable(text)
    units = text.encode("utf-16-le")  # two bytes each
    if len(units) <= 2 * CELL_LIMIT:
        return text
    return (
        units[: 2 * CELL_LIMIT - len(CUT.encode("utf-16-le"))].decode("utf-16-le", "ignore") + CUT
    )


def by_language(assignments: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    """Group the assignments by language, in their order."""
    return grouped(assignments, lambda assignment: assignment.language)


def crowd_rows(assignments: Sequence[Assignment]) -> list[dict[str, str]]:
    """A row for each task of assignments in one language. Workers answer instead of the people
    named in the assignments.
    """
    template = assignments[0].template
    tasks = {task.task: task for assignment in assignments for task in assignment.tasks}
    return [
        {"task": task.task, "title": task.title, "source": task.source}
        | task.texts(template)
        | {"language": task.language, "direction": sides(task.language)[1][1]}
        for task in tasks.values()
    ]


def about(assignment: Assignment, task: Task) -> list[str]:
    """The cells under `about_columns`. They do not reveal which generator wrote the output."""
    cells = (task.task, assignment.rater, task.language, task.title, task.source)
    return list(map(cut, (*cells, *task.texts(assignment.template).values())))


def about_columns(template: TaskTemplate = METAL) -> tuple[str, ...]:
    """The columns before the criteria: ABOUT, with the template's texts in place of the output."""
    return (*ABOUT[:-1], *template.texts)


def column_of(criterion: str) -> str:
    """What a criterion's column is called: the criterion's name, changed only if another column has
    that name.
    """
    return f"{criterion} score" if criterion in OURS else criterion


def header(criteria: Iterable[str], template: TaskTemplate = METAL) -> list[str]:
    """The names of all columns of a sheet, in order."""
    return [*about_columns(template), *map(column_of, criteria), COMMENT]


def sides(language: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """(language, direction) of the source and of the output. The languages differ for a pair such
    as `zh-ar`.

    >>> sides("en-ar")
    (('en', 'ltr'), ('ar', 'rtl'))
    """
    source, output = languages.sides(language)
    return (source, text_direction(source)), (output, text_direction(output))


def answers_from(
    name: str, rows: Iterable[Sequence[str]], criteria: Mapping[str, Criterion]
) -> list[Answer]:
    """Answers from the rows of a sheet; the first row that is not blank is the header.

    A criterion without a column was not asked, so the answers have no score on it, not even a
    blank. Columns may be in any order, and other columns are allowed. Raises DataError for an empty
    sheet, missing or repeated columns, and rows without a task or a rater. Raises UnknownName for a
    column that must be a criterion but is not a criterion of the dataset.
    """
    filled = filled_rows(rows)
    if not filled:
        raise DataError(
            name,
            "the file is empty",
            f"Its first row must name the columns: {listed(header(criteria))}",
        )
    position_of = columns(name, list(map(unguarded, filled[0][1])), criteria)
    return answers_at(position_of, name, filled[1:], criteria)


def answers_at(
    position_of: Mapping[str, int],
    name: str,
    rows: Iterable[tuple[int, Sequence[str]]],
    criteria: Iterable[str],
    *,
    rater: str = "rater",
    prefix: str = "",
) -> list[Answer]:
    """The answers in numbered rows. position_of: the position of each column that matters. rater:
    the name of the column that names the rater.

    prefix: put before a rater's name that does not begin with it.
    """
    asked = [criterion for criterion in criteria if column_of(criterion) in position_of]
    answers = []
    for number, row in rows:
        location = f"{name} row {number}"
        cells = {
            column: unguarded(row[at]) if at < len(row) else ""
            for column, at in position_of.items()
        }
        for column, shown in (("task", "task"), ("rater", rater)):
            if not cells[column]:
                raise DataError(
                    location,
                    f"the {shown} is missing",
                    f"Fill in its {shown}, or empty the whole row",
                )
        person = prefix + cells["rater"].removeprefix(prefix)
        scores = {criterion: cells[column_of(criterion)] for criterion in asked}
        seconds = seconds_in(cells.get("seconds", ""))
        answers.append(
            Answer(cells["task"], person, scores, cells.get(COMMENT, ""), location, seconds)
        )
    return answers


def filled_rows(rows: Iterable[Sequence[str]]) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, with trimmed cells and their numbers in the sheet, counted from
    1.
    """
    trimmed = ([printable(cell).strip() for cell in row] for row in rows)
    return [(number, row) for number, row in enumerate(trimmed, 1) if any(row)]


def columns(name: str, head: Sequence[str], criteria: Mapping[str, Criterion]) -> dict[str, int]:
    """Check the header, and return the position of each column that matters. Errors: see
    `answers_from`.
    """
    relevant = {*OURS, *map(column_of, criteria)}
    doubled = [column for column in relevant if head.count(column) > 1]
    if doubled:
        raise DataError(
            name,
            f"there are two columns {min(doubled)!r}",
            "Delete or rename one of them",
        )
    position_of = {column: head.index(column) for column in relevant if column in head}
    texts = max((position_of[text] for text in TEXTS if text in position_of), default=len(head))
    check_criteria(name, head, criteria, texts, position_of.get(COMMENT, 0))
    missing = [column for column in ("task", "rater") if column not in position_of]
    if missing or not any(column_of(criterion) in position_of for criterion in criteria):
        lacking = f"no column {missing[0]!r}" if missing else "no column of a criterion"
        remedy = (
            f"Columns found: {listed(head)}; needed: task, rater,"
            f" {listed([*map(column_of, criteria)])}"
        )
        raise DataError(name, lacking, remedy)
    return position_of


def check_criteria(
    name: str, head: Sequence[str], criteria: Iterable[str], first: int = 0, last: int = 0
) -> None:
    """Raise UnknownName for a column that must be meant as a criterion but is unknown.

    A column must be meant as a criterion if it is between `first` and `last`, where criteria are,
    or if its name is close to that of a missing criterion.
    """
    ours = list(map(column_of, criteria))
    absent = [column for column in ours if column not in head]
    for at, column in enumerate(head):
        if not column or column in (*OURS, *ours):
            continue
        if first < at < last or difflib.get_close_matches(column[:200], absent, n=1, cutoff=0.75):
            remedy = "Columns of your own belong to the right of the comments"
            raise UnknownName(f"{name}: criterion", listed([column]), ours, remedy)


def unguarded(cell: str) -> str:
    """The cell without the apostrophe that keeps a spreadsheet from reading it as a formula.

    >>> unguarded("'=1+1"), unguarded("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def listed(names: Sequence[str], most: int = 20) -> str:
    """Join names for a message, and shorten long names."""
    short = [name if len(name) <= 40 else f"{name[:39]}…" for name in names if name]
    if len(short) > most:
        short[most:] = ["..."]
    return ", ".join(short) or "none"


def seconds_in(cell: str) -> float | None:
    """A duration in a cell; None for anything that is not a finite number from 0."""
    try:
        seconds = float(cell)
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


# Excel writes semicolons where the comma is the decimal mark, tabs as "Unicode Text"
DELIMITERS = ",;\t"


def is_csv(name: str) -> bool:
    return name.rpartition(".")[2].lower() in ("csv", "tsv", "txt")


def csv_table(name: str, content: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV file, and its other rows with their row numbers in a spreadsheet. Blank
    rows are left out.
    """
    rows = filled_rows(csv_rows(name, content))
    return (list(map(unguarded, rows[0][1])), rows[1:]) if rows else ([], [])


def header_of(name: str, content: bytes) -> list[str]:
    """The header of a CSV file; empty if the file is not CSV."""
    return csv_table(name, content)[0] if is_csv(name) else []


def csv_rows(name: str, content: bytes) -> list[list[str]]:
    """Read the rows of a CSV file as programs save it: with comma, semicolon or tab, in UTF-8 or
    UTF-16, with line breaks in cells.

    The row at index N of the list is row N + 1 in a spreadsheet. Raises DataError for other
    encodings and unclosed quotes.
    """
    text = _decoded(name, content)
    first, _, rest = text.partition("\n")
    # for Excel, which does not show this line
    if first.lower().startswith("sep=") and len(first.rstrip("\r")) == 5:
        delimiter, text = first[4], rest
    else:
        delimiter = _delimiter(text)
    limit = csv.field_size_limit(len(text) + 1)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            rows.append(row)
    except csv.Error as error:
        raise DataError(
            f"{name} row {len(rows) + 1}",
            f"not readable as CSV ({error})",
            "Save it again from a spreadsheet",
        ) from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _decoded(name: str, content: bytes) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text[:100]:
        raise DataError(
            name,
            "neither UTF-8 nor UTF-16 text",
            "Open it where it was filled in and save it as 'CSV UTF-8' (in LibreOffice: Text CSV"
            " with character set UTF-8)",
        )
    return text


def _delimiter(text: str) -> str:
    """The delimiter that divides the first non-blank line into the most columns."""
    line = next(
        (line for line in io.StringIO(text, newline="") if line.strip(f" {DELIMITERS}\r\n")), ""
    )[:100_000]
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))
