"""Answers in words: their scale comes from the levels in options, from numbers in the words, or
from a known order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from metal.data.metal_criteria import metal_criterion
from metal.data.records import Level, Scale, is_free_text
from metal.data.tables.answers import AnswerTexts, numbered_words
from metal.data.tables.cells import NO_NUMBER, fold
from metal.data.tables.levels import in_list, levels_from, metal_levels, metal_name, numbers_in
from metal.data.tables.word_orders import fitting_orders, in_upper_half, order_of
from metal.data.text import first_few
from metal.errors import DataError, UnknownOrder

READ_AS_WORDS = "read its words as"  # the beginning of the note on their order

_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|janv|févr|mars|avr|mai|juin|juil|août|déc|mär|mrz|okt|dez"
    "|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|fev|out|mrt|mei|sty|lut|kwi|maj|cze|lip|sie|wrz|paź|lis|gru"
    "|янв|фев|мар|апр|май|мая|июн|июл|авг|сен|окт|ноя|дек|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara"
)
# What spreadsheets make of 1-3 and 1/3: 1-Mar, Mar-01, 01.03.2024, 2024-03-01 00:00:00, 3月1日.
_DATE = re.compile(
    rf"\d{{1,2}}[-. /]+(?:{_MONTHS})\.?|(?:{_MONTHS})\.?[-."
    r" /]+\d{1,2}|\d{1,2}([./-])\d{1,2}\1\d{4}"
    r"|\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+)?|\d{1,2}月\d{1,2}日",
    re.IGNORECASE,
)


def scale_of_words(
    name: str,
    answers: AnswerTexts,
    chosen: Mapping[str, Any],
    place_of: Callable[[str], str],
    say: Callable[[str], None],
) -> tuple[Scale, np.ndarray[Any, Any]]:
    """The scale and scores of a criterion's answers, if some or all of them are words.

    place_of: a function that gives the file and row of a word. say: called with a line on what was
    decided. Raises DataError for dates, free text, words among numbers and answers that are not
    levels, UnknownOrder for words whose order is not known.
    """
    in_words = answers.in_words
    numbers = [number for number in answers.numbers if not np.isnan(number)]
    measure = chosen.get("measures", "ordinal")
    if chosen.get("levels"):
        _check_free_text(name, answers, place_of)
        levels = levels_from(chosen["levels"])
        return Scale(measure, levels), _scores_on(levels, name, answers, place_of)
    _check_dates(name, in_words, place_of)
    _check_free_text(name, answers, place_of)
    coded = _coded(name, in_words, numbers)
    if coded is None:
        if numbers:
            raise _word_among_numbers(name, next(iter(in_words)), place_of)
        if measure != "nominal":
            raise _unknown_order(name, in_words, place_of)
        coded = {label: (float(code), label) for code, label in enumerate(sorted(in_words))}
    levels = _two_or_more(coded)
    if set(levels) <= set(metal_levels(name)) and "measures" not in chosen:
        levels, measure = metal_levels(name), metal_criterion(metal_name(name)).scale.measure
    if measure != "nominal":
        say(f"{READ_AS_WORDS} {' < '.join(level.label for level in levels)}")
    by_word = {word: value for word, (value, _) in coded.items()}
    scores = [
        by_word.get(word, number)
        for word, number in zip(answers.words, answers.numbers, strict=True)
    ]
    return Scale(measure, levels), np.array(scores)


def _scores_on(
    levels: Sequence[Level], name: str, answers: AnswerTexts, place_of: Callable[[str], str]
) -> np.ndarray[Any, Any]:
    """The scores of answers on known levels. A number among labels such as S1 and S2 is read as the
    number of a label.
    """
    by_word = {fold(level.label): level.value for level in levels}
    numbered = numbers_in(level.label for level in levels)
    by_number = {level.value: level.value for level in levels}
    if numbered:
        by_number = {numbered[level.label]: level.value for level in levels}
    scores = []
    for text, word, number in zip(answers.texts, answers.words, answers.numbers, strict=True):
        score = by_word.get(fold(word)) if word else by_number.get(number, by_word.get(fold(text)))
        if score is None and (word or not np.isnan(number)):
            listed = ", ".join(level.shown for level in levels)
            problem = f"label {_shown(word or text)} of {name} is not in `levels`"
            raise DataError(place_of(word or text), problem, f"Add it to {listed}")
        scores.append(np.nan if score is None else score)
    return np.array(scores)


def _check_dates(name: str, in_words: Mapping[str, int], place_of: Callable[[str], str]) -> None:
    """Raise DataError for a date, because spreadsheets turn answers such as 1-3 into dates."""
    date = next(filter(_DATE.fullmatch, in_words), None)
    if date is None:
        return
    problem = (
        f"answer {date!r} of {name} is a date, which spreadsheets make of answers such as 1-3"
        " or 1/3"
    )
    remedy = "Format the column as text, enter the answers again and save"
    levels = {name: f"{date}<...<BEST"}
    raise DataError(
        place_of(date), problem, f"{remedy}; or say what the dates stand for: `levels={levels}`"
    )


def _check_free_text(name: str, answers: AnswerTexts, place_of: Callable[[str], str]) -> None:
    """Raise DataError if the answers are free text, because nearly all of them differ."""
    in_words = answers.in_words
    answered = sum(in_words.values())
    for count, number in zip(answers.counts, answers.numbers, strict=True):
        answered += 0 if np.isnan(number) else count
    if is_free_text(len(in_words), answered):
        word = next(iter(in_words))
        remedy = 'Name the column that holds scores, or replies: `columns={"reply": COLUMN}`'
        problem = (
            f"{len(in_words):,} different texts as scores of {name},"
            f" such as {_shown(word)}: free text"
        )
        raise DataError(place_of(word), problem, remedy)


def _word_among_numbers(name: str, word: str, place_of: Callable[[str], str]) -> DataError:
    """The error for a word among numbers that no order or label explains."""
    remedy = (
        'If these are labels: name all with `levels`; if they are replies: `columns={"reply":'
        " COLUMN}`; "
    )
    if len(fold(word)) != 1 and not any(map(str.isdigit, word)):
        remedy += f"if it means that nobody answered: `missing={[in_list(word)]}`"
    else:  # `Score: 3`, `B`: left out, an answer would be lost
        remedy += "a slip: write the number in the file"
    return DataError(place_of(word), f"score {_shown(word)} among numbers ({name})", remedy)


def _unknown_order(
    name: str, in_words: Mapping[str, int], place_of: Callable[[str], str]
) -> UnknownOrder:
    """The error for words that no known order contains, or that several orders rank differently."""
    listed = first_few(list(map(_shown, in_words)), 5)
    problem = f"answers in words whose order METAL does not know ({listed})"
    rankings: dict[str, str] = {}
    for order, ranks in fitting_orders(list(in_words)):
        rankings.setdefault(" < ".join(ranks), order.of)
    if len(rankings) > 1:
        both = " or ".join(f"{ranking} ({of})" for ranking, of in list(rankings.items())[:2])
        problem = f"answers in words for which METAL knows more than one order: {both}"
    without = [word for word in in_words if fold(word) not in NO_NUMBER]
    if len(rankings) < 2 and len(without) < len(in_words) and order_of(without):
        gone = [word for word in in_words if word not in without]
        no_answer = f"`missing={ {name: ','.join(map(in_list, gone))} }`"
        remedy = f"If they mean no answer: {no_answer}; else `levels={ {name: 'WORST<...<BEST'} }`"
        return UnknownOrder(
            f"{place_of(next(iter(in_words)))}, {name}", name, in_words, problem, remedy
        )
    remedy = (
        f"Name their order: `levels={ {name: 'WORST<...<BEST'} }` or, for many,"
        f" `word_orders=FILE`; `measures={ {name: 'nominal'} }` where they have none"
    )
    return UnknownOrder(
        f"{place_of(next(iter(in_words)))}, {name}", name, in_words, problem, remedy
    )


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:39]}…")


def _coded(
    name: str, in_words: Mapping[str, int], numbers: Sequence[float]
) -> dict[str, tuple[float, str]] | None:
    """The score and label of each word, by METAL's levels, the numbers in the words, or a known
    order; None if none fits.
    """
    ours = metal_levels(name)
    by_label = {fold(level.label): (level.value, level.label) for level in ours}
    if by_label.keys() >= {*map(fold, in_words)} and {level.value for level in ours} >= set(
        numbers
    ):
        return {word: by_label[fold(word)] for word in in_words}
    numbered = _numbered(in_words, numbers)
    if numbered or numbers:
        return numbered
    order = order_of(in_words)
    if order is None:
        return None
    kind, places = order
    if len(places) == 1:
        return {word: (float(in_upper_half(word)), word) for word in places}
    labels = list(places)
    if kind == "truth" and len(ours) == len(places):
        labels = [level.label for level in ours]
    return {word: (float(rank), labels[rank]) for word, rank in places.items()}


def _numbered(
    in_words: Mapping[str, int], numbers: Sequence[float]
) -> dict[str, tuple[float, str]] | None:
    """The score and label of each word, by the numbers in all words; None if words have no numbers,
    or if plain numbers among the answers lie outside their range.
    """
    numbered, pattern = numbered_words(in_words), "{:g}"
    if numbered is None:
        numbered = {word: (number, word) for word, number in numbers_in(in_words).items()}
        pattern = re.sub(r"\d+$", "{:g}", next(iter(in_words)))  # a bare 1 among S1, S2, ... is S1
    values = [value for value, _ in numbered.values()]
    if not values or (numbers and not min(values) <= min(numbers) <= max(numbers) <= max(values)):
        return None
    return numbered | {f"{x:g}": (x, pattern.format(x)) for x in numbers if x not in values}


def _two_or_more(coded: Mapping[str, tuple[float, str]]) -> tuple[Level, ...]:
    """The levels in order. A scale has at least two levels, even if all raters always gave the same
    answer.
    """
    levels = tuple(Level(value, label) for value, label in sorted(set(coded.values())))
    if len(levels) > 1:
        return levels
    other = Level(
        1 - levels[0].value if levels[0].value in (0, 1) else levels[0].value + 1, "(other)"
    )
    return tuple(sorted((*levels, other), key=lambda level: level.value))
