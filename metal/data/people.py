"""The people of a dataset that judges and generators are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metal.data.text import first_few
from metal.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from metal.data.dataset import Dataset


def people_named(dataset: Dataset, reference: str) -> tuple[str, ...]:
    """The people that `reference` names, in string order.

    reference: "" for all people, `GROUP` or `group=GROUP`, or `rater=A1,A2`. Raises UnknownName for
    a group or person that does not occur, UsageError when it names nobody.
    """
    humans = {rater.rater: rater for rater in dataset.raters.values() if rater.kind == "human"}
    what, equals, value = reference.partition("=")
    if not equals:
        what, value = "group", reference
    if what not in ("group", "rater"):
        raise UsageError(f"`reference` {reference}: write group=NAME or rater=NAME,NAME")
    named = [name.strip() for name in value.split(",") if name.strip()]
    if equals and not named:
        raise UsageError(
            f"`reference` {reference}: nobody is named; write {what}=NAME, or leave it out for all"
            " people"
        )
    if value and what == "group":
        groups = sorted({rater.group for rater in humans.values() if rater.group})
        if value not in groups:
            raise UnknownName("group of people", value, groups)
        return tuple(sorted(name for name, rater in humans.items() if rater.group == value))
    if value:
        for name in named:
            if name not in humans:
                raise UnknownName("person", name, sorted(humans))
        return tuple(sorted(set(named)))
    if not humans:
        raise UsageError(_no_people(dataset))
    return tuple(sorted(humans))


def _no_people(dataset: Dataset) -> str:
    """That nobody in the dataset is a person, and how to say who is: in its folder, or when it is
    read.
    """
    problem = f"dataset {dataset.card.name} has no human raters; judges are compared with people"
    if not dataset.raters:
        return problem
    raters = first_few(sorted(dataset.raters), 3)
    if dataset.folder:
        return (
            f'{problem}. If some of {raters} are people, write their kind "human" in'
            f" {dataset.folder}/raters.jsonl"
        )
    return f'{problem}. If some of {raters} are people, name them: `kinds={{"NAME": "human"}}`'
