"""Find what distinguishes the outputs and sources of a table: ids, ids in several columns, or the
texts of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from metal.data.tables.cells import as_texts
from metal.data.tables.names import (
    GUESSES,
    MODEL,
    NO_OUTPUT,
    NUMBERS,
    SUBSETS,
    VARIANTS,
    plain,
    words_of,
)

DOCUMENTS = ("doc", "docid", "document", "documentid", "docno")
_NUMBER_ENDS = frozenset({"id", "ids", "no", "nr", "number", "sno", "slno"})
_OF_OUTPUTS = frozenset({"output", "source", "text", "source_text", "first_text"})
SEGMENTS = ("segid", "segmentid", "segment", "seg", "segno", "sentenceid", "item", "itemid")


def with_ids_in_parts(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles with ids that consist of several columns (`subset+index`), if nothing else
    distinguishes the outputs, or the answers of one judge under several prompts.

    named: the roles that the user named, which stay.
    """
    free = {plain(str(name)): str(name) for name in frame if name not in roles.values()}
    parts = [free[name] for name in (*SUBSETS, *NUMBERS) if name in free]
    if not roles.keys() & _OF_OUTPUTS and free.keys() & {*NUMBERS}:
        roles = {**roles, "output": "+".join(parts)}
    variant = next(filter(None, map(free.get, VARIANTS)), "")
    if not variant or "rater" not in roles.keys() - named.keys() or "generator" in roles:
        return roles  # with generators it may be what these were told
    others = (
        "text",
        "source_text",
        "source",
        "output",
        "criterion",
        "language",
        "first_text",
        "second_text",
        "shown",
    )
    key = [*(roles[role] for role in ("rater", *others) if roles.get(role) in frame), *parts]
    judges = all(map(MODEL.search, as_texts(frame[roles["rater"]]).cat.categories))
    if judges and frame.duplicated(key).any() and not frame.duplicated([*key, variant]).any():
        roles = {**roles, "rater": f"{roles['rater']}+{variant}"}
    return roles


def with_unique_id(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles with a column called `*_id` as the output, if nothing else names outputs and each
    rater has only one row for each of its values.

    Of several such columns, the one with the most values is taken.
    """
    if roles.keys() & {"output", "first_text", "winner"} or "output" in named:
        return roles
    key = [roles[role] for role in ("rater", "criterion") if roles.get(role) in frame]
    key += [name for name in frame.columns if plain(name) in GUESSES["repeat"]]
    candidates = []
    for column in _called_ids(frame, roles):
        if "rater" in roles and frame[column].nunique() == len(frame):
            continue  # it numbers the rows
        if frame[column].notna().all() and not frame.duplicated([*key, column]).any():
            candidates.append(column)
    if not candidates:
        return roles
    return {**roles, "output": max(candidates, key=lambda column: frame[column].nunique())}


def _called_ids(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """The columns without a role whose names end like names of ids or, if nothing names raters,
    like names of numbers.
    """
    ends = {"id", "ids"} if "rater" in roles else _NUMBER_ENDS
    columns = []
    for column in frame.columns:
        name_words = words_of(column)
        is_id = NO_OUTPUT.isdisjoint(name_words) and not ends.isdisjoint(name_words[-1:])
        if is_id and column not in roles.values():
            columns.append(column)
    return columns


def with_documents(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles with document and segment together as the source, if segments are numbered within
    each document.
    """
    by_name = {plain(column): column for column in frame.columns}
    document = next((by_name[name] for name in DOCUMENTS if name in by_name), "")
    segment = next((by_name[name] for name in SEGMENTS if name in by_name), "")
    if not document or not segment or named.keys() & {"source", "output"}:
        return roles
    if not {*roles.values()} & {document, segment} or segment == roles.get("text"):
        return roles
    pairs = frame[[document, segment]].drop_duplicates()
    numbered_anew = bool(pairs[segment].duplicated().any())
    kept = {role: column for role, column in roles.items() if column not in (document, segment)}
    return {**kept, "source": f"{document}+{segment}" if numbered_anew else segment}


def with_source_texts(
    frame: pd.DataFrame, roles: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles with all columns that hold the input as its text: `instruction+input`."""
    if "source_text" not in roles or "source_text" in named:
        return roles
    taken = {column for role, column in roles.items() if role != "source_text"}
    names = [
        name
        for name in frame.columns
        if plain(name) in GUESSES["source_text"] and name not in taken
    ]
    if roles["source_text"] not in names or len(names) < 2:
        return roles
    return {**roles, "source_text": "+".join(names)}


def with_joined(frame: pd.DataFrame, named: Mapping[str, str]) -> pd.DataFrame:
    """The frame with several columns joined into one (`subset+index`).

    Ids are joined with a slash, and texts of the input by line breaks. Empty parts are left out.
    """
    parts_of = {}
    for role, name in named.items():
        parts = name.split("+")
        if name not in frame and len(parts) > 1 and set(parts) <= set(frame.columns):
            parts_of[name] = parts
            gap = {"source_text": "\n\n", "language": "-"}.get(role, "/")
            joined = as_texts(frame[parts[0]]).astype(object)
            for part in parts[1:]:
                other = as_texts(frame[part]).astype(object)
                both = joined.str.cat(other, sep=gap)
                joined = both.fillna(joined).fillna(other)
            frame = frame.assign(**{name: joined})
    parts_read = {part for parts in parts_of.values() for part in parts}
    return frame.drop(columns=parts_read - set(named.values()))
