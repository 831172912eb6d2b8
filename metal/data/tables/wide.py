"""Find which columns of a wide table hold answers, and whose: a column is a criterion, a rater, or
both.

A column is a rater's only if its name (`annotator_1`, `human_score`, `gpt_4o`) or the user says so.
If names do not show whose answers a table holds, METAL asks.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

import numpy as np
import pandas as pd

from metal.data.records import METRIC_SCORE
from metal.data.tables import asides
from metal.data.tables.answer_columns import (
    LONGEST,
    AnswerColumn,
    columns_with_answers,
    holds_answers,
    with_comments,
    without_end,
)
from metal.data.tables.cells import as_numbers, as_texts, fold
from metal.data.tables.names import (
    COMMENTS,
    CRITERION,
    GUESSES,
    METRIC,
    MODEL,
    is_machine,
    is_nobodys,
    is_person,
    plain,
    words_of,
)
from metal.data.tables.nested import Paths, nested_columns
from metal.data.tables.parts import places_of, without_last_end
from metal.data.tables.roles import columns_of, few_words
from metal.data.tables.surveys import EACH_ROW, FEWEST, ON_ITS_SIDE, template_of
from metal.data.text import first_few
from metal.data.text import name as shortened
from metal.errors import DataError, NoColumn

_NUMBERED = re.compile(r"[ _-]?(\d+|(?<![a-z])[a-c])$", re.I)  # answer_1, score_1
MOST_LISTED = 12  # columns that an option names one by one
MOST_WORDS = 11  # of a scale
_SUMMED_UP = frozenset({"avg", "average", "mean", "median", "majority", "consensus", "mode"})


@dataclass(frozen=True)
class WideTable:
    """A table on its way to ratings: its cells, the columns that play a role, and the paths of
    columns in objects.

    people: further raters who are people: a column named like scores next to a judge's, or
    positions in a list. of_raters: if not empty, only these columns can be criteria; the others
    describe outputs.
    """

    frame: pd.DataFrame
    roles: Mapping[str, str]
    paths: Paths
    where: Path
    people: frozenset[str] = frozenset()
    of_raters: frozenset[str] = frozenset()

    @property
    def free(self) -> list[str]:
        """The columns that play no role."""
        taken = set(self.roles.values())
        return [column for column in self.frame.columns if column not in taken]

    @property
    def of_outputs(self) -> list[str]:
        """The free columns that are known to describe outputs and are not criteria."""
        return [name for name in self.free if self.of_raters and name not in self.of_raters]


def answer_columns(
    table: WideTable, kinds: Mapping[str, str], notes: list[str], described: Callable[[str], object]
) -> tuple[list[AnswerColumn], list[str]]:
    """The columns that hold answers, if no single column holds all; empty if answers may be in
    lists.

    Also returns the columns that are left out because their names do not say whose answers they
    hold.

    kinds: the kinds of raters that the user names. described: a function that gives a criterion by
    its name; its scale has the order of words. Raises NoColumn, which lists the columns to choose
    from, if names do not say whose the answers are.
    """
    doubtful: list[str] = []
    if "rater" in table.roles:
        columns = _criteria(table, notes, described)
        doubtful = [
            name
            for name in table.of_outputs
            if not is_nobodys(name) and holds_answers(table.frame[name])
        ]
    else:
        columns, doubtful = _raters(table, kinds, notes)
    if columns or nested_columns(table.frame, list(table.roles.values())):
        return columns, doubtful
    raise _nothing_found(table, notes)


def _nothing_found(table: WideTable, notes: Sequence[str]) -> NoColumn:
    missing = next(role for role in ("rater", "score") if role not in table.roles)
    remedy = (
        f'{columns_of(table.frame)}. Name it: `columns={{"{missing}": COLUMN}}`; a wide table:'
        " `wide=RATERS`"
    )
    sheets = [note for note in notes if note.startswith("only the sheet")]
    if missing == "score":
        remedy += '; if it holds judges\' replies: `columns={"reply": COLUMN}`'
    elif sheets:
        remedy += (
            f"; {sheets[0]}: if each rater has a sheet, put them into one sheet, with a column for"
            " the rater"
        )
    answers = _may_be_asked_about(table)
    if missing == "rater" and (len(answers) > 1 or (answers and "score" not in table.roles)):
        remedy = remedy.replace("`wide=RATERS`", _as_option(answers, list(table.frame.columns)))
        remedy += f"; {ON_ITS_SIDE}" if len(answers) >= FEWEST else ""
        if len(answers) > 1 and answers[0] == table.roles.get("score"):
            remedy += f"; if it is a judge: `kinds={ {answers[1]: 'llm'} }`"
    return NoColumn(
        table.where, missing, table.free, f"no column for the {missing}", remedy, answers
    )


def _may_be_asked_about(table: WideTable) -> list[str]:
    """The columns that may hold answers, whatever their names are.

    If a judge has the only column of answers, columns that summarise people also count, and so do
    scores next to a person's.
    """
    answers = [
        name for name in table.free if not is_nobodys(name) and _may_hold_answers(table.frame[name])
    ]
    if len(answers) == 1:
        answers += [name for name in table.free if not _SUMMED_UP.isdisjoint(words_of(name))]
        if is_person(answers[0]) and "score" in table.roles:
            answers = [table.roles["score"], *answers]
    return answers


def _may_hold_answers(column: pd.Series) -> bool:
    """Whether the cells are numbers or a few recurring words, whatever the column's name is."""
    filled = column.dropna()
    if filled.empty or isinstance(filled.iloc[0], list | dict):
        return False
    return few_words(column) or bool(np.isfinite(as_numbers(filled)).all())


# ---------------------------------------------------------------- a column a criterion


def _criteria(
    table: WideTable, notes: list[str], described: Callable[[str], object]
) -> list[AnswerColumn]:
    """In a table with a column of raters: the columns of answers, one for each criterion."""
    frame = table.frame
    columns = [
        name for name in table.free if holds_answers(frame[name]) or described(without_end(name))
    ]
    if not columns:
        columns = [name for name in table.free if CRITERION.search(name) and few_words(frame[name])]
    of_outputs = {*table.of_outputs}
    columns = [name for name in columns if name not in of_outputs]
    columns = asides.criteria_among(columns, notes)
    columns = asides.without_facts_of_raters(columns, frame, table.roles["rater"], notes)
    if not columns or ("criterion" in table.roles and len(columns) > 1):
        return []
    _check_one_output(frame, columns, table.where)
    _check_no_ranks(frame, columns, table.where)
    if "criterion" in table.roles:
        return with_comments([AnswerColumn(columns[0])], frame.columns)
    return with_comments(
        [AnswerColumn(name, criterion=without_end(name)) for name in columns], frame.columns
    )


def _check_one_output(frame: pd.DataFrame, columns: Sequence[str], file: Path) -> None:
    """Raise DataError if the answers of a row are about several outputs: gpt_output, gpt_score,
    llama_output, ...
    """
    text_names = (*GUESSES["text"], "output")
    wanted = {f"{fold(without_end(name))} {word}" for name in columns for word in text_names}
    ends = {match[1] for match in filter(None, map(_NUMBERED.search, columns))}
    texts = []
    for name in frame.columns:
        match = _NUMBERED.search(name)
        numbered = (
            match is not None and match[1] in ends and plain(name[: match.start()]) in text_names
        )
        if name not in columns and (fold(name) in wanted or numbered):
            texts.append(name)
    if len(texts) > 1:
        remedy = "Write a row for each, with columns generator, text and score"
        raise DataError(file, f"several outputs per row: {first_few(texts)}", remedy)


def _check_no_ranks(frame: pd.DataFrame, columns: Sequence[str], file: Path) -> None:
    """Raise DataError if every complete row ranks several columns: 1, 2, ... once each."""
    ranks = [name for name in columns if {"rank", "ranking"} & {*words_of(name)}]
    if len(ranks) < 2:
        return
    rows = np.sort(frame[ranks].apply(as_numbers).dropna().to_numpy(), axis=1)
    if len(rows) and (rows == np.arange(1, len(ranks) + 1)).all():
        remedy = "Write a row for each, with columns generator and score, the best with the highest"
        raise DataError(file, f"ranks of several outputs per row: {first_few(ranks)}", remedy)


# ---------------------------------------------------------------- a column a rater


def _raters(
    table: WideTable, kinds: Mapping[str, str], notes: list[str]
) -> tuple[list[AnswerColumn], list[str]]:
    """If no column names the rater: the columns of answers that have names of raters, and the other
    columns.

    Answers under other names are not read if there are people and judges without them. Raises
    NoColumn if people or judges are missing, or if models may be either the judges or the judged
    generators.
    """
    free = [name for name in table.free if {*COMMENTS}.isdisjoint(words_of(name)[-1:])]
    columns = asides.raters_by_name(_called_like_raters(table, free), notes)
    places = places_of(columns, table.paths) if len(columns) > 1 else []
    if not any(answer.rater for answer in places):
        return [], []
    raters_named, rest = _of_raters_named(table, places, kinds)
    _check_whose(table, places, raters_named, rest)
    doubtful = [answer.column for answer in rest]
    read = {*columns}
    doubtful += [name for name in free if name not in read and _may_be_a_raters(table, name)]
    if doubtful:
        names = first_few(doubtful)
        notes.append(
            f"not read, because their names do not say whose answers they hold: {names} (`wide`"
            " reads them)"
        )
    named = [(answer.rater, answer.column) for answer in raters_named]
    kept = asides.without_summaries(named, table.frame, notes)
    read_as = [answer for answer in raters_named if answer.rater in kept]
    return with_comments(read_as, table.frame.columns), doubtful


def _of_raters_named(
    table: WideTable, places: Sequence[AnswerColumn], kinds: Mapping[str, str]
) -> tuple[list[AnswerColumn], list[AnswerColumn]]:
    """The columns whose names say whose answers they hold (and on which criterion, if any name
    does), and the other columns.
    """
    by_criterion = any(answer.criterion for answer in places)
    alike = [answer for answer in places if bool(answer.criterion) == by_criterion]
    numbered = [answer.rater for answer in alike if answer.rater[-1:].isdigit()]
    stems = {re.sub(r"[ _-]?\d+$", "", rater).lower() for rater in numbered} - {""}
    raters_named = [
        answer for answer in alike if _is_rater(answer.rater, table.people, kinds, stems)
    ]
    if by_criterion and raters_named:
        raters_named += _metrics_among(table, places)
    read = {answer.column for answer in raters_named}
    return raters_named, [answer for answer in places if answer.column not in read]


def _metrics_among(table: WideTable, places: Sequence[AnswerColumn]) -> list[AnswerColumn]:
    """The columns named like a metric alone (`rouge1` beside `human_fluency`), with the criterion
    of all metrics.
    """
    metrics = []
    for answer in places:
        alone = not answer.criterion and METRIC.search(answer.rater)
        if alone and np.isfinite(as_numbers(table.frame[answer.column].dropna())).all():
            metrics.append(replace(answer, criterion=METRIC_SCORE.name))
    return metrics


# What one column says of an item for all people together, where the people have numbers.
TOLD_OF_ITEMS = frozenset(("difficulty", "disagreement", "effort", "familiarity", "ambiguity"))


def _called_like_raters(table: WideTable, free: Sequence[str]) -> list[str]:
    """The columns of answers and of raters' words; if there are scores, only columns with names of
    raters.
    """
    answering = columns_with_answers(table.frame, free)
    columns = [name for name in free if name in answering or _words_of_a_rater(table, name)]
    if not table.roles.get("score"):
        return columns
    raters = {name for name in columns if is_person(without_end(name))}
    raters |= {name for name in columns if is_machine(without_end(name))}
    return [name for name in columns if name in raters]


def _check_whose(
    table: WideTable,
    places: Sequence[AnswerColumn],
    raters_named: Sequence[AnswerColumn],
    rest: Sequence[AnswerColumn],
) -> None:
    """Raise NoColumn if models may be either the judges or the judged generators.

    Also raised if some columns belong to nobody, and people or judges are missing without them.
    """
    machines = sum(is_machine(answer.rater) for answer in raters_named)
    people = len(raters_named) - machines
    inputs = not table.roles.keys().isdisjoint({"source", "source_text"})
    inputs_alone = inputs and table.roles.keys().isdisjoint({"text", "output"})
    metrics = all(METRIC.search(answer.rater) for answer in raters_named)
    if not people and machines > 1 and inputs_alone and not (metrics and rest):
        raise _judges_or_judged(table, places)
    if rest and not (people and machines):
        raise _whose(table, raters_named, rest)


def _may_be_a_raters(table: WideTable, column: str) -> bool:
    """Whether an unread column is named like a rater and holds short texts."""
    name = without_end(column)
    if not (is_person(name) or is_machine(name)) or is_nobodys(column):
        return False
    texts = as_texts(table.frame[column]).cat.categories
    return len(texts) > 0 and bool(texts.str.len().max() <= LONGEST)


def _words_of_a_rater(table: WideTable, column: str) -> bool:
    """Whether a column named like a rater holds a few recurring short words, whose order METAL may
    not know.
    """
    name = without_end(column)
    said_of_it = {"name", "model", "group", "email", "type", "kind"}
    if not (is_person(name) or is_machine(name)) or not said_of_it.isdisjoint(words_of(name)[-1:]):
        return False
    texts = as_texts(table.frame[column])
    distinct, answers = texts.cat.categories, int(texts.notna().sum())
    if not len(distinct) or distinct.str.len().max() > LONGEST:
        return False
    return len(distinct) == 1 or (len(distinct) <= MOST_WORDS and 3 * len(distinct) <= answers)


def _is_rater(
    name: str, people: Collection[str], kinds: Mapping[str, str], numbered: Collection[str]
) -> bool:
    """Whether a column is a rater's: by its name, or because the user states its kind.

    numbered: names such as `human`, which occur with numbers (`human_1`, `human_2`);
    `human_difficulty` is then no person.
    """
    first, _, word = name.lower().replace("-", "_").replace(" ", "_").rpartition("_")
    if first in numbered and word in TOLD_OF_ITEMS:
        return False
    named = name in people or any(fnmatchcase(name, each) for each in kinds if each != "*")
    return named or is_person(name) or is_machine(name) or asides.is_reference(name)


def _whose(
    table: WideTable, raters_named: Sequence[AnswerColumn], rest: Sequence[AnswerColumn]
) -> NoColumn:
    names = first_few([shortened(answer.column) for answer in rest], 8)
    problem = (
        "no column for the rater, and the names of columns do not say whose answers they hold:"
        f" {names}"
    )
    called = "one rater on one criterion" if _in_parts([*raters_named, *rest]) else "a rater"
    remedy = (
        f"If each column is {called}: {_as_raters(table, [*raters_named, *rest])}; leave out those"
        " that are not"
    )
    if not any(is_person(answer.rater) for answer in raters_named):
        criterion = shortened(rest[0].column).rpartition(".")[2]
        remedy += f". If people gave them, rename them: human_{criterion}"
    if not raters_named:
        remedy += f"; {ON_ITS_SIDE}"
    templates = [*_in_parts([*raters_named, *rest]), *([] if raters_named else [EACH_ROW])]
    return _asked(
        table, [*raters_named, *rest], problem, f"{remedy}. {columns_of(table.frame)}", templates
    )


def _judges_or_judged(table: WideTable, places: Sequence[AnswerColumn]) -> NoColumn:
    names = first_few([shortened(answer.column) for answer in places])
    problem = (
        f"columns named like models ({names}): are they judges, or the generators that one judge"
        " scored?"
    )
    remedy = (
        f"If judges: {_as_raters(table, places)}; if not, write one row per score, with columns"
        " generator and rater"
    )
    return _asked(table, places, problem, remedy)


def _asked(
    table: WideTable,
    places: Sequence[AnswerColumn],
    problem: str,
    remedy: str,
    templates: Sequence[str] = (),
) -> NoColumn:
    columns = [answer.column for answer in places]
    return NoColumn(table.where, "rater", table.free, problem, remedy, columns, templates)


def _in_parts(places: Sequence[AnswerColumn]) -> list[str]:
    """The single template that reads rater and criterion from the names of all columns; empty if
    there is none.
    """
    templates = set(map(as_wide, places))
    in_two_parts = all(answer.rater and answer.criterion for answer in places)
    return [*templates] if in_two_parts and len(templates) == 1 else []


def as_wide(answer: AnswerColumn) -> str:
    """The pattern of `wide` that reads this column in the same way."""
    if answer.output:
        return template_of(answer)
    if answer.language or answer.column in (answer.rater, answer.criterion):
        return escape(answer.column)
    pattern = answer.column
    for name, part in ((answer.rater, "{rater}"), (answer.criterion, "{criterion}")):
        pattern = pattern.replace(name, part, 1) if name else pattern
    return pattern


def _as_raters(table: WideTable, places: Sequence[AnswerColumn]) -> str:
    """The option that reads each of the columns as one rater's."""
    if all(answer.column in table.paths for answer in places):
        templates = list(
            dict.fromkeys(_template_of(answer, table.paths[answer.column]) for answer in places)
        )
        if len(templates) < len(places):
            return f"`wide={templates}`"
    if in_parts := _in_parts(places):
        return f"`wide={json.dumps(in_parts)}`"
    return _as_option([answer.column for answer in places], list(table.frame.columns))


def _as_option(columns: Sequence[str], every: Sequence[str]) -> str:
    """The option that reads exactly these columns among all: by their names or, if there are many,
    by how their names begin.
    """
    start = os.path.commonprefix(list(columns))  # noqa: RUF071  of names, letter by letter
    pattern = f"{escape(start)}*"
    many = len(columns) > MOST_LISTED
    listed = (
        [pattern]
        if many and {name for name in every if fnmatchcase(name, pattern)} == {*columns}
        else columns
    )
    return f"`wide={json.dumps([*listed], ensure_ascii=False)}`"


def _template_of(answer: AnswerColumn, path: tuple[str, ...]) -> str:
    """The template of `wide` that reads this path, such as `scores.{rater}.{criterion}.value`."""
    steps, kept = list(without_last_end(path)), path[len(without_last_end(path)) :]
    if not answer.rater:
        steps[-2:] = ["{rater}", "{criterion}"]
    for at, name in enumerate(steps):
        if name == answer.criterion and answer.criterion:
            steps[at] = "{criterion}"
        elif without_end(name) == answer.rater:
            steps[at] = "{rater}"
    return ".".join([*steps, *kept])


def beside_a_judge(frame: pd.DataFrame, roles: Mapping[str, str]) -> bool:
    """Whether there are scores or a reference, and only one other column of answers, which is named
    like a judge.
    """
    answers = [
        name for name in frame.columns if name not in roles.values() and holds_answers(frame[name])
    ]
    judge = without_end(answers[0]) if len(answers) == 1 else ""
    # no base_model
    named_by_its_start = MODEL.match(judge) or not re.search(r"(?<!auto)[_ ]", judge)
    if not (is_machine(judge) and named_by_its_start):
        return False
    cells = [pd.Series(as_texts(frame[name]).cat.categories) for name in (roles["score"], *answers)]
    first, second = (bool(np.isfinite(as_numbers(each)).all()) for each in cells)
    return first == second
