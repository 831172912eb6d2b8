"""What people sent back, checked against what they were given, becomes ratings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from metal.build.tasks import Answer
from metal.errors import DataError, nearest
from metal.ratings import facts_from
from metal.records import Criterion, Rating

NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Given:
    """What a person was given. criteria: those the tasks asked about."""

    rater: str
    language: str
    tasks: tuple[str, ...]
    criteria: tuple[str, ...]


@dataclass
class Returned:
    """An import. facts: the ratings to add, those replaced left out of the dataset's own.

    partly: tasks with a criterion left blank. open: rater -> tasks given and not answered. same: ratings that were
    there already. replaced: ratings whose score is another one now. blank: answers that say nothing at all.
    """

    facts: pd.DataFrame
    raters: Mapping[str, str]  # rater -> language, of those the dataset does not know yet
    answered: Counter[str] = field(default_factory=Counter)
    partly: Counter[str] = field(default_factory=Counter)
    open: Mapping[str, int] = field(default_factory=dict)
    same: int = 0
    replaced: int = 0
    blank: int = 0


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
    A criterion left blank in a task that was answered is a rating without a score; a task without any answer is none.
    With replace a later answer takes the place of an earlier one, in the order given.
    Raises DataError for an unknown task or rater, a score off the scale, a rater who answers twice differently.
    """
    found: dict[tuple[str, str], Answer] = {}
    blank = 0
    for answer in answers:
        _check_known(answer, tasks, given)
        if not any(text.strip() for text in answer.scores.values()):
            blank += 1
            continue
        key = (answer.rater, answer.task)
        earlier = found.get(key)
        if earlier and not replace and _differs(earlier, answer, criteria):
            raise DataError(
                answer.where,
                f"{answer.rater} answers task {answer.task} otherwise than in {earlier.where}",
                "Keep the file that counts, or pass --replace to let the later one count",
            )
        found[key] = answer
    fresh = {
        (tasks[answer.task], name, answer.rater): (score, answer)
        for answer in found.values()
        for name, score in _scores(answer, criteria).items()
    }
    returned = _merged(fresh, existing, replace)
    returned.blank = blank
    for answer in found.values():
        returned.answered[answer.rater] += 1
        returned.partly[answer.rater] += any(not text.strip() for text in answer.scores.values())
    known = set(zip(existing["rater"], existing["output"], strict=True)) if len(existing) else set()
    done = known | {(rater, tasks[task]) for rater, task in found}
    returned.open = {name: left for name, one in given.items() if (left := _left(one, tasks, done))}
    returned.raters = {rater: languages[tasks[task]] for rater, task in found}
    return returned


def _left(given: Given, tasks: Mapping[str, str], done: set[tuple[str, str]]) -> int:
    """How many of a person's tasks are not done."""
    return sum(task in tasks and (given.rater, tasks[task]) not in done for task in given.tasks)


def _check_known(answer: Answer, tasks: Mapping[str, str], given: Mapping[str, Given]) -> None:
    if answer.task not in tasks:
        raise DataError(
            answer.where,
            f"task {answer.task!r} is none of this dataset's",
            "Is the file of another dataset, or was the column 'task' changed?",
        )
    person = given.get(answer.rater)
    if person and answer.task not in person.tasks:
        raise DataError(
            answer.where,
            f"task {answer.task} was not given to {answer.rater}",
            "Is the answer in the file of another person?",
        )
    if not person and ":" not in answer.rater:  # crowd platforms name their workers themselves: mturk:A1B2
        raise DataError(
            answer.where,
            f"rater {answer.rater!r} was given nothing; {nearest(answer.rater, list(given))}",
            "The column 'rater' stays as it was handed out",
        )


def _differs(one: Answer, other: Answer, criteria: Mapping[str, Criterion]) -> bool:
    mine, theirs = _scores(one, criteria), _scores(other, criteria)
    return any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def _scores(answer: Answer, criteria: Mapping[str, Criterion]) -> dict[str, float | None]:
    return {name: read_score(text, criteria[name], answer.where) for name, text in answer.scores.items()}


def read_score(text: str, criterion: Criterion, where: object) -> float | None:
    """The score that a cell stands for: `2`, `2.0`, `2 Good`, `good`; None for a blank one.

    Raises DataError when it is not on the criterion's scale.
    """
    said = " ".join(text.split())
    if not said:
        return None
    for level in criterion.scale.levels:
        if said.casefold() in (level.shown.casefold(), level.label.casefold()):
            return float(level.value)
    try:
        score = float(said.replace(",", "."))
    except ValueError:
        score = math.nan
    if math.isnan(score) or not criterion.scale.allows(score):
        raise DataError(
            where,
            f"{said[:40]!r} is not on the scale of {criterion.name} ({criterion.scale.describe()})",
            "Ask the rater what was meant, and correct the file",
        )
    return score


Key = tuple[str, str, str]


def _merged(fresh: Mapping[Key, tuple[float | None, Answer]], existing: pd.DataFrame, replace: bool) -> Returned:
    """The dataset's ratings with the fresh ones; what is there without a score gives way to one."""
    places: dict[Key, int] = {}
    if len(existing):
        rows = zip(existing["output"], existing["criterion"], existing["rater"], strict=True)
        places = {(str(output), str(criterion), str(rater)): row for row, (output, criterion, rater) in enumerate(rows)}
    before = existing["score"].to_numpy()
    dropped: list[int] = []
    added: list[Rating] = []
    same = replaced = 0
    for key, (score, answer) in fresh.items():
        row = places.get(key)
        if row is not None:
            old = None if math.isnan(before[row]) else float(before[row])
            if old == score or score is None:
                same += 1
                continue
            if old is not None and not replace:
                raise DataError(
                    answer.where,
                    f"{answer.rater} gave task {answer.task} {old:g} on {key[1]} in an earlier import, {score:g} here",
                    "Pass --replace if the new one counts",
                )
            replaced += old is not None
            dropped.append(row)
        added.append(Rating(*key, score, "" if score is not None else NO_ANSWER, answer.comment))
    kept: Any = existing.drop(index=existing.index[dropped]) if dropped else existing
    return Returned(_together(kept, added), {}, same=same, replaced=replaced)


def _together(kept: pd.DataFrame, added: Sequence[Rating]) -> pd.DataFrame:
    from metal.dataset import concat_facts

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
