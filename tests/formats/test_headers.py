"""Headers as people have them: titles above, names in two rows, other languages, merged cells,
remarks below.
"""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import metal
from metal.data.tables.header import joined, titles_above
from metal.errors import DataError

ROWS = [
    ["language", "source", "generator", "rater", "criterion", "score"],
    *(
        ["hi", f"s{n}", "m", f"A{k}", c, str((n + k) % 3)]
        for n in range(4)
        for k in (1, 2)
        for c in ("fluency", "tone")
    ),
]
TWO_ROWS = [
    ["", "", "", "A1", "", "A2", ""],
    ["language", "source", "generator", "fluency", "tone", "fluency", "tone"],
    *(["hi", f"s{n}", "m", *[str((n + k) % 3) for k in (1, 1, 2, 2)]] for n in range(4)),
]
Rows = list[list[str]]


def written(rows: Rows, path: Path) -> Path:
    if path.suffix == ".csv":
        path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        return path
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([cell or None for cell in row])
    book.save(path)
    return path


def facts(path: Path) -> list[tuple[str, ...]]:
    """Source, rater, criterion, score of each rating in order."""
    ratings = metal.read(path, language="hi").ratings
    return sorted(
        map(tuple, ratings[["source", "rater", "criterion", "score"]].astype(str).to_numpy())
    )


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["Round 2", "", "", "", "", ""], *ROWS], "1 line above"),
        ([["Round 2"], ["exported 2024-03-01"], *ROWS], "2 lines above"),
        (
            [
                ["Project:", "Summaries", "", "", "", ""],
                ["Date:", "2024-01-02", "", "", "", ""],
                *ROWS,
            ],
            "2 lines above",
        ),
        (TWO_ROWS, "has two rows"),
        ([["Round 2"], *TWO_ROWS], "has two rows"),
        (
            [[*TWO_ROWS[1][:3], *TWO_ROWS[0][3:]], ["", "", "", *TWO_ROWS[1][3:]], *TWO_ROWS[2:]],
            "has two rows",
        ),
        ([["", "", "", "A1", "A1", "A2", "A2"], *TWO_ROWS[1:]], "has two rows"),
        ([*ROWS[:4], ROWS[0], *ROWS[4:]], "1 row left out: a repeated header"),
        ([*ROWS, ["Rated in March"] + [""] * 5], "1 row left out: remarks below the table"),
    ],
)
def test_titles_two_rows_and_remarks_change_no_rating(
    tmp_path: Path, ending: str, rows: Rows, said: str
) -> None:
    path = written(rows, tmp_path / f"a{ending}")
    assert facts(path) == facts(written(ROWS, tmp_path / "plain.csv"))
    assert any(said in line for line in metal.read(path, language="hi").report)


@pytest.mark.parametrize(
    "names",
    [
        "idioma,documento,sistema,evaluador,criterio,puntuación",
        "langue,document,système,annotateur,critère,score",
        "язык,документ,система,аннотатор,критерий,оценка",
        "dil,belge,sistem,değerlendirici,ölçüt,puan",
        "भाषा,दस्तावेज़,प्रणाली,मूल्यांकनकर्ता,मानदंड,अंक",
        "ভাষা,নথি,সিস্টেম,মূল্যায়নকারী,মানদণ্ড,স্কোর",
        "اللغة,المستند,النظام,المقيم,المعيار,الدرجة",
        "语言,文档,系统,标注员,标准,评分",
        "言語,文書,システム,評価者,基準,評価",
        "lugha,hati,mfumo,mkadiriaji,kigezo,alama",
        "Target language,Doc ID,Model ID,Reviewer:,Rubric,Points*",
    ],
)
def test_names_of_columns_in_other_languages(tmp_path: Path, names: str) -> None:
    path = written([names.split(","), *ROWS[1:]], tmp_path / "a.csv")
    assert facts(path) == facts(written(ROWS, tmp_path / "plain.csv"))


def test_merged_cells_hold_for_all_their_rows(tmp_path: Path) -> None:
    path = written(
        [
            ROWS[0],
            *(row if at % 4 == 0 else ["", "", "", *row[3:]] for at, row in enumerate(ROWS[1:])),
        ],
        tmp_path / "a.xlsx",
    )
    book = openpyxl.load_workbook(path)
    for top in range(2, 18, 4):
        for column in "ABC":
            book.active.merge_cells(f"{column}{top}:{column}{top + 3}")
    book.save(path)
    assert facts(path) == facts(written(ROWS, tmp_path / "plain.csv"))


def test_other_encodings_and_line_ends(tmp_path: Path) -> None:
    text = written(ROWS, tmp_path / "plain.csv").read_text()
    path = tmp_path / "a.csv"
    for content in (
        text.encode("utf-16"),
        text.replace("\n", "\r").encode(),
        text.encode() + b"\nRated in March\n",
    ):
        path.write_bytes(content)
        assert facts(path) == facts(tmp_path / "plain.csv")


def test_qualtrics_rows_about_the_questions_are_left_out(tmp_path: Path) -> None:
    header = ["source", "rater", "fluency", "tone"]
    rows = [["p", f"A{n}", "1", str(n % 2)] for n in range(4)]
    questions = [
        [f"Q: {name}" for name in header],
        [f'"{{""ImportId"":""{name}""}}"' for name in header],
    ]
    path = written([header, *questions, *rows], tmp_path / "a.csv")
    assert facts(path) == facts(written([header, *rows], tmp_path / "plain.csv"))


def test_a_header_is_not_sought_among_data() -> None:
    """A first row as wide as the others is the header, whatever stands below it; one row of names
    is one row.
    """
    assert titles_above([["who", "what"], ["rater", "score"], ["A1", "2"]]) == 0
    assert titles_above([["id", "note"], ["gpt-4", ""], ["A1", "A2"]]) == 0
    assert joined(["id", "A1", "A2"], ["x", "good", "good"], [["y", "bad", "good"]]) is None
    assert joined(["", "A1", ""], ["id", "2", "2"], [["y", "1", "2"]]) is None


def test_json_as_pandas_and_others_wrap_it(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS[1:], columns=ROWS[0])
    records = frame.to_dict("records")
    plain = facts(written(ROWS, tmp_path / "plain.csv"))
    for text in (
        frame.to_json(),
        frame.to_json(orient="split"),
        json.dumps({"data": records}),
        json.dumps({"version": 1, "ratings": records}),
    ):
        (tmp_path / "a.json").write_text(text)
        assert facts(tmp_path / "a.json") == plain
    (tmp_path / "a.json").write_text(json.dumps({"a": records, "b": records}))
    with pytest.raises(DataError, match="list of JSON objects"):
        metal.read(tmp_path / "a.json")


def test_raters_in_brackets_behind_criteria(tmp_path: Path) -> None:
    plain = facts(written(ROWS, tmp_path / "plain.csv"))
    for pattern in ("{1} ({0})", "{1} [{0}]", "{0} ({1})"):
        names = [
            pattern.format(*pair)
            for pair in (("A1", "fluency"), ("A1", "tone"), ("A2", "fluency"), ("A2", "tone"))
        ]
        path = written([[*TWO_ROWS[1][:3], *names], *TWO_ROWS[2:]], tmp_path / "a.csv")
        assert facts(path) == plain
