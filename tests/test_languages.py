"""Language codes and names; those of XL-Sum are in tests/formats/test_passages.py."""

from __future__ import annotations

import pytest

from metal.data.languages import check_language, find_language, is_language, language_name
from metal.errors import DataError


@pytest.mark.parametrize("code", ["en", "sw", "zh-Hant", "zh-en", "pt-BR", "sr-Latn"])
def test_codes(code: str) -> None:
    assert is_language(code)
    assert language_name(code) != ""


def test_names() -> None:
    assert language_name("hi") == "Hindi"
    assert language_name("zh-en") == "Chinese to English"
    assert find_language("Swahili") == "sw"
    assert find_language("klingonese") is None


@pytest.mark.parametrize(
    ("wrong", "message"), [("hindi", "'hi'"), ("english", "'en'"), ("xx-yy-zz", "BCP-47"), ("", "BCP-47")]
)
def test_wrong_codes_are_answered_with_the_right_one(wrong: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_language(wrong, "outputs.jsonl row 3")
