"""Messages in words of the command line.

Below `cli/` a message speaks of parameters: `resamples`, `force=True`, `metal.judge(resume="runs/x")`. Printed by the
command line these become --resamples, --force and `metal judge --resume runs/x`.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Mapping

import click

# `metal.verb`, `metal.verb(arguments)`, `metal.read(...).save(folder)`; or `parameter`, `parameter=value`.
_CALL = re.compile(r"`metal\.([a-z_]+)(\([^`]*\))?`")
_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")


def in_flags(message: str, command: click.Command, root: click.Group) -> str:
    """The message with parameters of `command` as its flags and arguments, and calls of functions as command lines."""
    message = _CALL.sub(lambda match: _command_line(match[0], match[1], match[2] or "", root), message)
    flags = _flags(command) | {
        argument.name: argument.human_readable_name.strip("[]")
        for argument in command.params
        if isinstance(argument, click.Argument) and argument.name
    }
    return _PARAMETER.sub(lambda match: _flag(match[0], match[1], match[2], flags), message)


def command_named(words: Iterable[str], root: click.Group) -> click.Command:
    """The command that is typed with these words, arguments after them or none."""
    command: click.Command = root
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word) or command
    return getattr(command, "default", command)


def _flags(command: click.Command) -> dict[str, str]:
    """Parameter -> its longest flag; arguments have none."""
    return {
        option.name: next(flag for flag in option.opts if flag.startswith("--"))
        for option in command.params
        if isinstance(option, click.Option) and option.name and any(flag.startswith("--") for flag in option.opts)
    }


def _flag(unchanged: str, name: str, value: str | None, flags: Mapping[str, str]) -> str:
    if name not in flags:
        return unchanged
    try:
        return " ".join(_typed(flags[name], ast.parse(value or "True", mode="eval").body))
    except SyntaxError:
        return f"{flags[name]} {value}"


def _command_line(unchanged: str, function: str, arguments: str, root: click.Group) -> str:
    """`metal.annotate_export("d", to="html")` -> `metal annotate export d --to html`; as it was where that fails."""
    words = {"read": ["import"]}.get(function, function.split("_"))
    flags = _flags(command_named(words, root))
    try:
        call = ast.parse(f"verb{arguments.removesuffix('.save(folder)') or '()'}", mode="eval").body
    except SyntaxError:
        return unchanged
    if not isinstance(call, ast.Call):
        return unchanged
    parts = [_text(argument) for argument in call.args]
    for keyword in call.keywords:
        name = keyword.arg or ""
        parts += _typed(flags.get(name, f"--{name.replace('_', '-')}"), keyword.value)
    return f"`{' '.join(['metal', *words, *filter(None, parts)])}`"


def _typed(flag: str, value: ast.expr) -> list[str]:
    """A flag with its value as both are typed: none for True, NAME=VALUE for each item of a dictionary."""
    if isinstance(value, ast.Constant) and value.value is True:
        return [flag]
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return [part for key, item in pairs if key for part in (flag, shlex.quote(f"{_text(key)}={_text(item)}"))]
    if isinstance(value, ast.List | ast.Tuple):
        return [flag, ",".join(map(_text, value.elts))]
    return [flag, _text(value)]


def _text(node: ast.expr) -> str:
    """A constant as it is typed, `...` as nothing, a name as it stands."""
    if isinstance(node, ast.Constant):
        return "" if node.value is ... else str(node.value)
    return ast.unparse(node)
