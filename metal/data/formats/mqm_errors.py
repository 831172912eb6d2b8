"""The errors that experts marked by MQM, a row each, as WMT and MQM viewers write them:

    system doc doc_id seg_id rater source target category severity [metadata]

separated by tabs, with the error between <v> and </v> in the source or the target. A row of the
category `No-error` says that a rater read the segment and marked nothing. Files come as .tsv and
.tar.gz, and with the names docSegId and globalSegId; the source errors of 2020 lack seg_id and
rater, whatever their header says.

A rating is minus the sum of the weights of the errors that a rater marked in an output
(metal.data.formats.mqm_weights). Its comment holds the errors as JSON, as EvalSet folders do.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.archives import files_in, is_archive
from metal.data.dataset import Card
from metal.data.files import read_text, text_in
from metal.data.formats import Draft, Format, Reading, human_generators
from metal.data.formats.mqm import MQM, RATER, about_language, language_in
from metal.data.formats.mqm_weights import (
    AS_TEXT,
    IN_WORDS,
    Weights,
    check_used,
    spelled,
    weights_in,
)
from metal.data.own_ranges import with_ranges
from metal.data.records import Criterion, Output, Rater, Scale, Source
from metal.data.tables.files import read_frame as read_table
from metal.data.tables.first_names import OTHERS, named_ending
from metal.data.tables.harnesses import marks_of
from metal.data.text import first_few, plural
from metal.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")
OTHER_NAMES = {"docsegid": "doc_id", "doc_seg_id": "doc_id"}
OTHER_NAMES |= {"globalsegid": "seg_id", "global_seg_id": "seg_id"}
UNSCORED = {"metadata", "note", "misc"}  # columns without which a score is the same
NO_ERROR = "no-error"
IN_SOURCE = ("source error", "source issue")
SOURCE_ERRORS = Criterion(
    "source_errors",
    Scale("interval"),
    label="Source errors",
    question="How grave are the errors in the source?",
)
ROW = f"Each row is {' '.join(COLUMNS)}, separated by tabs"
NO_WEIGHT = "an error without a category or a severity"
TAGS = re.compile(r"</?v>")


@dataclass(frozen=True)
class ErrorRow:
    """A row: an error, or the statement that there is none. location: the row in its file, for
    messages.
    """

    location: str
    system: str
    doc: str
    doc_id: str
    seg_id: str
    rater: str
    source: str
    target: str
    category: str
    severity: str

    @property
    def in_source(self) -> bool:
        """Whether the source is at fault, not the translation."""
        return self.category.startswith(IN_SOURCE)

    @property
    def says_none(self) -> bool:
        """Whether the row says that there is no error."""
        return NO_ERROR in (self.category, self.severity)

    @property
    def is_complete(self) -> bool:
        """Whether the row says how bad an error is, or that there is none."""
        return self.says_none or bool(self.category and self.severity)

    def described(self, weight: float) -> dict[str, Any]:
        """The error as EvalSet folders describe it."""
        marked_source = "<v>" in self.source
        text = self.source if marked_source else self.target
        start = max(text.find("<v>"), 0)
        end = max(text.find("</v>") - len("<v>"), start)
        return {
            "start": start,
            "end": end,
            "category": self.category,
            "severity": self.severity,
            "score": None if math.isnan(weight) else weight,
            "is_source_error": marked_source or self.in_source,
        }


@dataclass
class RatedSegment:
    """The errors of one rater in one output."""

    rater: str
    output: str
    weights: list[float] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)

    def mark(self, row: ErrorRow, weight: float) -> None:
        """Add an error."""
        self.weights.append(weight)
        self.errors.append(row.described(weight))

    @property
    def score(self) -> float:
        """Minus the weights of all errors; NaN if one is unknown."""
        return 0.0 - math.fsum(self.weights)

    @property
    def reason(self) -> str:
        """Why there is no score; empty if there is one."""
        return NO_WEIGHT if math.isnan(self.score) else ""

    @property
    def comment(self) -> str:
        """The errors as JSON."""
        return json.dumps({"errors": self.errors}, ensure_ascii=False)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a .tsv or .tar.gz of errors, or another table of them. The language pair is that in the
    file's name (`zhen`), or the option `language`.
    """
    rows, unread = list[ErrorRow](), list[str]()
    if _is_of_a_spreadsheet(path):
        rows += _rows_of(read_table(path), str(path), unread)
    else:
        for name, text in _texts(path):
            rows += _rows(text, name, unread)
    return _draft(rows, unread, path.name.partition(".")[0], path, options)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read errors from a DataFrame, with the same columns."""
    unread = list[str]()
    rows = _rows_of(frame, "DataFrame", unread)
    return _draft(rows, unread, "mqm", "DataFrame", options)


# ---------------------------------------------------------------- rows


def _is_of_a_spreadsheet(path: Path) -> bool:
    """Whether a file is XLSX or Parquet, or text that no tabs divide, where quotes are the file's
    and not those of the texts.
    """
    if is_archive(path):
        return False
    if named_ending(path) in OTHERS:
        return True
    return "\t" not in read_text(path).partition("\n")[0]


def _rows_of(frame: pd.DataFrame, file: str, unread: list[str]) -> list[ErrorRow]:
    """The rows of a frame. unread: gets the names of columns that nothing reads."""
    columns = _named([str(name) for name in frame], unread)
    texts = frame.astype(object).where(frame.notna(), "").astype(str)
    return [
        _row(columns, cells, f"{file} row {number}")
        for number, cells in enumerate(texts.itertuples(index=False, name=None))
    ]


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of the files at a path."""
    if not is_archive(path):
        yield str(path), read_text(path)
        return
    for name, file in files_in(path, ".tsv"):
        yield f"{path}:{name}", text_in(file.read(), f"{path}:{name}")


def _rows(text: str, file: str, unread: list[str]) -> Iterator[ErrorRow]:
    """The rows of a file. unread: gets the names of columns that nothing reads."""
    lines = text.removesuffix("\n").split("\n")
    first = lines[0].rstrip("\r").split("\t")
    has_header = first[0].lower() == "system"
    columns = _named(first if has_header else [*COLUMNS, "metadata"][: len(first)], unread)
    for number, line in enumerate(lines[has_header:], 1 + has_header):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        location = f"{file} row {number}"
        if len(cells) == len(columns):
            yield _row(columns, cells, location)
        elif len(cells) == len(COLUMNS) - 1 and not cells[-1]:
            shorter = [name for name in COLUMNS if name not in ("seg_id", "rater")]
            yield _row(shorter, cells[:-1], location)
        else:
            problem = f"{plural(len(cells), 'field')}, and {len(columns)} columns"
            raise DataError(location, problem, ROW)


def _named(names: Sequence[str], unread: list[str]) -> list[str]:
    """The columns by the names used here. Raises DataError if one is missing."""
    columns = [OTHER_NAMES.get(name.strip().lower(), name.strip().lower()) for name in names]
    lacking = {"system", "rater", "category", "severity"} - {*columns}
    if lacking or not {"seg_id", "doc_id"} & {*columns}:
        problem = f"no column {min(lacking, default='seg_id')!r}"
        raise DataError("errors marked by MQM", problem, ROW)
    unread += [name for name in columns if name not in {*COLUMNS, *UNSCORED, *unread}]
    return columns


def _row(columns: Sequence[str], cells: Sequence[str], location: str) -> ErrorRow:
    row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
    texts = {name: row.get(name, "") for name in COLUMNS}
    texts["category"], texts["severity"] = (
        "/".join(map(spelled, texts[name].split("/"))) for name in ("category", "severity")
    )
    return ErrorRow(location, **texts)


# ---------------------------------------------------------------- ratings


def _draft(
    rows: Sequence[ErrorRow],
    unread: Sequence[str],
    name: str,
    file: object,
    options: Mapping[str, Any],
) -> Draft:
    """The ratings that the errors make. name: that of the file, which may say the language."""
    language = language_in(name, options, file)
    errors = [row for row in rows if row.category or row.severity]
    if not errors:
        raise DataError(file, "no errors in it", ROW)
    of_sources = all(row.in_source for row in errors)
    weights = _weights(options, of_sources)
    check_used(weights, {(row.severity, row.category) for row in errors})
    names, numbered = _source_names(errors)
    reading = Reading()
    errors, names, again = _once(errors, names)
    rated = _rated(errors, names, language, weights, reading)
    criterion = _criterion(rated, weights, of_sources)
    reading.rows = [
        (
            segment.output,
            criterion.name,
            segment.rater,
            segment.score,
            segment.reason,
            segment.comment,
        )
        for segment in rated
    ]
    reading.notes = [
        *about_language(language, options),
        *_notes(rows, errors, weights, of_sources),
        *again,
        *_about_columns(unread, numbered),
    ]
    card = Card(name, "Errors that experts marked by MQM")
    systems = human_generators(output.generator for output in reading.outputs.values())
    return replace(
        reading.draft(card, with_ranges([criterion], options), systems),
        counted_from=1 if numbered else None,
    )


def _criterion(rated: Sequence[RatedSegment], weights: Weights, of_sources: bool) -> Criterion:
    """The criterion that the scores are on, with the ends of its scale if no score exceeds them."""
    if of_sources:
        return SOURCE_ERRORS
    scores = [segment.score for segment in rated if not segment.reason]
    if weights.own or not all(map(MQM.scale.allows, scores)):
        return replace(MQM, scale=Scale("interval"))  # from 2022 on, more than five errors
    return MQM


def _once(
    errors: Sequence[ErrorRow], sources: Sequence[str]
) -> tuple[list[ErrorRow], list[str], list[str]]:
    """The rows, with their sources, without those of outputs that the rater had rated in an earlier
    file of an archive, whose errors would add up; and a note on these.
    """
    file_of: dict[tuple[str, str, str], str] = {}
    kept = []
    for row, source in zip(errors, sources, strict=True):
        file = row.location.rpartition(" row ")[0]
        if file_of.setdefault((source, row.system, row.rater), file) == file:
            kept.append((row, source))
    rows, names = [row for row, _ in kept], [source for _, source in kept]
    if len(kept) == len(errors):
        return rows, names, []
    count = plural(len(errors) - len(kept), "row")
    return rows, names, [f"{count} left out: the rater had rated the output in an earlier file"]


def _weights(options: Mapping[str, Any], of_sources: bool) -> Weights:
    """The weights to use. of_sources: whether all errors are in sources; each error then has the
    weight of its severity.
    """
    weights = weights_in(options.get("weights"))
    if not of_sources:
        return weights
    free = {name: weight for name, weight in weights.weights.items() if name not in IN_SOURCE}
    return replace(weights, weights=free)


def _rated(
    errors: Sequence[ErrorRow],
    sources: Sequence[str],
    language: str,
    weights: Weights,
    reading: Reading,
) -> list[RatedSegment]:
    """The errors by rater and output. sources: of each row; reading: gets sources, outputs and
    raters as they occur.
    """
    rated: dict[tuple[str, str], RatedSegment] = {}
    for row, source in zip(errors, sources, strict=True):
        segment = _segment(row, source, language, reading, rated)
        if not row.says_none:
            segment.mark(row, _weight(row, weights) if row.is_complete else math.nan)
    return list(rated.values())


def _source_names(errors: Sequence[ErrorRow]) -> tuple[list[str], bool]:
    """The source of each row, and whether it is named by its number in the test set: seg_id, if
    each seg_id belongs to one place in one document; otherwise DOC/DOC_ID.
    """
    places: dict[str, set[tuple[str, str]]] = {}
    for row in errors:
        places.setdefault(row.seg_id, set()).add((row.doc, row.doc_id))
    numbered = "" not in places and all(len(each) == 1 for each in places.values())
    if numbered:
        return [row.seg_id for row in errors], all(map(str.isdecimal, places))
    return ["/".join(filter(None, (row.doc, row.doc_id, row.seg_id))) for row in errors], False


def _segment(
    row: ErrorRow,
    source: str,
    language: str,
    reading: Reading,
    rated: dict[tuple[str, str], RatedSegment],
) -> RatedSegment:
    """The rating to which a row belongs; its source, output and rater are added as they occur."""
    output = f"{source}/{row.system}"
    rater = row.rater or RATER.rater
    if source not in reading.sources:
        text = TAGS.sub("", row.source)
        reading.sources[source] = Source(source, language, text, document=row.doc)
    if output not in reading.outputs:
        text = TAGS.sub("", row.target)
        reading.outputs[output] = Output(output, source, row.system, language, text)
    if rater not in reading.raters:
        named = Rater(rater, "human", RATER.group)
        reading.raters[rater] = named if row.rater else RATER
    return rated.setdefault((output, rater), RatedSegment(rater, output))


def _weight(row: ErrorRow, weights: Weights) -> float:
    weight = weights.of(row.severity, row.category)
    if weight is None:
        problem = f"no weight for the severity {row.severity!r} ({row.category})"
        remedy = f"Give it: `weights='{row.severity}=10'`. {AS_TEXT}"
        raise DataError(row.location, problem, remedy)
    return weight


def _notes(
    rows: Sequence[ErrorRow], errors: Sequence[ErrorRow], weights: Weights, of_sources: bool
) -> Iterator[str]:
    own = "as `weights` says, else " if weights.own else ""
    yield (
        f"a score is the negative sum of the weights of its errors: {own}{IN_WORDS}; `weights` "
        "changes them"
    )
    in_source = sum(row.in_source for row in errors)
    if of_sources:
        yield (
            f"all {in_source} errors are in the sources: they say nothing of the translations, and"
            f" count on the criterion {SOURCE_ERRORS.name}"
        )
    elif in_source:
        yield (
            f"{plural(in_source, 'error')} in the source: as in the releases, a source error has"
            " the weight of its severity, a source issue none"
        )
    nobody = sum(not row.rater for row in errors)
    if nobody:
        yield f"{plural(nobody, 'row')} without a rater: {RATER.rater} stands for the people"
    alike = len(errors) - len({tuple(vars(row).values())[1:] for row in errors})  # but locations
    if alike:
        yield f"{plural(alike, 'row')} equal to an earlier row: the penalty of each counts"
    left = len(rows) - len(errors)
    if left:
        yield f"{plural(left, 'row')} left out, without a category and a severity"
    half = sum(not row.is_complete for row in errors)
    if half:
        yield f"{plural(half, 'error')} without a category or a severity: no score for the output"
    times = Counter((row.location.rpartition(" row ")[0]) for row in errors)
    if len(times) > 1:
        yield f"errors of {len(times)} files: {first_few(list(times))}"


def _about_columns(unread: Sequence[str], numbered: bool) -> Iterator[str]:
    if unread:
        yield f"columns left out: {first_few(unread)}"
    if not numbered:
        yield "sources are named DOC/DOC_ID, since seg_id does not number them"


FORMAT = Format(
    "errors that experts marked by MQM, one per row (WMT; .tsv or .tar.gz)",
    read,
    frozenset({"language", "ranges", "weights"}),
    keys=marks_of("mqm-errors"),
    read_frame=read_frame,
)
