"""Columns named like raters that hold scores, and judges' scores in rows with people's names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from metal.data.tables.answer_columns import holds_answers, without_end
from metal.data.tables.cells import as_numbers, as_texts, fold, joined_categories
from metal.data.tables.names import GUESSES, METRIC, MODEL, is_machine, is_nobodys, is_person, plain
from metal.data.tables.word_orders import order_of
from metal.data.text import first_few
from metal.errors import DataError

# Ends of names of columns that hold ids or names, whatever these look like.
_OF_OUTPUTS = ("output", "source", "text", "source_text")
ROW = "row"  # the column that numbers outputs, where nothing else tells them apart
# and not about the output
_ABOUT_A_RATING = ("comment", "confidence", "also", "reply", "reason", "group", "repeat")
_CALLED_MODEL = frozenset(name for name in GUESSES["generator"] if "model" in name)
_OF_IDS = ("id", "name", "email", "emailaddress", "pid", "by", "model")


def are_scores(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether a column named like raters holds scores.

    Scores are decimals, words of a known order or, in a column `judge`, the same values as in the
    column of scores, one for each output.
    """
    if plain(column).endswith(_OF_IDS):
        return False
    values = as_texts(frame[column]).cat.categories
    numbers = as_numbers(pd.Series(values))
    if np.isfinite(numbers).all():
        decimals = bool(len(values)) and bool(numbers.mod(1).ne(0).any())
        return decimals or (plain(column) == "judge" and may_be_scores(frame, column, roles))
    folded = set(map(fold, values))
    if len(folded) < 2 or min(map(len, folded)) < 2:  # A, B and C are raters as often
        return False
    return order_of(folded) is not None or (
        roles.get("score") in frame and folded <= _scored(frame, roles, column)
    )


def may_be_scores(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether names of raters may be scores: each output has only one, and most of them also occur
    as scores.
    """
    if not is_person(column) or plain(column).endswith(_OF_IDS):
        return False
    values = set(map(fold, as_texts(frame[column]).cat.categories))
    if len(values) < 2 or not np.isfinite(as_numbers(pd.Series([*values]))).all():
        return False
    scored = _scored(frame, roles, column)
    return (
        values <= scored
        and 2 * len(values) >= len(scored)
        and _one_to_each_output(frame, column, roles)
    )


def _scored(frame: pd.DataFrame, roles: Mapping[str, str], column: str) -> set[str]:
    """The values in the columns of scores, or in their lists."""
    scores = [roles["score"]] if roles.get("score") in frame else []
    if not scores:
        taken = {column, *roles.values()}
        scores = [name for name in frame.columns if name not in taken and not is_nobodys(str(name))]
    scored: set[str] = set()
    for name in scores:
        cells = frame[name].dropna()
        if len(cells) and isinstance(cells.iloc[0], list | np.ndarray):
            items = chain.from_iterable(cells)
            scored |= {fold(f"{item:g}") for item in items if isinstance(item, int | float)}
        elif holds_answers(frame[name]):
            scored |= set(map(fold, as_texts(frame[name]).cat.categories))
    return scored


def _one_to_each_output(frame: pd.DataFrame, column: str, roles: Mapping[str, str]) -> bool:
    """Whether all rows of an output have the same value in a column."""
    key = _key(frame, roles)
    if not key:
        return True
    return not frame[[*key, column]].drop_duplicates().duplicated(key).any()


def _key(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """The columns that tell outputs and criteria apart."""
    told_apart_by = ("output", "source", "generator", "text", "criterion", "language")
    key = [roles[role] for role in told_apart_by if roles.get(role) in frame]
    return [
        name for name in key if not isinstance(next(iter(frame[name].dropna()), None), list | dict)
    ]


def _key_of_outputs(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """The columns that tell outputs apart, if an id or a text is among them; else empty."""
    if roles.keys().isdisjoint(_OF_OUTPUTS):
        return []
    return _key(frame, {**roles, "source": roles.get("source") or roles.get("source_text", "")})


def check_raters(
    frame: pd.DataFrame, roles: Mapping[str, str], named: Mapping[str, str], file: Path
) -> None:
    """Raise DataError if it is unclear whether a column guessed to hold raters holds their names or
    their scores.
    """
    column = roles["rater"]
    if "rater" in named or column not in frame or not may_be_scores(frame, column, roles):
        return
    scores = [roles["score"]] if "score" in roles else _answers(frame, roles)
    problem = (
        f"column {column!r} may hold the names of raters or the scores of a rater: each output has"
        " one value, and the values look alike"
    )
    as_scores = json.dumps([*scores, column], ensure_ascii=False)
    remedy = f"If these are names: `columns={ {'rater': column} }`; if scores: `wide={as_scores}`"
    remedy += f", and of a judge `kinds={ {column: 'llm'} }`"
    raise DataError(file, problem, remedy)


def with_judging_model(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str], notes: list[str]
) -> dict[str, str]:
    """The roles with `model` as the rater instead of the generator, if the models judged.

    This is so if there are a judge's scores (`llm_score`), and outputs occur with several models,
    but each output has one person's score and one text.
    """
    model = roles.get("generator", "")
    if plain(model) not in _CALLED_MODEL or {"generator", "rater"} & named.keys():
        return roles
    others = {role: column for role, column in roles.items() if role not in ("generator", "score")}
    judges = judges_columns(frame, others.values())
    people = _people_in(frame, [name for name in frame.columns if name not in others.values()])
    outputs = {"output": others["output"]} if "output" in others else others
    if "rater" in roles or len(judges) != 1 or not people:
        return roles
    if _one_to_each_output(frame, model, outputs):
        as_judges = json.dumps({"rater": model}, ensure_ascii=False)
        notes.append(
            f"{model!r} is read as the system that wrote the outputs; if it judged them:"
            f" `columns={as_judges}`"
        )
        return roles
    same = [
        _one_to_each_output(frame, name, others) for name in (*people, roles.get("text")) if name
    ]
    return {**others, "rater": model, "score": judges[0]} if all(same) else roles


def people_beside(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str], file: Path
) -> tuple[dict[str, str], list[str]]:
    """If a row is a judge's (`judge_model`, `judge_score`): the roles with the judge's score, and
    the columns of people (`human_score`).

    Each of these people rated the row's output once.

    Raises DataError if a person's scores of an output differ, or if several columns may hold the
    judge's.
    """
    raters = as_texts(frame[roles["rater"]]).cat.categories
    called_model = plain(roles["rater"]).endswith("model")
    if "score" in named or not (called_model or all(map(is_machine, raters))):
        return roles, []
    taken = {*roles.values()} - {roles.get("score")}
    free = [name for name in frame.columns if name not in taken]
    people = _people_in(frame, free)
    if not people:
        return roles, []
    answers = [name for name in free if name not in people and holds_answers(frame[name])]
    key = _key_of_outputs(frame, roles)
    each_once = (
        not frame[[*key, *people]].drop_duplicates().duplicated(key).any()
        if key
        else len(raters) == 1
    )
    if len(answers) == 1 and each_once:
        return {**roles, "score": answers[0]}, people
    problem = (
        f"each row is a judge's rating (column {roles['rater']!r}), but column {people[0]!r} is"
        " named like a person's answers"
    )
    remedy = f"Give people rows of their own, with their name in {roles['rater']!r}"
    if not key:
        remedy = "Add a column with the id of each output"
    elif answers:
        remedy += f"; to leave them out: `columns={ {'score': answers[0]} }`"
    raise DataError(file, problem, remedy)


def with_people(
    tidy: pd.DataFrame,
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    people: Sequence[str],
    notes: list[str],
) -> pd.DataFrame:
    """The judges' ratings, followed by those of people whose scores are in other columns of the
    same rows.
    """
    if not people:
        return tidy
    parts = [tidy.assign(kind=tidy.get("kind", "llm"))]
    key = _key_of_outputs(frame, roles)
    first = ~frame.duplicated(key) if key else pd.Series(data=True, index=frame.index)
    for column in people:
        rated = tidy[first & frame[column].notna()].drop(
            columns=[*_ABOUT_A_RATING], errors="ignore"
        )
        parts.append(
            rated.assign(rater=without_end(column), kind="human", score=frame[column][rated.index])
        )
    notes.append(
        f"each row is a judge's ({roles['rater']!r}), with people's scores in the same row:"
        f" {first_few(people)}"
    )
    texts = {
        name: joined_categories([as_texts(part[name]) for part in parts])
        for name in ("rater", "score", "kind")
    }
    return pd.concat([part.drop(columns=[*texts]) for part in parts]).assign(**texts)


def with_rows_as_outputs(
    frame: pd.DataFrame, roles: dict[str, str], notes: list[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The frame and roles with a column that numbers the rows, if nothing tells outputs apart and
    each row holds the scores of several raters.
    """
    if not roles.keys().isdisjoint(_OF_OUTPUTS) or "first_text" in roles:
        return frame, roles
    notes.append(
        'each row is another output, named by its row number (`columns={"output": COLUMN}`)'
    )
    numbers = [f"{ROW} {number}" for number in range(1, len(frame) + 1)]
    return frame.assign(**{ROW: pd.Categorical(numbers, categories=numbers)}), {
        **roles,
        "output": ROW,
    }


def _people_in(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that have names of people and hold answers."""
    called = [name for name in columns if is_person(without_end(name)) and not is_machine(name)]
    return [name for name in called if holds_answers(frame[name])]


def check_no_judge_beside(
    frame: pd.DataFrame, roles: Mapping[str, str], named: Mapping[str, str], file: Path
) -> None:
    """Raise DataError if a column says that rows are people's, and another column holds a judge's
    scores.
    """
    if "score" in named or roles["rater"] not in frame:
        return
    judges = judges_columns(frame, roles.values())
    raters = as_texts(frame[roles["rater"]]).cat.categories
    if not judges or all(map(MODEL.search, raters)):
        return
    people = (
        [roles["score"]]
        if "score" in roles
        else [name for name in _answers(frame, roles) if name not in judges]
    )
    if not people:
        return
    problem = (
        f"each row holds one person's rating (column {roles['rater']!r}), but column {judges[0]!r}"
        " is named like a judge's scores"
    )
    each_once = len(people) == 1 and all(
        _one_to_each_output(frame, name, roles) for name in (*people, *judges)
    )
    if each_once and "rater" not in named:
        both = json.dumps([*people, *judges], ensure_ascii=False)
        remedy = (
            f"To read both, with all people as one rater: `wide={both}`; to keep who rated, give"
            f" the judge rows of its own, with its name in {roles['rater']!r}"
        )
    else:
        remedy = (
            f"To read both, give the judge rows of its own, with its name in {roles['rater']!r}"
        )
    leave_out = f"`wide={json.dumps(people, ensure_ascii=False)}`"
    if len(people) == 1:
        leave_out = f"`columns={ {'rater': roles['rater'], 'score': people[0]} }`"
    raise DataError(file, problem, f"{remedy}; to leave the judge out: {leave_out}")


def judges_columns(frame: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """The columns that have names of judges and hold answers."""
    judges = []
    for column in frame.columns:
        name = without_end(column)
        called = MODEL.search(name) and not METRIC.search(name) and not is_nobodys(column)
        if column not in taken and called and holds_answers(frame[column]):
            judges.append(column)
    return judges


def note_on_scores(columns: Sequence[str], notes: list[str]) -> None:
    """Note which columns have names of raters but are read as scores."""
    for column in columns:
        if plain(column) in GUESSES["rater"]:
            as_names = json.dumps({"rater": column}, ensure_ascii=False)
            notes.append(
                f"{column!r} holds scores, not the names of raters (`columns={as_names}` reads"
                " names)"
            )


def _answers(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    free = [name for name in frame.columns if name not in roles.values() and not is_nobodys(name)]
    return [name for name in free if holds_answers(frame[name])]
