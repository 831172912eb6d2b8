"""Numbers on disk."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest

from metal.building.sample import Spool


@pytest.mark.parametrize(("kind", "numbers"), [("uint64", [2**64 - 1, 0, 7]), ("int32", [-1, 2**31 - 1])])
def test_what_was_appended_is_there_and_can_be_written_to(kind: str, numbers: list[int]) -> None:
    spool = Spool(kind)
    for number in numbers:
        spool.append([number])
    spool.append(numbers)
    array = spool.array()
    assert array.dtype == kind
    assert array.tolist() == numbers * 2
    array[0] = 5
    assert array.tolist() == [5, *numbers[1:], *numbers]


def test_nothing_was_appended() -> None:
    assert Spool("int32").array().tolist() == []


def test_the_array_outlives_the_spool_which_leaves_no_open_file() -> None:
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        spool = Spool("int32")
        spool.append(range(5000))
        array = spool.array()
        del spool
        gc.collect()
    assert not raised
    np.testing.assert_array_equal(array, np.arange(5000))
