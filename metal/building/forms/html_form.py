"""The rating form as one HTML file for each person. It works offline, saves every answer, and
downloads the answers as a file.

The answers file is JSON: {"metal": "answers", "version": 1, "dataset", "rater", "answers":
[{"task", "scores": {criterion: "2"}, "comment", "seconds"}]}. The answers file has every task of
the person, with blanks for missing answers.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from metal.building.forms.frame import NO_LANGUAGE, read_in_english, translation
from metal.building.forms.sheet import sides
from metal.building.tasks import Answer, Assignment
from metal.data.escaping import environment, policy, source
from metal.data.files import json_in
from metal.data.languages import language_name, name_in, text_direction
from metal.data.records import Criterion
from metal.data.text import HARMFUL, printable
from metal.errors import DataError
from metal.raters.judges.rubric import Rubric

ANSWERS = "answers"
VERSION = 1
BRIEF = 12  # characters of a label, up to which levels without definitions are side by side
MOST_KEYS = 10  # levels that the digit keys can tell apart
_REMEDY = "Give the file that the form's Download button saved, unchanged"

_UNSAFE_IN_SCRIPT = re.compile(f"[<>&\u2028\u2029{HARMFUL}]")
# names that Windows keeps for devices
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """(file name, HTML) of one self-contained page per person. The file is RATER.html, with a
    number if names would collide.
    """
    templates = environment("metal.building.forms", _harmless)
    style, script = (
        source(templates, "form.css"),
        source(templates, "answers.js") + source(templates, "form.js"),
    )
    ours = {
        "style": Markup(style),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "policy": policy(style, script),
    }
    template = templates.get_template("form.html")
    taken: set[str] = set()
    for assignment in assignments:
        stem = file_stem(assignment.rater, taken)
        questions = list(map(_question, assignment.rubrics.values()))
        page = template.render(
            ours,
            assignment=assignment,
            frame=assignment.frame,
            direction=text_direction(assignment.frame.language),
            t=partial(translation, assignment.frame),
            in_english=language_name(read_in_english(assignment)),
            language=""
            if assignment.language in NO_LANGUAGE
            else name_in(assignment.language, assignment.frame.language),
            questions=questions,
            template=assignment.template,
            file=f"{stem}.answers.json",
            data=_in_script(_data(assignment, questions, f"{stem}.answers.json")),
        )
        yield f"{stem}.html", page.encode()


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


def _question(rubric: Rubric) -> dict[str, Any]:
    """A criterion in the form that the page needs: its levels with keys and texts, or the ends of
    its range.
    """
    criterion = rubric.criterion
    scale = criterion.scale
    values = list(map(_number, scale.values))
    keys = _keys(values)
    levels = []
    for value, key, level in zip(values, keys, scale.levels, strict=True):
        text = rubric.levels.get(level.value)
        definition, reasons = (text.definition, text.reasons) if text else ("", ())
        levels.append(
            {
                "value": value,
                "key": key,
                "label": level.label,
                "definition": definition,
                "reasons": list(reasons),
            }
        )
    low, high = (None if end is None else _number(end) for end in (scale.low, scale.high))
    return {
        "name": criterion.name,
        "label": criterion.label or criterion.name.replace("_", " ").capitalize(),
        "question": criterion.question,
        "simple": rubric.simple if rubric.simple != criterion.question else "",
        "detailed": rubric.detailed,
        "levels": levels,
        "brief": not any(level["definition"] or len(level["label"]) > BRIEF for level in levels),
        "reasons": any(level["reasons"] for level in levels),
        "low": low,
        "high": high,
        "optional": rubric.optional,
    }


def _number(value: float) -> str:
    """The shortest text that reads as this number: `2`, `0.5`."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _keys(values: list[str]) -> list[str]:
    """The digit key that chooses each level: its value if all values are digits, else its position.
    There are no keys if there are many levels.
    """
    if all(re.fullmatch("[0-9]", value) for value in values):
        return values
    if len(values) > MOST_KEYS - 1:
        return [""] * len(values)
    return list(map(str, range(1, len(values) + 1)))


def _data(assignment: Assignment, questions: list[dict[str, Any]], file: str) -> dict[str, Any]:
    """The data for the page's script. Names stay unchanged, because the answers file contains them;
    texts are made harmless.
    """
    names = "\0".join(task.task for task in assignment.tasks)
    asked = [
        {
            "name": question["name"],
            "values": [level["value"] for level in question["levels"]],
            "keys": [level["key"] for level in question["levels"]],
            "low": question["low"],
            "high": question["high"],
            "optional": question["optional"],
        }
        for question in questions
    ]
    return {
        "dataset": assignment.dataset,
        "rater": assignment.rater,
        "digest": hashlib.blake2b(names.encode("utf-8", "replace"), digest_size=8).hexdigest(),
        "file": file,
        "words": dict(assignment.frame.texts),
        "locale": "en-GB" if assignment.frame.language == "en" else assignment.frame.language,
        "criteria": asked,
        "texts": list(assignment.template.texts),
        "languages": {task.language: _sides(task.language) for task in assignment.tasks},
        "tasks": [
            {
                "task": task.task,
                "language": task.language,
                "title": printable(task.title),
                "source": printable(task.source),
            }
            | {name: printable(text) for name, text in task.texts(assignment.template).items()}
            for task in assignment.tasks
        ],
    }


def _sides(language: str) -> dict[str, dict[str, str]]:
    """The attributes `lang` and `dir` of source and output. For a pair such as `zh-en`, the two
    differ.
    """
    named = zip(("source", "output"), sides(language), strict=True)
    return {side: {"lang": code, "dir": direction} for side, (code, direction) in named}


# ---------------------------------------------------------------- harmless in a page


def _harmless(value: Any) -> Any:
    """Make any value that the template writes harmless; our own markup stays unchanged."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _in_script(value: Any) -> Markup:
    """JSON for a script element. No character in it can end the element or change the direction of
    text.
    """
    text = json.dumps(value, ensure_ascii=False)
    return Markup(_UNSAFE_IN_SCRIPT.sub(lambda char: f"\\u{ord(char[0]):04x}", text))  # noqa: S704


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
