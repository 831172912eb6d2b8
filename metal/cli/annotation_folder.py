"""annotation/ in a dataset folder: who was given which tasks, and all that came back.

key              a secret that ids of tasks are made with; never given to people
tasks.jsonl      task, output: what an id in a form stands for; never given to people
given.jsonl      rater, language, form, seed, criteria, tasks: a line a sheet that was handed out
answers.jsonl    every answer that was imported, as it was given, with its round, its file and the seconds it took
rounds.jsonl     a line an import that brought something new: when, and how everybody stood after it
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
ROUNDS = "rounds.jsonl"
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


def history_files(
    dataset: Path, answers: Iterable[Answer], now: str, standing: Mapping[str, Mapping[str, Any]]
) -> dict[str, bytes]:
    """answers.jsonl and rounds.jsonl with one more round, for metal.dataset.update_dataset; none if it brings nothing.

    An answer that is there already, from whatever round, is not repeated. now: UTC. standing: by rater, what is known
    of them after this round.
    """
    before = _text_lines(dataset / FOLDER / ANSWERS)
    rounds = _text_lines(dataset / FOLDER / ROUNDS)
    there = {_said(json.loads(line)) for line in before}
    fresh = {said: record for answer in answers if (said := _said(record := _record(answer))) not in there}
    if not fresh:
        return {}
    number = len(rounds) + 1
    added = [json.dumps({"round": number, **record}, ensure_ascii=False) for record in fresh.values()]
    line = {"round": number, "at": now, "answers": len(added), "raters": standing}
    whole = {ANSWERS: [*before, *added], ROUNDS: [*rounds, json.dumps(line, ensure_ascii=False)]}
    return {f"{FOLDER}/{name}": _as_file(lines) for name, lines in whole.items()}


def read_rounds(dataset: Path) -> list[dict[str, Any]]:
    """The lines of rounds.jsonl: round, at, answers, raters (what was known of each after it)."""
    return list(_lines(dataset / FOLDER / ROUNDS, ("round", "at", "answers", "raters")))


def _text_lines(path: Path) -> list[str]:
    # Not splitlines(): a comment may hold other line breaks, such as U+2028.
    return [*filter(None, path.read_text(encoding="utf-8").split("\n"))] if path.is_file() else []


def _as_file(lines: Iterable[str]) -> bytes:
    return "".join(f"{whole_text(line)}\n" for line in lines).encode()


def _said(record: Mapping[str, Any]) -> str:
    """What makes two answers the same one: all but the round."""
    return json.dumps({key: value for key, value in record.items() if key != "round"}, sort_keys=True)


def _record(answer: Answer) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "task": answer.task,
        "rater": answer.rater,
        "scores": dict(answer.scores),
        "comment": answer.comment,
    }
    record |= {} if answer.seconds is None else {"seconds": answer.seconds}
    return record | {"where": answer.where}
