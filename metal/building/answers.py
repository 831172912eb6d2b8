"""What people sent back, checked against what they were given, becomes ratings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from metal.building.tasks import Answer
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Rating
from metal.errors import DataError, UnknownName, nearest

NO_ANSWER = "no answer"

Key = tuple[str, str, str]  # output, criterion, rater


@dataclass(frozen=True)
class Given:
    """What a person was given. asked: task -> the criteria to rate it on."""

    rater: str
    language: str
    asked: Mapping[str, tuple[str, ...]]


@dataclass
class Returned:
    """An import. facts: the dataset's ratings and the new ones.

    partly: tasks with a criterion left blank. open: rater -> tasks given and not answered. same: ratings that were
    there already. replaced: ratings whose score is another one now. blank: answers without any score, remarks: those
    of them that have a comment.
    """

    facts: pd.DataFrame
    raters: Mapping[str, set[str]]  # rater -> languages, of all who answered
    answered: Counter[str] = field(default_factory=Counter)
    partly: Counter[str] = field(default_factory=Counter)
    open: Mapping[str, int] = field(default_factory=dict)
    same: int = 0
    replaced: int = 0
    blank: int = 0
    remarks: int = 0


@dataclass
class _Said:
    """What a person says of a task in all files together. scores: by criterion, each with the answer it stands in."""

    scores: dict[str, tuple[float | None, Answer]] = field(default_factory=dict)
    comment: str = ""


def take_in(
    answers: Iterable[Answer],
    tasks: Mapping[str, str],
    given: Mapping[str, Given],
    criteria: Mapping[str, Criterion],
    existing: pd.DataFrame,
    *,
    languages: Mapping[str, str],
    replace: bool = False,
) -> Returned:
    """Check answers and make ratings of them.

    tasks: task -> output. given: by rater. existing: the dataset's ratings. languages: output -> language.
    A criterion left blank in a task that was answered is a rating without a score, if it was asked there; a task
    without any score is none. A score or comment takes the place of a blank; with replace a later one takes the place
    of an earlier one, in the order given.
    Raises DataError for an unknown task or rater, a score off the scale, a rater who answers twice differently;
    UnknownName for a criterion the dataset does not have.
    """
    asked = _asked(given)
    found: dict[tuple[str, str], _Said] = {}
    blank = remarks = 0
    for answer in answers:
        _check_known(answer, tasks, given)
        person = given.get(answer.rater)
        scores = _scores(answer, criteria, person.asked[answer.task] if person else asked.get(answer.task, criteria))
        if all(score is None for score in scores.values()):
            blank += 1
            remarks += bool(answer.comment.strip())
            continue
        _add(found.setdefault((answer.rater, answer.task), _Said()), answer, scores, replace)
    fresh = {
        (tasks[task], name, rater): (score, said.comment, answer)
        for (rater, task), said in found.items()
        for name, (score, answer) in said.scores.items()
    }
    returned = _merged(fresh, existing, replace)
    returned.blank, returned.remarks = blank, remarks
    for (rater, _), said in found.items():
        returned.answered[rater] += 1
        returned.partly[rater] += any(score is None for score, _ in said.scores.values())
    done = {*_keys(existing), *fresh}
    returned.open = {name: left for name, one in given.items() if (left := _left(one, tasks, criteria, done))}
    by_rater: dict[str, set[str]] = {}
    for rater, task in found:
        by_rater.setdefault(rater, set()).add(languages[tasks[task]])
    returned.raters = by_rater
    return returned


def _asked(given: Mapping[str, Given]) -> dict[str, set[str]]:
    """Task -> the criteria that anybody was to rate it on."""
    found: dict[str, set[str]] = {}
    for person in given.values():
        for task, names in person.asked.items():
            found.setdefault(task, set()).update(names)
    return found


def _add(said: _Said, answer: Answer, scores: Mapping[str, float | None], replace: bool) -> None:
    """One more answer of a person to a task."""
    for name, score in scores.items():
        before, earlier = said.scores.get(name, (None, answer))
        if before is None or (replace and score is not None):
            said.scores[name] = score, answer
        elif score not in (None, before):
            raise DataError(
                answer.where,
                f"{answer.rater} gives task {answer.task} {score:g} on {name}, and {before:g} in {earlier.where}",
                "Keep the file that counts, or pass --replace to let the later one count",
            )
    said.comment = _comment(said.comment, answer.comment, replace)


def _comment(before: str, now: str, replace: bool) -> str:
    return now if now.strip() and (replace or not before.strip()) else before


def _left(given: Given, tasks: Mapping[str, str], criteria: Iterable[str], done: Container[Key]) -> int:
    """How many of a person's tasks are not done on every criterion."""
    return sum(
        any((tasks[task], name, given.rater) not in done for name in names if name in criteria)
        for task, names in given.asked.items()
        if task in tasks
    )


def _check_known(answer: Answer, tasks: Mapping[str, str], given: Mapping[str, Given]) -> None:
    if answer.task not in tasks:
        raise DataError(
            answer.where,
            f"task {answer.task!r} is none of this dataset's",
            "Is the file of another dataset, or was the column 'task' changed?",
        )
    person = given.get(answer.rater)
    if person and answer.task not in person.asked:
        raise DataError(
            answer.where,
            f"task {answer.task} was not given to {answer.rater}",
            "Is the answer in the file of another person?",
        )
    if not person and ":" not in answer.rater:  # crowd platforms name their workers themselves: mturk:A1B2
        raise DataError(
            answer.where,
            f"rater {answer.rater!r} was given nothing; {nearest(answer.rater, list(given))}",
            "The column 'rater' stays as it was handed out; people of a crowd platform need --platform NAME",
        )


def _scores(answer: Answer, criteria: Mapping[str, Criterion], asked: Container[str]) -> dict[str, float | None]:
    """The scores by criterion, without blanks where nothing was asked."""
    scores = {}
    for name, text in answer.scores.items():
        if name not in criteria:
            remedy = "Is the file of another dataset, or was the criterion renamed in dataset.toml?"
            raise UnknownName(f"{answer.where}: criterion", name, criteria, remedy)
        score = read_score(text, criteria[name], answer.where)
        if score is not None or name in asked:
            scores[name] = score
    return scores


def read_score(text: str, criterion: Criterion, where: object) -> float | None:
    """The score that a cell stands for: `2`, `2.0`, `2 Good`, `good`; None for a blank one.

    A number is a value, also where another level has it as its label. Raises DataError when it is not on the
    criterion's scale, or could be two numbers of it (`1,500`).
    """
    said = " ".join(text.split())
    if not said:
        return None
    scale = criterion.scale
    score = _number(said.replace(",", "."))
    if score is not None and scale.allows(score):
        if _THOUSANDS.fullmatch(said) and scale.allows(float(said.replace(",", ""))):
            remedy = "Ask the rater what was meant, and write it without a comma"
            raise DataError(where, f"{said[:40]!r} on {criterion.name} could be two numbers", remedy)
        return score
    for shown in (True, False):
        for level in scale.levels:
            if said.casefold() == " ".join((level.shown if shown else level.label).split()).casefold():
                return float(level.value)
    raise DataError(
        where,
        f"{said[:40]!r} is not on the scale of {criterion.name} ({scale.describe()})",
        "Ask the rater what was meant, and correct the file",
    )


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def _number(text: str) -> float | None:
    """The finite number that people would read there; Python reads `1_0` and `infinity` as well."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _keys(facts: pd.DataFrame) -> list[Key]:
    """(output, criterion, rater) of each row."""
    rows = zip(facts["output"], facts["criterion"], facts["rater"], strict=True)
    return [(str(output), str(criterion), str(rater)) for output, criterion, rater in rows]


def _merged(fresh: Mapping[Key, tuple[float | None, str, Answer]], existing: pd.DataFrame, replace: bool) -> Returned:
    """The dataset's ratings with the fresh ones; what is there without a score gives way to one."""
    places = {key: row for row, key in enumerate(_keys(existing))}
    scores, reasons, comments = (existing[name].tolist() for name in ("score", "reason", "comment"))
    dropped: list[int] = []
    added: list[Rating] = []
    same = replaced = 0
    for key, (score, said, answer) in fresh.items():
        row = places.get(key)
        if row is None:
            added.append(Rating(*key, score, "" if score is not None else NO_ANSWER, said))
            continue
        old = None if math.isnan(scores[row]) else scores[row]
        comment = _comment(comments[row], said, replace)
        if score in (None, old):
            same += 1
            if comment == comments[row]:
                continue
            added.append(Rating(*key, old, reasons[row], comment))
        elif old is not None and not replace:
            raise DataError(
                answer.where,
                f"{answer.rater} gave task {answer.task} {old:g} on {key[1]} in an earlier import, {score:g} here",
                "Pass --replace if the new one counts",
            )
        else:
            replaced += old is not None
            added.append(Rating(*key, score, "", comment))
        dropped.append(row)
    kept: Any = existing.drop(index=existing.index[dropped]) if dropped else existing
    return Returned(_together(kept, added), {}, same=same, replaced=replaced)


def _together(kept: pd.DataFrame, added: Sequence[Rating]) -> pd.DataFrame:
    from metal.data.dataset import concat_facts

    fresh = facts_from(added)
    return concat_facts([kept, fresh]) if len(kept) else fresh


# ---------------------------------------------------------------- what people do not agree on


def ambiguous(ratings: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.DataFrame:
    """Outputs and criteria on which three people or more gave as many different labels: to be rated again.

    Columns: language, output, criterion, labels (`hi-1: 0 Bad; hi-2: ...`), comments. Criteria with two levels or
    without levels have none. ratings: of people.
    """
    rows = []
    answered = ratings[ratings["score"].notna()]
    for (output, name), mine in answered.groupby(["output", "criterion"], observed=True, sort=False):
        criterion = criteria[str(name)]
        if len(mine) < 3 or mine["score"].nunique() < len(mine) or not criterion.scale.levels:
            continue
        labels = {level.value: level.shown for level in criterion.scale.levels}
        said = [f"{rater}: {labels[score]}" for rater, score in zip(mine["rater"], mine["score"], strict=True)]
        comments = [f"{rater}: {text}" for rater, text in zip(mine["rater"], mine["comment"], strict=True) if text]
        rows.append([mine["language"].iloc[0], output, name, "; ".join(said), "; ".join(comments)])
    return pd.DataFrame(rows, columns=["language", "output", "criterion", "labels", "comments"])
