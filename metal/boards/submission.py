"""What may join a board: a generator's outputs, one for each source, and a name. Pure checks, no files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any
from unicodedata import normalize

from metal.boards.ensemble import NAME
from metal.data.dataset import Dataset
from metal.data.files import whole_text
from metal.data.records import Output
from metal.errors import DataError, UsageError, nearest

SHOWN = 3
NAME_LENGTH = 80
OF_THE_BOARD = ("people", NAME)  # rows of its tables that are not submissions
# Names of the two columns; the first that occurs is taken.
SOURCE, TEXT = ("source", "seg_id", "id"), ("text", "hyp", "hypothesis", "summary")


def check_name(name: str, taken: Iterable[str], what: str) -> str:
    """The name of something new on the board, normalised.

    Raises UsageError for a name that is taken, reserved for the board, empty, too long or not printable.
    """
    plain = normalize("NFC", name.strip())
    if not plain or len(plain) > NAME_LENGTH or not plain.isprintable():
        raise UsageError(f"`name` {name!r}: a name is 1 to {NAME_LENGTH} printable characters on one line")
    if plain.lower() in OF_THE_BOARD or plain.lower().startswith("ensemble of "):
        raise UsageError(f"`name` {plain!r} is what the board itself calls a row; give another `name`")
    if plain in set(taken):
        raise UsageError(f"{what} {plain!r} is on the board; give another `name`, or withdraw it if it is a submission")
    return plain


def read_rows(columns: Mapping[Any, Sequence[object]], where: Path) -> list[tuple[str, str]]:
    """(source, text) of each row of a table; empty cells are empty texts. columns: name -> cells.

    Raises DataError where a column is missing, a source is empty, or a cell is no text.
    """
    names = {str(name).strip().lower(): name for name in columns}
    chosen = [next((names[choice] for choice in choices if choice in names), None) for choices in (SOURCE, TEXT)]
    if None in chosen:
        listed = ", ".join(map(str, columns)) or "none"
        raise DataError(where, f"no sources and texts (columns found: {listed})", "Each row has source and text")
    sources, texts = (columns[name] for name in chosen)
    rows = []
    for row, (source, text) in enumerate(zip(sources, texts, strict=True), first_row(where)):
        plain = "" if text is None or (isinstance(text, float) and isnan(text)) else text
        if isinstance(source, float) and source.is_integer():
            source = int(source)  # an id that an empty cell elsewhere had made a float
        if isinstance(source, bool) or not isinstance(source, str | int) or not isinstance(plain, str):
            raise DataError(f"{where} row {row}", f"source {source!r}, text {text!r}", "Both are texts")
        rows.append((str(source), whole_text(plain)))
    return rows


def first_row(path: Path) -> int:
    """What a person calls the first row of a table: 2 below a header, 1 in files without one."""
    return 1 if path.suffix.lower() in (".jsonl", ".parquet") else 2


def generator_outputs(
    rows: Sequence[tuple[str, str]], name: str, dataset: Dataset, where: Path, *, allow_missing: bool = False
) -> tuple[Output, ...]:
    """The outputs of a new generator: one for each of the board's sources in the languages of the rows.

    Raises DataError that names every fault at once: sources the board does not have, duplicate sources, sources without
    a row (unless allowed), and empty texts.
    """
    board = {output.source: output.language for output in dataset.outputs.values()}
    board |= {name: source.language for name, source in dataset.sources.items() if name not in board}
    counts = Counter(source for source, _ in rows)
    extra = [source for source in counts if source not in board]
    again = [source for source, count in counts.items() if count > 1]
    languages = {board[source] for source in counts if source in board}
    missing = [source for source, language in board.items() if language in languages and source not in counts]
    empty = [source for source, text in rows if not text.strip()]
    problems = []
    if not rows:
        problems.append("no outputs in it")
    if extra:
        near = nearest(extra[0], list(board), SHOWN).rstrip("?")
        problems.append(f"{_counted(extra, 'extra source')} the board does not have, {near}")
    if again:
        problems.append(f"{_counted(again, 'duplicate source')}")
    if missing and not allow_missing:
        problems.append(f"{_counted(missing, 'missing source')} of {len(missing) + len(set(counts) - set(extra)):,}")
    if empty:
        problems.append(f"{_counted(empty, 'empty text')}")
    if problems:
        raise DataError(where, "; ".join(problems), "Nothing was taken in; put the file right")
    return tuple(Output(f"{source}/{name}", source, name, board[source], text) for source, text in rows)


def _counted(names: Sequence[str], what: str) -> str:
    listed = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names):,} {what}{'s' if len(names) > 1 else ''} ({listed})"
