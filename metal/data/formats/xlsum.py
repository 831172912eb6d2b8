"""XL-Sum (Hasan et al. 2021): news passages with summaries in 45 languages, CC BY-NC-SA 4.0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import langcodes

from metal.data.languages import find_language
from metal.errors import UnknownName

HUB_NAME = "csebuetnlp/xlsum"
REVISION = "refs/convert/parquet"  # the main branch is a script, which `datasets` no longer runs
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
    """METAL's code for a language of XL-Sum, given by code (`zh-CN`, `zh`) or name.

    Raises UnknownName for a language that XL-Sum does not have.
    """
    code = code_among(asked, names_by_code())
    if code is None:
        raise UnknownName("language", asked, [*names_by_code(), *NAMES], "XL-Sum has 45 languages")
    return code


def code_among(asked: str, codes: Collection[str]) -> str | None:
    """The one of `codes` that a code or name means (`zh-CN`: `zh`); None where it means none of them, or several."""
    code = find_language(asked)
    if not code or code in codes:
        return code
    meant = _written(code)
    alike = [other for other in codes if meant and _written(other) == meant]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=1024)
def _written(code: str) -> tuple[str | None, str | None] | None:
    """Language and script, also where the code leaves them out; None for a pair, and for `und`."""
    if not langcodes.tag_is_valid(code) or langcodes.Language.get(code).language in (None, "und"):
        return None
    full = langcodes.Language.get(code).maximize()
    return full.language, full.script
