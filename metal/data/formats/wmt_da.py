"""Means of direct assessment at WMT, with a header: what several annotators gave an output.

    lp,src,mt,ref,score,raw,annotators,domain,year         DA of 2017 to 2021: score is the z-score
    lp,src,mt,ref,score,system,annotators,domain,year      DA+SQM of 2022: score is the raw score
    SYS SID RAW.SCR Z.SCR N                                scores of segments, with spaces between

The raw score goes from 0 to 100. The z-score comes from the same annotators; each annotator's
scores are standardized, and then the mean is taken. It is a criterion of its own, so that nobody
counts twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.files import read_text
from metal.data.formats import Draft, Format, Reading, csv_rows, human_generators
from metal.data.formats.appraise import DA
from metal.data.formats.mqm import about_language, language_in
from metal.data.languages import find_language
from metal.data.own_ranges import with_ranges
from metal.data.records import Criterion, Output, Rater, Scale, Source
from metal.data.text import plural
from metal.errors import DataError

Z_SCORE = Criterion("da-z", Scale("interval"), label="DA (z)", question=DA.question)
PANEL = Rater("DA", "human", "", {"panel": True})
UNKNOWN = "unknown"  # the system of an output, if the file does not tell it
OF_SEGMENTS = {"SYS": "system", "SID": "segment", "RAW.SCR": "raw", "Z.SCR": "z", "N": "annotators"}
MISSING = ("", "NA", "NaN", "nan", "None")


@dataclass(frozen=True)
class MeanScores:
    """A row: an output's scores. raw, z: NaN if there is none. segment: its name in the file, if it
    has one.
    """

    location: str
    language: str
    segment: str
    system: str
    source: str
    target: str
    reference: str
    domain: str
    raw: float
    z: float

    @property
    def key(self) -> tuple[str, ...]:
        """What is rated."""
        return self.language, self.segment or self.source, self.system, self.target


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read such a file. The option `language` is for files that name no language pair in their
    rows or names.
    """
    text, language = read_text(path), ""
    if "," not in text.partition("\n")[0]:  # without a column for the language
        language = language_in(f"_{path.name.rpartition('-scores-')[2]}", options, path)
    rows = list(_rows(text, path, language))
    if not rows:
        raise DataError(path, "no scores in it", "A row has an output and its scores")
    reading = Reading(raters={PANEL.rater: PANEL})
    rated: dict[tuple[str, ...], str] = {}
    numbers: dict[tuple[str, str], str] = {}
    repeated = 0
    for row in rows:
        if row.key in rated:
            repeated += 1
            continue
        rated[row.key] = output = _output(row, numbers, reading)
        scores = ((DA, row.raw), (Z_SCORE, row.z))
        reading.rows += [
            (output, criterion.name, PANEL.rater, score, "", "")
            for criterion, score in scores
            if not math.isnan(score)
        ]
    used = {criterion for _, criterion, *_ in reading.rows}
    criteria = [criterion for criterion in (DA, Z_SCORE) if criterion.name in used]
    reading.notes = [*(about_language(language, options) if language else ())]
    reading.notes += _notes(rows, repeated, criteria)
    systems = human_generators(output.generator for output in reading.outputs.values())
    card = Card(path.name.partition(".")[0])
    return reading.draft(card, with_ranges(criteria, options), systems)


def _rows(text: str, path: Path, language: str) -> Iterator[MeanScores]:
    """The rows of a file. language: that of all rows; empty if each row names its own."""
    rows = csv_rows(text, path)
    if language:
        rows = ((number, line.split()) for number, line in enumerate(text.split("\n"), 1))
    _, names = next(rows, (1, []))
    columns = [OF_SEGMENTS.get(name, name) for name in names]
    for number, row in rows:
        if not row:
            continue
        location = f"{path} row {number}"
        if len(row) != len(columns):
            problem = f"{plural(len(row), 'field')} where the header names {len(columns)}"
            raise DataError(location, problem, f"The columns are {' '.join(names)}")
        yield _mean(dict(zip(columns, row, strict=True)), location, language)


def _mean(cells: Mapping[str, str], location: str, language: str) -> MeanScores:
    pair = language or find_language(cells.get("lp", ""))
    if not pair:
        problem = f"lp {cells.get('lp', '')!r} is not a language pair"
        raise DataError(location, problem, "Write a pair such as en-de")
    raw, z = cells.get("raw"), cells.get("z", cells.get("score"))
    if "score" in cells and raw is None:  # DA+SQM has no z-scores
        raw, z = cells["score"], None
    return MeanScores(
        location,
        pair,
        cells.get("segment", ""),
        cells.get("system", UNKNOWN),
        cells.get("src", ""),
        cells.get("mt", ""),
        cells.get("ref", ""),
        cells.get("domain", ""),
        _number(raw, location, DA),
        _number(z, location, Z_SCORE),
    )


def _number(text: str | None, location: str, criterion: Criterion) -> float:
    if text is None or text.strip() in MISSING:
        return math.nan
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not criterion.scale.allows(score):
        expected = criterion.scale.describe()
        raise DataError(location, f"{criterion.title} {text!r}", f"It is {expected}, or empty")
    return score


def _output(row: MeanScores, numbers: dict[tuple[str, str], str], reading: Reading) -> str:
    """The output of a row, added with its source. numbers: {(language, text): source}."""
    own = (row.language, row.segment or row.source)
    source = numbers.setdefault(own, f"{row.language}/{row.segment or len(numbers) + 1}")
    if source not in reading.sources:
        references = (row.reference,) if row.reference else ()
        reading.sources[source] = Source(
            source, row.language, row.source, references=references, domain=row.domain
        )
    output, copies = f"{source}/{row.system}", 1
    while output in reading.outputs:
        copies += 1
        output = f"{source}/{row.system}/{copies}"
    reading.outputs[output] = Output(output, source, row.system, row.language, row.target)
    return output


def _notes(
    rows: Sequence[MeanScores], repeated: int, criteria: Sequence[Criterion]
) -> Iterator[str]:
    yield f"the file has only the means of the annotators; rater {PANEL.rater} stands for them"
    if len(criteria) > 1:
        yield f"{Z_SCORE.name}: the same annotators' scores, standardized"
    if all(row.system == UNKNOWN for row in rows):
        yield f"no column names the systems: the generator of all outputs is {UNKNOWN!r}"
    if repeated:
        yield f"{plural(repeated, 'row')} left out: the same output as in an earlier row"


FORMAT = Format(
    "means of WMT's direct assessment (DA, DA+SQM), raw and as z-scores",
    read,
    frozenset({"language", "ranges"}),
    (("*.csv", ("SYS", "SID", "RAW.SCR", "Z.SCR")),),
    keys=(frozenset({"lp", "src", "mt", "score", "annotators"}),),
)
