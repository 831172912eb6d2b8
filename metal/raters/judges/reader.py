"""The reply reader: the verdict in a judge's reply, or the reason why there is none.

Whatever a reply gives as a verdict has a rank: a JSON object that opens or closes the reply; a `final` or `overall`
score; a number, label or letter tied to a word of judging (`score: 2`, `I give it a 4`, `4 out of 5`, `Four stars`),
a number that opens or closes the reply; an object amid prose or in a line of it, which may be a quotation; others
(`this gets 2`). The last of the highest rank counts. A borrowed one (quoted, hypothetical, somebody else's) never does;
what only looks like a verdict (the scale itself, negations, points taken off, dates) is blanked out first. A number off
the scale is not a verdict and is never clipped; an object without a valid score is the answer "no score".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import regex

from metal.data.records import Scale
from metal.raters.judges import forms
from metal.raters.judges.structured import (
    field_of,
    justification_in,
    objects_in,
    objects_with,
    parts_under,
    without_thoughts,
)

EMPTY = "empty"
UNPARSABLE = "unparsable"
CUT_OFF = "cut off"  # in the middle of its JSON, though the model did not say that it ran out of tokens
OFF_SCALE = "off the scale"
LEFT_OUT = "criterion left out"  # of a reply to several

SCORE_KEYS: tuple[str, ...] = (
    "revised_score",
    "final_score",
    "overall_score",
    "score",
    "rating",
    "overall",
    "verdict",
    "grade",
    "value",
    "label",
    "answer",
)
_FENCE = regex.compile(r"```\w*")
_PLACEHOLDER = regex.compile(r"\s*<")  # "<0, 1 or 2>": the form of the prompt, echoed
_AFTER_VALUE = regex.compile(r"[\s=:.(\N{EN DASH}-]+(.*)")  # 2 = Good
_THOUSANDS = regex.compile(r".*,\d{3,}")
_BLANKS = regex.compile(r"\s{3,}+")
_WORD = regex.compile(r"\w")


@dataclass(frozen=True)
class ReplyVerdict:
    """What a reply says. A score of None has its reason; wavering: another valid verdict of the reply differs.

    The other one, borrowed or not, is of the same rank or a higher one, tied to a word of judging, or in a JSON object;
    before a final score only another final one counts, since scores of single aspects stand there.
    """

    score: float | None
    reason: str = ""
    justification: str = ""
    wavering: bool = False


class _Evidence(NamedTuple):
    """Something given as a verdict. score: None for an object without one; borrowed: it does not count."""

    rank: int
    place: int
    score: float | None
    borrowed: bool = False


def read_reply(
    text: str, scale: Scale, letters: Mapping[str, float] | None = None, criterion: str = ""
) -> ReplyVerdict:
    """The verdict in a judge's reply.

    letters: what each letter stands for, where the prompt asked for a letter. criterion: what was asked; a number under
    its name in an object without a score is the verdict. Never raises, and a score is always on
    the scale. The justification is the field of that kind in a structured reply, else the text itself.
    """
    # Runs of blanks are cut to two, so that no pattern has to try its way through them; a line break stays one.
    shorter = _BLANKS.sub(lambda blanks: "\n\n" if "\n" in blanks[0] else "  ", without_thoughts(text)).strip()
    if not shorter:
        return ReplyVerdict(None, EMPTY)
    alone = verdict_alone(shorter, scale, letters)
    if alone is not None:
        return _weighed([_Evidence(forms.STRUCTURED, 0, alone)], scale, "")
    keys, objects = SCORE_KEYS, list(objects_with(shorter, SCORE_KEYS))
    if criterion and not objects:
        keys = forms.keys_of(criterion)
        objects = [(at, fields) for at, fields in objects_with(shorter, keys) if _is_number(field_of(fields, keys))]
    elif criterion and len({at for at, _ in objects}) < len(objects):  # one object has several criteria
        under = forms.keys_of(criterion)
        asked = [(at, field_of(fields, under)) for at, fields in objects_with(shorter, under)]
        objects = [(at, fields) for at, fields in asked if isinstance(fields, dict)] or objects
    if any(not fields for _, fields in objects):
        return ReplyVerdict(None, CUT_OFF)
    prose, places = _prose_around([span for span, _ in objects], shorter)
    evidence = [*evidence_in(prose, scale, letters)]
    words = [match.start() for match in (regex.search(r"\w", prose), regex.search(r"(?r)\w", prose)) if match]
    for place, (_, fields) in zip(places, objects, strict=True):
        value = field_of(fields, keys)
        if not (isinstance(value, str) and _PLACEHOLDER.match(value)):
            line = prose.rfind("\n", 0, max(0, place - 1)) + 1
            amid = bool(words) and words[0] < place and line <= words[-1]
            borrowed = forms.BORROWED.search(prose, max(0, place - 200), place) is not None
            rank = forms.QUOTED if amid or borrowed else forms.STRUCTURED
            beside = [verdict_alone(str(fields.get(key, "")), scale, letters) for key in ("label", "verdict", "rating")]
            scores = [*beside, _number_of_field(value, scale, letters)]
            evidence += [_Evidence(rank, place, score, borrowed) for score in scores]
    justification = next((reason for _, fields in reversed(objects) if (reason := justification_in(fields))), "")
    return _weighed(evidence, scale, justification if objects else shorter)


def read_part(
    text: str, scale: Scale, letters: Mapping[str, float] | None, criterion: str, truncated: bool = False
) -> ReplyVerdict:
    """The verdict on one criterion in a reply to several: an object or a score under its name, or that names it.

    Prose is not read, since it speaks of all criteria; of several objects, those that open or close the reply count,
    of a truncated reply only those that close it. One that is cut off has the criteria that are complete.
    """
    bare = without_thoughts(text)
    objects = list(objects_in(bare, partly=True))
    if not objects:
        return ReplyVerdict(None, UNPARSABLE if bare else EMPTY)
    keys = criterion.lower(), *forms.keys_of(criterion, ("",))
    prose, places = _prose_around([span for span, _ in objects], bare)
    inside = zip(places, objects, strict=True)
    parts = [(place, part) for place, (_, value) in inside for part in parts_under(value, keys)]
    at_the_ends = [
        part
        for place, part in parts
        if not (_WORD.search(prose, place) and (truncated or _WORD.search(prose, 0, place)))
    ]
    own = at_the_ends or [part for _, part in parts if not truncated]
    if not own:
        cut_off = objects[-1][0][1] == len(bare) and bare[-1] not in "}]"
        return ReplyVerdict(None, CUT_OFF if cut_off else LEFT_OUT)
    return read_reply("\n".join(json.dumps(_as_object(part)) for part in own), scale, letters)


def _as_object(part: object) -> Any:
    return part if isinstance(part, dict) else {"score": part}


def _weighed(evidence: Sequence[_Evidence], scale: Scale, justification: str) -> ReplyVerdict:
    """The last valid score of the highest rank, or why there is none."""
    highest = max((given.rank for given in evidence if not given.borrowed), default=forms.ASIDE)
    valid = [given for given in evidence if given.score is not None and scale.allows(given.score)]
    if own := [given for given in valid if given.rank == highest and not given.borrowed]:
        last = max(reversed(own), key=lambda given: given.place)
        rivals = {
            given.score
            for given in valid
            if given.rank >= min(highest, forms.QUOTED)
            and (highest != forms.FINAL or given.rank >= highest or given.borrowed or given.place > last.place)
        }
        return ReplyVerdict(last.score or 0.0, "", justification, wavering=len(rivals) > 1)
    off_scale = any(given.score is not None for given in evidence if given.rank == highest and not given.borrowed)
    return ReplyVerdict(None, OFF_SCALE if off_scale else UNPARSABLE, justification)


def _prose_around(spans: Sequence[tuple[int, int]], text: str) -> tuple[str, list[int]]:
    """What is left of a reply without these spans and without fences, and where in it the spans were.

    No reply about one text is longer than its two ends may be; its verdict stands first or last.
    """
    prose, places, begin = "", [], 0
    for start, end in spans:
        if start >= begin:
            prose += _FENCE.sub("", text[begin:start]) + "\n"
        places.append(len(prose))
        begin = end
    prose += _FENCE.sub("", text[begin:])
    left_out = max(0, len(prose) - 2 * LONGEST_END)
    if left_out:
        prose = prose[:LONGEST_END] + "\n" + prose[-LONGEST_END:]
    return prose, [place if place < LONGEST_END else max(LONGEST_END, place - left_out) for place in places]


def _number_of_field(value: object, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The number a field of a structured reply stands for: 2, "2", "2 (Good)", "2/5", "Good", "two"."""
    if isinstance(value, Mapping):  # {"stars": 4, "of": "clarity"}
        numbers = [inner for inner in value.values() if isinstance(inner, int | float)]
        value = numbers[0] if len(numbers) == 1 else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finite(value)
    if not isinstance(value, str):
        return None
    value = value[:LONGEST_END]
    alone = verdict_alone(value.strip(), scale, letters)
    if alone is not None:
        return alone
    if forms.REFUSAL.match(value):
        return None
    if own := [given for given in evidence_in(value, scale, letters) if not given.borrowed]:
        best = max(own)
        return None if any(given.rank == best.rank and given.score != best.score for given in own) else best.score
    leading = forms.LEADING_NUMBER.match(value)
    return read_number(leading["n"]) if leading else None


# ---------------------------------------------------------------- prose

LONGEST_END = 50_000  # characters at either end of a reply that are read


def evidence_in(
    text: str, scale: Scale, letters: Mapping[str, float] | None, least: int = forms.ASIDE
) -> Iterator[_Evidence]:
    """All that a text gives as a verdict; not all of it need be on the scale.

    least: the rank of the least forms that numbers are looked for in, to save time.
    """
    text = forms.REASONING.sub(lambda match: "\n" * len(match[0]), text)
    numbered = len({"1", "2"} & {match["place"] for match in forms.ITEM.finditer(text)}) == 2
    for pattern in (*forms.NO_VERDICTS, *([forms.ITEM] if numbered else [])):
        text = _without(pattern, text)
    if scale.high == 100:
        text = _without(forms.PERCENT, text)
    unquoted = _without(forms.QUOTATION, text)
    for rank, match, group, score in (*_numbers_in(text, scale, least), *_labels_in(text, scale, letters or {})):
        place = match.start(group)
        borrowed = (
            unquoted[match.start()] != text[match.start()]
            or forms.BORROWED.search(text, max(0, place - 200), place)
            or forms.DOUBTED.match(text, match.end())
        )
        yield _Evidence(rank, place, score, bool(borrowed))


def _without(pattern: Any, text: str) -> str:
    """The text with what the pattern matches blanked out, so that places stay."""
    return str(pattern.sub(lambda match: " " * len(match[0]), text))


def verdict_alone(text: str, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The verdict of a text that is nothing else: `2`, `**Good**`, `(B)`, `Assistant B`, `two`, `2 Good`."""
    bare = text.strip(" \t\n\"'*_`()[].:#")
    if letters and (letter := regex.sub(rf"\A{forms.LETTERED}", "", bare).upper()) in letters:
        return letters[letter]
    for level in scale.levels:
        label = level.label.casefold()
        if bare.casefold() == label and read_number(level.label) is None:
            return level.value
        value = f"{level.value:g}"
        after_value = _AFTER_VALUE.fullmatch(bare, len(value)) if bare.startswith(value) else None
        if after_value and after_value[1].casefold() == label:
            return level.value
    return read_number(forms.LEVEL.sub("", bare)) if len(bare) <= 16 else None


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and read_number(str(value)) is not None


def read_number(text: str) -> float | None:
    """The number that a text is, in digits or as a word up to ten; None for any other text.

    >>> read_number("Four"), read_number("3,5"), read_number("1,000")
    (4.0, 3.5, None)
    """
    if _THOUSANDS.fullmatch(text):
        return None  # 1,000: a thousand, which is on no scale
    if text.lower() in forms.NUMBER_WORDS:
        return forms.NUMBER_WORDS[text.lower()]
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


_Found = tuple[int, Any, str | int, float]  # the rank, the match, the group that holds the score, the score


def _numbers_in(text: str, scale: Scale, least: int) -> Iterator[_Found]:
    """Each number that is given as a verdict, unless it is out of another scale's top; and the label beside it."""
    tops = {max(scale.values)} if scale.levels else {scale.high} if scale.high is not None else set()
    for rank, form in forms.FORMS if forms.ANY_NUMBER.search(text) else ():
        for match in forms.form_pattern(form).finditer(text, overlapped=True) if rank >= least else ():
            number, groups = read_number(match["n"]), match.groupdict()
            top = groups.get("top")
            if number is None or (top and tops and read_number(top) not in tops):
                continue
            if rank != forms.FINAL and forms.IN_BRACKETS.search(text, max(0, match.start() - 200), match.start()):
                ranked = forms.OTHER if rank == forms.TIED else forms.ASIDE
            else:
                ranked = forms.FINAL if groups.get("final") else rank
            named = forms.NAMED.match(text, match.end("n"))
            if named and (beside := verdict_alone(named["label"], scale, None)) is not None:
                yield ranked, match, "n", beside
            yield ranked, match, "n", number
    for match in forms.STARS.finditer(text):
        yield forms.TIED, match, 0, len(forms.STAR.findall(match[0])) + (0.5 if match["half"] else 0.0)


def _labels_in(text: str, scale: Scale, letters: Mapping[str, float]) -> Iterator[_Found]:
    """Each label of the scale and each letter that is given as a verdict."""
    if letters:
        for match in forms.letter_pattern(tuple(letters)).finditer(text):
            yield forms.TIED, match, "letter", letters[match["letter"]]
    labels = {level.label.casefold(): level.value for level in scale.levels if read_number(level.label) is None}
    folded = text.casefold()
    if not any(label in folded for label in labels):
        return  # the pattern takes longer to say so
    for match in forms.label_pattern(tuple(labels)).finditer(text):
        value = labels.get(match["label"].casefold())  # letters can match that do not fold alike
        if value is not None:
            yield forms.FINAL if match["final"] else forms.OTHER if match["bold"] else forms.TIED, match, "label", value
