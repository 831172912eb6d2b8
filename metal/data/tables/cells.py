"""Cells as texts: identifiers in one spelling, and answers as numbers, words, or what people write for no answer."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
import string
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metal.data.files import parse_json, whole_text
from metal.data.text import MINUS, first_few, plural

if TYPE_CHECKING:
    from metal.data.records import Scale

# What people and programs write for no answer, in lower case.
MISSING = frozenset(
    {"na", "n/a", "nan", "none", "null", "<na>", "-", "–", "—", "?", ".", "missing", "no answer", "n.a.", "n.a", "--"}
    | {"#n/a", "#value!", "#div/0!", "#name?", "#ref!", "#null!", "#num!", "-nan", "\\n", "nil", "…", "...", "(blank)"}
    | {"not rated", "unrated", "no rating", "not available", "not applicable", "skipped"}
)
# What stands for no answer beside numbers; among words these may be levels.
NO_NUMBER = frozenset(
    {"skip", "blank", "empty", "unknown", "don't know", "undefined", "tbd", "nr", "k.a.", "无", "なし"}
)
BLANKS = string.whitespace + "\u00a0\u200b\u200e\u200f\u2060\ufeff"  # also those that nobody sees
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_SAID = frozenset({"content", "value", "tool_calls"})
_SPEAKERS = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant", "model": "assistant"}
_NUMBERED_WORD = re.compile(
    r"\(?(?P<n>[+-]?\d+(?:\.\d+)?)\)?\s*(?:\((?P<a>[^\W\d_][^()]*)\)|[-–:=.)]?\s*(?P<b>[^\W\d_].*))"
)
_WORD_NUMBERED = re.compile(r"(?P<a>[^\W\d_][^()\d]*?)\s*[(\[=:]\s*(?P<n>[+-]?\d+(?:\.\d+)?)\s*[)\]]?")
_AS_TEXT = re.compile(r"=\"(.*)\"|'(\d.*)")  # how spreadsheets are told that a number is a text
_STARS = re.compile(r"(\d+(?:\.\d+)?) ?stars?|([★⭐]+)[☆]*", re.IGNORECASE)
_OUT_OF = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|out of)\s*(\d+)")
_SHORT = {"y": "yes", "n": "no", "t": "true", "f": "false"}


def plain_text(value: Any) -> str:
    """A cell as text: whole numbers without a point, a conversation turn by turn, lists and objects as JSON.

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
        return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if turns := turns_of(value):
        return turn_by_turn(turns)
    return whole_text(
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)
    )


def turns_of(value: Any) -> list[tuple[str, str]]:
    """Who said what in a conversation, as OpenAI (role, content) or ShareGPT (from, value) write it, also as text: JSON
    or what Python prints (pandas in CSV); nothing for any other value. A turn without text has an empty one.

    >>> turns_of('[{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}]')
    [('user', 'Hi'), ('assistant', 'Yo')]
    >>> turns_of("[{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': None}]")
    [('user', 'Hi'), ('assistant', '')]
    """
    messages = _messages(value)
    speakers = [plain_text(turn.get("role") or turn.get("from") or "text") for turn in messages]
    texts = ["\n".join(text for text in map(_text_in, _parts(turn)) if text) for turn in messages]
    return [(_SPEAKERS.get(speaker, speaker), text) for speaker, text in zip(speakers, texts, strict=True)]


def not_text(value: Any) -> Counter[str]:
    """How often a conversation has what is no text (`image_url`, `tool_calls`, ...), which its turns are without."""
    messages = _messages(value)
    kinds = Counter(
        str(part.get("type") or "part") if isinstance(part, Mapping) else "part"
        for turn in messages
        for part in _parts(turn)
        if _text_in(part) is None
    )
    calls = [turn.get("tool_calls") for turn in messages]
    return kinds + Counter(
        tool_calls=sum(1 if isinstance(call, Mapping | str) else len(call) for call in calls if call is not None)
    )


def _messages(value: Any) -> list[Mapping[str, Any]]:
    """The messages of a conversation; none of any other value."""
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
    """What a message consists of: its text, or text beside images and the like; null is nothing."""
    content = turn.get("content")
    content = turn.get("value") if content is None else content
    if isinstance(content, list | np.ndarray):
        return list(content)
    return [] if content is None else [content]


def _text_in(part: Any) -> str | None:
    """The text of a part of a message; None where it is no text."""
    text = part.get("text") if isinstance(part, Mapping) else plain_text(part)
    return text if isinstance(text, str) else None


def turn_by_turn(turns: Sequence[tuple[str, str]]) -> str:
    """A conversation as text, without the turns that have none."""
    return "\n\n".join(f"{speaker}: {text}" for speaker, text in turns if text)


def conversation(text: str) -> str:
    """A text that is a JSON list of messages, turn by turn; any other as it is."""
    turns = turns_of(text) if "{" in text else ()
    return turn_by_turn(turns) if turns else text


def digest(text: str) -> str:
    """The name of what is known by its text only."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def as_texts(column: pd.Series) -> pd.Series:
    """The column as categories of texts; empty cells and missing values are missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        if getattr(categories.dtype, "storage", "") == "pyarrow" and not (categories == "").any():
            return column  # what Arrow holds is UTF-8
        names = [plain_text(value) for value in column.cat.categories.tolist()]
        return _renamed(column, names)
    if column.dtype == object:
        column = column.map(lambda value: value if _is_missing(value) else plain_text(value)).astype("str")
    return as_texts(column.astype("category"))


def as_numbers(column: pd.Series) -> pd.Series:
    """The column as numbers; infinite where a cell is none, NaN where it is empty or stands for no answer."""
    texts = as_texts(column)
    distinct = pd.Series(texts.cat.categories.tolist(), dtype=object)
    numbers = pd.to_numeric(distinct, errors="coerce").fillna(math.inf).mask(distinct.str.lower().isin(MISSING))
    return pd.Series(np.append(numbers, np.nan).astype(np.float64)[texts.array.codes], column.index, name=column.name)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _renamed(column: pd.Series, names: Sequence[str]) -> pd.Series:
    """The column with its categories called so; equal names become one, the empty name is missing."""
    codes, distinct = pd.factorize(np.array([*names, ""], dtype=object))
    empty = int(codes[-1])
    mapped = np.append(np.where(codes[:-1] == empty, -1, codes[:-1]), -1)[column.array.codes]
    kept = np.array([name != "" for name in distinct])
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    categorical = pd.Categorical.from_codes(place[mapped], pd.Index(distinct[kept], dtype="str"))
    return pd.Series(categorical, index=column.index, name=column.name)


def as_names(column: pd.Series, role: str, notes: list[str]) -> pd.Series:
    """Identifiers without blanks around them, in one Unicode form (NFC), `12.0` beside `12` as that, so that twins
    become one; said in notes.
    """
    texts = as_texts(column)
    spelled = texts.cat.categories.tolist()
    names = [unicodedata.normalize("NFC", name.strip(BLANKS)) for name in spelled]
    numbers = {name for name in names if name.isdecimal()} if role != "generator" else set()  # 1 and 1.0 are versions
    names = [name.removesuffix(".0") if name.removesuffix(".0") in numbers else name for name in names]
    renamed = [f"{old!r}" for old, new in zip(spelled, names, strict=True) if old != new]
    if renamed:
        notes.append(
            f"{role}: {plural(len(renamed), 'name')} with blanks around, another Unicode form or `.0`, "
            f"written as others are ({first_few(renamed, 3)})"
        )
        texts = _renamed(texts, names)
    return texts


@dataclass(frozen=True)
class AnswerTexts:
    """The distinct answers of a criterion. numbers: of each, NaN for words and what is missing.

    words: spelled as most often, for each answer that is one; "" for others. missing: which stand for no answer.
    percent: whether all were written with a percent sign. ambiguous: whether `1,500`, and nothing else that says which,
    is 1.5 or 1500.
    """

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    numbers: tuple[float, ...]
    words: tuple[str, ...]
    missing: tuple[bool, ...]
    percent: bool = False
    ambiguous: bool = False

    @property
    def in_words(self) -> dict[str, int]:
        """Word -> how often, the most frequent first."""
        counts: Counter[str] = Counter()
        for word, count in zip(self.words, self.counts, strict=True):
            counts[word] += count
        del counts[""]
        return dict(counts.most_common())


def read_answers(
    counted: Mapping[str, int],
    missing: frozenset[str],
    say: Any,
    labels: Collection[str] = (),
    highest: float | None = None,
) -> AnswerTexts:
    """What the texts of a criterion's answers mean. counted: text -> how often. say: takes a line on what was decided.

    labels: of levels that are known; they are answers, also where one stands for no answer elsewhere. So is `none`
    beside words of an order that holds it (none < low < high). highest: the best or worst score, where it is known.

    Commas and percent signs are read where all answers fit; `2 Good` is the number 2 with its word. Where each comma
    has three digits after it, `highest` decides whether it divides thousands. Words that differ only in case, blanks or
    Unicode form are one.
    """
    texts = [unicodedata.normalize("NFKC", text).replace(MINUS, "-").strip() for text in counted]
    answers = set(map(fold, labels))
    texts = [next(filter(None, match.groups()), "") if (match := _AS_TEXT.fullmatch(text)) else text for text in texts]
    in_stars = [_STARS.fullmatch(text) for text in texts]
    if all(star or text.lower() in missing for star, text in zip(in_stars, texts, strict=True)):
        texts = [(star[1] or str(len(star[2]))) if star else text for star, text in zip(in_stars, texts, strict=True)]
    if all(text.lower() in missing | NO_NUMBER or _NUMBER.fullmatch(text) for text in texts):
        missing |= NO_NUMBER
    gone = [not text or text.lower() in missing or _number_in(text, missing) for text in texts]
    gone = [absent and (not text or fold(text) not in answers) for text, absent in zip(texts, gone, strict=True)]
    if "none" in map(str.lower, texts) and not answers:
        words = {fold(text) for text, absent in zip(texts, gone, strict=True) if not absent}
        if words and not any(map(_NUMBER.fullmatch, words)) and order_of([*words, "none"]):
            gone = [absent and text.lower() != "none" for text, absent in zip(texts, gone, strict=True)]
    here = [text for text, absent in zip(texts, gone, strict=True) if not absent]
    percent = bool(here) and all(text.endswith("%") and _NUMBER.fullmatch(text[:-1].strip()) for text in here)
    if percent:
        say("percent signs left out")
        texts = [text.removesuffix("%").strip() for text in texts]
    commas = [text for text in here if _WITH_COMMA.fullmatch(text)]
    three_digits = bool(commas) and all(map(_THOUSANDS.fullmatch, commas))
    if commas and all("." not in text and (_WITH_COMMA.fullmatch(text) or _NUMBER.fullmatch(text)) for text in here):
        thousands = three_digits and highest is not None and highest >= 1000
        if not three_digits or highest is not None:
            say("commas between thousands" if thousands else "decimal commas")
        texts = [text.replace(",", "" if thousands else ".") for text in texts]
    out_of = [match for text in here if (match := _OUT_OF.fullmatch(text))]
    if out_of and len(out_of) == len(here) and len({match[2] for match in out_of}) == 1:
        say(f"written out of {out_of[0][2]}")
        texts = [_OUT_OF.sub(r"\1", text) for text in texts]
    numbers = [
        float(text) if not absent and _NUMBER.fullmatch(text) else math.nan
        for text, absent in zip(texts, gone, strict=True)
    ]
    folded = [
        "" if absent or not math.isnan(number) else fold(text)
        for text, number, absent in zip(texts, numbers, gone, strict=True)
    ]
    if {*_SHORT.values()} & {*folded}:
        folded = [_SHORT.get(word, word) for word in folded]
    spelled = _usual_spelling(texts, folded, list(counted.values()))
    alike = {spelled[key] for key, count in Counter(filter(None, folded)).items() if count > 1}
    if alike:
        say(f"spellings that differ in case or blanks are one answer ({first_few(sorted(alike), 3)})")
    return AnswerTexts(
        tuple(counted),
        tuple(counted.values()),
        tuple(numbers),
        tuple(spelled.get(word, "") for word in folded),
        tuple(gone),
        percent,
        three_digits and highest is None,
    )


def _number_in(text: str, missing: Collection[str]) -> bool:
    """Whether it is a number that is listed in its usual spelling: -999 stands for -999.0 too."""
    return bool(_NUMBER.fullmatch(text)) and f"{float(text):.15g}" in missing


def _usual_spelling(texts: Iterable[str], folded: Iterable[str], counts: Iterable[int]) -> dict[str, str]:
    best: dict[str, tuple[int, str]] = {}
    for text, word, count in zip(texts, folded, counts, strict=True):
        if word:
            best[word] = max(best.get(word, (0, "")), (count, " ".join(text.split())))
    return {word: text for word, (_, text) in best.items()}


def zero_may_be_no_answer(scale: Scale) -> bool:
    """Whether 0 is the lowest of plain numbers that end as scales do which mostly begin with 1."""
    plain = all(level.label == f"{level.value:g}" for level in scale.levels)
    return plain and len(scale.levels) > 2 and scale.values[0] == 0 and scale.values[-1] in (5, 7, 10)


def fold(word: str) -> str:
    """A word for comparing: case, blanks and dashes do not count.

    >>> fold("  Strongly-Agree ")
    'strongly agree'
    """
    return " ".join(re.sub(r"[\s_\-‐–]+", " ", unicodedata.normalize("NFKC", word).casefold()).split())


def numbered_words(words: Collection[str]) -> dict[str, tuple[float, str]] | None:
    """Word -> its number and the rest, where every word is such and no number has two (`2 Good`, `Good (2)`)."""
    split = {w: match for w in words if (match := _NUMBERED_WORD.fullmatch(w) or _WORD_NUMBERED.fullmatch(w))}
    labels = {word: next(filter(None, map(match.groupdict().get, "ab"))) for word, match in split.items()}
    values = {word: (float(match["n"]), labels[word].strip()) for word, match in split.items()}
    distinct = (
        len({value for value, _ in values.values()}) == len(values) == len({label for _, label in values.values()})
    )
    return values if values and len(values) == len(words) and distinct else None


@dataclass(frozen=True)
class Order:
    """A known order of words, from the worst or least to the best or most. places: spelling -> place.

    kind: truth, quality (the last is better whatever is asked), degree or agreement.
    """

    kind: str
    places: Mapping[str, int]


@lru_cache(maxsize=1)
def known_orders() -> tuple[Order, ...]:
    """The orders of orders.toml."""
    with Path(__file__).with_name("orders.toml").open("rb") as file:
        orders = tomllib.load(file)["order"]
    return tuple(
        Order(order["kind"], {fold(word): at for at, place in enumerate(order["words"]) for word in place.split("|")})
        for order in orders
    )


def in_upper_half(word: str) -> bool:
    """Whether a word stands nearer the end than the beginning of the first known order that holds it."""
    order = next(order for order in known_orders() if fold(word) in order.places)
    return 2 * order.places[fold(word)] > max(order.places.values())


def order_of(words: Collection[str]) -> tuple[str, dict[str, int]] | None:
    """The kind of the first known order that holds all words, and word -> rank; None where there is none.

    Places without a word close up: `poor` and `good` are 0 and 1.

    >>> order_of(["Good", "bad", "Medium"])
    ('quality', {'bad': 0, 'Medium': 1, 'Good': 2})
    """
    for order in known_orders():
        places = {word: order.places.get(fold(word)) for word in words}
        if words and None not in places.values() and len(set(places.values())) == len(words):
            return order.kind, {word: rank for rank, word in enumerate(sorted(words, key=places.__getitem__))}  # type: ignore[arg-type]
    return None
