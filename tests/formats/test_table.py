"""Tables: tidy and wide, guessed and told, and what is said when a column is not found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import Dataset
from metal.data.formats.table import read
from metal.errors import MetalError

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


def write(frame: pd.DataFrame, path: Path) -> Path:
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".parquet": lambda: frame.to_parquet(path, index=False),
        ".xlsx": lambda: frame.to_excel(path, index=False),
    }
    writers[path.suffix]()
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_tidy_with_guessed_columns(tmp_path: Path, ending: str) -> None:
    frame = TIDY.assign(lang="hi")
    dataset, notes = load(write(frame, tmp_path / f"t{ending}"))
    assert list(dataset.raters) == ["1", "2"]
    assert dataset.criteria["coherence"].scale.values == (1, 3, 5)
    assert set(dataset.outputs) == {"d1/a", "d2/b"}
    missing = dataset.ratings[dataset.ratings["score"].isna()]
    assert list(missing["reason"]) == ["no answer"]
    assert list(dataset.ratings["comment"])[:2] == ["fine", ""]
    assert any("'annotator'" in note for note in notes)
    assert any("taken for people" in note for note in notes)


def test_wide(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["o1", "o2"], "A1": [0, 2], "A2": [1, None], "gpt-4": [2, 2], "note": ["x", "y"]})
    path = write(frame, tmp_path / "wide.csv")
    dataset, _ = load(path, wide=["A*", "gpt-4"], kinds={"gpt*": "llm"}, language="sw", groups={"A*": "native"})
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {
        "A1": "human",
        "A2": "human",
        "gpt-4": "llm",
    }
    assert dataset.raters["A1"].group == "native"
    assert len(dataset.ratings) == 5  # an empty cell was not asked
    assert dataset.languages == ("sw",)


def test_words_become_nominal_levels_or_those_told(tmp_path: Path) -> None:
    frame = TIDY.assign(lang="hi", rating=["Good", "bad", "Good", None])
    path = write(frame, tmp_path / "t.csv")
    dataset, _ = load(path)
    assert dataset.criteria["coherence"].scale.measure == "nominal"
    assert [level.label for level in dataset.criteria["coherence"].scale.levels] == ["Good", "bad"]
    dataset, _ = load(path, levels=((0, "Bad"), (1, "Good")), measure="ordinal")
    assert list(dataset.ratings["score"].dropna()) == [1, 0, 1]
    with pytest.raises(MetalError, match="'Good' of coherence is not in --levels"):
        load(path, levels=((0, "bad"), (1, "fine")))


def test_shift_and_continuous(tmp_path: Path) -> None:
    path = write(TIDY.assign(lang="hi", rating=[1, 2, 3, 1]), tmp_path / "t.csv")
    assert load(path, shift=-1)[0].criteria["coherence"].scale.values == (0, 1, 2)
    path = write(TIDY.assign(lang="hi", rating=[0.5, 0.25, 0.1, 0.9]), tmp_path / "t.csv")
    assert load(path)[0].criteria["coherence"].scale.levels == ()


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"annotator": "who"}, {}, "no column for the rater.*Columns found: doc_id, system.*--column rater=COLUMN"),
        ({"rating": "stars"}, {}, "no column for the score"),
        ({"lang": "tongue"}, {}, "no column for the language.*--language CODE"),
        ({"doc_id": "nr"}, {}, "output or its source"),
        ({}, {"columns": {"rater": "who"}}, "no column 'who'.*Columns found"),
        ({}, {"columns": {"speaker": "system"}}, "roles are"),
        ({}, {"wide": ["X*"]}, "no column matches --wide X"),
        ({}, {"kinds": {"1": "robot"}}, "kinds are human"),
        ({}, {"measure": "cardinal"}, "one of nominal"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, change: dict[str, str], options: dict[str, Any], said: str) -> None:
    path = write(TIDY.rename(columns=change), tmp_path / "t.csv")
    with pytest.raises(MetalError, match=said):
        load(path, **options)


def test_unusable_files(tmp_path: Path) -> None:
    for name, content, said in (
        ("a.txt", b"x", "tables are read from"),
        ("a.csv", b"", "empty"),
        ("b.csv", b"a,b\n\xe9,2\n", "not UTF-8"),
        ("a.parquet", b"no", "not readable as PARQUET"),
        ("a.xlsx", b"no", "not readable as XLSX"),
        ("a.jsonl", b"{", "not readable as JSONL"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MetalError, match=said):
            read(tmp_path / name, {})
    with pytest.raises(MetalError, match="no such file"):
        read(tmp_path / "none.csv", {})


def test_a_word_among_numbers_is_named_with_its_row(tmp_path: Path) -> None:
    path = write(TIDY.assign(lang="hi", rating=["1", "2", "three", "1"]), tmp_path / "t.csv")
    with pytest.raises(MetalError, match="row 4: score 'three' among numbers"):
        load(path)


def test_ids_that_repeat_across_systems_are_refused(tmp_path: Path) -> None:
    path = write(TIDY.assign(lang="hi", item="same"), tmp_path / "t.csv")
    with pytest.raises(MetalError, match="more than one source"):
        load(path)


def test_a_rater_twice_is_refused(tmp_path: Path) -> None:
    path = write(pd.concat([TIDY, TIDY[:1]]).assign(lang="hi"), tmp_path / "t.csv")
    with pytest.raises(MetalError, match="row 6: rater '1' rates output 'd1/a' on coherence a second time"):
        load(path)
