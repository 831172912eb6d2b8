"""Any table of ratings: a rating, a rater or a criterion per row or column (shapes and cells:
metal.data.tables).

Files (CSV, TSV, JSON, JSONL, Parquet, XLSX) and DataFrames. Columns are recognized by common names
or named in the options. Work is done on whole columns: a million rows take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Card
from metal.data.formats import COMMON_OPTIONS, Draft, Format, with_common_options
from metal.data.progress import Progress, divided, no_progress
from metal.data.ratings import FRAME, check_on_scale, check_once, row_of, tidy_facts
from metal.data.records import METRIC_SCORE, Criterion, Output, Source
from metal.data.tables.also_column import as_values
from metal.data.tables.cells import (
    as_numbers,
    as_texts,
    conversation,
)
from metal.data.tables.conversations import split_conversations
from metal.data.tables.described import columns_of_export
from metal.data.tables.files import read_frame as read_table
from metal.data.tables.identify import CALLED, has_several, identified, joined_names, one_each
from metal.data.tables.judges_levels import levels_of_judges
from metal.data.tables.mturk import without_administration
from metal.data.tables.pairs import TEXTS, with_preferences, with_swapped_outputs
from metal.data.tables.pipeline import tidy_frame
from metal.data.tables.raters import first_rows, is_human, metrics_apart, raters_of
from metal.data.tables.repeats import (
    with_numbered_repeats,
    with_repeats,
    without_copies_of_rows,
)
from metal.data.tables.replies import read_replies
from metal.data.tables.roles import columns_of
from metal.data.tables.scales import PER_CRITERION, read_scores
from metal.data.tables.table_columns import ANSWERED_IN, TableColumns
from metal.data.tables.typed import columns_apart
from metal.data.tables.unread import differing, may_be_sources, telling_apart
from metal.data.text import first_few
from metal.errors import DataError, NoColumn, check_known

OPTIONS = frozenset(
    {
        "columns",
        "wide",
        "ignore",
        "language",
        "criterion",
        "generator",
        "kinds",
        "groups",
        "missing",
    }
) | {
    *PER_CRITERION,
    "decimal",
    "word_orders",
    "described",
    "repeated",
    "reader",
    "scales",
    "sheet",
    "rows",
    "progress",
}


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a table file; see `draft_from` for the options."""
    reading, making = divided(options.get("progress", no_progress), 2, 3)
    frame = options.get("rows")
    if frame is None:
        frame = read_table(path, options.get("sheet", ""), reading)
    return draft_from(frame, {**options, "progress": making}, path)


def read_ratings(frame: pd.DataFrame, **options: Any) -> Draft:
    """Ratings in a DataFrame, read as the format `table` reads a file. The frame is not changed.

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
    check_known("option", options, sorted(OPTIONS | COMMON_OPTIONS))
    return with_common_options(read_frame(frame, options), options)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of ratings; see `draft_from` for the options."""
    return draft_from(frame, {"name": "ratings"} | dict(options), FRAME)


def draft_from(frame: pd.DataFrame, options: Mapping[str, Any], file: Path) -> Draft:
    """A draft from a data frame. file: the file that messages name.

    options:

    - columns {role: column}: which column plays which role (see metal.data.tables.names.GUESSES)
    - wide: the columns that hold answers, with * as wildcard, or a template such as
      `{rater}_{criterion}`
    - ignore: columns to leave out, with * as wildcard
    - language, criterion, generator: of all rows
    - kinds, groups {rater, with *: value}; raters without a kind are judges if they have replies,
      models or metrics if their names say so, else people
    - missing: texts that mean no answer, besides the usual ones
    - directions, levels, measures, ranges, shifts {criterion, with *: value}: see
      metal.data.tables.scales
    - decimal: the decimal mark; word_orders: a file of orders, valid during this call
      (`own_orders`)
    - reader, scales: the function that reads replies (see metal.data.tables.replies), and the
      scales of the dataset that is joined
    - described: a function that gives a criterion by its name, or None for one that it does not
      know; recorded: the names of those whose records the data have (metal.data.tables.described)
    - repeated {rater: (judge, number)}: the raters that are a judge asked again
    - name: of the dataset; sheet: of an XLSX file; progress: of reading a file; rows: those of the
      file that are looked at, if not all; their index is their positions in it

    Raises DataError or UsageError, with the names of the columns, when a needed column is missing.
    """
    shaped, named, scored, checked, *listed = divided(
        options.get("progress", no_progress), 4, 4, 13, 3, 2, 7
    )
    shaped(0, 1)
    notes: list[str] = list(frame.attrs.get("notes", ()))
    above = frame.attrs.get("above", 0)
    frame = frame.rename(columns=str)
    if "rows" not in options:
        frame = frame.reset_index(drop=True)
    frame.index += above
    frame.attrs = {}  # pandas copies them with every column that is looked at
    of_export = columns_of_export(frame.columns)
    roles = of_export | dict(options.get("columns") or {})
    options = {**options, "columns": columns_apart(roles, frame.columns)}
    frame = without_administration(frame, notes)
    tidy = tidy_frame(frame, options, notes, file)
    options = tidy.attrs.pop("described").options(options)
    shaped(1, 1)
    _check_raters(frame, tidy, notes, file)
    split_conversations(tidy, notes)
    if not of_export and ("winner" in tidy or "first_text" in tidy):
        tidy, options = with_preferences(tidy, options, notes, file)
    tidy = identified(tidy, options, notes, file)
    named(1, 1)
    columns = tidy.attrs["columns"]
    doubtful = [*columns.doubtful, *differing(frame, columns.unread, tidy)]
    notes += _about_sources(frame, tidy)
    tidy = without_copies_of_rows(frame, tidy, notes)
    tidy, repeats = _repeats_apart(tidy, {**options, "of_export": bool(of_export)}, notes)
    if "swapped" in tidy:
        tidy = with_swapped_outputs(tidy)
    if "score" not in tidy:
        tidy["score"] = np.nan
    tidy, apart = metrics_apart(tidy, options, notes)
    criteria = _scored(tidy, {**options, "progress": scored}, notes, file, apart=bool(apart))
    if "reply" in tidy and "reader" in options:
        read_replies(tidy, criteria, options, notes, file)
    _read_beside_scores(tidy, criteria, file)
    raters = raters_of(tidy, options, repeats, columns.by_place, notes)
    criteria = levels_of_judges(criteria, tidy, raters, options, notes)
    _check_outputs(tidy, file)
    _check_doubles(frame, columns, tidy, file)
    checked(1, 1)
    sources = _sources(tidy, listed[0])
    outputs = _outputs(tidy, listed[1])
    card = Card(options.get("name") or file.name.split(".")[0])
    extra = _as_read(tidy, doubtful, of_export)
    parts = (
        tuple(criteria),
        tuple(sources),
        tuple(outputs),
        raters,
        tidy_facts(tidy),
        tuple(notes),
    )
    return Draft(card, *parts, {"reading": extra} if extra else {}, columns=columns)


def _check_raters(frame: pd.DataFrame, tidy: pd.DataFrame, notes: list[str], file: Path) -> None:
    """Name the single rater of pairs if the table names none. Raises DataError for a table without
    ratings, NoColumn for any other table without raters.
    """
    if tidy.empty:
        remedy = f"{columns_of(frame)}. Each row below the header is a rating"
        raise DataError(file, "no ratings in it", remedy)
    if "rater" in tidy:
        return
    if "first_text" not in tidy:
        unread = tidy.attrs["columns"].unread
        remedy = f'{columns_of(frame)}. Name it: `columns={{"rater": COLUMN}}`'
        raise NoColumn(file, "rater", unread, "no column for the rater", remedy)
    tidy["rater"] = "people"
    notes.append(
        "no column for the rater: all choices are taken as those of one rater, 'people' (`columns`)"
    )


def _repeats_apart(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str]
) -> tuple[pd.DataFrame, Mapping[str, tuple[str, int]]]:
    """The table with answers that a rater gave again under names of their own, and {name: (rater,
    number)}. Notes: of which judges, and which answers of people are left out.
    """
    repeated: Mapping[str, tuple[str, int]] = options.get("repeated", {})
    if "repeat" not in tidy:
        return tidy, repeated
    if options["of_export"]:
        return with_numbered_repeats(tidy)
    _outputs_of_epochs(tidy, notes)
    tidy, again = with_repeats(tidy, partial(is_human, tidy, options), notes)
    return tidy, {**repeated, **again}


def _as_read(
    tidy: pd.DataFrame, doubtful: Sequence[str], of_export: Mapping[str, str]
) -> dict[str, Any]:
    """What an audit says of how the table was read. doubtful: columns that may be answers;
    of_export: the roles of the columns in a table of `metal export`.
    """
    columns: TableColumns = tidy.attrs["columns"]
    extra: dict[str, Any] = {
        "unread": list(doubtful),
        "sources_by": columns.sources_by,
        "doubtful_directions": tidy.attrs["doubtful_directions"],
        "sources_named": "source" in of_export and one_each(tidy, "source", "output"),
    }
    return {name: value for name, value in extra.items() if value}


def _about_sources(frame: pd.DataFrame, tidy: pd.DataFrame) -> list[str]:
    """Notes on unread columns that may name sources, if each output is its own source."""
    columns: TableColumns = tidy.attrs["columns"]
    if columns.sources_by or not one_each(tidy, "source", "output"):
        return []
    return [
        f"{name!r} may hold the ids of sources: `columns={ {'source': name} }`"
        for name in may_be_sources(frame, columns.unread, tidy)
    ]


def _scored(
    tidy: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path, *, apart: bool
) -> list[Criterion]:
    """The criteria of the scores; the scores become numbers. apart: whether metrics have a
    criterion of their own.
    """
    if apart:
        measures = {**(options.get("measures") or {}), METRIC_SCORE.name: "interval"}
        options = {**options, "measures": measures}
    criteria = read_scores(tidy, options, notes, file)
    if tidy.attrs.get("unnamed"):
        criteria = [replace(each, called=CALLED) for each in criteria]
    by_name = {each.name: each for each in criteria}
    check_on_scale(tidy, by_name, partial(_place_in_file, tidy, file))
    if not apart:
        return criteria
    return [METRIC_SCORE if each.name == METRIC_SCORE.name else each for each in criteria]


def _read_beside_scores(tidy: pd.DataFrame, criteria: Sequence[Criterion], file: Path) -> None:
    """Turn confidences into numbers, and other answers that would do as well into the values of
    levels.
    """
    if "confidence" in tidy:
        tidy["confidence"] = as_numbers(tidy["confidence"])
    if "also" in tidy:
        tidy["also"] = as_values(tidy, criteria, partial(_place_in_file, tidy, file))


def _check_doubles(
    frame: pd.DataFrame, columns: TableColumns, tidy: pd.DataFrame, file: Path
) -> None:
    """Raise DataError for a rating that is given twice."""
    remedy = "Keep one of them"
    if tidy.duplicated(["output", "criterion", "rater"]).any():
        remedy = _remedy_for_doubles(frame, columns, tidy)
    check_once(tidy.assign(output=tidy["output"].astype("category")), file, remedy)


def _sources(tidy: pd.DataFrame, progress: Progress) -> list[Source]:
    """The sources, with the values of their first rows."""
    roles = ("source", "language", "source_text", "reference", "content")
    sources = []
    for name, language, text, reference, content in first_rows(tidy, progress, *roles):
        references = (reference,) if reference else ()
        sources.append(
            Source(name, language, conversation(text), references=references, content=content)
        )
    return sources


def _outputs(tidy: pd.DataFrame, progress: Progress) -> list[Output]:
    """The outputs, with the values of their first rows."""
    compared = "swapped" in tidy
    pairs = compared or {*TEXTS} <= {*tidy}
    roles = ["output", "source", "generator", "language", "text"]
    roles += ["first", "second", "of", "condition", *(TEXTS if pairs else ())]
    outputs = []
    for (
        output,
        source,
        generator,
        language,
        text,
        first,
        second,
        of,
        condition,
        *pair,
    ) in first_rows(tidy, progress, *roles):
        texts = tuple(pair) if any(pair) else ()
        rated = Output(
            *(output, source, generator, language, "" if compared or texts else conversation(text)),
            # a pair without texts cannot be rated again
            chosen=bool(texts) or not (compared or (second and not text)),
            first=first,
            second=second,
            of=of,
            condition=condition,
            texts=texts,
        )
        outputs.append(rated)
    return outputs


def _place_in_file(tidy: pd.DataFrame, file: Path, row: int) -> str:
    """How a message names the n-th rating: its row in the file, and in a wide table its column."""
    row_in_file = row_of(file, int(tidy.index[row]))
    return (
        f"{row_in_file}, column {tidy[ANSWERED_IN].iloc[row]!r}"
        if ANSWERED_IN in tidy
        else row_in_file
    )


def _outputs_of_epochs(tidy: pd.DataFrame, notes: list[str]) -> None:
    """If a new text was written for each epoch, make each text an output of its own; the id then
    names their common source.
    """
    if "text" not in tidy or not has_several(
        tidy.assign(text=as_texts(tidy["text"])), "output", "text"
    ):
        return
    repeat = as_texts(tidy["repeat"])
    if one_each(tidy, "source", "output"):
        tidy["source"] = tidy["output"]
    tidy["output"] = pd.Categorical(joined_names(tidy["output"], repeat))
    notes.append("each repeat has a text of its own: read as another output of the same source")


def _remedy_for_doubles(frame: pd.DataFrame, columns: TableColumns, tidy: pd.DataFrame) -> str:
    """What to do about ratings that are given twice."""
    name = telling_apart(frame, columns.unread, tidy)
    if name:
        options = {role: f"`columns={ {role: name} }`" for role in ("output", "text", "repeat")}
        named = (
            f"if it is the output's id: {options['output']};"
            f" if it is the rated text: {options['text']}"
        )
        return (
            f"{name!r} tells them apart: {named}; if the rater answered again: {options['repeat']}"
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


def _check_outputs(tidy: pd.DataFrame, file: Path) -> None:
    """Raise DataError for an output with two sources, generators, languages or texts."""
    for other in ("source", "generator", "language", *(["text"] if "text" in tidy else [])):
        pairs = tidy[["output"]].assign(**{other: as_texts(tidy[other])}).dropna()
        if has_several(pairs, "output", other):
            pairs = pairs.drop_duplicates()
            name = pairs["output"][pairs["output"].duplicated()].iloc[0]
            first, second = pairs[other][pairs["output"] == name].iloc[:2]
            problem = f"output {name!r} has more than one {other} ({first[:60]!r}, {second[:60]!r})"
            remedy = (
                "Ids that repeat in each language or system are ids of sources:"
                ' `columns={"source": COLUMN}`'
            )
            remedy += (
                ('; if it has texts instead of ids: `columns={"text": COLUMN}`')
                if other == "source"
                else ""
            )
            if other == "text":
                remedy = (
                    'Name the column that tells its outputs apart: `columns={"output": COLUMN}`, or'
                    " `generator`"
                )
            raise DataError(file, problem, remedy)


FORMAT = Format(
    "any table: CSV, JSON, Parquet, XLSX; a column per role, rater or criterion",
    read,
    OPTIONS,
    read_frame=read_frame,
)
