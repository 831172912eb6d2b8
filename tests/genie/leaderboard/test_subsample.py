"""The fixed subsample: by chance, and yet always the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data.records import Source
from metal.errors import UsageError
from metal.genie.output_scores import sources_chosen

SOURCES = tuple(
    Source(f"{language}-{number}", language) for language in ("en", "hi") for number in range(40)
)


def of(language: str, chosen: frozenset[str]) -> set[str]:
    return {name for name in chosen if name.startswith(language)}


@given(st.permutations(SOURCES), st.integers(1, 40), st.integers(0, 5))
def test_the_order_of_lines_does_not_matter(shuffled: list[Source], number: int, seed: int) -> None:
    chosen = sources_chosen(shuffled, number, seed)
    assert chosen == sources_chosen(SOURCES, number, seed)
    assert len(of("en", chosen)) == len(of("hi", chosen)) == number


@given(st.integers(1, 39), st.integers(0, 5))
def test_a_larger_sample_keeps_the_smaller_one(number: int, seed: int) -> None:
    assert sources_chosen(SOURCES, number, seed) < sources_chosen(SOURCES, number + 1, seed)


def test_languages_and_seeds_are_drawn_apart() -> None:
    chosen = sources_chosen(SOURCES, 10)
    assert of("en", chosen) == sources_chosen([one for one in SOURCES if one.language == "en"], 10)
    assert {name[3:] for name in of("en", chosen)} != {name[3:] for name in of("hi", chosen)}
    assert chosen != sources_chosen(SOURCES, 10, seed=1)


def test_a_new_source_moves_one_at_most() -> None:
    before = sources_chosen(SOURCES, 10)
    after = sources_chosen(
        [*SOURCES, *(Source(f"en-new{number}", "en") for number in range(3))], 10
    )
    assert len(before - after) <= 3
    assert of("hi", before) == of("hi", after)


def test_every_source_has_the_same_chance() -> None:
    # 2,000 samples of 10 of 40: each source is in 500 of them, give or take 5 standard deviations
    # of 19.4.
    times = dict.fromkeys((one.source for one in SOURCES if one.language == "en"), 0)
    for seed in range(2000):
        for name in sources_chosen(SOURCES[:40], 10, seed):
            times[name] += 1
    assert all(abs(count - 500) < 97 for count in times.values())


def test_what_cannot_be_asked_for() -> None:
    assert sources_chosen(SOURCES, 1000) == {one.source for one in SOURCES}
    assert sources_chosen([], 3) == frozenset()
    with pytest.raises(UsageError, match="a sample of 0 sources: use 1 or more"):
        sources_chosen(SOURCES, 0)
