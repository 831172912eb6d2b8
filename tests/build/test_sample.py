"""Sampling from the fullest bin: numpy's histogram, fair draws, and splits that are not as they
should be.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.building import sample
from metal.building.sample import Histogram, SampleSettings, draw
from metal.data.formats.passages import Passage
from metal.data.records import Source
from metal.data.tokens import load_encoding
from metal.errors import DataError

ALL = SampleSettings(per_language=10**9, min_tokens=1, allow_fewer=True)


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    return load_encoding()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text `17 x` has 17 tokens: lengths as one likes, without a tokenizer."""
    count_in_first_word(monkeypatch)


def count_in_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sample, "count_tokens", lambda texts, encoding: (int(text.split()[0]) for text in texts)
    )


def of_lengths(lengths: Sequence[int]) -> Callable[[], Iterator[Passage]]:
    return lambda: (
        Passage(f"{length} {row}", str(row), where=f"row {row + 1}")
        for row, length in enumerate(lengths)
    )


def drawn(
    lengths: Sequence[int], rules: SampleSettings = ALL, language: str = "sw"
) -> tuple[Histogram, list[Source]]:
    return draw(language, of_lengths(lengths), None, rules)  # type: ignore[arg-type]


def names(result: tuple[Histogram, list[Source]]) -> list[str]:
    return [source.source for source in result[1]]


COUNTS = st.one_of(
    st.lists(st.integers(1, 60), min_size=1, max_size=80),
    st.lists(st.integers(1, 100_000), min_size=1, max_size=80),
    st.tuples(st.integers(1, 5000), st.integers(1, 40)).map(lambda each: [each[0]] * each[1]),
)


@settings(max_examples=40, deadline=None)
@given(COUNTS, st.sampled_from([1, 2, 7, 20]), st.sampled_from([1 << 20, 5]))
def test_histogram_and_members_are_numpys(lengths: list[int], bins: int, step: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        count_in_first_word(patch)
        patch.setattr(sample, "STEP", step)
        histogram, sources = drawn(lengths, SampleSettings(10**9, bins, 1, 0, True))
    counts, edges = np.histogram(lengths, bins)
    assert histogram.counts == tuple(counts)
    assert histogram.edges == tuple(edges)
    assert histogram.fullest == int(np.flatnonzero(counts == counts.max())[0])
    inside = [
        row
        for row, length in enumerate(lengths)
        if np.histogram([length], edges)[0][histogram.fullest]
    ]
    assert [source.source for source in sources] == [f"sw/{row}" for row in inside]
    assert [source.tokens for source in sources] == [lengths[row] for row in inside]
    assert len(inside) == counts.max()


@pytest.mark.usefixtures("counted")
def test_what_is_recorded() -> None:
    record = drawn([3, 40, 40, 41, 90], SampleSettings(1, 10, 10))[0].record()
    assert record == {
        "counts": [3, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        "edges": [40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90],
        "chosen_bin": 0,
        "passages": 5,
        "duplicates": 0,
        "near_empty": 1,
    }


UNEVEN = [*range(100, 160), *range(1000, 1010), 5000]  # 60 passages lie in the first of 20 bins


@pytest.mark.usefixtures("counted")
def test_drawn_from_the_bin_without_replacement_in_the_order_of_the_split() -> None:
    histogram, sources = drawn(UNEVEN, SampleSettings(25))
    rows = [int(source.source.removeprefix("sw/")) for source in sources]
    assert len(set(rows)) == 25
    assert rows == sorted(rows)
    assert max(rows) < 60
    assert all(
        histogram.bounds[0] <= (source.tokens or 0) < histogram.bounds[1] for source in sources
    )


@pytest.mark.usefixtures("counted")
def test_each_language_has_draws_of_its_own() -> None:
    """Neither the same rows for each, nor others for one when another is added."""
    swahili, yoruba = (
        names(drawn(UNEVEN, SampleSettings(25), language)) for language in ("sw", "yo")
    )
    assert [name[3:] for name in swahili] != [name[3:] for name in yoruba]
    assert names(drawn(UNEVEN, SampleSettings(25), "sw")) == swahili


@pytest.mark.usefixtures("counted")
def test_every_passage_of_the_bin_is_drawn_about_as_often() -> None:
    seeds = 400
    times = Counter(
        name
        for seed in range(seeds)
        for name in names(drawn(UNEVEN, SampleSettings(15, seed=seed)))
    )
    assert len(times) == 60
    expected = seeds * 15 / 60
    chi_square = sum((count - expected) ** 2 for count in times.values()) / (
        expected * (1 - 15 / 60)
    )
    assert chi_square < 105  # 59 degrees of freedom: p about 0.0002, and the seeds are fixed


@pytest.mark.usefixtures("counted")
def test_the_draw_does_not_depend_on_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    full = names(drawn(UNEVEN, SampleSettings(25)))
    monkeypatch.setattr(sample, "STEP", 7)
    assert names(drawn(UNEVEN, SampleSettings(25))) == full


@pytest.mark.usefixtures("counted")
def test_the_numbers_of_bins_that_hold_enough() -> None:
    """60 passages lie within 60 tokens, 10 more within 910, and one 4,900 above the shortest."""
    histogram, _ = drawn(UNEVEN, SampleSettings(1))
    assert histogram.bins_that_hold(72) == set()
    assert histogram.bins_that_hold(71) == {1}
    assert histogram.bins_that_hold(70) == {1, 2, 3, 4, 5}  # 4,900 / 5 = 980 tokens
    assert histogram.bins_that_hold(60) == set(range(1, 21))
    for bins in range(1, 21):
        assert (len(drawn(UNEVEN, SampleSettings(70, bins))[1]) == 70) == (bins <= 5)


def test_what_a_source_carries(encoding: tiktoken.Encoding) -> None:
    passages = [
        Passage("नदी के किनारे एक गाँव था", "7", "गाँव", "एक गाँव", "row 1"),
        Passage("वहाँ एक कुम्हार रहता था", "", "", "  ", "row 2"),
    ]
    _, sources = draw("hi", lambda: iter(passages), encoding, SampleSettings(5, 1, 1, 0, True))
    assert [source.source for source in sources] == ["hi/7", "hi/row-2"]
    assert [source.title for source in sources] == ["गाँव", ""]
    assert [source.references for source in sources] == [("एक गाँव",), ()]
    assert [source.tokens for source in sources] == [
        len(encoding.encode_ordinary(each.text)) for each in passages
    ]


@pytest.mark.usefixtures("counted")
def test_ids_that_repeat() -> None:
    ids = ["a#3", "a", "a", "a", "row-6", ""]
    passages = [Passage(f"20 {row}", name) for row, name in enumerate(ids)]
    _, sources = draw("sw", lambda: iter(passages), None, ALL)  # type: ignore[arg-type]
    result = [source.source for source in sources]
    assert result[:2] == ["sw/a#3", "sw/a"]
    assert len(set(result)) == len(ids)


@pytest.mark.parametrize("step", [1 << 20, 3])
@pytest.mark.usefixtures("counted")
def test_duplicates_and_near_empty_are_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(sample, "STEP", step)
    texts = [
        "20 a",
        "21 b",
        "20  a\n",
        "3 x",
        "\t20 a",
        "20 a b",
        "3 x",
        "21 b",
        "22 c",
        "9 y",
        "10 z",
    ]
    histogram, sources = draw(
        "sw",
        lambda: (Passage(text, str(row)) for row, text in enumerate(texts)),
        None,  # type: ignore[arg-type]
        SampleSettings(100, 1, 10, 0, True),
    )
    # the first of each
    assert [source.text for source in sources] == ["20 a", "21 b", "20 a b", "22 c", "10 z"]
    assert (histogram.duplicates, histogram.near_empty, histogram.passages) == (3, 3, 11)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 9))
def test_duplicates_are_found_in_every_share(texts: list[int], step: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        count_in_first_word(patch)
        patch.setattr(sample, "STEP", step)
        passages = [Passage(f"20 {text}", str(row)) for row, text in enumerate(texts)]
        histogram, sources = draw("sw", lambda: iter(passages), None, ALL)  # type: ignore[arg-type]
    assert [source.source for source in sources] == [
        f"sw/{texts.index(text)}" for text in dict.fromkeys(texts)
    ]
    assert histogram.duplicates == len(texts) - len(set(texts))


@pytest.mark.usefixtures("counted")
def test_a_split_without_passages() -> None:
    with pytest.raises(
        DataError, match=r"sw: 0 passages in this split: it is empty\. Give another `split`"
    ):
        drawn([])
    with pytest.raises(
        DataError, match="sw: 3 passages in this split: none of them has 10 tokens or more"
    ):
        drawn([1, 2, 9], SampleSettings())


@pytest.mark.parametrize(
    "second",
    [
        [Passage(f"20 other {row}", where=f"file row {row + 1}") for row in range(10)],
        [Passage(f"20 {row}") for row in range(9)],
        [],
        [Passage("20 new"), *(Passage(f"20 {row}") for row in range(10))],
    ],
    ids=["other texts", "one gone", "all gone", "one before"],
)
@pytest.mark.usefixtures("counted")
def test_a_source_that_changes_while_it_is_read(second: list[Passage]) -> None:
    versions = iter([[Passage(f"20 {row}") for row in range(10)], second])
    with pytest.raises(DataError, match="Run the command again"):
        draw("sw", lambda: iter(next(versions)), None, ALL)  # type: ignore[arg-type]


@pytest.mark.usefixtures("counted")
def test_progress_is_told_of_every_passage() -> None:
    shown: list[int] = []
    draw("sw", of_lengths([20] * 9000), None, ALL, shown.append)  # type: ignore[arg-type]
    assert sum(shown) == 9000
    assert len(shown) > 1


def test_memory_does_not_grow_with_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the passages, each of 2 KB: what is looked at together is made small enough to be
    passed by both.
    """
    count_in_first_word(monkeypatch)
    monkeypatch.setattr(sample, "STEP", 1 << 12)

    def peak(passages: int) -> int:
        def split() -> Iterator[Passage]:
            return (
                Passage(f"{20 + row % 500} {row} {'x' * 2000}", str(row)) for row in range(passages)
            )

        tracemalloc.start()
        try:
            draw("sw", split, None, SampleSettings(50))  # type: ignore[arg-type]
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(50_000) - peak(5_000) < 1_000_000
