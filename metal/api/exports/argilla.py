"""Records of Argilla 2, as `Dataset.records.from_json` reads them: people's answers are responses,
a judge's are suggestions.

A level is written as its label, or as a number if the labels are numbers; other scores as numbers.
A response has the UUID of a user: a person's name if it is one, else one made from the name, which
`metadata.people` explains. Argilla holds one suggestion for each question: that of the judge that
comes first in the data; other judges' answers are in the metadata. The metadata of the first
record has the criteria as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from metal.api.exports import MARK, Exported, Target, filled_in, json_text, write_list
from metal.data.formats.harnesses.argilla import CRITERIA, slug
from metal.data.progress import Progress
from metal.data.records import Criterion
from metal.data.text import plural


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a record for each rated output."""
    left: Counter[str] = Counter()
    write_list(path, _records(exported, left, progress))
    missing = int(exported.table["score"].isna().sum())
    if missing:
        left["without a score left out: Argilla has no missing answers"] = missing
    return [f"{plural(count, 'rating')} {what}" for what, count in left.items() if count]


def _records(
    exported: Exported, left: Counter[str], progress: Progress
) -> Iterator[dict[str, Any]]:
    described = {CRITERIA: json_text(exported.criteria)}  # in the first record
    for rated in exported.outputs(progress):
        fields = {"prompt": rated.source.text, "response": rated.output.text}
        people = [each for each in rated.ratings if each["kind"] == "human"]
        judges = [each for each in rated.ratings if each["kind"] != "human"]
        raters = dict.fromkeys(each["rater"] for each in people)
        names = [f"{user_id(name)} {name}" for name in raters if user_id(name) != name]
        suggestions, further = _suggestions(judges, exported.dataset.criteria)
        left["by further judges in the metadata: a question holds one suggestion"] += sum(
            not name.endswith("_verdict") for name in further
        )
        yield {
            "id": rated.output.output,
            "fields": filled_in(fields) or {"response": rated.output.output},
            "metadata": MARK | rated.about | filled_in({"people": names}) | further | described,
            "suggestions": suggestions,
            "responses": _responses(people, exported.dataset.criteria),
            "vectors": {},
        }
        described = {}


def _responses(
    people: Iterable[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> dict[str, list[dict[str, Any]]]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for rating in people:
        if rating["score"] is not None:
            response = {"value": _value(rating, criteria), "user_id": user_id(rating["rater"])}
            responses.setdefault(slug(rating["criterion"]), []).append(response)
    return responses


def _suggestions(
    judges: Iterable[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The suggestion for each question, and what the metadata has of judges: an audit's verdicts,
    and the scores of those who came later.
    """
    suggestions: dict[str, dict[str, Any]] = {}
    further: dict[str, Any] = {}
    for rating in judges:
        question = slug(rating["criterion"])
        name = slug(f"{rating['rater']}_{rating['criterion']}")
        further |= filled_in({f"{name}_verdict": rating.get("verdict")})
        if rating["score"] is None:
            continue
        if question in suggestions:
            further[name] = rating["score"]
        else:
            suggestion = {"value": _value(rating, criteria), "agent": rating["rater"]}
            suggestion |= filled_in({"score": rating.get("confidence")})
            suggestions[question] = suggestion
    return suggestions, further


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


TARGET = Target("records of Argilla: responses of people, suggestions of judges", write)
