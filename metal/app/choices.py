"""How a table is to be read, as the import wizard's addresses say it: each option of `metal.read`
that a person chose is a parameter of the query.

    language=hi            an option with one value
    ignore=note&ignore=id  an option with a list
    columns.rater=who      an option with names: here the role and its column
"""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from metal.data.languages import find_language
from metal.errors import UsageError
from metal.show.commands import in_commands, named, typed_options

Options = dict[str, Any]
ONE = ("format", "language", "criterion", "generator", "sheet", "decimal")
SEVERAL = ("wide", "ignore")
NAMED = ("columns", "kinds", "directions", "levels", "measures", "ranges", "shifts")
MISSING = "missing"  # criterion -> several values
ELSEWHERE = ("hf",)  # formats that are read from another place than a file
FLAGS = {
    name: named(name)
    for name in (
        *("columns", "wide", "ignore", "language", "criterion", "generator", "kinds", "groups"),
        *("missing", "directions", "levels", "measures", "ranges", "shifts", "decimal", "sheet"),
        *("format", "word_orders", "only", "weights"),
    )
}


def check_options(options: Options) -> None:
    """Raise UsageError for an unknown language, or a format that reads no file."""
    if options.get("format") in ELSEWHERE:
        raise UsageError(f"The format {options['format']} is not read from files")
    language = options.get("language", "")
    if language and language != "und" and find_language(language) is None:
        raise UsageError(
            f"The language {language!r} is not known. Write a code such as hi, or a name such as"
            " Hindi"
        )


def worded(message: str, folder: Path) -> str:
    """A message with options as a person types them, and without the private folder."""
    return in_commands(message.replace(f"{folder}/", ""), FLAGS)


def options_in(query: QueryParams) -> Options:
    """The options in a query; parameters that are no options of a table are left out."""
    options: Options = {}
    for parameter, value in query.multi_items():
        option, dot, name = parameter.partition(".")
        if not value:
            continue
        if option in ONE and not dot:
            options[option] = value
        elif option in SEVERAL and not dot:
            options[option] = (*options.get(option, ()), value)
        elif option in NAMED and name:
            options.setdefault(option, {})[name] = value
        elif option == MISSING and name:
            values = options.setdefault(MISSING, {})
            values[name] = (*values.get(name, ()), value)
    return options


def query_of(options: Mapping[str, Any]) -> str:
    """The query that says these options."""
    parameters: list[tuple[str, str]] = []
    for option, value in options.items():
        if isinstance(value, Mapping):
            for name, each in value.items():
                parameters += [(f"{option}.{name}", text) for text in _texts(each)]
        else:
            parameters += [(option, text) for text in _texts(value)]
    return urlencode(parameters)


def each_choice(options: Options) -> list[tuple[str, Options]]:
    """Each choice as it would be typed in a terminal, with the options that remain without it."""
    choices = []
    for option, value in options.items():
        names = list(value) if isinstance(value, Mapping) else [""]
        for name in names:
            rest = {**options}
            if name:
                stated(rest, option, name, "")
            else:
                del rest[option]
            only = {option: {name: value[name]} if name else value}
            choices.append((" ".join(typed_options(only)), rest))
    return choices


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def stated(options: Options, option: str, name: str, value: Any) -> None:
    """State a value of one role, rater or criterion; without a value, state nothing of it."""
    values = dict(options.get(option, {}))
    values.pop(name, None)
    if value:
        values[name] = value
    _set(options, option, values)


def read_as(options: Options, column: str, before: str, role: str, wide: tuple[str, ...]) -> None:
    """Give a column another role than it has.

    before: the column's present role. role: the new one: "" to leave the column out, ANSWERS for a
    column of answers. wide: how the columns of answers are named now.
    """
    pattern = escape(column)
    columns = {key: name for key, name in options.get("columns", {}).items() if name != column}
    was_chosen = len(columns) < len(options.get("columns", {}))
    patterns = [each for each in options.get("wide", ()) if each != pattern]
    was_chosen = was_chosen or len(patterns) < len(options.get("wide", ()))
    ignored = [each for each in options.get("ignore", ()) if each != pattern]
    if role == ANSWERS:
        patterns = [*(patterns or wide), pattern]
    elif role:
        columns[role] = column
    elif before and not was_chosen:
        ignored.append(pattern)
    _set(options, "columns", columns)
    _set(options, "wide", tuple(patterns))
    _set(options, "ignore", tuple(ignored))


ANSWERS = "answers"  # the role of columns that hold the answers of a rater, or on a criterion


def column_of(pattern: str) -> str:
    """The column that an escaped pattern names."""
    for special in "*?[":
        pattern = pattern.replace(f"[{special}]", special)
    return pattern


def _set(options: Options, option: str, value: Any) -> None:
    if value:
        options[option] = value
    else:
        options.pop(option, None)
