"""An ensemble applied to scores."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from metal.boards.ensemble_records import apply_ensemble, find_ensemble, members, read_ensemble
from metal.errors import DataError, UnknownName, UsageError


def record(name: str = "e+version.1", **more: Any) -> dict[str, Any]:
    listed = [
        {"rater": "a", "coefficient": 2.0, "mean": 1.0, "spread": 4.0, "signature": ""},
        {"rater": "b", "coefficient": -1.0, "mean": 0.0, "spread": 0.5, "signature": ""},
    ]
    return {"ensemble": name, "intercept": 10.0, "members": listed} | more


def test_by_hand() -> None:
    scores = pd.DataFrame({"b": [1.0, math.nan, 1.0], "output": ["x", 7, "z"], "a": [5.0, math.nan, math.nan]})
    found = apply_ensemble(record(), scores)
    assert found["output"].tolist() == ["x", "7", "z"]
    assert found["score"][0] == 10 + 2 * (5 - 1) / 4 - 1 / 0.5
    assert found["score"].isna().tolist() == [False, True, True]
    assert found["reason"].tolist() == ["", "no score of a, b", "no score of a"]
    assert members(record()) == ["a", "b"]
    assert apply_ensemble(record(), scores[:0]).empty


def test_a_member_without_a_column() -> None:
    with pytest.raises(DataError, match=r"ensemble e\+version.1: no scores of b \(columns found: output, a\)"):
        apply_ensemble(record(), pd.DataFrame({"output": ["x"], "a": [1.0]}))


def test_found_by_name_or_part() -> None:
    known = [record("e.x+version.1"), record("e.x+version.12"), record("e.y+version.2")]
    assert find_ensemble("e.x+version.1", known) is known[0]
    assert find_ensemble("x+version.1", known) is known[0]
    assert find_ensemble("y", known) is known[2]
    assert find_ensemble("version.2", known) is known[2]
    for part in ("", "e.x", "version"):
        with pytest.raises(UsageError, match="may be any of"):
            find_ensemble(part, known)
    with pytest.raises(UnknownName, match="did you mean"):
        find_ensemble("e.x+version.3", known)
    assert find_ensemble("e.x+version.1", [*known, record("e.x+version.1", long="another run")]) is known[0]
    with pytest.raises(UsageError, match="several boards"):
        find_ensemble("e.x+version.1", [*known, record("e.x+version.1", intercept=0.0)])


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, {"intercept": []}, {"members": 5}, {"members": [{}]}])
def test_what_is_no_ensemble(wrong: Any) -> None:
    assert read_ensemble(record(), "here") == record()
    broken = record() | wrong if isinstance(wrong, dict) and wrong else wrong
    with pytest.raises(DataError, match="here: not an ensemble of a board"):
        read_ensemble(broken, "here")
