"""Forms that people fill in, one file a kind. Bytes in and out: nothing here opens a file.

A form has `write(sheets) -> Iterator[(file name, content)]`, which gives the files to hand out, guidelines included,
and `read(name, content, criteria) -> list[Answer]`, which takes a file that came back: scores as they stand there,
to be checked by metal.building.answers. To add a form, write its file and add its line to FORMS.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from metal.building.forms import crowd_csv
from metal.building.forms.csv_sheet import csv_rows
from metal.building.forms.rows import filled_rows, listed, unguarded
from metal.building.tasks import Answer, Sheet
from metal.data.records import Criterion
from metal.errors import DataError


@dataclass(frozen=True)
class Form:
    """A kind of form: its name on the command line, its module, what it gives."""

    name: str
    module: str
    summary: str


FORMS = (
    Form("html", "html_form", "one page a person, works offline; answers are saved as a file"),
    Form("csv", "csv_sheet", "one CSV file a person, with guidelines beside"),
    Form("xlsx", "xlsx_sheet", "one workbook a person, with drop-down lists and guidelines"),
    Form("label-studio", "label_studio", "tasks and labelling interface for Label Studio"),
    Form("mturk", "mturk", "input CSV and page layout for Mechanical Turk"),
    Form("crowd-csv", "crowd_csv", "a CSV of tasks for Prolific or a platform of your own"),
)


def write(form: str, sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """The files to hand out, in a form of that name."""
    files: Iterator[tuple[str, bytes]] = _module(form).write(sheets)
    return files


def read_all(
    files: Iterable[tuple[str, bytes]], criteria: Mapping[str, Criterion], platform: str = ""
) -> tuple[list[Answer], list[str]]:
    """The answers in all files that came back, (name, content) each, with notes on what was left out.

    Prolific's export of participants may be among them: it says whose answers count. platform: see `read`.
    """
    answers: list[Answer] = []
    notes: list[str] = []
    people: dict[str, crowd_csv.Participant] = {}
    for name, content in files:
        if crowd_csv.is_participants(_columns(name, content)):
            people |= crowd_csv.read_participants(name, content)
            continue
        found, said = read(name, content, criteria, platform)
        answers += found
        notes += said
    if people:
        answers, said = crowd_csv.of_participants(answers, people)
        notes += said
    return answers, notes


def read(
    name: str, content: bytes, criteria: Mapping[str, Criterion], platform: str = ""
) -> tuple[list[Answer], list[str]]:
    """The answers in a file that came back, whatever its form, and notes on what was left out of it.

    platform: whose people answered in a CSV of no form of ours; they are called `PLATFORM:ID`.
    Raises DataError for a file that is none of a known form.
    """
    form = form_of(name, content)
    if form == "crowd-csv" or (form == "csv" and platform):
        unused = crowd_csv.ignored(name, content, criteria)
        said = [f"{name}: columns left alone: {listed(unused)}"] if unused else []
        return crowd_csv.read(name, content, criteria, platform), said
    module = _module(form)
    answers: list[Answer] = module.read(name, content, criteria)
    notes = []
    if form == "mturk" and (count := module.rejected(name, content)):
        notes.append(f"{name}: {count:,} rejected assignments left out")
    if form == "label-studio" and (count := module.skipped(name, content)):
        notes.append(f"{name}: {count:,} tasks were skipped")
    return answers, notes


def form_of(name: str, content: bytes) -> str:
    """Which form a file is of, told from its ending and its content."""
    ending = name.rpartition(".")[2].lower()
    if ending == "xlsx":
        return "xlsx"
    if ending == "json":
        try:
            return "label-studio" if isinstance(json.loads(content.decode("utf-8-sig")), list) else "html"
        except (ValueError, RecursionError):
            return "html"  # whose reader says what is wrong
    if ending in ("csv", "tsv", "txt"):
        head = content[:4096].replace(b"\0", b"")
        if b"AssignmentId" in head and b"WorkerId" in head:
            return "mturk"
        return "crowd-csv" if crowd_csv.is_answers(_columns(name, content)) else "csv"
    if ending in ("html", "htm"):
        raise DataError(name, "this is the form, not the answers", "Ask for the file that its Download button saves")
    raise DataError(name, f"not a file that people send back ({ending or 'no ending'})", "It is .json, .csv or .xlsx")


def _columns(name: str, content: bytes) -> list[str]:
    """The first row of a CSV that is not blank; of another file none."""
    if name.rpartition(".")[2].lower() not in ("csv", "tsv", "txt"):
        return []
    filled = filled_rows(csv_rows(name, content))
    return [unguarded(cell) for cell in filled[0][1]] if filled else []


def _module(form: str) -> Any:
    return import_module(f"metal.building.forms.{next(one.module for one in FORMS if one.name == form)}")
