"""Tables: tidy and wide, guessed and told, and what is said when a column is not found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset
from metal.data.formats.table import read, read_ratings
from metal.data.tables.files import MOST_COLUMNS, read_frame
from metal.data.tables.sheet import sheet_rows
from metal.data.tables.table_columns import first_rows
from metal.errors import DataError, MetalError
from tests.conftest import write_table
from tests.saying import tells

TIDY = pd.DataFrame(
    {
        "doc_id": ["d1", "d1", "d2", "d2"],
        "system": ["a", "a", "b", "b"],
        "lang": ["Hindi", "Hindi", "hi", "hi"],
        "dimension": ["coherence"] * 4,
        "annotator": [1, 2, 1, 2],
        "rating": [3, 5, 1, None],
        "justification": ["fine", None, "bad", None],
    }
)


def load(path: Path, **options: Any) -> tuple[Dataset, tuple[str, ...]]:
    draft = read(path, options)
    return draft.assemble(path), draft.notes


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_tidy_with_guessed_columns(tmp_path: Path, ending: str) -> None:
    frame = TIDY.assign(lang="hi")
    dataset, notes = load(write_table(frame, tmp_path / f"t{ending}"))
    assert list(dataset.raters) == ["1", "2"]
    assert dataset.criteria["coherence"].scale.values == (1, 3, 5)
    assert set(dataset.outputs) == {"d1/a", "d2/b"}
    missing = dataset.ratings[dataset.ratings["score"].isna()]
    assert list(missing["reason"]) == ["no answer"]
    assert list(dataset.ratings["comment"])[:2] == ["fine", ""]
    assert any("'annotator'" in note for note in notes)
    assert any("taken for people" in note for note in notes)


def test_wide(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"id": ["o1", "o2"], "A1": [0, 2], "A2": [1, None], "gpt-4": [2, 2], "note": ["x", "y"]}
    )
    path = write_table(frame, tmp_path / "wide.csv")
    dataset, _ = load(
        path, wide=["A*", "gpt-4"], kinds={"gpt*": "llm"}, language="sw", groups={"A*": "native"}
    )
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {
        "A1": "human",
        "A2": "human",
        "gpt-4": "llm",
    }
    assert dataset.raters["A1"].group == "native"
    assert len(dataset.ratings) == 5  # an empty cell was not asked
    assert dataset.languages == ("sw",)


def test_words_have_a_known_order_or_are_asked_for(tmp_path: Path) -> None:
    """Never alphabetical: `Good` stands below `bad` there."""
    path = write_table(
        TIDY.assign(lang="hi", rating=["Good", "bad", "Good", None]), tmp_path / "t.csv"
    )
    dataset, notes = load(path)
    assert dataset.criteria["coherence"].scale.describe() == "0 bad, 1 Good"
    assert "coherence: read its words as bad < Good" in notes
    dataset, _ = load(path, levels={"coherence": "Good<Bad"}, measures={"*": "nominal"})
    assert list(dataset.ratings["score"].dropna()) == [0, 1, 0]
    assert dataset.criteria["coherence"].scale.measure == "nominal"
    with pytest.raises(MetalError, match="'Good' of coherence is not in `levels`"):
        load(path, levels={"*": "0=bad,1=fine"})
    path = write_table(
        TIDY.assign(lang="hi", rating=["warm", "cold", "tepid", None]), tmp_path / "t.csv"
    )
    with pytest.raises(
        MetalError,
        match=r"row 2, coherence: .*\('warm', 'cold', 'tepid'\)",
    ):
        load(path)
    assert [
        level.label
        for level in load(path, measures={"*": "nominal"})[0].criteria["coherence"].scale.levels
    ] == [
        "cold",
        "tepid",
        "warm",
    ]


def test_shifts_ranges_and_continuous_scores(tmp_path: Path) -> None:
    path = write_table(TIDY.assign(lang="hi", rating=[1, 2, 3, 1]), tmp_path / "t.csv")
    assert load(path, shifts={"*": "-1"})[0].criteria["coherence"].scale.values == (0, 1, 2)
    path = write_table(TIDY.assign(lang="hi", rating=[0.5, 0.25, 0.1, 0.9]), tmp_path / "t.csv")
    assert load(path)[0].criteria["coherence"].scale.describe() == "any number"
    assert load(path, ranges={"coh*": "0-1"})[0].criteria["coherence"].scale.describe() == "0 to 1"
    with pytest.raises(MetalError, match="`ranges`: criterion 'tone' is not known"):
        load(path, ranges={"tone": "0-1"})


def test_ignored_columns_are_as_if_the_table_had_none_of_them(tmp_path: Path) -> None:
    table = TIDY.assign(lang="hi", meta=[{"locale": "ta", "judge": 1}] * len(TIDY))
    path = tmp_path / "t.json"
    table.to_json(path, orient="records")
    options = {"ignore": ["lang", "meta.*"]}
    dataset, notes = load(path, **options)
    without = write_table(TIDY.drop(columns="lang"), tmp_path / "t.csv")
    assert dataset.digest == load(without)[0].digest
    assert any("left out (`ignore`): lang, meta.locale, meta.judge" in note for note in notes)
    lists = TIDY.iloc[[0, 2]].assign(scores=[[{"rater": "A", "score": n}] for n in (1, 2)])
    lists.drop(columns=["rating", "annotator"]).to_json(path, orient="records")
    assert load(path, ignore=["lang"])[0].languages == ("und",)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"annotator": "who"},
            {},
            "no column for the rater.*Columns found: doc_id, system.*columns={.rater.: COLUMN}",
        ),
        ({"rating": "seconds"}, {}, "no column for the score"),
        ({"doc_id": "nr"}, {}, "output or its source"),
        ({}, {"columns": {"rater": "who"}}, "no column 'who'.*Columns found"),
        ({}, {"columns": {"speaker": "system"}}, "roles are"),
        ({}, {"wide": ["X*"]}, r"no column matches `wide=\['X\*'\]`"),
        ({}, {"ignore": ["*"]}, "leaves no column. Name fewer"),
        ({}, {"shifts": {"*": "one"}}, "`shifts='one'`: write a number"),
        ({}, {"ignore": ["X*"]}, r"no column.*`ignore=\['X\*'\]`"),
        (
            {},
            {"ignore": ["doc_id"], "columns": {"output": "doc_id"}},
            "name the same column. Leave it out of one",
        ),
        ({}, {"kinds": {"1": "robot"}}, "kinds are human"),
        ({}, {"measures": {"*": "cardinal"}}, "one of nominal"),
        ({}, {"levels": {"*": "a=b"}}, "NUMBER=LABEL"),
    ],
)
def test_what_is_missing_is_said(
    tmp_path: Path, change: dict[str, str], options: dict[str, Any], message: str
) -> None:
    path = write_table(TIDY.rename(columns=change), tmp_path / "t.csv")
    with pytest.raises(MetalError, match=message):
        load(path, **options)


def test_unusable_files(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.doc", b"x", "tables are read from"),
        ("c.csv", b"id,rater,score", "no ratings in it"),
        ("a.csv", b"", "empty"),
        ("b.csv", b"a,b\n\xe9,2\n", "not UTF-8"),
        ("a.parquet", b"no", "not readable as PARQUET"),
        ("a.xlsx", b"no", "not readable as XLSX"),
        ("a.jsonl", b"{", "not readable as JSONL"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MetalError, match=message):
            read(tmp_path / name, {})
    with pytest.raises(MetalError, match="no such file"):
        read(tmp_path / "none.csv", {})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TIDY.assign(rating=["1", "2", "three", "1"]), "row 4: score 'three' among numbers"),
        (TIDY.assign(output="same"), "more than one source"),
        (
            pd.concat([TIDY, TIDY[:1].assign(rating="2")]),
            "row 6: rater '1' rates output 'd1/a' on coherence a second time",
        ),
    ],
)
def test_rows_that_cannot_be(tmp_path: Path, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        load(write_table(frame.assign(lang="hi"), tmp_path / "t.csv"))


ASKED: dict[str, Any] = {"language": "hi", "kinds": {"gpt*": "llm"}}


def test_a_frame_is_read_as_the_file_of_it_is(tmp_path: Path) -> None:
    frame = TIDY.set_axis(["d", "s", "l", "c", "who", "n", "why"], axis=1)
    columns = {
        "source": "d",
        "generator": "s",
        "criterion": "c",
        "rater": "who",
        "score": "n",
        "comment": "why",
    }
    before = frame.copy()
    dataset = read_ratings(frame, columns=columns, shifts={"*": -1}, **ASKED).assemble()
    pd.testing.assert_frame_equal(frame, before)
    from_file, notes = load(
        write_table(frame, tmp_path / "ratings.csv"), columns=columns, shifts={"*": -1}, **ASKED
    )
    assert dataset.identity == from_file.identity
    assert dataset.identity.startswith("ratings@")
    assert dataset.report == from_file.report == notes
    assert read_ratings(frame, columns=columns, name="mine", **ASKED).assemble().card.name == "mine"


def test_frames_of_other_types() -> None:
    """Categories, nullable numbers, truth values, an index that means nothing, columns that are no
    texts.
    """
    frame = pd.DataFrame(
        {
            0: pd.Categorical(["i", "i", "j"]),
            "rater": pd.Categorical(["A1", "gpt-4", "A1"]),
            "score": pd.array([1, 0, None], dtype="Int64"),
            "text": pd.Categorical(["x", None, None]),
        },
        index=[7, 7, 9],
    )
    dataset = read_ratings(frame, columns={"output": "0"}, **ASKED).assemble()
    assert [rater.kind for rater in dataset.raters.values()] == ["human", "llm"]
    assert dataset.ratings["reason"].tolist() == ["", "", "no answer"]
    assert [output.text for output in dataset.outputs.values()] == ["x", ""]
    of_truth_values = frame.assign(score=[True, False, True])
    assert read_ratings(of_truth_values, columns={"output": "0"}, **ASKED).criteria[
        0
    ].scale.values == (0, 1)


def test_directions_by_criterion() -> None:
    frame = pd.DataFrame(
        {"id": ["i", "i", "j", "j"], "metric": ["hallucinations", "quality"] * 2, "rater": "A1"}
    )
    frame["score"] = [0, 2, 1, 1]

    def directions(**options: Any) -> list[str]:
        criteria = read_ratings(frame, language="hi", **options).criteria
        return [criterion.direction for criterion in criteria]

    assert directions() == ["lower", "higher"]  # METAL's criterion of that name says so
    assert directions(directions={"halluc*": "higher"}) == ["higher", "higher"]
    assert directions(directions={"*": "lower"}) == ["lower", "lower"]
    assert directions(directions={"*": "lower", "quality": "higher"}) == ["lower", "higher"]
    with pytest.raises(
        MetalError, match="criterion 'halucinations' is not known; did you mean 'hallucinations'"
    ):
        directions(directions={"halucinations": "lower"})
    with pytest.raises(MetalError, match="`directions` 'down': use one of higher, lower"):
        directions(directions={"quality": "down"})


def test_metals_criteria_are_called_so_whatever_their_labels() -> None:
    """Their titles, codes once; the question only where it fits the answers."""
    frame = pd.DataFrame(
        {"output": [*"abc"], "rater": "A1", "task_quality": ["Bad", "Medium", "Good"]}
    )
    frame = frame.assign(linguistic_acceptability=[1, 4, 5], hallucinations=["bad", "bad", "good"])
    criteria = {each.name: each for each in read_ratings(frame, language="hi").criteria}
    shown = {
        name: (each.title, each.short, each.direction, bool(each.question))
        for name, each in criteria.items()
    }
    assert shown == {
        "hallucinations": ("Hallucinations", "H", "higher", False),
        "linguistic_acceptability": ("Linguistic acceptability", "LA", "higher", False),
        "task_quality": ("Task quality", "TQ", "higher", True),
    }


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"kind": {"gpt*": "llm"}}, "option 'kind' is not known; did you mean 'kinds'"),
        ({"rating": ["1", "2", "three", "1"]}, {}, "DataFrame row 2: score 'three' among numbers"),
        ({"lang": ["hi", None, "hi", "hi"]}, {}, "DataFrame row 1: language is empty"),
        (
            {"annotator": "A1", "system": [*"abcd"]},
            {"only": "llm"},
            "only 1 human",
        ),
        ({"dup": 1}, {"columns": {"comment": "dup"}}, "two columns are called 'dup'"),
    ],
)
def test_what_is_wrong_with_a_frame(
    change: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    frame = TIDY.assign(**change)
    frame = pd.concat([frame, frame[["dup"]]], axis=1) if "dup" in change else frame
    with pytest.raises(MetalError, match=message):
        read_ratings(frame, **options)


def test_rows_of_a_wide_table_are_those_of_the_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["o1", "o2", "o3"], "A1": ["1", "2", "2"], "A2": [None, "x", "1"]})
    with pytest.raises(MetalError, match="row 3: score 'x' among numbers"):
        load(write_table(frame, tmp_path / "wide.csv"), wide="A*", language="sw")


HALF = "ab \ud83d"  # a cut emoji
TURNS = [{"role": "user", "content": HALF}, {"role": "assistant", "content": HALF}]


@pytest.mark.parametrize(
    "texts",
    [
        {"messages": TURNS},
        {"messages": json.dumps(TURNS)},
        {"text": HALF, "source": HALF, "id": HALF},
    ],
)
def test_half_a_character_is_replaced_wherever_it_stands(
    texts: dict[str, object], tmp_path: Path
) -> None:
    """A traceback once."""
    reply = json.dumps({"score": 1, "reason": HALF})
    rows = [
        {"rater": r, "score": 1, "comment": HALF, "raw_reply": reply, HALF: HALF} | texts
        for r in ("gpt " + HALF, HALF)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    frame = pd.DataFrame(
        [{key: row[key] for key in row if key != HALF} for row in rows], dtype=object
    )
    for data in (tmp_path / "t.jsonl", frame, frame.drop(columns="score")):
        dataset = metal.read(data, criterion="task_quality")
        assert next(iter(dataset.outputs.values())).text == "ab \ufffd"
        assert set(dataset.raters) == {"gpt ab \ufffd", "ab \ufffd"}
        dataset.save(tmp_path / "saved", force=True)


def test_half_a_character_in_messages_of_a_csv(tmp_path: Path) -> None:
    pd.DataFrame({"rater": ["a", "b"], "score": 1, "messages": json.dumps(TURNS)}).to_csv(
        tmp_path / "t.csv"
    )
    assert next(iter(metal.read(tmp_path / "t.csv").outputs.values())).text == "ab \ufffd"


def test_texts_that_differ_in_blanks_or_unicode_form_are_one_output() -> None:
    texts = ["caf\u00e9  au lait", "cafe\u0301 au\u00a0lait ", "tea"]
    data = metal.read(pd.DataFrame({"text": texts, "rater": ["a", "b", "a"], "score": [1, 2, 1]}))
    assert [output.text in texts[:2] for output in data.outputs.values()] == [True, False]
    assert tells(data.report, "text: 1 text", "blanks", "read as that text")
    assert any(line.startswith("no source column: ") for line in data.report)


def test_what_is_no_table_is_said_in_one_line(tmp_path: Path) -> None:
    for ending, remedy in ((".xls", "Save it as .xlsx or CSV"), (".zip", "Unpack it")):
        (tmp_path / f"t{ending}").write_bytes(b"PK")
        with pytest.raises(MetalError, match=f"files are not read. {remedy}"):
            metal.read(tmp_path / f"t{ending}")
    (tmp_path / "vectors.jsonl").write_text(json.dumps({"item": "i", "scores": [0.5] * 51}) + "\n")
    with pytest.raises(MetalError, match=r"column 'scores' holds lists or objects\. Write a row"):
        metal.read(tmp_path / "vectors.jsonl")


def test_a_rater_of_kind_model_is_a_judge() -> None:
    frame = pd.DataFrame(
        {"id": ["a", "a"], "rater": ["Ann", "Otto"], "kind": ["Human", "Model"], "score": [1, 2]}
    )
    assert {name: rater.kind for name, rater in metal.read(frame).raters.items()} == {
        "Ann": "human",
        "Otto": "llm",
    }


@pytest.mark.parametrize("buttons", [False, True])
def test_a_batch_of_mechanical_turk_as_exported(buttons: bool, tmp_path: Path) -> None:
    scores = [3, 1, 2, 2, 1, 3]
    frame = pd.DataFrame(
        {
            "HITId": list("hhhiii"),
            "WorkerId": list("AB" * 3),
            "MaxAssignments": 3,
            "Reward": "$0.05",
        }
    )
    frame["AssignmentStatus"] = ["Rejected", *["Approved"] * 5]
    frame = frame.assign(
        WorkTimeInSeconds=range(6), LifetimeApprovalRate="100% (5/5)", Approve="", Reject=""
    )
    frame["Input.source_id"], frame["Input.source"] = "s1", "Where is it?"
    frame["Input.system"], frame["Input.output"] = list("xyyzzx"), list("pqqrrp")
    if buttons:
        for level in (1, 2, 3):
            frame[f"Answer.fluency.{level}"] = [score == level for score in scores]
    else:
        frame["Answer.fluency"] = scores
    frame.to_csv(tmp_path / "Batch_1.csv", index=False)
    data = metal.read(tmp_path / "Batch_1.csv")
    assert tells(data.report, "1 of 6 assignments", "rejected")
    assert data.ratings["criterion"].unique().tolist() == ["fluency"]
    assert data.ratings["score"].tolist() == scores[1:]
    assert {output.output: output.text for output in data.outputs.values()} == {
        "s1/x": "p",
        "s1/y": "q",
        "s1/z": "r",
    }
    assert data.sources["s1"].text == "Where is it?"


def test_two_outputs_in_a_row_are_refused() -> None:
    row = {
        "prompt": "p",
        "gpt_output": "a",
        "llama_output": "b",
        "gpt_score": 1,
        "llama_score": 2,
        "annotator": "A",
    }
    with pytest.raises(MetalError, match="per row: gpt_output, llama_output"):
        metal.read(pd.DataFrame([row, row | {"gpt_score": 2}]))


TABLE = pd.DataFrame(
    {"id": ["a", "b"], "rater": ["A", "A"], "score": [1, 2], "language": ["hi", "hi"]}
)
ENDINGS = [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"]


@pytest.mark.parametrize("part", [0.02, 0.5, 0.99])
def test_a_workbook_cut_short(tmp_path: Path, part: float) -> None:
    path = write_table(TABLE, tmp_path / "t.xlsx")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DataError, match="xlsx: not readable as XLSX"):
        metal.read(path)


def test_a_cell_far_away_costs_nothing(tmp_path: Path) -> None:
    """pandas makes a table of 16,384 x 1,048,576 cells of it."""
    path = write_table(TABLE, tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = "x"
    book.save(path)
    assert sheet_rows(path, []) == [list(TABLE), ["a", "A", "1", "hi"], ["b", "A", "2", "hi"]]
    assert len(metal.read(path).ratings) == 2


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("language", ["", None])
def test_a_language_column_without_languages(
    tmp_path: Path, ending: str, language: str | None
) -> None:
    path = write_table(
        TABLE.assign(language=pd.Series([language] * 2, dtype=object)), tmp_path / f"t{ending}"
    )
    with pytest.raises(DataError, match="language is empty"):
        metal.read(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_min_nan_chinese_is_a_language(tmp_path: Path, ending: str) -> None:
    """Its code is `nan`, which is never a missing language."""
    path = write_table(TABLE.assign(language="nan"), tmp_path / f"t{ending}")
    dataset = metal.read(path)
    assert dataset.languages == ("nan",)
    dataset.save(tmp_path / "d")
    metal.export(tmp_path / "d", to="csv", out=tmp_path / "e.csv")
    assert metal.read(tmp_path / "e.csv").languages == ("nan",)


@pytest.mark.parametrize("column", list(TABLE))
def test_bytes_in_parquet(tmp_path: Path, column: str) -> None:
    """Texts that were written as bytes are texts; others are refused by column."""
    texts = [text.encode() for text in TABLE[column].astype(str)]
    path = write_table(TABLE.assign(**{column: texts}), tmp_path / "t.parquet")
    assert metal.read(path).ratings.equals(
        metal.read(write_table(TABLE, tmp_path / "u.parquet")).ratings
    )
    write_table(TABLE.assign(**{column: [b"\xff\x00", b"a"]}), path)
    with pytest.raises(DataError, match=rf"column '{column}'.*UTF-8"):
        metal.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet", "txt"])
def test_more_columns_than_excel_knows_are_refused(ending: str, tmp_path: Path) -> None:
    names = ["id", *(f"judge_{number}" for number in range(MOST_COLUMNS))]
    path = tmp_path / f"wide.{ending}"
    frame = pd.DataFrame([["a", *[1] * MOST_COLUMNS]], columns=names)
    if ending == "parquet":
        frame.to_parquet(path)
    elif "json" in ending:
        path.write_text(json.dumps([dict(frame.iloc[0].astype(str))]))
    else:
        path.write_text(frame.to_csv(index=False))
    with pytest.raises(DataError) as refused:
        read_frame(path)
    assert tells(str(refused.value), "wide", "16,385 columns", "at most 16,384", "in each row")
    if ending == "csv":
        path.write_text(frame.drop(columns="id").to_csv(index=False))
        assert len(read_frame(path).columns) == MOST_COLUMNS


def test_the_first_cells_of_a_table_are_kept_as_texts() -> None:
    cells = {"a": ["x" * 400, None], "b": pd.Categorical(["1", None]), "c": [["1", "2"], 2.5]}
    assert first_rows(pd.DataFrame(cells)) == (("x" * 300, "1", "['1', '2']"), ("", "", "2.5"))
    assert first_rows(pd.DataFrame(columns=["a"])) == ()


def test_long_texts_are_read_and_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    text = "x" * 150_000
    (tmp_path / "long.csv").write_text(f"output,rater,score,text\na,p,1,{text}\nb,p,2,y\n")
    assert metal.read(tmp_path / "long.csv").outputs["a"].text == text
    for content in ("[]", "[{}]"):
        (tmp_path / "none.json").write_text(content)
        with pytest.raises(DataError, match="no rows"):
            metal.read(tmp_path / "none.json")
