"""CSV for Prolific and other platforms: METAL writes a row for each task and reads a row for each
answer.

The CSV that METAL writes is data for the user's own survey tool: the texts, and the questions as
texts. METAL reads any CSV with a column `task`, a column that names the person (RATERS), and a
column for each answered criterion. Prolific's own export of participants (Participant id, Status,
Time taken) can be given together with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from metal.building.forms import guidelines, mturk, sheet
from metal.building.tasks import Answer, Assignment
from metal.data.escaping import csv_text
from metal.data.records import Criterion
from metal.errors import DataError
from metal.raters.judges.rubric import Rubric

RATERS = ("rater", "worker", "WorkerId", "participant_id", "Participant id", "PROLIFIC_PID")
PROLIFIC = "prolific"
ANY = "csv"  # the platform of people about whom nothing else is known
QUESTION = "question_"  # before the name of a criterion: the column with its question
LEFT_OUT = ("rejected", "returned", "timed out", "screened out")  # submissions that do not count
_PROLIFIC_COLUMNS = ("participantid", "prolificpid")

README = """Rating with Prolific or any other platform
==========================================

tasks-LANGUAGE.csv  one row per task: the texts, and in question_CRITERION the question with its possible answers
guidelines.html     what the people who rate should read first

1. Show the tasks with your own survey tool. The columns are data for its pages. Texts are plain text: a page has to
   put them in as text, never as HTML. A text or line that begins like a formula (= + - @) has an apostrophe before it.
   `direction` is the direction the texts are written in. Do not save the files again from a spreadsheet.
2. Let the tool write a CSV with a row for each answer. Its columns are: `task`, with the ids of this file; the person's
   id (one of {raters}); one column per criterion,
   with the criterion's name, which holds the number of the level; and, if you have them, `comment` and `seconds` (spent
   on the task).
3. {taken_in} answers.csv [prolific_export.csv]
   People are called prolific:ID if the id's column is one of Prolific's, else csv:ID; `--platform NAME` sets another name.
   If you also give Prolific's export of participants, METAL leaves out (and counts) the answers of people whose
   submission was rejected, returned or timed out, and divides the time taken evenly among a person's answers.

Ids can be traced to people. Do not publish them.
"""  # noqa: E501


@dataclass(frozen=True)
class Participant:
    """A person in Prolific's export. status: the status of their submission in small letters; if
    they have several submissions, the status of one that counts.
    """

    status: str
    seconds: float | None


def write(assignments: Iterable[Assignment]) -> Iterator[tuple[str, bytes]]:
    """tasks-LANGUAGE.csv for each language, guidelines.html, README.txt.

    The platform's participants answer instead of the people named in the assignments.
    """
    groups = sheet.by_language(assignments)
    for language, group in groups.items():
        yield f"tasks-{language}.csv", _tasks(group)
    if groups:
        first = next(iter(groups.values()))[0]
        yield "guidelines.html", guidelines.as_html(first.rubrics, first.template).encode()
        blanks = {"raters": ", ".join(RATERS), "taken_in": first.template.taken_in}
        yield "README.txt", README.format(**blanks).encode()


def _tasks(assignments: Sequence[Assignment]) -> bytes:
    import pandas as pd

    asked = {
        QUESTION + name: _question(name, rubric) for name, rubric in assignments[0].rubrics.items()
    }
    written = (row | asked for row in sheet.crowd_rows(assignments))
    rows = [{name: sheet.printable(text) for name, text in row.items()} for row in written]
    return csv_text(pd.DataFrame(rows, dtype=object)).encode()


def _question(name: str, rubric: Rubric) -> str:
    """A question with its possible answers, such as `Fluency: Which reads better? (1 A is much
    better, ...)`.
    """
    criterion = rubric.criterion
    question = criterion.question or rubric.simple
    asked = f"{criterion.asked_as}: {question}" if question else criterion.asked_as
    return f"{asked} ({criterion.scale.describe()})"


# ---------------------------------------------------------------- answers


def recognises(name: str, content: bytes) -> bool:
    """Whether this is a CSV of a platform's answers. METAL's own sheets are recognised by the
    column `rater`.
    """
    if mturk.recognises(name, content):
        return False
    head = sheet.header_of(name, content)
    names = list(map(_folded, head))
    return "task" in names and "rater" not in names and bool(_rater_columns(head))


def read(
    name: str, content: bytes, criteria: Mapping[str, Criterion], platform: str = ""
) -> list[Answer]:
    """The answers of a CSV, one in each row. The rater is `PLATFORM:ID`.

    platform: by default prolific if the column of people is one of Prolific's, else csv. Raises
    DataError for missing or repeated columns, and for rows without a task or a person. Raises
    UnknownName for a column with nearly the name of a missing criterion.
    """
    head, rows = sheet.csv_table(name, content)
    position_of = _columns(name, head, criteria)
    person = head[position_of["rater"]]
    platform = platform or (PROLIFIC if _folded(person) in _PROLIFIC_COLUMNS else ANY)
    return sheet.answers_at(position_of, name, rows, criteria, rater=person, prefix=f"{platform}:")


def notes(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[str]:
    """A note on the columns that `read` ignores."""
    head, _ = sheet.csv_table(name, content)
    used = {*_columns(name, head, criteria).values()}
    ours = {*sheet.OURS, "direction"}
    unused = [
        column
        for at, column in enumerate(head)
        if column and at not in used and column not in ours and not column.startswith(QUESTION)
    ]
    return [f"{name}: columns ignored: {sheet.listed(unused)}"] if unused else []


def _columns(name: str, head: Sequence[str], criteria: Mapping[str, Criterion]) -> dict[str, int]:
    """The positions of task, rater, criteria, comment and seconds."""
    people = _rater_columns(head)
    tasks = [at for at, column in enumerate(head) if _folded(column) == "task"]
    if len(tasks) != 1 or len(people) != 1:
        what, columns = ("task", tasks) if len(tasks) != 1 else ("person", people)
        problem = f"several columns for the {what}" if columns else f"no column for the {what}"
        remedy = (
            f"Columns found: {sheet.listed(head)}; needed: task, one of {', '.join(RATERS)}, and"
            " criteria"
        )
        raise DataError(name, problem, remedy)
    position_of = {"task": tasks[0], "rater": people[0]}
    for column in (*map(sheet.column_of, criteria), sheet.COMMENT, "seconds"):
        if head.count(column) > 1:
            raise DataError(
                name,
                f"there are two columns {column!r}",
                "Delete or rename one of them",
            )
        if column in head and head.index(column) not in position_of.values():
            position_of[column] = head.index(column)
    sheet.check_criteria(
        name, [column for column in head if not column.startswith(QUESTION)], criteria
    )
    if not any(sheet.column_of(criterion) in position_of for criterion in criteria):
        needed = sheet.listed([*map(sheet.column_of, criteria)])
        raise DataError(
            name,
            "no column of a criterion",
            f"Columns found: {sheet.listed(head)}; criteria: {needed}",
        )
    return position_of


def _rater_columns(head: Sequence[str]) -> list[int]:
    names = set(map(_folded, RATERS))
    return [at for at, column in enumerate(head) if _folded(column) in names]


def _folded(column: str) -> str:
    """A column's name in its plain form: `participantid` for both `Participant id` and
    `participant_id`.
    """
    return re.sub(r"[\W_]+", "", column).casefold()


# ---------------------------------------------------------------- Prolific's participants


def is_participants(head: Sequence[str]) -> bool:
    """Whether the columns are those of Prolific's export of participants."""
    names = set(map(_folded, head))
    return {"participantid", "status"} <= names and "task" not in names


def read_participants(name: str, content: bytes) -> dict[str, Participant]:
    """Read Prolific's export by participant. If a person has several submissions, one that counts
    is taken.
    """
    columns, rows = sheet.csv_table(name, content)
    head = list(map(_folded, columns))
    participants: dict[str, Participant] = {}
    for number, row in rows:
        cells = dict(zip(head, [*map(sheet.unguarded, row), *[""] * len(head)], strict=False))
        person = cells["participantid"]
        if not person:
            raise DataError(
                f"{name} row {number}",
                "the participant is missing",
                "Export it from Prolific again",
            )
        status = re.sub(r"[\W_]+", " ", cells["status"]).strip().casefold()
        if person not in participants or participants[person].status in LEFT_OUT:
            participants[person] = Participant(status, sheet.seconds_in(cells.get("timetaken", "")))
    return participants


def of_participants(
    answers: Sequence[Answer], people: Mapping[str, Participant]
) -> tuple[list[Answer], list[str]]:
    """Keep the answers of people whose submissions count; also return notes on people left out.

    Prolific measures the time of a whole submission. This time is divided evenly among the person's
    answers without seconds.
    """
    prefix = f"{PROLIFIC}:"
    counts = Counter(answer.rater for answer in answers)
    refused: dict[str, set[str]] = {}
    unknown: set[str] = set()
    kept = []
    for answer in answers:
        person = (
            people.get(answer.rater.removeprefix(prefix))
            if answer.rater.startswith(prefix)
            else None
        )
        if person and person.status in LEFT_OUT:
            refused.setdefault(person.status, set()).add(answer.rater)
            continue
        if person is None and answer.rater.startswith(prefix):
            unknown.add(answer.rater)
        if person and person.seconds is not None and answer.seconds is None:
            answer = replace(answer, seconds=person.seconds / counts[answer.rater])
        kept.append(answer)
    return kept, _notes_on(counts, refused, len(unknown))


def _notes_on(
    counts: Mapping[str, int], refused: Mapping[str, Collection[str]], unknown: int
) -> list[str]:
    """Notes on Prolific's export. counts: rater -> number of answers. refused: status -> raters.
    unknown: how many people are missing from the export.
    """
    notes = [
        f"{len(theirs):,} {'person' if len(theirs) == 1 else 'people'} left out whose submission"
        f" was {status} ({sum(counts[rater] for rater in theirs):,} answers)"
        for status, theirs in refused.items()
    ]
    if unknown:
        who = "person is" if unknown == 1 else "people are"
        notes.append(f"{unknown:,} {who} not in Prolific's export; their answers are kept")
    if not any(rater.startswith(f"{PROLIFIC}:") for rater in counts):
        notes.append(
            "Prolific's export was not used, because none of these raters is in it (if they are"
            " from Prolific, pass `platform='prolific'`)"
        )
    return notes
