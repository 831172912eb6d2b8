"""What people see in a terminal: plain when piped, 80 columns unless the terminal is wider, hostile text tamed."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from metal.data.text import without_isolates

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from metal.show.view import Paragraph, TableView

WIDTH = 80
NAME_WIDTH = 30
wording: Callable[[str], str] = str  # the command line puts messages into its own words
LEAST_NAME = 8
GAP = 3  # between two columns: padding, and the box's blank
MOST_WARNINGS = 20


@lru_cache(maxsize=1)
def console() -> Console:
    """The console of standard output, 80 columns where it is no terminal."""
    from rich.console import Console

    if not sys.stdout.isatty():
        return Console(width=WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
    width = max(40, min(shutil.get_terminal_size().columns, 120))
    return Console(width=width, highlight=False, markup=False, emoji=False)


def clean(text: object) -> str:
    """Text from files without control and bidirectional characters, which could rewrite the screen."""
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else "\N{REPLACEMENT CHARACTER}"
        for char in str(text)
    )


def say(text: str, *, bold: bool = False, dim: bool = False, wrap: bool = True) -> None:
    """A paragraph, wrapped at words with a hanging indent; wrap=False for what people copy (paths, signatures)."""
    from rich.text import Text

    style = "bold" if bold else "dim" if dim else ""
    out = console()
    text = clean(wording(text))
    lines = textwrap.wrap(text, out.width, subsequent_indent="  ") if wrap else [text]
    for line in lines or [""]:
        out.print(Text(line, style=style), soft_wrap=True)


def warn(messages: Iterable[str], *, more: str = "") -> None:
    """Data problems that did not stop the run; more: where all of them stand, when only the first are shown."""
    listed = list(messages)
    if listed:
        console().print()
    shown = listed[:MOST_WARNINGS] if more else listed
    for message in shown:
        say(f"warning: {message}")
    if len(shown) < len(listed):
        say(f"... and {len(listed) - len(shown):,} more warnings: {more}")


def show(part: TableView | Paragraph) -> None:
    """A table or paragraph. What stands below in a cell is a second line; a name like the one above is left blank."""
    from metal.show.view import Paragraph

    if isinstance(part, Paragraph):
        say(without_isolates(part.text), bold=part.strong, dim=part.soft, wrap=not part.copied)
        return
    rows = [[without_isolates(f"{cell.text}\n{cell.below}".rstrip("\n")) for cell in row] for row in part.rows]
    headings = [
        _wrapped(without_isolates(column), [row[place] for row in rows]) for place, column in enumerate(part.columns)
    ]
    names = [row[0] for row in rows]
    for row, above in zip(rows[1:], names, strict=False):
        if part.heads > 1 and row[0] == above:
            row[0] = ""
    strong = {
        (line, place) for line, row in enumerate(part.rows) for place, cell in enumerate(row) if cell.mark == "strong"
    }
    table(part.title, headings, rows, keep=part.heads, strong=strong)
    for note in part.notes:
        say(without_isolates(note), dim=True)


def _wrapped(heading: str, texts: Sequence[str]) -> str:
    """A heading on several lines, no wider than what stands under it or its longest word."""
    from rich.cells import cell_len

    widths = [cell_len(line) for text in texts for line in text.split("\n")]
    return textwrap.fill(heading, max([1, *widths, *map(len, heading.split())]))


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    note: str = "",
    keep: int = 1,
    strong: Collection[tuple[int, int]] = (),
) -> None:
    """A table that fits: too many columns go into several tables that repeat the first `keep` columns.

    strong: the row and column of each cell that is bold.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print()
    out.print(Text(clean(title), style="bold"))
    widths = _widths(columns, rows, out.width, keep)
    for group in _groups(widths, out.width, keep):
        shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
        for place in group:
            shown.add_column(
                Text(clean(columns[place])),
                justify="left" if place < keep else "right",
                max_width=widths[place],
                overflow="fold",
            )
        for line, row in enumerate(rows):
            shown.add_row(*(Text(clean(row[place]), "bold" if (line, place) in strong else "") for place in group))
        with out.capture() as drawn:
            out.print(shown)
        out.file.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))
    if note:
        say(note, dim=True)


def _groups(widths: Sequence[int], width: int, keep: int) -> Iterator[list[int]]:
    """Positions of the columns that fit together into `width`, the first `keep` in every group."""
    group = list(range(keep))
    for place in range(keep, len(widths)):
        if len(group) > keep and sum(widths[other] + GAP for other in (*group, place)) > width + GAP:
            yield group
            group = list(range(keep))
        group.append(place)
    yield group


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, keep: int) -> list[int]:
    """The width of each column: names at most NAME_WIDTH, and less where nothing would fit beside them; the others at
    most what is left. What is wider is wrapped.
    """
    from rich.cells import cell_len

    widths = [
        max(cell_len(line) for text in (heading, *(row[place] for row in rows)) for line in [*text.split("\n"), ""])
        for place, heading in enumerate(columns)
    ]
    beside = min(max(widths[keep:], default=0), NAME_WIDTH)
    names = [min(wide, NAME_WIDTH) for wide in widths[:keep]]
    if sum(names) + GAP * keep + beside > width:
        longest = max(LEAST_NAME, (width - beside) // keep - GAP)
        names = [min(wide, longest) for wide in names]
    left = max(width - sum(names) - GAP * keep, LEAST_NAME)
    return [*names, *(min(wide, left) for wide in widths[keep:])]


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error where that is a terminal; the block is handed `advance(done, total)`."""
    with named_progress(what) as advance:
        yield lambda done, total: advance("", done, total)


@contextmanager
def named_progress(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for one thing after the other; the block is handed `advance(name, done, total)`."""
    if not sys.stderr.isatty():
        yield lambda name, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = TextColumn("{task.description}", markup=False)
    parts = (shown, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda name, done, total: bar.update(
            task, description=f"{what}, {clean(name)}" if name else what, completed=done, total=total
        )


@contextmanager
def counts(what: str) -> Iterator[Callable[[str, int], None]]:
    """How many there were so far of each name, where nobody knows how many there will be.

    The block is handed `advance(name, more)`.
    """
    if not sys.stderr.isatty():
        yield lambda name, more: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    shown = TextColumn("{task.completed:,} {task.description} " + what, markup=False)
    with Progress(SpinnerColumn(), shown, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(name: str, more: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(clean(name), total=None)
            bars.advance(tasks[name], more)

        yield advance
