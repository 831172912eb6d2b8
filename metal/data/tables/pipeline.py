"""Turn a table into one rating per row: the steps and their order.

Each step takes the table as far as it has been understood, and returns it understood a little
better. A note says what was guessed or left out. STEPS has the order. The docstring of each step
says which notes it adds, and what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.holdings import CRITERION_RECORD, LABEL
from metal.data.tables import asides, surveys
from metal.data.tables.answer_columns import AnswerColumn, without_end
from metal.data.tables.by_language import by_language
from metal.data.tables.cells import as_texts
from metal.data.tables.described import without_descriptions
from metal.data.tables.guessed_table import PARTED, GuessedTable
from metal.data.tables.harnesses import harness_of, refusal
from metal.data.tables.ids import (
    with_documents,
    with_ids_in_parts,
    with_joined,
    with_source_texts,
    with_unique_id,
)
from metal.data.tables.language import pair_in_two, with_language
from metal.data.tables.names import GUESSES, is_machine, plain
from metal.data.tables.nested import flattened, nested_columns
from metal.data.tables.parts import in_two
from metal.data.tables.roles import columns_of, few_words, roles_of, without_pairs
from metal.data.tables.shapes import (
    choices,
    places_named,
    replies_alone,
    shape,
    stacked,
    without_answers,
)
from metal.data.tables.table_columns import TableColumns, first_rows
from metal.data.tables.who_rated import (
    check_no_judge_beside,
    check_raters,
    judges_columns,
    note_on_scores,
    people_beside,
    with_judging_model,
    with_people,
    with_rows_as_outputs,
)
from metal.data.tables.wide import WideTable, answer_columns, as_wide
from metal.data.text import first_few
from metal.errors import DataError


def tidy_frame(
    frame: pd.DataFrame, options: Mapping[str, Any], notes: list[str], file: Path
) -> pd.DataFrame:
    """Turn a table into one rating per row, with columns named by role; the index is the row in the
    file.

    options: `columns` {role: column}; `wide`, the columns that hold answers, as patterns with * or
    as a template such as `{rater}_{criterion}`; `kinds`. Without them roles and answers are guessed
    from names and cells, and notes say so. Members of objects in cells become columns named by
    their path, `metadata.language`. Raises DataError or UsageError, with the names of the columns,
    when a needed column is missing.
    """
    return _one_rating_a_row(_understood(GuessedTable(frame, options, notes, file)))


def _understood(table: GuessedTable) -> GuessedTable:
    """The table after all steps. Each time that lists were opened, the steps start again from the
    first.
    """
    for step in STEPS:
        table = step(table)
        if table.reopened:
            return _understood(replace(table, reopened=False))
    return table


# ---------------------------------------------------------------- cells and columns


def _check_names(table: GuessedTable) -> GuessedTable:
    """Refuse two columns of one name, and another harness's results. No note."""
    columns = table.frame.columns
    if not columns.is_unique:
        twice = columns[columns.duplicated()][0]
        raise DataError(table.where, f"two columns are called {twice!r}", "Rename one of them")
    harness = harness_of(list(columns))
    if harness and not (table.patterns or "score" in table.named):
        raise refusal(harness, table.where)
    return table


def _take_descriptions(table: GuessedTable) -> GuessedTable:
    """Take out columns that describe the criteria of the scores beside them, unless they are named.
    Note: of which criteria.
    """
    if table.patterns or {LABEL, CRITERION_RECORD} & {*table.named.values()}:
        return table
    frame, described = without_descriptions(table.frame, table.notes, table.where)
    return replace(table, frame=frame, described=described)


def _flatten(table: GuessedTable) -> GuessedTable:
    """Turn members of objects into columns. Notes: rows of summaries left out, cells read as
    JSON.
    """
    frame = asides.without_summary_rows(table.frame, table.notes)
    frame, paths = flattened(frame, table.notes)
    return replace(table, frame=frame, paths=paths)


def _leave_out_ignored(table: GuessedTable) -> GuessedTable:
    """Leave out the columns that the option `ignore` names. Note: which. Refuse a column that is
    both left out and named.
    """
    names, gone = list(map(str, table.frame.columns)), list[str]()
    matched = set(table.ignored)
    for pattern in table.to_ignore:
        columns = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        gone += columns
        matched |= {pattern} if columns else set()
    for role, column in table.named.items():
        if column in gone:
            problem = f"`columns={ {role: column} }` and `ignore` name the same column"
            raise DataError(table.where, problem, "Leave it out of one of them")
    if names and len({*gone}) == len(names):
        raise DataError(table.where, f"`ignore={table.to_ignore}` leaves no column", "Name fewer")
    if gone:
        table.notes.append(f"columns left out (`ignore`): {first_few(gone, 12)}")
    frame = table.frame.drop(columns=gone)
    return replace(table, frame=frame, ignored=frozenset(matched))


def _leave_out_copies(table: GuessedTable) -> GuessedTable:
    """Leave out columns that repeat another, unless answers are named. Note: which."""
    if table.patterns:
        return table
    frame = asides.without_copies(table.frame, {*table.named.values()}, table.notes)
    return replace(table, frame=frame)


def _join_named(table: GuessedTable) -> GuessedTable:
    """Join columns named with a +, and two that hold a pair of languages. No note."""
    frame = with_joined(table.frame, table.named)
    pair = pair_in_two(frame)
    if pair and not {*pair.split("+")} & {*table.named.values()}:
        frame = with_joined(frame, {"language": pair})
    return replace(table, frame=frame, pair=pair)


def _find_named(table: GuessedTable) -> GuessedTable:
    """Find the columns that `wide` names, in lists too. Notes: lists opened."""
    frame, patterns = table.frame, table.patterns
    places = places_named(frame, patterns, table.paths)
    absent = {*table.named.values()} - {*frame.columns}
    nested = nested_columns(frame, ()) if patterns or absent else []
    if nested and (absent or not {answer.column for answer in places} - {*nested}):
        return table.opened(nested)
    if patterns and not places:
        raise DataError(table.where, f"no column matches `wide={patterns}`", columns_of(frame))
    return replace(table, places=places)


# ---------------------------------------------------------------- roles


def _guess_roles(table: GuessedTable) -> GuessedTable:
    """Decide which column plays which role, by its name unless its cells refute that. No note."""
    roles = roles_of(table.frame, table.answers, table.options, table.where)
    if "rater" not in table.named and judges_columns(table.frame[table.answers], ()):
        roles.pop("rater", None)  # the columns are raters', and what else names people goes unread
    return replace(table, roles=roles)


def _find_choices(table: GuessedTable) -> GuessedTable:
    """Find columns of raters' choices between two outputs. Note: columns of choices left out."""
    chosen = choices(
        table.frame, table.roles, list(table.places), bool(table.patterns), table.notes
    )
    roles = without_pairs(table.frame, table.roles, table.options, chosen=bool(chosen))
    return replace(table, roles=roles, places=chosen or table.places, chosen=bool(chosen))


def _guess_language(table: GuessedTable) -> GuessedTable:
    """Find the column of languages by its cells. No note."""
    roles = table.roles
    if table.options.get("language"):
        return table
    if table.pair in table.frame and "language" not in roles:
        roles = roles | {"language": table.pair}
    if "language" not in table.named:
        roles = with_language(table.frame, roles)
    return replace(table, roles=roles)


def _guess_ids(table: GuessedTable) -> GuessedTable:
    """Find what tells outputs and sources apart if no name says so. No note."""
    roles = table.roles
    if not table.patterns:
        roles = with_ids_in_parts(table.frame, roles, table.named)
    for guess in (with_documents, with_unique_id, with_source_texts):
        roles = guess(table.frame, roles, table.named)
    return replace(table, roles=roles)


# ---------------------------------------------------------------- shape


def _turn_surveys(table: GuessedTable) -> GuessedTable:
    """Read a table on its side, with one row per respondent. Note: respondents named by number."""
    frame, roles, places = table.frame, table.roles, table.places
    of_survey = None
    if not table.patterns:
        of_survey = surveys.respondents_of(frame, roles, table.named)
    if of_survey is not None:
        places = surveys.outputs_asked_about(frame, of_survey)
        roles = of_survey if places else roles
    on_its_side = any(answer.output for answer in places)
    if on_its_side:
        kept = {*table.named, "rater"}
        roles = {role: column for role, column in roles.items() if role in kept}
        frame, roles = surveys.with_respondents(frame, roles, table.notes)
    frame = with_joined(frame, roles)
    return replace(table, frame=frame, roles=roles, places=places, on_its_side=on_its_side)


def _part_raters(table: GuessedTable) -> GuessedTable:
    """Split a column that holds rater and criterion into two columns. Note: that columns were
    split.
    """
    roles, frame = table.roles, table.frame
    column = roles.get("rater", "")
    if column not in frame or "criterion" in roles or table.patterns:
        return table
    names = as_texts(frame[column])
    parted = in_two(names.cat.categories.tolist())
    if not parted:
        return table
    raters, criteria = (
        names.map({name: pair[index] for name, pair in parted.items()}) for index in (0, 1)
    )
    frame = frame.assign(**{column: raters, f"{column}{PARTED}": criteria})
    table.notes.append(f"{column!r} holds raters and criteria, as in {next(iter(parted))!r}")
    return replace(table, frame=frame, roles=roles | {"criterion": f"{column}{PARTED}"})


def _find_raters(table: GuessedTable) -> GuessedTable:
    """Decide who rated in a row: a column, a model with its score, people in a judge's row. Refuse
    a column of raters that may be scores. Note: the model that is read as the judge.
    """
    frame, roles, named = table.frame, table.roles, table.named
    if table.patterns or table.on_its_side:
        return table
    if not table.chosen:
        roles = with_judging_model(frame, roles, named, table.notes)
    people: list[str] = []
    if "rater" in roles:
        roles, people = people_beside(frame, roles, named, table.where)
        check_no_judge_beside(frame, roles, named, table.where)
        check_raters(frame, roles, named, table.where)
    return replace(table, roles=roles, people=people)


def _see_if_long(table: GuessedTable) -> GuessedTable:
    """Decide whether each row holds one rater's one answer. No note."""
    roles = table.roles
    long = "first_text" in roles
    if not long and "rater" in roles:
        answered = not roles.keys().isdisjoint({"score", "winner"})
        long = answered or replies_alone(table.frame, roles, table.options)
    return replace(table, long=long)


def _guess_answers(table: GuessedTable) -> GuessedTable:
    """Find the columns of answers if nothing names them, in lists too. Refuse if it is unclear
    whose answers they are. Notes: columns not read, lists opened.
    """
    if table.patterns or table.long or table.chosen or table.on_its_side:
        return table
    score = table.roles.get("score")
    roles = without_answers(table.frame, table.roles, table.named)
    by_place = table.lists.by_place
    if score is not None and "score" not in roles:
        by_place |= {without_end(score), score}
    wide = WideTable(table.frame, roles, table.paths, table.where, by_place, table.lists.of_raters)
    nested = nested_columns(table.frame, list(roles.values()))
    places: list[AnswerColumn] = []
    doubtful: list[str] = []
    if not (nested and table.paths):
        kinds = table.options.get("kinds") or {}
        described = table.options.get("described", {}.get)
        places, doubtful = answer_columns(wide, kinds, table.notes, described)
    if not places:
        return table.opened(nested)
    roles = _beside_answers(roles, places, table.named)
    return replace(table, roles=roles, places=places, doubtful=doubtful)


def _beside_answers(
    roles: dict[str, str], places: Sequence[AnswerColumn], named: Mapping[str, str]
) -> dict[str, str]:
    """The roles that remain if columns hold answers."""
    roles = dict(roles)
    if "score" in roles and "score" not in named and plain(roles["score"]) in GUESSES["text"]:
        roles.setdefault("text", roles.pop("score"))  # `answer`
    answers = {answer.column for answer in places}
    roles = {role: column for role, column in roles.items() if column not in answers}
    in_parts = any(answer.rater or answer.criterion for answer in places)
    if not in_parts or "rater" not in roles:
        roles.pop("score", None)  # a label beside the columns of raters
    return roles


def _drop_shared(table: GuessedTable) -> GuessedTable:
    """Drop replies and confidence if it is unclear which of several answers they belong to, and
    replies about pairs, because they name an output by its place. No note.
    """
    shared: tuple[str, ...] = ("reply", "confidence", "also")
    if len(table.places) < 2:
        of_pairs = "winner" in table.roles or (
            "first_text" in table.roles and "score" not in table.roles
        )
        shared = ("reply", "also") if of_pairs else ()
    roles = {role: column for role, column in table.roles.items() if role not in shared}
    return replace(table, roles=roles)


def _take_for_criteria(table: GuessedTable) -> GuessedTable:
    """Read columns that `wide` names as criteria if another column names the rater. No note."""
    if not table.patterns or "rater" not in table.roles or table.on_its_side:
        return table
    places = [
        AnswerColumn(
            answer.column, criterion=answer.rater or answer.criterion, comment=answer.comment
        )
        for answer in table.places
    ]
    return replace(table, places=places)


def _take_for_languages(table: GuessedTable) -> GuessedTable:
    """Read columns whose names each contain a language as answers in that language. No note."""
    if "language" in table.roles or table.options.get("language") or table.on_its_side:
        return table
    places = by_language(table.places)
    return replace(table, places=places) if places else table


def _number_rows(table: GuessedTable) -> GuessedTable:
    """Make each row an output if several raters scored it and nothing tells outputs apart. Note:
    that rows became outputs.
    """
    machines = {is_machine(answer.rater) for answer in table.places if answer.rater}
    of_both_kinds = len(machines) > 1 and not table.patterns and "winner" not in table.roles
    if not table.people and not of_both_kinds:
        return table
    frame, roles = with_rows_as_outputs(table.frame, table.roles, table.notes)
    return replace(table, frame=frame, roles=roles)


# ---------------------------------------------------------------- what is said of it


def _check_ignored(table: GuessedTable) -> GuessedTable:
    """Refuse patterns of columns to leave out that no column matched. No note."""
    unknown = [pattern for pattern in table.to_ignore if pattern not in table.ignored]
    if unknown:
        raise DataError(
            table.where, f"no column matches `ignore={unknown}`", columns_of(table.frame)
        )
    return table


def _say_shape(table: GuessedTable) -> GuessedTable:
    """Notes: how the table was read, and columns with names of raters that are read as scores."""
    table.notes.append(shape(table.roles_in_file, table.places))
    if not table.patterns:
        note_on_scores(table.answers, table.notes)
    return table


def _say_unread(table: GuessedTable) -> GuessedTable:
    """Notes: the columns not read, and those among them whose words may be answers."""
    taken = {*table.role_of, *table.people, *table.answers}
    taken |= {answer.comment for answer in table.places}
    unread = [column for column in table.frame.columns if column not in taken]
    if unread:
        table.notes.append(f"columns not read: {first_few(unread, 12)}")
    unordered = []
    if not table.long and not table.patterns:
        unordered = [column for column in unread if few_words(table.frame[column])]
    if unordered:
        table.notes.append(
            f"not read: {first_few(unordered)} may hold answers in words whose order METAL does"
            " not know (`wide` and `levels` read them)"
        )
    return replace(table, unread=unread)


STEPS: tuple[Callable[[GuessedTable], GuessedTable], ...] = (
    _check_names,
    _take_descriptions,
    _flatten,
    _leave_out_ignored,
    _leave_out_copies,
    _join_named,
    _find_named,
    _guess_roles,
    _find_choices,
    _guess_language,
    _guess_ids,
    _turn_surveys,
    _part_raters,
    _find_raters,
    _see_if_long,
    _guess_answers,
    _drop_shared,
    _take_for_criteria,
    _take_for_languages,
    _number_rows,
    _check_ignored,
    _say_shape,
    _say_unread,
)


def _one_rating_a_row(table: GuessedTable) -> pd.DataFrame:
    """The ratings of an understood table; `attrs` says from which columns they were read."""
    if table.places:
        tidy = stacked(table.frame, table.role_of, table.places)
    else:
        tidy = table.frame[list(table.role_of)].rename(columns=table.role_of)
    roles = table.roles_in_file
    if table.chosen:
        tidy = tidy.rename(columns={"score": "winner"})
    else:
        tidy = with_people(tidy, table.frame, roles, table.people, table.notes)
    of_all = [answer for answer in table.places if not (answer.rater or answer.criterion)]
    if of_all:
        roles["score"] = of_all[-1].column
    wide = () if of_all else tuple(dict.fromkeys(map(as_wide, table.places)))
    tidy.attrs["described"] = table.described
    tidy.attrs["columns"] = TableColumns(
        roles,
        wide,
        tuple(table.unread),
        doubtful=tuple(table.doubtful),
        by_place=table.lists.by_place,
        names=tuple(table.frame.columns),
        answers=tuple(table.places),
        first_rows=first_rows(table.frame),
    )
    return tidy
