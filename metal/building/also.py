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
    """The second question of a criterion: whether another of its answers would do as well. more:
    further answers, after the criterion's levels.
    """
    labels = (ONLY, *(level.label for level in criterion.scale.levels), *more)
    scale = Scale("nominal", tuple(Level(index, label) for index, label in enumerate(labels)))
    return Criterion(f"{criterion.name}{ENDING}", scale, label="Would another answer do as well?")


def with_second(
    rubrics: Mapping[str, Rubric], template: TaskTemplate, *, wanted: bool
) -> dict[str, Rubric]:
    """Add, if wanted, a second question to each rubric with three or more levels. People may leave
    second questions out. Raises UsageError for pairs, because their answers are turned on import.
    """
    criteria = [each.criterion for each in rubrics.values() if wanted]
    if wanted and (template.paired or any(each.scale.compares for each in criteria)):
        raise UsageError("`also` works only for single outputs, not for pairs")
    second = [also_question(each) for each in criteria if len(each.scale.levels) > 2]
    return {**rubrics} | {each.name: Rubric(each, optional=True) for each in second}


def with_also(criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
    """The criteria with all second questions that a returned form may contain."""
    questions = [also_question(each) for each in criteria.values() if each.scale.levels]
    return {each.name: each for each in questions} | {**criteria}


def others(criterion: Criterion, label: str, own: float) -> tuple[float, ...]:
    """The values of the other answers that would do as well, read from the answer to the second
    question.
    """
    if label == ONLY:
        return ()
    return tuple(
        level.value
        for level in criterion.scale.levels
        if level.value != own and label in (level.label, ALL)
    )


def label_of(question: Criterion, value: float | None) -> str:
    """The label of an answer to the second question; ONLY if the person left it out."""
    levels = question.scale.levels
    return next((level.label for level in levels if level.value == value), ONLY)
