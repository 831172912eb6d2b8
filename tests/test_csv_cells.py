"""Text in a CSV must not run in a spreadsheet."""

from __future__ import annotations

import pandas as pd
import pytest

from metal.data.escaping import guard


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_guarded(text: str) -> None:
    assert guard(pd.DataFrame({"a": [text]}))["a"][0] == f"'{text}"


@pytest.mark.parametrize("text", ["-", "-0.5", "+3", "plain", "", "a=b"])
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert guard(pd.DataFrame({"a": [text]}))["a"][0] == text


def test_numbers_stay_numbers() -> None:
    table = pd.DataFrame({"a": [-1.5, None], "b": [1, 2]})
    pd.testing.assert_frame_equal(guard(table), table)
