"""The import wizard on a table too large to be read at each change: it looks at some rows, says so,
and the job that makes the dataset reads all.
"""

from __future__ import annotations

import pickle
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.api.read import draft_of
from metal.app import aside
from metal.app.aside import differences
from metal.app.reading import as_read
from metal.app.server import View
from metal.app.table_rows import FIRST, MOST, TableRows, rows_to_look_at
from metal.app.table_view import table_shown
from metal.errors import DataError, MetalError, NoColumn, UnknownName, UnknownOrder
from tests.app.test_importing import chosen, page
from tests.app.test_importing import desk as desk
from tests.saying import tells

OUTPUTS, RATERS = 10_001, ("Ann", "Ben", "Cho", "Dan", "gpt-4o", "claude-3")
ROWS = OUTPUTS * len(RATERS)


def large(**columns: Any) -> pd.DataFrame:
    """A table of 60,006 ratings in two languages, one after another; columns replace its own."""
    number = np.repeat(np.arange(OUTPUTS), len(RATERS))
    rater = np.tile(np.array(RATERS), OUTPUTS)
    frame = pd.DataFrame(
        {
            "id": np.char.add("o", number.astype(str)),
            "language": np.where(number < OUTPUTS // 2, "en", "sw"),
            "rater": rater,
            "score": (number * 7 + np.tile(np.arange(len(RATERS)), OUTPUTS)) % 3,
            "text": [f"What was said for the {each}th time" for each in number],
        }
    )
    return frame.assign(**columns)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with large tables: one that is alike everywhere, and others with odd rows."""
    folder = tmp_path_factory.mktemp("tables")
    large().to_csv(folder / "alike.csv", index=False)
    twice = large()
    twice.loc[ROWS - 4, "rater"] = RATERS[(ROWS - 5) % len(RATERS)]
    twice.to_csv(folder / "twice.csv", index=False)
    crowd = large()
    people = crowd["rater"] == "Dan"
    crowd.loc[people, "rater"] = [f"worker {n % 700}" for n in range(people.sum())]
    crowd.loc[ROWS - 3, "rater"] = "gpt-4-turbo"
    crowd.to_csv(folder / "crowd.csv", index=False)
    return folder


@pytest.fixture
def laid(desk: View, tables: Path) -> View:
    """The app on a folder in which the tables are."""
    for path in tables.iterdir():
        copy = desk.folder / path.name
        if not copy.exists():
            copy.write_bytes(path.read_bytes())
    return desk


def opened(view: View, table: str) -> str:
    _, _, address = chosen(view, "import", table=table)
    return address


def ended(view: View, address: str) -> str:
    """The page of a job that has ended."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        text = page(view, address)
        if ">At work" not in text:
            return text
        time.sleep(0.1)
    raise AssertionError("the job does not end")


# ---------------------------------------------------------------- which rows


def test_whole_outputs_from_everywhere_are_looked_at() -> None:
    frame = large()
    frame.loc[31_234, "score"] = 9  # one row has it
    rows = rows_to_look_at(frame.astype("category"), Path("t.csv"))
    looked_at = frame.iloc[rows]
    assert FIRST < len(rows) <= MOST
    assert rows.tolist() == sorted(set(rows.tolist()))
    for column in ("language", "rater", "score"):
        assert set(looked_at[column]) == set(frame[column])
    assert set(looked_at.groupby("id").size()) == {len(RATERS)}
    spread = np.histogram(rows, 10, (0, ROWS))[0]
    assert spread.min() > len(rows) / 20


@pytest.mark.parametrize(
    "columns",
    [
        {"id": "one"},  # a single output that is too large
        {"id": [f"row {n}" for n in range(ROWS)]},
        {"id": [["a list"]] * ROWS, "text": [{"of": n} for n in range(ROWS)]},
    ],
)
def test_few_rows_are_looked_at_whatever_the_columns_hold(columns: dict[str, Any]) -> None:
    rows = rows_to_look_at(large(**columns), Path("t.csv"))
    assert FIRST < len(rows) <= MOST
    assert rows.max() > ROWS - 100


def test_a_table_that_is_not_too_large_is_read_in_full() -> None:
    rows = TableRows.of(large().head(MOST), Path("t.csv"))
    assert not rows.is_sample
    assert len(rows.frame) == rows.total == MOST


def test_messages_name_the_rows_of_the_file(tables: Path) -> None:
    path = tables / "alike.csv"
    frame = pd.read_csv(path, dtype=str).astype("category")
    rows = TableRows.of(frame, path)
    changed = rows.frame.astype(str)
    position = next(row for row in changed.index if row > 40_000)
    changed.loc[position, "score"] = "7"
    options = {"levels": {"*": "0,1,2"}, "rows": changed}
    with pytest.raises(DataError) as refused:
        draft_of(path, "", options)
    assert f"row {position + 2}:" in str(refused.value)


# ---------------------------------------------------------------- the wizard


def test_the_page_says_what_was_looked_at(laid: View) -> None:
    address = opened(laid, "alike.csv")
    text = page(laid, address)
    said = re.findall(r'id="looked-at">(.*?)</p>', text, re.DOTALL)
    assert tells(said, "looked at", f"of {ROWS:,} rows", "nothing is written", "Read all rows now")
    looked_at = re.findall(r"looked at ([\d,]+) of", said[0])[0]
    assert f"{looked_at} ratings of" in text  # the figures are of these
    assert f"{ROWS:,} ratings" not in text
    assert "4 people, 2 LLM judges" in text
    assert "English, Swahili" in text
    whole = page(laid, f"{address}?whole=1")
    assert f"{ROWS:,} ratings of {OUTPUTS:,} outputs" in whole
    assert f"{OUTPUTS:,} ratings</div>" in whole
    assert "has read all rows" in whole


def test_a_change_reads_only_the_rows_looked_at(
    laid: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = opened(laid, "alike.csv")
    page(laid, address)
    read: list[int] = []

    def counted(path: Path, options: Any, rows: TableRows | None = None) -> Any:
        assert rows is not None
        read.append(len(rows.frame))
        return as_read(path, options, rows)

    monkeypatch.setattr("metal.app.importing.as_read", counted)
    monkeypatch.setattr(aside, "_asked", lambda *task: pytest.fail("the file was read again"))
    _, _, changed = chosen(laid, address, kind_0="llm")
    assert "5 people" not in page(laid, changed)
    _, _, changed = chosen(laid, changed, direction_0="lower")
    page(laid, changed)
    assert len(read) == 2
    assert max(read) <= MOST


@pytest.mark.slow
def test_the_job_makes_the_dataset_of_all_rows_and_audits_it(laid: View) -> None:
    address = opened(laid, "alike.csv")
    page(laid, address)
    status, _, job = chosen(laid, address, do="audit", name="alike")
    assert status == 303
    text = ended(laid, job)
    assert ">Done" in text, text
    assert "metal import alike.csv --out datasets/alike &amp;&amp; metal audit" in text
    assert "runs/alike" in text
    dataset = metal.read(laid.folder / "datasets" / "alike")
    assert len(dataset.ratings) == ROWS
    status, text, _ = chosen(laid, address, do="make", name="alike")
    assert status == 400
    assert "datasets/alike exists" in text


def test_a_fault_in_a_row_that_was_not_looked_at_is_named(laid: View) -> None:
    address = opened(laid, "twice.csv")
    assert "How METAL reads" in page(laid, address)
    _, _, job = chosen(laid, address, do="make", name="twice")
    text = ended(laid, job)
    assert ">Not done" in text
    assert tells(text, "twice", f"row {ROWS - 2}", "Keep one of them")
    assert not (laid.folder / "datasets" / "twice").exists()
    assert f"/{address}" in text  # the way back


@pytest.mark.slow
def test_rows_that_read_differently_stop_the_job(laid: View) -> None:
    address = opened(laid, "crowd.csv")
    first = page(laid, address)
    assert "1 LLM judge" not in first
    assert "gpt-4-turbo" not in first
    _, _, job = chosen(laid, address, do="make", name="crowd")
    text = ended(laid, job)
    assert ">Not done" in text
    assert tells(text, "the whole table differs", "rater gpt-4-turbo: LLM judge instead of none")
    assert not (laid.folder / "datasets" / "crowd").exists()
    whole = f"{address}?whole=1"
    assert "gpt-4-turbo" in page(laid, whole)
    _, _, job = chosen(laid, whole, do="make", name="crowd")
    assert ">Done" in ended(laid, job)
    assert "gpt-4-turbo" in metal.read(laid.folder / "datasets" / "crowd").raters


def test_new_people_are_counted_and_other_changes_named() -> None:
    before = {"rater": {"A": "person", "B": "LLM judge"}, "criterion": {"c": "1, 2; higher"}}
    now = {
        "rater": {"A": "person", "C": "person", "D": "metric", "B": "person"},
        "criterion": {"c": "1, 2, 3; higher"},
        "language": {"hi": "Hindi"},
    }
    lines, people = differences(before, now)
    assert people == 1
    assert tells(lines, "rater B: person instead of LLM judge")
    assert tells(lines, "rater D: metric instead of none")
    assert tells(lines, "criterion c: 1, 2, 3; higher instead of 1, 2; higher")
    assert tells(lines, "language hi: Hindi instead of none")
    assert differences(now, now) == ([], 0)
    lines, _ = differences(now, {**now, "language": {}})
    assert tells(lines, "language hi: none instead of Hindi")


def test_a_table_that_cannot_be_read_says_why(laid: View) -> None:
    broken = laid.folder / "broken.csv"
    content = (laid.folder / "alike.csv").read_text(encoding="utf-8")
    broken.write_text(f"{content}o9,en,Ann,1,a,further,cells,here\n", encoding="utf-8")
    text = page(laid, opened(laid, "broken.csv"))
    assert "METAL cannot read" in text
    assert tells(text, f"row {ROWS + 2}", "8 cells")


# ---------------------------------------------------------------- from one process to another


@pytest.mark.parametrize(
    "error",
    [
        UnknownOrder("f.csv", "tone", ["meh", "wow"], "no order", "Say it"),
        NoColumn("f.csv", "rater", ["a"], "no rater", "Name it", ["b"], ["{rater}"]),
        UnknownName("sheet", "x", ["y"]),
        DataError("f.csv row 3", "odd"),
    ],
)
def test_errors_are_the_same_in_another_process(error: MetalError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_question_about_a_large_table_comes_back(tables: Path) -> None:
    path = tables / "alike.csv"
    shown = aside.read_whole(path, {"columns": {"rater": "nowhere"}})
    assert isinstance(shown.read.error, MetalError)
    direct = table_shown(as_read(path, {}))
    whole = aside.read_whole(path, {})
    assert whole == replace(direct, read=replace(direct.read, dataset=None, whole=True))
