"""The rating form as one HTML file for each person. It works offline, saves every answer, and
downloads the answers as a file.

The answers file is JSON: {"metal": "answers", "version": 1, "dataset", "rater", "answers":
[{"task", "scores": {criterion: "2"}, "comment", "seconds"}]}. The answers file has every task of
the person, with blanks for missing answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from metal.building.forms.rating_page import question_of, rating_page
from metal.building.tasks import Answer, Assignment
from metal.data.files import json_in
from metal.data.records import Criterion
from metal.errors import DataError

ANSWERS = "answers"
VERSION = 1
_REMEDY = "Give the file that the form's Download button saved, unchanged"

# names that Windows keeps for devices
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """(file name, HTML) of one self-contained page per person. The file is RATER.html, with a
    number if names would collide.
    """
    taken: set[str] = set()
    for assignment in assignments:
        stem = file_stem(assignment.rater, taken)
        questions = list(map(question_of, assignment.rubrics.values()))
        yield f"{stem}.html", rating_page(assignment, questions, f"{stem}.answers.json").encode()


def file_stem(rater: str, taken: set[str]) -> str:
    """The rater's name as a file name that is valid on any system and differs from all in `taken`,
    even if case is ignored.
    """
    stem = re.sub(r"[^\w.-]+", "-", rater)[:60].strip("-.") or "rater"
    if _RESERVED.match(stem):
        stem = f"rater-{stem}"
    free, number = stem, 1
    while free.casefold() in taken:
        number += 1
        free = f"{stem}-{number}"
    taken.add(free.casefold())
    return free


# ---------------------------------------------------------------- what comes back


def recognises(name: str, content: bytes) -> bool:
    """Whether this is JSON other than a list. `read` checks whether it is an answers file."""
    return name.lower().endswith(".json") and not json_list(content)


def json_list(content: bytes) -> bool:
    """Whether the content is a JSON list."""
    try:
        return isinstance(json_in(content, "", ""), list)
    except DataError:
        return False


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """Read the answers in a file that the form saved: one for every task of the person, even a
    blank one.

    Raises DataError, which names the file and the position, for any other file. Tasks and scores
    are not checked against `criteria`: metal.building.answers does that for all forms.
    """
    saved = json_in(content, name, _REMEDY)
    if not isinstance(saved, dict) or saved.get("metal") != ANSWERS:
        raise DataError(name, "not an answers file of a METAL form", _REMEDY)
    if saved.get("version") != VERSION or isinstance(saved["version"], bool):
        raise DataError(
            name,
            f"version {saved.get('version')!r} of answer files",
            f"This METAL reads {VERSION}",
        )
    rater, answers = saved.get("rater"), saved.get("answers")
    if not isinstance(rater, str) or not rater.strip():
        raise DataError(name, '"rater" is not a name', _REMEDY)
    if not isinstance(answers, list):
        raise DataError(name, '"answers" is not a list', _REMEDY)
    return [
        _answer(f"{name} answer {number}", entry, rater) for number, entry in enumerate(answers, 1)
    ]


def _answer(location: str, entry: Any, rater: str) -> Answer:
    """Check the types of one entry of `answers`, and return it as an answer."""
    if not isinstance(entry, dict):
        raise DataError(location, "not an object", _REMEDY)
    task, scores, comment = entry.get("task"), entry.get("scores"), entry.get("comment", "")
    if not isinstance(task, str) or not task.strip():
        raise DataError(location, '"task" is not the id of a task', _REMEDY)
    if not isinstance(scores, dict) or not all(isinstance(score, str) for score in scores.values()):
        raise DataError(
            location, '"scores" is not an object of texts', 'It should be {"CRITERION": "2", ...}'
        )
    if not isinstance(comment, str):
        raise DataError(location, '"comment" is not a text', 'Write "comment": "..."')
    return Answer(task, rater, scores, comment, location, _seconds(location, entry.get("seconds")))


def _seconds(location: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise DataError(
            location, f'"seconds" is {value!r}', "It should be a number from 0 up, or null"
        )
    return float(value)
