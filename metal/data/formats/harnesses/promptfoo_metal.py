"""What `metal export --to promptfoo` adds to results, so that they can be read back: METAL's ids of
an output in the result's metadata, raters in the metadata of the result's components, and criteria
in the suite's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.data.formats.harnesses.exported import rater_in, unscored_in
from metal.data.formats.harnesses.values import mapping, objects

WITHOUT_TEXT = "without_text"  # in the metadata of a test: its source has no text
NO_GRADE = "no score on a scale with two ends"  # the reason of a score without a comment


def rater_of(component: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of the rater who gave the score of a component; none if METAL did not write it."""
    rater = rater_in(mapping(component.get("metadata")))
    comment = component.get("reason")
    return rater and {**rater, "comment": None if comment == NO_GRADE else comment}


def label_of(component: Mapping[str, Any]) -> Any:
    """The label of the level that a score is."""
    return mapping(component.get("metadata")).get("label")


def ids_of(result: Mapping[str, Any]) -> dict[str, str]:
    """The roles of the output of a result that METAL wrote; none for other results."""
    metadata = mapping(result.get("metadata"))
    ids = {name: metadata.get(name) for name in ("source", "output", "generator", "language")}
    components = objects(mapping(result.get("gradingResult")).get("componentResults"))
    of_metal = unscored_in(metadata) or any(map(rater_of, components))
    texts = {name: text for name, text in ids.items() if isinstance(text, str) and text}
    return texts if of_metal and len(texts) == len(ids) else {}
