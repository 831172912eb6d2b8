"""The people of a dataset that judges and generators are compared with."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from metal.data.text import divided, first_few
from metal.errors import UsageError, check_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from metal.data.dataset import Dataset
    from metal.data.records import Rater

NO_CRITERION = "left out, as the judges have"  # in notes on people's scores that name no criterion
NO_PERSON = "no score by a person in it; to add some, "  # begins a note on results of a harness
MEANS = "mean scores: "  # begins a note on results of a harness
WIN_RATES = "win rates (not length-controlled): "  # begins a note on results of AlpacaEval
NAMELESS = "people without a name: "  # begins a note on results of a harness
ONE_PAGE = "not all pages: "  # begins a note on the answer of a tool's API
PERHAPS = "if people gave"  # in notes on scores that may be people's


def people_in(raters: Mapping[str, Rater]) -> list[str]:
    """The names of the raters who are people."""
    return [name for name, rater in raters.items() if rater.kind == "human"]


def judges_in(raters: Mapping[str, Rater]) -> list[str]:
    """The names of the raters who are not people: LLMs, metrics and baselines."""
    return [name for name, rater in raters.items() if rater.kind != "human"]


def who_saw(raters: Mapping[str, Rater], people: Iterable[str]) -> dict[str, frozenset[str]]:
    """{judge: the people whose records say that they saw its answers}, only of judges that somebody
    saw.

    Whoever saw a judge's answers also counts as having seen its repeated answers, and a part of the
    answers of any jury that includes it.
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
    named = divided(value)
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
    if of_tool := [line for line in dataset.report if line.startswith(NO_PERSON)]:
        return f"{problem}. {_in_their_tool(dataset, of_tool[0])}"
    perhaps = first_few(_perhaps_people(dataset.raters), 3)
    if dataset.folder:
        people = f'If some of {perhaps} are people, write their kind "human" in'
        people = f"{people} {dataset.folder}/raters.jsonl; if none is, let people rate"
        command = f"metal annotate export {shlex.quote(str(dataset.folder))}"
    else:
        people = f'If some of {perhaps} are people, name them: `kinds={{"NAME": "human"}}`;'
        people = f"{people} if none is, let people rate"
        command = "metal annotate export"
        if dataset.origin:
            command = f"metal import {shlex.quote(str(dataset.origin))}, then {command}"
    return f"{problem}. {people if perhaps else 'Let people rate'}: {command}"


def _perhaps_people(raters: Mapping[str, Rater]) -> list[str]:
    """Judges who may be people, because nothing but their names says that they are models."""
    return sorted(
        name
        for name, rater in raters.items()
        if rater.kind == "llm" and "/" not in name and "model" not in rater.about
    )


def _in_their_tool(dataset: Dataset, note: str) -> str:
    """What to do if the results of a tool mark their raters, and none of them is a person. note: on
    how people's scores get into these results.
    """
    perhaps = [line for line in dataset.report if PERHAPS in line]
    remedies = [*perhaps[:1], f"To add people, {note.removeprefix(NO_PERSON)}"]
    if dataset.origin:
        folder = f"datasets/{dataset.card.name}"
        files = [shlex.quote(str(file)) for file in (dataset.origin, folder)]
        command = "metal import {} --out {}, then metal annotate export {}".format(*files, files[1])
        remedies.append(f"Or let people rate with METAL: {command}")
    return ". ".join(remedies)
