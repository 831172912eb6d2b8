"""DesignCost and time, by hand."""

from __future__ import annotations

import pytest

from metal.errors import UsageError
from metal.genie.design.cost import DesignCost, Prices, cost


def test_by_hand() -> None:
    # 300 items x 3 people are 900 ratings; with a tenth of the tasks test questions 1000 tasks: 1000 x 0.4 x 1.2 USD,
    # 1000 x 90 / 3600 hours, 0.4 USD for 90 seconds is 16 USD an hour.
    prices = Prices(pay=0.4, seconds=90)
    assert cost(300, 3, prices) == DesignCost(1000, 100, pytest.approx(480.0), pytest.approx(25.0))
    assert prices.hourly == pytest.approx(16.0)
    assert not prices.underpaid


def test_parts_of_a_task_are_rounded_up() -> None:
    assert cost(10, 1, Prices()).tasks == 12  # 11.1
    assert cost(9, 1, Prices()).tasks == 10
    assert cost(7, 2, Prices(test_share=0)) == DesignCost(14, 0, None, None)
    assert cost(0, 1, Prices()) == DesignCost(0, 0, None, None)


@pytest.mark.parametrize(("pay", "underpaid"), [(0.25, False), (0.24, True), (None, False)])
def test_too_little_pay(pay: float | None, underpaid: bool) -> None:
    assert Prices(pay=pay, seconds=60).underpaid is underpaid


@pytest.mark.parametrize(
    "wrong",
    [
        {"pay": 0},
        {"pay": float("nan")},
        {"seconds": -1},
        {"seconds": float("inf")},
        {"fee": -0.1},
        {"test_share": 1},
        {"min_hourly": -1},
    ],
)
def test_impossible_prices_have_their_line(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="use"):
        Prices(**wrong)
