"""Tasks of Label Studio with annotations (people) and predictions (judges).

Fields and controls have the names of METAL's own interface (metal.building.forms.label_studio), so
that the tasks fit into a project with an `interface-LANGUAGE.xml` of `metal annotate export`. What
METAL needs to read them back is in `meta` of results and tasks; the `meta` of the first task holds
the criteria.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metal.api.exports import MARK, Exported, RatedOutput, Target, filled_in, write_list
from metal.building.forms.label_studio import control_of, harmless, level_text
from metal.data.holdings import CRITERIA, REPEAT_OF, UNSCORED
from metal.data.progress import Progress
from metal.data.records import Criterion
from metal.data.text import plural

_KEPT = (
    *("rater", "kind", "group", *REPEAT_OF, "label", "confidence", "comment"),
    *("verdict", "verdict_reason"),
)
SHOWN = "output"  # the text that answers are about


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a task for each rated output."""
    write_list(path, _tasks(exported, progress))
    missing = int(exported.table["score"].isna().sum())
    if not missing:
        return ()
    return [
        f"{plural(missing, 'rating')} without a score (skipped or empty) are in the meta of their"
        " tasks"
    ]


def _tasks(exported: Exported, progress: Progress) -> Iterator[dict[str, Any]]:
    described = exported.criteria  # in the first task
    for rated in exported.outputs(progress):
        by_rater: dict[str, list[Mapping[str, Any]]] = {}
        for rating in rated.ratings:
            by_rater.setdefault(rating["rater"], []).append(rating)
        people = [rows for rows in by_rater.values() if rows[0]["kind"] == "human"]
        judges = [rows for rows in by_rater.values() if rows[0]["kind"] != "human"]
        criteria = exported.dataset.criteria
        meta = filled_in({CRITERIA: described, UNSCORED: rated.unscored})
        described = {}
        yield {
            "data": _data(rated),
            "annotations": [_annotation(rows, criteria) for rows in people],
            "predictions": [_prediction(rows, criteria) for rows in judges],
        } | filled_in({"meta": meta})


def _data(rated: RatedOutput) -> dict[str, str]:
    """The fields of a task. No field may be called `source`, because the page would show the task's
    entire record in its place.
    """
    ids = {f"{name}_id" if name == "source" else name: text for name, text in rated.about.items()}
    texts = {
        "title": rated.source.title,
        "source_text": rated.source.text,
        "output_text": rated.output.text,
    }
    fields = MARK | {"task": rated.output.output} | ids | texts | rated.reference
    return {name: harmless(text) for name, text in fields.items()}


def _annotation(
    ratings: list[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> dict[str, Any]:
    """What a person answered. A login is an email or a number; other names are in `meta`."""
    rater = ratings[0]["rater"]
    login: Any = None
    if rater.isdecimal():
        login = int(rater)
    elif "@" in rater:
        login = {"email": rater}
    results = _results(ratings, criteria)
    comments = [rating["comment"] for rating in ratings if rating["comment"]]
    if comments:
        text = {"text": [harmless("\n".join(dict.fromkeys(comments)))]}
        results.append(_result("comment", "textarea", text, {"rater": rater}))
    return filled_in({"completed_by": login}) | {"result": results, "was_cancelled": not results}


def _prediction(
    ratings: list[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> dict[str, Any]:
    confidences = [rating.get("confidence") for rating in ratings]
    numbers = [each for each in confidences if each is not None]
    prediction = {"model_version": ratings[0]["rater"], "result": _results(ratings, criteria)}
    return prediction | filled_in({"score": sum(numbers) / len(numbers) if numbers else None})


def _results(
    ratings: list[Mapping[str, Any]], criteria: Mapping[str, Criterion]
) -> list[dict[str, Any]]:
    results = []
    for rating in ratings:
        if rating["score"] is None:
            continue
        meta = filled_in({name: rating.get(name) for name in _KEPT})
        control = control_of(rating["criterion"])
        if criteria[rating["criterion"]].scale.levels:
            choices = {"choices": [level_text(float(rating["score"]))]}
            results.append(_result(control, "choices", choices, meta))
        else:
            results.append(_result(control, "number", {"number": rating["score"]}, meta))
    return results


def _result(
    control: str, kind: str, value: Mapping[str, Any], meta: Mapping[str, Any]
) -> dict[str, Any]:
    return {"from_name": control, "to_name": SHOWN, "type": kind, "value": value, "meta": meta}


TARGET = Target(
    "tasks of Label Studio with annotations and predictions",
    write,
    lacks=("pairs", "further references"),
)
