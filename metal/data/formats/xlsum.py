"""XL-Sum (Hasan et al. 2021): news passages with summaries in 45 languages, CC BY-NC-SA 4.0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import langcodes

from metal.data.languages import find_language
from metal.errors import UnknownName

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
    code = code_among(asked, names_by_code())
    if code is None:
        raise UnknownName("language", asked, [*names_by_code(), *NAMES], "XL-Sum has 45 languages")
    return code


def code_among(asked: str, known: Collection[str]) -> str | None:
    """The one of the codes `known` that a code or name means: `zh-CN` means `zh`. None where none does, or several."""
    code = find_language(asked)
    if not code or code in known:
        return code
    meant = _written(code)
    alike = [one for one in known if meant and _written(one) == meant]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=1024)
def _written(code: str) -> tuple[str | None, str | None] | None:
    """Language and script, also those that go without saying; None for a pair and for no language in particular."""
    if not langcodes.tag_is_valid(code) or langcodes.Language.get(code).language in (None, "und"):
        return None
    whole = langcodes.Language.get(code).maximize()
    return whole.language, whole.script
