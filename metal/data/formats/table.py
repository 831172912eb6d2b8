"""Any table of ratings: a rating, a rater or a criterion per row or column (shapes and cells:
metal.data.tables).

Files (CSV, TSV, JSON, JSONL, Parquet, XLSX) and DataFrames. Columns are recognized by common names
or named in the options. Work is done on whole columns: a million rows take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import COMMON_OPTIONS, Draft, Format, with_common_options
from metal.data.languages import (
    check_language,
    find_language,
    is_language,
    language_name,
    pair_in_capitals,
)
from metal.data.progress import divided, no_progress
from metal.data.ratings import FRAME, check_on_scale, check_once, row_of, tidy_facts
from metal.data.records import METRIC_SCORE, Output, Source
from metal.data.tables.cells import (
    MISSING,
    as_names,
    as_numbers,
    as_texts,
    conversation,
    digest,
    fold,
)
from metal.data.tables.conversations import split_conversations
from metal.data.tables.files import read_frame
from metal.data.tables.language import language_of
from metal.data.tables.mturk import without_administration
from metal.data.tables.pairs import TEXTS, with_preferences, with_swapped_outputs
from metal.data.tables.pipeline import tidy_frame
from metal.data.tables.raters import first_rows, is_human, metrics_apart, raters_of
from metal.data.tables.repeats import with_repeats, without_copies_of_rows
from metal.data.tables.replies import read_replies
from metal.data.tables.roles import columns_of
from metal.data.tables.scales import PER_CRITERION, read_scores
from metal.data.tables.sources import by_inputs, by_text
from metal.data.tables.table_columns import ANSWERED_IN, TableColumns
from metal.data.tables.typed import columns_apart
from metal.data.tables.unread import differing, may_be_sources, telling_apart
from metal.data.text import first_few
from metal.errors import DataError, NoColumn, UnknownName

OPTIONS = frozenset(
    {"columns", "wide", "language", "criterion", "generator", "kinds", "groups", "missing"}
) | {
    *PER_CRITERION,
    "decimal",
    "word_orders",
    "described",
    "reader",
    "scales",
    "sheet",
    "progress",
}
IDS = ("language", "rater", "criterion", "generator", "source", "output")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a table file; see `draft_from` for the options."""
    reading, making = divided(options.get("progress", no_progress), 2, 3)
    frame = read_frame(path, options.get("sheet", ""), reading)
    return draft_from(frame, {**options, "progress": making}, path)


def read_ratings(frame: pd.DataFrame, **options: Any) -> Draft:
    """Ratings in a DataFrame, read as the format `table` reads a file. The frame is left as it is.

    options: those of `draft_from`, and `only`, the kinds of rater to keep. Rows in messages are
    counted from 0. Raises UnknownName for an option that does not exist, and what `draft_from`
    raises.

    >>> frame = pd.DataFrame({"id": ["a", "a"], "annotator": ["A1", "gpt-4"], "rating": [1, 0]})
    >>> draft = read_ratings(frame, language="hi")
    >>> [rater.kind for rater in draft.raters]
    ['human', 'llm']
    >>> draft.notes[0].split("; ")[1]
    "columns read: rater from 'annotator', score from 'rating', output from 'id'"
    """
    for name in options:
        if name not in OPTIONS | COMMON_OPTIONS:
            raise UnknownName("option", name, sorted(OPTIONS | COMMON_OPTIONS))
    return with_common_options(draft_from(frame, {"name": "ratings"} | options, FRAME), options)


def draft_from(frame: pd.DataFrame, options: Mapping[str, Any], where: Path) -> Draft:
    """A draft from a data frame. where: the file that messages name.

    options:

    - columns {role: column}: which column plays which role (see metal.data.tables.names.GUESSES)
    - wide: the columns that hold answers, with * as wildcard, or a template such as
      `{rater}_{criterion}`
    - language, criterion, generator: of all rows
    - kinds, groups {rater, with *: value}; raters without a kind are taken for judges by their
      replies, models or metrics by their names, else for people
    - missing: texts that stand for no answer, besides the usual ones
    - directions, levels, measures, ranges, shifts {criterion, with *: value}: see
      metal.data.tables.scales
    - decimal: the mark of decimals; word_orders: a file of orders, in force while this is called
      (`own_orders`)
    - reader, scales: what reads replies (see metal.data.tables.replies), and the scales of the
      dataset to be joined
    - described: a function that gives a criterion by its name, or None for one that it does not
      know
    - name: of the dataset; sheet: of an XLSX file; progress: of reading a file

    Raises DataError or UsageError, with the names of the columns, when a needed column is missing.
    """
    shaped, named, scored, checked, *listed = divided(
        options.get("progress", no_progress), 4, 4, 13, 3, 2, 7
    )
    shaped(0, 1)
    notes: list[str] = list(frame.attrs.get("notes", ()))
    above = frame.attrs.get("above", 0)
    frame = frame.rename(columns=str).reset_index(drop=True)
    frame.index += above
    frame.attrs = {}  # pandas copies them with every column that is looked at
    options = {**options, "columns": columns_apart(options.get("columns") or {}, frame.columns)}
    frame = without_administration(frame, notes)
    tidy = tidy_frame(frame, options, notes, where)
    shaped(1, 1)
    if tidy.empty:
        raise DataError(
            where, "no ratings in it", f"{columns_of(frame)}. Each row below the header is a rating"
        )
    if "rater" not in tidy and "first_text" in tidy:
        tidy["rater"] = "people"
        notes.append("no column for the rater: all choices are by one, 'people' (`columns`)")
    if "rater" not in tidy:
        remedy = f'{columns_of(frame)}. Name it: `columns={{"rater": COLUMN}}`'
        raise NoColumn(
            where, "rater", tidy.attrs["columns"].unread, "no column for the rater", remedy
        )
    split_conversations(tidy, notes)
    if "winner" in tidy or "first_text" in tidy:
        tidy, options = with_preferences(tidy, options, notes, where)
    tidy = _identify(tidy, options, notes, where)
    named(1, 1)
    columns = tidy.attrs["columns"]
    doubtful = [*columns.doubtful, *differing(frame, columns.unread, tidy)]
    if not columns.sources_by and _one_each(tidy, "source", "output"):
        notes += [
            f"{name!r} may name the sources: `columns={ {'source': name} }`"
            for name in may_be_sources(frame, columns.unread, tidy)
        ]
    tidy = without_copies_of_rows(frame, tidy, notes)
    repeats: Mapping[str, tuple[str, int]] = {}
    if "repeat" in tidy:
        _outputs_of_epochs(tidy, notes)
        tidy, repeats = with_repeats(tidy, partial(is_human, tidy, options), notes)
    if "swapped" in tidy:
        tidy = with_swapped_outputs(tidy)
    if "score" not in tidy:
        tidy["score"] = np.nan
    tidy, apart = metrics_apart(tidy, options, notes)
    if apart:
        options = dict(options) | {
            "measures": {**(options.get("measures") or {}), METRIC_SCORE.name: "interval"}
        }
    criteria = read_scores(tidy, {**options, "progress": scored}, notes, where)
    check_on_scale(
        tidy, {each.name: each for each in criteria}, partial(_place_in_file, tidy, where)
    )
    if apart:
        criteria = [METRIC_SCORE if each.name == METRIC_SCORE.name else each for each in criteria]
    if "reply" in tidy and "reader" in options:
        read_replies(tidy, criteria, options, notes, where)
    if "confidence" in tidy:
        tidy["confidence"] = as_numbers(tidy["confidence"])
    raters = raters_of(tidy, options, repeats, columns.by_place, notes)
    _check_outputs(tidy, where)
    remedy = "Keep one of them"
    if tidy.duplicated(["output", "criterion", "rater"]).any():
        remedy = _remedy_for_doubles(frame, columns, tidy)
    check_once(tidy.assign(output=tidy["output"].astype("category")), where, remedy)
    checked(1, 1)
    sources = [
        Source(
            source,
            language,
            conversation(text),
            references=(reference,) if reference else (),
            content=content,
        )
        for source, language, text, reference, content in first_rows(
            tidy, listed[0], *("source", "language", "source_text", "reference", "content")
        )
    ]
    pairs = "swapped" in tidy
    outputs = [
        Output(
            *(output, source, generator, language, "" if pair else conversation(text)),
            chosen=any(pair) or not pairs,  # a pair without texts cannot be rated again
            first=first,
            second=second,
            of=of,
            condition=how,
            texts=tuple(pair) if any(pair) else (),
        )
        for output, source, generator, language, text, first, second, of, how, *pair in first_rows(
            tidy,
            listed[1],
            *("output", "source", "generator", "language", "text"),
            *("first", "second", "of", "condition", *(TEXTS if pairs else ())),
        )
    ]
    card = Card(options.get("name") or where.name.split(".")[0])
    extra: dict[str, Any] = {"unread": doubtful} if doubtful else {}
    if columns.sources_by:
        extra["sources_by"] = columns.sources_by
    if tidy.attrs["doubtful_directions"]:
        extra["doubtful_directions"] = tidy.attrs["doubtful_directions"]
    parts = (
        tuple(criteria),
        tuple(sources),
        tuple(outputs),
        raters,
        tidy_facts(tidy),
        tuple(notes),
    )
    return Draft(card, *parts, {"reading": extra} if extra else {}, columns=columns)


def _place_in_file(tidy: pd.DataFrame, where: Path, row: int) -> str:
    """What a message calls the n-th rating: its row in the file, and in a wide table its column."""
    row_in_file = row_of(where, int(tidy.index[row]))
    return (
        f"{row_in_file}, column {tidy[ANSWERED_IN].iloc[row]!r}"
        if ANSWERED_IN in tidy
        else row_in_file
    )


def _outputs_of_epochs(tidy: pd.DataFrame, notes: list[str]) -> None:
    """Where a text was written anew for each epoch, each is an output of its own, of the source
    that the id names.
    """
    if "text" not in tidy or not _several(
        tidy.assign(text=as_texts(tidy["text"])), "output", "text"
    ):
        return
    repeat = as_texts(tidy["repeat"])
    if _one_each(tidy, "source", "output"):
        tidy["source"] = tidy["output"]
    tidy["output"] = pd.Categorical(_joined(tidy["output"], repeat))
    notes.append("each repeat has a text of its own: taken for another output of the same source")


def _remedy_for_doubles(frame: pd.DataFrame, columns: TableColumns, tidy: pd.DataFrame) -> str:
    """What to do about ratings that are given twice."""
    name = telling_apart(frame, columns.unread, tidy)
    if name:
        given = {role: f"`columns={ {role: name} }`" for role in ("output", "text", "repeat")}
        named = f"it names outputs {given['output']}, it is the rated text {given['text']}"
        return (
            f"{name!r} tells them apart: if {named}, or the rater answered again {given['repeat']}"
        )
    remedy = (
        'Keep one of them; if they rate several outputs, name the texts: `columns={"text": COLUMN}`'
    )
    no_ids = [
        *columns.unread,
        *(columns.roles[role] for role in ("source_text", "group") if role in columns.roles),
    ]
    if no_ids:
        remedy += (
            '; ids in several columns, joined by +: `columns={"output": "A+B", "rater": "C+D"}`'
        )
        remedy += f" (so far no id: {first_few(no_ids)})"
    return remedy


def _identify(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path
) -> pd.DataFrame:
    """Fill in what identifies a rating: language, criterion, generator, source and output."""
    _fill(tidy, options, notes, where)
    if "output" not in tidy and "source" not in tidy:
        by_text(tidy, tidy.attrs["columns"].unread, notes, where)
    for role in IDS:
        if role in tidy:
            tidy[role] = as_names(tidy[role], role, notes)
            if role == "language":
                missing = [name for name in tidy[role].cat.categories if fold(name) in MISSING]
                if len(missing) < len(tidy[role].cat.categories):  # `NA` among others is not Nauru
                    tidy[role] = tidy[role].cat.remove_categories(missing)
            empty = tidy[role].isna().to_numpy()
            if empty.any():
                row = int(tidy.index[int(empty.argmax())])
                raise DataError(
                    row_of(where, row),
                    f"{role} is empty" + (" or NA" if role == "language" else ""),
                    "Every rating needs one",
                )
    codes = {name: find_language(name) or name for name in tidy["language"].cat.categories}
    # `EN` is `en`
    codes = {name: code.lower() if len(code) <= 3 else code for name, code in codes.items()}
    places = [
        name for name, code in codes.items() if is_language(name) and pair_in_capitals(name) == code
    ]
    notes += [
        f"language: {name!r} is read as {language_name(codes[name])} (`language`)"
        for name in places
    ]
    bad = [name for name, code in codes.items() if not is_language(code)]
    if bad:
        row = int(tidy.index[int((tidy["language"] == bad[0]).argmax())])
        check_language(
            codes[bad[0]], "`language`" if options.get("language") else row_of(where, row)
        )
    tidy["language"] = tidy["language"].map(codes).astype("category")
    named = options.get("columns") or {}
    several = [
        role
        for role in ("generator", "language")
        if "output" in tidy and _several(tidy, "output", role)
    ]
    if several and "source" not in tidy and "output" not in named:
        notes.append(
            f"the same id occurs with several {several[0]}s: taken for the source's (`columns`)"
        )
        tidy = tidy.rename(columns={"output": "source"})
        columns: TableColumns = tidy.attrs["columns"]
        roles = {
            "source" if role == "output" else role: column for role, column in columns.roles.items()
        }
        tidy.attrs["columns"] = replace(columns, roles=roles)
    if "source" not in tidy or (_one_each(tidy, "source", "output") and "source" not in named):
        _find_sources(tidy, notes)
    elif _several(tidy, "source", "language"):
        notes.append(
            "the same sources occur in several languages: each is named LANGUAGE/SOURCE, its"
            " content SOURCE"
        )
        if "content" not in tidy:
            tidy["content"] = tidy["source"]
        tidy["source"] = _joined(tidy["language"], tidy["source"])
    if "output" not in tidy:
        tidy["output"] = _joined(tidy["source"], tidy["generator"])
        if "text" in tidy and _several(tidy.assign(text=as_texts(tidy["text"])), "output", "text"):
            digests = (
                as_texts(tidy["text"]).astype(object).fillna("").map(digest).astype("category")
            )
            tidy["output"] = _joined(tidy["output"], digests)
    return tidy


def _find_sources(tidy: pd.DataFrame, notes: list[str]) -> None:
    """Give outputs their sources by the texts of the inputs; where these do not tell, each is one
    of its own.
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


def _one_each(tidy: pd.DataFrame, first: str, second: str) -> bool:
    """Whether each value of a column goes with one value of the other, both ways."""
    if first not in tidy or second not in tidy:
        return False
    return not (_several(tidy, first, second) or _several(tidy, second, first))


def _fill(tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], where: Path) -> None:
    """Give all rows the criterion, generator and language that no column has."""
    for role, default in (("criterion", "overall"), ("generator", "text")):
        if role not in tidy or options.get(role):
            tidy[role] = options.get(role) or default
            notes.append(f"{role}: {options.get(role) or default!r} for all rows")
    if options.get("language"):
        tidy["language"] = options["language"]
    elif "language" not in tidy:
        texts = next(
            (tidy[role] for role in ("text", "first_text", "source_text") if role in tidy), None
        )
        columns: TableColumns = tidy.attrs["columns"]
        every = [*columns.roles.values(), *columns.wide, *columns.unread]
        code, why = language_of(where.name.split(".")[0], every, texts)
        tidy["language"] = code
        notes.append(f"language: {code}, {why} (`language`)")


def _several(tidy: pd.DataFrame, name: str, other: str) -> bool:
    """Whether one name occurs with several values of another column."""
    names, values = tidy[name].array.codes, tidy[other].array.codes
    last = np.zeros(len(tidy[name].cat.categories) + 1, dtype=np.int64)
    last[names] = values
    return bool((last[names] != values).any())


def _joined(left: pd.Series, right: pd.Series) -> Any:
    """`left/right` as categories, built from the distinct pairs only."""
    lefts, rights = left.cat.categories.tolist(), right.cat.categories.tolist()
    key = left.array.codes.astype(np.int64) * len(rights) + right.array.codes
    place, pairs = pd.factorize(key, sort=True)
    names = [
        f"{lefts[pair // len(rights)]}/{rights[pair % len(rights)]}" for pair in pairs.tolist()
    ]
    return pd.Categorical.from_codes(place, pd.Index(names))


def _check_outputs(tidy: pd.DataFrame, where: Path) -> None:
    """Raises DataError for an output with two sources, generators, languages or texts."""
    for other in ("source", "generator", "language", *(["text"] if "text" in tidy else [])):
        pairs = tidy[["output"]].assign(**{other: as_texts(tidy[other])}).dropna()
        if _several(pairs, "output", other):
            pairs = pairs.drop_duplicates()
            name = pairs["output"][pairs["output"].duplicated()].iloc[0]
            first, second = pairs[other][pairs["output"] == name].iloc[:2]
            problem = f"output {name!r} has more than one {other} ({first[:60]!r}, {second[:60]!r})"
            remedy = (
                'Ids that repeat in each language or system are of the source: `columns={"source":'
                " COLUMN}`"
            )
            remedy += (
                '; texts in place of ids: `columns={"text": COLUMN}`' if other == "source" else ""
            )
            if other == "text":
                remedy = (
                    'Name the column that tells its outputs apart: `columns={"output": COLUMN}`, or'
                    " `generator`"
                )
            raise DataError(where, problem, remedy)


FORMAT = Format(
    "any table: CSV, JSON, Parquet, XLSX; a column per role, rater or criterion",
    read,
    OPTIONS,
)
