"""Intervals of kappa, alpha and macro F1: by hand, refused with a reason, and how often they
cover.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import metal
from metal.auditing.audit import audit
from metal.auditing.figures import Resampled
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Estimate
from metal.stats.agreement import cohen_disagreement, cohen_kappa
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.intervals import share_interval
from metal.stats.patterns import margins, margins_of
from metal.stats.significance import t_quantile
from tests.bench.beyond_chance import cells, coverage
from tests.saying import tells

MakeDataset = Callable[..., Dataset]
QUICK = AuditSettings(resamples=100)


def kappa(codes: Any, sources: Any) -> Estimate:
    drawn = Resampled(codes, sources, SourceBootstrap(100))
    sums = drawn.sums(lambda weights: margins(weights, *drawn.rows.T, 2))
    return drawn.beyond_chance(cohen_disagreement, "one class", sums)


def by_hand(codes: Any, sources: Any) -> tuple[float, float]:
    """The jackknife, a source at a time."""
    names = np.unique(sources)
    logs = np.array(
        [math.log(1 - cohen_kappa(margins_of(*codes[sources != name].T, 2))) for name in names]
    )
    n = len(names)
    error = math.sqrt((n - 1) / n * ((logs - logs.mean()) ** 2).sum())
    disagreeing = sum(
        bool((codes[sources == name][:, 0] != codes[sources == name][:, 1]).any()) for name in names
    )
    half = t_quantile(0.975, disagreeing - 1) * error
    ratio = 1 - cohen_kappa(margins_of(*codes.T, 2))
    return 1 - ratio * math.exp(half), 1 - ratio * math.exp(-half)


@pytest.mark.parametrize("outputs", [1, 3])
def test_kappa_is_computed_anew_without_each_source(outputs: int) -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 60)
    codes = np.column_stack([truth, np.where(rng.random(60) < 0.8, truth, 1 - truth)])
    sources = np.arange(60) // outputs
    estimate = kappa(codes, sources)
    assert (estimate.low, estimate.high) == pytest.approx(by_hand(codes, sources), abs=1e-12)
    assert estimate.value == pytest.approx(float(cohen_kappa(margins_of(*codes.T, 2))))


def test_without_a_disagreement_the_interval_is_wilsons() -> None:
    codes = np.repeat([[0, 0], [1, 1]], [30, 10], axis=0)
    estimate = kappa(codes, np.arange(40))
    expected = 1 - (0.75**2 + 0.25**2)
    most = share_interval(0.0, 0.0, 40, 40)[1]
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx(
        (1 - most / expected, 1, 1)
    )


def test_all_disagreement_in_one_source_is_no_certainty() -> None:
    codes = np.repeat([[0, 0], [1, 1], [0, 1]], [30, 26, 4], axis=0)
    estimate = kappa(codes, np.append(np.arange(56), [56] * 4))
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 < estimate.low < 0.8 < estimate.high < 1


def test_two_disagreements_leave_an_interval_that_says_something() -> None:
    """Student's t of one degree of freedom would put the lower end of a kappa of .91 at -2."""
    codes = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], [40, 18, 1, 1], axis=0)
    estimate = kappa(codes, np.arange(60))
    assert estimate.value == pytest.approx(0.92, abs=0.01)
    assert estimate.low is not None
    assert 0.6 < estimate.low < 0.8


def test_four_items_of_a_second_class_give_no_interval_and_say_so(
    make_dataset: MakeDataset,
) -> None:
    rare: list[int | None] = [0, 0, 0, 0, *[2] * 56]
    other: list[int | None] = [2, 0, 0, 0, *[2] * 56]
    tables = audit(
        make_dataset({"hi": {"A1": rare, "A2": other, "A3": rare, "judge": rare}}), QUICK
    ).tables
    judge = tables["judges"].iloc[0]
    assert judge["kappa"] == 1
    assert math.isnan(judge["kappa_low"])
    assert tells(judge["undefined"], "kappa: 4 items", "5 needed")
    people = tables["people"].iloc[0]
    assert math.isnan(people["fleiss_kappa_low"])
    assert "fleiss_kappa: 4 items" in people["undefined"]
    assert "alpha: 4 items" in people["undefined"]


def test_a_kappa_without_an_interval_has_its_reason(make_dataset: MakeDataset) -> None:
    rare: list[int | None] = [0, 0, 0, 0, *[2] * 56]
    found = metal.audit(make_dataset({"hi": {"A1": rare, "A2": rare, "judge": rare}}))
    estimate = found["judge", "hi", "task_quality"].kappa
    assert (estimate.value, estimate.low) == (1, None)
    assert tells(estimate.reason, "4 items", "5 needed")


def test_a_third_class_with_one_item_takes_no_interval_away(make_dataset: MakeDataset) -> None:
    rng = np.random.default_rng(2)
    truth = np.append(rng.integers(0, 2, 99), 2)
    scores = {
        who: np.where(rng.random(100) < 0.8, truth, 1).tolist()
        for who in ("A1", "A2", "A3", "judge")
    }
    tables = audit(make_dataset({"hi": scores}), QUICK).tables
    assert tables["judges"].iloc[0][["kappa_low", "alpha_low"]].notna().all()
    assert tables["people"].iloc[0][["fleiss_kappa_low", "alpha_low"]].notna().all()


def test_macro_f1_of_a_rare_class_is_worth_few_items(make_dataset: MakeDataset) -> None:
    truth: list[int | None] = [0] * 4 + [2] * 196
    tables = audit(
        make_dataset({"hi": {"A1": truth, "A2": truth, "A3": truth, "judge": truth}}), QUICK
    ).tables
    judge = tables["judges"].iloc[0]
    assert judge["macro_f1"] == judge["weighted_f1"] == 1
    # 2^2 / (1/4 + 1/196) = 15.7 items in place of 200
    assert judge["macro_f1_low"] == pytest.approx(
        share_interval(1.0, 0.0, 4 / (1 / 4 + 1 / 196), 200)[0]
    )
    assert judge["macro_f1_low"] < 0.85 < 0.95 < judge["weighted_f1_low"]


def test_macro_f1_beside_a_persons(make_dataset: MakeDataset) -> None:
    rng = np.random.default_rng(6)
    truth = rng.choice([0, 2], 200, p=[0.2, 0.8])
    scores = {
        who: np.where(rng.random(200) < 0.9, truth, 2 - truth).tolist()
        for who in ("A1", "A2", "A3")
    }
    tables = audit(make_dataset({"hi": {**scores, "constant": [2] * 200}}), QUICK).tables
    judge = tables["judges"].iloc[0]
    assert (
        judge["macro_f1_difference_low"]
        < judge["macro_f1_difference"]
        < judge["macro_f1_difference_high"]
        < -0.2
    )


ORDERED = ("quadratic kappa", "alpha, ordinal", "alpha, interval")
WORLD_5 = [
    cell for cell in cells(150) if cell[0].startswith("5") and cell[1] < 300 and cell[2] in ORDERED
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", WORLD_5)
def test_coverage_on_five_ordered_levels(cell: Any) -> None:
    """0.95 is promised; the interval of the observed disagreement at fixed chance covers .72 to .88
    of these.
    """
    covered, refused = coverage(cell)
    assert covered >= 0.90
    assert refused < 0.5
