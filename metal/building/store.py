"""annotation/ in a dataset folder: who was given which tasks, and all that came back.

key              a secret that ids of tasks are made with; never given to people
tasks.jsonl      task, output: what an id in a form stands for; of a pair also template and output_first; never given
                 to people
templates.jsonl  template, compared: of templates that show pairs, the criteria that compare, with the words of levels
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

from metal.building.answers import Given
from metal.building.pairs import Pair
from metal.building.tasks import Answer, Sheet, Task
from metal.building.template import DEFAULT, relabelled
from metal.data.folders import new_file
from metal.data.json_files import read_jsonl, whole_text, write_jsonl
from metal.data.records import Criterion
from metal.errors import DataError

FOLDER = "annotation"
KEY = "key"
TASKS, GIVEN, ANSWERS, AMBIGUOUS = "tasks.jsonl", "given.jsonl", "answers.jsonl", "ambiguous.csv"
ROUNDS = "rounds.jsonl"
TEMPLATES = "templates.jsonl"
CROWD = ("mturk", "crowd-csv")  # workers name themselves; nobody is waited for under the names that sheets have


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
        if entry.get("form") in CROWD:
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
    tasks = {str(entry["task"]): entry for entry in _lines(folder / TASKS, ("task",))}
    for sheet in sheets:
        for task in sheet.tasks:
            tasks[task.task] = tasks.get(task.task, {}) | _task_record(sheet, task)
    with new_file(folder / TASKS) as partial:
        write_jsonl(partial, tasks.values())
    _note_templates(folder, {sheet.template.name: sheet for sheet in sheets if sheet.template.paired})
    before = list(_lines(folder / GIVEN, ("rater",)))
    fresh = [
        {
            "rater": sheet.rater,
            "language": sheet.language,
            "form": form,
            "seed": seed,
            **({} if sheet.template.name == DEFAULT else {"template": sheet.template.name}),
            "criteria": list(sheet.rubrics),
            "tasks": [task.task for task in sheet.tasks],
        }
        for sheet in sheets
    ]
    with new_file(folder / GIVEN) as partial:
        write_jsonl(partial, [*before, *(entry for entry in fresh if entry not in before)])


def _task_record(sheet: Sheet, task: Task) -> dict[str, Any]:
    record: dict[str, Any] = {"task": task.task, "output": task.output}
    if sheet.template.paired:
        record |= {"template": sheet.template.name, "output_first": task.output_first}
    return record


def _note_templates(folder: Path, sheets: Mapping[str, Sheet]) -> None:
    """Keep which criteria compare, and the words that people saw; sheets: one of each template that shows pairs."""
    if not sheets:
        return
    kept = {str(entry["template"]): entry for entry in _lines(folder / TEMPLATES, ("template",))}
    for name, sheet in sheets.items():
        before = kept.get(name, {}).get("compared", {})
        now = {
            one: [level.label for level in rubric.criterion.scale.levels]
            for one, rubric in sheet.rubrics.items()
            if one in sheet.template.compared
        }
        kept[name] = {"template": name, "compared": {**before, **now}}
    with new_file(folder / TEMPLATES) as partial:
        write_jsonl(partial, kept.values())


def read_compared(dataset: Path) -> dict[str, str]:
    """Criterion -> the template that shows the pairs it compares, of all that were handed out."""
    entries = _lines(dataset / FOLDER / TEMPLATES, ("template", "compared"))
    return {name: str(entry["template"]) for entry in entries for name in entry["compared"]}


def read_pairs(dataset: Path, criteria: Mapping[str, Criterion]) -> dict[str, Pair]:
    """Task -> what is known of the pair it showed, for tasks that showed one. criteria: the dataset's."""
    path = dataset / FOLDER / TEMPLATES
    compared = {
        str(entry["template"]): {
            name: _as_shown(criteria[name], labels, path)
            for name, labels in entry["compared"].items()
            if name in criteria
        }
        for entry in _lines(path, ("template", "compared"))
    }
    return {
        str(entry["task"]): Pair(bool(entry["output_first"]), compared.get(str(entry["template"]), {}))
        for entry in _lines(dataset / FOLDER / TASKS, ("task", "output"))
        if "output_first" in entry
    }


def _as_shown(criterion: Criterion, labels: Sequence[str], path: Path) -> Criterion:
    if len(labels) != len(criterion.scale.levels):
        raise DataError(
            path,
            f"criterion {criterion.name} was handed out with {len(labels)} levels, and has another number now",
            "Restore its levels in dataset.toml",
        )
    return relabelled(criterion, labels)


def history_files(
    dataset: Path, answers: Iterable[Answer], now: str, standing: Mapping[str, Mapping[str, Any]]
) -> dict[str, bytes]:
    """answers.jsonl and rounds.jsonl with one more round, for `update_dataset`; none if it brings nothing.

    An answer that is there already, from whatever round, is not repeated. now: UTC. standing: by rater, what is known
    of them after this round.
    """
    before = _text_lines(dataset / FOLDER / ANSWERS)
    rounds = _text_lines(dataset / FOLDER / ROUNDS)
    there = {_said(json.loads(line)) for line in before}
    fresh = {said: record for answer in answers if (said := _said(record := _record(answer))) not in there}
    last = json.loads(rounds[-1])["raters"] if rounds else {}
    if not fresh and last == standing:
        return {}
    number = len(rounds) + 1
    added = [json.dumps({"round": number, **record}, ensure_ascii=False) for record in fresh.values()]
    line = {"round": number, "at": now, "answers": len(added), "raters": standing}
    whole = {ANSWERS: [*before, *added], ROUNDS: [*rounds, json.dumps(line, ensure_ascii=False)]}
    return {f"{FOLDER}/{name}": _as_file(lines) for name, lines in whole.items()}


def read_rounds(dataset: Path) -> list[dict[str, Any]]:
    """The lines of rounds.jsonl: round, at, answers, raters (what was known of each after it)."""
    path = dataset / FOLDER / ROUNDS
    found = list(_lines(path, ("round", "at", "answers", "raters")))
    for row, line in enumerate(found, 1):
        known = line["raters"].values() if isinstance(line["raters"], dict) else [None]
        if not all(isinstance(one, dict) and all(map(_is_standing, one.values())) for one in known):
            remedy = "Restore the file; `metal annotate import` wrote it"
            raise DataError(f"{path} row {row}", "what is known of the raters cannot be", remedy)
    return found


def _is_standing(value: Any) -> bool:
    """A number of ratings, or [right, answered]."""
    pair = value if isinstance(value, list) and len(value) == 2 else [0, value]
    return all(isinstance(one, int) for one in pair) and 0 <= pair[0] <= pair[1]


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
