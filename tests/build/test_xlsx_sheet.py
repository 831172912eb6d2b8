"""A workbook goes out, is filled in with whatever program, and comes back."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest

from metal.building.forms import xlsx_sheet
from metal.building.forms.sheet import ABOUT, CELL_LIMIT
from metal.building.tasks import assign
from metal.data.records import Level, Scale
from metal.errors import DataError
from tests.build.conftest import criterion, tasks_of


@pytest.fixture(scope="module")
def files(assignments) -> dict[str, bytes]:
    return dict(xlsx_sheet.write(assignments))


def opened(content: bytes) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(content))


def saved(book: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parts_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_one_workbook_a_person_always_the_same(assignments, files):
    assert list(files) == [f"{assignment.rater}.xlsx" for assignment in assignments]
    assert dict(xlsx_sheet.write(assignments[:1]))["en-1.xlsx"] == files["en-1.xlsx"]
    book = opened(files["en-1.xlsx"])
    assert [(page.title, page.sheet_state) for page in book.worksheets] == [
        ("Guidelines", "visible"),
        ("Tasks", "visible"),
        ("Levels", "hidden"),
    ]
    assert [cell.value for cell in book["Tasks"][1]] == [*ABOUT, *assignments[0].rubrics, "comment"]
    assert book["Tasks"].freeze_panes == "A2"
    assert not book["Tasks"].protection.sheet


def test_guidelines_are_in_it(files, rubrics):
    words = [
        cell.value for (cell,) in opened(files["hi-1.xlsx"])["Guidelines"].iter_rows(max_col=1)
    ]
    for rubric in rubrics.values():
        assert rubric.simple in words
        assert all(
            f"•  {reason}" in words for text in rubric.levels.values() for reason in text.reasons
        )


def test_texts_are_texts_and_never_formulas(assignments, files):
    for content in files.values():
        assert not any("<f>" in part or "<f " in part for part in parts_of(content).values())
    page = opened(files["en-1.xlsx"])["Tasks"]
    shown = {row[0].value: [cell.value for cell in row[3:6]] for row in page.iter_rows(min_row=2)}
    assert shown == {
        task.task: [task.title, task.source, task.text] for task in assignments[0].tasks
    }
    assert all(
        cell.data_type == "s" and cell.quotePrefix
        for row in page.iter_rows(min_row=2)
        for cell in row[:6]
    )


def test_long_texts_are_cut_and_it_is_said(files):
    book = opened(files["zh-1.xlsx"])
    text = book["Tasks"].cell(2, 6).value
    assert len(text) == CELL_LIMIT
    assert text.endswith("more of this text]")
    assert "they end with" in book["Guidelines"].cell(3, 1).value
    assert book["Tasks"].cell(2, 5).value == "旧桥周一关闭,\n维修需要一年。\ufffd"
    assert not any(
        "they end with" in (cell.value or "")
        for cell in opened(files["en-1.xlsx"])["Guidelines"]["A"]
    )


def test_right_to_left_sheets(files):
    arabic, english = opened(files["ar-1.xlsx"])["Tasks"], opened(files["en-1.xlsx"])["Tasks"]
    assert (arabic.sheet_view.rightToLeft, english.sheet_view.rightToLeft) == (True, False)
    assert [arabic.cell(2, column).alignment.readingOrder for column in (1, 4, 5, 6, 7)] == [
        0,
        2,
        2,
        2,
        0,
    ]
    assert [english.cell(2, column).alignment.readingOrder for column in (1, 4, 5, 6, 7)] == [
        0,
        1,
        1,
        1,
        0,
    ]


def test_a_translation_pair_reads_each_side_its_own_way(rubrics):
    (assignment,) = assign(tasks_of({"ar-en": [("", "جسر", "bridge")]}), "made", rubrics, raters=1)
    ((_, content),) = xlsx_sheet.write([assignment])
    page = opened(content)["Tasks"]
    assert not page.sheet_view.rightToLeft
    assert [page.cell(2, column).alignment.readingOrder for column in (5, 6)] == [2, 1]


def test_each_criterion_offers_its_levels(files, assignments):
    book = opened(files["en-1.xlsx"])
    rules = {str(rule.sqref): rule for rule in book["Tasks"].data_validations.dataValidation}
    assert list(rules) == ["G2:G4", "H2:H4", "I2:I4", "J2:J4", "K2:K4"]
    for rule, rubric in zip(rules.values(), assignments[0].rubrics.values(), strict=True):
        assignment, cells = rule.formula1.split("!")
        offered = [cell.value for (cell,) in book[assignment][cells.replace("$", "")]]
        assert (rule.type, offered) == (
            "list",
            [level.shown for level in rubric.criterion.scale.levels],
        )
        assert rule.prompt == rubric.criterion.question[:255]


def test_scales_without_levels():
    named = {"range": criterion("range", Scale("interval", low=0.5, high=5))}
    named["open"] = criterion("open", Scale("interval"))
    (assignment,) = assign(tasks_of({"en": [("", "a", "b")]}), "made", named, raters=1)
    ((_, content),) = xlsx_sheet.write([assignment])
    ranged, unbounded = opened(content)["Tasks"].data_validations.dataValidation
    assert (ranged.type, ranged.formula1, ranged.formula2) == ("decimal", "0.5", "5")
    assert unbounded.type in (None, "none")


def test_labels_with_commas_and_quotes():
    levels = (Level(0, 'so, "so"'), Level(1, "=good" * 80))
    (assignment,) = assign(
        tasks_of({"en": [("", "a", "b")]}),
        "made",
        {"x": criterion("x", Scale("ordinal", levels))},
        raters=1,
    )
    ((_, content),) = xlsx_sheet.write([assignment])
    assert [cell.value for cell in opened(content)["Levels"]["A"]] == [
        '0 so, "so"',
        f"1 {'=good' * 80}",
    ]


@pytest.mark.parametrize(
    "values", [("2 Good", "0 Bad"), (2.0, 0), ("2", "0")], ids=["chosen", "numbers", "texts"]
)
def test_what_is_filled_in_comes_back(values, assignments, files, criteria):
    for assignment in assignments:
        name = f"{assignment.rater}.xlsx"
        book = opened(files[name])
        page, expected = book["Tasks"], {}
        for row in range(2, page.max_row + 1):
            given = [values[row % 2], values[0], None, values[1], 0.25]
            for column, value in enumerate(given, 7):
                page.cell(row, column, value)
            page.cell(row, 12, "  ملاحظة\nعلى سطرين ")
            as_text = [
                "" if value is None else "2" if value == 2 else str(value) for value in given
            ]
            expected[page.cell(row, 1).value] = dict(zip(criteria, as_text, strict=True))
        answers = xlsx_sheet.read(name, saved(book), criteria)
        assert {answer.task: dict(answer.scores) for answer in answers} == expected
        assert {(answer.rater, answer.comment) for answer in answers} == {
            (assignment.rater, "ملاحظة\nعلى سطرين")
        }
        assert [answer.where for answer in answers] == [
            f"{name} row {row + 2}" for row in range(len(assignment.tasks))
        ]


def test_a_sheet_by_another_name_with_gaps_and_no_styles(criteria):
    book = openpyxl.Workbook()
    book.active.append(["", "a cover"])
    page = book.create_sheet("Sheet1")
    for column, name in enumerate(["comment", "task", "mine", "hallucinations", "rater"], 1):
        page.cell(3, column, name)
    for column, value in enumerate([True, "t1", 3, "1 Present", "ar-1"], 1):
        page.cell(200_000, column, value)
    content = saved(book)
    with (
        zipfile.ZipFile(io.BytesIO(content)) as archive,
        zipfile.ZipFile(bare := io.BytesIO(), "w") as kept,
    ):
        for part in archive.namelist():
            if part != "xl/styles.xml":
                kept.writestr(part, archive.read(part))
    (answer,) = xlsx_sheet.read("a.xlsx", bare.getvalue(), criteria)
    assert (answer.task, answer.rater, answer.comment) == ("t1", "ar-1", "TRUE")
    assert (answer.scores, answer.where) == ({"hallucinations": "1 Present"}, "a.xlsx row 200000")


def test_codes_of_characters(rubrics, criteria):
    (assignment,) = assign(tasks_of({"en": [("", "a_x0041_b", "c")]}), "made", rubrics, raters=1)
    ((_, content),) = xlsx_sheet.write([assignment])
    book = opened(content)
    assert book["Tasks"].cell(2, 5).value == "a_x005F_x0041_b"  # what Excel shows as a_x0041_b
    book["Tasks"].cell(2, 12, "one_x000D_\ntwo")  # as Excel saves it
    assert xlsx_sheet.read("a.xlsx", saved(book), criteria)[0].comment == "one\ntwo"


def test_a_damaged_file(files, criteria):
    full = files["en-1.xlsx"]
    for content in (b"", b"task,rater", full[: len(full) // 2], full[:2000] + full[2400:]):
        with pytest.raises(DataError, match=r"a\.xlsx:.*save it again as \.xlsx"):
            xlsx_sheet.read("a.xlsx", content, criteria)


def test_a_workbook_without_tasks(criteria):
    with pytest.raises(DataError, match=r"no sheet with tasks.* has Sheet"):
        xlsx_sheet.read("a.xlsx", saved(openpyxl.Workbook()), criteria)
