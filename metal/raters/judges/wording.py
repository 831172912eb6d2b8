"""Verdicts in plain language: what a judge says when it does not answer in JSON.

`score: 2`, `4 out of 5`, `4 stars`, `Five stars`, a label of the scale, a letter where the prompt asked for one.
What only looks like a verdict (the scale itself, comparisons, points taken off) is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import regex

from metal.data.records import Scale

WORDS = dict(zero=0, one=1, two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10)  # noqa: C408

_LONGEST = 50_000  # letters at either end of a reply that are looked at

_DIGITS = r"\d{1,9}(?:\.\d{1,15}|,\d{1,2})?"
_HALF = r"[\s-]+(?:and\s+a\s+half|point\s|hundred|thousand|\d/\d)|[\p{No}]"
_MORE = rf"(?!\s*(?:-|\N{{EN DASH}}|to|or)\s*\d|\s*%|\s+percent|{_HALF})"  # a range, a percentage, a fraction
_AMOUNT = rf"(?<![\w.,/-])[-\N{{MINUS SIGN}}]?{_DIGITS}(?!\w|[.,/:]\d|-\w){_MORE}"
_WORD = rf"\b(?:{'|'.join(WORDS)})\b(?!{_HALF})"
_PLAIN = rf"(?:\d+(?:\.\d+)?|{_WORD})"
_SAID = rf"(?P<n>{_AMOUNT}|{_WORD})"
_NOUN = r"(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|verdict|grad(?:e|es|ed|ing)|mark|answer|points?)"
_UNLIKE = r"(?!(?:out|not|below|above|under|over|less|more|than|if|unless|between|from)\b)"
_FILL = rf"(?:\s+{_UNLIKE}[\p{{L}}'’-]+){{0,8}}?"
# Between a noun and a label: nothing that turns the label round.
_TURNS = r"(?!(?:not?|nothing|none|never|neither|nor|hardly|cannot|without)\b|\p{L}+n['’]t\b)"
_PLAIN_FILL = rf"(?:\s+{_TURNS}{_UNLIKE}[\p{{L}}'’-]+){{0,8}}?"
_DENIED = r"\b(?:not|cannot|never|\p{L}+n['’]t)\s+"
_LINK = r"(?:\s*[:=：]\s*|\s+(?:of|is|as|at|was|be|it|a|an|the|to|with|would be|should be)\s+)"
_GIVE = (
    r"(?:giv(?:e|es|en|ing)|gave|(?:assign|award)(?:s|ed|ing)?|deserv(?:e|es|ing)|merit(?:s|ing)?|"
    r"rat(?:e|es|ed|ing)|choose)"
)
_THING = r"(?:summary|text|output|answer|response|translation|passage|fluency|quality|relevance|coherence|consistency)"
_NOT_TOP = r"(?<!\bout\s+of\s+(?:an?\s+)?(?:possible\s+)?|/\s*)"
_NO_COUNT = r"(?!\s+(?!stars?|points?|for|on|in|as|because|since)\p{L})"  # it gives 4 examples
_QUOTES = r"[\"'*_`(\[\s]*"
_CLOSED = r"[\"'*_`)\]]*"
_OF = (
    r"(?:\s*/\s*|\s+(?:(?:points?|marks?|stars?)\s+)?(?:\(\s*)?out\s+of\s+(?:a\s+(?:possible\s+|total\s+(?:of\s+)?)?)?)"
)
_TOP = rf"(?P<top>\d{{1,9}}(?:\.0+)?|{_WORD})"
_OF_TOP = rf"(?:{_OF}{_TOP})?+"

BEGINS = regex.compile(
    rf"\s*(?P<n>[-\N{{MINUS SIGN}}]?{_DIGITS})(?=\s*[^\w.,/%\s-]|\s+[-\p{{L}}]|\s*$){_MORE}(?!{_OF}\d)", regex.I
)
_FORMS = tuple(
    regex.compile(pattern, regex.I | regex.M)
    for pattern in (
        # Score: 4 | a score of 4 | I rate its fluency as a 4 | scores 4
        rf"\b{_NOUN}\b{_CLOSED}(?:{_FILL}{_LINK}|\s+){_QUOTES}(?:(?:an?|perfect|full|solid)\s+)*{_SAID}{_OF_TOP}",
        # I would give it a 4 | it deserves a 4
        rf"\b{_GIVE}\b(?:\s+(?:it|this|that|them|the|its?|\p{{L}}+['’]s|{_THING})\b){{0,4}}\s+"
        rf"{_QUOTES}(?:(?:an?|perfect|full|solid)\s+)*{_SAID}{_OF_TOP}{_NO_COUNT}",
        # 4 out of 5 | 4/5
        rf"(?P<n>(?<![\w.,/-]){_DIGITS}|{_WORD}){_OF}{_TOP}(?![\w/]|\.\d)",
        # 4 stars | Four stars
        rf"{_NOT_TOP}{_SAID}[\s-]*(?:stars?\b|\N{{BLACK STAR}})",
        # ... therefore it is irrelevant (1).
        rf"\({_SAID}\)[\s.!\"']*\Z",
        # alone on a line, after the criterion's name or bare; in a tag or a box
        rf"^[ \t*_#\"']{{0,8}}+(?:\p{{L}}[\p{{L}} \t]{{1,30}}+[*_]{{0,3}}+[:=]\s?)?[ *_\"']{{0,4}}+{_SAID}{_OF_TOP}"
        r"[ \t*_.\"']{0,6}+$",
        rf"(?:<\w{{1,20}}>|\\boxed\{{)\s?{_SAID}\s?(?:</\w{{1,20}}>|\}})",
    )
)
_STARS = regex.compile(r"(?<!\p{L})(?:[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]\ufe0f?[ \t]?+)++(?P<half>\p{No})?")
_STAR = regex.compile(r"[\N{BLACK STAR}\N{WHITE MEDIUM STAR}]")
# What only looks like a verdict: the scale itself, comparisons, what was not reached, what is taken off.
_NOISE = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        r"\bconfiden(?:ce|t)\b[^\d.;\n]{0,24}+\d+(?:\.\d+)?(?:\s*/\s*\d+|\s*%)?",
        r"\b(?:max(?:imum)?|highest|top|best|min(?:imum)?|lowest)\s+(?:possible\s+)?(?:score|rating)"
        rf"\s*(?:is|being|:|=)\s*{_PLAIN}",
        rf"\b(?:score|rating)\s+of\s+(?:an?\s+)?{_PLAIN}\s+(?:would|means|requires?|needs?|is\s+(?:for|reserved|given)|stands)\b",
        rf"\bto\s+score\s+(?:an?\s+)?{_PLAIN}\b",
        rf"\b(?:score|rating)\s+{_PLAIN}\s+(?:is\s+(?:for|reserved|given)|means|stands)\b",
        r"\b(?:scale|range|ranging|ranges)\b[^.;:\n]{0,24}?"
        rf"{_PLAIN}\s*(?:-|to|through|and|\N{{EN DASH}})\s*{_PLAIN}",
        r"[(\[]\s*\d+\s*(?:-|to|\N{EN DASH})\s*\d+[^)\]]{0,20}[)\]]",
        r"\bfrom\s+(?:being|achieving|getting|earning|receiving|deserving|scoring)(?:\s+\p{L}+){0,6}?\s+"
        rf"{_PLAIN}(?:{_OF}{_PLAIN})?",
        r"\b(?:not|isn't|n't|never|rather\s+than|instead\s+of|less\s+than|more\s+than|below|above|short\s+of|"
        r"to\s+(?:get|reach|earn|achieve|be|make\s+it))"
        r"(?:\s+(?:it|quite|be|being|receive|deserve|merit|warrant|earn|give|a|an|the|perfect|full|score|rating|of|as|"
        rf"to|get|at|reach)){{0,8}}+\s+{_PLAIN}(?:{_OF}{_PLAIN})?",
        r"\b(?:deduct\w*|subtract\w*|los(?:e|es|ing)|lost|minus|took\s+off|remov\w+)\s+(?:by\s+)?"
        rf"{_PLAIN}(?:\s+points?)?",
    )
)


def number_said(said: str) -> float | None:
    if regex.fullmatch(r".*,\d{3,}", said):
        return None  # 1,000: a thousand, and no scale's
    if said.lower() in WORDS:
        return float(WORDS[said.lower()])
    try:
        return finite(float(said.replace("\N{MINUS SIGN}", "-").replace(",", ".")))
    except ValueError:
        return None


def said_in(text: str, scale: Scale, letters: Mapping[str, float] | None) -> Iterator[tuple[int, float]]:
    """Places and numbers of everything in the text that says a verdict."""
    if len(text) > 2 * _LONGEST:  # no reply to a question about one text; its verdict stands first or last
        text = text[:_LONGEST] + "\n" + text[-_LONGEST:]
    for noise in _NOISE:
        text = noise.sub(lambda found: " " * len(found[0]), text)
    tops = {max(scale.values)} if scale.levels else {scale.high} if scale.high is not None else set()
    for form in _FORMS:
        for found in form.finditer(text, overlapped=True):
            number = number_said(found["n"])
            top = found.groupdict().get("top")
            if number is None or (top and tops and number_said(top) not in tops):
                continue
            yield found.start("n"), number
    for found in _STARS.finditer(text):
        yield found.start(), len(_STAR.findall(found[0])) + (0.5 if found["half"] else 0.0)
    yield from _labels_said(text, scale)
    if letters:
        for found in _letters_said(tuple(letters)).finditer(text):
            yield found.start("letter"), letters[found["letter"]]


def said_alone(text: str, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The verdict where the text is nothing else: `2`, `**Good**`, `(B)`, `two`, `2 Good`."""
    bare = text.strip(" \t\n\"'*_`()[].:#")
    if letters and bare.upper() in letters:
        return letters[bare.upper()]
    for level in scale.levels:
        if bare.casefold() == level.label.casefold() and number_said(level.label) is None:
            return level.value
        said = regex.fullmatch(rf"{level.value:g}[\s=:.(\N{{EN DASH}}-]+(.*)", bare)
        if said and said[1].casefold() == level.label.casefold():
            return level.value
    return number_said(bare) if len(bare) <= 16 else None


def _labels_said(text: str, scale: Scale) -> Iterator[tuple[int, float]]:
    """Labels of the scale that are said as a verdict: after a colon or verb of judging, in bold, or alone on a line."""
    labels = {level.label.casefold(): level.value for level in scale.levels if number_said(level.label) is None}
    if labels:
        for found in _label_form(tuple(labels)).finditer(text):
            value = labels.get(found["label"].casefold())  # letters can match that do not fold alike
            if value is not None:
                yield found.start("label"), value


@lru_cache(maxsize=64)
def _label_form(labels: tuple[str, ...]) -> Any:
    known = "|".join(regex.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = rf"(?P<label>{known})"
    return regex.compile(
        rf"(?:(?<!{_DENIED}){_NOUN}\b[\"'*_`)\]]*{_PLAIN_FILL}{_LINK}{_QUOTES}{label}\b"
        rf"(?!\s*(?:/|or\b)\s*(?:{known})\b))"
        rf"|(?:^[^\S\n]*[\"'*_`# -]{{0,12}}{label}[ \"'*_`.!]{{0,12}}$)"
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


def finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
