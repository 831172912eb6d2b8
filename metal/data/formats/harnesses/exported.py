"""What `metal export` adds to the metadata of ratings and outputs so that METAL can read them back
from any program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.data.formats.harnesses.values import objects
from metal.data.holdings import OF_UNSCORED, REPEAT_OF, UNSCORED
from metal.data.records import KINDS

_NEEDED = ("rater", "kind", "criterion", "reason")


def rater_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of the rater in the metadata of a rating; none if METAL did not write them."""
    if metadata.get("kind") not in KINDS or not isinstance(metadata.get("rater"), str):
        return {}
    return {
        name: metadata.get(name) for name in ("rater", "kind", "group", "confidence", *REPEAT_OF)
    }


def unscored_in(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The roles of the ratings without a score in the metadata of an output."""
    answers = objects(metadata.get(UNSCORED))
    ratings = [{name: answer.get(name) for name in OF_UNSCORED} for answer in answers]
    return [
        rating
        for rating in ratings
        if all(rating[name] for name in _NEEDED) and rating["kind"] in KINDS
    ]
