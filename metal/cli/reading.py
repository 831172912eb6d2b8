"""Read a verb's data: a table with its options, and a few lines on how it was read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import click

import metal
from metal.cli.flags import in_flags
from metal.cli.parameters import Flag
from metal.data.people import MEANS, NAMELESS, ONE_PAGE, WIN_RATES
from metal.data.text import name, plural
from metal.show.terminal import console
from metal.show.terminal.console import WIDTH

if TYPE_CHECKING:
    from metal.api.reading import ReadingOptions
    from metal.data.dataset import Dataset

MOST_LENGTH = 300  # of one remark on how a table was read
ALWAYS = (MEANS, NAMELESS, ONE_PAGE, WIN_RATES)  # how the remarks begin that are always printed
ASK = Flag(
    ["-i", "--ask"],
    shared=True,
    is_flag=True,
    help="Ask about guesses, and print the answers as options.",
)


def read_and_say(
    data: Path, options: Mapping[str, Any], verbose: bool | None = None
) -> tuple[Dataset | Path, dict[str, Any]]:
    """Read a table or release, and print how it was read and how to change that.

    Returns the dataset (for a dataset folder or None: the argument itself), and the options that
    are not about reading.

    verbose: whether to print every remark; None if the verb has no such option.
    """
    from metal.api.reading import ReadingOptions, given

    shared = get_type_hints(ReadingOptions)
    reading = given({name: value for name, value in options.items() if name in shared})
    others = {name: value for name, value in options.items() if name not in shared}
    ask = others.pop("ask", False)
    if not (reading or ask) and (not data.exists() or (data / "dataset.toml").is_file()):
        return data, others
    if ask:
        reading = _asked(data, reading)
    with console.progress("reading") as advance:
        dataset = metal.read(data, **reading, progress=advance)
    if ask:
        return dataset, others
    click.echo("\n".join(_lines_on_reading(data, dataset.report, verbose)), err=True)
    return dataset, others


def _lines_on_reading(data: Path, report: Sequence[str], verbose: bool | None) -> list[str]:
    """Lines on how a table was read, with the command that changes it.

    verbose: as in `read_and_say`.
    """
    context = click.get_current_context()
    root = context.find_root().command
    assert isinstance(root, click.Group)
    notes = []
    for number, note in enumerate(report):
        # What was guessed names the option that changes it: never left out. Means are what the
        # users of a harness know, and results that are not all there must not look whole.
        if verbose or number == 0 or "`" in note or note.startswith(ALWAYS):
            notes.append(note)
    named = [in_flags(note, context.command, root) for note in notes or ["as it is"]]
    cleaned = list(map(console.clean, (f"Read {data}: {named[0]}", *named[1:])))
    if not verbose:
        cleaned = [". ".join(name(note, MOST_LENGTH) for note in cleaned)]
    lines: list[str] = []
    for number, remark in enumerate(cleaned):
        lines += console.folded(remark, WIDTH, indent="  " if number else "")
    these = "these options, or " if any("--" in note for note in named) else ""
    more = _more_remarks(len(report) - len(notes), verbose)
    lines.append(
        console.clean(f"To correct this: {these}metal import {shlex.quote(str(data))} -i{more}")
    )
    return lines


def _more_remarks(left: int, verbose: bool | None) -> str:
    """A line on how many remarks are not shown, with the option that shows them, if there is
    one.
    """
    if left == 0:
        return ""
    how = "" if verbose is None else ": -v"
    return f" ({plural(left, 'more remark')}{how})"


def _asked(data: Path, reading: ReadingOptions) -> ReadingOptions:
    """Ask for the reading options, and print the answers as options."""
    from metal.api.reading import given
    from metal.cli.datasets import import_options, show_reading
    from metal.cli.import_asked import ask_about

    arguments, _ = ask_about(data, reading.get("format", ""), reading, import_options, show_reading)
    root, *verb = click.get_current_context().command_path.split()
    console.say(f"The same without questions: {shlex.join([root, *verb, *arguments])}", wrap=False)
    return given(import_options(arguments))
