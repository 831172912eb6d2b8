"""What may join a board: a generator's outputs, one for each source; a metric's name. Pure checks, no files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

from metal.boards.ensemble import NAME
from metal.data.dataset import Dataset
from metal.data.json_files import whole_text
from metal.data.records import Output
from metal.errors import DataError, UsageError, nearest

SHOWN = 3
NAME_LENGTH = 80
OF_THE_BOARD = ("people", NAME)  # rows of its tables that are no submissions
SOURCE, TEXT = ("source", "seg_id", "id"), ("text", "hyp", "hypothesis", "summary")  # columns, the first that is there


def check_name(name: str, taken: Iterable[str], what: str) -> str:
    """The name of something new on the board. Raises UsageError for one that is taken, empty, long or not printable."""
    plain = normalize("NFC", name.strip())
    if not plain or len(plain) > NAME_LENGTH or not plain.isprintable():
        raise UsageError(f"--name {name!r}: a name is 1 to {NAME_LENGTH} printable characters on one line")
    if plain.lower() in OF_THE_BOARD or plain.lower().startswith("ensemble of "):
        raise UsageError(f"--name {plain!r} is what the board itself calls a row; give another --name")
    if plain in set(taken):
        raise UsageError(f"{what} {plain!r} is on the board; give another --name, or withdraw it if it is a submission")
    return plain


def read_rows(columns: Mapping[str, Sequence[object]], where: Path) -> list[tuple[str, str]]:
    """(source, text) of each row of a table; empty cells are empty texts.

    Raises DataError where a column is missing, a source is none, or a text is something else.
    """
    names = {str(name).strip().lower(): name for name in columns}
    found = [next((names[one] for one in choices if one in names), None) for choices in (SOURCE, TEXT)]
    if None in found:
        listed = ", ".join(map(str, columns)) or "none"
        raise DataError(where, f"no sources and texts (columns found: {listed})", "Each row has source and text")
    sources, texts = (columns[str(name)] for name in found)
    rows = []
    first = 1 if where.suffix.lower() in (".jsonl", ".parquet") else 2  # below a header
    for row, (source, text) in enumerate(zip(sources, texts, strict=True), first):
        plain = "" if text is None or text != text else text
        if isinstance(source, float) and source.is_integer():
            source = int(source)  # an id that an empty cell elsewhere had made a float
        if isinstance(source, bool) or not isinstance(source, str | int) or not isinstance(plain, str):
            raise DataError(f"{where} row {row}", f"source {source!r}, text {text!r}", "Both are texts")
        rows.append((str(source), whole_text(plain)))
    return rows


def generator_outputs(
    rows: Sequence[tuple[str, str]], name: str, dataset: Dataset, where: Path, *, allow_missing: bool = False
) -> tuple[Output, ...]:
    """The outputs of a new generator: one for each source that the board has, in the languages of the rows.

    Raises DataError with all that is wrong at once: sources the board does not have, sources twice, sources without a
    row (unless allowed), empty texts.
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
