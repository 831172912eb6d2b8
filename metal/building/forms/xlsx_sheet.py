"""One workbook for each person: the guidelines, and a sheet of tasks in which each criterion has a
list of answers.

Nothing is locked. In a protected sheet, people could not widen columns and rows. Answers are
recognised by the task's id, so rows may be moved.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from metal.building.forms import guidelines, sheet
from metal.building.tasks import TEXTS, Answer, Assignment
from metal.data.records import Criterion
from metal.errors import DataError
from metal.raters.judges.rubric import Rubric

GUIDELINES, TASKS, LEVELS = "Guidelines", "Tasks", "Levels"
WIDTHS = {"task": 15, "rater": 9, "language": 9, "title": 20, "source": 70, sheet.COMMENT: 34}
WIDTHS |= dict.fromkeys(TEXTS, 50)
CRITERION_WIDTH = 16
READING_ORDER = {"ltr": 1, "rtl": 2, "auto": 0}
FILL_IN, HEAD = "FFF8DC", "E4E5E9"
UNPACKED_LIMIT = 500_000_000  # bytes; the largest sheets that people fill in are far below
# `_x0041_` in a cell is shown as A; its own underscore is `_x005F_`
_CODE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
EPOCH = datetime(2000, 1, 1)  # equal sheets give equal bytes


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """RATER.xlsx for each person."""
    for assignment in assignments:
        yield f"{assignment.rater}.xlsx", _content(assignment)


def _content(assignment: Assignment) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.properties.creator = "METAL"
    book.properties.created = book.properties.modified = EPOCH
    rows = [sheet.about(assignment, task) for task in assignment.tasks]
    _write_guidelines(
        book.active, assignment, any(cell.endswith(sheet.CUT) for row in rows for cell in row)
    )
    tasks = book.create_sheet(TASKS)
    _write_tasks(tasks, assignment, rows)
    levels = book.create_sheet(LEVELS)
    levels.sheet_state = "hidden"
    for number, rubric in enumerate(assignment.rubrics.values()):
        column = len(sheet.about_columns(assignment.template)) + 1 + number
        _offer_levels(tasks, levels, (number, column), rubric, last_row=max(len(rows), 1) + 1)
    return _saved(book)


def _put(page: Any, row: int, column: int, text: str) -> Any:
    """Write a text into a cell, so that it stays text even if it looks like a formula or is edited
    later.
    """
    cell = page.cell(row, column, _CODE.sub("_x005F_", text))
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _write_guidelines(page: Any, assignment: Assignment, some_cut: bool) -> None:
    from openpyxl.styles import Alignment, Font

    page.title = GUIDELINES
    page.column_dimensions["A"].width = 110
    listing = guidelines.lines(assignment.rubrics, assignment.template)
    listing.insert(
        1,
        (
            "text",
            f"Fill in the yellow columns of the sheet {TASKS!r}, then save the file as .xlsx.",
        ),
    )
    if some_cut:
        listing.insert(
            2,
            (
                "text",
                f"Some texts do not fit into a cell; they end with{sheet.CUT}".replace("\n", " "),
            ),
        )
    fonts = {
        "title": Font(bold=True, size=16),
        "criterion": Font(bold=True, size=14),
        "level": Font(bold=True),
    }
    for row, (kind, text) in enumerate(listing, 1):
        cell = _put(page, row, 1, f"•  {text}" if kind == "item" else sheet.cut(text))
        cell.alignment = Alignment(
            wrap_text=True, vertical="top", indent=2 if kind == "item" else 0
        )
        cell.font = fonts.get(kind, Font())


def _write_tasks(page: Any, assignment: Assignment, rows: Sequence[Sequence[str]]) -> None:
    from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
    from openpyxl.utils import get_column_letter

    (_, source_direction), (_, direction) = sheet.sides(assignment.language)
    page.sheet_view.rightToLeft = direction == "rtl"
    page.freeze_panes = "A2"
    names = sheet.header(assignment.rubrics, assignment.template)
    orders = {"title": source_direction, "source": source_direction} | dict.fromkeys(
        TEXTS, direction
    )
    thin = Side(style="thin", color="B0B0B0")
    to_fill_in, grey = PatternFill("solid", fgColor=FILL_IN), PatternFill("solid", fgColor=HEAD)
    for column, name in enumerate(names, 1):
        page.column_dimensions[get_column_letter(column)].width = WIDTHS.get(name, CRITERION_WIDTH)
        prefilled = column <= len(names) - len(assignment.rubrics) - 1
        head = _put(page, 1, column, sheet.cut(name))
        head.font, head.fill = Font(bold=True), grey if prefilled else to_fill_in
        head.alignment = Alignment(wrap_text=True, vertical="top")
        order = READING_ORDER[orders.get(name, "auto") if prefilled else "auto"]
        alignment = Alignment(wrap_text=True, vertical="top", readingOrder=order)
        for row, cells in enumerate(rows, 2):
            cell = (
                _put(page, row, column, cells[column - 1]) if prefilled else page.cell(row, column)
            )
            cell.alignment = alignment
            cell.border = Border(bottom=thin, left=thin, right=thin)
            if not prefilled:
                cell.fill = to_fill_in


def _offer_levels(
    tasks: Any, levels: Any, position: tuple[int, int], rubric: Rubric, last_row: int
) -> None:
    """Add the list of answers or the allowed range of numbers for a criterion. position: the
    criterion's number from 0, and its column.
    """
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    criterion, scale = rubric.criterion, rubric.criterion.scale
    if scale.levels:
        # A list of its own on a sheet: inside the rule commas would divide labels, and 255
        # characters are the most.
        for row, level in enumerate(scale.levels, 1):
            _put(levels, row, position[0] + 1, sheet.cut(level.shown))
        letter = get_column_letter(position[0] + 1)
        asked: dict[str, Any] = {
            "type": "list",
            "formula1": f"{LEVELS}!${letter}$1:${letter}${len(scale.levels)}",
        }
    elif scale.low is not None and scale.high is not None:
        asked = {
            "type": "decimal",
            "operator": "between",
            "formula1": repr(scale.low),
            "formula2": repr(scale.high),
        }
    else:
        asked = {"type": None}
    rule = DataValidation(allow_blank=True, showErrorMessage=True, showInputMessage=True, **asked)
    rule.errorTitle = "Not on the scale"
    rule.error = (
        f"Choose from: {scale.describe()}"[:255]
        if scale.levels
        else f"A number: {scale.describe()}"
    )
    rule.promptTitle = sheet.printable(criterion.asked_as)[:32]
    rule.prompt = sheet.printable(criterion.question or rubric.simple or criterion.name)[:255]
    column = get_column_letter(position[1])
    rule.add(f"{column}2:{column}{last_row}")
    tasks.add_data_validation(rule)


def _saved(book: Any) -> bytes:
    """The workbook's bytes, without the time of saving."""
    from openpyxl.writer.excel import ExcelWriter

    first, steady = io.BytesIO(), io.BytesIO()
    ExcelWriter(book, zipfile.ZipFile(first, "w")).save()
    with (
        zipfile.ZipFile(first) as parts,
        zipfile.ZipFile(steady, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for part in parts.namelist():
            archive.writestr(zipfile.ZipInfo(part), parts.read(part), zipfile.ZIP_DEFLATED)
    return steady.getvalue()


# ---------------------------------------------------------------- reading


def recognises(name: str, content: bytes) -> bool:
    """Whether the file's name is the name of a workbook."""
    return name.lower().endswith(".xlsx")


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """The answers of one filled-in workbook, saved by any program.

    Raises DataError if it cannot be opened or no sheet has tasks. Other errors: see
    `sheet.answers_from`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which do not matter here
        try:
            pages = _pages(content)
        except Exception as error:  # depends on which part of the workbook is damaged
            problem = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise DataError(
                name,
                f"not readable as an Excel workbook ({problem})",
                "Open it and save it again as .xlsx",
            ) from None
    chosen = pages.get(TASKS) or next(filter(_has_tasks, pages.values()), None)
    if chosen is None:
        raise DataError(
            name,
            "no sheet with tasks",
            f"The sheet with tasks is called {TASKS}; this file has {sheet.listed(list(pages))}",
        )
    return sheet.answers_from(name, chosen, criteria)


def _pages(content: bytes) -> dict[str, list[list[str]]]:
    """The rows of every sheet; row N of the sheet is at index N - 1. Formulas are read as their
    last computed values.
    """
    from openpyxl import load_workbook

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(part.file_size for part in archive.infolist()) > UNPACKED_LIMIT:
            raise ValueError("it is far too large")
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    pages = {}
    for page in book.worksheets:
        page.reset_dimensions()  # the size that a file states is often wrong
        pages[page.title] = [list(map(_text, row)) for row in page.iter_rows(values_only=True)]
    return pages


def _has_tasks(rows: Iterable[Sequence[str]]) -> bool:
    first = next(filter(any, rows), ())
    return "task" in [cell.strip() for cell in first]


def _text(value: Any) -> str:
    """The text of a cell as people see it, such as `2` for 2.0."""
    from openpyxl.utils.escape import unescape

    if isinstance(value, str):
        return str(unescape(value))  # Excel writes a carriage return as _x000D_
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).upper() if isinstance(value, bool) else str(value)
