"""Language codes and names."""

from __future__ import annotations

import pytest

from metal.data.languages import check_language, find_language, is_language, language_name
from metal.errors import DataError

XLSUM = """
amharic arabic azerbaijani bengali burmese chinese_simplified chinese_traditional english french
gujarati hausa hindi igbo indonesian japanese kirundi korean kyrgyz marathi nepali oromo pashto
persian pidgin portuguese punjabi russian scottish_gaelic serbian_cyrillic serbian_latin sinhala
somali spanish swahili tamil telugu thai tigrinya turkish ukrainian urdu uzbek vietnamese welsh
yoruba
""".split()  # noqa: SIM905


def test_every_language_of_xlsum_is_found_by_its_folder_name() -> None:
    codes = {name: find_language(name) for name in XLSUM}
    assert len(codes) == 45
    assert all(code and is_language(code) for code in codes.values())
    assert len(set(codes.values())) == 45


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
    ("wrong", "said"), [("hindi", "'hi'"), ("english", "'en'"), ("xx-yy-zz", "BCP-47"), ("", "BCP-47")]
)
def test_wrong_codes_are_answered_with_the_right_one(wrong: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        check_language(wrong, "outputs.jsonl row 3")
