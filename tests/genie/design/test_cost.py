"""Cost and time, by hand."""

from __future__ import annotations

import pytest

from metal.errors import UsageError
from metal.genie.design.cells import Prices


def test_by_hand() -> None:
    # 300 items x 3 people are 900 ratings; with a tenth of the tasks test questions 1000 tasks: 1000 x 0.4 x 1.2 USD,
    # 1000 x 90 / 3600 hours, 0.4 USD for 90 seconds is 16 USD an hour.
    prices = Prices(pay=0.4, seconds=90)
    assert list(prices.cost(300, 3).values()) == [1000, 100, pytest.approx(480.0), pytest.approx(25.0)]
    assert prices.hourly == pytest.approx(16.0)
    assert not prices.underpaid


def test_parts_of_a_task_are_rounded_up() -> None:
    assert Prices().cost(10, 1)["tasks"] == 12  # 11.1
    assert Prices().cost(9, 1)["tasks"] == 10
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert Prices(test_share=0).cost(7, 2) == {"tasks": 14, "test_questions": 0, "usd": nan, "hours": nan}
    assert Prices().cost(0, 1)["tasks"] == 0


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
