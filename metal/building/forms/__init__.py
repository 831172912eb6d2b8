"""Forms that people fill in, one module for each kind. They take and return bytes and never open a
file.

A form is an entry point of the group `metal.forms` that names a module with these functions:

    write(assignments) -> Iterator[(file name, content)]   the files to hand out, guidelines included
    recognises(name, content) -> bool                      whether a file that came back is of this form
    read(name, content, criteria) -> list[Answer]          its answers; scores as they are written there, unchecked
    notes(name, content, criteria) -> list[str]            optional: what `read` leaves out of the file
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from metal.building.forms import crowd_csv
from metal.building.forms.sheet import header_of
from metal.building.tasks import Answer, Assignment
from metal.data.plugins import load_plugin, plugins
from metal.data.records import Criterion
from metal.errors import DataError, check_known

GROUP = "metal.forms"


def check_form(name: str) -> None:
    """Raise UnknownName for a form that does not exist."""
    check_known("form", [name], plugins(GROUP))


def write(form: str, assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """The files to hand out, in the form of that name. Raises UnknownName."""
    files: Iterator[tuple[str, bytes]] = _module(form).write(assignments)
    return files


def read_all(
    files: Iterable[tuple[str, bytes]], criteria: Mapping[str, Criterion], platform: str = ""
) -> tuple[list[Answer], list[str]]:
    """Read the answers in all returned files, (name, content) each; also return notes on what was
    left out.

    Prolific's export of participants may be among the files; it says whose answers count. platform:
    see `read`.
    """
    answers: list[Answer] = []
    notes: list[str] = []
    participants: dict[str, crowd_csv.Participant] = {}
    for name, content in files:
        if crowd_csv.is_participants(header_of(name, content)):
            participants |= crowd_csv.read_participants(name, content)
            continue
        answers_of_file, notes_of_file = read(name, content, criteria, platform)
        answers += answers_of_file
        notes += notes_of_file
    if participants:
        answers, more_notes = crowd_csv.of_participants(answers, participants)
        notes += more_notes
    return answers, notes


def read(
    name: str, content: bytes, criteria: Mapping[str, Criterion], platform: str = ""
) -> tuple[list[Answer], list[str]]:
    """Read the answers in a returned file of any form; also return notes on what was left out.

    platform: the platform on which people answered, for a CSV that is not one of our forms. Its
    raters are called `PLATFORM:ID`. Raises DataError for a file that is in no known form.
    """
    form = form_of(name, content)
    if form == "csv" and platform:
        form = "crowd-csv"
    module = _module(form)
    named = {"platform": platform} if form == "crowd-csv" else {}
    answers: list[Answer] = module.read(name, content, criteria, **named)
    notes: list[str] = module.notes(name, content, criteria) if hasattr(module, "notes") else []
    return answers, notes


def form_of(name: str, content: bytes) -> str:
    """Find the form of a file by its ending and content. Forms of plug-ins are tried before METAL's
    own.
    """
    ending = name.rpartition(".")[2].lower()
    for form in reversed(plugins(GROUP)):
        if _module(form).recognises(name, content):
            return form
    if ending in ("html", "htm"):
        raise DataError(
            name,
            "this is the form, not the answers",
            "Ask for the file that its Download button saves",
        )
    raise DataError(
        name,
        f"not a file that people send back ({ending or 'no ending'})",
        "It is .json, .csv or .xlsx",
    )


def _module(form: str) -> Any:
    return load_plugin(GROUP, "form", form)
