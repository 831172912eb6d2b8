"""Check people's answers against the tasks that they were given, and turn them into ratings.

A pair of a reference and an output is shown in a random order that people do not know. Scores of
pairs are turned so that a higher score is better for the output. This happens only here, for every
form, before answers become ratings.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd

from metal.building.also import ENDING, also_question, label_of, others, with_also
from metal.building.tasks import Answer
from metal.data.dataset import concat_facts
from metal.data.ratings import ALSO, facts_from
from metal.data.records import Criterion, Rating, Scale
from metal.errors import DataError, UnknownName, nearest

NO_ANSWER = "no answer"

Key = tuple[str, str, str]  # output, criterion, rater
_Scored = tuple[float | None, Answer]  # a score and the answer it is from


@dataclass(frozen=True)
class Assigned:
    """The tasks assigned to a person. asked: task -> the criteria on which to rate it."""

    rater: str
    language: str
    asked: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class CheckedAnswers:
    """The result of an import. facts: the dataset's ratings and the new ratings. raters: rater ->
    the languages that they rated.

    The other fields are counts. answered: rater -> tasks with an answer. partly: rater -> answered
    tasks with a criterion left blank. unanswered: rater -> tasks that still lack a criterion. same:
    ratings that the dataset had already. replaced: ratings with a changed score. blank: answers
    without any score. remarks: blank answers with a comment.
    """

    facts: pd.DataFrame
    raters: Mapping[str, set[str]] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)
    partly: Counter[str] = field(default_factory=Counter)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    same: int = 0
    replaced: int = 0
    blank: int = 0
    remarks: int = 0


@dataclass(frozen=True)
class Fresh:
    """A score imported now for an output and criterion, and the answer from which it comes."""

    score: float | None
    comment: str
    source: Answer
    also: str = ""

    def rating(self, key: Key) -> Rating:
        """The rating, if the dataset has none of this person for this output and criterion."""
        reason = "" if self.score is not None else NO_ANSWER
        return Rating(*key, self.score, reason, self.comment, also=self.also)


def check_answers(
    answers: Iterable[Answer],
    tasks: Mapping[str, str],
    handed_out: Mapping[str, Assigned],
    criteria: Mapping[str, Criterion],
    existing: pd.DataFrame,
    *,
    languages: Mapping[str, str],
    replace: bool = False,
) -> CheckedAnswers:
    """Check answers and turn them into ratings.

    tasks: task -> output. handed_out: by rater. existing: the dataset's ratings. languages: output
    -> language. A criterion that was left blank in an answered task becomes a rating without a
    score. A task without any score becomes no rating. A score or comment fills an earlier blank.
    With `replace`, a later score or comment, in the order given, also overrides an earlier one.
    Raises DataError for an unknown task or rater, a score off the scale, or a rater who answers
    twice differently; UnknownName for a criterion that the dataset does not have.
    """
    merged = _merged(answers, tasks, handed_out, criteria, replace)
    fresh = _fresh(merged, tasks, criteria)
    facts, same, replaced = _with_fresh(fresh, existing, replace)
    done = {*_keys(existing), *fresh}
    raters: dict[str, set[str]] = {}
    partly: Counter[str] = Counter()
    for (rater, task), scored in merged.scored.items():
        raters.setdefault(rater, set()).add(languages[tasks[task]])
        partly[rater] += any(score is None for score, _ in scored.values())
    left = {name: _open(person, tasks, criteria, done) for name, person in handed_out.items()}
    return CheckedAnswers(
        facts,
        raters,
        answered=Counter(rater for rater, _ in merged.scored),
        partly=partly,
        unanswered={name: number for name, number in left.items() if number},
        same=same,
        replaced=replaced,
        blank=merged.blank,
        remarks=merged.remarks,
    )


def check_answer(
    answer: Answer,
    tasks: Mapping[str, str],
    handed_out: Mapping[str, Assigned],
    criteria: Mapping[str, Criterion],
    pairs: Mapping[str, Pair],
) -> None:
    """Raise the error of `turned` or `check_answers` that this answer alone would cause. pairs: by
    task.
    """
    _check_known(answer, tasks, handed_out)
    for each in turned([answer], pairs):
        for name, score in _scores(each, criteria, criteria).items():
            _also(each, criteria[name], score)


@dataclass
class _Merged:
    """The answers of all files put together. scored, comments: by rater and task. blank, remarks:
    as in CheckedAnswers.
    """

    scored: dict[tuple[str, str], dict[str, _Scored]] = field(default_factory=dict)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    blank: int = 0
    remarks: int = 0


def _merged(
    answers: Iterable[Answer],
    tasks: Mapping[str, str],
    handed_out: Mapping[str, Assigned],
    criteria: Mapping[str, Criterion],
    replace: bool,
) -> _Merged:
    asked: dict[str, set[str]] = {}  # task -> the criteria that anybody was to rate it on
    for person in handed_out.values():
        for task, names in person.asked.items():
            asked.setdefault(task, set()).update(names)
    merged = _Merged()
    for answer in answers:
        _check_known(answer, tasks, handed_out)
        expected: Container[str] = asked.get(answer.task, criteria)
        if answer.rater in handed_out:
            expected = handed_out[answer.rater].asked[answer.task]
        scores = _scores(answer, criteria, expected)
        if all(score is None for score in scores.values()):
            merged.blank += 1
            merged.remarks += bool(answer.comment.strip())
        else:
            key = answer.rater, answer.task
            _merge(merged.scored.setdefault(key, {}), answer, scores, replace)
            before = merged.comments.get(key, "")
            merged.comments[key] = _comment(before, answer.comment, replace)
    return merged


def _fresh(
    merged: _Merged, tasks: Mapping[str, str], criteria: Mapping[str, Criterion]
) -> dict[Key, Fresh]:
    fresh = {}
    for (rater, task), scored in merged.scored.items():
        for name, (score, source) in scored.items():
            also = _also(source, criteria[name], score)
            comment = merged.comments[rater, task]
            fresh[tasks[task], name, rater] = Fresh(score, comment, source, also)
    return fresh


def _merge(
    scored: dict[str, _Scored], answer: Answer, scores: Mapping[str, float | None], replace: bool
) -> None:
    """Add the scores of another answer to the person's scores of the same task."""
    for name, score in scores.items():
        before, earlier = scored.get(name, (None, answer))
        if before is None or (replace and score is not None):
            scored[name] = score, answer
        elif score not in (None, before):
            raise DataError(
                answer.where,
                f"{answer.rater} gives task {answer.task} {score:g} on {name}, and {before:g} in"
                f" {earlier.where}",
                "Keep the file that counts, or pass `replace=True` to let the later one count",
            )


def _comment(before: str, now: str, replace: bool) -> str:
    return now if now.strip() and (replace or not before.strip()) else before


def _open(
    person: Assigned, tasks: Mapping[str, str], criteria: Iterable[str], done: Container[Key]
) -> int:
    """How many of a person's tasks still lack a criterion."""
    return sum(
        any((tasks[task], name, person.rater) not in done for name in names if name in criteria)
        for task, names in person.asked.items()
        if task in tasks
    )


def _check_known(
    answer: Answer, tasks: Mapping[str, str], handed_out: Mapping[str, Assigned]
) -> None:
    if answer.task not in tasks:
        raise DataError(
            answer.where,
            f"task {answer.task!r} is not in this dataset",
            "Is the file of another dataset, or was the column 'task' changed?",
        )
    person = handed_out.get(answer.rater)
    if person and answer.task not in person.asked:
        raise DataError(
            answer.where,
            f"task {answer.task} was not given to {answer.rater}",
            "Is the answer in the file of another person?",
        )
    if not person and ":" not in answer.rater:  # names given by a platform have a colon: mturk:A1B2
        raise DataError(
            answer.where,
            f"no tasks were assigned to rater {answer.rater!r};"
            f" {nearest(answer.rater, list(handed_out))}",
            "Leave the column 'rater' as it was handed out; for people of a crowd platform, pass"
            " `platform='NAME'`",
        )


def _scores(
    answer: Answer, criteria: Mapping[str, Criterion], asked: Container[str]
) -> dict[str, float | None]:
    """The scores of an answer by criterion. Blanks of criteria that were not asked are left out."""
    scores = {}
    second = with_also(criteria).keys() - criteria.keys()
    for name, text in answer.scores.items():
        if name in second:
            continue
        if name not in criteria:
            remedy = "Is the file of another dataset, or was the criterion renamed in dataset.toml?"
            raise UnknownName(f"{answer.where}: criterion", name, criteria, remedy)
        score = read_score(text, criteria[name], answer.where)
        if score is not None or name in asked:
            scores[name] = score
    return scores


def _also(answer: Answer, criterion: Criterion, score: float | None) -> str:
    """The values of other answers that the person says would do as well, as text."""
    text = answer.scores.get(f"{criterion.name}{ENDING}", "")
    if score is None or not text.strip():
        return ""
    question = also_question(criterion)
    label = label_of(question, read_score(text, question, answer.where))
    return "|".join(f"{value:g}" for value in others(criterion, label, score))


def read_score(text: str, criterion: Criterion, location: object) -> float | None:
    """Read the score in a cell, such as `2`, `2.0`, `2 Good` or `good`; None for a blank cell.

    A number is read as a value, even if it is also the label of another level. Raises DataError if
    the score is not on the criterion's scale, or could mean two numbers on it (`1,500`).
    """
    cell = " ".join(text.split())
    if not cell:
        return None
    scale = criterion.scale
    score = _number(cell.replace(",", "."))
    if score is not None and scale.allows(score):
        if _THOUSANDS.fullmatch(cell) and scale.allows(float(cell.replace(",", ""))):
            remedy = "Ask the rater what was meant, and write it without a comma"
            raise DataError(
                location, f"{cell[:40]!r} on {criterion.name} could be two numbers", remedy
            )
        return score
    names = [(level.shown, level.value) for level in scale.levels] + [
        (level.label, level.value) for level in scale.levels
    ]
    for name, value in names:
        if cell.casefold() == " ".join(name.split()).casefold():
            return float(value)
    raise DataError(
        location,
        f"{cell[:40]!r} is not on the scale of {criterion.name} ({scale.describe()})",
        "Ask the rater what was meant, and correct the file",
    )


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def _number(text: str) -> float | None:
    """The finite number that people would read in the text; unlike Python, which also reads `1_0`
    and `infinity`.
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _keys(facts: pd.DataFrame) -> list[Key]:
    """(output, criterion, rater) of each row."""
    rows = zip(facts["output"], facts["criterion"], facts["rater"], strict=True)
    return [(str(output), str(criterion), str(rater)) for output, criterion, rater in rows]


def _with_fresh(
    fresh: Mapping[Key, Fresh], existing: pd.DataFrame, replace: bool
) -> tuple[pd.DataFrame, int, int]:
    """Merge existing and fresh ratings; also return how many are the same, and how many were
    replaced.

    A fresh rating with a score replaces an existing rating without a score.
    """
    rows = {key: row for row, key in enumerate(_keys(existing))}
    scores, reasons, comments = (existing[name].tolist() for name in ("score", "reason", "comment"))
    alternatives = existing.get(ALSO, pd.Series("", existing.index)).tolist()
    dropped: list[int] = []
    added: list[Rating] = []
    same = replaced = 0
    for key, new in fresh.items():
        if key not in rows:
            added.append(new.rating(key))
            continue
        row = rows[key]
        score = None if math.isnan(scores[row]) else scores[row]
        before = _Before(score, reasons[row], comments[row], alternatives[row])
        if new.score in (None, score):
            same += 1
            rating = _noted(key, new, before, replace)
        else:
            replaced += score is not None
            rating = _changed(key, new, before, replace)
        if rating:
            added.append(rating)
            dropped.append(row)
    kept = existing.drop(index=existing.index[dropped]) if dropped else existing
    facts = facts_from(added)
    return concat_facts([kept, facts]) if len(kept) else facts, same, replaced


class _Before(NamedTuple):
    """A rating that the dataset had before this import."""

    score: float | None
    reason: str
    comment: str
    also: str


def _noted(key: Key, new: Fresh, before: _Before, replace: bool) -> Rating | None:
    """The existing rating with the new comment or other notes added; None if there is nothing to
    add.
    """
    comment, also = _comment(before.comment, new.comment, replace), new.also or before.also
    if (comment, also) == (before.comment, before.also):
        return None
    return Rating(*key, before.score, before.reason, comment, also=also)


def _changed(key: Key, new: Fresh, before: _Before, replace: bool) -> Rating:
    """The rating with its new score. Raises DataError if it had another score and must not be
    replaced.
    """
    if before.score is not None and not replace:
        raise DataError(
            new.source.where,
            f"{key[2]} gave task {new.source.task} {before.score:g} on {key[1]} in an earlier"
            f" import, {new.score:g} here",
            "Pass `replace=True` if the new one counts",
        )
    comment = _comment(before.comment, new.comment, replace)
    return Rating(*key, new.score, "", comment, also=new.also)


def ambiguous(ratings: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.DataFrame:
    """Find the outputs and criteria on which three or more people all gave different labels; they
    should be rated again.

    Columns: language, output, criterion, labels (`hi-1: 0 Bad; hi-2: ...`), comments. Criteria with
    two levels, or without levels, never occur. ratings: ratings of people.
    """
    rows = []
    scored = ratings[ratings["score"].notna()]
    for (output, name), group in scored.groupby(["output", "criterion"], observed=True, sort=False):
        criterion = criteria[str(name)]
        if len(group) < 3 or group["score"].nunique() < len(group) or not criterion.scale.levels:
            continue
        shown = {level.value: level.shown for level in criterion.scale.levels}
        labels = [
            f"{rater}: {shown[score]}"
            for rater, score in zip(group["rater"], group["score"], strict=True)
        ]
        comments = [
            f"{rater}: {text}"
            for rater, text in zip(group["rater"], group["comment"], strict=True)
            if text
        ]
        rows.append(
            [group["language"].iloc[0], output, name, "; ".join(labels), "; ".join(comments)]
        )
    return pd.DataFrame(rows, columns=["language", "output", "criterion", "labels", "comments"])


@dataclass(frozen=True)
class Pair:
    """A pair that was handed out.

    output_first: whether the output was the first of the two texts and the reference the second.
    compared: the criteria that say how the second text compares with the first, with the labels
    that people saw.
    """

    output_first: bool
    compared: Mapping[str, Criterion]


def turned(answers: Iterable[Answer], pairs: Mapping[str, Pair]) -> list[Answer]:
    """Turn comparisons so that their scores rate the output, and return all answers. pairs: by
    task.

    Criteria that do not compare, blanks, and answers to other tasks stay as they are. Raises
    DataError for a score off the scale, as `answers.read_score` does.
    """
    return [
        _turned(answer, pairs[answer.task]) if answer.task in pairs else answer
        for answer in answers
    ]


def _turned(answer: Answer, pair: Pair) -> Answer:
    scores = dict(answer.scores)
    for name, criterion in pair.compared.items():
        score = read_score(scores.get(name, ""), criterion, answer.where)
        if score is not None:
            scores[name] = repr(
                float(mirrored(score, criterion.scale) if pair.output_first else score)
            )
    return replace(answer, scores=scores)


def mirrored(score: float, scale: Scale) -> float:
    """Mirror a score: return the score that is as far from the other end of the scale.

    On levels, the i-th from the bottom becomes the i-th from the top; on a range the result is low
    + high - score. Mirroring twice gives the score again, up to rounding.

    >>> mirrored(2, Scale("interval", (), 1, 5))
    4
    """
    if scale.levels:
        return scale.values[-1 - scale.values.index(score)]
    if scale.low is None or scale.high is None:
        raise ValueError("a scale without bounds cannot be reversed")
    return min(max(scale.low + scale.high - score, scale.low), scale.high)
