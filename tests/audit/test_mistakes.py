"""What a judge gets wrong, by hand: 20 outputs, three people who agree on 18, a judge."""

from __future__ import annotations

import numpy as np
import pytest

from metal.auditing.judging import JudgedItems, leniency
from metal.auditing.mistakes import Mistakes, certainty_rows, class_rows, confusion_rows
from metal.auditing.standing import Standing
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.intervals import wilson
from tests.audit.test_verdict import cell_of

PEOPLE = np.array([[0, 0, 0]] * 10 + [[1, 1, 1]] * 8 + [[0, 0, 1]] * 2)
JUDGE = np.array([0] * 8 + [1] * 2 + [1] * 4 + [0] * 4 + [1] * 2)
BOOTSTRAP = SourceBootstrap(200)


def test_recall_precision_and_what_is_said_instead() -> None:
    mistakes = Mistakes(Standing(cell_of(PEOPLE, JUDGE, ordered=True), "j"))
    zero, one = class_rows(mistakes)
    # The first two people of the last two outputs face a tie of 0 and 1: half a weight each. The
    # third faces 0.
    given_0, given_1 = 3 * 10 + 2 * (0.5 + 0.5 + 1), 3 * 8 + 2 * (0.5 + 0.5)
    assert zero["recall"] == pytest.approx(3 * 8 / given_0)
    assert one["recall"] == pytest.approx((3 * 4 + 2 * 1) / given_1)
    assert zero["precision"] == pytest.approx(3 * 8 / (3 * 12))
    assert zero["person_recall"] == pytest.approx((30 + 2 * 1) / given_0)
    assert zero["items"] + one["items"] == pytest.approx(20)
    assert zero["recall_low"] < zero["recall"] < zero["recall_high"]
    rows = {(row["people_say"], row["judge_says"]): row for row in confusion_rows(mistakes)}
    wrong = rows["0 L0", "1 L1"]
    assert wrong["share"] == pytest.approx((3 * 2 + 2 * 2) / given_0)
    assert wrong["person_share"] == pytest.approx((0.5 * 0 + 2 * 1) / given_0)


def test_where_people_are_certain() -> None:
    rows = list(certainty_rows(JudgedItems(cell_of(PEOPLE, JUDGE, ordered=True), "j", BOOTSTRAP)))
    assert [(row["case"], row["items"]) for row in rows] == [("all agree", 18), ("some agree", 2)]
    assert rows[0]["percent_agreement"] == 12 / 18
    assert rows[1]["percent_agreement"] == 0
    z = 1.959964
    t = 2.109816  # of 17 degrees of freedom, 0.975
    expected = wilson(
        12 / 18, min(18, (12 / 18) * (6 / 18) / (12 / 18 * 6 / 18 / 17)) * (z / t) ** 2, z
    )
    assert (rows[0]["percent_agreement_low"], rows[0]["percent_agreement_high"]) == pytest.approx(
        expected, abs=1e-5
    )


def test_a_lenient_judge() -> None:
    # Lower is better: the judge gives 2 x 1 too many and 4 too few, and 2 x 2/3 more than the mean
    # of 0, 0, 1.
    estimate = leniency(JudgedItems(cell_of(PEOPLE, JUDGE, ordered=True), "j", BOOTSTRAP))
    assert estimate.value == pytest.approx(-(2 - 4 + 4 / 3) / 20)
    assert estimate.low is not None
    assert estimate.low < estimate.value


def test_one_person_an_item_has_nobody_beside_the_judge() -> None:
    (zero, _) = class_rows(Mistakes(Standing(cell_of(PEOPLE[:, :1], JUDGE, ordered=True), "j")))
    assert np.isnan(zero["person_recall"])
    assert zero["recall"] == pytest.approx(8 / 12)
