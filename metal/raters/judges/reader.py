"""The reply reader: the last valid verdict in a judge's reply, or the reason why there is none.

Structured replies are read first: the reply as JSON, or JSON objects inside fences and prose. Only where no object has
a score is the reply read as free text (free_text_parser). A number off the scale is no verdict and is never clipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any

import regex

from metal.data.records import Scale
from metal.raters.judges.free_text_parser import LEADING_NUMBER, finite, read_number, verdict_alone, verdicts_in

EMPTY = "empty"
UNPARSABLE = "unparsable"
OFF_SCALE = "off the scale"

SCORE_KEYS = ("score", "rating", "verdict", "grade", "label", "answer")
REASON_KEYS = ("justification", "reason", "explanation", "rationale", "comments", "comment", "reasoning")
_BLANKS = regex.compile(r"\s{3,}+")
_CUT_SHORT = regex.compile(r"\"\w+\"\s*:\s*-?\d[\d.]*\Z")  # {"score": 8, cut short: it may have become 85


@dataclass(frozen=True)
class ReplyVerdict:
    """What a reply says. A score of None has its reason; wavering: the reply gave another valid verdict before."""

    score: float | None
    reason: str = ""
    justification: str = ""
    wavering: bool = False


def read_reply(text: str, scale: Scale, letters: Mapping[str, float] | None = None) -> ReplyVerdict:
    """The verdict in a judge's reply.

    letters: what each letter stands for, where the prompt asked for a letter. Never raises, and a score is always on
    the scale. The justification is the field of that kind in a structured reply, else the text itself.
    """
    # Runs of blanks are cut to two, so that no pattern has to try its way through them; a line break stays one.
    shorter = _BLANKS.sub(lambda blanks: "\n\n" if "\n" in blanks[0] else "  ", without_thoughts(text)).strip()
    if not shorter:
        return ReplyVerdict(None, EMPTY)
    objects = list(objects_with(shorter, SCORE_KEYS, str | int | float))
    scores = [_number_of_field(field_of(candidate, SCORE_KEYS), scale, letters) for candidate in objects]
    if any(score is not None for score in scores):
        justification = next((reason for candidate in reversed(objects) if (reason := justification_in(candidate))), "")
        return _last_valid(scores, scale, justification)
    if not scale.levels or max(scale.values) > 9:
        shorter = _CUT_SHORT.sub("", shorter)
    alone = verdict_alone(shorter, scale, letters)
    if alone is not None:
        return _last_valid([alone], scale, "")
    return _last_valid(verdicts_in(shorter, scale, letters), scale, shorter)


def _last_valid(scores: Sequence[float | None], scale: Scale, justification: str) -> ReplyVerdict:
    """The last of the scores that is on the scale, or why there is none."""
    valid = [score for score in scores if score is not None and scale.allows(score)]
    if valid:
        return ReplyVerdict(valid[-1] + 0.0, "", justification, wavering=len(set(valid)) > 1)
    off_scale = any(score is not None for score in scores)
    return ReplyVerdict(None, OFF_SCALE if off_scale else UNPARSABLE, justification)


def without_thoughts(text: str) -> str:
    """The reply without the thoughts that some open models write before it.

    A structured reply keeps its text: it may speak of such marks itself.
    """
    bare = text.strip()
    if bare.startswith("<think>") and "</think>" not in bare:
        return ""
    return bare if bare.startswith(("{", "[", "```")) else bare.rpartition("</think>")[2]


# ---------------------------------------------------------------- structured replies

_OBJECT = regex.compile(r"\{\s*+[\"}]")
_MOST_FAULTS = 200  # each costs a pass over the text; after that many only the last objects are tried
_DEEPEST = 4


def objects_with(text: str, names: tuple[str, ...], kind: type | UnionType) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that have a value of that kind under one of the names, in order.

    Of nested objects the outermost; what surrounds them (fences, prose, lists) plays no part.
    """
    decode = json.JSONDecoder(strict=False).raw_decode
    starts = [match.start() for match in _OBJECT.finditer(text)]
    end = faults = turn = 0
    while turn < len(starts):
        start, turn = starts[turn], turn + 1
        if start < end:
            continue
        try:
            value, end = decode(text, start)
            yield from _with_field(value, names, kind)
        except (ValueError, RecursionError):
            faults += 1
            if faults == _MOST_FAULTS:
                turn = max(turn, len(starts) - _MOST_FAULTS)


def _with_field(
    value: object, names: tuple[str, ...], kind: type | UnionType, depth: int = 0
) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and isinstance(field_of(value, names), kind):
        yield value
        return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _with_field(inner, names, kind, depth + 1)


def field_of(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The value under the first of these names that has one, whatever the case of the keys; None without."""
    by_name = {key.lower(): value for key, value in fields.items()} | dict(fields)
    return next((by_name[name] for name in names if by_name.get(name) is not None), None)


def justification_in(fields: Mapping[str, Any]) -> str:
    """The justification of a structured reply; empty where it has none."""
    reason = field_of(fields, REASON_KEYS)
    if isinstance(reason, list):
        reason = " ".join(map(str, reason))
    return str(reason).strip() if isinstance(reason, str | int | float) else ""


def _number_of_field(value: object, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The number a field of a structured reply stands for: 2, "2", "2 (Good)", "2/5", "Good", "two"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finite(value)
    if not isinstance(value, str):
        return None
    alone = verdict_alone(value.strip(), scale, letters)
    if alone is not None:
        return alone
    if scores := verdicts_in(value, scale, letters):
        return scores[-1]
    leading = LEADING_NUMBER.match(value)
    return read_number(leading["n"]) if leading else None
