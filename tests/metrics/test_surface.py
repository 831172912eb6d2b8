"""BLEU, chrF and TER: sacrebleu's own figures, by hand, tokens by language, several references."""

from __future__ import annotations

import importlib.util
import unicodedata

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from metal.errors import UsageError
from metal.raters.metrics import Item, find_metric, score_all
from metal.raters.metrics.conformance import SAMPLES
from metal.raters.metrics.surface import bleu_tokens, ter_tokens

NAMES = ("bleu", "chrf", "chrf++", "ter")
JAPANESE = (
    "ja-mecab"
    if importlib.util.find_spec("MeCab") and importlib.util.find_spec("ipadic")
    else "char"
)
WORDS = ["the", "cat", "dog.", "sat", "On,", "mat!", "7", "é"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


def score(name: str, output: str, *references: str, language: str = "en") -> float | None:
    return score_all(find_metric(name), [Item(output, references, "", language)])[0]


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_as_sacrebleu(output: str, references: list[str]) -> None:
    references = [unicodedata.normalize("NFC", reference) for reference in references]
    assert score("bleu", output, *references) == pytest.approx(
        sacrebleu.sentence_bleu(output, references).score
    )
    assert score("chrf", output, *references) == pytest.approx(
        sacrebleu.sentence_chrf(output, references).score
    )
    assert score("chrf++", output, *references) == pytest.approx(
        sacrebleu.sentence_chrf(output, references, word_order=2).score
    )
    assert score("ter", output, *references) == pytest.approx(
        sacrebleu.sentence_ter(output, references).score
    )


def test_by_hand() -> None:
    # cat sat on / cat sat in: one of three words is to be exchanged
    assert score("ter", "cat sat on", "cat sat in") == pytest.approx(100 / 3)
    # tokens 2/3, pairs 1/2, threes 0/1 smoothed to 1/2, no fours: (2/3 x 1/2 x 1/2)^(1/3), equally
    # long
    assert score("bleu", "cat sat on", "cat sat in") == pytest.approx(100 * (1 / 6) ** (1 / 3))
    # ab / ac: one of two characters, no pair: both precisions and recalls (1/2 + 0) / 2
    assert score("chrf", "ab", "ac") == pytest.approx(25)
    # and no word; no pair of words
    assert score("chrf++", "ab", "ac") == pytest.approx(100 * (1 / 2 + 0 + 0) / 3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", SAMPLES)
def test_a_sentence_cut_short_lies_between(name: str, code: str) -> None:
    # With tokens that do not suit the script it would be all or nothing.
    text, other = SAMPLES[code], SAMPLES["en" if code != "en" else "am"]
    metric = find_metric(name)
    entire, part, none = score_all(
        metric, [Item(t, (text,), "", code) for t in (text, text[: len(text) * 2 // 3], other)]
    )
    assert entire is not None
    assert part is not None
    assert none is not None
    assert (entire > part > none) if metric.direction == "higher" else (entire < part < 100)


def test_tokens_by_language() -> None:
    codes = ("zh", "zh-Hant", "yue", "en-zh", "ja", "th", "lo", "km", "my", "zh-en", "hi", "ko", "")
    assert [bleu_tokens(code) for code in codes] == [
        *["zh"] * 4,
        JAPANESE,
        *["char"] * 4,
        *["13a"] * 4,
    ]
    assert [ter_tokens(code) for code in codes] == [*["asian"] * 5, *["char"] * 4, *["words"] * 4]


def test_tokens_are_those_of_sacrebleu() -> None:
    output, reference = "孩子们早上去学校。", "孩子们早上和朋友一起去学校。"
    assert score("bleu", output, reference, language="zh") == pytest.approx(
        sacrebleu.sentence_bleu(output, [reference], tokenize="zh").score
    )
    assert score("ter", output, reference, language="zh") == pytest.approx(
        sacrebleu.sentence_ter(output, [reference], normalized=True, asian_support=True).score
    )
    assert score("bleu(tokenize=char)", "เด็ก", "เด็กๆ") == score(
        "bleu", "เด็ก", "เด็กๆ", language="th"
    )


def test_characters_of_thai_by_hand() -> None:
    # five characters with their marks, one exchanged; as words it would be 0 of 1
    assert score("ter", "ที่นี่ดีมา", "ที่นี่ดีนา", language="th") == pytest.approx(100 / 5)
    assert score("ter(tokenize=words)", "ที่นี่ดีมา", "ที่นี่ดีนา", language="th") == 100


def test_several_references_are_sacrebleus_not_the_best_of_each() -> None:
    # Each reference has one half: together they have every word, and BLEU counts both.
    halves = ("the cat and more", "some sat here too")
    together = score("bleu", "the cat sat here", *halves)
    assert together is not None
    assert all(together > (score("bleu", "the cat sat here", half) or 0) + 1 for half in halves)
    # TER: one edit to the second, over the mean length (2 + 4) / 2
    assert score("ter", "a b c x", "y z", "a b c d") == pytest.approx(100 / 3)


def test_signatures_say_what_was_done() -> None:
    version = sacrebleu.__version__
    assert find_metric("chrf").signature == (
        f"sacrebleu|chrF2|nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}|unicode:NFC"
    )
    signature = find_metric("bleu").signature
    assert "tok:auto(Han:zh;Jpan:" in signature
    assert f"version:{version}" in signature
    assert "|tok:zh|" in find_metric("bleu(tokenize=zh)").signature
    assert "|case:mixed|" in find_metric("ter(case_sensitive=yes)").signature
    names = [
        *NAMES,
        "bleu(smooth=none)",
        "chrf(beta=3)",
        "chrf(lowercase=yes)",
        "ter(tokenize=asian)",
    ]
    assert len({find_metric(name).signature for name in names}) == len(names)


def test_options_count() -> None:
    assert score("chrf(lowercase=yes)", "ABC", "abc") == 100
    assert score("bleu(lowercase=yes)", "A B C", "a b c") == 100
    assert score("ter(case_sensitive=yes)", "ABC", "abc") == 100
    assert score("ter", "ABC", "abc") == 0


@pytest.mark.skipif(JAPANESE == "ja-mecab", reason="MeCab is installed")
def test_without_mecab_it_is_said() -> None:
    with pytest.raises(UsageError, match=r"pip install 'sacrebleu\[ja\]'"):
        find_metric("bleu(tokenize=ja-mecab)")
    assert "Jpan:char" in find_metric("bleu").signature
