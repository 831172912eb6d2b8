"""What a person chose on the wizard's form, as options of `metal.read`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import escape

from starlette.datastructures import FormData

from metal.api.reading import BY_CRITERION
from metal.app.choices import ANSWERS, Options, read_as, stated
from metal.app.table_view import CriterionShown, TableShown, column_wanted
from metal.data.languages import find_language
from metal.data.records import DIRECTIONS, KINDS
from metal.data.tables.names import GUESSES

EACH = "each"  # the answer that each column of answers is a rater
Moved = list[str]


def options_chosen(form: FormData, shown: TableShown) -> tuple[Options, str]:
    """The options after what was chosen on the form, and the part of the page that changed.

    shown: the page on which it was chosen.
    """
    options = dict(shown.read.options)
    part = ""
    for name, choose in PARTS.items():
        before = dict(options)
        choose(form, shown, options)
        if options != before:
            part = name
    return options, part


def _text(form: FormData, name: str) -> str | None:
    """A field of the form; None if it is not there."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else None


def _columns(form: FormData, shown: TableShown, options: Options) -> None:
    wide = shown.read.sheet_like.wide
    for number, column in enumerate(shown.columns):
        role = _text(form, f"column.{number}")
        if role not in ("", ANSWERS, *GUESSES) or column.fixed:
            continue
        if role != column.role:
            read_as(options, column.name, column.role, role, wide)


def _wanted(form: FormData, shown: TableShown, options: Options) -> None:
    """The answer to the question which column plays a role that was not found."""
    error, answer = column_wanted(shown.read.error), _text(form, "wanted")
    if error is None or not answer:
        return
    if answer == EACH and error.answers:
        options["wide"] = tuple(map(escape, error.answers))
    elif answer in error.templates:
        options["wide"] = (answer,)
    elif answer in error.columns:
        stated(options, "columns", error.role, answer)


def _kinds(form: FormData, shown: TableShown, options: Options) -> None:
    for number, rater in enumerate(shown.raters):
        kind = _text(form, f"kind.{number}")
        if kind in KINDS and kind != rater.kind:
            stated(options, "kinds", escape(rater.name), kind)


def _scales(form: FormData, shown: TableShown, options: Options) -> None:
    for number, criterion in enumerate(shown.criteria):
        name = escape(criterion.name)
        direction = _text(form, f"direction.{number}")
        if direction in DIRECTIONS and direction != criterion.direction:
            stated(options, "directions", name, direction)
        if criterion.doubtful and form.get(f"doubts.{number}"):
            chosen = form.getlist(f"missing.{number}")
            missing = tuple(text for text in criterion.doubtful if text in chosen)
            stated(options, "missing", name, missing)
        ends = _text(form, f"ends.{number}")
        if criterion.ends is not None and ends is not None and ends != criterion.ends:
            stated(options, "ranges", name, ends)
        if criterion.movable:
            _order(form, number, criterion, options)


def _order(form: FormData, number: int, criterion: CriterionShown, options: Options) -> None:
    """Set the order of a criterion's levels, or that they have no order."""
    if form.get(f"ordered.{number}") is None:  # the page had no such form
        return
    name = escape(criterion.name)
    nominal = form.get(f"nominal.{number}") is not None
    if nominal != criterion.nominal:
        stated(options, "measures", name, "nominal" if nominal else "")
        if nominal:
            stated(options, "levels", name, "")
        return
    moved = _moved(form, number, criterion.levels)
    if moved and (moved != list(criterion.levels) or form.get("order") == str(number)):
        stated(options, "levels", name, "<".join(moved))


def _moved(form: FormData, number: int, levels: Sequence[str]) -> Moved:
    """The levels in the order of the form, after the button that moves one; empty if the form does
    not have all of them.
    """
    positions = [str(each) for each in form.getlist(f"level.{number}")]
    if sorted(positions) != sorted(map(str, range(len(levels)))):
        return []
    moved = [levels[int(position)] for position in positions]
    criterion, _, step = str(form.get("move", "")).partition(":")
    at, _, to = step.partition(":")
    if criterion == str(number) and {at, to} <= {*positions}:
        moved.insert(int(to), moved.pop(int(at)))
    return moved


def _rest(form: FormData, shown: TableShown, options: Options) -> None:
    """Set the options that apply to the whole table."""
    language = _text(form, "language")
    if language is not None and (find_language(language) or language) != shown.language:
        _state(options, "language", language)
    for option in ("format", "sheet", "decimal", "criterion"):
        value = _text(form, option)
        if value is not None and value != options.get(option, ""):
            _state(options, option, value)
    if options.get("criterion", "") != shown.criterion and shown.criterion is not None:
        _rename(
            options, escape(shown.criteria[0].name), escape(options.get("criterion", "")) or "*"
        )
    own_sources = form.get("sources") == "own"
    output = shown.read.sheet_like.roles.get("output")
    if shown.sources_by and own_sources and output:
        stated(options, "columns", "source", output)


def _rename(options: Options, before: str, after: str) -> None:
    """Keep what was chosen of a criterion under its new name."""
    for option in (*BY_CRITERION, "missing"):
        if before in options.get(option, {}):
            values = dict(options[option])
            values[after] = values.pop(before)
            options[option] = values


def _state(options: Options, option: str, value: str) -> None:
    options.pop(option, None)
    if value:
        options[option] = value


PARTS: dict[str, Callable[[FormData, TableShown, Options], None]] = {
    "columns": _columns,
    "question": _wanted,
    "raters": _kinds,
    "scales": _scales,
    "whole": _rest,
}
