"""Tokens in every script; ROUGE; length, compression, novelty, copying: by hand and by another way
of counting.
"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.raters.metrics import Item, find_metric, score_all, scored
from metal.raters.metrics.conformance import SAMPLES
from metal.raters.metrics.words import (
    copy_rate,
    counted_grams,
    grams,
    novelty,
    rows_f1,
    script_of,
    spread,
    subsequence_f1,
    subsequence_length,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't PANIC, it's 3.5%", "don t panic it s 3 5"),
        ("Straße", "strasse"),
        ("बच्चे स्कूल जाते हैं।", "बच्चे स्कूल जाते हैं"),
        ("می‌روند", "میروند"),  # a zero-width non-joiner shapes letters; some write it, some do not
        ("我们走,OK吧。", "我 们 走 ok 吧"),
        ("コーヒーを飲む", "コ ー ヒ ー を 飲 む"),
        ("ที่นี่", "ที่ นี่"),
        ("아이들은 학교에", "아이들은 학교에"),
        ("?!", ""),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert list(tokens(text)) == [unicodedata.normalize("NFC", token) for token in expected.split()]


def test_ascii_is_no_exception() -> None:
    text = "It's 9 o'clock_NOW; e-mail me"
    assert tokens(text + " é")[:-1] == tokens(text)


@given(st.sampled_from(list(SAMPLES.values())), st.text(max_size=20))
def test_forms_of_unicode_do_not_matter(sample: str, more: str) -> None:
    text = sample + more
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


# Letters newer than this Python's tables are letters to the regex package.
@given(st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=60))
def test_nothing_but_letters_marks_and_digits(text: str) -> None:
    assert all(
        unicodedata.category(character)[0] in "LMN" for token in tokens(text) for character in token
    )


@pytest.mark.parametrize("code", SAMPLES)
def test_every_language_has_words(code: str) -> None:
    assert len(tokens(SAMPLES[code])) >= 5


def test_rows() -> None:
    assert grams(("a", "b", "c"), 2) == [("a", "b"), ("b", "c")]
    assert grams(("a",), 2) == []
    assert counted_grams("a b a b", 2) == {("a", "b"): 2, ("b", "a"): 1}


def test_spread() -> None:
    assert spread("ฉันไป Bangkok ที่") == "ฉั น ไ ป Bangkok ที่"


def test_scripts_of_languages() -> None:
    codes = ("zh", "zh-Hant", "ja", "th", "sr", "sr-Latn", "en-zh", "zh-en", "", "no such code")
    scripts = ("Hans", "Hant", "Jpan", "Thai", "Cyrl", "Latn", "Hans", "Latn", "", "")
    assert tuple(map(script_of, codes)) == scripts


KINDS = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
WORDS = ["the", "a", "cat", "Dog", "sat", "On", "mat's", "7th", "_x_", "end."]
texts = st.lists(st.sampled_from([*WORDS, "Éa"]), max_size=30).map(" ".join)
english = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


def test_by_hand() -> None:
    # output    the cat sat on the mat     6 tokens, 5 pairs
    # reference the mat the cat lay on     6 tokens, 5 pairs
    # shared    the the cat on mat         5 tokens -> 2 x 5 / 12; the cat, the mat: 2 pairs -> 2 x
    # 2 / 10
    # longest   the cat on                 3        -> 2 x 3 / 12 (or the the mat ... no longer one)
    output, reference = "The cat sat on the mat.", "The mat the cat lay on"
    assert rows_f1(output, reference, 1) == pytest.approx(10 / 12)
    assert rows_f1(output, reference, 2) == pytest.approx(4 / 10)
    assert subsequence_f1(output, reference) == pytest.approx(6 / 12)


@given(english, english)
def test_as_the_rouge_score_package_on_english(output: str, reference: str) -> None:
    from rouge_score import rouge_scorer

    theirs = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"]).score(
        reference, output
    )
    for kind, score in zip(KINDS, theirs.values(), strict=True):
        ours = scored(find_metric(kind), [Item(output, (reference,))])[0]
        if ours.score is None:  # theirs is 0 where nothing can be said
            assert score.fmeasure == 0
        else:
            assert ours.score == pytest.approx(score.fmeasure)


def test_where_the_rouge_score_package_fails() -> None:
    from rouge_score import rouge_scorer

    same = SAMPLES["hi"]
    assert rouge_scorer.RougeScorer(["rouge1"]).score(same, same)["rouge1"].fmeasure == 0
    assert rows_f1(same, same, 1) == 1


@pytest.mark.parametrize("kind", KINDS)
@given(texts, texts)
def test_symmetric_and_in_range(kind: str, output: str, reference: str) -> None:
    metric = find_metric(kind)
    present, back = score_all(metric, [Item(output, (reference,)), Item(reference, (output,))])
    assert present == back
    assert present is None or 0 <= present <= 1


def table_of_subsequences(left: str, right: str) -> int:
    row = [0] * (len(right) + 1)
    for item in left:
        before, row = row, [0]
        for at, other in enumerate(right):
            row.append(before[at] + 1 if item == other else max(before[at + 1], row[at]))
    return row[-1]


@given(st.text("abcd", max_size=90), st.text("abcde", max_size=90))
def test_longest_common_subsequence_as_the_table_has_it(left: str, right: str) -> None:
    assert subsequence_length(left, right) == table_of_subsequences(left, right)


def test_the_best_reference_counts() -> None:
    items = [Item("a b", ("a c", "a b", "z")), Item("a b", ("a c", "", "z"))]
    assert score_all(find_metric("rouge-1"), items) == [1.0, 0.5]


def test_undefined_only_where_neither_text_has_a_row() -> None:
    items = [
        Item("one", ("two",)),
        Item("one", ("two three",)),
        Item("?!", ("two three",)),
        Item("?!", ("...",)),
    ]
    result = scored(find_metric("rouge-2"), items)
    assert [item.score for item in result] == [None, 0.0, 0.0, None]
    assert result[0].reason == "neither text has 2 tokens"
    assert scored(find_metric("rouge-l"), items)[3].reason == "neither text has a word"


words = st.lists(st.sampled_from("abcd"), max_size=25).map(" ".join)


def test_length_beside_the_closest_reference() -> None:
    # 6 characters beside 3, 8 and 12: the one with 8 is closest
    items = [Item("ab cdef", ("abc", "abcd efgh", "abcdefghijkl"), "one two three four five six")]
    assert score_all(find_metric("length-ratio"), items) == [6 / 8]
    assert score_all(find_metric("length-ratio(to=source)"), items) == [6 / 22]


def test_two_references_equally_close() -> None:
    # the shorter one
    assert score_all(find_metric("length-ratio"), [Item("abcd", ("abcdef", "ab"))]) == [2.0]


def test_length_counts_characters_not_bytes_or_forms() -> None:
    assert score_all(
        find_metric("length-ratio"),
        [Item("e\u0301\u00e9", ("\u00e9e\u0301",)), Item("我们", ("ab",))],
    ) == [1.0, 1.0]


def test_compression() -> None:
    items = [
        Item("two words", source="there are six words in here"),
        Item("天气", source="今天天气很好"),
    ]
    assert score_all(find_metric("compression"), items) == [3.0, 3.0]


def test_novelty_by_hand() -> None:
    # a b c d e beside x a b c: of the pairs ab bc cd de two are new; of the words two of five
    assert novelty("a b c d e", "x a b c", 2) == 0.5
    assert novelty("a b c d e", "x a b c", 1) == pytest.approx(0.4)
    assert novelty("a b a b", "a b", 2) == pytest.approx(1 / 3)  # every occurrence counts: ab ba ab


def test_copying_by_hand() -> None:
    # in the source, five in a row: a b c d e, b c d e f; the output's other three tokens are its
    # own
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
    reasons = {
        name: scored(find_metric(name), [item])[0].reason
        for name in ("compression", "novelty", "copy-rate")
    }
    assert reasons == {
        "compression": "no word in the output",
        "novelty": "fewer than 2 tokens in the output",
        "copy-rate": "fewer than 5 tokens in the output",
    }
    assert scored(find_metric("novelty"), [Item("a b")])[0].reason == "the source has no text"


def test_they_describe_and_do_not_judge() -> None:
    result = [find_metric(name) for name in ("length-ratio", "compression", "novelty", "copy-rate")]
    assert all(metric.descriptive and metric.best is None for metric in result)
