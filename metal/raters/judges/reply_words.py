"""The words of replies that the reader knows in each language (reply_words.toml), as parts of its
patterns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import regex

OF_FORMS = "en"  # its other words are in the patterns of forms.py
_LETTERS = r"[\p{L}\p{M}]"
# whose words stand close to others
LETTER_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
_UNSPACED = regex.compile(LETTER_UNSPACED)
_WORD = regex.compile(rf"{_LETTERS}+")


class Deferred:
    """A pattern that is compiled when it is first used, because compiling takes a while and most
    texts need few patterns.
    """

    every: ClassVar[list[Deferred]] = []

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags
        self.every.append(self)

    @cached_property
    def compiled(self) -> Any:
        """The pattern itself."""
        return regex.compile(self._pattern, self._flags)

    def has_found(self, match: Any) -> bool:
        """Whether this pattern made the match. A pattern that is not compiled has made none."""
        return "compiled" in vars(self) and match.re is self.compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)


def compile_all() -> None:
    """Compile all patterns, so reading a text does not have to wait for them."""
    for pattern in Deferred.every:
        pattern.compiled  # noqa: B018


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, Mapping[str, Any]]:
    with Path(__file__).with_name("reply_words.toml").open("rb") as file:
        return tomllib.load(file)


def words_of(key: str, *tables: str) -> list[str]:
    """The words that these tables list under a key; without tables, the words of all languages
    except the language of forms.py.
    """
    listed: list[str] = []
    for name in tables or [name for name in _tables() if name != OF_FORMS]:
        listed += _tables()[name].get(key, [])
    return listed


@lru_cache(maxsize=1)
def numbered_languages() -> tuple[str, ...]:
    """The languages whose number words are known."""
    return tuple(name for name, table in _tables().items() if "numbers" in table)


def number_words(*languages: str) -> dict[str, float]:
    """Word -> number, from zero to ten, in these languages; by default in all languages except that
    of forms.py.
    """
    numbers: dict[str, float] = {}
    for language in languages or [name for name in _tables() if name != OF_FORMS]:
        for value, forms_of_one in enumerate(words_of("numbers", language)):
            for word in forms_of_one.split("|"):
                numbers.setdefault(word, float(value))
    return numbers


def pattern_of(words: Iterable[str]) -> str:
    """A pattern of any of these words, the longest first. It matches only whole words if the script
    has gaps between words.
    """
    complete, begun, parts = [], [], []
    for form in sorted({form for word in words for form in word.split("|")}, key=len, reverse=True):
        pattern = regex.escape(form.rstrip("*"), special_only=True, literal_spaces=True).replace(
            " ", r"\s+"
        )
        if _UNSPACED.search(form):
            parts.append(pattern)
        elif form.endswith("*"):
            complete.append(f"{pattern}{_LETTERS}*")
        elif regex.search(rf"{_LETTERS}\Z", form):
            complete.append(pattern)
        else:
            begun.append(pattern)
    pieces = [f"(?<!{_LETTERS})(?:{'|'.join(complete)})(?!{_LETTERS})"] if complete else []
    pieces += [f"(?<!{_LETTERS})(?:{'|'.join(begun)})"] if begun else []
    return f"(?:{'|'.join([*pieces, *parts])})"


def any_of(labels: tuple[str, ...]) -> str:
    """A pattern of any of these labels, the longest first. Without labels, it matches nothing."""
    return "|".join(map(regex.escape, sorted(labels, key=len, reverse=True))) or "(?!)"


def words_in(lowered: str, key: str, *tables: str) -> tuple[str, ...]:
    """The words of words_of that a text in lower case may contain. Most texts contain few, so only
    these few are searched for.
    """
    if not lowered.strip():
        return ()  # what is left of a reply that is an object
    tokens = _tokens(lowered)
    listed = _beginnings(lowered.isascii(), key, *tables)
    return tuple(
        [form for begins, form, is_word in listed if begins in (tokens if is_word else lowered)]
    )


@lru_cache(maxsize=2)
def _tokens(lowered: str) -> frozenset[str]:
    return frozenset(_WORD.findall(lowered))


@lru_cache(maxsize=64)
def _beginnings(in_ascii: bool, key: str, *tables: str) -> tuple[tuple[str, str, bool], ...]:
    """For each form, its beginning in lower case, the form itself, and whether it is one whole
    word.

    in_ascii: only forms that an ASCII text may contain.
    """
    forms = dict.fromkeys(form for word in words_of(key, *tables) for form in word.split("|"))
    rows = []
    for form in forms:
        begins = form.rstrip("*").lower()
        is_word = _WORD.fullmatch(form) is not None and not _UNSPACED.search(form)
        if begins.isascii() or not in_ascii:
            rows.append((begins, form, is_word))
    return tuple(rows)
