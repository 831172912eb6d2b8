"""ROUGE: by hand, against the rouge-score package on English, and what must hold for any input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from metal.raters.metrics import Item, find_metric, score_all, scored
from metal.raters.metrics.conformance import SAMPLES
from metal.raters.metrics.words import rows_f1, subsequence_f1, subsequence_length

KINDS = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
WORDS = ["the", "a", "cat", "Dog", "sat", "On", "mat's", "7th", "_x_", "end."]
texts = st.lists(st.sampled_from([*WORDS, "Éa"]), max_size=30).map(" ".join)
english = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


def test_by_hand() -> None:
    # output    the cat sat on the mat     6 tokens, 5 pairs
    # reference the mat the cat lay on     6 tokens, 5 pairs
    # shared    the the cat on mat         5 tokens -> 2 x 5 / 12; the cat, the mat: 2 pairs -> 2 x 2 / 10
    # longest   the cat on                 3        -> 2 x 3 / 12 (or the the mat ... no longer one)
    output, reference = "The cat sat on the mat.", "The mat the cat lay on"
    assert rows_f1(output, reference, 1) == pytest.approx(10 / 12)
    assert rows_f1(output, reference, 2) == pytest.approx(4 / 10)
    assert subsequence_f1(output, reference) == pytest.approx(6 / 12)


@given(english, english)
def test_as_the_rouge_score_package_on_english(output: str, reference: str) -> None:
    theirs = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"]).score(reference, output)
    for kind, score in zip(KINDS, theirs.values(), strict=True):
        ours = scored(find_metric(kind), [Item(output, (reference,))])[0]
        if ours.score is None:  # theirs is 0 where nothing can be said
            assert score.fmeasure == 0
        else:
            assert ours.score == pytest.approx(score.fmeasure)


def test_where_the_rouge_score_package_fails() -> None:
    same = SAMPLES["hi"]
    assert rouge_scorer.RougeScorer(["rouge1"]).score(same, same)["rouge1"].fmeasure == 0
    assert rows_f1(same, same, 1) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_identical_texts_score_one_in_every_language(kind: str) -> None:
    items = [Item(text, (text,), "", code) for code, text in SAMPLES.items()]
    assert score_all(find_metric(kind), items) == [1.0] * 45


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
    items = [Item("one", ("two",)), Item("one", ("two three",)), Item("?!", ("two three",)), Item("?!", ("...",))]
    result = scored(find_metric("rouge-2"), items)
    assert [item.score for item in result] == [None, 0.0, 0.0, None]
    assert result[0].reason == "neither text has 2 tokens"
    assert scored(find_metric("rouge-l"), items)[3].reason == "neither text has a word"
