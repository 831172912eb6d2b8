"""MQM scores: a small file, with spaces or tabs, its faults, and the real one where it is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.data import formats
from metal.errors import MetalError

HEAD = "system mqm_avg_score seg_id\n"
ROWS = HEAD + "mt -5.5 10\nmt 0.0 2\nHuman-A nan 2\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mqm_scores.tsv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("text", [ROWS, ROWS.replace(" ", "\t"), "\ufeff" + ROWS.replace("\n", "\r\n")])
def test_mqm(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    draft = formats.read("mqm", tmp_path, {})
    dataset = draft.assemble(tmp_path)
    assert draft.counted_from == 1
    assert list(dataset.sources) == ["2", "10"]
    assert dataset.languages == ("zh-en",)
    (rater,) = dataset.raters.values()
    assert (rater.rater, rater.kind, rater.group) == ("MQM", "human", "expert")
    scale = dataset.criteria["mqm"].scale
    assert (scale.measure, scale.low, scale.high, dataset.criteria["mqm"].direction) == ("interval", -25, 0, "higher")
    table = dataset.ratings.set_index("output")
    assert table.loc["10/mt", "score"] == -5.5
    assert table.loc["2/Human-A", "reason"] == "no score"
    assert dataset.extra == {"generators": {"Human-A": {"kind": "human"}}}
    assert "1 ratings without a score (nan)" in draft.notes


def test_another_language(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    assert formats.read("mqm", path, {"language": "en-de"}).assemble(path).languages == ("en-de",)
    with pytest.raises(MetalError, match="`language` 'xx-yy-zz' is not known"):
        formats.read("mqm", path, {"language": "xx-yy-zz"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: no column 'system'"),
        ("system score seg_id\nmt 0 1\n", "row 1: no column 'mqm_avg_score'. The columns are"),
        (HEAD, "no scores in it"),
        (HEAD + "mt 0 1\nmt 0\n", "row 3: 2 fields where the header names 3"),
        (HEAD + "mt good 1\n", "row 2: score 'good' is not a number"),
        (HEAD + "mt 1 1\n", "row 2: score 1. MQM goes from -25 to 0"),
        (HEAD + "mt -inf 1\n", "row 2: score -inf"),
        (HEAD + "mt 0 0\n", "row 2: seg_id '0'. It is the segment's place"),
        (HEAD + "mt 0 xinhua::1\n", "row 2: seg_id 'xinhua::1'"),
        (HEAD + "mt 0 1\nmt -1 01\n", "row 3: segment 1 of 'mt' a second time"),
        (HEAD.encode() + b"\xff 0 1\n", "line 2: not UTF-8"),
    ],
)
def test_faults(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        formats.read("mqm", written(tmp_path, text), {})


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(MetalError, match="0 files named mqm"):
        formats.read("mqm", tmp_path, {})


@pytest.mark.reference
def test_the_real_mqm(reference: Path) -> None:
    dataset = formats.read("mqm", reference / "mqm", {}).assemble(reference)
    assert (len(dataset.ratings), len(dataset.sources)) == (20_000, 2_000)
    assert set(dataset.extra["generators"]) == {"Human-A.0", "Human-B.0"}
