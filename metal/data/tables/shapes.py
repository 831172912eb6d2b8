"""The shape of a table: which columns `wide` names, which columns hold a rater's choices, and how
columns of answers become rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.tables import asides, surveys
from metal.data.tables.answer_columns import AnswerColumn, holds_answers, with_comments
from metal.data.tables.cells import as_texts, fold, joined_categories
from metal.data.tables.names import CHOICE, MODEL, RATER, is_machine, is_person, plain
from metal.data.tables.nested import Paths
from metal.data.tables.pairs import are_winners
from metal.data.tables.parts import name_of_path
from metal.data.tables.table_columns import ANSWERED_IN
from metal.data.tables.wide import beside_a_judge
from metal.data.text import first_few
from metal.data.text import listed as listed_in_words

PARTS = ("rater", "criterion", "language")
_TEMPLATE = re.compile(r"\{(rater|criterion|output)\}")


def without_answers(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles without columns that hold people's answers (a gold label, or scores) in rows of
    judges.
    """
    guessed = roles.keys() - named.keys()
    if "reference" in guessed and holds_answers(frame[roles["reference"]]):
        roles = {role: column for role, column in roles.items() if role != "reference"}
    if "score" in guessed and "rater" not in roles:
        of_a_person = is_person(roles["score"]) and any(map(is_machine, frame.columns))
        if of_a_person or beside_a_judge(frame, roles):
            roles = {role: column for role, column in roles.items() if role != "score"}
    return roles


def replies_alone(
    frame: pd.DataFrame, roles: Mapping[str, str], options: Mapping[str, Any]
) -> bool:
    """Whether there is a column of replies, named or guessed, instead of scores."""
    if "reply" not in roles or "reply" in (options.get("columns") or {}):
        return "reply" in roles
    return not any(holds_answers(frame[column]) for column in frame if column not in roles.values())


def shape(roles: Mapping[str, str], places: Sequence[AnswerColumn]) -> str:
    """A line on how the table was read."""
    renamed = [f"{role} from {column!r}" for role, column in roles.items() if role != column]
    columns = f"columns read: {', '.join(renamed)}"
    if len(renamed) < len(roles):
        columns = ", ".join(["columns read by their names", *renamed])
    if any(answer.output for answer in places):
        templates = [*dict.fromkeys(map(surveys.template_of, places))]
        listed = f"`wide={templates}`" if len(templates) == 1 else "`wide`"
        by_output = f"one row per respondent, one column per output ({listed})"
        return f"{by_output}; {columns}" if renamed else by_output
    parts = [part for part in PARTS if any(getattr(answer, part) for answer in places)]
    if not places:
        return f"one rating per row; {columns}"
    if not parts:
        return f"one rating per row; {columns}, score from {places[0].column!r}"
    listed = first_few([answer.column for answer in places], 8)
    return f"one column per {listed_in_words(parts)} (`wide`): {listed}; {columns}"


# ---------------------------------------------------------------- columns that hold answers


def places_named(frame: pd.DataFrame, patterns: Iterable[str], paths: Paths) -> list[AnswerColumn]:
    """The columns that match the patterns, each read as one rater's or as its template says."""
    places: dict[str, AnswerColumn] = {}
    for pattern in patterns:
        if pattern == surveys.EACH_ROW:
            places |= {answer.column: answer for answer in surveys.every_column(frame)}
            continue
        template = _template(pattern) if _TEMPLATE.search(pattern) else None
        for column in frame.columns:
            if template is None:
                if column == pattern or fnmatchcase(column, pattern):
                    places[column] = AnswerColumn(
                        column, rater=name_of_path(paths[column]) if column in paths else column
                    )
                continue
            parts = _parts_of_path(pattern, paths.get(column, ())) or template.fullmatch(column)
            if parts:
                named = parts if isinstance(parts, dict) else parts.groupdict("")
                parts_of = {part: named.get(part, "") for part in ("rater", "criterion", "output")}
                places[column] = AnswerColumn(column, **parts_of)
    return with_comments(places.values(), frame.columns)


def _parts_of_path(pattern: str, path: Sequence[str]) -> dict[str, str] | None:
    """The parts of a path according to a pattern such as `scores.{rater}.{criterion}.value`; None
    if the steps do not match.
    """
    steps = pattern.split(".")
    if len(steps) != len(path):
        return None
    parts: dict[str, str] = {}
    for step, name in zip(steps, path, strict=True):
        match = _template(step).fullmatch(name)
        if match is None:
            return None
        parts |= match.groupdict("")
    return parts


def choices(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    places: list[AnswerColumn],
    named: bool,
    notes: list[str],
) -> list[AnswerColumn]:
    """For pairs without a column for the rater, the columns that each hold a rater's choices; empty
    for other tables.

    named: whether to look only at `places`. Otherwise all columns named like choices
    (`gpt4_winner`) or raters are found; if there is a column of winners, which is people's, only
    those of judges.
    """
    if not _are_unrated_pairs(roles):
        return []
    names: set[str] = set()
    for system in {"first", "second"} & roles.keys():
        names |= set(map(fold, as_texts(frame[roles[system]]).cat.categories))
    if named:
        winners = [are_winners(frame[answer.column], names) for answer in places]
        return places if len(places) > 1 and all(winners) else []
    raters = _called_like_choices(frame, roles, names)
    if len(raters) < 2:
        return []
    kept = asides.raters_by_name(list(raters.values()), notes)
    guessed = [AnswerColumn(column, rater) for column, rater in raters.items() if rater in kept]
    if len(guessed) < 2 or not any(are_winners(frame[answer.column], names) for answer in guessed):
        return []
    return guessed


def _are_unrated_pairs(roles: Mapping[str, str]) -> bool:
    """Whether rows are pairs but no column says who chose, or which was chosen."""
    pairs = ({"first", "second"}, {"first_text", "second_text"})
    if "rater" in roles or not any(pair <= roles.keys() for pair in pairs):
        return False
    text = roles.get("first_text") or roles.get("second_text")
    return text is None or plain(text) != "chosen"


def _called_like_choices(
    frame: pd.DataFrame, roles: Mapping[str, str], names: set[str]
) -> dict[str, str]:
    """The rater of the column of winners, and of each column whose name says that it holds a
    rater's choices.

    names: the names of the compared generators.
    """
    winners = [roles[role] for role in ("winner", "score") if role in roles]
    of_all = next((column for column in winners if are_winners(frame[column], names)), "")
    raters = {of_all: of_all} if of_all else {}
    for column in frame.columns:
        if column not in roles.values() and _is_a_raters_choice(column, judges_only=bool(of_all)):
            raters[column] = CHOICE.sub("", column) or column
    # A stray cell under a name that ends in `winner` is an error, which names its row.
    return {c: rater for c, rater in raters.items() if c != rater or are_winners(frame[c], names)}


def _is_a_raters_choice(column: str, *, judges_only: bool) -> bool:
    """Whether a column is named like a rater's choices (`gpt4_winner`), or like a rater."""
    rater = CHOICE.sub("", column)
    judge = MODEL.search(rater) is not None
    if judges_only and not judge:
        return False
    called = rater != column or RATER.fullmatch(column) is not None
    return called or (judge and "_" not in column)


def _template(pattern: str) -> re.Pattern[str]:
    parts = _TEMPLATE.split(pattern)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    )


def stacked(
    frame: pd.DataFrame, named: Mapping[str, str], places: Sequence[AnswerColumn]
) -> pd.DataFrame:
    """The answers of all columns in `places` in rows, with the columns that play a role. An empty
    cell means that the rater was not asked.
    """
    parts = {
        field.name: [getattr(answer, field.name) for answer in places]
        for field in fields(AnswerColumn)
    }
    rows = np.tile(np.arange(len(frame)), len(places))
    tidy = frame[list(named)].rename(columns=dict(named)).iloc[rows]
    tidy["score"] = _end_to_end([frame[column] for column in parts["column"]])
    columns = pd.Index(parts["column"], dtype="str")
    tidy[ANSWERED_IN] = pd.Categorical.from_codes(
        np.repeat(np.arange(len(places)), len(frame)), columns
    )
    if surveys.are_texts(parts["output"]):
        tidy["text"] = np.repeat(np.array(parts["output"], dtype=object), len(frame))
    for role in ("rater", "criterion", "language", *(() if "text" in tidy else ("output",))):
        if any(parts[role]):
            codes, distinct = pd.factorize(np.array(parts[role], dtype=object))
            tidy[role] = pd.Categorical.from_codes(
                np.repeat(codes, len(frame)), pd.Index(distinct, dtype="str")
            )
    if any(parts["language"]) and "output" in tidy:  # one in each language
        texts = as_texts(tidy["output"]).astype(object)
        tidy["output"] = texts + "-" + tidy["language"].astype(object)
    if any(parts["comment"]):
        empty = pd.Series(None, index=frame.index, dtype="str")
        tidy["comment"] = _end_to_end(
            [frame[column] if column else empty for column in parts["comment"]]
        )
    return tidy[tidy.filter(["score", "reply"]).notna().any(axis=1)]


def _end_to_end(columns: Sequence[pd.Series]) -> Any:
    if all(is_numeric_dtype(column) and column.dtype != bool for column in columns):
        return np.concatenate(
            [column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns]
        )
    return joined_categories(list(map(as_texts, columns)))
