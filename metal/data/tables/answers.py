"""The answers of a criterion: numbers as people write them, words, and texts that mean no
answer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metal.data.tables.cells import NO_NUMBER, fold
from metal.data.tables.decimals import NUMBER, is_numeral, with_points
from metal.data.tables.word_orders import order_of, star_words
from metal.data.text import MINUS, first_few

if TYPE_CHECKING:
    from metal.data.records import Scale

_NUMBERED_WORD = re.compile(
    r"\(?(?P<n>[+-]?\d+(?:\.\d+)?)\)?\s*(?:\((?P<a>[^\W\d_][^()]*)\)|[-–:=.)]?\s*(?P<b>[^\W\d_].*))"
)
_WORD_NUMBERED = re.compile(
    r"(?P<a>[^\W\d_][^()\d]*?)\s*[(\[=:]\s*(?P<n>[+-]?\d+(?:\.\d+)?)\s*[)\]]?"
)
_AS_TEXT = re.compile(
    r"^(?:=\"(.*)\"|'(\d.*))\Z"
)  # how spreadsheets are told that a number is a text
_MAY_BE_STARS = re.compile(r"\d ?[^\W\d]|[★⭐]")
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out of)\s*(\d+)")
_SHORT = {"y": "yes", "n": "no", "t": "true", "f": "false"}


@dataclass(frozen=True)
class AnswerTexts:
    """The distinct answers of a criterion.

    numbers: the number of each answer; NaN for words and missing answers.

    words: for each answer that is a word, its most frequent spelling; "" for others. missing: which
    of them mean no answer. percent: whether all were written with a percent sign. doubtful: numbers
    that can be read in two ways (see `metal.data.tables.decimals`).
    """

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    numbers: tuple[float, ...]
    words: tuple[str, ...]
    missing: tuple[bool, ...]
    percent: bool = False
    doubtful: tuple[str, ...] = ()

    @property
    def in_words(self) -> dict[str, int]:
        """How often each word occurs, the most frequent first."""
        counts: Counter[str] = Counter()
        for word, count in zip(self.words, self.counts, strict=True):
            counts[word] += count
        del counts[""]
        return dict(counts.most_common())


def read_answers(
    counted: Mapping[str, int],
    missing: frozenset[str],
    say: Callable[[str], None],
    labels: Collection[str] = (),
    highest: float | None = None,
    decimal: str = "",
) -> AnswerTexts:
    """Find what the texts of a criterion's answers mean.

    counted: how often each text occurs. say: called with a line on what was decided.

    labels: the labels of known levels. They are answers, even if one of them means no answer in
    other data; the same holds for `none` among words of an order that includes it (none < low <
    high). highest: the best or worst score, if known. decimal: the decimal mark, if known.

    Percent signs, stars and `4/5` are read if all answers fit, commas as `with_points` says; `2
    Good` is the number 2 with its word. Words that differ only in case, blanks or Unicode form are
    one.
    """
    texts = [
        _AS_TEXT.sub(r"\1\2", unicodedata.normalize("NFKC", text).replace(MINUS, "-").strip())
        for text in counted
    ]
    texts = _without_stars(texts, missing)
    if all(text.lower() in missing | NO_NUMBER or is_numeral(text) for text in texts):
        missing |= NO_NUMBER
    gone = _no_answers(texts, missing, labels)
    texts, percents = _without_units(texts, gone, say)
    numerals = with_points(
        [text for text, absent in zip(texts, gone, strict=True) if not absent], decimal, highest
    )
    if numerals.note:
        say(numerals.note)
    doubtful = tuple([*counted][texts.index(text)] for text in numerals.doubtful)
    answered = iter(numerals.texts)
    texts = [text if absent else next(answered) for text, absent in zip(texts, gone, strict=True)]
    numbers, folded = _numbers_and_words(texts, gone)
    spelled = _usual_spelling(texts, folded, list(counted.values()))
    alike = {spelled[key] for key, count in Counter(filter(None, folded)).items() if count > 1}
    if alike:
        say(
            "spellings that differ in case or blanks are one answer"
            f" ({first_few(sorted(alike), 3)})"
        )
    return AnswerTexts(
        tuple(counted),
        tuple(counted.values()),
        tuple(numbers),
        tuple(spelled.get(word, "") for word in folded),
        tuple(gone),
        percents,
        doubtful,
    )


def _numbers_and_words(texts: Sequence[str], gone: Sequence[bool]) -> tuple[list[float], list[str]]:
    """The number of each text, NaN for others; and each word in one spelling, "" for others."""
    numbers, folded = [], []
    for text, absent in zip(texts, gone, strict=True):
        in_digits = not absent and NUMBER.fullmatch(text) is not None
        numbers.append(float(text) if in_digits else math.nan)
        folded.append("" if absent or in_digits else fold(text))
    if {*_SHORT.values()} & {*folded}:
        folded = [_SHORT.get(word, word) for word in folded]
    return numbers, folded


def _without_stars(texts: list[str], missing: Collection[str]) -> list[str]:
    """Numbers of stars (`4 stars` or ★★★★) as numbers, if all answers have this form."""
    first = next((text for text in texts if text.lower() not in missing), "")
    if not _MAY_BE_STARS.search(first):
        return texts
    stars = re.compile(
        rf"(\d+(?:[.,]\d+)?) ?(?:{'|'.join(map(re.escape, star_words()))})|([★⭐]+)☆*",
        re.IGNORECASE,
    )
    read = []
    for text in texts:
        match = stars.fullmatch(text)
        if not match and text.lower() not in missing:
            return texts
        read.append((match[1] or str(len(match[2]))) if match else text)
    return read


def _no_answers(
    texts: Sequence[str], missing: Collection[str], labels: Collection[str]
) -> list[bool]:
    """Which texts mean no answer."""
    on_levels = set(map(fold, labels))
    gone = []
    for text in texts:
        # a number in its usual spelling, too: -999 stands for -999.0
        spelled = f"{float(text):.15g}" if NUMBER.fullmatch(text) else text.lower()
        absent = not text or text.lower() in missing or spelled in missing
        gone.append(absent and (not text or fold(text) not in on_levels))
    return gone if on_levels else _by_the_others(texts, gone)


def _by_the_others(texts: Sequence[str], gone: list[bool]) -> list[bool]:
    """Which texts mean no answer, if other words show what `none` and N mean."""
    words = {fold(text) for text, absent in zip(texts, gone, strict=True) if not absent}
    if not words or any(map(is_numeral, words)):
        return gone
    if "none" in map(str.lower, texts) and order_of([*words, "none"]):
        gone = [absent and text.lower() != "none" for text, absent in zip(texts, gone, strict=True)]
    if {"c", "n"} < words <= {"c", "p", "i", "n"}:  # inspect_ai's grades: N is no answer
        gone = [absent or fold(text) == "n" for text, absent in zip(texts, gone, strict=True)]
    return gone


def _without_units(
    texts: list[str], gone: Sequence[bool], say: Callable[[str], None]
) -> tuple[list[str], bool]:
    """The texts without percent signs, or without the `/5` in which all answers end; and whether
    they were percentages.
    """
    answers = [text for text, absent in zip(texts, gone, strict=True) if not absent]
    if answers and all("%" in text and is_numeral(text.strip("% ")) for text in answers):
        say("percent signs left out")
        return [text.strip("% ") for text in texts], True
    ends = {match[2] if match else "" for match in map(_OUT_OF.fullmatch, answers)}
    if len(ends) != 1 or "" in ends:
        return texts, False
    say(f"answers are written with their maximum, /{ends.pop()}")
    return [_OUT_OF.sub(r"\1", text) for text in texts], False


def _usual_spelling(
    texts: Iterable[str], folded: Iterable[str], counts: Iterable[int]
) -> dict[str, str]:
    best: dict[str, tuple[int, str]] = {}
    for text, word, count in zip(texts, folded, counts, strict=True):
        if word:
            best[word] = max(best.get(word, (0, "")), (count, " ".join(text.split())))
    return {word: text for word, (_, text) in best.items()}


def zero_may_be_no_answer(scale: Scale) -> bool:
    """Whether 0 is the lowest of plain numbers whose highest is typical of scales that begin with
    1, so that 0 may mean no answer.
    """
    plain = all(level.label == f"{level.value:g}" for level in scale.levels)
    return (
        plain and len(scale.levels) > 2 and scale.values[0] == 0 and scale.values[-1] in (5, 7, 10)
    )


def numbered_words(words: Collection[str]) -> dict[str, tuple[float, str]] | None:
    """The number and the rest of each word such as `2 Good` or `Good (2)`; None unless all words
    have this form and no number has two words.
    """
    split = {
        w: match
        for w in words
        if (match := _NUMBERED_WORD.fullmatch(w) or _WORD_NUMBERED.fullmatch(w))
    }
    labels = {
        word: next(filter(None, map(match.groupdict().get, "ab"))) for word, match in split.items()
    }
    values = {word: (float(match["n"]), labels[word].strip()) for word, match in split.items()}
    distinct = (
        len({value for value, _ in values.values()})
        == len(values)
        == len({label for _, label in values.values()})
    )
    return values if values and len(values) == len(words) and distinct else None
