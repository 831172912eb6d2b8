"""The command line: reads options, calls the function, prints the result.

A verb's file is imported only when the verb is typed; the overall help reads only the table in this
file.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import tempfile
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from metal.cli.groups import Group
from metal.errors import MetalError
from metal.version import __version__

if TYPE_CHECKING:
    from metal.runs.kinds import Kind

LONGEST_MESSAGE = 3_000  # characters; the middle of a longer one is left out

# Verbs that make no run with a page: where each is, and what it does. A kind of run names its own
# (metal.runs.kinds).
VERBS = {
    "init": ("metal.cli.init:init", "Set up a project step by step."),
    "demo": ("metal.cli.analyses:demo", "Audit the datasets that come with METAL."),
    "sample": ("metal.cli.datasets:sample", "Draw passages of similar length."),
    "annotate": ("metal.cli.annotate:annotate", "Send tasks to people and import their ratings."),
    "import": ("metal.cli.datasets:import_", "Import ratings from a table or another format."),
    "check": ("metal.cli.datasets:check", "Show who rated what, and list problems."),
    "describe": ("metal.cli.datasets:describe", "Show lengths, quality and classes."),
    "judge": ("metal.cli.judging:judge", "Have judges rate every output."),
    "judges": ("metal.cli.judges:judges", "List judges, or try one."),
    "replies": ("metal.cli.replies:replies", "Show what judges were asked, and what they replied."),
    "criterion": ("metal.cli.judges:criterion", "Add a criterion in one line."),
    "prompt": ("metal.cli.judges:prompt", "Show what judges are told."),
    "score": ("metal.cli.score:score", "Score every output with automatic metrics."),
    "metric": ("metal.cli.score:metric", "List automatic metrics, or try one."),
    "submit": ("metal.cli.board:submit", "Add a generator or a metric to a board."),
    "report": ("metal.cli.folders:report", "Write a run's page, charts and LaTeX tables."),
    "compare": ("metal.cli.datasets:compare", "Compare generators side by side."),
    "export": ("metal.cli.datasets:export", "Write the ratings in another program's format."),
    "schema": ("metal.cli.schema:schema", "Show the open format, or check a file."),
    "serve": ("metal.cli.serve:serve", "Let people rate, and teams submit, in their browsers."),
    "study": ("metal.cli.serve:study", "Make and list the studies of a server."),
    "view": ("metal.cli.view:view", "Look at datasets and runs in the browser."),
    "ls": ("metal.cli.folders:ls", "List datasets and runs, with their answers."),
    "completion": ("metal.cli.folders:completion", "Set up tab completion in your shell."),
}
# The groups of the help, with the verbs above in their order; a kind of run names its group itself.
GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("init", "demo", "judge", "view", "ls"),
    "Data": ("import", "check", "describe", "compare", "export", "schema"),
    "Build": ("sample", "annotate", "study", "serve"),
    "Judges": ("judges", "criterion", "prompt", "replies", "score", "metric"),
    "Trust": (),
    "In use": (),
    "Rank": ("submit",),
    "People": (),
    "More": ("report", "completion"),
}


OLDER = ("diff",)  # spellings that still work: of two runs, `metal gate` says what differs
UNREAD = 141  # as a shell says of a program that a closed pipe ended


class Verbs(Group):
    """All verbs: those of VERBS, those of each kind of run, and functions of other packages
    (`metal.verbs`).
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in _summaries() if name not in OLDER]

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in _summaries():
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    def no_command(self, ctx: click.Context, args: list[str], error: click.UsageError) -> Exception:
        from metal.cli.mistyped import no_verb

        return no_verb(args[0], args[1:], ctx, self.list_commands(ctx))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1, which is a gate's no
            sys.exit(UNREAD)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from metal.runs.kinds import unloadable

        summaries = _summaries()
        sections = {
            group: [(name, summaries[name]) for name in names] for group, names in groups().items()
        }
        sections["Cannot be used"] = list(unloadable().items())
        for group, rows in sections.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def groups() -> dict[str, list[str]]:
    """The groups of the help, each with its verbs in order."""
    from metal.data.plugins import plugins

    verbs = {group: list(names) for group, names in GROUPS.items()}
    kinds = {name: kind for name, kind in _top_kinds().items() if name not in OLDER}
    for name in sorted(kinds, key=lambda name: (kinds[name].position, name)):
        verbs.setdefault(kinds[name].group, []).insert(kinds[name].position, name)
    others = [*verbs.pop("Others", []), *plugins("metal.verbs")]
    return verbs | {"Others": sorted(others)}


def _summaries() -> dict[str, str]:
    """The one-line summary of each verb, by name."""
    from metal.data.plugins import plugins

    summaries = {name: summary for name, (_, summary) in VERBS.items()}
    for kind in _top_kinds().values():
        summaries[kind.command.split()[0]] = kind.summary
    for name, point in plugins("metal.verbs").items():
        summaries[name] = f"Of {point.value.partition(':')[0]}."
    return summaries


def _top_kinds() -> dict[str, Kind]:
    """The kind of run behind each verb; if the names of several kinds begin with the verb, the one
    with exactly that name.
    """
    from metal.runs.kinds import kinds

    top: dict[str, Kind] = {}
    for kind in kinds().values():
        name = kind.command.split()[0]
        if name not in top or kind.command == name:
            top[name] = kind
    return top


def _command(name: str) -> click.Command:
    """The command of a verb."""
    if name in VERBS:
        return loaded(VERBS[name][0])
    kind = _top_kinds().get(name)
    if kind and kind.verb:
        return loaded(kind.verb)
    if kind:
        from metal.cli.analysis import analysis

        return analysis(kind)
    from metal.cli.verb import verb_of_function
    from metal.data.plugins import load_plugin

    return verb_of_function(name, load_plugin("metal.verbs", "verb", name))


def loaded(target: str) -> click.Command:
    """Import the command that "module:name" names."""
    module, _, name = target.partition(":")
    command: click.Command = getattr(import_module(module), name)
    return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command explains itself: metal COMMAND --help",
)
@click.version_option(__version__, prog_name="metal")
def metal() -> None:
    """METAL audits LLM judges per language: how far each can be trusted, for which criterion.

    \b
    First steps:
      metal demo                                     what METAL says, on real people
      metal audit ratings.csv                        judges against people
      metal import ratings.csv --out datasets/mine   keep that table as a dataset
      metal judge datasets/mine -j openai:gpt-4o     a judge rates the outputs
      metal audit datasets/mine runs/mine-judges     that judge against people
    """


def main() -> None:
    """Run `metal`.

    Exit codes: 0 done; 1 a gate or a requirement fails; 3 a gate is undecided; 2 something the user
    can fix; 70 a defect; 130 interrupted; 141 the reader of the output has closed it (`| head`). If
    standard output is closed (`>&-`), the exit code is the verb's own.
    """
    _open_closed_streams()
    for threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        # our matrices are small: threads only wait for each other
        os.environ.setdefault(threads, "1")
    atexit.register(gc.freeze)  # what is left goes with the process: no last search for cycles
    gc.set_threshold(1_000_000, 20, 20)  # tables are many small objects and hardly any cycles
    try:
        try:
            metal.main(prog_name="metal", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except click.exceptions.Abort:
        _stop("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context else ""
        # click puts choices on lines of their own
        _stop(" ".join(error.format_message().split()) + hint, 2)
    except MetalError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("interrupted", 130)
    except (BrokenPipeError, SystemExit) as error:
        if not any(isinstance(cause, BrokenPipeError) for cause in (error, error.__context__)):
            raise
        # The reader went away (`| head`): nobody is left to tell, and what is still to be written
        # goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(UNREAD)
    except OSError as error:
        _stop_for_the_disk(error)
    except Exception as error:
        _defect(error)


def as_typed(message: str) -> str:
    """A message in the words of the command line that the user typed."""
    from metal.cli.flags import command_named, in_flags

    return in_flags(message, command_named(sys.argv[1:], metal), metal)


def _open_closed_streams() -> None:
    """Open /dev/null for each closed standard stream; otherwise the next opened file would get the
    stream's number, and everything printed would go into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _stop_for_the_disk(error: OSError) -> NoReturn:
    """Stop with an error that the user can fix, if a folder cannot be written or the disk
    is full.
    """
    why = (error.strerror or str(error)).lower()
    if error.filename is not None:
        _stop(f"{error.filename}: {why}; give another path, or change its rights", 2)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        _defect(error)
    # what is still to be printed has no room either
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _stop(f"nothing more can be written: {why}; make room, and run this again", 2)


def _defect(error: Exception) -> NoReturn:
    _stop(f"unexpected {type(error).__name__}: {error}; the traceback is in {_log()}", 70)


def _stop(message: str, code: int) -> NoReturn:
    if code == 130:  # one more Ctrl-C would only break into the interpreter's end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a message quotes files, whose text could rewrite the screen or fill it
    from metal.data.text import name
    from metal.show.terminal.console import clean

    one_line = name(clean(as_typed(message)), LONGEST_MESSAGE)
    print(f"metal: {one_line}", file=sys.stderr)
    sys.exit(code)


def _log() -> str:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="metal-error-", suffix=".log", delete=False
    ) as file:
        traceback.print_exc(file=file)
    return file.name
