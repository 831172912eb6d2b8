"""Many verdicts looked at together: what is listed is hardly ever wrong, and what the surest
keeps.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.together import ERROR, kept_at_least, together_rows
from metal.auditing.verdict import Verdict, verdict
from tests.hard_worlds import EQUAL, EVEN, UNEVEN, HardWorld
from tests.many_languages import listed
from tests.worlds import World


@pytest.mark.slow
@pytest.mark.parametrize(("shares", "items"), [(EVEN, 60), (UNEVEN, 150)])
def test_of_40_languages_that_are_listed_at_most_a_twentieth_is_wrong(
    shares: tuple[float, ...], items: int
) -> None:
    world = HardWorld(shares, (0.85,) * 4, 0.2, items)
    for good in (20, 4, 0):
        drawn = [listed(world, good, seed) for seed in range(4)]
        false = [wrong / max(wrong + right, 1) for wrong, right in drawn]
        # .05 + 2 standard errors of four draws, each at most 1
        assert np.mean(false) <= ERROR + 2 * max(float(np.std(false)) / 2, 0.05)


def test_of_good_languages_with_150_items_nearly_all_are_listed() -> None:
    world = HardWorld(EVEN, (0.85,) * 4, 0.2, 150)
    assert np.mean([listed(world, 20, seed)[1] / 20 for seed in range(3)]) >= 0.9


def test_a_list_is_of_one_judge_and_criterion_and_all_cells_are_one_family() -> None:
    #               p       BH over two languages   BY over four: 4 x (1 + 1/2 + 1/3 + 1/4) = 8.333
    # j fluency en  .010    .010 x 2 / 1 = .020     .010 x 8.333 / 1 = .0833
    # j fluency hi  .200    .200                    .200 x 8.333 / 3 = .5556
    # j tone    en  .040    .040                    .040 x 8.333 / 2 = .1667
    # k fluency en  .500    .500                    1
    cells = [
        ("en", "fluency", "j"),
        ("hi", "fluency", "j"),
        ("en", "tone", "j"),
        ("en", "fluency", "k"),
    ]
    made = [
        Verdict(*cell, "", "", p_like=p)
        for cell, p in zip(cells, (0.01, 0.2, 0.04, 0.5), strict=True)
    ]
    rows = list(together_rows(made, [0.1, 0.2, 0.3, math.nan]))
    assert [row["languages"] for row in rows] == [2, 2, 1, 1]
    assert [row["p_languages"] for row in rows] == pytest.approx([0.02, 0.2, 0.04, 0.5])
    assert [row["p_cells"] for row in rows] == pytest.approx(
        [0.08333, 0.55556, 0.16667, 1.0], abs=1e-5
    )
    assert [row["cells"] for row in rows] == [4] * 4
    assert not list(together_rows(made[:1], [0.1]))  # nothing to look at together


def test_what_is_kept_at_least_falls_with_the_number_of_cells() -> None:
    cell = HardWorld(EVEN, (0.85,) * 4, 0.2).draw(1, (EQUAL,))
    given = verdict(cell, EQUAL)
    alone = kept_at_least(cell, given, 1)
    assert alone == pytest.approx(given.share_kept.low)
    assert alone > kept_at_least(cell, given, 15) > kept_at_least(cell, given, 400) > 0.5
    assert math.isnan(
        kept_at_least(cell, replace(given, share_kept=Verdict("", "", "", "", "").share_kept), 15)
    )


def test_baselines_are_looked_at_only_where_there_is_nothing_else() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for language in ("en", "hi"):
        for item in range(60):
            truth = rng.integers(2)
            raters = {"A1": truth, "A2": truth, "j": truth, "b": 1}
            rows += [
                (f"{language}{item}", language, rater, score) for rater, score in raters.items()
            ]
    table = pd.DataFrame(rows, columns=["output", "language", "rater", "score"])
    for kinds, judges in (
        ({"b": "baseline", "j": "llm"}, ["j"]),
        ({"b": "baseline", "j": "baseline"}, ["b", "j"]),
    ):
        data = metal.read(table, kinds={"A1": "human", "A2": "human", **kinds})
        audited = metal.audit(data, resamples=100)
        assert sorted(audited.tables["together"]["judge"].unique()) == judges


def test_verdicts_do_not_move_with_the_company_they_are_looked_at_in() -> None:
    drawn = World("50/50", 100, 0.85).draw(np.random.default_rng(5), ("a person", "random"))
    assert verdict(drawn, "random") == verdict(replace(drawn, judges=("random",)), "random")
