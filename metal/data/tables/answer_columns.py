"""Columns of a table that hold answers: how their cells look, and where comments on the answers
are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.tables.answers import AnswerTexts, numbered_words, read_answers
from metal.data.tables.cells import MISSING, as_numbers, as_texts
from metal.data.tables.mturk import asked
from metal.data.tables.names import COMMENTS, CRITERION, ENDS, NO_ANSWERS, is_machine, is_person
from metal.data.tables.word_orders import order_of

STRAY = 9  # answers as they should be for each that is not, below which a column holds no answers
MOST_LEVELS = 101  # whole numbers with more distinct values than this are ids or counts
EPOCH = 100_000_000  # numbers from here on are points in time, or ids
LONGEST = 40  # characters of an answer in words
_FEWEST_COUNTED = 10  # rows of which a column that goes up by one is their number
_NO_NAME = re.compile(r"unnamed: \d+")  # what pandas calls the index that it wrote into a table


@dataclass(frozen=True)
class AnswerColumn:
    """A column of answers in a wide table: its name, and the rater, criterion, output and language
    of its answers; each is "" if another column says it.
    """

    column: str
    rater: str = ""
    criterion: str = ""
    comment: str = ""
    output: str = ""
    language: str = ""


def _spaced(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()  # WorkTimeInSeconds


def holds_answers(column: pd.Series) -> bool:
    """Whether the cells look like answers: numbers that are not ids, or words of a known order."""
    name = _spaced(str(column.name))
    filled = column.notna()
    if NO_ANSWERS.search(name) or not filled.any():
        return False
    if isinstance(column[filled].iloc[0], list | dict) or _counts_rows(column, name):
        return False
    if is_numeric_dtype(column):
        few = column.nunique() <= MOST_LEVELS
        scores = few or bool(column.dropna().mod(1).ne(0).any())
        return scores and not column.min() >= EPOCH
    texts = as_texts(column)
    categories = texts.array.categories.tolist()
    codes = texts.array.codes
    counts = np.bincount(codes[codes >= 0], minlength=len(categories)).tolist()
    counted = {text: count for text, count in zip(categories, counts, strict=True) if count}
    if not counted or len(counted) > 5000 or max(map(len, counted)) > LONGEST:
        return False
    return _texts_answer(_read(tuple(counted.items())), name)


def _texts_answer(answers: AnswerTexts, name: str) -> bool:
    """Whether texts are answers: numbers that are not ids, or words of a known order.

    name: the name of their column.
    """
    word_counts, numbers, in_numbers = answers.in_words, [], 0
    for count, number in zip(answers.counts, answers.numbers, strict=True):
        if not np.isnan(number):
            numbers.append(number)
            in_numbers += count
    # A stray cell does not make a column something else: its row is named where scores are read.
    if not word_counts or (numbers and in_numbers >= STRAY * sum(word_counts.values())):
        return _are_answers(numbers)
    called = CRITERION.search(name) or is_person(name) or is_machine(name)
    if called and numbered_words(word_counts):
        return True
    usual = [
        word for word, count in word_counts.items() if STRAY * count > sum(word_counts.values())
    ]
    return not numbers and order_of(usual) is not None


def _counts_rows(column: pd.Series, name: str) -> bool:
    """Whether the cells are row numbers, from 0 or 1 on; in a column without a name there may be
    gaps, because rows may have been removed.
    """
    if len(column) < _FEWEST_COUNTED or column.nunique() < len(column):
        return False
    numbers = as_numbers(column)
    if not np.isfinite(numbers).all():
        return False
    steps = np.diff(numbers)
    if _NO_NAME.fullmatch(name):
        return bool((steps > 0).all() and (steps % 1 == 0).all())
    return numbers.iloc[0] in (0, 1) and bool((steps == 1).all())


def _are_answers(numbers: Sequence[float]) -> bool:
    whole_ids = len(numbers) > MOST_LEVELS and all(number == int(number) for number in numbers)
    return bool(numbers) and not whole_ids and min(numbers) < EPOCH


def columns_with_answers(frame: pd.DataFrame, names: Collection[str]) -> set[str]:
    """The columns that hold answers.

    Columns with the same numbers are tested only once, which is faster.
    """
    asked_for, holding = set(names), set()
    texts_of: dict[int, list[str]] = {}
    decided: dict[tuple[int, bytes], bool | None] = {}
    for name, column in frame.items():
        if name not in asked_for:
            continue
        answers = None
        few = (
            isinstance(column.dtype, pd.CategoricalDtype)
            and len(column.cat.categories) <= MOST_LEVELS
        )
        if few and len(column.cat.categories) < max(len(column), _FEWEST_COUNTED):
            categories = column.array.categories
            codes = column.array.codes
            occurring = np.bincount(codes[codes >= 0], minlength=len(categories)) > 0
            key = id(categories), occurring.tobytes()
            if key not in decided:
                texts = texts_of.setdefault(id(categories), categories.tolist())
                decided[key] = _numbers_answer(
                    [text for text, occurs in zip(texts, occurring, strict=True) if occurs]
                )
            answers = decided[key]
        if answers is None:
            answers = holds_answers(column)
        if answers and not NO_ANSWERS.search(_spaced(str(name))):
            holding.add(str(name))
    return holding


def _numbers_answer(texts: Sequence[object]) -> bool | None:
    """Whether texts are numbers of the kind that answers are; None if numbers do not decide it."""
    if not texts or not all(isinstance(text, str) and 0 < len(text) <= LONGEST for text in texts):
        return None
    answers = _read(tuple((str(text), 1) for text in texts))
    return (
        None
        if any(answers.words)
        else _are_answers([x for x in answers.numbers if not np.isnan(x)])
    )


@lru_cache(maxsize=4096)
def _read(counted: tuple[tuple[str, int], ...]) -> AnswerTexts:
    """The meaning of texts as answers, cached because many columns of a table have the
    same texts.
    """
    return read_answers(dict(counted), MISSING, lambda line: None)


def without_end(column: str) -> str:
    """A name without its ending, so that `ling_rating` becomes `ling`; a name that is only such an
    ending stays.
    """
    return re.sub(rf"(.)[\s_\-.]({'|'.join(ENDS)})$", r"\1", asked(column), flags=re.IGNORECASE)


def with_comments(answers: Iterable[AnswerColumn], columns: Iterable[str]) -> list[AnswerColumn]:
    """The columns of answers, each with the column of comments on it: `fluency_comment`, or
    `ling_reasoning` for `ling_rating`.
    """
    by_lower_name: dict[str, str] = {}
    for column in columns:
        by_lower_name.setdefault(column.lower(), column)
    return [
        replace(each, comment=each.comment or _comment_of(each.column, by_lower_name))
        for each in answers
    ]


def _comment_of(column: str, by_lower_name: Mapping[str, str]) -> str:
    for stem in (column.lower(), without_end(column).lower()):
        for word in COMMENTS:
            names = [f"{stem}{gap}{word}" for gap in ("_", " ", "-", ".")]
            names += [f"{stem}_{end}_{word}" for end in ENDS]
            for name in names:
                if name in by_lower_name:
                    return by_lower_name[name]
    return ""
