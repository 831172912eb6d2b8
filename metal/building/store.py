"""annotation/ in a dataset folder: who was given which tasks, and all answers.

key              the secret that task ids are made with; never given to people
tasks.jsonl      task, output: what an id in a form stands for; for a pair also template and output_first; never given
                 to people
templates.jsonl  template, compared: for templates that show pairs, the criteria that compare, with the labels shown
given.jsonl      rater, language, form, seed, criteria, tasks: a line for each assignment handed out
answers.jsonl    every imported answer, as it was given, with its round, its file and the seconds it took
rounds.jsonl     a line for each import that brought something new: when, and each rater's record after it
ambiguous.csv    outputs on which all raters disagree
reserved.jsonl   first, last: the numbers of the names, such as hi-1, that studies on a server give to people
served.json      marks of the servers whose answers the dataset has (see metal.serving.marks)
drawn.jsonl      source, language, probability, seed, judge: the sources that people are to rate, drawn by chance
"""  # noqa: E501

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metal.building.answers import Assigned, Pair
from metal.building.tasks import DEFAULT, Answer, Assignment, Task, relabelled
from metal.data.files import new_file, parse_json, read_jsonl, whole_text, write_jsonl
from metal.data.records import Criterion
from metal.data.replacing import kept_file
from metal.errors import DataError, UsageError

FOLDER = "annotation"
KEY = "key"
TASKS, GIVEN, ANSWERS, AMBIGUOUS = "tasks.jsonl", "given.jsonl", "answers.jsonl", "ambiguous.csv"
ROUNDS = "rounds.jsonl"
TEMPLATES = "templates.jsonl"
DRAWN = "drawn.jsonl"
RESERVED = "reserved.jsonl"
# workers have names of their own, so nobody waits for the names in assignments
CROWD = ("mturk", "crowd-csv")
SERVED = "served"  # the form of tasks on a server


def task_key(dataset: Path) -> str:
    """The dataset's key for task ids. Before the first export, it is a new key, which `note_given`
    stores.
    """
    path = dataset / FOLDER / KEY
    return path.read_text(encoding="ascii").strip() if path.is_file() else secrets.token_hex(16)


def read_tasks(dataset: Path) -> dict[str, str]:
    """Task -> output."""
    return {
        str(entry["task"]): str(entry["output"])
        for entry in _lines(dataset / FOLDER / TASKS, ("task", "output"))
    }


def tasks_handed_out(dataset: Path) -> dict[str, str]:
    """Task -> output. Raises UsageError if there are none."""
    tasks = read_tasks(dataset)
    if not tasks:
        raise UsageError(
            f"{dataset}: no tasks were handed out from it; begin with `metal.annotate_export(...)`"
        )
    return tasks


def read_given(dataset: Path) -> dict[str, Assigned]:
    """Person -> what they were assigned in all exports together."""
    asked: dict[str, dict[str, tuple[str, ...]]] = {}
    languages: dict[str, str] = {}
    for entry in _lines(dataset / FOLDER / GIVEN, ("rater", "language", "criteria", "tasks")):
        if entry.get("form") in CROWD:
            continue
        languages[entry["rater"]] = entry["language"]
        criteria = asked.setdefault(entry["rater"], {})
        for task in entry["tasks"]:
            criteria[task] = tuple(dict.fromkeys([*criteria.get(task, ()), *entry["criteria"]]))
    return {rater: Assigned(rater, languages[rater], criteria) for rater, criteria in asked.items()}


def _lines(path: Path, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    for row, entry in read_jsonl(path):
        for name in needed:
            if name not in entry:
                raise DataError(
                    f"{path} row {row + 1}",
                    f"no {name!r}",
                    "Restore the file; `metal annotate` wrote it",
                )
        yield entry


def note_given(
    dataset: Path, assignments: Sequence[Assignment], form: str, seed: int, key: str
) -> None:
    """Record the assignments handed out now, in addition to earlier ones."""
    note_tasks(dataset, assignments, key)
    folder = dataset / FOLDER
    before = list(_lines(folder / GIVEN, ("rater",)))
    records = [_given_record(assignment, form, seed) for assignment in assignments]
    write_jsonl(folder / GIVEN, [*before, *(record for record in records if record not in before)])


def note_served(dataset: Path, served: Iterable[Assigned]) -> None:
    """Record tasks that a server handed out to people, as their answers come in."""
    folder = dataset / FOLDER
    records = [
        {
            "rater": person.rater,
            "language": person.language,
            "form": SERVED,
            "seed": 0,
            "criteria": list(next(iter(person.asked.values()), ())),
            "tasks": list(person.asked),
        }
        for person in served
    ]
    write_jsonl(folder / GIVEN, [*_lines(folder / GIVEN, ("rater",)), *records])


def read_reserved(dataset: Path) -> list[range]:
    """The numbers that studies on servers may give to people of each language."""
    blocks = []
    for entry in _lines(dataset / FOLDER / RESERVED, ("first", "last")):
        first, last = entry["first"], entry["last"]
        if type(first) is not int or type(last) is not int:
            raise DataError(
                dataset / FOLDER / RESERVED,
                f"the numbers {first!r} to {last!r} are not whole",
                "Restore the file; `metal study new` wrote it",
            )
        blocks.append(range(first, last + 1))
    return blocks


def reserve(dataset: Path, block: range) -> None:
    """Keep these numbers for people on a server: no export gives them to somebody else."""
    path = dataset / FOLDER / RESERVED
    path.parent.mkdir(exist_ok=True)
    record = {"first": block.start, "last": block.stop - 1}
    write_jsonl(path, [*_lines(path, ("first", "last")), record])


def note_tasks(dataset: Path, assignments: Sequence[Assignment], key: str) -> None:
    """Record what the ids of tasks stand for, whoever will be given them."""
    folder = dataset / FOLDER
    folder.mkdir(exist_ok=True)
    with new_file(folder / KEY) as partial:
        partial.touch(0o600)  # before anything is in it
        partial.write_text(key, encoding="ascii")
    tasks = {str(entry["task"]): entry for entry in _lines(folder / TASKS, ("task",))}
    for assignment in assignments:
        for task in assignment.tasks:
            tasks[task.task] = tasks.get(task.task, {}) | _task_record(assignment, task)
    write_jsonl(folder / TASKS, tasks.values())
    _note_templates(
        folder, {each.template.name: each for each in assignments if each.template.paired}
    )


def _task_record(assignment: Assignment, task: Task) -> dict[str, Any]:
    record: dict[str, Any] = {"task": task.task, "output": task.output}
    if assignment.template.paired:
        record |= {"template": assignment.template.name, "output_first": task.output_first}
    return record


def _given_record(assignment: Assignment, form: str, seed: int) -> dict[str, Any]:
    template = assignment.template.name
    return {
        "rater": assignment.rater,
        "language": assignment.language,
        "form": form,
        "seed": seed,
        **({} if template == DEFAULT else {"template": template}),
        "criteria": list(assignment.rubrics),
        "tasks": [task.task for task in assignment.tasks],
    }


def _note_templates(folder: Path, assignments: Mapping[str, Assignment]) -> None:
    """Record which criteria compare the texts of pairs, and which labels people saw. assignments:
    one for each template that shows pairs.
    """
    if not assignments:
        return
    records = {str(entry["template"]): entry for entry in _lines(folder / TEMPLATES, ("template",))}
    for name, assignment in assignments.items():
        labels = {
            criterion: [level.label for level in rubric.criterion.scale.levels]
            for criterion, rubric in assignment.rubrics.items()
            if criterion in assignment.template.compared
        }
        records[name] = {
            "template": name,
            "compared": {**records.get(name, {}).get("compared", {}), **labels},
        }
    write_jsonl(folder / TEMPLATES, records.values())


def read_drawn(dataset: Path) -> dict[str, dict[str, Any]]:
    """Source -> its record in drawn.jsonl, in the order of the file; empty if nothing was drawn."""
    drawn: dict[str, dict[str, Any]] = {}
    path = dataset / FOLDER / DRAWN
    for entry in _lines(path, ("source", "language", "probability", "seed", "judge")):
        chance = entry["probability"]
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 < chance <= 1:
            why = f"probability {chance!r} of source {entry['source']!r}"
            raise DataError(
                path,
                why,
                "Write a number above 0 and at most 1, or draw again with `force=True`",
            )
        drawn[str(entry["source"])] = entry
    return drawn


def note_drawn(
    dataset: Path, records: Sequence[Mapping[str, Any]], number: str, *, force: bool
) -> None:
    """Replace drawn.jsonl. Raises UsageError if a source drawn before would be lost. With `force`,
    replaces it anyway and keeps the old file.

    number: the name of the parameter that says how many sources are drawn, for the message.
    """
    drawn = read_drawn(dataset)
    lost = len({*drawn} - {entry["source"] for entry in records})
    if lost and not force:
        raise UsageError(
            f"this draw drops {lost:,} of {len(drawn):,} earlier sources: keep `seed` and `judge`"
            f" and ask for at least as many `{number}`, or pass `force=True` to discard their"
            " labels"
        )
    (dataset / FOLDER).mkdir(exist_ok=True)
    if not force or list(drawn.values()) == list(records):
        write_jsonl(dataset / FOLDER / DRAWN, records)
        return
    # what people rated counts by the probabilities of that draw
    with kept_file(dataset / FOLDER / DRAWN):
        write_jsonl(dataset / FOLDER / DRAWN, records)


def read_compared(dataset: Path) -> dict[str, str]:
    """Criterion -> the template in which its pairs were shown, in everything handed out so far."""
    entries = _lines(dataset / FOLDER / TEMPLATES, ("template", "compared"))
    return {name: str(entry["template"]) for entry in entries for name in entry["compared"]}


def read_pairs(dataset: Path, criteria: Mapping[str, Criterion]) -> dict[str, Pair]:
    """Task -> the pair that it showed, for tasks that showed pairs. criteria: the dataset's
    criteria.
    """
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
        str(entry["task"]): Pair(
            bool(entry["output_first"]), compared.get(str(entry["template"]), {})
        )
        for entry in _lines(dataset / FOLDER / TASKS, ("task", "output"))
        if "output_first" in entry
    }


def _as_shown(criterion: Criterion, labels: Sequence[str], path: Path) -> Criterion:
    if len(labels) != len(criterion.scale.levels):
        raise DataError(
            path,
            f"criterion {criterion.name} was handed out with {len(labels)} levels, but now has"
            " another number of levels",
            "Restore its levels in dataset.toml",
        )
    return relabelled(criterion, labels)


def history_files(
    dataset: Path, answers: Iterable[Answer], now: str, standing: Mapping[str, Mapping[str, Any]]
) -> dict[str, bytes]:
    """The new contents of answers.jsonl and rounds.jsonl after this round, for `update_dataset`;
    empty if the round adds nothing.

    An answer already recorded, in any round, is not repeated. now: UTC. standing: each rater's
    record after this round.
    """
    before = _text_lines(dataset / FOLDER / ANSWERS)
    rounds = _text_lines(dataset / FOLDER / ROUNDS)
    recorded = {
        _identity(_recorded(line, dataset / FOLDER / ANSWERS, row))
        for row, line in enumerate(before, 1)
    }
    records = {_identity(record): record for record in map(_answer_record, answers)}
    fresh = [record for identity, record in records.items() if identity not in recorded]
    last = json.loads(rounds[-1])["raters"] if rounds else {}
    if not fresh and last == standing:
        return {}
    number = len(rounds) + 1
    added = [json.dumps({"round": number, **record}, ensure_ascii=False) for record in fresh]
    line = {"round": number, "at": now, "answers": len(added), "raters": standing}
    files = {ANSWERS: [*before, *added], ROUNDS: [*rounds, json.dumps(line, ensure_ascii=False)]}
    return {
        f"{FOLDER}/{name}": "".join(f"{whole_text(line)}\n" for line in lines).encode()
        for name, lines in files.items()
    }


def without_rater(
    dataset: Path, rater: str, tasks: Collection[str] | None = None
) -> dict[str, bytes]:
    """The new content of the files in annotation/ without a rater, for `update_dataset`. tasks:
    without their answers to these tasks only; then what they did in earlier rounds stays.
    """
    folder = dataset / FOLDER
    path = folder / ANSWERS
    answers = []
    for row, line in enumerate(_text_lines(path), 1):
        record = _recorded(line, path, row)
        if record["rater"] != rater or (tasks is not None and record["task"] not in tasks):
            answers.append(line)
    rounds = read_rounds(dataset)
    if tasks is None:
        for entry in rounds:
            entry["raters"].pop(rater, None)
    files = {ANSWERS: answers}
    for name, records in ((GIVEN, _given_without(folder, rater, tasks)), (ROUNDS, rounds)):
        files[name] = [json.dumps(record, ensure_ascii=False) for record in records]
    return {
        f"{FOLDER}/{name}": "".join(f"{line}\n" for line in lines).encode()
        for name, lines in files.items()
        if (folder / name).is_file()
    }


def _given_without(
    folder: Path, rater: str, tasks: Collection[str] | None
) -> Iterator[dict[str, Any]]:
    """The lines of given.jsonl without a rater, or without these of their tasks."""
    for entry in _lines(folder / GIVEN, ("rater", "tasks")):
        if entry["rater"] != rater:
            yield entry
        elif tasks is not None:
            left = [task for task in entry["tasks"] if task not in tasks]
            if left:
                yield {**entry, "tasks": left}


def read_answered(dataset: Path) -> Counter[str]:
    """How many tasks each person has answered in all rounds."""
    entries = _lines(dataset / FOLDER / ANSWERS, ("rater", "task"))
    answered = {(str(entry["rater"]), str(entry["task"])) for entry in entries}
    return Counter(rater for rater, _ in answered)


def read_rounds(dataset: Path) -> list[dict[str, Any]]:
    """The lines of rounds.jsonl: round, at, answers, raters (each rater's record after the
    round).
    """
    path = dataset / FOLDER / ROUNDS
    rounds = list(_lines(path, ("round", "at", "answers", "raters")))
    for row, line in enumerate(rounds, 1):
        standings = line["raters"].values() if isinstance(line["raters"], dict) else [None]
        if not all(
            isinstance(standing, dict) and all(map(_is_standing, standing.values()))
            for standing in standings
        ):
            raise DataError(
                f"{path} row {row}",
                "impossible records of raters",
                "Restore the file; `metal annotate` wrote it",
            )
    return rounds


def _is_standing(value: Any) -> bool:
    """Whether a value is a number of ratings, or [right, answered]."""
    pair = value if isinstance(value, list) and len(value) == 2 else [0, value]
    return all(isinstance(number, int) for number in pair) and 0 <= pair[0] <= pair[1]


def _text_lines(path: Path) -> list[str]:
    # Not splitlines(): a comment may hold other line breaks, such as U+2028.
    return [*filter(None, path.read_text(encoding="utf-8").split("\n"))] if path.is_file() else []


def _recorded(line: str, path: Path, row: int) -> dict[str, Any]:
    """Read an answer from a line of answers.jsonl. Raises DataError if it is not an answer, for
    instance if a score is not text.
    """
    try:
        record = parse_json(line)
    except json.JSONDecodeError:
        record = None
    fine = isinstance(record, dict) and all(
        isinstance(record.get(name), str) for name in ("task", "rater", "where")
    )
    scores = record.get("scores") if fine else None
    if not isinstance(scores, dict):
        raise DataError(
            f"{path} row {row}", "not an answer", "Restore the file; `metal annotate` wrote it"
        )
    for name, score in scores.items():
        if not isinstance(score, str):
            problem = f"the score on {name} is {score!r}, but scores are kept as texts"
            raise DataError(
                f"{path} row {row}", problem, "Restore the file; `metal annotate` wrote it"
            )
    return dict(record)


def _identity(record: Mapping[str, Any]) -> str:
    """Everything in an answer's record except the round. Answers are the same if this is equal."""
    return json.dumps(
        {key: value for key, value in record.items() if key != "round"}, sort_keys=True
    )


def _answer_record(answer: Answer) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "task": answer.task,
        "rater": answer.rater,
        "scores": dict(answer.scores),
        "comment": answer.comment,
    }
    record |= {} if answer.seconds is None else {"seconds": answer.seconds}
    return record | {"where": answer.where}
