"""Make options of the command line from parameters of public functions."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import click

from metal.api.options import Names, Option, by_criterion
from metal.data.text import divided

PATH = click.Path(path_type=Path)


class Flag(click.Option):
    """An option. Its older spellings (aliases) work, but are not shown.

    rare: whether only `--help-all` shows it. shared: whether it is about reading a table; the help
    lists such options as a group.
    """

    def __init__(
        self,
        declared: Sequence[str],
        *,
        aliases: Sequence[str] = (),
        rare: bool = False,
        shared: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(declared, **settings)
        self.aliases = frozenset(aliases)
        self.rare = rare
        self.shared = shared

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        flags = self.opts
        self.opts = [flag for flag in flags if flag not in self.aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = flags

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return " / ".join(f"'{flag}'" for flag in self.opts if flag not in self.aliases)


def option(
    name: str, kind: Any, declaration: Option, default: Any, *, shared: bool = False
) -> click.Option:
    """Make the click option of a parameter.

    shared: as in `Flag`.
    """
    flag = declaration.flag or f"--{name.replace('_', '-')}"
    declared = [
        flag,
        *([declaration.short] if declaration.short else []),
        *declaration.aliases,
        name,
    ]
    settings: dict[str, Any] = {
        "help": declaration.help,
        "required": default is inspect.Parameter.empty,
    }
    if declaration.metavar:
        settings["metavar"] = declaration.metavar
    plain = _plain(kind)
    if plain is bool and default is True:
        declared[0] = f"{flag}/--no-{flag[2:]}"
        settings |= {"show_default": False}
    several = _of_several(kind, plain, declaration, flag)
    if plain is bool:
        settings |= {"is_flag": True, "default": default}
    elif several:
        settings = several | settings | {"multiple": True}
    else:
        settings |= _of_one(plain, declaration, default, required=settings["required"])
    if declaration.bare:
        settings |= {"is_flag": False, "flag_value": declaration.bare}
    if declaration.check:
        settings["callback"] = partial(_checked, declaration.check)
    return Flag(
        declared, aliases=declaration.aliases, rare=declaration.rare, shared=shared, **settings
    )


def _of_several(kind: Any, plain: Any, declaration: Option, flag: str) -> dict[str, Any]:
    """The settings of an option that may be given several times; empty for other options."""
    if declaration.by_criterion:
        return {"callback": lambda context, option, values: by_criterion(values)}
    if set(get_args(Names)) <= set(get_args(kind)):
        return {"callback": None if declaration.commas else _split, "metavar": "NAME[,NAME]"}
    if _is(plain, Mapping):
        return {"callback": partial(_pairs, flag, declaration.commas)}
    if not _is(plain, Sequence):
        return {}
    if get_args(plain)[0] is int:
        return {"callback": _whole_numbers}
    return {"type": _scalar(get_args(plain)[0], declaration)}


def _of_one(plain: Any, declaration: Option, default: Any, *, required: bool) -> dict[str, Any]:
    """The settings of an option with one value. click treats any default as a value, even None."""
    settings: dict[str, Any] = {"type": _scalar(plain, declaration)}
    if not required:
        is_shown = default not in (None, "") and "[default" not in declaration.help
        settings |= {"default": default, "show_default": is_shown}
    return settings


class _Share(click.FloatRange):
    """A share of one, `0.1` or `10%`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = str(value).removesuffix("%")
        share = value if number == str(value) else click.FLOAT(number, param, ctx) / 100
        return super().convert(share, param, ctx)


def _plain(kind: Any) -> Any:
    """The type without None."""
    if get_origin(kind) in (Union, types.UnionType):
        rest = [part for part in get_args(kind) if part is not type(None)]
        return rest[0] if len(rest) == 1 else kind
    return kind


def _is(kind: Any, container: type) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, container)


def _scalar(kind: Any, declaration: Option) -> Any:
    if declaration.choices:
        return click.Choice(declaration.choices)
    kind = _plain(kind)
    if kind is int and (declaration.least, declaration.most) != (None, None):
        least, most = (
            None if end is None else int(end) for end in (declaration.least, declaration.most)
        )
        return click.IntRange(least, most)
    if kind is float and (declaration.least, declaration.most) != (None, None):
        of_one = declaration.most is not None and declaration.most <= 1
        bounds = _Share if of_one else click.FloatRange
        return bounds(
            declaration.least,
            declaration.most,
            min_open=declaration.open_ends,
            max_open=declaration.open_ends,
        )
    if kind in (int, float, str):
        return kind
    return PATH if Path in (kind, *get_args(kind)) else str


def _split(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """An option's names, split at the commas outside double quotes."""
    return tuple(chain.from_iterable(map(divided, values)))


def _whole_numbers(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[int, ...]:
    """An option's whole numbers; a value may be several, separated by commas. Raises BadParameter
    for anything else.
    """
    numbers = _split(context, option, values)
    try:
        return tuple(map(int, numbers))
    except ValueError:
        raise click.BadParameter(
            f"{','.join(numbers)} are not whole numbers; write 1,3,5"
        ) from None


def _pairs(
    flag: str,
    commas: bool,
    context: click.Context,
    option: click.Parameter,
    values: tuple[str, ...],
) -> dict[str, str]:
    """Parse NAME=VALUE, given once or several times, or several separated by commas.

    commas: whether values may contain commas.
    """
    from metal.data.tables.typed import several_pairs
    from metal.errors import UsageError

    pairs = {}
    for text in values if commas else [pair for value in values for pair in several_pairs(value)]:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


def _checked(check: str, context: click.Context, option: click.Parameter, value: str) -> str:
    """Check the value of an option that may be given without a value, while the command line is
    read.

    If the option took the next argument (such as the dataset) as its value by mistake, the error
    says this, instead of saying later that the argument is missing.
    """
    from metal.errors import MetalError, UsageError

    if value:
        module, _, attributes = check.partition(":")
        try:
            attrgetter(attributes)(import_module(module))(value)
        except MetalError as error:
            flag = option.opts[0]
            hint = f"; put {flag} after {value}, or give it a value" if Path(value).exists() else ""
            raise UsageError(f"{flag}: {error}{hint}") from None
    return value
