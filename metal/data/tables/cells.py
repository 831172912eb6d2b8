"""Cells as texts: names in one spelling, and answers as numbers, words, or texts that mean no
answer.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from metal.data.files import parse_json, whole_text
from metal.data.tables.decimals import with_points
from metal.data.text import first_few, plural

# What people and programs write for no answer, in lower case.
MISSING = frozenset(
    {
        "na",
        "n/a",
        "nan",
        "none",
        "null",
        "<na>",
        "-",
        "–",
        "—",
        "?",
        ".",
        "missing",
        "no answer",
        "n.a.",
        "n.a",
        "--",
    }
    | {
        "#n/a",
        "#value!",
        "#div/0!",
        "#name?",
        "#ref!",
        "#null!",
        "#num!",
        "-nan",
        "\\n",
        "nil",
        "…",
        "...",
        "(blank)",
    }
    | {"not rated", "unrated", "no rating", "not available", "not applicable", "skipped"}
)
# What stands for no answer beside numbers; among words these may be levels.
NO_NUMBER = frozenset(
    {
        "skip",
        "blank",
        "empty",
        "unknown",
        "don't know",
        "don’t know",
        "do not know",
        "cannot say",
        "can't say",
        "unsure",
    }
    | {"undefined", "tbd", "nr", "k.a.", "无", "なし"}
)
BLANKS = string.whitespace + "\u00a0\u200b\u200e\u200f\u2060\ufeff"  # also those that nobody sees
_SAID = frozenset({"content", "value", "tool_calls"})
_SPEAKERS = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
}


def plain_text(value: Any) -> str:
    """A cell as text: whole numbers without a point, conversations turn by turn, lists and objects
    as JSON.

    >>> plain_text(3.0), plain_text([{"role": "user", "content": "Hi"}])
    ('3', 'user: Hi')
    """
    if isinstance(value, str):
        return value if value.isascii() else whole_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return (
            str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
        )
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if turns := turns_of(value):
        return turn_by_turn(turns)
    return whole_text(
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list | dict)
        else str(value)
    )


def turns_of(value: Any) -> list[tuple[str, str]]:
    """The turns of a conversation as (speaker, text); empty for any other value.

    Conversations are written as OpenAI (role, content) or ShareGPT (from, value) write them, also
    as a text in JSON or in Python's own notation (as pandas writes CSV). A turn without text has an
    empty text.

    >>> turns_of('[{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}]')
    [('user', 'Hi'), ('assistant', 'Yo')]
    >>> turns_of("[{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': None}]")
    [('user', 'Hi'), ('assistant', '')]
    """
    messages = _messages(value)
    speakers = [plain_text(turn.get("role") or turn.get("from") or "text") for turn in messages]
    texts = ["\n".join(filter(None, map(_text_in, _parts(turn)))) for turn in messages]
    return [
        (_SPEAKERS.get(speaker, speaker), text)
        for speaker, text in zip(speakers, texts, strict=True)
    ]


def not_text(value: Any) -> Counter[str]:
    """How often a conversation contains parts that are not text (`image_url`, `tool_calls`, ...),
    which its turns leave out.
    """
    messages = _messages(value)
    kinds = Counter(
        str(part.get("type") or "part") if isinstance(part, Mapping) else "part"
        for part in chain.from_iterable(map(_parts, messages))
        if _text_in(part) is None
    )
    calls = [turn.get("tool_calls") for turn in messages]
    return kinds + Counter(
        tool_calls=sum(
            1 if isinstance(call, Mapping | str) else len(call)
            for call in calls
            if call is not None
        )
    )


def _messages(value: Any) -> list[Mapping[str, Any]]:
    """The messages of a conversation; empty for any other value."""
    if isinstance(value, str) and value.lstrip().startswith(("[{", "[ {")):
        try:
            value = ast.literal_eval(value) if "{'" in value[:4] else parse_json(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    if isinstance(value, np.ndarray):
        value = value.tolist()
    is_conversation = isinstance(value, list) and all(
        isinstance(turn, Mapping) and turn.keys() & _SAID for turn in value
    )
    return value if is_conversation else []


def _parts(turn: Mapping[str, Any]) -> list[Any]:
    """The parts of a message: its text, or text together with images and the like; none
    for null.
    """
    content = turn.get("content")
    content = turn.get("value") if content is None else content
    if isinstance(content, list | np.ndarray):
        return list(content)
    return [] if content is None else [content]


def _text_in(part: Any) -> str | None:
    """The text of a part of a message; None if it is not text."""
    text = part.get("text") if isinstance(part, Mapping) else plain_text(part)
    return text if isinstance(text, str) else None


def turn_by_turn(turns: Sequence[tuple[str, str]]) -> str:
    """A conversation as text, without turns that have no text."""
    return "\n\n".join(f"{speaker}: {text}" for speaker, text in turns if text)


def conversation(text: str) -> str:
    """A JSON list of messages as text, turn by turn; any other text unchanged."""
    turns = turns_of(text) if "{" in text else ()
    return turn_by_turn(turns) if turns else text


def digest(text: str) -> str:
    """A name for something that is known only by its text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def as_texts(column: pd.Series) -> pd.Series:
    """The column as categories of texts; empty cells are missing values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        if getattr(categories.dtype, "storage", "") == "pyarrow" and "" not in categories.tolist():
            return column  # what Arrow holds is UTF-8
        names = list(map(plain_text, column.cat.categories.tolist()))
        return _renamed(column, names)
    if column.dtype == object:
        column = column.map(lambda value: value if is_missing(value) else plain_text(value)).astype(
            "str"
        )
    return as_texts(column.astype("category"))


def as_numbers(column: pd.Series) -> pd.Series:
    """The column as numbers: infinite if a cell is no number, NaN if it is empty or means no
    answer.
    """
    texts = as_texts(column)
    spellings = texts.cat.categories.tolist()
    numerals = with_points(spellings)
    distinct = pd.Series(spellings if numerals.doubtful else numerals.texts, dtype=object)
    numbers = (
        pd.to_numeric(distinct, errors="coerce")
        .fillna(math.inf)
        .mask(distinct.str.lower().isin(MISSING))
    )
    return pd.Series(
        np.append(numbers, np.nan).astype(np.float64)[texts.array.codes],
        column.index,
        name=column.name,
    )


def is_missing(value: Any) -> bool:
    """Whether a cell is empty in the sense of pandas or JSON."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and math.isnan(value))
    )


def is_filled(frame: pd.DataFrame) -> Any:
    """(rows, columns) whether a cell is filled.

    `frame.notna()` takes much longer for many columns of categories.
    """
    filled = np.empty(frame.shape, dtype=bool)
    for index, (_, column) in enumerate(frame.items()):
        cells = column.array
        filled[:, index] = cells.codes >= 0 if isinstance(cells, pd.Categorical) else column.notna()
    return filled


def joined_categories(columns: Sequence[pd.Series]) -> pd.Categorical:
    """Columns of texts appended to each other, as with pandas' `union_categoricals`.

    Columns with the same texts are handled together.
    """
    first_of: dict[int, pd.Index] = {}
    for column in columns:
        first_of.setdefault(id(column.array.categories), column.array.categories)
    indexes = list(first_of.values())
    union = indexes[0].append(indexes[1:]).unique()
    places = {key: np.append(union.get_indexer(index), -1) for key, index in first_of.items()}
    codes = [places[id(column.array.categories)][column.array.codes] for column in columns]
    return pd.Categorical.from_codes(np.concatenate(codes), union)


def _renamed(column: pd.Series, names: Sequence[str]) -> pd.Series:
    """The column with its categories renamed; equal names become one category, and the empty name
    becomes missing.
    """
    codes, distinct = pd.factorize(np.array([*names, ""], dtype=object))
    empty = int(codes[-1])
    mapped = np.append(np.where(codes[:-1] == empty, -1, codes[:-1]), -1)[column.array.codes]
    kept = np.array([name != "" for name in distinct])
    new_codes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    categorical = pd.Categorical.from_codes(
        new_codes[mapped], pd.Index(distinct[kept], dtype="str")
    )
    return pd.Series(categorical, index=column.index, name=column.name)


def as_names(column: pd.Series, role: str, notes: list[str]) -> pd.Series:
    """A column of names in one spelling; a note says if any changed.

    Blanks around names are removed, names are in one Unicode form (NFC), and `12.0` becomes `12` if
    both occur.
    """
    texts = as_texts(column)
    spelled = texts.cat.categories.tolist()
    names = [unicodedata.normalize("NFC", name.strip(BLANKS)) for name in spelled]
    # 1 and 1.0 are versions
    numbers = {name for name in names if name.isdecimal()} if role != "generator" else set()
    names = [
        name.removesuffix(".0") if name.removesuffix(".0") in numbers else name for name in names
    ]
    renamed = [f"{old!r}" for old, new in zip(spelled, names, strict=True) if old != new]
    if renamed:
        notes.append(
            f"{role}: {plural(len(renamed), 'name')} with blanks before or after, `.0` at the end"
            f" or another Unicode form; read as the plain name ({first_few(renamed, 3)})"
        )
        texts = _renamed(texts, names)
    return texts


def fold(word: str) -> str:
    """A word in a form for comparison, without differences in case, blanks and dashes.

    >>> fold("  Strongly-Agree ")
    'strongly agree'
    """
    return " ".join(
        re.sub(r"[\s_\-‐–]+", " ", unicodedata.normalize("NFKC", word).casefold()).split()
    )
