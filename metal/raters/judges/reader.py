"""The reply reader: the last valid verdict in a judge's reply, or the reason why there is none.

Structured replies are read first: the reply as JSON, or JSON objects inside fences and prose. Only where no object has
a score is the reply read as free text: `score: 2`, `4 out of 5`, `4 stars`, `Five stars`, a label of the scale, and a
letter where the prompt asked for one. What only looks like a verdict (the scale itself, comparisons, points taken off)
is blanked out first. A number off the scale is not a verdict and is never clipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Any

import regex

from metal.data.records import Scale

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


# ---------------------------------------------------------------- free text

LONGEST_END = 50_000  # characters at either end of a reply that are read

# ---------------------------------------------------------------- parts: numbers

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: float(value) for value, word in enumerate(_WORDS)}
_DIGITS = r"\d{1,9}(?:\.\d{1,15}|,\d{1,2})?"
# What makes a number another one: `4 and a half`, `four point five`, `three hundred`, `4 1/2`, `4½`.
_FRACTION = r"[\s-]+(?:and\s+a\s+half|point\s|hundred|thousand|\d/\d)|[\p{No}]"
# Not followed by the rest of a range (`3-4`, `3 to 4`), a percentage or a fraction.
_NOTHING_MORE = rf"(?!\s*(?:-|\N{{EN DASH}}|to|or)\s*\d|\s*%|\s+percent|{_FRACTION})"
_NUMERAL = rf"(?<![\w.,/-])[-\N{{MINUS SIGN}}]?{_DIGITS}(?!\w|[.,/:]\d|-\w){_NOTHING_MORE}"
_NUMBER_WORD = rf"\b(?:{'|'.join(NUMBER_WORDS)})\b(?!{_FRACTION})"
_SCORE = rf"(?P<n>{_NUMERAL}|{_NUMBER_WORD})"  # the number that a form reads
_NUMBER = rf"(?:\d+(?:\.\d+)?|{_NUMBER_WORD})"  # any number, inside what is not a verdict
# The top of the scale: `/5`, ` out of 5`, ` stars out of a possible five`.
_OUT_OF = (
    r"(?:\s*/\s*|\s+(?:(?:points?|marks?|stars?)\s+)?(?:\(\s*)?out\s+of\s+(?:a\s+(?:possible\s+|total\s+(?:of\s+)?)?)?)"
)
_TOP = rf"(?P<top>\d{{1,9}}(?:\.0+)?|{_NUMBER_WORD})"
_OUT_OF_TOP = rf"(?:{_OUT_OF}{_TOP})?+"
_IS_NO_TOP = r"(?<!\bout\s+of\s+(?:an?\s+)?(?:possible\s+)?|/\s*)"  # not itself after `out of`

# ---------------------------------------------------------------- parts: words around a score

_SCORE_NOUN = r"(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|verdict|grad(?:e|es|ed|ing)|mark|answer|points?)"
_GIVE = (
    r"(?:giv(?:e|es|en|ing)|gave|(?:assign|award)(?:s|ed|ing)?|deserv(?:e|es|ing)|merit(?:s|ing)?|"
    r"rat(?:e|es|ed|ing)|choose)"
)
_JUDGED = r"(?:summary|text|output|answer|response|translation|passage|fluency|quality|relevance|coherence|consistency)"
_LINK = r"(?:\s*[:=：]\s*|\s+(?:of|is|as|at|was|be|it|a|an|the|to|with|would be|should be)\s+)"
_PRAISE = r"(?:(?:an?|perfect|full|solid)\s+)*"  # `a perfect 5`
_OPENING_MARKS = r"[\"'*_`(\[\s]*"
_CLOSING_MARKS = r"[\"'*_`)\]]*"
# Up to eight words between a noun and its score; none of them compares the score with another.
_NOT_COMPARING = r"(?!(?:out|not|below|above|under|over|less|more|than|if|unless|between|from)\b)"
_WORDS_BETWEEN = rf"(?:\s+{_NOT_COMPARING}[\p{{L}}'’-]+){{0,8}}?"
# The same between a noun and a label: nor does one of them turn the label round.
_NOT_NEGATING = r"(?!(?:not?|nothing|none|never|neither|nor|hardly|cannot|without)\b|\p{L}+n['’]t\b)"
_PLAIN_WORDS_BETWEEN = rf"(?:\s+{_NOT_NEGATING}{_NOT_COMPARING}[\p{{L}}'’-]+){{0,8}}?"
_NEGATION = r"\b(?:not|cannot|never|\p{L}+n['’]t)\s+"
_COUNTS_NOTHING = r"(?!\s+(?!stars?|points?|for|on|in|as|because|since)\p{L})"  # and not: it gives 4 examples

# ---------------------------------------------------------------- forms of a verdict

# A number that the text begins with: `2 (Good)`.
LEADING_NUMBER = regex.compile(
    rf"\s*(?P<n>[-\N{{MINUS SIGN}}]?{_DIGITS})(?=\s*[^\w.,/%\s-]|\s+[-\p{{L}}]|\s*$){_NOTHING_MORE}(?!{_OUT_OF}\d)",
    regex.I,
)
_FORMS = tuple(
    regex.compile(pattern, regex.I | regex.M)
    for pattern in (
        # Score: 4 | a score of 4 | I rate its fluency as a 4 | scores 4
        rf"\b{_SCORE_NOUN}\b{_CLOSING_MARKS}(?:{_WORDS_BETWEEN}{_LINK}|\s+){_OPENING_MARKS}{_PRAISE}{_SCORE}{_OUT_OF_TOP}",
        # I would give it a 4 | it deserves a 4
        rf"\b{_GIVE}\b(?:\s+(?:it|this|that|them|the|its?|\p{{L}}+['’]s|{_JUDGED})\b){{0,4}}\s+"
        rf"{_OPENING_MARKS}{_PRAISE}{_SCORE}{_OUT_OF_TOP}{_COUNTS_NOTHING}",
        # 4 out of 5 | 4/5
        rf"(?P<n>(?<![\w.,/-]){_DIGITS}|{_NUMBER_WORD}){_OUT_OF}{_TOP}(?![\w/]|\.\d)",
        # 4 stars | Four stars
        rf"{_IS_NO_TOP}{_SCORE}[\s-]*(?:stars?\b|\N{{BLACK STAR}})",
        # ... therefore it is irrelevant (1).
        rf"\({_SCORE}\)[\s.!\"']*\Z",
        # alone on a line, after the criterion's name or bare
        rf"^[ \t*_#\"']{{0,8}}+(?:\p{{L}}[\p{{L}} \t]{{1,30}}+[*_]{{0,3}}+[:=]\s?)?[ *_\"']{{0,4}}+"
        rf"{_SCORE}{_OUT_OF_TOP}[ \t*_.\"']{{0,6}}+$",
        # <score>4</score> | \boxed{4}
        rf"(?:<\w{{1,20}}>|\\boxed\{{)\s?{_SCORE}\s?(?:</\w{{1,20}}>|\}})",
    )
)
# ★★★☆☆ | ★★★½
_STARS = regex.compile(r"(?<!\p{L})(?:[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]\ufe0f?[ \t]?+)++(?P<half>\p{No})?")
_STAR = regex.compile(r"[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]")


@lru_cache(maxsize=64)
def _label_pattern(labels: tuple[str, ...]) -> Any:
    """A label as a verdict: after a noun of judging and a link, alone on a line, or in bold."""
    alternatives = "|".join(regex.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = rf"(?P<label>{alternatives})"
    return regex.compile(
        rf"(?:(?<!{_NEGATION}){_SCORE_NOUN}\b[\"'*_`)\]]*{_PLAIN_WORDS_BETWEEN}{_LINK}{_OPENING_MARKS}{label}\b"
        rf"(?!\s*(?:/|or\b)\s*(?:{alternatives})\b))"  # and not: answer Good or Bad
        rf"|(?:^[^\S\n]*[\"'*_`# -]{{0,12}}{label}[ \"'*_`.!]{{0,12}}$)"
        rf"|(?:\*\*{label}\*\*)",
        regex.I | regex.M,
    )


@lru_cache(maxsize=16)
def _letter_pattern(letters: tuple[str, ...]) -> Any:
    """A capital letter as a verdict: `Answer: B`, or `B)` and `B` at the beginning of a line."""
    letter = rf"(?P<letter>[{''.join(regex.escape(letter) for letter in letters)}])"
    asked = r"(?i:\b(?:answer|choice|option|verdict|score|rating|grade))\b[^\w\n]{0,4}(?:\s*(?i:is|would be)\s+)?"
    return regex.compile(
        rf"(?:{asked}[^\w\n]{{0,4}}{letter}\b(?!['’]))|(?:^\W{{0,3}}{letter}(?:[).:]|\s*$))",
        regex.M,
    )


# ---------------------------------------------------------------- what only looks like a verdict

_NO_VERDICTS = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        # confidence: 90%
        r"\bconfiden(?:ce|t)\b[^\d.;\n]{0,24}+\d+(?:\.\d+)?(?:\s*/\s*\d+|\s*%)?",
        # the highest possible score is 5
        r"\b(?:max(?:imum)?|highest|top|best|min(?:imum)?|lowest)\s+(?:possible\s+)?(?:score|rating)"
        rf"\s*(?:is|being|:|=)\s*{_NUMBER}",
        # a score of 5 would need ... | to score a 5 | a score 5 is reserved for ...
        rf"\b(?:score|rating)\s+of\s+(?:an?\s+)?{_NUMBER}\s+(?:would|means|requires?|needs?|is\s+(?:for|reserved|given)|stands)\b",
        rf"\bto\s+score\s+(?:an?\s+)?{_NUMBER}\b",
        rf"\b(?:score|rating)\s+{_NUMBER}\s+(?:is\s+(?:for|reserved|given)|means|stands)\b",
        # on a scale from 1 to 5 | (1-5)
        r"\b(?:scale|range|ranging|ranges)\b[^.;:\n]{0,24}?"
        rf"{_NUMBER}\s*(?:-|to|through|and|\N{{EN DASH}})\s*{_NUMBER}",
        r"[(\[]\s*\d+\s*(?:-|to|\N{EN DASH})\s*\d+[^)\]]{0,20}[)\]]",
        # keeps it from earning a 5 | not a 5 | rather than a score of 4 | to reach 5
        r"\bfrom\s+(?:being|achieving|getting|earning|receiving|deserving|scoring)(?:\s+\p{L}+){0,6}?\s+"
        rf"{_NUMBER}(?:{_OUT_OF}{_NUMBER})?",
        r"\b(?:not|isn't|n't|never|rather\s+than|instead\s+of|less\s+than|more\s+than|below|above|short\s+of|"
        r"to\s+(?:get|reach|earn|achieve|be|make\s+it))"
        r"(?:\s+(?:it|quite|be|being|receive|deserve|merit|warrant|earn|give|a|an|the|perfect|full|score|rating|of|as|"
        rf"to|get|at|reach)){{0,8}}+\s+{_NUMBER}(?:{_OUT_OF}{_NUMBER})?",
        # deducted 1 point
        r"\b(?:deduct\w*|subtract\w*|los(?:e|es|ing)|lost|minus|took\s+off|remov\w+)\s+(?:by\s+)?"
        rf"{_NUMBER}(?:\s+points?)?",
    )
)


# ---------------------------------------------------------------- reading


def verdicts_in(text: str, scale: Scale, letters: Mapping[str, float] | None) -> list[float]:
    """The numbers that the text gives as verdicts, in their order; not all of them need be on the scale."""
    if len(text) > 2 * LONGEST_END:  # no reply about one text is so long; its verdict stands first or last
        text = text[:LONGEST_END] + "\n" + text[-LONGEST_END:]
    for pattern in _NO_VERDICTS:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    placed = [*_numbers_in(text, scale), *_labels_in(text, scale)]
    if letters:
        matches = _letter_pattern(tuple(letters)).finditer(text)
        placed += [(match.start("letter"), letters[match["letter"]]) for match in matches]
    return [number for _, number in sorted(placed)]


def verdict_alone(text: str, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The verdict of a text that is nothing else: `2`, `**Good**`, `(B)`, `two`, `2 Good`."""
    bare = text.strip(" \t\n\"'*_`()[].:#")
    if letters and bare.upper() in letters:
        return letters[bare.upper()]
    for level in scale.levels:
        label = level.label.casefold()
        if bare.casefold() == label and read_number(level.label) is None:
            return level.value
        after_value = regex.fullmatch(rf"{level.value:g}[\s=:.(\N{{EN DASH}}-]+(.*)", bare)
        if after_value and after_value[1].casefold() == label:
            return level.value
    return read_number(bare) if len(bare) <= 16 else None


def read_number(text: str) -> float | None:
    """The number that a text is, in digits or as a word up to ten; None for any other text.

    >>> read_number("Four"), read_number("3,5"), read_number("1,000")
    (4.0, 3.5, None)
    """
    if regex.fullmatch(r".*,\d{3,}", text):
        return None  # 1,000: a thousand, which is on no scale
    if text.lower() in NUMBER_WORDS:
        return NUMBER_WORDS[text.lower()]
    try:
        return finite(float(text.replace("\N{MINUS SIGN}", "-").replace(",", ".")))
    except ValueError:
        return None


def finite(value: float) -> float | None:
    """The value as a float; None where it is too large for one, infinite or NaN."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _numbers_in(text: str, scale: Scale) -> Iterator[tuple[int, float]]:
    """Place and value of each number that is given as a verdict, unless it is out of another scale's top."""
    tops = {max(scale.values)} if scale.levels else {scale.high} if scale.high is not None else set()
    for form in _FORMS:
        for match in form.finditer(text, overlapped=True):
            number = read_number(match["n"])
            top = match.groupdict().get("top")
            if number is not None and not (top and tops and read_number(top) not in tops):
                yield match.start("n"), number
    for match in _STARS.finditer(text):
        yield match.start(), len(_STAR.findall(match[0])) + (0.5 if match["half"] else 0.0)


def _labels_in(text: str, scale: Scale) -> Iterator[tuple[int, float]]:
    """Place and value of each label of the scale that is given as a verdict."""
    labels = {level.label.casefold(): level.value for level in scale.levels if read_number(level.label) is None}
    if not labels:
        return
    for match in _label_pattern(tuple(labels)).finditer(text):
        value = labels.get(match["label"].casefold())  # letters can match that do not fold alike
        if value is not None:
            yield match.start("label"), value
