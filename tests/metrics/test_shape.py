"""Length, compression, novelty, copying: by hand, by another way of counting, and where they are undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.errors import UsageError
from metal.raters.metrics import Item, find_metric, score_all, scored
from metal.raters.metrics.words import copy_rate, novelty, tokens

words = st.lists(st.sampled_from("abcd"), max_size=25).map(" ".join)


def test_length_beside_the_closest_reference() -> None:
    # 6 characters beside 3, 8 and 12: the one with 8 is closest
    items = [Item("ab cdef", ("abc", "abcd efgh", "abcdefghijkl"), "one two three four five six")]
    assert score_all(find_metric("length-ratio"), items) == [6 / 8]
    assert score_all(find_metric("length-ratio(to=source)"), items) == [6 / 22]


def test_two_references_equally_close() -> None:
    assert score_all(find_metric("length-ratio"), [Item("abcd", ("abcdef", "ab"))]) == [2.0]  # the shorter one


def test_length_counts_characters_not_bytes_or_forms() -> None:
    assert score_all(
        find_metric("length-ratio"), [Item("e\u0301\u00e9", ("\u00e9e\u0301",)), Item("我们", ("ab",))]
    ) == [1.0, 1.0]


def test_compression() -> None:
    items = [Item("two words", source="there are six words in here"), Item("天气", source="今天天气很好")]
    assert score_all(find_metric("compression"), items) == [3.0, 3.0]


def test_novelty_by_hand() -> None:
    # a b c d e beside x a b c: of the pairs ab bc cd de two are new; of the words two of five
    assert novelty("a b c d e", "x a b c", 2) == 0.5
    assert novelty("a b c d e", "x a b c", 1) == pytest.approx(0.4)
    assert novelty("a b a b", "a b", 2) == pytest.approx(1 / 3)  # every occurrence counts: ab ba ab


def test_copying_by_hand() -> None:
    # in the source, five in a row: a b c d e, b c d e f; the output's other three tokens are its own
    assert copy_rate("a b c d e f x y z", "q a b c d e f q x y", 5) == pytest.approx(6 / 9)
    assert copy_rate("a b x c d", "a b c d", 2) == pytest.approx(4 / 5)


@given(words, words, st.integers(1, 6))
def test_copying_counted_token_by_token(output: str, source: str, span: int) -> None:
    made, identity = tokens(output), " ".join(tokens(source)) + " "
    if len(made) < span:
        assert copy_rate(output, source, span) == f"fewer than {span} tokens in the output"
        return
    copied = set()
    for start in range(len(made) - span + 1):
        if " " + " ".join(made[start : start + span]) + " " in " " + identity:
            copied |= set(range(start, start + span))
    assert copy_rate(output, source, span) == len(copied) / len(made)


@given(words, words)
def test_all_is_new_or_copied_where_spans_are_single_words(output: str, source: str) -> None:
    new, copied = novelty(output, source, 1), copy_rate(output, source, 1)
    if not isinstance(new, str) and not isinstance(copied, str):
        assert new + copied == pytest.approx(1)
    else:
        assert not output


def test_undefined_with_a_reason() -> None:
    item = Item("?!", ("text",), "some source")
    reasons = {name: scored(find_metric(name), [item])[0].reason for name in ("compression", "novelty", "copy-rate")}
    assert reasons == {
        "compression": "no word in the output",
        "novelty": "fewer than 2 tokens in the output",
        "copy-rate": "fewer than 5 tokens in the output",
    }
    assert scored(find_metric("novelty"), [Item("a b")])[0].reason == "the source has no text"


def test_refusals() -> None:
    with pytest.raises(UsageError, match="novelty: n=0: write a number of tokens, 1 or more"):
        find_metric("novelty(n=0)")
    with pytest.raises(UsageError, match="span='five': write a whole number"):
        find_metric("copy-rate(span=five)")


def test_they_describe_and_do_not_judge() -> None:
    result = [find_metric(name) for name in ("length-ratio", "compression", "novelty", "copy-rate")]
    assert all(metric.descriptive and metric.best is None for metric in result)
