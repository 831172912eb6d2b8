"""Answers of a study of forms, in the files that people would have sent back."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sqlalchemy import select

from metal.data.files import new_file, read_jsonl, write_jsonl
from metal.data.text import slug
from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.studies import Forms, Study

# of a plan: what `metal adjudicate report` has read, with the name of each `adjudicator`
REPORTED = "answers.jsonl"


def answers_file_name(part: str, rater: str) -> str:
    """The file of a person's answers to a part; names that differ in case alone have files of their
    own.
    """
    told_apart = blake2b(rater.encode(), digest_size=3).hexdigest()
    return f"{part}-{slug(rater)}-{told_apart}.answers.json"


def write_answers(
    ledger: ServingLedger, forms: Forms, folder: Path, study: Study, rater: str, part: str
) -> None:
    """Write all answers of a person to a part. What is in the file and not in the ledger stays,
    since the ledger may be an older copy.
    """
    path, dataset = folder / answers_file_name(part, rater), forms.form(study.id, part).content
    answers = _all_answers(ledger, study, rater, part)
    in_ledger = {each["task"] for each in answers}
    answers += [each for each in _in_file(path) if each["task"] not in in_ledger]
    content = {"metal": "answers", "version": 1, "dataset": dataset["dataset"], "rater": rater}
    with new_file(path) as unfinished:
        text = json.dumps({**content, "answers": answers}, ensure_ascii=False, indent=1)
        unfinished.write_text(text, encoding="utf-8")


def remove_answers(folder: Path, study: Study, rater: str) -> None:
    """Delete the files of a person, and what `metal adjudicate report` has read of them."""
    for part in study.languages:
        (folder / answers_file_name(part, rater)).unlink(missing_ok=True)
    if not (folder / REPORTED).is_file():
        return
    decisions = [entry for _, entry in read_jsonl(folder / REPORTED)]
    of_others = [each for each in decisions if each.get("adjudicator") != rater]
    if len(of_others) < len(decisions):
        write_jsonl(folder / REPORTED, of_others)


def _all_answers(
    ledger: ServingLedger, study: Study, rater: str, part: str
) -> list[dict[str, Any]]:
    """Every answer of a person in a part of a study, as an answers file has it."""
    answer, handed, person, task = tables.answers, tables.handed, tables.people, tables.tasks
    wanted = (
        select(task.c.task, answer.c.scores, answer.c.comment, answer.c.seconds)
        .select_from(answer.join(handed).join(person).join(task))
        .where(answer.c.study == study.id, person.c.name == rater, task.c.language == part)
        .order_by(handed.c.id)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).mappings().all())
    return [{**row, "seconds": round(row["seconds"])} for row in rows]


def _in_file(path: Path) -> list[dict[str, Any]]:
    """The answers that a file has. Raises DataError for a file that has none."""
    from metal.building.forms.html_form import read

    if not path.is_file():
        return []
    return [
        {"task": each.task, "scores": dict(each.scores), "comment": each.comment,
         "seconds": round(each.seconds or 0)}
        for each in read(str(path), path.read_bytes(), {})
    ]  # fmt: skip
