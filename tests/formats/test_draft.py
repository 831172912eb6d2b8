"""Keeping raters of some kinds only, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metal.data import formats
from metal.data.formats.draft import Draft
from metal.errors import MetalError

ROWS = """item,language,criterion,rater,kind,score
i,en,quality,A1,human,1
j,en,quality,A1,human,2
i,en,quality,judge,llm,2
i,en,score,m1,metric,0.25
j,en,score,m1,metric,0.5
"""


def read(folder: Path, **options: Any) -> Draft:
    path = folder / "ratings.csv"
    path.write_text(ROWS)
    return formats.read("table", path, options)


def test_raters_of_some_kinds_only(tmp_path: Path) -> None:
    draft = read(tmp_path, only=("metric",))
    dataset = draft.assemble(tmp_path)
    assert list(dataset.raters) == ["m1"]
    assert list(dataset.criteria) == ["score"]  # nobody who is left answered the other
    assert dataset.ratings["score"].tolist() == [0.25, 0.5]
    assert set(dataset.outputs) == {"i", "j"}
    assert draft.notes[-1] == "--only metric left out 1 human, 1 llm raters and their 3 ratings"
    both = read(tmp_path, only=("human", "llm")).assemble(tmp_path)
    assert set(both.raters) == {"A1", "judge"}
    everybody = read(tmp_path, only=("human", "llm", "metric"))
    assert len(everybody.facts) == 5
    assert not any("--only" in note for note in everybody.notes)


def test_kinds_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MetalError, match="--only baseline: no such raters there, only 1 human, 1 llm, 1 metric"):
        read(tmp_path, only=("baseline",))
    with pytest.raises(MetalError, match="--only: kind 'llms' is not known; did you mean 'llm'"):
        read(tmp_path, only=("llms",))
