"""The people of a dataset that judges and generators are compared with."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from metal.data.text import first_few
from metal.errors import UsageError, check_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from metal.data.dataset import Dataset
    from metal.data.records import Rater

NO_CRITERION = "left out, as the judges have"  # in notes on people's scores that name no criterion


def people_in(raters: Mapping[str, Rater]) -> list[str]:
    """The names of the raters who are people."""
    return [name for name, rater in raters.items() if rater.kind == "human"]


def judges_in(raters: Mapping[str, Rater]) -> list[str]:
    """The names of the raters who are not: LLMs, metrics and baselines."""
    return [name for name, rater in raters.items() if rater.kind != "human"]


def who_saw(raters: Mapping[str, Rater], people: Iterable[str]) -> dict[str, frozenset[str]]:
    """{judge: the people whose records say that they saw its answers}, only of judges that somebody
    saw.

    Whoever saw a judge also saw it asked again, and a part of any jury that it sits in.
    """
    assisted = [rater for rater in map(raters.__getitem__, people) if rater.assisted_by]
    saw: dict[str, frozenset[str]] = {}
    for name in judges_in(raters):
        facts = raters[name].about
        names = {name, facts.get("repeats", name), *facts.get("members", ())}
        if aided := {each.rater for each in assisted if not names.isdisjoint(each.assisted_by)}:
            saw[name] = frozenset(aided)
    return saw


def without(people: Iterable[str], aided: Collection[str]) -> list[str]:
    """The people who are not among those who saw a judge's answers."""
    return [person for person in people if person not in aided]


def people_named(dataset: Dataset, reference: str) -> tuple[str, ...]:
    """The people that `reference` names, in string order.

    reference: "" for all people, `GROUP` or `group=GROUP`, or `rater=A1,A2`. Raises UnknownName for
    a group or person that does not occur, UsageError if it names nobody.
    """
    group_of = {
        name: person.group for name, person in dataset.raters.items() if person.kind == "human"
    }
    what, equals, value = reference.partition("=")
    if not equals:
        what, value = "group", reference
    if what not in ("group", "rater"):
        raise UsageError(f"`reference` {reference}: write group=NAME or rater=NAME,NAME")
    named = list(filter(None, map(str.strip, value.split(","))))
    if equals and not named:
        raise UsageError(
            f"`reference` {reference}: nobody is named; write {what}=NAME, or leave it out for all"
            " people"
        )
    if not value:
        if not group_of:
            raise UsageError(_no_people(dataset))
        return tuple(sorted(group_of))
    if what == "group":
        groups = sorted({*group_of.values()} - {""})
        check_known("group of people", [value], groups)
        return tuple(sorted(name for name, group in group_of.items() if group == value))
    check_known("person", named, sorted(group_of))
    return tuple(sorted(set(named)))


def _no_people(dataset: Dataset) -> str:
    """The message that nobody in the dataset is a person, how to say who is (in its folder, or when
    it is read), and how to ask people.
    """
    problem = f"dataset {dataset.card.name} has no human raters; judges are compared with people"
    if not dataset.raters:
        return problem
    if unclear := [line for line in dataset.report if NO_CRITERION in line]:
        more = "; ..." if len(unclear) > 3 else ""
        return f"{problem}. Not read: {'; '.join(unclear[:3])}{more}"
    raters = first_few(sorted(dataset.raters), 3)
    if dataset.folder:
        return (
            f'{problem}. If some of {raters} are people, write their kind "human" in'
            f" {dataset.folder}/raters.jsonl; if none is, let people rate:"
            f" metal annotate export {shlex.quote(str(dataset.folder))}"
        )
    first = ""
    if dataset.origin:
        first = f"metal import {shlex.quote(str(dataset.origin))}, then "
    return (
        f'{problem}. If some of {raters} are people, name them: `kinds={{"NAME": "human"}}`;'
        f" if none is, let people rate: {first}metal annotate export"
    )
