"""Columns called like raters that hold scores, and judges' scores beside a column of people's names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from metal.data.tables.answer_columns import holds_answers, without_end
from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.names import GUESSES, METRIC, MODEL, is_nobodys, is_person, plain
from metal.data.tables.word_orders import order_of
from metal.errors import DataError

# Ends of names of columns that hold ids or names, whatever these look like.
_OF_IDS = ("id", "name", "email", "emailaddress", "pid", "by", "model")


def are_scores(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether a column called like raters holds scores: decimals, words of a known order, or, under `judge`, what the
    column of scores holds, one for each output.
    """
    if plain(column).endswith(_OF_IDS):
        return False
    values = as_texts(frame[column]).cat.categories
    numbers = as_numbers(pd.Series(values))
    if np.isfinite(numbers).all():
        decimals = bool(len(values)) and bool(numbers.mod(1).ne(0).any())
        return decimals or (plain(column) == "judge" and may_be_scores(frame, column, roles))
    words = {fold(text) for text in values}
    if len(words) < 2 or min(map(len, words)) < 2:  # A, B and C are raters as often
        return False
    return order_of(words) is not None or (roles.get("score") in frame and words <= _scored(frame, roles, column))


def may_be_scores(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether names of raters may be scores: each output has one, and they are most of what others scored."""
    if not is_person(column) or plain(column).endswith(_OF_IDS):
        return False
    values = {fold(text) for text in as_texts(frame[column]).cat.categories}
    if len(values) < 2 or not np.isfinite(as_numbers(pd.Series([*values]))).all():
        return False
    scored = _scored(frame, roles, column)
    return values <= scored and 2 * len(values) >= len(scored) and _one_to_each_output(frame, column, roles)


def _scored(frame: pd.DataFrame, roles: Mapping[str, str], column: str) -> set[str]:
    """What stands in the columns of scores, or in their lists."""
    scores = [roles["score"]] if roles.get("score") in frame else []
    if not scores:
        taken = {column, *roles.values()}
        scores = [name for name in frame.columns if name not in taken and not is_nobodys(str(name))]
    scored: set[str] = set()
    for name in scores:
        cells = frame[name].dropna()
        if len(cells) and isinstance(cells.iloc[0], list | np.ndarray):
            scored |= {fold(f"{item:g}") for cell in cells for item in cell if isinstance(item, int | float)}
        elif holds_answers(frame[name]):
            scored |= {fold(text) for text in as_texts(frame[name]).cat.categories}
    return scored


def _one_to_each_output(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether all rows of an output have the same value in a column."""
    told_apart_by = ("output", "source", "generator", "text", "criterion", "language")
    key = [roles[role] for role in told_apart_by if roles.get(role) in frame]
    key = [name for name in key if not isinstance(next(iter(frame[name].dropna()), None), list | dict)]
    if not key:
        return True
    return not frame[[*key, column]].drop_duplicates().duplicated(key).any()


def check_raters(frame: pd.DataFrame, roles: Mapping[str, str], named: Mapping[str, str], where: Path) -> None:
    """Raises DataError where nobody can tell whether a column guessed for raters holds their names or their scores."""
    column = roles["rater"]
    if "rater" in named or column not in frame or not may_be_scores(frame, column, roles):
        return
    scores = [roles["score"]] if "score" in roles else _answers(frame, roles)
    problem = f"column {column!r} may hold names of raters or their scores: each output has one, and they look alike"
    as_scores = json.dumps([*scores, column], ensure_ascii=False)
    remedy = f"If these are names: `columns={ {'rater': column} }`; if scores: `wide={as_scores}`"
    remedy += f", and of a judge `kinds={ {column: 'llm'} }`"
    raise DataError(where, problem, remedy)


def check_no_judge_beside(frame: pd.DataFrame, roles: Mapping[str, str], named: Mapping[str, str], where: Path) -> None:
    """Raises DataError where rows are people's, named in a column, and another column holds a judge's scores."""
    if "score" in named or roles["rater"] not in frame:
        return
    judges = judges_columns(frame, roles.values())
    raters = as_texts(frame[roles["rater"]]).cat.categories
    if not judges or all(MODEL.search(name) for name in raters):
        return
    people = [roles["score"]] if "score" in roles else [name for name in _answers(frame, roles) if name not in judges]
    if not people:
        return
    problem = f"each row is a person's ({roles['rater']!r}), and {judges[0]!r} is called like a judge's scores"
    each_once = len(people) == 1 and all(_one_to_each_output(frame, name, roles) for name in (*people, *judges))
    if each_once and "rater" not in named:
        remedy = f"To read both: `wide={json.dumps([*people, *judges], ensure_ascii=False)}`"
    else:
        remedy = f"To read both, give the judge rows of its own, with its name in {roles['rater']!r}"
    leave_out = f"`wide={json.dumps(people, ensure_ascii=False)}`"
    if len(people) == 1:
        leave_out = f"`columns={ {'rater': roles['rater'], 'score': people[0]} }`"
    raise DataError(where, problem, f"{remedy}; to leave the judge out: {leave_out}")


def judges_columns(frame: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """The columns that are called like a judge and hold answers."""
    judges = []
    for column in frame.columns:
        name = without_end(column)
        called = MODEL.search(name) and not METRIC.search(name) and not is_nobodys(column)
        if column not in taken and called and holds_answers(frame[column]):
            judges.append(column)
    return judges


def note_on_scores(columns: Sequence[str], notes: list[str]) -> None:
    """Says which columns are called like raters' names and are read as scores."""
    for column in columns:
        if plain(column) in GUESSES["rater"]:
            as_names = json.dumps({"rater": column}, ensure_ascii=False)
            notes.append(f"{column!r} holds scores, not the names of raters (`columns={as_names}` reads names)")


def _answers(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    free = [name for name in frame.columns if name not in roles.values() and not is_nobodys(name)]
    return [name for name in free if holds_answers(frame[name])]
