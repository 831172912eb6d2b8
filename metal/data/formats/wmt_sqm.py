"""Scalar quality metric (SQM) of WMT 2020: experts (pSQM) and the crowd (cSQM) score segments from
0 to 6.

    system doc doc_id seg_id rater source target score

separated by tabs, with or without this header. The file's name says the language pair (`ende`) and
whose scores they are (`psqm_`, `csqm_`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metal.data.dataset import Card
from metal.data.files import read_text
from metal.data.formats import Draft, Format, Reading, human_generators
from metal.data.formats.mqm import about_language, language_in
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.data.text import plural
from metal.errors import DataError

COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "score")
SQM = Criterion(
    "sqm",
    Scale("ordinal", tuple(Level(float(value), str(value)) for value in range(7))),
    label="SQM",
    question="How good is the translation?",
)
ROW = f"Each row is {' '.join(COLUMNS)}, separated by tabs"
GROUPS = {"p": "expert", "c": "crowd"}


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file. The option `language` is for one whose name has no language pair."""
    language = language_in(path.name, options, path)
    group = GROUPS.get(path.name[0].lower(), "") if "sqm_" in path.name.lower()[:5] else ""
    reading = Reading()
    repeated = 0
    rated = set[tuple[str, str]]()
    for row, location in _rows(path):
        source, rater = row["seg_id"], row["rater"]
        output = f"{source}/{row['system']}"
        if (output, rater) in rated:
            repeated += 1
            continue
        rated.add((output, rater))
        reading.sources.setdefault(
            source, Source(source, language, row["source"], document=row["doc"])
        )
        reading.outputs.setdefault(
            output, Output(output, source, row["system"], language, row["target"])
        )
        reading.raters.setdefault(rater, Rater(rater, "human", group))
        reading.rows.append((output, SQM.name, rater, _score(row["score"], location), "", ""))
    reading.notes += about_language(language, options)
    if repeated:
        reading.notes.append(f"{plural(repeated, 'row')} left out: the rater had scored the output")
    systems = human_generators(output.generator for output in reading.outputs.values())
    card = Card(path.name.partition(".")[0], "Scores of translations from 0 to 6 (SQM)")
    numbered = all(map(str.isdecimal, reading.sources))
    return replace(reading.draft(card, [SQM], systems), counted_from=1 if numbered else None)


def _rows(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """The rows by column, each with its place in the file."""
    lines = read_text(path).split("\n")
    names = lines[0].rstrip("\r").lower().split("\t")
    has_header = names[0] == "system"
    columns = names if has_header else list(COLUMNS)
    lacking = [name for name in COLUMNS if name not in columns]
    if lacking:
        raise DataError(f"{path} row 1", f"no column {lacking[0]!r}", ROW)
    for number, line in enumerate(lines[has_header:], 1 + has_header):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        if len(cells) != len(columns):
            problem = f"{plural(len(cells), 'field')}, and {len(columns)} columns"
            raise DataError(f"{path} row {number}", problem, ROW)
        yield dict(zip(columns, cells, strict=True)), f"{path} row {number}"


def _score(text: str, location: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = -1.0
    if not SQM.scale.allows(score):
        raise DataError(location, f"score {text!r}", f"SQM has the levels {SQM.scale.describe()}")
    return score


FORMAT = Format(
    "SQM of WMT 2020: scores from 0 to 6 by experts (pSQM) or the crowd (cSQM)",
    read,
    frozenset({"language"}),
    (("[pc]sqm_*.tsv", ()),),
)
