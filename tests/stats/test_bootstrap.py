"""The bootstrap: same as resampling rows, right coverage, and wider where outputs share a
source.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.stats import bootstrap as module
from metal.stats.agreement import weighted_f1
from metal.stats.bootstrap import SourceBootstrap, SourceDraws, percentile_interval
from metal.stats.patterns import find_patterns, margins


def resampled_f1(codes: np.ndarray, sources: np.ndarray, bootstrap: SourceBootstrap) -> np.ndarray:
    patterns = find_patterns(codes)
    draws = bootstrap.draws(patterns, sources)
    return weighted_f1(margins(draws, patterns.rows[:, 0], patterns.rows[:, 1], 3))


def noisy_judge(rng: np.random.Generator, items: int) -> np.ndarray:
    truth = rng.choice(3, items, p=[0.2, 0.3, 0.5])
    return np.column_stack(
        [truth, np.where(rng.random(items) < 0.7, truth, rng.integers(0, 3, items))]
    )


def test_endpoints_agree_with_plain_item_bootstrap() -> None:
    rng = np.random.default_rng(3)
    codes = noisy_judge(rng, 300)
    ours = percentile_interval(resampled_f1(codes, np.arange(300), SourceBootstrap(8000, 1)))
    assert ours is not None
    plain = []
    for _ in range(4000):
        rows = codes[rng.integers(0, 300, 300)]
        plain.append(weighted_f1(margins(np.ones(300), rows[:, 0], rows[:, 1], 3)))
    # Monte Carlo error of a 2.5% quantile of 4,000 draws with sd 0.025: about 0.0013
    assert ours == pytest.approx(np.quantile(plain, [0.025, 0.975]).tolist(), abs=0.005)


def test_same_seed_same_figure_and_data_not_order_decides() -> None:
    codes = noisy_judge(np.random.default_rng(0), 200)
    first = resampled_f1(codes, np.arange(200), SourceBootstrap(500, 7))
    assert np.array_equal(first, resampled_f1(codes[::-1], np.arange(200), SourceBootstrap(500, 7)))
    assert not np.array_equal(first, resampled_f1(codes, np.arange(200), SourceBootstrap(500, 8)))


@pytest.mark.parametrize(
    "features", [np.arange(12).reshape(6, 2), np.sqrt(np.arange(12)).reshape(6, 2)]
)
def test_many_items_are_added_up_to_the_same_last_bit(
    features: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    patterns = find_patterns(np.concatenate([np.arange(6), rng.integers(0, 6, 500)])[:, None])
    # the last source has no item
    draws = SourceDraws(SourceBootstrap(10), patterns, rng.integers(0, 40, 506), 41)
    few = draws.contributions(features)
    monkeypatch.setattr(module, "_FEW_ITEMS", 0)
    many = draws.contributions(features)
    assert np.array_equal(few, many)
    by_hand = sum(features[patterns.which[draws.source == 7]])
    assert few[7] == pytest.approx(by_hand)
    assert not few[40].any()


def test_ninety_five_percent_intervals_cover_about_that_often() -> None:
    rng = np.random.default_rng(11)
    huge = noisy_judge(rng, 2_000_000)
    patterns = find_patterns(huge)
    true = weighted_f1(margins(patterns.counts, patterns.rows[:, 0], patterns.rows[:, 1], 3))
    hits = 0
    for world in range(400):
        interval = percentile_interval(
            resampled_f1(noisy_judge(rng, 150), np.arange(150), SourceBootstrap(400, world))
        )
        assert interval is not None
        hits += interval[0] <= true <= interval[1]
    # 0.95 +- 3.5 standard errors, less what percentile intervals lose
    assert 0.91 <= hits / 400 <= 0.98


def test_ignoring_sources_is_visibly_too_narrow() -> None:
    """Ten outputs per source that share their fate: 20 sources carry the information of 20 items,
    not 200.
    """
    rng = np.random.default_rng(5)
    true, clustered, naive = 0.7, 0, 0
    for world in range(200):
        right = rng.random(20) < true
        codes = np.column_stack([np.ones(200, dtype=int), np.repeat(right, 10).astype(int)])
        sources = np.repeat(np.arange(20), 10)
        patterns = find_patterns(codes)

        def share(sources: np.ndarray, patterns=patterns, world=world) -> tuple[float, float]:
            hit = (patterns.rows[:, 1] == 1).astype(int)
            draws = SourceBootstrap(400, world).draws(patterns, sources)
            interval = percentile_interval(draws @ hit / 200)
            assert interval is not None
            return interval

        low, high = share(sources)
        clustered += low <= true <= high
        low, high = share(np.arange(200))
        naive += low <= true <= high
    assert clustered / 200 > 0.88
    assert naive / 200 < 0.60


def test_items_drawn_among_more_sources_than_they_are_of() -> None:
    """Sources without an item add nothing; how many items a resample has varies, on average as many
    as there are.
    """
    patterns, among = (
        find_patterns(np.arange(90).reshape(-1, 1) % 3),
        np.repeat(np.arange(120) * 7, 2),
    )
    sources = np.arange(90) * 7 + 7
    draws = SourceBootstrap(4000, 0).draws(patterns, sources, among)
    counts = draws @ np.eye(3, dtype=int)
    items = counts.sum(axis=1)
    assert items.mean() == pytest.approx(90, rel=0.01)
    # binomial(120, 90 / 120)
    assert items.std() == pytest.approx((120 * 0.75 * 0.25) ** 0.5, rel=0.05)
    assert counts.mean(axis=0) == pytest.approx([30, 30, 30], rel=0.02)
    # What is drawn is the same for other items of these.
    every = SourceBootstrap(4000, 0).draws(find_patterns(np.zeros((240, 1), int)), among, among)
    assert np.array_equal(every @ np.ones((1, 1), dtype=int), np.full((4000, 1), 240))
    first = SourceBootstrap(4000, 0).draws(find_patterns(np.zeros((1, 1), int)), among[:1], among)
    weights = np.concatenate(list(SourceBootstrap(4000, 0).source_weights(120)))
    assert np.array_equal((first @ np.ones((1, 1), dtype=int))[:, 0], weights[:, 0])


def test_undefined_resamples() -> None:
    assert percentile_interval(np.array([np.nan] * 60 + [0.5] * 40)) is None
    assert percentile_interval(np.array([np.nan] * 20 + [0.5] * 80)) == (0.5, 0.5)


@pytest.mark.parametrize(
    "features", [np.arange(30).reshape(-1, 5) % 4, np.linspace(0.1, 2.0, 12).reshape(6, 2)]
)
def test_sums_over_drawn_sources_are_those_of_the_table_of_patterns(features: np.ndarray) -> None:
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.column_stack([np.arange(600) % 3, np.arange(600) % 2]))
    patterns, sources = find_patterns(codes), rng.integers(0, 40, 600)
    draws = SourceBootstrap(200, 0).draws(patterns, sources)
    assert isinstance(draws, SourceDraws)
    assert draws.shape == (200, 6)
    by_hand = np.zeros((40, 6))
    np.add.at(by_hand, (sources, patterns.which), 1)
    weights = np.concatenate(list(SourceBootstrap(200, 0).source_weights(40)))
    assert draws @ features == pytest.approx(weights @ by_hand @ features, rel=1e-12)


def test_whole_numbers_too_large_for_single_precision_stay_exact() -> None:
    sums = np.array([[2**25 + 1], [2**25 + 3], [2**26 + 5]])
    bootstrap = SourceBootstrap(100, 0)
    weights = np.concatenate(list(bootstrap.source_weights(3))).astype(np.int64)
    assert np.array_equal(bootstrap.totals(sums), weights @ sums)


@given(st.integers(1, 300_000))
def test_at_most_2048_are_drawn_and_they_are_of_one_size(sources: int) -> None:
    block = SourceBootstrap(10, 3).blocks(sources)
    if sources <= 2048:
        assert block is None
        return
    assert block is not None
    sizes = np.bincount(block)
    assert 1025 <= len(sizes) <= 2048
    assert (sizes[:-1] == sizes[0]).all()
    assert 1 <= sizes[-1] <= sizes[0]


@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_blocks_of_sources_vary_as_sources_do(order: str) -> None:
    """9,001 sources of two outputs that share their fate, also where the file is sorted by it."""
    rng = np.random.default_rng(8)
    fate = rng.random(9001) < 0.5
    shared = np.repeat(np.sort(fate) if order == "sorted" else fate, 2)
    codes = np.column_stack([shared, np.where(rng.random(18_002) < 0.8, shared, ~shared)]).astype(
        int
    )
    patterns, sources = find_patterns(codes), np.repeat(np.arange(9001), 2)
    bootstrap = SourceBootstrap(3000, 0)
    drawn = bootstrap.draws(patterns, sources) @ np.eye(4, dtype=int)
    by_source = np.zeros((9001, 4))
    np.add.at(by_source, (sources, patterns.which), 1)
    assert np.array_equal(drawn, bootstrap.totals(by_source)), (
        "figures share their draws, however they are added up"
    )
    assert drawn.mean(axis=0) == pytest.approx(patterns.counts, rel=0.005)
    # Covariance is 9001 x that of a source; the variance of 3,000 draws of 3,001 blocks is known to
    # 2.6% and 2.6%.
    expected = 9001 * np.cov(by_source.T, bias=True)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(np.cov(drawn.T) - expected).max() < 0.13 * scale.max()


def test_many_patterns_of_sources_with_one_output_are_drawn_as_sources() -> None:
    """1,500 distinct rows: drawn by source, with the variance of a resample of rows."""
    codes = np.arange(1500)[:, None]
    draws = SourceBootstrap(4000, 0).draws(find_patterns(codes), np.arange(1500))
    assert isinstance(draws, SourceDraws)
    share = (draws @ (np.arange(1500) < 300).astype(int)[:, None])[:, 0] / 1500
    assert share.mean() == pytest.approx(0.2, abs=0.001)
    assert share.std() == pytest.approx(np.sqrt(0.2 * 0.8 / 1500), rel=0.05)
