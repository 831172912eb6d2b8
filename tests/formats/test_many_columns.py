"""Work that is done once for many columns gives what it gives for each of them."""

from pathlib import Path

import pandas as pd
from pandas.api.types import union_categoricals

import metal
from metal.data.tables.answer_columns import columns_with_answers, holds_answers
from metal.data.tables.cells import as_texts, is_filled, joined_categories
from metal.data.tables.files import read_frame

COLUMNS = {
    "annotator_1": ["1", "2", "3", "4"],
    "annotator_2": ["4", "3", "2", "1"],
    "annotator_3": ["1", "", "3", "NA"],
    "annotator_4": ["", "", "", ""],
    "annotator_5": ["Good", "Bad", "Good", "Bad"],
    "annotator_6": ["4 stars", "5 stars", "4 stars", "5 stars"],
    "annotator_7": ["5", "4 stars", "4 stars", "5"],
    "annotator_8": ["0,5", "1,5", "2,0", "2,5"],
    "annotator_9": ["1700000000", "1700000001", "1700000002", "1700000003"],
    "rater_score": ["80%", "70%", "60%", "80%"],
    "rater_count": ["1", "2", "3", "4"],
    "words": ["some", "words", "of", "people"],
    "long": ["a" * 41, "b" * 41, "c", "d"],
    "agreed": ["yes", "no", "no", "yes"],
}


def write(path: Path) -> pd.DataFrame:
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return read_frame(path)


def test_columns_of_the_same_texts_share_them_and_nothing_else_changes(tmp_path: Path) -> None:
    frame = write(tmp_path / "wide.csv")
    assert {
        name: column.fillna("").tolist() for name, column in frame.astype(object).items()
    } == COLUMNS
    assert frame["annotator_1"].cat.categories.tolist() == ["1", "2", "3", "4"]
    assert frame["annotator_2"].cat.categories.tolist() == ["4", "3", "2", "1"]
    again = read_frame(_doubled(tmp_path / "doubled.csv"))
    assert again["a_1"].cat.categories is again["b_1"].cat.categories
    assert again["a_1"].cat.codes.tolist() == [0, -1, 1]
    assert again["b_1"].cat.codes.tolist() == [0, 1, -1]


def _doubled(path: Path) -> Path:
    path.write_text("a_1,b_1\n1,1\n,2\n2,\n", encoding="utf-8")
    return path


def test_which_columns_hold_answers_is_the_same_asked_of_each_or_of_all(tmp_path: Path) -> None:
    frame = write(tmp_path / "wide.csv")
    frames = [
        frame,
        frame.astype(object),
        frame.assign(more=[0.5, 1.0, 0.5, 1.5], lists=[[1], [2], [1], [2]]),
    ]
    for each in frames:
        answering = {str(name) for name in each if holds_answers(each[name])}
        assert columns_with_answers(each, list(each)) == answering
    assert {"annotator_3", "annotator_7", "annotator_5"} <= columns_with_answers(frame, list(frame))
    assert columns_with_answers(frame, ["annotator_1", "words"]) == {"annotator_1"}
    assert not columns_with_answers(frame, ["annotator_4", "annotator_9", "rater_count", "long"])


def test_columns_below_each_other_are_as_pandas_puts_them(tmp_path: Path) -> None:
    frame = write(tmp_path / "wide.csv")
    columns = [as_texts(column) for _, column in frame.items()]
    joined, of_pandas = joined_categories(columns), union_categoricals(columns)
    assert joined.tolist()[:8] == of_pandas.tolist()[:8]
    pd.testing.assert_extension_array_equal(joined, of_pandas)
    assert (is_filled(frame) == frame.notna().to_numpy()).all()


def test_a_table_of_thousands_of_raters_is_read_whole(tmp_path: Path) -> None:
    raters = [f"annotator_{number}" for number in range(1, 1201)]
    rows = [
        f"o{row},en,text {row}," + ",".join(str((row * at) % 5 + 1) for at in range(1201))
        for row in range(4)
    ]
    path = tmp_path / "wide.csv"
    path.write_text(
        f"id,language,text,{','.join(raters)},gpt-4\n" + "\n".join(rows), encoding="utf-8"
    )
    data = metal.read(path)
    assert len(data.raters) == 1201
    given = data.ratings.set_index(["output", "rater"])["score"]
    assert given["o3", "annotator_7"] == (3 * 6) % 5 + 1
    assert len(given) == 4 * 1201
