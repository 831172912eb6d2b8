"""Make commands from public functions: the options are the function's parameters, the help is its
docstring.
"""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import click

from metal.api.options import options_of, shared_options_of
from metal.cli.flags import in_flags
from metal.cli.groups import Group
from metal.cli.parameters import PATH as PATH
from metal.cli.parameters import Flag as Flag
from metal.cli.parameters import option
from metal.data.replacing import TELL
from metal.show.terminal import console

DATASET = click.Argument(["data"], metavar="DATASET", type=PATH)
READING = "How a table is read"
# some of these, in a line
READ_WITH = ("--columns, --wide, --levels", "How a table is read: see --help-all.")
AS_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of tables.")
HEIGHT = 40  # lines of a verb's help at 80 columns
MOST_EXAMPLES = 3


def out(default: str) -> click.Option:
    """The option for the run folder of a verb.

    default: the text shown in the help, such as `runs/DATASET`.
    """
    return click.Option(["--out"], type=PATH, help=f"Run folder to write. [default: {default}]")


def _show_all(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[_ALL] = True
        default = ctx.parent and getattr(ctx.parent.command, "default", None)
        click.echo((ctx.parent if ctx.parent and default is ctx.command else ctx).get_help())
        ctx.exit()


FORCE = Flag(
    ["--force"],
    rare=True,
    is_flag=True,
    help="Replace an earlier result in --out; it is kept as NAME.replaced.",
)
VERBOSE = click.Option(
    ["-v", "--verbose"], is_flag=True, help="Print all tables, reasons and warnings."
)
AS_MARKDOWN = Flag(
    ["--markdown", "as_markdown"],
    rare=True,
    is_flag=True,
    help="Print Markdown, as for a pull request.",
)
_AT_THE_END = (VERBOSE, AS_JSON, AS_MARKDOWN, FORCE)
_ALL = "metal.help_all"
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options, even rarely needed ones.",
)


class Verb(click.Command):
    """A command whose help, notes and warnings are in the words of the command line.

    `--help` shows what is often needed, in at most HEIGHT lines. `--help-all` shows everything.
    """

    def invoke(self, ctx: click.Context) -> Any:
        root = ctx.find_root().command
        rewrite = (
            (lambda text: in_flags(text, self, root)) if isinstance(root, click.Group) else str
        )
        wording, before = console.WORDING.set(rewrite), TELL.set(console.aside)
        try:
            return super().invoke(ctx)
        finally:
            TELL.reset(before)
            console.WORDING.reset(wording)

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        # click keeps those of the first context, and some read a verb's words by itself
        return ["-h", "--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *params, help_option = super().get_params(ctx)
        return [*params, _HELP_ALL, help_option]

    def format_help(
        self, ctx: click.Context, formatter: click.HelpFormatter, *, below: int = 0
    ) -> None:
        """Write the help.

        below: lines that follow it.
        """
        text, root = self.help or "", ctx.find_root().command
        paragraphs = (in_flags(text, self, root) if isinstance(root, click.Group) else text).split(
            "\n\n"
        )
        heading, commands = "", list[str]()
        if paragraphs[-1].startswith("\b\nExample"):
            heading, *commands = re.split(r"\n(?=  metal )", paragraphs.pop())
        commands = commands if _ALL in ctx.meta else commands[:MOST_EXAMPLES]
        while True:
            draft = ctx.make_formatter()
            lines = "\n".join([heading, *commands]).split("\n")
            # click moves them in by 2
            examples = "\n".join(_continued(line, formatter.width - 2) for line in lines)
            self.help = "\n\n".join([*paragraphs, examples])
            super().format_help(ctx, draft)
            self.help = text
            droppable = paragraphs if len(paragraphs) > 1 else commands[1:] and commands
            fits = draft.getvalue().count("\n") + below <= HEIGHT
            if _ALL in ctx.meta or fits or not droppable:
                break
            droppable.pop()
        formatter.write(draft.getvalue())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        root = ctx.find_root().command
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], "Rarely needed": [], READING: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record:
                help_text = (
                    in_flags(record[1], self, root) if isinstance(root, click.Group) else record[1]
                )
                title = "Rarely needed" if getattr(parameter, "rare", False) else "Options"
                groups[READING if getattr(parameter, "shared", False) else title].append(
                    (record[0], help_text)
                )
        if groups[READING] and _ALL not in ctx.meta:
            groups["Options"].insert(-2, READ_WITH)
        for title in [name for name, records in groups.items() if records][
            : None if _ALL in ctx.meta else 1
        ]:
            with formatter.section(title):
                formatter.write_dl(groups[title])


def _continued(line: str, width: int) -> str:
    """The line of an example, broken if it is too long, but only before an option or a pipe."""
    if len(line) <= width:
        return line
    unbroken = re.sub(r" (?!-|\| )", "\0", line.strip())
    parts = textwrap.wrap(unbroken, width - 6, break_long_words=False, break_on_hyphens=False)
    return "  " + " \\\n      ".join(parts).replace("\0", " ")


def verb(
    function: Callable[..., Any],
    *parameters: click.Parameter,
    name: str = "",
    short_help: str = "",
    more: str = "",
    examples: str = "",
    without: Sequence[str] = (),
    required: Sequence[str] = (),
    apart: bool = True,
    cls: type[Verb] = Verb,
) -> Callable[[Callable[..., None]], Verb]:
    """Decorator: turn a function that prints the result of a public function into the command.

    parameters: extra options of the command line, and arguments that the public function lacks.
    more: text that the help adds to the docstring. examples: command lines for the help. without:
    parameters of the public function that do not become options. required: parameters that have a
    default only in Python. apart: whether the help lists the options about reading a table as a
    group.
    """
    options = [
        option(
            parameter,
            kind,
            declaration,
            inspect.Parameter.empty if parameter in required else default,
        )
        for parameter, (kind, declaration, default) in options_of(function).items()
        if parameter not in without
    ]
    for parameter, (kind, declaration, default) in shared_options_of(function).items():
        # of a time when `metal import` alone had them
        declaration = replace(declaration, aliases=()) if apart else declaration
        options.append(option(parameter, kind, declaration, default, shared=apart))
    has_arguments = any(isinstance(parameter, click.Argument) for parameter in parameters)
    arguments = [] if has_arguments else _arguments(function)
    first = [parameter for parameter in parameters if parameter not in _AT_THE_END]
    last = [parameter for parameter in parameters if parameter in _AT_THE_END]
    docstring = inspect.getdoc(function) or ""
    summary = re.split(r"\n\n(?:Args|Returns|Raises|Example):\n", docstring)[0]
    texts = filter(None, [summary, inspect.cleandoc(more), _listed(examples)])

    def make(body: Callable[..., None]) -> Verb:
        return cls(
            name or function.__name__.rpartition("_")[2],
            callback=body,
            params=[*arguments, *first, *options, *last],
            help="\n\n".join(texts),
            short_help=short_help or None,
        )

    return make


def _listed(examples: str) -> str:
    """Command lines as the help lists them; empty if there are none."""
    lines = inspect.cleandoc(examples).splitlines()
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", heading, *(f"  {line}" for line in lines)]) if lines else ""


class CommandGroup(Group):
    """A group whose help says in a whole sentence, in the words of the command line, what each
    command does.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, command in sorted(self.commands.items()) if not command.hidden]

    def no_command(self, ctx: click.Context, args: list[str], error: click.UsageError) -> Exception:
        message = error.format_message().rstrip(".")
        if message.endswith("?"):
            return error
        commands = ", ".join(f"{ctx.command_path} {name}" for name in self.list_commands(ctx))
        return click.UsageError(f"{message}; write one of: {commands}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, _does(self.commands[name], ctx)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _does(command: click.Command, ctx: click.Context) -> str:
    """What a command does, in a sentence that uses the words of the command line."""
    root = ctx.find_root().command
    sentence = re.split(r"(?<=[.?])\s|:\s", " ".join((command.help or "").split()))[0]
    does = command.short_help or f"{sentence.rstrip('.?')}."
    return in_flags(does, command, root) if isinstance(root, click.Group) else does


@dataclass(frozen=True)
class Other:
    """A command of a group that an option or the kind of arguments selects.

    typed: the words that select it, as in help and usage (`--for scores`, `--watch`); empty if the
    arguments decide. kept: whether these words are also an option of the command. meant: a function
    that says whether the arguments select it, if `typed` is empty.
    """

    command: Verb
    typed: str = ""
    kept: bool = False
    meant: Callable[[Sequence[str]], bool] = lambda args: False

    def taken(self, args: Sequence[str]) -> list[str] | None:
        """The arguments of the command, if they select it."""
        if not self.typed:
            return [*args] if "--help-all" not in args and self.meant(args) else None
        if self.kept:
            flag = self.typed.split()[0]
            return [*args] if any(arg.split("=")[0] == flag for arg in args) else None
        apart = self.typed.split()
        for at, form in product(range(len(args)), (apart, ["=".join(apart)])):
            if [*args[at : at + len(form)]] == form:
                return [*args[:at], *args[at + len(form) :]]
        return None


class WithDefault(CommandGroup):
    """A group whose first word may be left out: it then stands for the command `default` or for one
    of `others`.

    The help of `default` is that of the group. The names of these commands are older spellings,
    which still work.
    """

    def __init__(
        self,
        *,
        default: Verb,
        others: Sequence[Other] = (),
        short_help: str | None = None,
        name: str = "",
    ) -> None:
        super().__init__(name=name or default.name, short_help=short_help)
        self.default, self.others = default, others
        for other in others:
            if other.command is not default:
                self.add_command(other.command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        older = [self.default, *(other.command for other in self.others)]
        return [name for name in super().list_commands(ctx) if self.commands[name] not in older]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._is_command(ctx, args):
            return super().parse_args(ctx, args)
        meant = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1) if args else []
        if meant and not Path(args[0]).exists():
            problem = f"{args[0]}: no such file or folder"
            raise click.UsageError(f"{problem}. Did you mean {ctx.command_path} {meant[0]}?", ctx)
        return super().parse_args(ctx, ["", *args])

    def _is_command(self, ctx: click.Context, args: list[str]) -> bool:
        """Whether these arguments name one of the commands, or ask for the list of all."""
        if args and args[0] in self.commands:
            return True
        meant = [other for other in self.others if other.taken(args) is not None]
        if not args or args[0] in self.get_help_option_names(ctx):
            return not any(other.typed or not args for other in meant)
        return False

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args or args[0] != "":
            return super().resolve_command(ctx, args)
        typed, command, rest = self.selected(args[1:])
        if all(other.taken(args[1:]) is None for other in self.others):
            self._check_choice(ctx, args)
        return typed, command, rest

    def selected(self, args: Sequence[str]) -> tuple[str, Verb, list[str]]:
        """The command that these arguments select, with the words that do, and its arguments."""
        for other in self.others:
            rest = other.taken(args)
            if rest is not None:
                return other.typed, other.command, rest
        return "", self.default, [*args]

    def _check_choice(self, ctx: click.Context, args: list[str]) -> None:
        """Raise UsageError for an unknown value of an option that selects the command."""
        chosen = [each.typed for each in self.others if " " in each.typed and not each.kept]
        flags = {typed.split()[0] for typed in chosen}
        if any(arg.split("=")[0] in flags for arg in args):
            raise click.UsageError(f"use one of {', '.join(chosen)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.list_commands(ctx):
            super().format_commands(ctx, formatter)
        rows = [(each.typed, _does(each.command, ctx)) for each in self.others if each.typed]
        if rows:
            with formatter.section("With"):
                formatter.write_dl(rows)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = ctx.make_formatter()
        self.format_commands(ctx, commands)
        below = f"\n{commands.getvalue()}" if commands.getvalue() else ""
        with click.Context(self.default, info_name=ctx.info_name, parent=ctx.parent) as shown:
            self.default.format_help(shown, formatter, below=below.count("\n"))
        formatter.write(below)


def _arguments(function: Callable[..., Any]) -> list[click.Argument]:
    """Make an argument of each positional parameter without an Option: a text or a path; the last
    one may take several values.
    """
    options = options_of(function)
    arguments = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in options or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            continue
        several = parameter.kind is parameter.VAR_POSITIONAL
        needed = parameter.default is parameter.empty
        metavar = None
        if name == "data":
            metavar = "DATASET" if needed else "[DATASET]"
        annotation = getattr(parameter.annotation, "declared", parameter.annotation)
        is_text = annotation is str or str(annotation).split(" | ")[0] == "str"
        kind = str if is_text else PATH
        arguments.append(
            click.Argument(
                [name],
                metavar=metavar,
                type=kind,
                required=needed and not several,
                nargs=-1 if several else 1,
            )
        )
    return arguments


def verb_of_function(name: str, function: Callable[..., Any]) -> click.Command:
    """Make the command for a public function of another package; it prints the result.

    Parameters without an Option become arguments.
    """
    if isinstance(function, click.Command):
        return function
    declared = options_of(function)
    arguments = [
        click.Argument([parameter], type=PATH if parameter == "data" else None)
        for parameter in inspect.signature(function).parameters
        if parameter not in declared
    ]

    @verb(function, *arguments, name=name)
    def command(**options: Any) -> None:
        click.echo(function(**options))

    return command
