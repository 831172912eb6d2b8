"""Which column plays which role: as named, else by its name, unless its cells refute that; ids in several columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.ratings import no_probability
from metal.data.records import KINDS
from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.mturk import asked
from metal.data.tables.names import GUESSES, KIND_WORDS, MODEL, NUMBERS, SUBSETS, VARIANTS, plain
from metal.data.tables.pairs import are_winners
from metal.errors import DataError, UsageError


def roles_of(frame: pd.DataFrame, wide: Sequence[str], options: Mapping[str, Any], where: Path) -> dict[str, str]:
    """{role: column}: as named in the options, else by the names of the columns."""
    roles: dict[str, str] = dict(options.get("columns") or {})
    for role, column in roles.items():
        if role not in GUESSES:
            raise UsageError(f"`columns={ {role: column} }`: roles are {', '.join(GUESSES)}")
        if column not in frame:
            raise DataError(where, f"no column {column!r}", columns_of(frame))
    by_name = {plain(asked(column)): column for column in frame.columns}
    for role, guesses in GUESSES.items():
        if role in roles or (wide and role == "score"):
            continue
        free = [column for column in map(by_name.get, guesses) if column and column not in {*roles.values(), *wide}]
        if free:
            roles[role] = free[0]
    if wide and "{rater}" in "".join(options["wide"]):
        roles.pop("rater", None)
    return _without_misfits(frame, roles, options)


def without_pairs(
    frame: pd.DataFrame, roles: dict[str, str], options: Mapping[str, Any], *, chosen: bool
) -> dict[str, str]:
    """The roles of pairs only where there is a winner and no score, or where they are named.

    chosen: whether the winners stand in columns of their raters.
    Of two texts, the scores may say which is better, and the first is where it is called `chosen`.
    """
    named = options.get("columns") or {}
    texts = {"first_text", "second_text"} <= roles.keys()
    if texts and "score" in roles and not {"winner", "score"} & named.keys() and are_winners(frame[roles["score"]]):
        roles["winner"] = roles.pop("score")
    first_chosen = texts and plain(roles["first_text"]) == "chosen" and not chosen
    pairs = chosen or first_chosen or ("winner" in roles and ("score" not in roles or "winner" in named))
    gone = {"score"} if pairs else {"winner", "first", "second", "shown"}
    gone |= {"winner"} if chosen or first_chosen else set()
    gone |= set() if pairs and texts else {"first_text", "second_text"}
    return {role: column for role, column in roles.items() if role not in gone or role in named}


def _without_misfits(frame: pd.DataFrame, roles: dict[str, str], options: Mapping[str, Any]) -> dict[str, str]:
    """The roles without guesses that the cells refute.

    Long texts are no criterion, language or id; what nearly every row has anew is no criterion, and what every row has
    anew is no output where texts repeat.
    """
    named = options.get("columns") or {}
    objects = [role for role, column in roles.items() if {*map(type, frame[column].dropna().head(1))} == {dict}]
    for role in {*objects} - {*named, "text", "source_text"}:
        del roles[role]  # what is inside may play a role
    for role, text_role, known_by in (("source", "source_text", "source_id"), ("output", "text", "system")):
        mturk = roles.get(role) == f"Input.{role}" and f"Input.{known_by}" in frame
        if mturk and role not in named and text_role not in roles:
            roles[text_role] = roles.pop(role)
            roles |= {"source": "Input.source_id"} if role == "source" else {}

    def long_texts(role: str) -> bool:
        texts = as_texts(frame[roles[role]]).cat.categories.tolist()
        sentences = [text for text in texts if len(text) > 40 and (" " in text or not text.isascii())]
        return 2 * len(sentences) > len(texts)

    def many(role: str) -> bool:
        distinct = frame[roles[role]].nunique()
        answered = bool({"text", "first_text"} & roles.keys()) and plain(roles[role]) == "question"
        return role == "criterion" and (answered or distinct > max(10, len(frame) / 20))

    prompts = frame.get(roles.get("source_text", "")) if "source_text" not in named else None
    if prompts is not None and few_words(prompts) and not as_texts(prompts).cat.categories.str.contains(r"\s").any():
        del roles["source_text"]  # names of prompts: CoT, Vanilla
    text = roles.get("text") or roles.get("first_text")
    if "output" in roles and "output" not in named and text and "rater" in roles:
        repeats = frame[text].notna().all() and frame[text].duplicated().any()
        if repeats and frame[roles["output"]].nunique() == len(frame):
            del roles["output"]  # a number of the row
    for role, misfit in (
        ("kind", lambda column: not _are_kinds(frame, column, roles.get("rater", ""))),
        ("confidence", lambda column: no_probability(as_numbers(column)).any()),
    ):
        if role in roles and role not in named and misfit(frame[roles[role]]):
            del roles[role]
    for role in ("criterion", "language", "output", "source", "generator"):
        texts = role in roles and role not in named and not is_numeric_dtype(frame[roles[role]])
        if texts and (long_texts(role) or many(role)):
            column = roles.pop(role)
            text_role = {"output": "text", "criterion": "source_text", "source": "source_text"}.get(role, "")
            if text_role and text_role not in roles:
                roles[text_role] = column
    if (
        "score" in roles
        and "score" not in named
        and not is_numeric_dtype(frame[roles["score"]])
        and long_texts("score")
    ):
        column = roles.pop("score")  # `answer` may be what was rated
        roles.setdefault("text", column)
    return roles


def _are_kinds(frame: pd.DataFrame, kind: pd.Series, rater: str) -> bool:
    """Whether the column holds words for kinds of raters, the same in all rows of each."""
    several = bool(rater) and frame[[rater]].assign(kind=kind).drop_duplicates()[rater].duplicated().any()
    return not several and bool({fold(word) for word in as_texts(kind).cat.categories} & {*KINDS, *KIND_WORDS})


def few_words(column: pd.Series) -> bool:
    """Whether the cells are a few short words over and over, as labels are."""
    texts = as_texts(column)
    if np.isfinite(as_numbers(pd.Series(texts.cat.categories))).all():
        return False
    words = texts.cat.categories
    return 1 < len(words) <= 11 and 3 * len(words) <= int(texts.notna().sum()) and bool(words.str.len().max() <= 40)


def with_ids_in_parts(frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]) -> dict[str, str]:
    """The roles with ids of several columns (`subset+index`), where nothing else tells outputs, or what one judge said
    under several prompts, apart. named: the roles that are told, which stay.
    """
    free = {plain(str(name)): str(name) for name in frame if name not in roles.values()}
    parts = [free[name] for name in (*SUBSETS, *NUMBERS) if name in free]
    if not roles.keys() & {"output", "source", "text", "source_text", "first_text"} and free.keys() & {*NUMBERS}:
        roles = {**roles, "output": "+".join(parts)}
    variant = next((free[name] for name in VARIANTS if name in free), "")
    if not variant or "rater" not in roles or {"rater"} & named.keys() or "generator" in roles:
        return roles  # with generators it may be what these were told
    others = ("text", "source_text", "source", "output", "criterion", "language", "first_text", "second_text", "shown")
    key = [*(roles[role] for role in ("rater", *others) if roles.get(role) in frame), *parts]
    judges = all(map(MODEL.search, as_texts(frame[roles["rater"]]).cat.categories))
    if judges and frame.duplicated(key).any() and not frame.duplicated([*key, variant]).any():
        roles = {**roles, "rater": f"{roles['rater']}+{variant}"}
    return roles


def with_joined(frame: pd.DataFrame, named: Mapping[str, str]) -> pd.DataFrame:
    """The frame with ids that stand in several columns as one (`subset+index`), in place of those."""
    joined = {name: name.split("+") for name in named.values() if name not in frame and "+" in name}
    joined = {name: parts for name, parts in joined.items() if set(parts) <= set(frame.columns)}
    for name, parts in joined.items():
        first, *others = (as_texts(frame[part]).astype(object) for part in parts)
        frame = frame.assign(**{name: first.str.cat(pd.concat(others, axis=1), sep="/")})
    return frame.drop(columns={part for parts in joined.values() for part in parts} - set(named.values()))


def columns_of(frame: pd.DataFrame) -> str:
    """For messages: the columns there are."""
    unnamed = sum(re.match(r"(column|Unnamed:) \d+$", name) is not None for name in frame.columns)
    elsewhere = " (the header may stand in another row)" if len(frame.columns) < 2 or unnamed > 1 else ""
    return f"Columns found: {', '.join(frame.columns)}{elsewhere}"
