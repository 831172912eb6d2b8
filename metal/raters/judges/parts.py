"""Read the verdict on one criterion in a reply about several."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metal.data.records import Scale
from metal.raters.judges import forms, not_verdicts
from metal.raters.judges.not_verdicts import Surroundings
from metal.raters.judges.reader import (
    CUT_OFF,
    EMPTY,
    LEFT_OUT,
    UNPARSABLE,
    WORD,
    ReplyVerdict,
    prose_around,
    read_reply,
)
from metal.raters.judges.structured import objects_in, parts_under
from metal.raters.judges.thoughts import without_thoughts


class CriterionPart(NamedTuple):
    """What a reply about several criteria says about one. at: the span of the object around it."""

    at: tuple[int, int]
    value: Any


class Parts(NamedTuple):
    """The parts of a reply that count for one criterion, or the reason why there is none.

    text: the reply without thoughts.
    """

    text: str
    counting: Sequence[CriterionPart] = ()
    reason: str = ""

    @property
    def written(self) -> str:
        """The parts as a reply about this criterion alone, each on its line."""
        values = [part.value for part in self.counting]
        objects = (value if isinstance(value, dict) else {"score": value} for value in values)
        return "\n".join(map(json.dumps, objects))


def read_part(
    text: str,
    scale: Scale,
    letters: Mapping[str, float] | None,
    criterion: str,
    truncated: bool = False,
    numbered: bool = False,
) -> ReplyVerdict:
    """Read the verdict on one criterion in a reply about several: an object or a score under the
    criterion's name, or an object that names the criterion.

    Prose is not read, because it is about all criteria. If there are several objects, only objects
    that open or close the reply count (in a truncated reply, only those that close it). Quoted or
    corrected objects never count. An object that is cut off counts for the criteria that are
    complete.
    """
    parts = parts_on(text, criterion, truncated)
    if parts.reason:
        return ReplyVerdict(None, parts.reason)
    return read_reply(parts.written, scale, letters, numbered=numbered)


def keys_of_part(criterion: str) -> tuple[str, ...]:
    """The keys under which a reply about several criteria may have its part on one."""
    return criterion.lower(), *forms.keys_of(criterion, ("",))


def parts_on(text: str, criterion: str, truncated: bool) -> Parts:
    """The parts of a reply on a criterion."""
    bare = without_thoughts(text)
    objects = list(objects_in(bare, partly=True))
    if not objects:
        return Parts(bare, reason=UNPARSABLE if bare else EMPTY)
    counting = _that_count(bare, objects, keys_of_part(criterion), truncated)
    if not counting:
        cut_off = objects[-1][0][1] == len(bare) and bare[-1] not in "}]"
        return Parts(bare, reason=CUT_OFF if cut_off else LEFT_OUT)
    return Parts(bare, counting)


def _that_count(
    text: str,
    objects: Sequence[tuple[tuple[int, int], Any]],
    keys: tuple[str, ...],
    truncated: bool,
) -> list[CriterionPart]:
    """The values of the keys in objects that open or close the reply; if there are none, in all
    objects of a complete reply. Quoted or corrected objects are left out.
    """
    spans, values = zip(*objects, strict=True)
    prose, places = prose_around(spans, text)
    around = Surroundings(prose)
    parts: list[tuple[int, CriterionPart]] = []
    for start, at, value in zip(places, spans, values, strict=True):
        shown = around.borrowed(start) or not_verdicts.is_shown(prose, start)
        own = (
            [] if shown else [(start, CriterionPart(at, part)) for part in parts_under(value, keys)]
        )
        if own and parts and around.corrects(start, since=parts[-1][0]):
            parts.clear()
        parts += own
    at_the_ends = [
        part
        for start, part in parts
        if not (WORD.search(prose, start) and (truncated or WORD.search(prose, 0, start)))
    ]
    return at_the_ends or [part for _, part in parts if not truncated]
