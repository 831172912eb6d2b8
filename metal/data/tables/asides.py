"""What a table contains besides ratings: blank rows, rows of totals, and columns that summarise
raters or describe the work.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.answer_columns import without_end
from metal.data.tables.cells import as_numbers, as_texts, fold, is_filled, is_missing
from metal.data.tables.names import (
    METRIC,
    is_machine,
    is_no_criterion,
    is_nobodys,
    is_person,
    words_of,
)
from metal.data.tables.word_orders import order_of
from metal.data.text import first_few, plural

# Names of columns that stand for people where nobody else does, and of those that never do; as
# `fold` spells them.
REFERENCE = re.compile(
    r"((expert|human|crowd|annotator|rater) )?(gold|golden|gold standard|ground"
    r" ?truth|adjudicat(ed|ion)|final|labels?)"
    r"( (label|score|rating|value|answer|decision|verdict)s?)?"
)
ASIDE = re.compile(
    r"((expert|human|crowd|annotator|rater|overall) )?"
    r"(majority|mode|consensus|median|mean|avg|average|aggregated?|overall)"
    r"( (vote|voting|label|score|rating|value|answer|decision|verdict)s?)?|"
    r"(sum|total)( score)?|std( ?dev)?|stdev|sd|variance|(fleiss |cohen )?kappa|"
    r"(n|num|number of) (raters|annotators)|agreement|"
    r"difficulty|batch|legend|session|order|index|attention( check)?|rank|round|hit number|z("
    r" ?scores?)?"
)
ROWS = tuple(
    fold(
        "total,grand total,sum,mean,average,avg,median,sd,std,std dev,stdev,standard deviation,σ,"
        "somme,moyenne,médiane,écart type,итого,всего,сумма,среднее,медиана,toplam,ortalama,medyan,"
        "कुल,योग,औसत,মোট,গড়,المجموع,الإجمالي,المتوسط,总计,合计,平均,平均值,中位数,合計,平均値,中央値,jumla,wastani"
    ).split(",")
)
ROWS_EACH = 10  # rows of a rater from which on what never changes is a fact about the rater
# A column that is named after another: `score.1`, `score_copy`, `score (2)`.
COPY = re.compile(
    r"(.+?)([ _.-](copy|copied|dup|duplicate|old|backup)|(?<!\d)\.\d+| ?\((copy|\d+)\))",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"(.+)[ _.-]\d+")
_SURVEY = '{"ImportId"'
MOST_TRIED = 200  # columns that are tried one by one, each against all others
# rows in which people differ, to say that a column follows from the others'
FEWEST, LOOKED_AT = 30, 10_000


def without_copies(frame: pd.DataFrame, kept: Collection[str], notes: list[str]) -> pd.DataFrame:
    """The frame without columns that repeat another's cells and have its name with an ending such
    as `_copy` or `.1`.

    A different number at the end may also mean another rater, so such a column only counts as a
    copy if many rows are alike. kept: columns that stay in any case.
    """
    copies = []
    for column in frame.columns:
        match = COPY.fullmatch(column) or (
            NUMBERED.fullmatch(column) if len(frame) >= FEWEST else None
        )
        if not match or match[1] not in frame or column in kept:
            continue
        cells, others = (
            as_texts(frame[column]).astype(object),
            as_texts(frame[match[1]]).astype(object),
        )
        if cells.equals(others) and cells.nunique() > 1:
            copies.append(column)
    if not copies:
        return frame
    listed = first_few(copies)
    notes.append(
        f"not read, because they are copies of the columns they are named after: {listed}"
        " (`columns` or `wide` reads them)"
    )
    return frame.drop(columns=copies)


def without_summary_rows(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The frame without rows that are no ratings.

    These are blank rows, repeated headers, a survey tool's lines about its questions below the
    header, remarks below the table, and rows at its end whose first cell says Total, Mean and the
    like.
    """
    aside = _rows_aside(frame)
    for what, rows in aside.items():
        if rows.any():
            notes.append(f"{plural(int(rows.sum()), 'row')} left out: {what}")
    left_out = np.any([*aside.values()], axis=0)
    if left_out.any():
        frame = frame[~left_out].copy()
        for name in map(str, frame.select_dtypes("category")):
            frame[name] = frame[name].cat.remove_unused_categories()
    end, totals = len(frame), []
    while end and not frame.empty:
        column, first = _first_cell(frame, end - 1)
        word = fold(first).rstrip(" :")
        if word not in ROWS:
            break
        others = set(map(fold, as_texts(frame[column].iloc[: end - 1]).dropna().unique()))
        if word in others or order_of(others):  # a level, or a name like any other
            break
        totals.append(first)
        end -= 1
    if totals:
        notes.append(
            f"{plural(len(totals), 'row')} of totals at the end left out: {first_few(totals[::-1])}"
        )
    return frame.iloc[:end]


def _first_cell(frame: pd.DataFrame, row: int) -> tuple[str, str]:
    """The first named column that is filled in a row, with its cell; empty if there is none."""
    for name, column in frame.items():
        cell = column.array[row]
        if not re.match(r"(column|Unnamed:) \d+$", str(name)) and not is_missing(cell):
            return str(name), str(cell)
    return "", ""


def _rows_aside(frame: pd.DataFrame) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The kinds of rows that are no ratings, each with its rows."""
    numbers, filled = np.arange(len(frame)), is_filled(frame).sum(axis=1)
    header_again = filled > 1
    for name, column in frame.items():
        if not header_again.any():
            break
        header_again &= (column.isna() | column.isin([name])).to_numpy()
    survey = _is_survey(frame)
    rated = np.flatnonzero(filled > 2)
    last, fewest = (rated[-1], filled[rated].min()) if len(rated) else (len(frame), 0)
    below_blank = np.cumsum((filled == 0) & (numbers > last)) > 0  # a legend may fill two cells
    return {
        "blank": filled == 0,
        "a repeated header": header_again,
        "about the questions": (numbers < 2) & survey,
        "remarks below the table": (
            (numbers > last) & (filled > 0) & (filled < np.where(below_blank, fewest, 2))
        ),
    }


def _is_survey(frame: pd.DataFrame) -> bool:
    """Whether one of the first two rows has Qualtrics' names of the questions in the columns."""
    without: set[int] = set()  # categories, many columns may have the same
    for _, column in frame.items():
        cells = column.array
        if isinstance(cells, pd.Categorical):
            if id(cells.categories) in without:
                continue
            if not any(str(text).startswith(_SURVEY) for text in cells.categories):
                without.add(id(cells.categories))
                continue
        if any(str(cell).startswith(_SURVEY) for cell in cells[:2]):
            return True
    return False


def criteria_among(columns: Sequence[str], notes: list[str]) -> list[str]:
    """In a table with a column of raters: the columns of answers with names of criteria. If only
    one column of answers has such a name, all of them.
    """
    aside = []
    for name in columns:
        name_words = words_of(name)
        counted = ASIDE.fullmatch(fold(name)) or is_reference(name) or is_no_criterion(name)
        may_be_asked = re.search("overall|rank|difficulty", name, re.IGNORECASE)
        standardised = len(name_words) > 1 and name_words[-1] in ("z", "zscore")
        if METRIC.search(name) or standardised or (counted and not may_be_asked):
            aside.append(name)
    if not aside or len(columns) < 2 or len(aside) == len(columns):
        return list(columns)
    notes.append(
        f"not read, because their names are not those of criteria: {first_few(aside)} (`wide`"
        " reads them)"
    )
    return [name for name in columns if name not in aside]


def without_facts_of_raters(
    columns: Sequence[str], frame: pd.DataFrame, rater: str, notes: list[str]
) -> list[str]:
    """The columns without facts about raters, which have one value in all rows of each rater, but
    different values for different raters.
    """
    of_rater = as_texts(frame[rater])
    often = of_rater.isin(of_rater.value_counts().loc[lambda counts: counts >= ROWS_EACH].index)
    facts = []
    for name in columns:
        pairs = pd.DataFrame(
            {"rater": of_rater[often], "value": as_texts(frame[name])[often]}
        ).drop_duplicates()
        if (
            len(pairs) > 1
            and pairs["value"].nunique() > 1
            and not pairs["rater"].duplicated().any()
        ):
            facts.append(name)
    if facts:
        notes.append(
            f"not read, because they are the same in all rows of a rater: {first_few(facts)}"
            " (`wide` reads them)"
        )
    return [name for name in columns if name not in facts]


def is_reference(name: str) -> bool:
    """Whether a column's name means people's answers: `gold_label`, `Ground truth`."""
    return REFERENCE.fullmatch(fold(name)) is not None


def raters_by_name(names: Sequence[str], notes: list[str]) -> list[str]:
    """The names that may be raters', without those that count, measure or summarise something.

    A reference such as `gold` stands for people if no other name does.
    """
    aside = [name for name in names if is_nobodys(name) or ASIDE.fullmatch(fold(name))]
    people = [name for name in names if name not in aside and not is_machine(name)]
    references = [
        name for name in people if is_reference(name) and not is_person(without_end(name))
    ]
    if len(people) > len(references) and len(names) - len(aside) > 2:
        aside += references
    if aside:
        notes.append(
            f"not read, because their names are not those of raters: {first_few(aside)} (`wide`"
            " reads them)"
        )
    return [name for name in names if name not in aside]


def without_summaries(
    places: Sequence[tuple[str, str]], frame: pd.DataFrame, notes: list[str]
) -> list[str]:
    """The raters without columns whose names are not raters', or whose answers follow from other
    columns in nearly all rows.

    places: each rater with the columns of answers; columns for several criteria are in the same
    order for all raters.
    """
    columns: dict[str, list[str]] = {}
    for name, column in places:
        columns.setdefault(name, []).append(column)
    raters = raters_by_name(list(columns), notes)
    people = [name for name in raters if not is_machine(name)]
    comparable = len(people) > 2 and len({len(columns[name]) for name in people}) == 1
    by_criterion = zip(*(columns[name] for name in people), strict=True) if comparable else ()
    follow = [_follow(frame[[*each]]) for each in by_criterion]
    summed = [
        name for name, *follows in zip(people, *follow, strict=False) if follows and all(follows)
    ]
    if summed:
        notes.append(
            f"not read, because it sums up the other columns of its row: {first_few(summed)}"
            " (`wide` reads it)"
        )
    return [name for name in raters if name not in summed]


def _follow(answers: pd.DataFrame) -> list[bool]:
    """Which columns are the majority, median, mean or sum of the others wherever not all agree."""
    filled = is_filled(answers)
    several = filled.sum(axis=1) > 2  # besides its own two others'
    if (filled & several[:, None]).sum(axis=0).max(initial=0) < FEWEST:
        return [False] * filled.shape[1]
    places = [np.flatnonzero(own & several)[:LOOKED_AT] for own in filled.T]
    looked_at = np.unique(np.concatenate(places))
    answers = answers.iloc[looked_at]
    numbers = np.column_stack([as_numbers(answers[name]) for name in answers])
    if np.isinf(numbers).any():
        texts = np.array(
            [[fold(str(cell)) for cell in as_texts(answers[name])] for name in answers]
        ).T
        codes = np.unique(texts, return_inverse=True)[1].reshape(texts.shape).astype(np.float64)
        numbers = np.where(answers.notna(), codes, np.nan)
    rows = (np.searchsorted(looked_at, own) for own in places)
    likely = _may_follow(numbers) if len(places) > MOST_TRIED else np.full(len(places), True)
    return [
        bool(likely[own]) and _follows(np.roll(numbers[each], -own, axis=1))
        for own, each in enumerate(rows)
    ]


def _may_follow(
    numbers: np.ndarray[Any, np.dtype[np.float64]],
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of hundreds of (rows, raters) columns may follow from the others; with that many, the
    majority hardly depends on one column.
    """
    filled = ~np.isnan(numbers)
    answered = filled.sum(axis=1)
    total, middle = (
        np.nansum(numbers, axis=1),
        np.nanmedian(np.where(answered[:, None] > 0, numbers, 0.0), axis=1),
    )
    differ = np.nanmax(numbers, axis=1, initial=-np.inf) > np.nanmin(
        numbers, axis=1, initial=np.inf
    )
    most = 2 * (numbers == middle[:, None]).sum(axis=1) > answered
    may = np.full(numbers.shape[1], False)
    for value, rows in (
        (middle[:, None], differ & most),
        (middle[:, None], differ),
        ((total / np.maximum(answered, 1))[:, None], differ),
        (total[:, None] - np.nan_to_num(numbers), differ),
    ):
        close = (np.abs(numbers - value) <= 0.1) & rows[:, None]
        tried = (filled & rows[:, None]).sum(axis=0)
        may |= (tried > FEWEST / 2) & (close.sum(axis=0) >= 0.95 * tried)
    return may


def _follows(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether the first of (rows, raters) columns follows from the others."""
    kept = (~np.isnan(numbers[:, 0])) & ((~np.isnan(numbers[:, 1:])).sum(axis=1) > 1)
    numbers = numbers[kept]
    numbers = numbers[
        np.nanmax(numbers, axis=1, initial=-np.inf) > np.nanmin(numbers, axis=1, initial=np.inf)
    ]
    if len(numbers) < FEWEST:
        return False
    own, others = numbers[:, 0], numbers[:, 1:]
    middle = np.nanmedian(others, axis=1)
    most = 2 * (others == middle[:, None]).sum(axis=1) > (~np.isnan(others)).sum(axis=1)
    # means are often rounded
    close = 0.05 if (np.isnan(others) | (others % 1 == 0)).all() else 0.005
    for value, defined in (
        (middle, most),
        (middle, True),
        (np.nanmean(others, axis=1), True),
        (np.nansum(others, 1), True),
    ):
        rows = np.broadcast_to(defined, own.shape)
        if rows.sum() >= FEWEST and (np.abs(own - value) <= close)[rows].mean() >= 0.98:
            return True
    return False
