"""Cells with hardly any source: undecided, never a crash, on any scale."""

from __future__ import annotations

import numpy as np
import pytest

import metal
from metal.auditing.verdict import verdict
from tests.worlds import answers, cell_of


@pytest.mark.parametrize("outputs", [60, 30, 1])
@pytest.mark.parametrize("people", [1, 2, 3])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_language_with_one_source(outputs: int, people: int, ordered: bool) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 60)
    panel = np.stack([answers(rng, truth, 5, 0.8, ordered) for _ in range(people)], axis=1)
    decided = verdict(
        cell_of(
            panel, answers(rng, truth, 5, 0.8, ordered), ordered=ordered, outputs=outputs, levels=5
        ),
        "j",
    )
    if outputs > 1:
        assert decided.verdict == "undecided"
        assert "20 needed for an interval" in decided.reason
        assert decided.unshown


def test_an_audit_with_one_source_ends_well(tmp_path: object) -> None:
    import pandas as pd

    rng = np.random.default_rng(2)
    rows = [
        {
            "language": "ta",
            "source": "s",
            "output": f"o{item}",
            "rater": rater,
            "kind": kind,
            "score": score,
        }
        for item in range(60)
        for rater, kind, score in (
            ("a", "human", item % 5 + 1),
            ("b", "human", (item + int(rng.integers(0, 2))) % 5 + 1),
            ("j", "llm", item % 5 + 1),
        )
    ]
    audit = metal.audit(metal.read(pd.DataFrame(rows).assign(criterion="quality")), resamples=100)
    assert audit.verdicts["verdict"].tolist() == ["undecided"]
