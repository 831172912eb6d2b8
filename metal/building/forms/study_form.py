"""Tasks for a study on a server: `metal study new` takes the folder of these files, and people
answer in their browsers.

A file is JSON: {"metal": "study", "version": 1, "rater", "language", "form", "tasks"}. `form` is
what people are asked (see `form_content`); a task is a record of metal.building.tasks.Task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from metal.building.forms.html_form import file_stem
from metal.building.forms.rating_page import number_text, question_of
from metal.building.tasks import Answer, Assignment
from metal.data.files import json_in
from metal.data.records import Criterion
from metal.errors import DataError

STUDY, VERSION, ENDING = "study", 1, ".study.json"
_REMEDY = "Give the folder that `to=study` wrote, unchanged"


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """RATER.study.json for each person."""
    taken: set[str] = set()
    for assignment in assignments:
        content = {
            "metal": STUDY,
            "version": VERSION,
            "rater": assignment.rater,
            "language": assignment.language,
            "form": form_content(assignment),
            "tasks": list(map(asdict, assignment.tasks)),
        }
        name = f"{file_stem(assignment.rater, taken)}{ENDING}"
        yield name, json.dumps(content, ensure_ascii=False, indent=1).encode()


def recognises(name: str, content: bytes) -> bool:
    """Never: such a file is not filled in; the server brings the answers."""
    return False


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """Never called, because no file is recognized."""
    raise DataError(
        name, "tasks of a study, not answers", "Open them with `metal study new FOLDER`"
    )


def form_content(assignment: Assignment) -> dict[str, Any]:
    """What people are asked, as plain values: the questions, the template, the form's words, and
    what says whether an answer to a test question is right.
    """
    template = assignment.template
    return {
        "dataset": assignment.dataset,
        "language": assignment.language,
        "questions": list(map(question_of, assignment.rubrics.values())),
        "shares": {name: _shares(rubric.criterion) for name, rubric in assignment.rubrics.items()},
        "template": {
            "name": template.name,
            "reference": template.reference,
            "instructions": template.instructions,
            "headings": dict(template.headings),
            "opinions": template.opinions,
        },
        "frame": {
            "language": assignment.frame.language,
            "reviewed": assignment.frame.reviewed,
            "texts": dict(assignment.frame.texts),
        },
    }


def _shares(criterion: Criterion) -> dict[str, Any]:
    """Where each level, or both ends of a range, are between the worst (0) and the best (1); empty
    if nothing can be right or wrong.
    """
    scale = criterion.scale
    if scale.ends is None:
        return {}
    values = np.array(scale.values or scale.ends, dtype=np.float64)
    shares = criterion.share(values).tolist()
    texts = map(number_text, values.tolist())
    return {"of_source": criterion.of_source, "at": dict(zip(texts, shares, strict=True))}


def tasks_in(name: str, content: bytes) -> dict[str, Any]:
    """The content of a file that `write` wrote. Raises DataError for any other."""
    tasks = json_in(content, name, _REMEDY)
    if not isinstance(tasks, dict) or (tasks.get("metal"), tasks.get("version")) != (
        STUDY,
        VERSION,
    ):
        raise DataError(name, "not the tasks of a study", _REMEDY)
    parts = {"rater": str, "language": str, "form": dict, "tasks": list}
    for part, kind in parts.items():
        if not isinstance(tasks.get(part), kind):
            raise DataError(name, f"{part!r} is missing or of another type", _REMEDY)
    return tasks
