"""Ratings as Appraise exports them for WMT, without names of columns: error span annotation (ESA)
and direct assessment (DA, DA+SQM). Names that somebody added as a first line are skipped.

    annotator,system,item,type,source language,target language,score
              [,document,whole document[,errors]],start,end

type is TGT for a system's output. Others are controls: BAD is an output damaged on purpose, REF a
reference, CHK an output shown again. Tutorials are outputs of systems named so. Documents that end
with #dup or #incomplete fill up an annotator's share and are ordinary ratings.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.formats import Draft, Format, Reading, human_generators
from metal.data.formats.rows import numbered_rows
from metal.data.languages import find_language
from metal.data.records import Criterion, Output, Rater, Scale, Source
from metal.data.text import first_few, plural
from metal.errors import DataError

TYPES = {
    "TGT": "outputs of systems",
    "BAD": "outputs damaged on purpose",
    "REF": "references as a control",
    "CHK": "outputs shown again",
}
FEWEST, MOST = 7, 14  # columns
WHOLE = ("True", "False")
HUNDRED = Scale("interval", (), 0.0, 100.0)
ESA = Criterion("esa", HUNDRED, label="ESA", question="How good is the translation?")
DA = Criterion("da", HUNDRED, label="DA", question="How good is the translation?")
ROW = (
    "A row is annotator,system,item,type,srclang,tgtlang,score[,document,whole[,errors]],start,end"
)
DOMAIN = re.compile(r"test-[a-z]{2,3}-([a-z]+)[_.]")


@dataclass(frozen=True)
class AppraiseRow:
    """A row. document: without its #ending; errors: JSON as it stands; start: when the annotator
    began.
    """

    annotator: str
    system: str
    item: str
    type: str
    language: str
    score: float
    document: str
    ending: str
    whole: bool
    errors: str
    start: float

    @property
    def left_out(self) -> str:
        """Why it is no rating of an output; empty if it is."""
        if "tutorial" in f"{self.system} {self.document}":
            return "of the tutorial"
        if self.type != "TGT":
            return f"of {TYPES[self.type]} ({self.type})"
        return "of whole documents" if self.whole else ""


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read an export. Raises DataError for the first row that is none."""
    numbered = numbered_rows(path)
    header = [cells for _, cells in numbered[:1] if _are_names(cells)]
    rows = [_row(cells, f"{path} row {number}") for number, cells in numbered[len(header) :]]
    kept = [row for row in rows if not row.left_out]
    with_errors = any(row.errors for row in rows)
    criterion = ESA if with_errors else DA
    by_document = _items_need_documents(kept)
    reading = Reading()
    rated: dict[tuple[str, str], AppraiseRow] = {}
    repeated = Counter[str]()
    for row in sorted(kept, key=lambda row: row.start):
        output = _output(row, by_document, reading)
        first = rated.setdefault((output, row.annotator), row)
        if first is not row:
            repeated["the same" if first == row else "another"] += 1
            continue
        reading.raters.setdefault(row.annotator, Rater(row.annotator, "human"))
        rating = (output, criterion.name, row.annotator, row.score, "", row.errors)
        reading.rows.append(rating)
    if header:
        names = first_few(header[0], 4)
        reading.notes.append(
            f"columns read in Appraise's order; the names in row 1 ({names}) are not used"
        )
    reading.notes += _notes(rows, kept, repeated, criterion, by_document)
    systems = human_generators(output.generator for output in reading.outputs.values())
    return reading.draft(Card(path.name.partition(".")[0]), [criterion], systems)


def _are_names(cells: Sequence[str]) -> bool:
    """Whether the first row names columns: there is neither a type nor a number in it."""
    if not TYPES.keys().isdisjoint(cells):
        return False
    for cell in cells:
        with suppress(ValueError):
            float(cell)
            return False
    return True


def _is_dated_row(cells: Sequence[str]) -> bool:
    """Whether these are the cells of a row that says when the annotator began."""
    if len(cells) < FEWEST:
        return False
    try:
        return _row(cells, "").start > 0
    except DataError:
        return False


def _row(cells: Sequence[str], location: str) -> AppraiseRow:
    if not FEWEST <= len(cells) <= MOST or cells[3] not in TYPES:
        raise DataError(location, f"{plural(len(cells), 'field')}: {first_few(cells, 4)}", ROW)
    language = find_language(f"{cells[4]}-{cells[5]}")
    if language is None:
        problem = f"no language pair: {cells[4]!r}, {cells[5]!r}"
        raise DataError(location, problem, "Write ISO 639-3 codes, such as eng and deu")
    has_document = len(cells) > 8 and cells[8] in WHOLE
    document, _, ending = cells[7].partition("#") if has_document else ("", "", "")
    errors = cells[9] if has_document and len(cells) > 11 else ""
    if errors:
        _check_errors(errors, location)
    after = cells[7 + 2 * has_document + (has_document and len(cells) > 11) :]
    annotator, system, item, type = cells[:4]
    return AppraiseRow(
        annotator,
        system,
        item,
        type,
        language,
        _score(cells[6], location),
        document,
        ending,
        has_document and cells[8] == "True",
        errors,
        _seconds(after),
    )


def _check_errors(text: str, location: str) -> None:
    try:
        errors = json.loads(text)
    except (ValueError, RecursionError):
        errors = None
    if not isinstance(errors, list) or not all(isinstance(error, dict) for error in errors):
        problem = f"{text[:40]!r} is not a list of errors"
        raise DataError(
            location, problem, 'Write [{"start_i": 0, "end_i": 5, "severity": "minor"}]'
        )


def _score(text: str, location: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not HUNDRED.allows(score):
        raise DataError(location, f"score {text!r}", "It is a number from 0 to 100")
    return score


def _seconds(cells: Sequence[str]) -> float:
    """When the annotator began; 0 if the row does not say it."""
    try:
        seconds = float(cells[0])
    except (ValueError, IndexError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _items_need_documents(rows: Sequence[AppraiseRow]) -> bool:
    """Whether a number of an item stands for segments of several documents."""
    documents: dict[tuple[str, str], str] = {}
    return any(
        documents.setdefault((row.language, row.item), row.document) != row.document for row in rows
    )


def _output(row: AppraiseRow, by_document: bool, reading: Reading) -> str:
    """The output of a row; it and its source are added when they occur first."""
    document = f"{row.document}/" if by_document else ""
    source = f"{row.language}/{document}{row.item}"
    output = f"{source}/{row.system}"
    if output not in reading.outputs:
        domain = DOMAIN.match(row.document)
        reading.sources[source] = Source(
            source, row.language, document=row.document, domain=domain[1] if domain else ""
        )
        reading.outputs[output] = Output(output, source, row.system, row.language)
    return output


def _notes(
    rows: Sequence[AppraiseRow],
    kept: Sequence[AppraiseRow],
    repeated: Counter[str],
    criterion: Criterion,
    by_document: bool,
) -> Iterator[str]:
    what = "error span annotation" if criterion is ESA else "direct assessment"
    yield f"ratings of {what} by Appraise, from 0 to 100; the errors are the comments"
    for reason, count in Counter(row.left_out for row in rows if row.left_out).items():
        yield f"{plural(count, 'row')} left out: {reason}"
    endings = Counter(row.ending for row in kept if row.ending)
    if endings:
        each = ", ".join(f"{count:,} of #{ending}" for ending, count in endings.items())
        yield f"ratings of documents that only fill up an annotator's share count, too: {each}"
    if repeated["the same"]:
        yield f"{plural(repeated['the same'], 'row')} left out: the same as an earlier one"
    if repeated["another"]:
        yield (
            f"{plural(repeated['another'], 'row')} left out: the annotator had rated the output"
            " before; the first rating counts"
        )
    if by_document:
        yield (
            "sources are named LANGUAGES/DOCUMENT/ITEM, because item numbers repeat across"
            " documents"
        )


FORMAT = Format(
    "WMT's ratings as Appraise exports them: ESA and DA (CSV, TSV, XLSX)",
    read,
    keys=tuple(frozenset({type, mark}) for type in TYPES for mark in (*WHOLE, "[0-9]*.[0-9]*")),
    is_row=_is_dated_row,
)
