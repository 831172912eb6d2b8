"""XL-Sum (Hasan et al. 2021): news passages with summaries in 45 languages, CC BY-NC-SA 4.0."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import langcodes

from metal.errors import UnknownName
from metal.languages import find_language, is_language

HUB_NAME = "csebuetnlp/xlsum"
REVISION = "refs/convert/parquet"  # the main branch is a script, which `datasets` runs no more
LICENCE = "CC BY-NC-SA 4.0 (XL-Sum: non-commercial research)"
CITATION = (
    "Hasan et al. (Findings of ACL 2021), XL-Sum: Large-Scale Multilingual Abstractive Summarization for 44 Languages"
)

# Its configurations, by the names it gives them.
NAMES = """
amharic arabic azerbaijani bengali burmese chinese_simplified chinese_traditional english french gujarati hausa hindi
igbo indonesian japanese kirundi korean kyrgyz marathi nepali oromo pashto persian pidgin portuguese punjabi russian
scottish_gaelic serbian_cyrillic serbian_latin sinhala somali spanish swahili tamil telugu thai tigrinya turkish
ukrainian urdu uzbek vietnamese welsh yoruba
""".split()  # noqa: SIM905

METALS = ("en", "fr", "zh", "hi", "ar", "bn", "ru", "tr", "ja", "sw")  # the languages of METAL's dataset


@lru_cache(maxsize=1)
def names_by_code() -> Mapping[str, str]:
    """Language code -> XL-Sum's name of it."""
    return {str(find_language(name)): name for name in NAMES}


def language_code(asked: str) -> str:
    """The code, as METAL uses it for XL-Sum, of a language asked for by code (`zh-CN`, `zh`) or name.

    Raises UnknownName for what is none of the 45.
    """
    code = find_language(asked)
    if code in names_by_code():
        return str(code)
    if code and is_language(code):
        meant = _written(code)
        for known in names_by_code():
            if _written(known) == meant:
                return known
    raise UnknownName("language", asked, [*names_by_code(), *NAMES], "XL-Sum has 45 languages")


@lru_cache(maxsize=256)
def _written(code: str) -> tuple[str | None, str | None]:
    """Language and script, those that go without saying included."""
    whole = langcodes.Language.get(code).maximize()
    return whole.language, whole.script
