"""Language codes: checked by langcodes, named and found by name through babel (CLDR data)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

import langcodes

from metal.data.text import name
from metal.errors import DataError, UnknownName, nearest

# Names of languages that CLDR does not have: in released data sets, and English ones besides that
# which CLDR prefers.
OTHER_NAMES = {
    "chinese_simplified": "zh",
    "chinese_traditional": "zh-Hant",
    "serbian_latin": "sr-Latn",
    "serbian_cyrillic": "sr",
    "scottish_gaelic": "gd",
    "pidgin": "pcm",
    "kirundi": "rn",
    "oromo": "om",
    "bengali": "bn",
    "burmese": "my",
    "farsi": "fa",
    "sinhalese": "si",
    "kyrgyz": "ky",
    "mandarin": "zh",
}


NEARLY = 0.75  # share of letters that a misspelt name has in common with what was meant
LONGEST_NAME = 30  # characters: of what speakers call a language, with room
SEVERAL = "mul"  # the code of a text in several languages
UNNAMED = "und"  # BCP 47: undetermined
NO_LANGUAGE = "no language"  # as people read that nobody named one


@lru_cache(maxsize=1024)
def is_language(code: str) -> bool:
    """Whether `code` is a BCP-47 code (`hi`, `zh-Hant`) or a translation pair (`zh-en`)."""
    return (
        bool(code)
        and code == code.strip()
        and (langcodes.tag_is_valid(code) or _pair(code) is not None)
    )


@lru_cache(maxsize=1024)
def _pair(code: str) -> tuple[str, str] | None:
    """The two languages of a translation pair.

    `en-de` is a pair, although `de` could also be a country; `en-DE` is English.
    """
    left, _, right = code.partition("-")
    if (
        right.islower()
        and "-" not in right
        and langcodes.tag_is_valid(left)
        and langcodes.tag_is_valid(right)
    ):
        return left, right
    return None


@lru_cache(maxsize=1024)
def pair_in_capitals(text: str) -> str | None:
    """The code of a translation pair written in capitals (`EN-ZH`); None for anything else.

    `PT-BR` is Portuguese of Brazil, because Portuguese is an official language there, although `br`
    is also a language; `EN-DE` is a pair.
    """
    from babel.languages import get_official_languages

    left, _, right = text.partition("-")
    if not (text.isupper() and left.isalpha() and right.isalpha()) or _pair(text.lower()) is None:
        return None
    official = get_official_languages(right, regional=True, de_facto=True)
    if left.lower() in [name.partition("_")[0] for name in official]:
        return None
    return "-".join(map(langcodes.standardize_tag, (left, right)))


def sides(code: str) -> tuple[str, str]:
    """The languages of source and output: the two of a pair, or the same language twice."""
    return _pair(code) or (code, code)


def check_language(code: str, location: object) -> None:
    """Raise DataError if `code` is not a language code; the message has the code that was probably
    meant.
    """
    if is_language(code):
        return
    meant = find_language(code)
    if meant:
        raise DataError(location, f"language {code!r} is not a language code", f"Write {meant!r}")
    raise DataError(location, f"language {name(code)!r} is not known", how_to_write(code))


def how_to_write(unknown: str) -> str:
    """Words on how to write an unknown language: the one probably meant, or what a code
    looks like.
    """
    meant = _misspelt(unknown, _codes_by_name())
    if meant:
        return f"Did you mean {meant!r} ({language_name(meant)})?"
    return "Write a name such as Swahili, a code such as sw or zh-Hant, or a pair such as zh-en"


def check_languages(asked: Iterable[str], codes: Collection[str]) -> None:
    """Raise UnknownName for the first requested language that is not among the codes; the message
    has the one probably meant.
    """
    for code in asked:
        if code not in codes:
            raise UnknownName("language", code, codes, instead=_among(code, codes))


def _among(asked: str, codes: Collection[str]) -> str:
    """The codes that an unknown language may mean, or those that exist, as advice."""
    meant = code_among(asked, codes)
    if meant not in codes:
        meant = _misspelt(asked, {language_name(code).lower(): code for code in codes})
    if meant:
        return f"did you mean {meant!r} ({language_name(meant)})?"
    return nearest("", [f"{code} ({language_name(code)})" for code in codes])


def _misspelt(name: str, codes_by_name: Mapping[str, str]) -> str | None:
    """The code of the language whose name is spelled nearly like this one."""
    spelled = name.strip().lower().replace("_", " ")
    near = difflib.get_close_matches(spelled, codes_by_name, n=1, cutoff=NEARLY)
    return codes_by_name[near[0]] if near else None


def find_language(name: str) -> str | None:
    """The code of a language given by code or name (`Hindi`, `hin`, `chinese_simplified`, `हिन्दी`,
    `Hindi (India)`), or of a pair (`eng-deu`, `English-German`, `English to German`); None if
    unknown.
    """
    folded = re.sub(r"\s*\([^()]*\)$", "", name.strip().lower())
    if folded in OTHER_NAMES:
        return OTHER_NAMES[folded]
    if capitals := pair_in_capitals(name.strip()):
        return capitals
    if re.fullmatch("[A-Z]{2,3}-[A-Z]{2}", name.strip()) and is_language(name.strip()):
        return langcodes.standardize_tag(name.strip())  # `pt-BR` for `PT-BR`
    if is_language(name.strip()) and (len(folded) <= 3 or "_" in folded):
        return langcodes.standardize_tag(name.strip())  # `hi` for `hin`, `hi-IN` for `hi_IN`
    pair = _pair(name.strip())
    if pair:
        return "-".join(map(langcodes.standardize_tag, pair))  # `en-de` for `eng-deu`
    by_name = _codes_by_name().get(folded.replace("_", " "))
    if by_name or is_language(name.strip()):
        return by_name or name.strip()
    return _by_own_name(folded) or _pair_of_names(name)


def _by_own_name(name: str) -> str | None:
    """The code of a language by its name in that language. This reads all of CLDR, which takes 1.4
    s, so it is skipped for a sentence or an id.
    """
    if len(name) > LONGEST_NAME or re.search(r"[\d_]", name):
        return None
    return _codes_by_own_name().get(name)


def _pair_of_names(text: str) -> str | None:
    """The code of a pair of languages written out or with a script: `English to German`,
    `eng_Latn-deu_Latn`.
    """
    parts = re.split(r"\s*(?:->|[-–→]|\bto\b)\s*", text.strip())
    if len(parts) != 2 or not all(len(part) > 4 for part in parts):
        return None
    codes = list(filter(None, map(find_language, parts)))
    return (
        "-".join(codes)
        if len(codes) == 2 and all(sides(code)[0] == code for code in codes)
        else None
    )


def code_among(asked: str, codes: Collection[str]) -> str | None:
    """The one of `codes` that a code or name means, as `zh-CN` means `zh`; None if it means none of
    them, or several.
    """
    code = find_language(asked)
    if not code or code in codes:
        return code
    meant = _written(code)
    alike = [other for other in codes if meant and _written(other) == meant]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=1024)
def _written(code: str) -> tuple[str | None, str | None] | None:
    """The language and script of a code, even if the code leaves the script out; None for a pair,
    and for `und`.
    """
    if not langcodes.tag_is_valid(code) or langcodes.Language.get(code).language in (None, "und"):
        return None
    full = langcodes.Language.get(code).maximize()
    return full.language, full.script


@lru_cache(maxsize=1)
def _english() -> Mapping[str, str]:
    """The English name of each code."""
    from babel import Locale

    return {code.replace("_", "-"): name for code, name in Locale("en").languages.items()}


@lru_cache(maxsize=1)
def _codes_by_name() -> Mapping[str, str]:
    return {name.lower(): code for code, name in reversed(list(_english().items()))}


@lru_cache(maxsize=1)
def _codes_by_own_name() -> Mapping[str, str]:
    """The code of each language by its speakers' own name of it."""
    from babel import Locale
    from babel.localedata import locale_identifiers

    codes = sorted(code for code in locale_identifiers() if "_" not in code)
    own = {(Locale(code).display_name or "").lower(): code for code in reversed(codes)}
    return {spoken: code for spoken, code in own.items() if spoken}


@lru_cache(maxsize=1024)
def language_name(code: str) -> str:
    """The English name (`Swahili`, of a pair `Chinese to English`); the code itself if it has none.

    If CLDR names only part of a code, the code is added: `Serbian (sr-Latn)`.
    """
    pair = _pair(code)
    if pair:
        return " to ".join(map(language_name, pair))
    if code == UNNAMED:
        return NO_LANGUAGE
    if code in _english():
        return "several languages" if code == SEVERAL else _english()[code]
    if langcodes.tag_is_valid(code):
        base = _english().get(langcodes.Language.get(code).language or "")
        return f"{base} ({code})" if base else code
    return code


def language_order(code: str) -> tuple[bool, str]:
    """A sort key that orders languages by name; all languages together (no code) come first."""
    return bool(code), language_name(code)


def name_in(code: str, language: str) -> str:
    """What speakers of `language` call a language; its English name if CLDR has no such name."""
    from babel import Locale, UnknownLocaleError

    try:
        names = [
            Locale.parse(language, sep="-").languages.get(part.replace("-", "_"))
            for part in _pair(code) or (code,)
        ]
    except (UnknownLocaleError, ValueError):
        names = [None]
    return " – ".join(map(str, names)) if all(names) and language != "en" else language_name(code)


@lru_cache(maxsize=1024)
def text_direction(code: str) -> str:
    """`rtl` or `ltr` as in CLDR, for a pair that of the second language; `auto` if CLDR has
    none.
    """
    from babel import Locale, UnknownLocaleError

    try:
        return str(Locale.parse(langcodes.standardize_tag(sides(code)[1]), sep="-").text_direction)
    except (UnknownLocaleError, ValueError):
        return "auto"
