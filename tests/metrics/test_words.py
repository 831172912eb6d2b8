"""Tokens in scripts with and without spaces, joiners, and Unicode's forms."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.raters.metrics.conformance import SAMPLES
from metal.raters.metrics.words import counted_grams, grams, script_of, spread, tokens


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
    assert all(unicodedata.category(character)[0] in "LMN" for token in tokens(text) for character in token)


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
    assert [script_of(code) for code in codes] == [
        "Hans",
        "Hant",
        "Jpan",
        "Thai",
        "Cyrl",
        "Latn",
        "Hans",
        "Latn",
        "",
        "",
    ]
