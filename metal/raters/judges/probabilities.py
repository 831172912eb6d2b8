"""Token probabilities: how probable the answered level was, and the mean of all levels weighted by
probability.

They are read from the raw reply in the forms of OpenAI's chat completions, vLLM and Gemini, which
list the likeliest alternatives to each token. The mean over levels is the score of G-Eval (Liu et
al. 2023).
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from metal.raters.judges.providers.failures import as_object, encoded

MISSING = "no token probabilities in the reply"
PLACE = "the score is not alone or in a field of its own"
SPLIT = "the score is not one token"
MAYBE_SPLIT = "another level may begin with the same token"
NO_LEVELS = "the scale has no levels"
_CHOICE = re.compile(r"-?\d+(\.\d+)?|[A-Z]")  # a token that can be a verdict: a number, or a letter
_BLANKS = " \t\r\n\"'"


@dataclass(frozen=True)
class LevelProbabilities:
    """Probabilities of levels. confidence: the probability of the answered level, or None; then
    `why` gives the reason. by_level: the probability of each level that is among the alternatives.
    """

    confidence: float | None
    by_level: Mapping[float, float]
    why: str = ""


def level_probabilities(
    reply: object, answered: float, levels: Mapping[str, float], under: str = ""
) -> LevelProbabilities:
    """Read the probabilities of levels from a raw reply. answered: the level that the reply gave.
    levels: how each level is written. under: the key of the object with the score, if the reply has
    several objects.

    The level has to be one token: the whole reply, or the field `score` of its JSON. If a level is
    written in several ways ("2", " 2"), their probabilities are added. If another level begins like
    the answered level (10 and 1), it has to be among the alternatives too. Otherwise it may consist
    of several tokens, the first of which is the token of the answered level.
    """
    if classes := class_probabilities(reply):
        by_class = dict(zip(levels.values(), classes, strict=True))
        return LevelProbabilities(by_class[answered], by_class)
    tokens = list(_tokens(reply))
    if not tokens or not levels:
        return LevelProbabilities(None, {}, MISSING if levels else NO_LEVELS)
    written = next(spelled for spelled, level in levels.items() if level == answered)
    position = _position(tokens, written, under)
    if position is None:
        return LevelProbabilities(None, {}, PLACE)
    token, alternatives = tokens[position]
    if _bare(token) != written:
        return LevelProbabilities(None, {}, SPLIT)
    by_level = _summed_by_level((token, *alternatives), levels)
    if answered not in by_level:
        return LevelProbabilities(None, {}, MISSING)
    if any(
        level not in by_level and spelled.startswith(written) for spelled, level in levels.items()
    ):
        return LevelProbabilities(None, {}, MAYBE_SPLIT)
    return LevelProbabilities(by_level[answered], by_level)


def _position(
    tokens: Sequence[tuple[dict[str, Any], list[Any]]], written: str, under: str
) -> int | None:
    """The index of the token that begins the score; None if the score is neither alone nor in a
    field.
    """
    spelled = [str(token.get("token", "")) for token, _ in tokens]
    text = "".join(spelled)
    inside = rf"{re.escape(under)}\s*:\s*\{{[^{{}}]*" if under else ""
    fields = list(re.finditer(rf'{inside}"score"\s*:\s*"?({re.escape(written)})(?=["\s,}}])', text))
    if not fields and (under or text.strip(_BLANKS) != written):
        return None
    start = fields[-1].start(1) if fields else text.index(written)
    return bisect(list(accumulate(map(len, spelled))), start)


def _summed_by_level(
    alternatives: Iterable[object], levels: Mapping[str, float]
) -> dict[float, float]:
    """The probability of each level that occurs among the alternatives."""
    logarithms = {}  # the chosen token may be among the alternatives, too
    for token in map(as_object, alternatives):
        value = token.get("logprob", token.get("logProbability"))
        if isinstance(value, int | float) and value <= 0:
            logarithms[str(token.get("token"))] = value, levels.get(_bare(token))
    by_level: dict[float, float] = {}
    for value, level in logarithms.values():
        if level is not None:
            by_level[level] = min(1.0, by_level.get(level, 0.0) + math.exp(value))
    return by_level


def class_probabilities(reply: object) -> list[float]:
    """Read the probabilities of a classifier's classes from a raw reply, in the order of the
    classes; empty if it has none.

    Numbers that do not add up to 1 are not taken as probabilities. They come from labels that may
    all hold, or from a missing activation.
    """
    probabilities = [number for row in _list(reply, "data")[:1] for number in _list(row, "probs")]
    is_one = len(probabilities) > 1 and all(
        isinstance(number, int | float) and number >= 0 for number in probabilities
    )
    return probabilities if is_one and abs(sum(probabilities) - 1) < 0.01 else []


def _tokens(reply: object) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """The tokens of a raw reply, each with its alternatives, as objects of the reply itself; empty
    if it has none.
    """
    for choice in _list(reply, "choices")[:1]:
        for token in _list(as_object(choice).get("logprobs"), "content"):
            yield as_object(token), _list(token, "top_logprobs")
    for candidate in _list(reply, "candidates")[:1]:
        result = as_object(candidate).get("logprobsResult")
        top = [_list(step, "candidates") for step in _list(result, "topCandidates")]
        for position, token in enumerate(_list(result, "chosenCandidates")):
            yield as_object(token), top[position] if position < len(top) else []


def _list(node: object, name: str) -> list[Any]:
    value = as_object(node).get(name)
    return value if isinstance(value, list) else []


def slim(raw: bytes) -> bytes:
    """Remove from a raw reply the alternatives to tokens outside the verdict, because they would
    make up nearly all of the journal.
    """
    reply = json.loads(raw)
    for token, alternatives in _tokens(reply):
        if not _CHOICE.fullmatch(_bare(token)):
            alternatives.clear()
        for each in (token, *alternatives):
            as_object(each).pop("bytes", None)
    return encoded(reply)


def _bare(token: Mapping[str, Any]) -> str:
    return str(token.get("token", "")).strip(_BLANKS)
