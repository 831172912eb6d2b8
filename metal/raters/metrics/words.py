"""Texts as tokens, in every script.

A token is a word: letters, marks and digits in a row, without case. Scripts that are written without spaces between
words have a token a character, with its marks. Texts that look the same are the same: Unicode's composed form,
without joiners and soft hyphens, which only shape how letters are drawn.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

import langcodes
import regex

from metal.data.languages import sides

_NO_SPACES = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30FC\uFF70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Tham}\p{New_Tai_Lue}\p{Tai_Viet}\p{Javanese}\p{Balinese}]&&[\p{L}\p{N}]]"
)
_CHARACTER = _NO_SPACES + r"[\p{M}]*"
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")  # several times faster
_TOKEN = regex.compile(rf"{_CHARACTER}|[[\p{{L}}\p{{M}}\p{{N}}]--{_NO_SPACES}]+", regex.V1)
_SPREAD = regex.compile(_CHARACTER, regex.V1)
_SHAPING = regex.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
# ISO 15924 codes of scripts written without spaces; of languages, as CLDR has them.
HAN = frozenset({"Hans", "Hant", "Hani"})
JAPANESE = frozenset({"Jpan", "Hira", "Kana", "Hrkt"})
OTHER_UNSPACED = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Lana", "Talu", "Tavt", "Java", "Bali", "Tibt"})


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC): what looks the same is the same."""
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=512)  # outputs of one source come together
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text, in order.

    >>> tokens("Don't panic: 我们走。")
    ('don', 't', 'panic', '我', '们', '走')
    """
    if text.isascii():
        return tuple(_ASCII_WORD.findall(text.lower()))
    folded = composed(_SHAPING.sub("", unicodedata.normalize("NFD", text).casefold()))
    return tuple((_TOKEN if _SPREAD.search(folded) else _WORD).findall(folded))


def grams(tokens: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """Neighbouring tokens, `size` at a time; empty where there are fewer."""
    return list(zip(*(tokens[at:] for at in range(size)), strict=False))


def counted_grams(text: str, size: int) -> Counter[tuple[str, ...]]:
    """How often each row of `size` tokens stands in a text."""
    return Counter(grams(tokens(text), size))


def spread(text: str) -> str:
    """The text with a space around each character of a script without spaces; the rest as it is."""
    return " ".join(_SPREAD.sub(r" \g<0> ", text).split())


@lru_cache(maxsize=1024)
def script_of(language: str) -> str:
    """The script a language is written in, of a pair that of the output (`Deva`); empty where unknown."""
    code = sides(language)[1]
    if not language or not langcodes.tag_is_valid(code):
        return ""
    return langcodes.Language.get(code).maximize().script or ""
