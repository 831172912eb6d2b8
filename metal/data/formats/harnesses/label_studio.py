"""A JSON export of Label Studio: tasks with their data, annotations and predictions.

An annotation is a person's: the login that completed it, by email if the file has it. A prediction
is a judge's, `model_version`. An answer is a result of type choices, rating or number; its control
(`from_name`) is the criterion. Free texts are comments. In tasks of METAL's own forms and exports
the data, and `meta` of task and result, say more: ids, raters, criteria, missing answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.data.files import read_json
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.exported import rater_in, unscored_in
from metal.data.formats.harnesses.records import EVALUATOR, LabelledNumbers, Repeats
from metal.data.formats.harnesses.texts import texts_in
from metal.data.formats.harnesses.values import language_in, mapping, objects, prefixed
from metal.data.holdings import CRITERIA, EXPORT_MARK, REFERENCE
from metal.data.tables.harnesses import marks_of

CONTROL = "score:"  # before a criterion in the names of METAL's controls
VALUES = {"choices": "choices", "rating": "rating", "number": "number"}
ANNOTATE = "annotate the tasks in Label Studio and export again"
SKIPPED = "skipped"
_NO_TEXTS = {"task", "rater", "language", "output", "generator", "source_id"}
_NO_TEXTS |= {EXPORT_MARK, REFERENCE}


@dataclass
class _Answers:
    """What was gathered so far besides the ratings. skipped: the annotations without an answer."""

    gathered: HarnessRows = field(default_factory=lambda: HarnessRows("Label Studio", ANNOTATE))
    repeats: Repeats = field(default_factory=Repeats)
    labels: LabelledNumbers = field(default_factory=LabelledNumbers)
    skipped: list[tuple[dict[str, Any], dict[str, Any], str | None]] = field(default_factory=list)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read an export."""
    content = read_json(path, "tasks of Label Studio")
    tasks = objects(content) or objects([content])
    answers = _Answers()
    logins = _logins(tasks)
    for number, task in enumerate(tasks, 1):
        _add_task(answers, task, number, logins)
        answers.gathered.describe(mapping(task.get("meta")).get(CRITERIA), path)
    _add_skipped(answers)
    answers.labels.say(answers.gathered)
    return answers.gathered.draft(options, path)


def _add_task(
    answers: _Answers, task: Mapping[str, Any], number: int, logins: Mapping[str, set[str]]
) -> None:
    data, gathered = mapping(task.get("data")), answers.gathered
    item = _item(task, data, number)
    further = {} if EXPORT_MARK in data else prefixed("data", data)
    annotations, predictions = (objects(task.get(name)) for name in ("annotations", "predictions"))
    if not annotations and not predictions:
        gathered.leave_out("tasks without an annotation")
    for annotation in annotations:
        person = _person(annotation, data, logins)
        own: dict[str, Any] = {"rater": person, "kind": "human"}
        count = _add_results(answers, annotation, item, further, own)
        if not count and annotation.get("was_cancelled") and EXPORT_MARK not in data:
            answers.skipped.append((item, further, person))
    for prediction in predictions:
        _add_results(answers, prediction, item, further, _judge(prediction))
    for answer in unscored_in(mapping(task.get("meta"))):
        gathered.add(**item, **answer, score=None)


def _judge(prediction: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of a prediction: its model, and its score as confidence if it is a probability."""
    own: dict[str, Any] = {"rater": prediction.get("model_version") or EVALUATOR, "kind": "llm"}
    score = prediction.get("score")
    if isinstance(score, int | float) and 0 <= score <= 1:
        own["confidence"] = score
    return own


def _add_results(
    answers: _Answers,
    annotation: Mapping[str, Any],
    item: Mapping[str, Any],
    further: Mapping[str, Any],
    own: Mapping[str, Any],
) -> int:
    """Add the answers in an annotation or prediction. Returns how many there are.

    own: the roles of the rater.
    """
    results = objects(annotation.get("result"))
    comment = "\n".join(_comments(results)) or None
    count = 0
    for result in results:
        kind, answer = str(result.get("type")), _answer_in(result)
        if kind == "textarea":
            continue
        if answer is None:
            answers.gathered.leave_out(f"results of type {kind} that are not a single answer")
            continue
        count += 1
        meta = mapping(result.get("meta"))
        criterion = str(result.get("from_name")).removeprefix(CONTROL)
        rater = rater_in(meta)
        roles = {**own, "comment": comment} | (rater and {**rater, "comment": meta.get("comment")})
        answers.labels.note(criterion, meta.get("label"), _number(answer))
        number = answers.repeats.number(item["output"], roles["rater"], criterion)
        cells = {**item, **roles, "criterion": criterion, "repeat": number}
        answers.gathered.add(further, **cells, score=answer, reason="no answer")
    return count


def _answer_in(result: Mapping[str, Any]) -> Any:
    """The number or the only choice; None for any other result, and for a result about a part of a
    text.
    """
    value = mapping(result.get("value"))
    answer = value.get(VALUES.get(str(result.get("type")), ""))
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    single = isinstance(answer, str | int | float) and "start" not in value
    return answer if single else None


def _number(answer: Any) -> Any:
    """The number that METAL wrote as a choice; any other answer stays unchanged."""
    try:
        return float(answer)
    except (TypeError, ValueError):
        return answer


def _comments(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The free texts in an annotation."""
    for result in results:
        if result.get("type") != "textarea":
            continue
        text = mapping(result.get("value")).get("text")
        yield from map(str, text if isinstance(text, list) else [text])


def _add_skipped(answers: _Answers) -> None:
    """Add a missing answer on each criterion of people for each task that somebody skipped."""
    rows = answers.gathered.rows
    criteria = dict.fromkeys(row["criterion"] for row in rows if row["kind"] == "human")
    for item, further, person in answers.skipped:
        for criterion in criteria:
            who = {"rater": person, "kind": "human", "criterion": criterion}
            number = answers.repeats.number(item["output"], person, criterion)
            cells = {**item, **who, "repeat": number}
            answers.gathered.add(further, **cells, score=None, reason=SKIPPED)


# ---------------------------------------------------------------- who, and what was rated


def _login(annotation: Mapping[str, Any]) -> str:
    """The email or number of the login that completed an annotation."""
    login = annotation.get("completed_by")
    by_field = mapping(login)
    login = by_field.get("email") or by_field.get("id") or login
    return str(login) if isinstance(login, str | int) else ""


def _logins(tasks: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """The logins that completed the tasks of each person in METAL's forms (`data.rater`)."""
    logins: dict[str, set[str]] = {}
    for task in tasks:
        person = mapping(task.get("data")).get("rater")
        if isinstance(person, str):
            by = map(_login, objects(task.get("annotations")))
            logins.setdefault(person, set()).update(by)
    return logins


def _person(
    annotation: Mapping[str, Any], data: Mapping[str, Any], logins: Mapping[str, set[str]]
) -> str | None:
    """The person who completed an annotation; None if it has no login. In METAL's forms, it is the
    person to whom the tasks were given, unless several logins completed them.
    """
    person = data.get("rater")
    if isinstance(person, str) and person and len(logins[person]) < 2:
        return person
    return _login(annotation) or None


def _item(task: Mapping[str, Any], data: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The roles of a task. In METAL's tasks the data name them; in other tasks, the output and its
    input are found by the names of their fields.
    """
    fields = {name: text for name, text in data.items() if name not in _NO_TEXTS}
    source_text, text = texts_in(fields)
    ids = {"output": data.get("output") or data.get("task"), "source": data.get("source_id")}
    return {
        "output": ids["output"] or f"task {task.get('id', number)}",
        "source": ids["source"],
        "generator": data.get("generator") or data.get("model"),
        "language": language_in(data, task.get("meta")),
        "source_text": data.get("source_text") or source_text,
        "text": data.get("output_text") or text,
        "reference": data.get(REFERENCE) if EXPORT_MARK in data else None,
    }


FORMAT = Format(
    "tasks of Label Studio with annotations and predictions (JSON)",
    read,
    OPTIONS,
    keys=marks_of("label-studio"),
)
