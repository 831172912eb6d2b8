"""Language codes: checked, named and found by name, all through langcodes (CLDR data)."""

from __future__ import annotations

from functools import lru_cache

import langcodes

from metal.errors import DataError

# Names that released data sets use for a language and that CLDR does not know.
FOLDER_NAMES = {
    "chinese_simplified": "zh",
    "chinese_traditional": "zh-Hant",
    "serbian_latin": "sr-Latn",
    "serbian_cyrillic": "sr",
    "scottish_gaelic": "gd",
    "pidgin": "pcm",
    "kirundi": "rn",
    "oromo": "om",
}


@lru_cache(maxsize=1024)
def is_language(code: str) -> bool:
    """Whether `code` is a BCP-47 code (`hi`, `zh-Hant`) or a translation pair (`zh-en`)."""
    if not code or code != code.strip():
        return False
    if langcodes.tag_is_valid(code):
        return True
    return _pair(code) is not None


def _pair(code: str) -> tuple[str, str] | None:
    left, _, right = code.partition("-")
    if right and "-" not in right and langcodes.tag_is_valid(left) and langcodes.tag_is_valid(right):
        return left, right
    return None


def check_language(code: str, where: object) -> None:
    """Raises DataError when `code` is no language, with the code that was probably meant."""
    if is_language(code):
        return
    meant = find_language(code)
    remedy = f"Write {meant!r}" if meant else "Use a BCP-47 code such as 'sw' or 'zh-Hant', or a pair such as 'zh-en'"
    raise DataError(where, f"language {code!r} is not a language code", remedy)


def find_language(name: str) -> str | None:
    """The code of a language given by code or English name (`Hindi`, `chinese_simplified`); None if unknown."""
    folded = name.strip().lower()
    if folded in FOLDER_NAMES:
        return FOLDER_NAMES[folded]
    if is_language(name.strip()) and len(folded) <= 3:
        return name.strip()
    try:
        return str(langcodes.find(folded.replace("_", " ")))
    except LookupError:
        return name.strip() if is_language(name.strip()) else None


@lru_cache(maxsize=1024)
def language_name(code: str) -> str:
    """The English name (`Swahili`), of a pair both (`Chinese to English`); the code itself where unknown."""
    if langcodes.tag_is_valid(code):
        return str(langcodes.Language.get(code).display_name())
    pair = _pair(code)
    if pair:
        return " to ".join(str(langcodes.Language.get(part).display_name()) for part in pair)
    return code
