"""annotation/ in a dataset folder: who was given which tasks, and all that came back.

key              a secret that ids of tasks are made with; never given to people
tasks.jsonl      task, output: what an id in a form stands for; never given to people
given.jsonl      rater, language, form, seed, criteria, tasks: a line a sheet that was handed out
answers.jsonl    every answer that was imported, as it was given, with its file and the seconds it took
ambiguous.csv    what people do not agree on at all
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metal.build.answers import Given
from metal.build.tasks import Answer, Sheet
from metal.errors import DataError
from metal.folders import new_file
from metal.json_files import read_jsonl, whole_text, write_jsonl

FOLDER = "annotation"
KEY = "key"
TASKS, GIVEN, ANSWERS, AMBIGUOUS = "tasks.jsonl", "given.jsonl", "answers.jsonl", "ambiguous.csv"
MTURK = "mturk"  # its workers name themselves; nobody is waited for under the names that sheets have


def task_key(dataset: Path) -> str:
    """The dataset's key for ids of tasks; before the first export a new one, which `note_given` keeps."""
    path = dataset / FOLDER / KEY
    return path.read_text(encoding="ascii").strip() if path.is_file() else secrets.token_hex(16)


def read_tasks(dataset: Path) -> dict[str, str]:
    """Task -> output."""
    return {str(entry["task"]): str(entry["output"]) for entry in _lines(dataset / FOLDER / TASKS, ("task", "output"))}


def read_given(dataset: Path) -> dict[str, Given]:
    """What each person was given, in all exports together."""
    asked: dict[str, dict[str, tuple[str, ...]]] = {}
    languages: dict[str, str] = {}
    for entry in _lines(dataset / FOLDER / GIVEN, ("rater", "language", "criteria", "tasks")):
        if entry.get("form") == MTURK:
            continue
        languages[entry["rater"]] = entry["language"]
        mine = asked.setdefault(entry["rater"], {})
        for task in entry["tasks"]:
            mine[task] = tuple(dict.fromkeys([*mine.get(task, ()), *entry["criteria"]]))
    return {rater: Given(rater, languages[rater], mine) for rater, mine in asked.items()}


def _lines(path: Path, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    for row, entry in read_jsonl(path):
        for name in needed:
            if name not in entry:
                raise DataError(f"{path} row {row + 1}", f"no {name!r}", "Restore the file; `metal annotate` wrote it")
        yield entry


def note_given(dataset: Path, sheets: Sequence[Sheet], form: str, seed: int, key: str) -> None:
    """Keep what is handed out, beside what was before."""
    folder = dataset / FOLDER
    folder.mkdir(exist_ok=True)
    with new_file(folder / KEY) as partial:
        partial.write_text(key, encoding="ascii")
    tasks = read_tasks(dataset) | {task.task: task.output for sheet in sheets for task in sheet.tasks}
    with new_file(folder / TASKS) as partial:
        write_jsonl(partial, ({"task": task, "output": output} for task, output in tasks.items()))
    before = list(_lines(folder / GIVEN, ("rater",)))
    fresh = [
        {
            "rater": sheet.rater,
            "language": sheet.language,
            "form": form,
            "seed": seed,
            "criteria": list(sheet.rubrics),
            "tasks": [task.task for task in sheet.tasks],
        }
        for sheet in sheets
    ]
    with new_file(folder / GIVEN) as partial:
        write_jsonl(partial, [*before, *(entry for entry in fresh if entry not in before)])


def answers_file(dataset: Path, answers: Iterable[Answer]) -> bytes:
    """answers.jsonl with these answers after those that were there; an answer that is there already is not repeated."""
    path = dataset / FOLDER / ANSWERS
    # Not splitlines(): a comment may hold other line breaks, such as U+2028.
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    fresh = (whole_text(json.dumps(_record(answer), ensure_ascii=False)) for answer in answers)
    return "".join(f"{line}\n" for line in dict.fromkeys([*filter(None, lines), *fresh])).encode()


def _record(answer: Answer) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "task": answer.task,
        "rater": answer.rater,
        "scores": dict(answer.scores),
        "comment": answer.comment,
    }
    record |= {} if answer.seconds is None else {"seconds": answer.seconds}
    return record | {"where": answer.where}
