"""Corrected p-values, by hand and beside another program's."""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.significance import benjamini_hochberg, benjamini_yekutieli

# Benjamini and Hochberg (1995), section 3: fifteen p-values. Corrected ones by statsmodels 0.14,
# multipletests.
PAPER = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0),
]
HOCHBERG = [
    *(0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645),
    *(0.0765, 0.486, 0.581182, 0.714875, 0.753231, 0.813214, 1.0),
]
YEKUTIELI = [
    *(0.004977, 0.009955, 0.031523, 0.118212, 0.200089, 0.211893, 0.211893, 0.214026),
    *(0.253845, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
]


def test_by_hand() -> None:
    # sorted: .01 .03 .04 .20;  x 4/1 .04, x 4/2 .06, x 4/3 .0533, x 4/4 .20;  least from here on:
    # .04 .0533 .0533 .20
    corrected = benjamini_hochberg([0.20, 0.03, 0.01, 0.04])
    assert corrected.tolist() == pytest.approx([0.20, 0.04 * 4 / 3, 0.04, 0.04 * 4 / 3])
    # x (1 + 1/2 + 1/3 + 1/4) = 25/12
    assert benjamini_yekutieli([0.20, 0.03, 0.01, 0.04]).tolist() == pytest.approx(
        (corrected * 25 / 12).tolist()
    )


def test_the_example_of_the_paper_as_statsmodels_has_it() -> None:
    order = np.random.default_rng(0).permutation(len(PAPER))
    given = np.array(PAPER)[order]
    assert benjamini_hochberg(given).tolist() == pytest.approx(
        np.array(HOCHBERG)[order].tolist(), abs=1e-6
    )
    assert benjamini_yekutieli(given).tolist() == pytest.approx(
        np.array(YEKUTIELI)[order].tolist(), abs=1e-6
    )
    assert (benjamini_hochberg(PAPER) <= 0.05).sum() == 4  # as the paper rejects


def test_none_and_one() -> None:
    assert benjamini_hochberg([]).tolist() == []
    assert benjamini_yekutieli([0.04]).tolist() == [0.04]
