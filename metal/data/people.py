"""Which people to compare with: all, a group, or some by name."""

from __future__ import annotations

from metal.data.dataset import Dataset
from metal.errors import UnknownName, UsageError


def people_named(dataset: Dataset, reference: str) -> tuple[str, ...]:
    """The people that `reference` names, in string order.

    reference: "" for all people, `GROUP` or `group=GROUP`, or `rater=A1,A2`. Raises UnknownName for a group or person
    that does not occur, UsageError when it names nobody.
    """
    humans = {rater.rater: rater for rater in dataset.raters.values() if rater.kind == "human"}
    what, equals, value = reference.partition("=")
    if not equals:
        what, value = "group", reference
    if what not in ("group", "rater"):
        raise UsageError(f"`reference` {reference}: write group=NAME or rater=NAME,NAME")
    named = [name.strip() for name in value.split(",") if name.strip()]
    if equals and not named:
        raise UsageError(f"`reference` {reference}: nobody is named; write {what}=NAME, or leave it out for all people")
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
        raise UsageError(
            f"dataset {dataset.card.name} has no human raters; judges are compared with people "
            "(check `kind` in raters.jsonl)"
        )
    return tuple(sorted(humans))
