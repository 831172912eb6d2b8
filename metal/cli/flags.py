"""Rewrite messages in the words of a command: parameters become flags and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from metal.show.commands import in_commands

_FORMAT = re.compile(r'`format="([^"`]+)"`')


def in_flags(message: str, command: click.Command, root: click.Group) -> str:
    """Rewrite a message for the command line: parameters of `command` as flags and arguments,
    function calls as command lines.
    """
    flags = _flags(command) | {
        argument.name: argument.human_readable_name.strip("[]")
        for argument in command.params
        if isinstance(argument, click.Argument) and argument.name
    }
    if command.name == "import":  # it takes the format as an argument
        message = _FORMAT.sub(r"`metal import \1 FILE`", message)
    return in_commands(message, flags, lambda words: _flags(command_named(words, root)))


def command_named(words: Iterable[str], root: click.Group) -> click.Command:
    """The command that these words name, or select as options; arguments may follow them."""
    command: click.Command = root
    rest = [*words]
    while isinstance(command, click.Group) and rest:
        named = command.get_command(click.Context(command), rest[0])
        if named is None and hasattr(command, "selected"):
            selected: click.Command = command.selected(rest)[1]
            return selected
        command, rest = named or command, rest[1:]
    return getattr(command, "default", command)


def _flags(command: click.Command) -> dict[str, str]:
    """The longest flag of each parameter; arguments have none."""
    return {
        option.name: next(flag for flag in option.opts if flag.startswith("--"))
        for option in command.params
        if isinstance(option, click.Option)
        and option.name
        and any(flag.startswith("--") for flag in option.opts)
    }
