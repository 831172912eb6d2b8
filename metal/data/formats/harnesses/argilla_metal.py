"""What `metal export --to argilla` adds to the metadata of records, so that they can be read back:
criteria, names of people, and what neither a response nor a suggestion says of a rating.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from metal.data.formats.harnesses.exported import rater_in
from metal.data.formats.harnesses.records import metadata_in, unpacked
from metal.data.formats.harnesses.values import mapping, objects
from metal.data.holdings import EXPORT_MARK, REFERENCE

CRITERIA = "metal_criteria"  # METAL's records of the criteria, as JSON
RATINGS = "metal_ratings"  # what METAL knows of each rating, as JSON
WITHOUT_TEXT = "without_text"  # the field of the record has an id
_OF_RATINGS = ("criterion", "score", "reason", "comment")


class OfMetal:
    """What METAL wrote into the metadata of a record; false if it wrote nothing. people: user id ->
    name.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self._is_metals = EXPORT_MARK in metadata
        self._reference = {"reference": metadata.get(REFERENCE)}
        self._has_text = not metadata.get(WITHOUT_TEXT)
        self.people = dict(_named_people(metadata))
        self._ratings = {_key(rating): rating for rating in _ratings_in(metadata)}

    def __bool__(self) -> bool:
        return self._is_metals

    def texts(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The texts in the fields of the record."""
        texts = {"source_text": fields.get("prompt"), "text": fields.get("response")}
        return (texts if self._has_text else dict.fromkeys(texts)) | self._reference

    def completed(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of a response or a suggestion with what METAL knows of it. The score is the
        answer's, which may have changed since.
        """
        of_rating = self._ratings.pop(_key(answer), {})
        own = {name: of_rating[name] for name in of_rating if name not in ("score", "reason")}
        return {**answer, **own}

    def left(self) -> Iterator[dict[str, Any]]:
        """The ratings that are neither a response nor a suggestion."""
        for rating in self._ratings.values():
            if "score" in rating or "reason" in rating:
                yield {"score": None, "reason": "no score"} | rating


def described_in(records: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The records of the criteria, which are in the first record."""
    for record in records:
        metadata = metadata_in(record, "metadata") or record
        if described := mapping(unpacked(metadata.get(CRITERIA))):
            return described
    return {}


def questions_of(criteria: Iterable[str]) -> dict[str, str]:
    """The name of the question of each criterion; alike names get a number.

    >>> questions_of(["Tone A", "tone a", "tone-a-2"])
    {'Tone A': 'tone-a', 'tone a': 'tone-a-2', 'tone-a-2': 'tone-a-2-2'}
    """
    questions: dict[str, str] = {}
    taken: set[str] = set()
    for criterion in criteria:
        question, number = slug(criterion), 2
        while question in taken:
            question, number = f"{slug(criterion)}-{number}", number + 1
        taken.add(question)
        questions[criterion] = question
    return questions


def slug(name: str) -> str:
    """The name with the letters that Argilla allows in names of questions and metadata."""
    allowed = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")
    return allowed or f"q-{uuid5(NAMESPACE_URL, name).hex[:8]}"


def _named_people(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """User ids with the names that were written beside them."""
    people = metadata.get("people")
    for entry in people if isinstance(people, list) else []:
        user, space, name = str(entry).partition(" ")
        if space and len(user) == 36:
            yield user, name


def _ratings_in(metadata: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The roles of each rating of the output."""
    for rating in objects(unpacked(metadata.get(RATINGS))):
        own = rater_in(rating)
        if own and isinstance(rating.get("criterion"), str):
            yield own | {name: rating[name] for name in _OF_RATINGS if name in rating}


def _key(roles: Mapping[str, Any]) -> tuple[str, str]:
    return str(roles["rater"]), str(roles["criterion"])
