"""Other people's formats, one file each, and what their readers return: a draft, before its parts
are checked.

A format is a `Format` record, offered by an entry point of the group `metal.formats`. To add one,
write its file and one line, here or in a package of your own:

    [project.entry-points."metal.formats"]
    my_format = "my_package.my_format:FORMAT"
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Card, Dataset, assemble, counts
from metal.data.generator_scores import among
from metal.data.languages import find_language, how_to_write
from metal.data.missing import no_such
from metal.data.plugins import load_plugin, plugins
from metal.data.ratings import FACTS, FRAME, tidy_facts
from metal.data.records import KINDS, Criterion, Level, Output, Rater, Scale, Source
from metal.data.tables.files import ENDINGS, is_table
from metal.data.tables.first_names import first_names, row_below_names
from metal.data.tables.harnesses import are_marked
from metal.data.tables.table_columns import TableColumns
from metal.data.text import note
from metal.errors import DataError, UnknownName, UsageError, check_known

GROUP = "metal.formats"
TABLES = {"excel", *(ending[1:] for ending in ENDINGS)}  # kinds of tables, which are no formats
COMMON_OPTIONS = frozenset({"name", "only"})

# SummEval's criteria that look at the summary alone, in any release.
OF_THE_TEXT = ("coherence", "fluency")

MARK_LENGTH = 1 << 16  # bytes of a file that are searched for what marks its format

MOST_FILES = 100  # of a folder that are searched for keys


def down_to(pattern: str, depth: int = 3) -> tuple[str, ...]:
    """The pattern in a folder and in its folders, so many levels in all.

    >>> down_to("*.json", 2)
    ('*.json', '*/*.json')
    """
    return tuple("*/" * level + pattern for level in range(depth))


FIVE_LEVELS = Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))


@dataclass(frozen=True)
class Draft:
    """The parts of a dataset as read. facts: see metal.data.ratings.tidy_facts; generator_scores:
    see metal.data.generator_scores.

    notes: what the reader changed, left out or found odd, one line each, with counts. counted_from:
    if source ids are positions in a list kept elsewhere, the number of the first source in it.
    columns: for a table, what was read from which of its columns.
    """

    card: Card
    criteria: tuple[Criterion, ...]
    sources: tuple[Source, ...]
    outputs: tuple[Output, ...]
    raters: tuple[Rater, ...]
    facts: pd.DataFrame
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    counted_from: int | None = None
    columns: TableColumns | None = None
    generator_scores: pd.DataFrame | None = None

    def __repr__(self) -> str:
        parts = counts(
            source=self.sources,
            output=self.outputs,
            rater=self.raters,
            rating=self.facts,
            note=self.notes,
        )
        return f"Draft({self.card.name!r}: {parts})"

    def assemble(self, file: str | Path = FRAME) -> Dataset:
        """The checked dataset, with the notes as its report. file: the file named in messages
        about single ratings.

        Raises DataError for the first fault.
        """
        parts = (self.card, self.criteria, self.sources, self.outputs, self.raters, self.facts)
        report = tuple(map(note, self.notes))
        dataset = assemble(
            *parts,
            ratings_file=Path(file),
            extra=self.extra,
            of_generators=self.generator_scores,
        )
        return replace(dataset, report=report)


@dataclass
class Reading:
    """What a reader has gathered so far. rows: (output, criterion, rater, score, reason, comment),
    NaN for no score.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    raters: dict[str, Rater] = field(default_factory=dict)
    rows: list[tuple[str, str, str, float, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note_missing(self) -> None:
        """Add a note for each rater on how many ratings have no score, by reason."""
        missing = Counter((rater, reason) for _, _, rater, _, reason, _ in self.rows if reason)
        self.notes += [
            f"{rater}: {count} ratings without a score ({reason})"
            for (rater, reason), count in missing.items()
        ]

    def draft(
        self, card: Card, criteria: Iterable[Criterion], extra: Mapping[str, Any] | None = None
    ) -> Draft:
        """The draft of everything gathered."""
        return Draft(
            card,
            tuple(criteria),
            tuple(self.sources.values()),
            tuple(self.outputs.values()),
            tuple(self.raters.values()),
            tidy_facts(pd.DataFrame(self.rows, columns=list(FACTS))),
            tuple(self.notes),
            extra or {},
        )


@dataclass(frozen=True)
class Format:
    """A readable format: its description in one line, the function that reads it, and the options
    of that function.

    read(path, options): options holds only names listed in `options`, and `name`. Importing the
    module must be quick: heavy libraries are imported in the function.

    marks: how the format is recognized: patterns of file names, each with words that all occur near
    the beginning of such a file. keys: the columns or JSON keys that mark a table of this format,
    each set of them alone (see metal.data.tables.harnesses.Harness.marks). read_frame: how a
    DataFrame with these columns is read, if the format is a table. in_folders: patterns of
    files; a folder is of this format if one of these files in it has the keys. is_row: whether the
    cells are a row of this format. It is asked about the second row of a table (text or XLSX), so
    that the table is recognized whatever the names of its columns.
    """

    summary: str
    read: Callable[[Path, Mapping[str, Any]], Draft]
    options: frozenset[str] = frozenset()
    marks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    keys: tuple[frozenset[str], ...] = ()
    read_frame: Callable[[pd.DataFrame, Mapping[str, Any]], Draft] | None = None
    in_folders: tuple[str, ...] = ()
    is_row: Callable[[Sequence[str]], bool] | None = None

    def recognizes(self, path: Path, names: Collection[str] = ()) -> bool:
        """Whether a file or folder is of this format, by its marks, or by the names of the columns
        or keys in it.
        """
        if self.has_keys(names) or self._is_folder(path):
            return True
        if self.is_row and self.is_row(row_below_names(path)):
            return True
        for pattern, marks in self.marks:
            files = [path] if fnmatchcase(path.name, pattern) else []
            for file in path.glob(pattern) if path.is_dir() else files:
                if not file.is_file():
                    continue
                with file.open("rb") as opened:
                    start = opened.read(MARK_LENGTH)
                if all(word.encode() in start for word in marks):
                    return True
        return False

    def has_keys(self, names: Collection[str]) -> bool:
        """Whether these columns or keys mark the format."""
        return any(are_marked(names, keys) for keys in self.keys)

    def _is_folder(self, path: Path) -> bool:
        if not self.in_folders or not path.is_dir():
            return False
        files = (file for pattern in self.in_folders for file in sorted(path.glob(pattern)))
        first = islice(filter(Path.is_file, files), MOST_FILES)
        return any(self.has_keys(first_names(file)) for file in first)


def known_formats() -> dict[str, Format]:
    """The installed formats by name, METAL's first."""
    return {name: load_format(name) for name in plugins(GROUP)}


def recognize(path: Path) -> str:
    """The format of a release, by its marks; "" if there is none. A format that cannot be loaded
    has no marks.
    """
    names = first_names(path) if path.is_file() else frozenset[str]()
    for name in plugins(GROUP):
        with suppress(UsageError):
            if load_format(name).recognizes(path, names):
                return name
    return ""


def recognize_frame(names: Collection[str]) -> str:
    """The format that a DataFrame with these columns has, by its keys; "" if there is none."""
    for name in plugins(GROUP):
        with suppress(UsageError):
            format = load_format(name)
            if format.read_frame and format.has_keys(names):
                return name
    return ""


def load_format(name: str) -> Format:
    """The format of that name. Raises UnknownName, and UsageError for an entry point that is not a
    format.
    """
    if name not in plugins(GROUP) and (is_table(Path(name)) or name.lower().strip(".") in TABLES):
        remedy = "tables need no format: leave it out, and give the path of one table"
        raise UnknownName("format", name, (), instead=remedy)
    loaded = load_plugin(GROUP, "format", name, "`metal import --list` explains each")
    if not isinstance(loaded, Format):
        raise UsageError(
            f"format {name} ({plugins(GROUP)[name].value}) is not a metal.data.formats.Format"
        )
    return loaded


def read(name: str, path: str | Path, options: Mapping[str, Any]) -> Draft:
    """Read `path` in the named format.

    Every format has two more options: `name` names the dataset, and `only` lists the kinds of rater
    to keep. Raises UnknownName for a format, UsageError for an option the format does not know,
    DataError if there is no rating, and what the reader raises.
    """
    chosen = load_format(name)
    _check_options(name, chosen, options)
    draft = _draft_from(chosen, name, Path(path), options)
    return _with_ratings(name, chosen, draft, path, options)


def _draft_from(chosen: Format, name: str, path: Path, options: Mapping[str, Any]) -> Draft:
    """What the reader of a format reads. Raises UsageError for a path that does not exist, and for
    a folder if it reads files.
    """
    try:
        return chosen.read(path, options)
    except FileNotFoundError:
        if path.exists():
            raise
        raise no_such(path) from None
    except IsADirectoryError:
        if not path.is_dir():
            raise
        problem = f"{path} is a folder, and format {name} reads files ({chosen.summary})"
        raise UsageError(f"{problem}; give one of its files") from None


def read_as(name: str, frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame in the named format, which must have a `read_frame`; see `read`."""
    chosen = load_format(name)
    _check_options(name, chosen, options)
    if chosen.read_frame is None:
        raise UsageError(f"format {name} reads files, not DataFrames")
    draft = chosen.read_frame(frame, options)
    return _with_ratings(name, chosen, draft, FRAME, options)


def _check_options(name: str, chosen: Format, options: Mapping[str, Any]) -> None:
    unused = sorted(set(options) - chosen.options - COMMON_OPTIONS)
    if unused:
        raise UsageError(
            f"format {name} does not use the option for {', '.join(unused)}; leave it out"
        )


def _with_ratings(
    name: str, chosen: Format, draft: Draft, file: str | Path, options: Mapping[str, Any]
) -> Draft:
    """The draft after the common options. Raises DataError if there is no rating in it."""
    if draft.facts.empty:
        raise DataError(
            file,
            f"no ratings in the format {name} ({chosen.summary})",
            "`metal.formats()` lists the formats",
        )
    return with_common_options(draft, options)


def with_common_options(draft: Draft, options: Mapping[str, Any]) -> Draft:
    """The draft after the options that every format has.

    name: that of the dataset. only: the kinds of rater to keep, with the criteria that they
    answered; outputs stay. Raises UnknownName for what is not a kind, UsageError when no rater is
    left.
    """
    if options.get("name"):
        draft = replace(draft, card=replace(draft.card, name=options["name"]))
    kinds = _kinds_to_keep(options)
    if not kinds:
        return draft
    option = f"`only={kinds}`"
    kept = tuple(rater for rater in draft.raters if rater.kind in kinds)
    if not kept:
        raise UsageError(f"{option}: the data have no such raters, only {_by_kind(draft.raters)}")
    gone = [rater for rater in draft.raters if rater.kind not in kinds]
    if not gone:
        return draft
    facts = draft.facts[draft.facts["rater"].isin([rater.rater for rater in kept])].reset_index(
        drop=True
    )
    for column in ("criterion", "rater"):
        facts[column] = facts[column].cat.remove_unused_categories()
    line = (
        f"{option} left out {_by_kind(gone)} raters and their {len(draft.facts) - len(facts):,}"
        " ratings"
    )
    scores = draft.generator_scores
    if scores is not None:
        scores = among(scores, rater=[rater.rater for rater in kept])
        scores = among(scores, criterion=facts["criterion"].cat.categories)
    return replace(
        draft,
        criteria=tuple(c for c in draft.criteria if c.name in facts["criterion"].cat.categories),
        raters=kept,
        facts=facts,
        generator_scores=scores,
        notes=(*draft.notes, line),
    )


def _kinds_to_keep(options: Mapping[str, Any]) -> list[str]:
    """The kinds of rater in the option `only`. Raises UnknownName for what is not a kind."""
    only = options.get("only") or ()
    kinds = [only] if isinstance(only, str) else list(only)
    check_known("`only`: kind", kinds, KINDS)
    return kinds


def _by_kind(raters: Iterable[Rater]) -> str:
    return ", ".join(
        f"{count} {kind}" for kind, count in Counter(rater.kind for rater in raters).items()
    )


# ---------------------------------------------------------------- for readers


def read_score(
    text: Any, allowed: Container[float], missing: str, unparsable: str
) -> tuple[float, str]:
    """The score and no reason, or NaN and the reason: the reason is `missing` for NaN,
    `unparsable`, or off the scale.
    """
    try:
        score = float(text)
    except (TypeError, ValueError):
        return math.nan, unparsable
    if math.isnan(score):
        return math.nan, missing
    return (score, "") if score in allowed else (math.nan, f"off scale: {score:g}")


def judge_rater(model: str, prompt: str, group: str) -> Rater:
    """An LLM judge: a model asked with a prompt."""
    return Rater(f"{model}/{prompt}", "llm", group, {"model": model, "prompt": prompt})


def human_generators(generators: Iterable[str]) -> dict[str, Any]:
    """The further key of dataset.toml that marks generators as people by their names (`Human-H`,
    `refA`, `ref-B`), if there are any.
    """
    people = {
        name: {"kind": "human"}
        for name in dict.fromkeys(generators)
        if re.match(r"Human|ref([-._]?[A-Z])?(\.\d+)?$", name)
    }
    return {"generators": people} if people else {}


def language_option(text: str) -> str:
    """The code of the language in the option `language`. Raises UsageError when it is not a
    language.
    """
    code = find_language(text)
    if code is None:
        raise UsageError(f"`language` {text!r} is not known. {how_to_write(text)}")
    return code


def csv_rows(text: str, file: object, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV that are not blank, each with its number. Raises DataError for a row that is
    no CSV.
    """
    number = 0
    try:
        for number, row in enumerate(
            csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1
        ):
            if row:
                yield number, row
    except csv.Error as error:
        remedy = "Quote texts that hold commas or line breaks"
        raise DataError(f"{file} row {number + 1}", f"not CSV ({error})", remedy) from None


def only_file(path: Path, pattern: str) -> Path:
    """`path` itself if it is a file, else the one file in it that matches. Raises UsageError
    otherwise.
    """
    if path.is_file():
        return path
    files = sorted(path.glob(pattern))
    if len(files) != 1:
        problem = f"{len(files)} files named {pattern} there; pass the released file itself"
        example = "".join(f", such as {file}" for file in files[:1])
        raise UsageError(f"{path}: {problem}{example}")
    return files[0]


def summary_criterion(name: str) -> Criterion:
    """A criterion for summaries with levels 1 to 5, as in SummEval and its successors."""
    return Criterion(name, FIVE_LEVELS, of_source=name not in OF_THE_TEXT)
