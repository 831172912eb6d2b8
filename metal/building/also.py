"""The second question of a form: which other answer would do as well."""

from __future__ import annotations

from collections.abc import Mapping

from metal.building.tasks import TaskTemplate
from metal.data.records import Criterion, Level, Scale
from metal.errors import UsageError
from metal.raters.judges.rubric import Rubric

ENDING = "_also"  # of the name of the question
ONLY, ALL = "No, only this one", "Yes, every answer that was given"


def also_question(criterion: Criterion, *more: str) -> Criterion:
    """Whether another of a criterion's answers would do as well. more: answers besides these."""
    labels = (ONLY, *(level.label for level in criterion.scale.levels), *more)
    scale = Scale("nominal", tuple(Level(index, label) for index, label in enumerate(labels)))
    return Criterion(f"{criterion.name}{ENDING}", scale, label="Would another answer do as well?")


def with_second(
    rubrics: Mapping[str, Rubric], template: TaskTemplate, *, wanted: bool
) -> dict[str, Rubric]:
    """The rubrics and, if wanted, the second questions of those with three or more levels, which
    people may leave out. Raises UsageError for pairs, whose answers are turned when they come back.
    """
    criteria = [each.criterion for each in rubrics.values() if wanted]
    if wanted and (template.paired or any(each.scale.compares for each in criteria)):
        raise UsageError("`also` asks about single outputs; a pair has one answer")
    second = [also_question(each) for each in criteria if len(each.scale.levels) > 2]
    return {**rubrics} | {each.name: Rubric(each, optional=True) for each in second}


def with_also(criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
    """The criteria and their second questions, as a form that comes back may have them."""
    questions = [also_question(each) for each in criteria.values() if each.scale.levels]
    return {each.name: each for each in questions} | {**criteria}


def others(criterion: Criterion, label: str, own: float) -> tuple[float, ...]:
    """The values of other answers that would do as well, by the answer to the question."""
    if label == ONLY:
        return ()
    return tuple(
        level.value
        for level in criterion.scale.levels
        if level.value != own and label in (level.label, ALL)
    )


def label_of(question: Criterion, value: float | None) -> str:
    """The label of an answer; ONLY if the question was left out."""
    levels = question.scale.levels
    return next((level.label for level in levels if level.value == value), ONLY)
