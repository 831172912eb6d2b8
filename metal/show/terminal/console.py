"""Output to a terminal: plain if piped, as wide as the terminal or COLUMNS, with hostile text made
harmless.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, partial
from io import StringIO
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal

from metal.data.progress import FOLLOWER
from metal.data.text import broken, plural, without_isolates
from metal.show.terminal.stages import PERCENT as PERCENT
from metal.show.terminal.stages import Stages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from metal.show.view import Cell, Paragraph, Screen, TableView

WIDTH = 80  # where nothing is known of the terminal
LEAST_WIDTH, MOST_WIDTH = 40, 200
TEXT_WIDTH = 120  # longer lines of text are hard to read
NAME_WIDTH = 30
# how a verb of the command line puts messages into its own words, while it works
WORDING: ContextVar[Callable[[str], str]] = ContextVar("WORDING", default=str)
LEAST_NAME = 8
WRAPPED_NAME = 16  # longer names are wrapped at words where that makes fewer tables of one
MOST_NOTES = 2  # of a table on a first screen
GAP = 3  # between two columns: padding, and the box's blank
MOST_WARNINGS = 20
# in the words of a command line, and of Python
_OPTION = re.compile(r"(?<!\w)--[a-z][a-z-]+|`[a-z_]+=")
# Of a cell's mark: verdicts have the colours that all terminals show, and words that say it without
# them.
STYLES = {
    "strong": "bold",
    "good": "bold green",
    "once": "green",
    "some": "cyan",
    "none": "yellow",
    "split": "magenta",
    "open": "dim",
}


# where text is made, not printed
ON_PAPER: ContextVar[Console | None] = ContextVar("ON_PAPER", default=None)


def console() -> Console:
    """The console on which everything is printed: standard output or, within `as_text`, a text."""
    return ON_PAPER.get() or of_output()


@lru_cache(maxsize=1)
def of_output() -> Console:
    """The console of standard output, as wide as COLUMNS or the terminal."""
    from rich.console import Console

    width = max(LEAST_WIDTH, min(shutil.get_terminal_size((WIDTH, 24)).columns, MOST_WIDTH))
    colors: Literal["auto"] | None = "auto" if sys.stdout.isatty() else None
    return Console(width=width, color_system=colors, highlight=False, markup=False, emoji=False)


def worded(message: str) -> str:
    """The message in the words of its reader: of the command line, or of Python."""
    return WORDING.get()(message)


def clean(text: object) -> str:
    """Text from files without control characters and bidirectional characters, which could rewrite
    the screen.
    """
    return "".join(
        (
            char
            if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
            else "\N{REPLACEMENT CHARACTER}"
        )
        for char in str(text)
    )


def say(
    text: str, *, bold: bool = False, dim: bool = False, wrap: bool = True, most: int | None = None
) -> None:
    """Print a paragraph, wrapped at words with a hanging indent.

    wrap: False for texts that people copy, such as paths and signatures.

    most: the largest number of lines; a longer text is cut (see _cut).
    """
    from rich.text import Text

    style = "dim" if dim else ""
    out = console()
    text = clean(worded(text))
    lines = [text]
    if wrap:
        width = min(out.width, TEXT_WIDTH)
        lines = _cut(text, width, most) if most else folded(text, width)
    for line in lines or [""]:
        out.print(Text(line, style="bold" if bold else style), soft_wrap=True)


def _cut(text: str, width: int, most: int) -> list[str]:
    """The first lines of a paragraph, and one more if it names an option that would otherwise be
    cut.
    """
    option = _OPTION.search(text)
    more = folded(text, width, most + 1)
    if not option or _OPTION.search(" ".join(more[:most])):
        return folded(text, width, most)
    if _OPTION.search(more[-1]):
        return more
    return folded(text, width, most, cut=f" ... (see {option[0].rstrip('=').lstrip('`')})")


def verbatim(text: str, marked: Sequence[tuple[int, int]] = ()) -> None:
    """Print somebody else's text unchanged, line by line, except for characters that could rewrite
    the screen.

    marked: spans of the text, in order, that are highlighted where the output has styles.
    """
    from rich.text import Text

    begins, ends_of_marked = 0, [end for _, end in marked]
    for row in text.split("\n"):
        ends = begins + len(row)
        line = Text(clean(row.removesuffix("\r") if ends < len(text) else row))
        for begin, end in marked[bisect_right(ends_of_marked, begins) :]:
            if begin >= ends:
                break
            line.stylize("bold reverse", max(begin - begins, 0), end - begins)
        console().print(line, soft_wrap=True)
        begins = ends + 1


def folded(
    text: str, width: int, most: int | None = None, indent: str = "", cut: str = " ..."
) -> list[str]:
    """The lines of a paragraph with a hanging indent, at most `most` of them.

    indent: the indent of all lines. cut: the ending of a shortened text.
    """
    under = f"{indent}  "
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=under, max_lines=most, placeholder=cut
    )


def aside(line: str) -> None:
    """Print a line on standard error, so that standard output contains only results."""
    print(clean(worded(line)), file=sys.stderr)


def warn(messages: Iterable[str], *, more: str = "") -> None:
    """Print data problems that did not stop the run.

    more: words on where to find all warnings, if only the first are shown.
    """
    listed = list(messages)
    if listed:
        console().print()
    shown = listed[:MOST_WARNINGS] if more else listed
    for message in shown:
        say(f"warning: {message}")
    if len(shown) < len(listed):
        say(f"... and {len(listed) - len(shown):,} more warnings: {more}")


def show(part: TableView | Paragraph) -> None:
    """Show a table or paragraph. The lower text of a cell goes on a second line; a name equal to
    the one above is left blank.
    """
    from metal.show.view import Paragraph

    if isinstance(part, Paragraph):
        most = 1 if part.cut else None
        say(
            without_isolates(part.text),
            bold=part.strong,
            dim=part.soft,
            wrap=not part.copied,
            most=most,
        )
        return
    if part.turns:
        for piece, widths in _fitted(part, console().width):
            _show_table(piece, widths)
    else:
        _show_table(part)
    most = MOST_NOTES if part.brief else len(part.remarks)
    for note in part.remarks[:most]:
        say(without_isolates(note), dim=True)
    if more := len(part.remarks[most:]):
        say(f"With -v also: {plural(more, 'more remark')}.", dim=True)


def as_text(screen: Screen, width: int = WIDTH) -> str:
    """What a terminal of this width would show, without colours."""
    from rich.console import Console

    paper = StringIO()
    plain = Console(
        file=paper, width=width, color_system=None, highlight=False, markup=False, emoji=False
    )
    before = ON_PAPER.set(plain)
    try:
        for part in screen:
            show(part)
    finally:
        ON_PAPER.reset(before)
    return paper.getvalue().rstrip("\n")


def _show_table(part: TableView, widths: Sequence[int] | None = None) -> None:
    rows = [
        [without_isolates(f"{cell.text}\n{cell.below}".rstrip("\n")) for cell in row]
        for row in part.rows
    ]
    headings = [*map(without_isolates, part.columns)]
    if not widths:
        headings = [
            _wrapped(heading, [row[column] for row in rows])
            for column, heading in enumerate(headings)
        ]
    names = [row[0] for row in rows]
    for row, above in zip(rows[1:], names, strict=False):
        if part.heads > 1 and row[0] == above:
            row[0] = ""
    styles = {
        (line, column): STYLES.get(cell.mark, "")
        for line, row in enumerate(part.rows)
        for column, cell in enumerate(row)
    }
    left = () if widths else part.flush_left
    table(
        part.title,
        headings,
        rows,
        keep=part.heads,
        styles=styles,
        widths=widths,
        brief=part.brief,
        left=left,
    )


def _fitted(part: TableView, width: int) -> list[tuple[TableView, list[int]]]:
    """The table in the form that fits, with the width of each column: cells on one line, on several
    lines, or wrapped at words.

    If the table does not fit as it is, its rows become columns; if that does not fit either, it is
    split into several tables with equally many columns.
    """
    joined = replace(part, rows=tuple(tuple(map(_on_one_line, row)) for row in part.rows))
    most = max(len(part.columns), len(part.rows) + 1) - part.heads
    forms = [(joined, False), (part, False), (joined, True)]
    for tables, (form, wraps), turns in product(range(1, most + 1), forms, (False, True)):
        way = form.turned() if turns else form
        fitted = [(piece, _wrapping(piece, width, wraps=wraps)) for piece in way.in_pieces(tables)]
        if all(sum(widths) + GAP * (len(widths) - 1) <= width for _, widths in fitted):
            break
    return fitted


def _wrapping(part: TableView, width: int, *, wraps: bool) -> list[int]:
    """The width of each column if wide columns are wrapped at words.

    wraps: whether to wrap cells as well as names.
    """
    from rich.cells import cell_len

    natural, least = [], []
    for column, heading in enumerate(part.columns):
        cells = [
            line for row in part.rows for line in (row[column].text, *row[column].below.split("\n"))
        ]
        words = [
            word
            for text in (heading, *(cells if wraps or column < part.heads else ()))
            for word in text.split()
        ]
        natural.append(max(map(cell_len, [heading, *cells])))
        least.append(
            max(
                map(cell_len, [*words, *(() if wraps or column < part.heads else cells)]), default=0
            )
        )
    for cap in range(max(natural), 0, -1):
        widths = [min(wide, max(cap, narrow)) for wide, narrow in zip(natural, least, strict=True)]
        if sum(widths) + GAP * (len(widths) - 1) <= width:
            break
    return widths


def _on_one_line(cell: Cell) -> Cell:
    joint = " " if cell.below.startswith("[") else ", "
    below = ", ".join(cell.below.splitlines())
    return replace(cell, text=joint.join(filter(None, [cell.text, below])), below="")


def _wrapped(heading: str, texts: Sequence[str]) -> str:
    """A heading on several lines, as wide as the cells below it or as its longest word."""
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
    styles: Mapping[tuple[int, int], str] | None = None,
    widths: Sequence[int] | None = None,
    brief: bool = False,
    left: Sequence[bool] = (),
) -> None:
    """Print a table that fits: columns that do not fit go into further tables, which repeat the
    first `keep` columns.

    styles: the styles of cells, by row and column. widths: the widths of columns of words; those of
    numbers are computed. left: for each column, whether it is aligned on the left; by default all
    columns if there are widths, else the kept ones. brief: print only the first of these tables,
    and how many columns are left out.
    """
    from rich.text import Text

    out = console()
    out.print()
    if title:
        out.print(Text(clean(title), style="bold"))
    left = left or [bool(widths) or column < keep for column in range(len(columns))]
    widths = widths or _widths(columns, rows, out.width, keep)
    styles = styles or {}
    groups = list(_groups(widths, out.width, keep))
    left_out = list(chain.from_iterable(group[keep:] for group in groups[1:])) if brief else []
    for group in groups[:1] if brief else groups:
        shown = _drawn(columns, rows, group, widths, left, styles, keep)
        with out.capture() as drawn:
            out.print(shown)
        out.file.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))
    headings = [" ".join(columns[column].split()) for column in left_out]
    if headings:
        say(f"With -v also: {', '.join(filter(None, headings))}.", dim=True)
    if note:
        say(note, dim=True)


def _drawn(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    group: Sequence[int],
    widths: Sequence[int],
    left: Sequence[bool],
    styles: Mapping[tuple[int, int], str],
    keep: int,
) -> Table:
    """Print these columns of a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(
        box=box.SIMPLE_HEAD,
        show_header=any(columns[column] for column in group),
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for column in group:
        shown.add_column(
            Text(clean(columns[column])),
            justify="left" if left[column] else "right",
            max_width=widths[column],
            overflow="fold",
        )
    for line, row in enumerate(rows):
        looks = [styles.get((line, column), "") for column in group]
        shown.add_row(*map(Text, _cells(row, group, widths, keep), looks))
    return shown


def _cells(row: Sequence[str], group: Sequence[int], widths: Sequence[int], keep: int) -> list[str]:
    """The cells of a row in these columns; cells that name the row are wrapped at words."""
    from rich.cells import cell_len

    cells = [clean(row[column]) for column in group]
    for column in group[:keep]:
        cells[column] = "\n".join(broken(cells[column], widths[column], cell_len))
    return cells


def _groups(widths: Sequence[int], width: int, keep: int) -> Iterator[list[int]]:
    """Groups of positions of columns that fit together into `width`; every group has the first
    `keep`.
    """
    group = list(range(keep))
    for column in range(keep, len(widths)):
        if (
            len(group) > keep
            and sum(widths[other] + GAP for other in (*group, column)) > width + GAP
        ):
            yield group
            group = list(range(keep))
        group.append(column)
    yield group


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, keep: int
) -> list[int]:
    """The width of each column; wider contents are wrapped.

    Names get at most NAME_WIDTH, and less if that saves a table or if nothing would fit next to
    them. Other columns get at most the width that is left.
    """
    from rich.cells import cell_len

    widths = [
        max(
            cell_len(line)
            for text in (heading, *(row[column] for row in rows))
            for line in [*text.split("\n"), ""]
        )
        for column, heading in enumerate(columns)
    ]
    beside = min(max(widths[keep:], default=0), NAME_WIDTH)
    if sum(widths) + GAP * (len(widths) - 1) <= width:
        return widths
    names = [min(wide, NAME_WIDTH) for wide in widths[:keep]]
    words = [
        " ".join([columns[column], *(row[column] for row in rows)]).split()
        for column in range(keep)
    ]
    longest = [max(map(cell_len, of), default=0) for of in words]
    wrapped = (  # the widest first
        [min(wide, max(most, word)) for wide, word in zip(names, longest, strict=True)]
        for most in range(NAME_WIDTH, WRAPPED_NAME - 1, -1)
    )
    names = min(
        wrapped, key=lambda heads: len(list(_groups([*heads, *widths[keep:]], width, keep)))
    )
    if sum(names) + GAP * keep + beside > width:
        most = max(LEAST_NAME, (width - beside) // keep - GAP)
        names = [min(wide, most) for wide in names]
    left = max(width - sum(names) - GAP * keep, LEAST_NAME)
    return [*names, *(min(wide, left) for wide in widths[keep:])]


@contextmanager
def progress(what: str, unit: str = PERCENT) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error; the block gets `advance(done, total)`.

    unit: the unit that it counts.
    """
    with named_progress(what, unit) as advance:
        yield lambda done, total: advance("", done, total)


@contextmanager
def named_progress(what: str, unit: str = PERCENT) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for several things in turn; the block gets `advance(name, done, total)`.

    It also shows work that reports to FOLLOWER, each unit at its own rate. If standard error is no
    terminal, it prints a line now and then.
    """
    work = Stages(what)
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        # what is printed meanwhile stands above the bar; piped, it stays in the pipe
        out = sys.stdout.isatty()
        bar: Any = Live(
            work,
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=10,
            redirect_stdout=out,
        )
    else:
        bar = nullcontext()
    with bar:
        before = FOLLOWER.get()
        FOLLOWER.set(partial(work.advance, ""))
        try:
            yield lambda name, done, total: work.advance(clean(name), unit, done, total)
        finally:
            # where the bar is closed by a task of an event loop, of a context of its own
            FOLLOWER.set(before)
