"""Generators side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from metal.data.dataset import Dataset
from metal.errors import MetalError
from metal.questions.correct.compared import _mean_of_sources, compare
from metal.stats.bootstrap import SourceBootstrap
from tests.saying import tells

MakeDataset = Callable[..., Dataset]

# items alternate between generators g0 and g1 of one source: s0/g0, s0/g1, s1/g0, ...
SCORES: dict[str, list[int | None]] = {
    "A1": [2, 0, 2, 1, 1, 0],
    "A2": [2, 0, 1, 1, 1, 0],
    "judge": [2, 2, 2, None, 2, 1],
}


def test_means_over_shared_sources_only(make_dataset: MakeDataset) -> None:
    table = compare(make_dataset({"ru": SCORES}, outputs_per_source=2), resamples=200)
    people = table[table["rater"] == "people"].set_index("generator")
    assert people["mean"].to_dict() == pytest.approx(
        {"g0": (2 + 1.5 + 1) / 3, "g1": (0 + 1 + 0) / 3}
    )
    judge = table[table["rater"] == "judge"].set_index("generator")
    assert (judge["sources"] == 2).all()  # the second source lacks a score for g1
    assert (judge["sources_left_out"] == 1).all()
    assert judge["mean"].to_dict() == pytest.approx({"g0": 2.0, "g1": 1.5})
    assert (people["mean_low"] <= people["mean"]).all()
    assert (people["mean_high"] >= people["mean"]).all()


def test_good_and_bad_outputs_of_different_sources_have_their_own_means(
    make_dataset: MakeDataset,
) -> None:
    """METAL's Table 4: of a good and a bad output each source kept one."""
    kept: list[int | None] = [2, None, None, 0, 2, None, None, 1, 1, None, None, 0]
    table = compare(
        make_dataset({"ru": {"A1": kept, "judge": [1] * 12}}, outputs_per_source=2), resamples=200
    )
    people = table[table["rater"] == "people"].set_index("generator")
    assert not people["paired"].any()
    assert people["sources"].tolist() == [3, 3]
    assert people["mean"].tolist() == pytest.approx([5 / 3, 1 / 3])
    assert (people["mean_low"] < people["mean"]).all()
    assert (people["mean_high"] > people["mean"]).all()
    assert set(people["undefined"]) == {""}
    judge = table[table["rater"] == "judge"]
    assert judge["paired"].all()
    assert set(judge["sources"]) == {6}


def test_a_generator_without_a_score_is_undefined(make_dataset: MakeDataset) -> None:
    scores: dict[str, list[int | None]] = {"A1": [1, None, 1, None], "judge": [1, 1, 1, 1]}
    table = compare(make_dataset({"ru": scores}, outputs_per_source=2), resamples=200)
    people = table[table["rater"] == "people"].set_index("generator")
    assert people["mean"]["g0"] == 1
    assert np.isnan(people["mean"]["g1"])
    assert tells(people["undefined"]["g1"], "none of the outputs", "scored")


def test_refusals(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"ru": SCORES}, outputs_per_source=2)
    with pytest.raises(MetalError, match="generator 'g7' is not known"):
        compare(dataset, generators=("g7",))
    with pytest.raises(MetalError, match="needs two"):
        compare(dataset, generators=("g0",))
    with pytest.raises(MetalError, match="rater 'x'"):
        compare(dataset, raters=("x",))
    with pytest.raises(MetalError, match=r"did you mean 'ru' \(Russian\)"):
        compare(dataset, languages=("Russian",))


def test_a_mean_is_over_as_many_sources_as_were_drawn() -> None:
    """Of many sources blocks are drawn, the last of which is smaller: equal scores have an interval
    without width.
    """
    # blocks of 5, and one of 1
    mean = _mean_of_sources(np.full(20_401, 50.0), None, SourceBootstrap(200, 0))
    assert (mean.low, mean.high) == pytest.approx((50.0, 50.0), rel=1e-12)


def test_a_mean_on_a_scale_with_ends_has_an_interval_with_width() -> None:
    # Wilson's interval at 5 (1.96 / t)^2 = 2.49 items of 5 sources that all say 2 of 0..2: t =
    # 2.776, 2 / (1 + t^2 / 5)
    mean = _mean_of_sources(np.full(5, 2.0), (0.0, 2.0), SourceBootstrap(200, 0))
    assert (mean.low, mean.high) == pytest.approx((2 / (1 + 2.776445**2 / 5), 2), abs=1e-5)
