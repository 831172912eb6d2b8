"""GENIE's findings on published ratings: PARIKSHA's workers and its GPT-4 judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.data import formats
from metal.genie.design.cells import DesignSettings
from metal.genie.design.planning import F1, TEST
from metal.genie.design.study import ALL, DesignTables, design

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def hindi(reference: Path) -> DesignTables:
    data = formats.read("pariksha", reference / "pariksha", {}).assemble(Path("pariksha"))
    return design(data, DesignSettings(languages=("hi",), criteria=("task_quality",), raters=(3,)))


def test_unilabelling_is_steadier(hindi: DesignTables) -> None:
    rows = hindi.tables["designs"]
    rows = rows[rows["population"] == ALL]
    sd = rows.set_index(["scale", "aggregation", "labelling"])["sd"]
    for scale in ("as rated", "binary"):
        for aggregation in ("mean", "majority"):
            assert sd[scale, aggregation, "unilabelling"] < sd[scale, aggregation, "multilabelling"]


def test_what_hindi_needs(hindi: DesignTables) -> None:
    needs = hindi.tables["needs"].set_index("question")
    f1, test = needs.loc[F1], needs.loc[TEST]
    assert f1["items_now"] == 360
    assert f1["now"] == pytest.approx(0.11, abs=0.02)
    # Width falls as 1 / sqrt(n).
    assert f1["items_needed"] == pytest.approx(360 * (f1["now"] / 0.05) ** 2, rel=0.3)
    assert f1["at_needed"] == pytest.approx(0.05, abs=4 * f1["at_needed_error"])
    assert test["now"] > 0.9
    assert test["items_needed"] < 360
