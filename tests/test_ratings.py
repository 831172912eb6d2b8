"""The ratings table names the row that is wrong, JSON Lines are read by columns; records check
themselves.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data import ratings, ratings_files
from metal.data.escaping import guarded
from metal.data.languages import (
    _codes_by_own_name,
    check_language,
    find_language,
    is_language,
    language_name,
)
from metal.data.ratings import NOT_ASKED, UNANSWERED, code_matrix, join, names_in, tidy_facts
from metal.data.ratings_files import read_facts
from metal.data.records import Criterion, Estimate, Level, Output, Rater, Rating, Scale, Source
from metal.errors import DataError

LEVELS = Scale("ordinal", (Level(0, "no"), Level(0.1, "little"), Level(3, "yes")))
SCALES = (LEVELS, Scale("interval", (), 1, 5), Scale("interval"))
SCORES = st.sampled_from(
    [0.0, -0.0, 0.1, 0.1 + 1e-12, 1.0, 2.5, 3.0, 5.0, 5.000001, -1.0, float("inf"), float("-inf")]
)


@given(st.sampled_from(SCALES), st.lists(SCORES, min_size=1, max_size=12))
def test_scores_off_the_scale_are_those_that_the_scale_does_not_allow(
    scale: Scale, scores: list[float]
) -> None:
    assert ratings.off_scale(np.array(scores), scale).tolist() == [
        not scale.allows(score) for score in scores
    ]


@given(st.lists(st.integers(0, 8), max_size=12), st.sampled_from([1, 10**12]))
def test_a_rating_given_twice_is_found_among_near_and_far_keys(keys: list[int], apart: int) -> None:
    assert ratings._any_twice(np.array(keys, dtype=np.int64) * apart) == (
        len(set(keys)) < len(keys)
    )


def facts(**changed: list[object]) -> pd.DataFrame:
    columns: dict[str, list[object]] = {
        "output": ["o1", "o2", "o1", "o2"],
        "criterion": ["c"] * 4,
        "rater": ["A", "A", "B", "B"],
        "score": [0, 3, 0.1, 3],
        "reason": ["", "", "", ""],
    }
    return tidy_facts(pd.DataFrame(columns | changed))


def joined(table: pd.DataFrame) -> pd.DataFrame:
    return join(
        table,
        criteria={"c": Criterion("c", LEVELS)},
        outputs={name: Output(name, f"s{name}", "g", "hi") for name in ("o1", "o2")},
        raters={name: Rater(name, "human") for name in ("A", "B")},
        ratings_file=Path("ratings.csv"),
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"score": [0, 3, 2, 7]},
            "row 4: score 2 is not on the scale of c (0 no, 0.1 little, 3 yes; 2 such rows)",
        ),
        ({"score": [0, None, 0, 3]}, "row 3: no score and no reason (1 such row)"),
        (
            {"output": ["o1", "o2", "o1", "o1"]},
            "row 5: rater 'B' rates output 'o1' on c",
        ),
        ({"output": ["o1", "o2", "o9", "o9"]}, "row 4: output 'o9' does not exist (2 such rows)"),
    ],
)
def test_the_row_that_is_wrong_is_named(changed: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataError) as raised:
        joined(facts(**changed))
    assert message in str(raised.value)


def test_names_that_do_not_occur_are_no_categories() -> None:
    wide = pd.Series(pd.Categorical(["o2", "o1"], categories=["o3", "o2", "o1"]))
    table = tidy_facts(facts().head(2).assign(output=wide))
    assert table["output"].cat.categories.tolist() == ["o2", "o1"]
    assert table["output"].tolist() == ["o2", "o1"]
    source = joined(table)["source"]
    assert (source.tolist(), source.cat.categories.tolist()) == (["so2", "so1"], ["so1", "so2"])
    assert names_in(wide)[0] == ["o1", "o2"]
    assert names_in(wide)[1].tolist() == [1, 0]


def test_a_code_matrix_knows_where_each_rating_stands() -> None:
    table = joined(facts(score=[0, 3, None, 3], reason=["", "", "cut off", ""]))
    rows = table.iloc[[3, 0, 2]]
    matrix = code_matrix(rows, Criterion("c", LEVELS))
    assert matrix.codes.tolist() == [[0, UNANSWERED], [NOT_ASKED, 2]]
    assert matrix.places.tolist() == [[1, 2], [-1, 0]]


def test_comments_of_any_kind_become_text() -> None:
    for comments in ([None, "é", float("nan"), ""], pd.array([None, "é", None, ""], dtype="str")):
        assert tidy_facts(facts().assign(comment=comments))["comment"].tolist() == ["", "é", "", ""]


LINE = {
    "output": "o1",
    "criterion": "fluency",
    "rater": "A1",
    "score": 2.5,
    "reason": "",
    "comment": 'क "b"\n',
}


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, bool]:
    """What reading gives (a table or its message), what it gives line by line, and whether it went
    by columns.
    """
    by_line: list[Path] = []
    rows = ratings_files._jsonl_rows
    monkeypatch.setattr(
        ratings_files, "_jsonl_rows", lambda path: by_line.append(path) or rows(path)
    )
    result = outcome(path)
    by_columns = not by_line
    with monkeypatch.context() as context:
        context.setattr(ratings_files, "_jsonl_columns", lambda block: None)
        return result, outcome(path), by_columns


def outcome(path: Path) -> Any:
    try:
        return read_facts(path)
    except DataError as error:
        return str(error)


def agree(result: Any, expected: Any) -> None:
    assert type(result) is type(expected)
    if isinstance(expected, str):
        assert result == expected
    else:
        text = [name for name in expected if name != "score"]
        pd.testing.assert_frame_equal(
            result.astype(dict.fromkeys(text, str)),
            expected.astype(dict.fromkeys(text, str)),
            check_exact=True,
        )


def lines(*records: object) -> bytes:
    return b"".join(
        (
            record
            if isinstance(record, bytes)
            else json.dumps(record, ensure_ascii=False).encode() + b"\n"
        )
        for record in records
    )


def but(**changes: object) -> dict[str, object]:
    """A line of ratings with other values; what is ... is left out."""
    return {key: value for key, value in (LINE | changes).items() if value is not ...}


@pytest.mark.parametrize("content", [
    lines(LINE, but(score=3), but(score=None), but(reason=..., comment=...), but(comment=None),
        but(criterion="score")),
    b"\xef\xbb\xbf" + lines(LINE),
    lines(LINE).rstrip(),
    lines(LINE).replace(b"\n", b"\r\n"),
    json.dumps(but(comment="😀")).encode() + b"\n",
    lines(but(score=10**30)),
])  # fmt: skip
def test_by_columns(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "ratings.jsonl").write_bytes(content)
    result, expected, by_columns = read_both_ways(path, monkeypatch)
    assert by_columns
    assert isinstance(result, pd.DataFrame)
    agree(result, expected)


@pytest.mark.parametrize(("content", "message"), [
    (b"", ""),
    (b"null\n" + lines(LINE), "line 1: not a JSON object"),
    (lines(LINE, None), "line 2: not a JSON object"),
    (lines(LINE) + b"\n" + lines(LINE), ""),
    (lines(but(score="3")), ""),
    (lines(but(score=True)), "row 1: score True is not a number"),
    (lines(LINE).replace(b"2.5", b"Inf"), "line 1: not JSON"),
    (lines(but(output=7)), ""),
    (lines(but(output="")), "row 1: output is empty"),
    (lines(LINE, but(output=...)), "no column 'output'"),
    (lines(LINE, but(score=...)), "no column 'score'"),
    (lines(but(sore=1)), "unknown column 'sore'"),
    (lines(but(comment=["a"])), ""),
    (lines(LINE)[:-1] + lines(LINE), "line 1: not JSON"),
    (b'{"output": "\xff"}\n', "line 1: not UTF-8"),
    (b'{"output": ' + b"[" * 500 + b"\n", "line 1: not JSON"),
    (json.dumps(but(comment="\ud800")).encode() + b"\n", ""),
])  # fmt: skip
def test_line_by_line(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "ratings.jsonl").write_bytes(content)
    result, expected, _ = read_both_ways(path, monkeypatch)
    agree(result, expected)
    assert message in result if message else isinstance(result, pd.DataFrame)


BITS = [*rb"null { } \n [ ] , : \" \\ true NaN -Inf".split(), b"\n", b"\xff", b"\x00", b'"score":']
CHANGES = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 5), st.sampled_from(BITS)), max_size=3
)


@given(
    st.lists(st.sampled_from([LINE, but(score=None), but(reason=...)]), min_size=1, max_size=3),
    CHANGES,
)
def test_a_damaged_file_is_read_as_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, object]],
    changes: list[tuple[int, int, bytes]],
) -> None:
    content = lines(*records)
    for at, removed, put in changes:
        content = content[:at] + put + content[at + removed :]
    path = tmp_path_factory.mktemp("damaged") / "ratings.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as monkeypatch:
        result, expected, _ = read_both_ways(path, monkeypatch)
    agree(result, expected)


def test_blocks_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that end at, before and after the end of a block, and longer than one."""
    records = [but(output=f"o{number}", comment="x" * (number * 7 % 90)) for number in range(60)]
    (path := tmp_path / "ratings.jsonl").write_bytes(lines(*records))
    blocks = ratings_files._blocks
    for size in (1, 50, 97, 4096):
        monkeypatch.setattr(ratings_files, "_blocks", lambda file, size=size: blocks(file, size))
        result, expected, by_columns = read_both_ways(path, monkeypatch)
        assert by_columns
        assert len(result) == 60
        agree(result, expected)


# ---------------------------------------------------------------- records, languages, formulas

BAD, GOOD = Level(0, "Bad"), Level(1, "Good")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Scale("ordinal"), "without levels"),
        (lambda: Scale.of("Bad<<Good"), "none empty"),
        (lambda: Scale.of("5-1"), "the low end first"),
        (lambda: Scale("ordinal", (BAD,)), "only one level"),
        (lambda: Scale("ordinal", (GOOD, BAD)), "do not rise"),
        (lambda: Scale("nominal", (BAD, Level(0, "Other"))), "different"),
        (lambda: Scale("nominal", (BAD, Level(1, "Bad"))), "different"),
        (lambda: Scale("nominal", (BAD, Level(math.inf, "x"))), "finite"),
        (lambda: Scale("cardinal", (BAD, GOOD)), "nominal, ordinal, interval"),  # type: ignore[arg-type]
        (lambda: Criterion("c", Scale("interval"), "up"), "higher"),  # type: ignore[arg-type]
        (lambda: Criterion(" ", Scale("interval")), "name is empty"),
        (lambda: Source("", "en"), "name is empty"),
        (lambda: Output("o", "s", "", "en"), "generator"),
        (lambda: Rater("r", "robot"), "human, llm, metric, baseline"),  # type: ignore[arg-type]
        (lambda: Rating("o", "c", "r", None), "say why"),
        (lambda: Rating("o", "c", "r", math.nan), "say why"),
        (lambda: Estimate(None), "say why"),
        (lambda: Estimate(math.nan), "undefined"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()  # type: ignore[operator]


def test_a_nominal_scale_may_stand_in_any_order() -> None:
    assert Scale("nominal", (GOOD, BAD)).values == (1, 0)


def test_scale_in_words() -> None:
    assert Scale("ordinal", (BAD, GOOD)).describe() == "0 Bad, 1 Good"
    assert Scale("ordinal", (Level(1, "1"), Level(2, "2"))).describe() == "1, 2"
    assert Scale("interval").describe() == "any number"
    assert Scale.of("1-1000000").describe() == "1 to 1000000"


def test_the_share_of_a_scale_is_one_where_it_is_best() -> None:
    likert = Criterion(
        "quality", Scale("ordinal", tuple(Level(value, f"l{value}") for value in range(1, 6)))
    )
    assert [likert.share(float(score)) for score in range(1, 6)] == [0, 0.25, 0.5, 0.75, 1]
    absent = Criterion("h", Scale("nominal", (Level(1, "Present"), Level(0, "Absent"))), "lower")
    assert [absent.share(0.0), absent.share(1.0)] == [1, 0]
    assert list(likert.share(np.array([1.0, 5.0]))) == [0, 1]
    assert Criterion("points", Scale("interval", low=0, high=100)).share(25.0) == 0.25
    assert math.isnan(Criterion("any", Scale("interval")).share(25.0))
    assert math.isnan(
        Criterion(
            "colour", Scale("nominal", tuple(Level(value, str(value)) for value in range(3)))
        ).share(1.0)
    )


@pytest.mark.parametrize("code", ["en", "sw", "zh-Hant", "zh-en", "pt-BR", "sr-Latn"])
def test_codes(code: str) -> None:
    assert is_language(code)
    assert language_name(code) != ""


def test_names() -> None:
    assert language_name("hi") == "Hindi"
    assert language_name("zh-en") == "Chinese to English"
    assert find_language("Swahili") == "sw"
    # none is taken for a sentence or an id
    assert all(find_language(spoken) for spoken in _codes_by_own_name() if "(" not in spoken)
    assert find_language("klingonese") is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("hindi", "'hi'"),
        ("english", "'en'"),
        ("xx-yy-zz", "such as sw or zh-Hant"),
        ("", "a code such as sw"),
    ],
)
def test_wrong_codes_are_answered_with_the_right_one(wrong: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_language(wrong, "outputs.jsonl row 3")


def test_an_endless_code_is_shortened() -> None:
    with pytest.raises(DataError) as raised:
        check_language("a" * 100_000, "outputs.jsonl row 3")
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_guarded(text: str) -> None:
    assert guarded(text).startswith("'")


@pytest.mark.parametrize("text", ["-", "-0.5", "+3", "plain", "", "a=b"])
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert guarded(text) == text
