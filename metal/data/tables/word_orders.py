"""Orders of answers in words: METAL's in orders/LANGUAGE.toml, and those in the user's own file.

A file holds tables like this one, from the worst or least to the best or most:

    [[order]]
    kind = "quality"
    words = ["cold", ["tepid", "lukewarm"], "warm"]

An inner list holds spellings of one answer. Case, blanks, dashes, commas and accents do not matter.
A scale may use only some of the answers, each in one spelling. kind: truth (whether something is
so), quality (the last is better on every criterion), degree, or agreement.
`stars = ["star", "stars"]` above the tables gives the words that follow the number in "4 stars".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.data.tables.cells import fold
from metal.errors import DataError, UsageError

FOLDER = Path(__file__).with_name("orders")
ORDER_KINDS = ("truth", "quality", "degree", "agreement")
FORMAT = (
    "Write [[order]] tables with kind ("
    + ", ".join(ORDER_KINDS)
    + ') and words = ["WORST", ..., "BEST"]'
)
_SAME_LETTER = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "’": "'", "ʼ": "'", "ँ": "ं"}
    | {"أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه"}
)
_JOINER = re.compile("(?<=[\u0600-\u06ff])\u200c")  # Persian writes a blank in its place as often
# Vowel signs, joiners, points below letters, commas, and what ends a sentence.
_NOT_READ = re.compile("[\u0640\u064b-\u0652\u200b-\u200f\u093c\u09bc,،、]|[.!。！]+$")


@dataclass(frozen=True)
class Order:
    """A known order of words.

    places: the position of each spelling (as `spelled` returns it), with 0 for the worst or least.

    kind: one of ORDER_KINDS. of: the language, or the user's file.
    """

    kind: str
    places: Mapping[str, int]
    of: str


@dataclass(frozen=True)
class OrderFile:
    """The contents of a file of orders.

    stars: the words after a number of stars.
    """

    orders: tuple[Order, ...]
    stars: tuple[str, ...] = ()


NO_ORDERS = OrderFile(())
_OWN: ContextVar[OrderFile] = ContextVar("own orders", default=NO_ORDERS)


def spelled(word: str) -> str:
    """A word in the form in which orders compare words.

    >>> spelled("Très  élevé"), spelled("İYİ"), spelled("जाँच")
    ('tres eleve', 'iyi', 'जांच')
    """
    letters = fold(word)
    if not letters.isascii():
        letters = _JOINER.sub(" ", letters).translate(_SAME_LETTER)
        decomposed = unicodedata.normalize("NFD", letters)
        letters = unicodedata.normalize(
            "NFC", re.sub("(?<=[a-zеЕ])[\u0300-\u036f]+", "", decomposed)
        )
    return _NOT_READ.sub("", letters)


def read_orders(path: Path) -> OrderFile:
    """The orders of a TOML file. Raises DataError, with the number of the table, for a table that
    is no order.
    """
    if not path.is_file():
        raise UsageError(f"`word_orders`: {path}: no such file")
    content = read_toml(path)
    unknown = sorted(content.keys() - {"order", "stars"})
    tables = content.get("order")
    if unknown or not isinstance(tables, list) or not tables:
        problem = (
            (f"{unknown[0]!r} does not belong in a file of orders")
            if unknown
            else "no [[order]] in it"
        )
        raise DataError(path, problem, FORMAT)
    stars = content.get("stars", [])
    if not _are_words(stars):
        raise DataError(path, "stars is not a list of words", 'Write stars = ["star", "stars"]')
    orders = [
        _order(table, path, f"{path} order {number}") for number, table in enumerate(tables, 1)
    ]
    return OrderFile(tuple(orders), tuple(stars))


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word.strip() for word in value)


def _order(table: Any, path: Path, location: str) -> Order:
    """Read and check one [[order]] table."""
    if not isinstance(table, dict) or table.keys() != {"kind", "words"}:
        raise DataError(location, "an order has only kind and words", FORMAT)
    if table["kind"] not in ORDER_KINDS:
        raise DataError(location, f"kind {table['kind']!r} is not one of {', '.join(ORDER_KINDS)}")
    if not isinstance(table["words"], list) or len(table["words"]) < 2:
        raise DataError(location, "words is not a list of two or more answers", FORMAT)
    places: dict[str, int] = {}
    for rank, spellings in enumerate(table["words"]):
        spellings = [spellings] if isinstance(spellings, str) else spellings
        if not _are_words(spellings) or not spellings:
            raise DataError(
                location, f"place {rank + 1} is neither a word nor a list of spellings", FORMAT
            )
        for word in map(spelled, spellings):
            if places.setdefault(word, rank) != rank:
                raise DataError(location, f"{word!r} occurs in two places", "Keep one of them")
    return Order(table["kind"], places, path.stem if path.parent == FOLDER else str(path))


@lru_cache(maxsize=1)
def _metal_orders() -> tuple[OrderFile, ...]:
    """METAL's files of orders, English first. If two orders agree on the ranks, the first one
    decides the kind.
    """
    paths = sorted(FOLDER.glob("*.toml"), key=lambda path: (path.stem != "en", path.stem))
    return tuple(map(read_orders, paths))


@lru_cache(maxsize=1)
def _by_word() -> dict[str, list[Order]]:
    """METAL's orders that contain each spelling."""
    orders: dict[str, list[Order]] = {}
    for file in _metal_orders():
        for order in file.orders:
            for word in order.places:
                orders.setdefault(word, []).append(order)
    return orders


@contextmanager
def own_orders(path: str | Path | None) -> Iterator[None]:
    """During the block, the orders of the file come before METAL's. path: None for no file. Raises
    what `read_orders` raises.
    """
    file = read_orders(Path(path)) if path else NO_ORDERS
    token = _OWN.set(file)
    try:
        yield
    finally:
        _OWN.reset(token)


def star_words() -> list[str]:
    """The words that follow the number in "4 stars", in all languages, the longest first."""
    spellings = {word.casefold() for file in (_OWN.get(), *_metal_orders()) for word in file.stars}
    return sorted(spellings, key=lambda word: (-len(word), word))


def fitting_orders(words: Collection[str]) -> list[tuple[Order, dict[str, int]]]:
    """The orders that contain all words, each at a position of its own, with the rank of each word;
    only the user's orders if one of them does.

    Positions without a word are skipped: `poor` and `good` get the ranks 0 and 1.
    """
    by_spelling = {spelled(word): word for word in words}
    # it may stand for anything
    a_letter = len(words) == 1 and re.fullmatch("[a-z]", next(iter(by_spelling)))
    if not words or a_letter or len(by_spelling) < len(words):
        return []
    first = next(iter(by_spelling))
    for orders in (_OWN.get().orders, _by_word().get(first, ())):
        fitting = []
        for order in orders:
            places = {
                word: order.places.get(spelling, -1) for spelling, word in by_spelling.items()
            }
            if min(places.values()) >= 0 and len(set(places.values())) == len(words):
                in_order = sorted(words, key=places.__getitem__)
                fitting.append((order, {word: rank for rank, word in enumerate(in_order)}))
        if fitting:
            return fitting
    return []


def order_of(words: Collection[str]) -> tuple[str, dict[str, int]] | None:
    """The kind of the first known order that contains all words, with the rank of each word; None
    without such an order, or if two orders contradict each other.

    >>> order_of(["Good", "bad", "Medium"])
    ('quality', {'bad': 0, 'Medium': 1, 'Good': 2})
    """
    fitting = fitting_orders(words)
    if not fitting or any(ranks != fitting[0][1] for _, ranks in fitting):
        return None
    return fitting[0][0].kind, fitting[0][1]


def in_upper_half(word: str) -> bool:
    """Whether a word is nearer to the best end than to the worst end of the first known order that
    contains it.
    """
    order = fitting_orders([word])[0][0]
    return 2 * order.places[spelled(word)] > max(order.places.values())
