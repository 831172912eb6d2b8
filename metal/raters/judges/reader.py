"""From a judge's reply to its verdict: the last valid one in the text, else the reason why there is none.

Structured replies are read first: the reply as JSON, or JSON objects inside fences and prose. Only where there is no
object with a score are the forms of plain language tried: `score: 2`, `4 out of 5`, `4 stars`, `Five stars`, a label
of the scale, a letter where the prompt asked for one. A number off the scale is no verdict and is never clipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any

import regex

from metal.data.records import Scale
from metal.raters.judges.wording import BEGINS, finite, number_said, said_alone, said_in

EMPTY = "empty"
UNPARSABLE = "unparsable"
OFF_SCALE = "off the scale"

SCORE_KEYS = ("score", "rating", "verdict", "grade", "label", "answer")
REASON_KEYS = ("justification", "reason", "explanation", "rationale", "comments", "comment", "reasoning")
_decode = json.JSONDecoder(strict=False).raw_decode


@dataclass(frozen=True)
class Verdict:
    """What a reply says. score None has its reason; wavering: the reply named another valid verdict before."""

    score: float | None
    reason: str = ""
    justification: str = ""
    wavering: bool = False


def read_reply(text: str, scale: Scale, letters: Mapping[str, float] | None = None) -> Verdict:
    """The verdict in a judge's reply.

    letters: what each letter stands for, where the prompt asked for a letter. Never raises, and a score is always on
    the scale. The justification is the field of that kind in a structured reply, else the text itself.
    """
    stripped = _SPACES.sub(_shorter, without_thoughts(text)).strip()
    if not stripped:
        return Verdict(None, EMPTY)
    objects = list(objects_with(stripped, SCORE_KEYS, str | int | float))
    said = [_value(field_of(found, SCORE_KEYS), scale, letters) for found in objects]
    if any(score is not None for score in said):
        justification = next((reason for found in reversed(objects) if (reason := justification_in(found))), "")
        return _last(said, scale, justification)
    if not scale.levels or max(scale.values) > 9:
        stripped = _CUT.sub("", stripped)
    whole = said_alone(stripped, scale, letters)
    if whole is not None:
        return _last([whole], scale, "")
    return _last([number for _, number in sorted(said_in(stripped, scale, letters))], scale, stripped)


def _last(said: list[float | None], scale: Scale, justification: str) -> Verdict:
    """The last valid one of the verdicts found, in their order."""
    valid = [score for score in said if score is not None and scale.allows(score)]
    if valid:
        return Verdict(valid[-1] + 0.0, "", justification, wavering=len(set(valid)) > 1)
    off = any(score is not None for score in said)
    return Verdict(None, OFF_SCALE if off else UNPARSABLE, justification)


_SPACES = regex.compile(r"\s{3,}+")


_CUT = regex.compile(r"\"\w+\"\s*:\s*-?\d[\d.]*\Z")  # {"score": 8, cut short: it may have become 85


def _shorter(found: Any) -> str:
    """A run of blanks cut to two, so that no pattern has to try its way through it; a line break stays one."""
    return "\n\n" if "\n" in found[0] else "  "


def without_thoughts(text: str) -> str:
    """The reply without what some open models think aloud; a structured reply may speak of such marks itself."""
    bare = text.strip()
    if bare.startswith("<think>") and "</think>" not in bare:
        return ""
    return bare if bare.startswith(("{", "[", "```")) else bare.rpartition("</think>")[2]


# ---------------------------------------------------------------- structured replies

_OBJECT = regex.compile(r"\{\s*+[\"}]")
_MOST_FAULTS = 200  # each costs a pass over the text; beyond them only the last ones are looked at


def objects_with(text: str, names: tuple[str, ...], kind: type | UnionType) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that have a value of that kind under one of the names, in order.

    Of nested ones the outermost; whatever surrounds them (fences, prose, lists) plays no part.
    """
    starts = [match.start() for match in _OBJECT.finditer(text)]
    end = faults = turn = 0
    while turn < len(starts):
        start, turn = starts[turn], turn + 1
        if start < end:
            continue
        try:
            value, end = _decode(text, start)
            yield from _with_field(value, names, kind)
        except (ValueError, RecursionError):
            faults += 1
            if faults == _MOST_FAULTS:
                turn = max(turn, len(starts) - _MOST_FAULTS)


def _with_field(
    value: object, names: tuple[str, ...], kind: type | UnionType, depth: int = 0
) -> Iterator[dict[str, Any]]:
    if depth > 4 or not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and isinstance(field_of(value, names), kind):
        yield value
        return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _with_field(inner, names, kind, depth + 1)


def field_of(found: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    lower = {key.lower(): value for key, value in found.items()} | dict(found)
    return next((lower[name] for name in names if lower.get(name) is not None), None)


def justification_in(found: Mapping[str, Any]) -> str:
    reason = field_of(found, REASON_KEYS)
    if isinstance(reason, list):
        reason = " ".join(map(str, reason))
    return str(reason).strip() if isinstance(reason, str | int | float) else ""


def _value(value: object, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The number a field of a structured reply stands for: 2, "2", "2 (Good)", "2/5", "Good", "two"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return finite(value)
    if not isinstance(value, str):
        return None
    whole = said_alone(value.strip(), scale, letters)
    if whole is not None:
        return whole
    said = [number for _, number in sorted(said_in(value, scale, letters))]
    return said[-1] if said else number_said(begins[1]) if (begins := BEGINS.match(value)) else None
