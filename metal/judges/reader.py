"""From a judge's reply to its verdict: the last valid one in the text, else the reason why there is none.

Structured replies are read first: the reply as JSON, or JSON objects inside fences and prose. Only where there is no
object with a score are the forms of plain language tried: `score: 2`, `4 out of 5`, `4 stars`, `Five stars`, a label
of the scale, a letter where the prompt asked for one. A number off the scale is no verdict and is never clipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from metal.records import Scale

EMPTY = "empty"
UNPARSABLE = "unparsable"
OFF_SCALE = "off the scale"

SCORE_KEYS = ("score", "rating", "verdict", "grade", "label", "answer")
REASON_KEYS = ("justification", "reason", "explanation", "rationale", "comments", "comment", "reasoning")
WORDS = dict(zero=0, one=1, two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10)  # noqa: C408

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
    stripped = text.rpartition("</think>")[2].strip()  # what some open models think aloud is not their answer
    if not stripped:
        return Verdict(None, EMPTY)
    objects = _verdict_objects(stripped)
    if objects:
        said = [_value(_field(found, SCORE_KEYS), scale, letters) for found in objects]
        justification = next((reason for found in reversed(objects) if (reason := _justification(found))), "")
        return _last(said, scale, justification)
    whole = _whole(stripped, scale, letters)
    if whole is not None:
        return Verdict(whole)
    return _last([number for _, number in sorted(_candidates(stripped, scale, letters))], scale, stripped)


def _last(said: list[float | None], scale: Scale, justification: str) -> Verdict:
    """The last valid one of the verdicts found, in their order."""
    valid = [score for score in said if score is not None and scale.allows(score)]
    if valid:
        return Verdict(valid[-1], "", justification, wavering=len(set(valid)) > 1)
    off = any(score is not None for score in said)
    return Verdict(None, OFF_SCALE if off else UNPARSABLE, justification)


# ---------------------------------------------------------------- structured replies


def _verdict_objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects with a score in the text, innermost first met, in order."""
    found: list[dict[str, Any]] = []
    start = text.find("{")
    while start >= 0:
        end = start + 1
        try:
            value, end = _decode(text, start)
            found += _with_score(value)
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)
    return found


def _with_score(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 4 or not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and _field(value, SCORE_KEYS) is not None:
        yield value
        return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _with_score(inner, depth + 1)


def _field(found: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in found:
            return found[name]
    lower = {key.lower(): value for key, value in found.items()}
    return next((lower[name] for name in names if name in lower), None)


def _justification(found: Mapping[str, Any]) -> str:
    reason = _field(found, REASON_KEYS)
    if isinstance(reason, list):
        reason = " ".join(map(str, reason))
    return str(reason).strip() if isinstance(reason, str | int | float) else ""


def _value(value: object, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The number a field of a structured reply stands for: 2, "2", "2 (Good)", "2/5", "Good", "two"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _finite(value)
    if not isinstance(value, str):
        return None
    whole = _whole(value.strip(), scale, letters)
    if whole is not None:
        return whole
    said = [number for _, number in sorted(_candidates(value, scale, letters))]
    return said[-1] if said else _number(begins[1]) if (begins := _BEGINS.match(value)) else None


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------- plain language

_AMOUNT = r"(?<![\w.,/-])[-\N{MINUS SIGN}]?\d{1,4}(?:[.,]\d{1,2})?(?![\w%]|[.,/:]\d|-\w)"
_WORD = rf"\b(?:{'|'.join(WORDS)})\b"
_PLAIN = rf"(?:\d+(?:\.\d+)?|{_WORD})"
_SAID = rf"(?P<n>{_AMOUNT}|{_WORD})"
_NOUN = r"(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|verdict|grad(?:e|es|ed|ing)|mark|answer|points?)"
_UNLIKE = r"(?!(?:not|below|above|under|over|less|more|than|if|unless|between|from)\b)"
_FILL = rf"(?:\s+{_UNLIKE}[\p{{L}}'’-]+){{0,8}}?"
_LINK = r"(?:\s*[:=]\s*|\s+(?:of|is|as|at|was|be|it|a|an|the|to|with|would be|should be)\s+)"
_QUOTES = r"[\"'*_`(\[\s]*"
_CLOSED = r"[\"'*_`)\]]*"
_OF = r"(?:\s*/\s*|\s+out\s+of\s+(?:a\s+(?:possible\s+|total\s+(?:of\s+)?)?)?)"
_TOP = rf"(?P<top>\d{{1,4}}(?:\.0+)?|{_WORD})"

_BEGINS = regex.compile(r"\s*(?P<n>[-\N{MINUS SIGN}]?\d{1,4}(?:[.,]\d{1,2})?)(?=\s*[^\w.,/%\s-]|\s+[-\p{L}]|\s*$)")
_FORMS = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        # Score: 4 | a score of 4 | I rate its fluency as a 4 | scores 4
        rf"\b{_NOUN}\b{_CLOSED}(?:{_FILL}{_LINK}|\s+){_QUOTES}(?:(?:an?|perfect|full|solid)\s+)*{_SAID}",
        # 4 out of 5 | 4/5
        rf"(?P<n>(?<![\w.,/-])\d{{1,4}}(?:[.,]\d{{1,2}})?|{_WORD}){_OF}{_TOP}(?![\w/]|\.\d)",
        # 4 stars | Four stars
        rf"{_SAID}[\s-]*(?:stars?\b|\N{{BLACK STAR}})",
        # ... therefore it is irrelevant (1).
        rf"\({_SAID}\)[\s.!\"']*\Z",
    )
)
_STARS = regex.compile(r"(?<!\p{L})[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]+")
# What only looks like a verdict: the scale itself, comparisons, what was not reached, what is taken off.
_NOISE = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        r"\b(?:scale|range|ranging|ranges)\b[^.;:\n]{0,24}?"
        rf"{_PLAIN}\s*(?:-|to|through|and|\N{{EN DASH}})\s*{_PLAIN}",
        r"[(\[]\s*\d+\s*(?:-|to|\N{EN DASH})\s*\d+[^)\]]{0,20}[)\]]",
        r"\bfrom\s+(?:being|achieving|getting|earning|receiving|deserving|scoring)(?:\s+\p{L}+){0,6}?\s+"
        rf"{_PLAIN}(?:{_OF}{_PLAIN})?",
        r"\b(?:not|isn't|n't|never|rather\s+than|instead\s+of|less\s+than|more\s+than|below|above|short\s+of|"
        r"to\s+(?:get|reach|earn|achieve|be|make\s+it))"
        r"(?:\s+(?:it|quite|be|being|receive|deserve|merit|warrant|earn|give|a|an|the|perfect|full|score|rating|of|as|"
        rf"to|get|at|reach))*\s+{_PLAIN}(?:{_OF}{_PLAIN})?",
        r"\b(?:deduct\w*|subtract\w*|los(?:e|es|ing)|lost|minus|took\s+off|remov\w+)\s+(?:by\s+)?"
        rf"{_PLAIN}(?:\s+points?)?",
    )
)


def _number(said: str) -> float | None:
    if said.lower() in WORDS:
        return float(WORDS[said.lower()])
    try:
        return _finite(float(said.replace("\N{MINUS SIGN}", "-").replace(",", ".")))
    except ValueError:
        return None


def _candidates(text: str, scale: Scale, letters: Mapping[str, float] | None) -> Iterator[tuple[int, float]]:
    """Places and numbers of everything in the text that says a verdict."""
    for noise in _NOISE:
        text = noise.sub(lambda found: " " * len(found[0]), text)
    tops = {max(scale.values)} if scale.levels else {scale.high} if scale.high is not None else set()
    for form in _FORMS:
        for found in form.finditer(text, overlapped=True):
            number = _number(found["n"])
            top = found.groupdict().get("top")
            if number is None or (top and tops and _number(top) not in tops):
                continue
            yield found.start("n"), number
    for found in _STARS.finditer(text):
        yield found.start(), float(len(found[0]))
    yield from _labels_said(text, scale)
    if letters:
        for found in _letters_said(tuple(letters)).finditer(text):
            yield found.start("letter"), letters[found["letter"].upper()]


def _whole(text: str, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The verdict where the text is nothing else: `2`, `**Good**`, `(B)`, `two`, `2 Good`."""
    bare = text.strip(" \t\n\"'*_`()[].:#")
    if letters and bare.upper() in letters:
        return letters[bare.upper()]
    number = _number(bare) if len(bare) <= 16 else None
    if number is not None:
        return number if scale.allows(number) else None
    for level in scale.levels:
        if bare.casefold() in (level.label.casefold(), level.shown.casefold()):
            return level.value
    return None


def _labels_said(text: str, scale: Scale) -> Iterator[tuple[int, float]]:
    """Labels of the scale that are said as a verdict: after a colon or verb of judging, in bold, or alone on a line."""
    labels = {level.label.casefold(): level.value for level in scale.levels if _number(level.label) is None}
    if labels:
        for found in _label_form(tuple(labels)).finditer(text):
            yield found.start("label"), labels[found["label"].casefold()]


@lru_cache(maxsize=64)
def _label_form(labels: tuple[str, ...]) -> Any:
    known = "|".join(regex.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = rf"(?P<label>{known})"
    return regex.compile(
        rf"(?:\b{_NOUN}\b[\"'*_`)\]]*{_FILL}{_LINK}{_QUOTES}{label}\b)"
        rf"|(?:^[\s\"'*_`#-]*{label}[\s\"'*_`.!]*$)"
        rf"|(?:\*\*{label}\*\*)",
        regex.I | regex.M,
    )


@lru_cache(maxsize=16)
def _letters_said(letters: tuple[str, ...]) -> Any:
    known = "".join(regex.escape(letter) for letter in letters)
    letter = rf"(?P<letter>[{known}])"
    asked = r"(?i:\b(?:answer|choice|option|verdict|score|rating|grade))\b[^\w\n]{0,4}(?:\s*(?i:is|would be)\s+)?"
    return regex.compile(
        rf"(?:{asked}[^\w\n]{{0,4}}{letter}\b(?!['’]))|(?:^\W{{0,3}}{letter}(?:[).:]|\s*$))",
        regex.M,
    )
