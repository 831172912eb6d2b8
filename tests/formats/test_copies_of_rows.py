"""Files in which rows stand twice, such as those of Appraise after a reload of its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import metal
from metal.api.read import draft_of
from metal.errors import DataError
from tests.saying import tells

HEAD = "rater,system,segment,type,srclang,tgtlang,ESA,doc,starttime,endtime"


def written(folder: Path, *more: str) -> Path:
    rows = [
        f"{rater},{system},{n},TGT,eng,jpn,{60 + (7 * n + len(system)) % 40},d{n // 3},{n}.5,{n}.9"
        for n in range(9)
        for system in ("A", "BB")
        for rater in ("p1", "p2")
    ]
    path = folder / "esa.csv"
    path.write_text("\n".join([HEAD, *rows, *more]) + "\n", encoding="utf-8")
    return path


def test_a_row_that_stands_in_the_file_twice_counts_once_and_is_said(tmp_path: Path) -> None:
    rows = written(tmp_path).read_text().splitlines()
    path = written(tmp_path, rows[3], rows[4])
    assert len(metal.read(path).ratings) == 36
    notes = draft_of(path, "table", {}).notes
    assert tells(notes, "2 ratings left out", "earlier row")


def test_another_score_at_another_time_is_refused_with_an_option_that_keeps_the_first(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "p1,A,0,TGT,eng,jpn,11,d0,100.5,100.9")
    with pytest.raises(DataError) as error:
        metal.read(path)
    assert re.search(
        r"'starttime' tells .*'repeat': 'starttime'",
        str(error.value),
    )
    repeats = {"columns": {"repeat": "starttime"}}
    data = metal.read(path, **repeats)
    assert len(data.ratings) == 36
    assert 11 not in set(data.ratings["score"])
    assert any(
        tells(note, "1 rating", "answered before")
        for note in draft_of(path, "table", repeats).notes
    )


@pytest.mark.reference
def test_esa_of_wmt24_is_read_below_a_row_of_names_without_an_option(
    tmp_path: Path, reference: Path
) -> None:
    released = reference / "wmt-esa" / "esa_generalMT2024_wave3.csv"
    text = released.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if ",TGT," in line]
    head = HEAD.replace("doc,", "doc,is_whole,errors,")
    path = tmp_path / "esa.csv"
    path.write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
    data = metal.read(path)
    assert len(data.ratings) == len(metal.read(released).ratings) == 9096
