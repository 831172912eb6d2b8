"""`-i` of `metal import` and of verbs that take a table: ask about everything that was only
guessed.

The answers are printed as options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.api.importing import (
    doubtful_scores,
    explicit_options,
    guessed_directions,
    is_stated,
)
from metal.cli.dialogue import BACK, QUIT, Back, Dialogue, Nobody, one_of
from metal.errors import MetalError, NoColumn, UnknownOrder
from metal.show.commands import typed_options
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.formats import Draft

# options that the reader of a table does not take
AFTER_READING = ("map_sources", "map_generators", "texts")
_TEMPLATES = (
    "each column is one rater on one criterion",
    "each row is a rater, each column an output",
)
Parse = Callable[[Sequence[str]], dict[str, Any]]
Words = list[str]


def ask_about(
    path: Path,
    format: str,
    stated: Mapping[str, Any],
    parse: Parse,
    show: Callable[[Dataset], None],
    folder: Path | None = None,
) -> tuple[Words, Path | None]:
    """Ask about the table; return the command line that reads it as answered, and the folder to
    write, if one was proposed.

    The command line has all options, including those that were guessed right.

    stated: the options of `metal.read` that the user gave. parse: turns words into such options.
    show: shows how the table was read, before and after the answers. If the table cannot be read
    with an answer, the question is asked again.
    """
    dialogue = Dialogue()
    while True:
        dialogue.again()
        try:
            command_line = _asked(dialogue, path, format, stated, parse, show)
            return command_line, folder and dialogue.ask(
                "Folder to write", default=str(folder), value_proc=_new_folder
            )
        except Back:
            dialogue.back()
        except Nobody:
            raise
        except MetalError as error:
            if not dialogue.answers:
                raise
            dialogue.refuse(error)


def _asked(
    dialogue: Dialogue,
    path: Path,
    format: str,
    stated: Mapping[str, Any],
    parse: Parse,
    show: Callable[[Dataset], None],
) -> Words:
    options = {name: value for name, value in stated.items() if value not in (None, (), "", {})}
    later = {name: options.pop(name) for name in AFTER_READING if name in options}
    draft, dataset = _read(dialogue, path, format, options)
    if dialogue.is_new:
        show(dataset)
    answers = dict(_answers(dialogue, draft, dataset, options))
    if answers:
        _add(options, answers)
        draft, dataset = _read(dialogue, path, format, options)
        if dialogue.is_new:
            show(dataset)
    explicit = explicit_options(draft, dataset, options)
    first = [*filter(None, [format]), str(path.absolute())]
    for left_out in ((), ("levels", "measures")):
        kept = {name: value for name, value in explicit.items() if name not in left_out}
        kept |= {name: options[name] for name in left_out if name in options}
        command_line = [*first, *typed_options(kept)]
        try:
            if metal.read(path, format, **parse(command_line)).digest == dataset.digest:
                return [*command_line, *typed_options(later)]
        except (MetalError, click.ClickException):  # a name that the command line cannot carry
            continue
    return [*first, *typed_options(options), *typed_options(later)]


def _new_folder(text: str) -> Path:
    if text.strip() in (*BACK, *QUIT) or Path(text).exists():
        raise click.UsageError(f"{text} exists; name another")
    return Path(text)


# ---------------------------------------------------------------- reading


def _read(
    dialogue: Dialogue, path: Path, format: str, options: dict[str, Any]
) -> tuple[Draft, Dataset]:
    """Read the table with the options; if necessary, ask for columns and for the order of words."""
    from metal.api.read import draft_of

    asked = set()
    while True:
        try:
            draft = draft_of(path, format, options)
            return draft, draft.assemble(path)
        except NoColumn as missing:
            if not missing.columns or missing.role in asked:
                raise
            asked.add(missing.role)
            if dialogue.is_new:
                console.say(f"{missing.where}: {missing.problem}")
            _add(options, _column(dialogue, missing, options))
        except UnknownOrder as unknown:
            if unknown.criterion in asked:
                raise
            asked.add(unknown.criterion)
            if dialogue.is_new:
                console.say(f"{unknown.where}: {unknown.problem}")
            question = f"{unknown.criterion}: worst to best as A<B<C, or nominal"
            order = dialogue.ask(question, value_proc=partial(_order, labels=unknown.words))
            _add(
                options,
                {
                    "measures" if order == "nominal" else "levels": {
                        escape(unknown.criterion): order
                    }
                },
            )


def _column(dialogue: Dialogue, missing: NoColumn, options: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for the column of a role; for the rater, the answer may be several columns, each of them
    a rater.
    """
    from metal.data.tables.surveys import EACH_ROW
    from metal.data.tables.wide import MOST_LISTED
    from metal.data.text import first_few

    columns = first_few(missing.columns, MOST_LISTED)
    if missing.role != "rater" or len(missing.columns) < 2 or "wide" in options:
        left = dialogue.left(missing.columns)
        question = f"Column of the {missing.role} ({', '.join(left)})"
        column = dialogue.ask(question, value_proc=one_of(left))
        return {"columns": {missing.role: column}}
    answers = missing.answers if len(missing.answers) > 1 else ()
    listed = first_few(answers, MOST_LISTED)
    each = (
        f"each: each of {listed} is a rater" if answers else "several with commas: each is a rater"
    )
    ways = [
        each,
        *(f"{template}: {_TEMPLATES[template == EACH_ROW]}" for template in missing.templates),
    ]
    question = f"Column of the rater ({columns}), or {'; or '.join(ways)}"
    likely = next(
        (template for template in missing.templates if template != EACH_ROW),
        "each" if answers else None,
    )
    named = dialogue.ask(
        question, default=likely, value_proc=partial(_raters_named, missing=missing)
    )
    wide = len(named) > 1 or named[0] in missing.templates
    return {"wide": named} if wide else {"columns": {"rater": named[0]}}


def _raters_named(text: str, missing: NoColumn) -> tuple[str, ...]:
    """The columns of raters that an answer names, or the template that it gives."""
    from metal.data.tables.wide import MOST_LISTED
    from metal.data.text import first_few

    text = text.strip()
    if text in (*missing.columns, *missing.templates):
        return (text,)
    named = tuple(name.strip() for name in text.split(","))
    if text == "each":
        named = tuple(missing.answers) if len(missing.answers) > 1 else ()
    if not named or not set(named) <= set(missing.columns):
        columns = first_few(missing.columns, MOST_LISTED)
        raise click.UsageError(
            f"write one of {columns}; or several with commas, each of which is a rater"
        )
    return named


def _order(text: str, labels: Sequence[str]) -> str:
    from metal.data.tables.cells import fold

    if fold(text) == "nominal":
        return "nominal"
    if sorted(map(fold, text.split("<"))) != sorted(map(fold, labels)):
        raise click.UsageError(
            f"write each of these once, with < between them: {', '.join(labels)}"
        )
    return text.strip()


def _add(options: dict[str, Any], answers: Mapping[str, Any]) -> None:
    for name, answer in answers.items():
        options[name] = (
            {**options.get(name, {}), **answer} if isinstance(answer, Mapping) else answer
        )


# ---------------------------------------------------------------- questions


def _answers(
    dialogue: Dialogue, draft: Draft, dataset: Dataset, options: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The answer for each option, if it differs from the guess."""
    if draft.columns is None:  # somebody's release, which says all of it
        return
    roles, unread = draft.columns.roles, draft.columns.unread
    if "language" not in roles and "language" not in options:
        guess = dataset.languages[0]
        language = dialogue.ask(
            "Language of all rows, by code or name", default=guess, value_proc=_language
        )
        if language != guess:
            yield "language", language
    texts = draft.columns.sources_by
    if texts:
        question = (
            f"{len(dataset.sources)} texts in {texts!r} tell sources apart (yes; or no, if each"
            " output has its own source)"
        )
        if dialogue.ask(question, default="yes", value_proc=one_of(["yes", "no"])) == "no":
            yield "columns", {"source": roles["output"]}
    elif unread and all(output.source == output.output for output in dataset.outputs.values()):
        question = (
            f"Column of the source to which an output replies ({', '.join(unread)}); none if each"
            " output has a source of its own"
        )
        source = dialogue.ask(question, default="none", value_proc=one_of(["none", *unread]))
        if source != "none":
            yield "columns", {"source": source}
    yield from _directions(dialogue, dataset, options.get("directions", {}))
    if "kind" not in roles:
        yield from _kinds(dialogue, dataset, options.get("kinds", {}))
    if "shifts" not in options:
        yield from _missing(dialogue, dataset, options)


def _language(text: str) -> str:
    from metal.data.languages import find_language

    language = text if text == "und" else find_language(text)
    if language is None:
        raise click.UsageError(
            f"{text!r} is not known; write a code such as hi, or a name such as Hindi"
        )
    return language


def _directions(
    dialogue: Dialogue, dataset: Dataset, stated: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    from metal.data.records import DIRECTIONS

    turned = {}
    for criterion in guessed_directions(dataset, stated):
        name = criterion.name
        question = (
            f"{name} ({criterion.scale.describe()}): which is better ({', '.join(DIRECTIONS)})"
        )
        answer = dialogue.ask(question, default=criterion.direction, value_proc=one_of(DIRECTIONS))
        if answer != criterion.direction:
            turned[escape(name)] = answer
    if turned:
        yield "directions", turned


def _kinds(
    dialogue: Dialogue, dataset: Dataset, stated: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    from metal.data.records import KINDS
    from metal.data.text import first_few, plural

    changed: dict[str, str] = {}
    for kind in KINDS:
        names = [
            name
            for name, rater in dataset.raters.items()
            if rater.kind == kind and not is_stated(name, stated)
        ]
        if names:
            question = (
                f"{plural(len(names), 'rater')} ({first_few(names, 12)}): the kind of all, or"
                " RATER=KIND,..."
            )
            answer = dialogue.ask(
                question, default=kind, value_proc=partial(_kinds_of, names=names)
            )
            changed |= {escape(name): meant for name, meant in answer.items() if meant != kind}
    if changed:
        yield "kinds", changed


def _kinds_of(text: str, names: Sequence[str]) -> dict[str, str]:
    """The kind of each rater, as an answer states it."""
    from metal.data.records import KINDS

    meanings: dict[str, str] = {}
    for part in text.split(","):
        pattern, _, meant = part.rpartition("=")
        named = [name for name in names if fnmatchcase(name, pattern.strip() or "*")]
        if meant.strip() not in KINDS or not named:
            shown = ", ".join(KINDS)
            raise click.UsageError(f"write one of {shown} for all, or RATER=KIND,... (* allowed)")
        meanings |= dict.fromkeys(named, meant.strip())
    return meanings


def _missing(
    dialogue: Dialogue, dataset: Dataset, options: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Ask about scores that may mean no answer."""
    doubts = doubtful_scores(dataset, {**options.get("levels", {}), **options.get("ranges", {})})
    missing: dict[str, Sequence[str]] = {}
    for name, (line, values) in doubts.items():
        question = (
            f"{line}. Which of them mean no answer: all, none, or some of"
            f" {','.join(sorted(values))}"
        )
        if chosen := dialogue.ask(question, default="none", value_proc=partial(_some_of, values)):
            missing[escape(name)] = (
                *options.get("missing", {}).get(escape(name), ()),
                *sorted(chosen),
            )
    if missing:
        yield "missing", missing


def _some_of(values: frozenset[str], text: str) -> set[str]:
    chosen = {part.strip() for part in text.split(",")}
    if chosen == {"all"}:
        return {*values}
    if chosen == {"none"}:
        return set()
    if not chosen <= values:
        raise click.UsageError(f"write all, none, or some of {','.join(sorted(values))}")
    return chosen
