"""What a table holds besides ratings: blank rows, rows of totals, and columns that sum up raters or count the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.names import METRIC, MODEL
from metal.data.tables.word_orders import order_of
from metal.data.text import first_few, plural

# Names of columns that stand for people where nobody else does, and of those that never do; as `fold` spells them.
REFERENCE = re.compile(
    r"((expert|human|crowd|annotator|rater|overall) )?(majority|mode|consensus|gold|golden|gold standard|ground ?truth|"
    r"adjudicat(ed|ion)|final|median|mean|avg|average|aggregated?|overall)"
    r"( (vote|voting|label|score|rating|value|answer|decision|verdict)s?)?"
)
ASIDE = re.compile(
    r"(sum|total)( score)?|std( ?dev)?|stdev|sd|variance|(fleiss |cohen )?kappa|"
    r"(n|num|number of) (raters|annotators)|agreement|"
    r"difficulty|batch|legend|session|order|index|attention( check)?|rank|round|hit number"
)
ROWS = tuple(
    fold(
        "total,grand total,sum,mean,average,avg,median,sd,std,std dev,stdev,standard deviation,σ,"
        "somme,moyenne,médiane,écart type,итого,всего,сумма,среднее,медиана,toplam,ortalama,medyan,"
        "कुल,योग,औसत,মোট,গড়,المجموع,الإجمالي,المتوسط,总计,合计,平均,平均值,中位数,合計,平均値,中央値,jumla,wastani"
    ).split(",")
)
FEWEST, LOOKED_AT = 30, 10_000  # rows in which people differ, to say that a column follows from the others'


def without_summary_rows(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The frame without blank rows, the header written again, what a survey tool says of its questions below the
    header, remarks below the table, and rows at its end whose first cell says Total, Mean and the like.
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
    end, words = len(frame), []
    while end and not frame.empty:
        cells = frame.iloc[end - 1].dropna()
        cells = cells[[not re.match(r"(column|Unnamed:) \d+$", name) for name in cells.index]]
        word = fold(str(cells.iloc[0])).rstrip(" :") if len(cells) else ""
        if word not in ROWS:
            break
        others = set(map(fold, as_texts(frame[cells.index[0]].iloc[: end - 1]).dropna().unique()))
        if word in others or order_of(others):  # a level, or a name like any other
            break
        words.append(str(cells.iloc[0]))
        end -= 1
    if words:
        notes.append(f"{plural(len(words), 'row')} of totals at the end left out: {first_few(words[::-1])}")
    return frame.iloc[:end]


def _rows_aside(frame: pd.DataFrame) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
    """What rows are that hold no ratings: which rows."""
    place, filled = np.arange(len(frame)), np.sum([frame[name].notna() for name in frame], axis=0)
    again = filled > 1
    for name in frame.columns:
        if again.any():
            again &= (frame[name].isna() | frame[name].isin([name])).to_numpy()
    survey = any(str(cell).startswith('{"ImportId"') for cell in frame.iloc[:2].to_numpy().ravel())  # Qualtrics
    rated = np.flatnonzero(filled > 2)
    last, fewest = (rated[-1], filled[rated].min()) if len(rated) else (len(frame), 0)
    below_blank = np.cumsum((filled == 0) & (place > last)) > 0  # a legend may fill two cells
    return {
        "blank": filled == 0,
        "the header again": again,
        "about the questions": (place < 2) & survey,
        "remarks below the table": (place > last) & (filled > 0) & (filled < np.where(below_blank, fewest, 2)),
    }


def criteria_among(columns: Sequence[str], notes: list[str]) -> list[str]:
    """The columns of answers, beside a column of raters, that are criteria by their names; all where only one is."""
    aside = [name for name in columns if ASIDE.fullmatch(fold(name)) or REFERENCE.fullmatch(fold(name))]
    aside = [name for name in aside if not re.search("overall|rank|difficulty", name, re.IGNORECASE)]
    aside += [name for name in columns if METRIC.search(name)]
    if not aside or len(columns) < 2 or len(aside) == len(columns):
        return list(columns)
    notes.append(f"no criteria by their names, and not read: {first_few(aside)} (`wide` reads them)")
    return [name for name in columns if name not in aside]


def raters_by_name(names: Sequence[str], notes: list[str]) -> list[str]:
    """Those of the names that may be raters; a reference such as `gold` stands for people where nobody else does."""
    people = [name for name in names if not (MODEL.search(name) or METRIC.search(name))]
    aside = [name for name in people if ASIDE.fullmatch(fold(name))]
    references = [name for name in people if REFERENCE.fullmatch(fold(name)) and name not in aside]
    persons = [name for name in people if name not in {*aside, *references}]
    if persons and len(names) - len(aside) > 2:
        aside += references
    if aside:
        notes.append(f"no raters by their names, and not read: {first_few(aside)} (`wide` reads them)")
    return [name for name in names if name not in aside]


def without_summaries(places: Sequence[tuple[str, str]], frame: pd.DataFrame, notes: list[str]) -> list[str]:
    """The raters but those that are none by their names, or whose answers follow from the others' in nearly all rows.

    places: each rater with a column of answers; those on several criteria are in the same order for all.
    """
    columns: dict[str, list[str]] = {}
    for name, column in places:
        columns.setdefault(name, []).append(column)
    columns = {name: columns[name] for name in raters_by_name(list(columns), notes)}
    people = [name for name in columns if not (MODEL.search(name) or METRIC.search(name))]
    comparable = len(people) > 2 and len({len(columns[name]) for name in people}) == 1
    by_criterion = zip(*(columns[name] for name in people), strict=True) if comparable else ()
    follow = [_follow(frame[[*each]]) for each in by_criterion]
    summed = [name for name, *follows in zip(people, *follow, strict=False) if follows and all(follows)]
    if summed:
        notes.append(f"sums up what the others say in its row, and not read: {first_few(summed)} (`wide` reads it)")
    return [name for name in columns if name not in summed]


def _follow(answers: pd.DataFrame) -> list[bool]:
    """Which columns are the majority, median, mean or sum of the others wherever not all agree."""
    given = answers.notna().to_numpy()
    several = given.sum(axis=1) > 2  # besides its own two others'
    places = [np.flatnonzero(own & several)[:LOOKED_AT] for own in given.T]
    looked_at = np.unique(np.concatenate(places))
    answers = answers.iloc[looked_at]
    numbers = np.column_stack([as_numbers(answers[name]) for name in answers])
    if np.isinf(numbers).any():
        texts = np.array([[fold(str(cell)) for cell in as_texts(answers[name])] for name in answers]).T
        codes = np.unique(texts, return_inverse=True)[1].reshape(texts.shape).astype(np.float64)
        numbers = np.where(answers.notna(), codes, np.nan)
    rows = (numbers[np.searchsorted(looked_at, own)] for own in places)
    return [_follows(np.roll(each, -own, axis=1)) for own, each in enumerate(rows)]


def _follows(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether the first of (rows, raters) columns follows from the others."""
    kept = (~np.isnan(numbers[:, 0])) & ((~np.isnan(numbers[:, 1:])).sum(axis=1) > 1)
    numbers = numbers[kept]
    numbers = numbers[np.nanmax(numbers, axis=1, initial=-np.inf) > np.nanmin(numbers, axis=1, initial=np.inf)]
    if len(numbers) < FEWEST:
        return False
    own, others = numbers[:, 0], numbers[:, 1:]
    middle = np.nanmedian(others, axis=1)
    most = 2 * (others == middle[:, None]).sum(axis=1) > (~np.isnan(others)).sum(axis=1)
    close = 0.05 if (np.isnan(others) | (others % 1 == 0)).all() else 0.005  # means are often rounded
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
