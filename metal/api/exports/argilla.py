"""Records of Argilla 2, as `Dataset.records.from_json` reads them: people's answers are responses,
a judge's are suggestions.

A level is written as its label, or as a number if the labels are numbers; other scores as numbers.
A response has the UUID of a user: a person's name if it is one, else one made from the name, which
`metadata.people` explains. Argilla holds one suggestion for each question: that of the judge that
comes first in the data. The metadata have other judges' scores, and as JSON what Argilla has no
field for: kinds, groups, comments, missing scores (`metal_ratings`) and, in the first record, the
criteria (`metal_criteria`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from metal.api.exports import MARK, Exported, Target, filled_in, json_text, write_list
from metal.data.formats.harnesses.argilla_metal import (
    CRITERIA,
    RATINGS,
    WITHOUT_TEXT,
    questions_of,
    slug,
)
from metal.data.holdings import REPEAT_OF
from metal.data.progress import Progress
from metal.data.records import Criterion
from metal.data.text import plural

_BESIDE = ("rater", "kind", "group", *REPEAT_OF, "criterion", "comment", "confidence")


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a record for each rated output."""
    left: Counter[str] = Counter()
    write_list(path, _records(exported, left, progress))
    missing = int(exported.table["score"].isna().sum())
    if missing:
        left["without a score are in the metadata: Argilla has no missing answers"] = missing
    return [f"{plural(count, 'rating')} {what}" for what, count in left.items() if count]


def _records(
    exported: Exported, left: Counter[str], progress: Progress
) -> Iterator[dict[str, Any]]:
    described = {CRITERIA: json_text(exported.criteria)}  # in the first record
    criteria = exported.dataset.criteria
    questions = questions_of(criteria)
    for rated in exported.outputs(progress):
        texts = filled_in({"prompt": rated.source.text, "response": rated.output.text})
        people = [each for each in rated.ratings if each["kind"] == "human"]
        judges = [each for each in rated.ratings if each["kind"] != "human"]
        suggested, further = _first_and_further(judges)
        left["by further judges are in the metadata: a question holds one suggestion"] += len(
            further
        )
        yield {
            "id": rated.output.output,
            "fields": texts or {"response": rated.output.output},  # a record needs a field
            "metadata": MARK
            | rated.about
            | rated.reference
            | ({} if texts else {WITHOUT_TEXT: "yes"})
            | _of_people(people)
            | _of_judges(judges, further)
            | {RATINGS: json_text([_beside(each, further) for each in rated.ratings])}
            | described,
            "suggestions": _suggestions(suggested, criteria, questions),
            "responses": _responses(people, criteria, questions),
            "vectors": {},
        }
        described = {}


def _of_people(people: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The names of people behind the ids of users."""
    raters = dict.fromkeys(each["rater"] for each in people)
    return filled_in(
        {"people": [f"{user_id(name)} {name}" for name in raters if user_id(name) != name]}
    )


def _of_judges(
    judges: Iterable[Mapping[str, Any]], further: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The scores of further judges, and an audit's verdicts, to filter records by."""
    fields = {_judged(rating): rating["score"] for rating in further}
    for rating in judges:
        fields |= filled_in({f"{_judged(rating)}_verdict": rating.get("verdict")})
    return fields


def _responses(
    people: Iterable[Mapping[str, Any]],
    criteria: Mapping[str, Criterion],
    questions: Mapping[str, str],
) -> dict[str, list[dict[str, Any]]]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for rating in people:
        if rating["score"] is not None:
            response = {"value": _value(rating, criteria), "user_id": user_id(rating["rater"])}
            responses.setdefault(questions[rating["criterion"]], []).append(response)
    return responses


def _first_and_further(
    judges: Iterable[Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The first score on each criterion, which is suggested, and those of later judges."""
    first: dict[str, Mapping[str, Any]] = {}
    further = []
    for rating in judges:
        if rating["score"] is None:
            continue
        if first.setdefault(rating["criterion"], rating) is not rating:
            further.append(rating)
    return list(first.values()), further


def _suggestions(
    judges: Iterable[Mapping[str, Any]],
    criteria: Mapping[str, Criterion],
    questions: Mapping[str, str],
) -> dict[str, dict[str, Any]]:
    suggestions = {}
    for rating in judges:
        suggestion = {"value": _value(rating, criteria), "agent": rating["rater"]}
        suggestion |= filled_in({"score": rating.get("confidence")})
        suggestions[questions[rating["criterion"]]] = suggestion
    return suggestions


def _judged(rating: Mapping[str, Any]) -> str:
    return slug(f"{rating['rater']}_{rating['criterion']}")


def _beside(rating: Mapping[str, Any], further: Container[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts about a rating that neither a response nor a suggestion holds. further: the ratings
    that are written as neither.
    """
    facts = filled_in({name: rating.get(name) for name in _BESIDE})
    if rating["score"] is None:
        return facts | {"reason": rating["reason"]}
    return facts | ({"score": rating["score"]} if rating in further else {})


def _value(rating: Mapping[str, Any], criteria: Mapping[str, Criterion]) -> Any:
    """The answer to a question: the number, or the label of the level."""
    labels = [level.label for level in criteria[rating["criterion"]].scale.levels]
    if not labels or all(re.fullmatch(r"-?\d+(\.\d+)?", label) for label in labels):
        return rating["score"]
    return rating["label"]


def user_id(name: str) -> str:
    """The name if it is a UUID, else a UUID that is always the same for this name."""
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"metal:{name}"))


TARGET = Target(
    "records of Argilla: responses of people, suggestions of judges",
    write,
    lacks=("pairs", "further references"),
)
