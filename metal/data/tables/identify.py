"""What identifies a rating: language, criterion, generator, source and output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.languages import (
    check_language,
    find_language,
    is_language,
    language_name,
    pair_in_capitals,
)
from metal.data.ratings import row_of
from metal.data.tables.cells import (
    MISSING,
    as_names,
    as_texts,
    digest,
    fold,
)
from metal.data.tables.language import language_of
from metal.data.tables.sources import by_inputs, by_text
from metal.data.tables.table_columns import TableColumns
from metal.errors import DataError

CALLED = "ratings"  # the criterion on pages, where nobody named one
IDS = ("language", "rater", "criterion", "generator", "source", "output")


def identified(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path
) -> pd.DataFrame:
    """Fill in what identifies a rating: language, criterion, generator, source and output."""
    _fill(tidy, options, notes, file)
    if "output" not in tidy and "source" not in tidy:
        by_text(tidy, tidy.attrs["columns"].unread, notes, file)
    for role in filter(tidy.__contains__, IDS):
        _name_all(tidy, role, notes, file)
    _read_languages(tidy, "`language`" if options.get("language") else "", notes, file)
    named = options.get("columns") or {}
    tidy = _ids_of_sources(tidy, named, notes)
    if "source" not in tidy or (one_each(tidy, "source", "output") and "source" not in named):
        _find_sources(tidy, notes)
    elif has_several(tidy, "source", "language"):
        notes.append(
            "the same sources occur in several languages: each is named LANGUAGE/SOURCE, its"
            " content SOURCE"
        )
        if "content" not in tidy:
            tidy["content"] = tidy["source"]
        tidy["source"] = joined_names(tidy["language"], tidy["source"])
    if "output" not in tidy:
        _name_outputs(tidy)
    return tidy


def _name_all(tidy: pd.DataFrame, role: str, notes: list[str], file: Path) -> None:
    """Read a column as names. Raises DataError for a row without a name."""
    tidy[role] = as_names(tidy[role], role, notes)
    if role == "language":
        missing = [name for name in tidy[role].cat.categories if fold(name) in MISSING]
        if len(missing) < len(tidy[role].cat.categories):  # `NA` among others is not Nauru
            tidy[role] = tidy[role].cat.remove_categories(missing)
    empty = tidy[role].isna().to_numpy()
    if empty.any():
        row = int(tidy.index[int(empty.argmax())])
        problem = f"{role} is empty or NA" if role == "language" else f"{role} is empty"
        raise DataError(row_of(file, row), problem, "Every rating needs one")


def _read_languages(tidy: pd.DataFrame, option: str, notes: list[str], file: Path) -> None:
    """Write languages as their codes, with a note on names of places that are read as languages.

    Raises DataError for an unknown language. option: the option that named the language, if no row
    did.
    """
    codes: dict[str, str] = {}
    for name in tidy["language"].cat.categories:
        code = find_language(name) or name
        codes[name] = code.lower() if len(code) <= 3 else code  # `EN` is `en`
    for name, code in codes.items():
        if is_language(name) and pair_in_capitals(name) == code:
            notes.append(f"language: {name!r} is read as {language_name(code)} (`language`)")
    bad = [name for name, code in codes.items() if not is_language(code)]
    if bad:
        row = int(tidy.index[int((tidy["language"] == bad[0]).argmax())])
        check_language(codes[bad[0]], option or row_of(file, row))
    tidy["language"] = tidy["language"].map(codes).astype("category")


def _ids_of_sources(tidy: pd.DataFrame, named: Mapping[str, str], notes: list[str]) -> pd.DataFrame:
    """Read ids as those of sources if one id occurs with several generators or languages."""
    if "output" not in tidy or "source" in tidy or "output" in named:
        return tidy
    several = [role for role in ("generator", "language") if has_several(tidy, "output", role)]
    if not several:
        return tidy
    notes.append(
        f"the same id occurs with several {several[0]}s: read as the id of the source (`columns`)"
    )
    tidy = tidy.rename(columns={"output": "source"})
    columns: TableColumns = tidy.attrs["columns"]
    roles = {
        "source" if role == "output" else role: column for role, column in columns.roles.items()
    }
    tidy.attrs["columns"] = replace(columns, roles=roles)
    return tidy


def _name_outputs(tidy: pd.DataFrame) -> None:
    """Name outputs by source and generator, and by their texts where these are not enough."""
    tidy["output"] = joined_names(tidy["source"], tidy["generator"])
    if "text" in tidy and has_several(tidy.assign(text=as_texts(tidy["text"])), "output", "text"):
        texts = as_texts(tidy["text"]).astype(object).fillna("")
        tidy["output"] = joined_names(tidy["output"], texts.map(digest).astype("category"))


def _find_sources(tidy: pd.DataFrame, notes: list[str]) -> None:
    """Give outputs their sources by the texts of the inputs; if these do not help, each output gets
    a source of its own.
    """
    columns: TableColumns = tidy.attrs["columns"]
    inputs, ids = columns.roles.get("source_text"), columns.roles.get("output", "ID")
    if inputs and "output" in tidy and by_inputs(tidy, inputs, ids, notes):
        tidy.attrs["columns"] = replace(columns, sources_by=inputs)
    elif "source" not in tidy:
        notes.append(
            'no source column: outputs count as independent (`columns={"source": COLUMN}`)'
        )
        tidy["source"] = tidy["output"]


def _fill(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path) -> None:
    """Give all rows the criterion, generator and language that no column states."""
    tidy.attrs["unnamed"] = "criterion" not in tidy and not options.get("criterion")
    for role, default in (("criterion", "overall"), ("generator", "text")):
        if role not in tidy or options.get(role):
            tidy[role] = options.get(role) or default
            on_pages = f", {CALLED!r} on pages" * (role == "criterion" and not options.get(role))
            notes.append(f"{role}: {options.get(role) or default!r} in every row{on_pages}")
    if options.get("language"):
        tidy["language"] = options["language"]
    elif "language" not in tidy:
        texts = next(
            (tidy[role] for role in ("text", "first_text", "source_text") if role in tidy), None
        )
        columns: TableColumns = tidy.attrs["columns"]
        every = [*columns.roles.values(), *columns.wide, *columns.unread]
        code, why = language_of(file.name.split(".")[0], every, texts)
        tidy["language"] = code
        notes.append(f"language: {code}, {why} (`language`)")


def one_each(tidy: pd.DataFrame, first: str, second: str) -> bool:
    """Whether each value of a column goes with exactly one value of the other, and vice versa."""
    if first not in tidy or second not in tidy:
        return False
    return not (has_several(tidy, first, second) or has_several(tidy, second, first))


def has_several(tidy: pd.DataFrame, name: str, other: str) -> bool:
    """Whether any name occurs with several values of another column."""
    names, values = tidy[name].array.codes, tidy[other].array.codes
    last = np.zeros(len(tidy[name].cat.categories) + 1, dtype=np.int64)
    last[names] = values
    return bool((last[names] != values).any())


def joined_names(left: pd.Series, right: pd.Series) -> Any:
    """`left/right` as categories, built from the distinct pairs only."""
    lefts, rights = left.cat.categories.tolist(), right.cat.categories.tolist()
    key = left.array.codes.astype(np.int64) * len(rights) + right.array.codes
    codes, pairs = pd.factorize(key, sort=True)
    names = [
        f"{lefts[pair // len(rights)]}/{rights[pair % len(rights)]}" for pair in pairs.tolist()
    ]
    return pd.Categorical.from_codes(codes, pd.Index(names))
