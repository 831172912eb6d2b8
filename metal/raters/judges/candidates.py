"""Find the verdicts that a text may give, each with its rank and with what the words around it say.

Passages that only look like a verdict are blanked out (not_verdicts.py). Then the forms of forms.py
are looked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import regex

from metal.data.records import Scale
from metal.raters.judges import forms, not_verdicts
from metal.raters.judges.not_verdicts import Surroundings, blanked, without_verdicts_of_none
from metal.raters.judges.ranges import RANGE, ranges_in_digits
from metal.raters.judges.reply_words import any_of, pattern_of, words_in
from metal.raters.judges.traced import replaced, span_of, traced_like

LONGEST_END = 50_000  # characters at either end of a reply that are read
_HEADING = regex.compile(r"\A\s*#{1,6}\s+")
_AFTER_VALUE = regex.compile(r"[\s=:.(\N{EN DASH}-]+(.*)")  # 2 = Good
_THOUSANDS = regex.compile(r".*,\d{3,}")
_TWO_NUMBERS = regex.compile(r"\d\D+\d")
_CODE = regex.compile(r"[-+]?0\d")
_SCHEMA_TYPES = {"integer", "number", "string", "object", "array", "boolean"}  # of a JSON schema


class Field(NamedTuple):
    """The field of an object that holds a score. key: in lower case. at: the object's span."""

    at: tuple[int, int]
    key: str
    value: object


class Evidence(NamedTuple):
    """A passage or an object that may be the verdict.

    score: None for an object without a score. borrowed: whether it is not the judge's own.
    corrects: whether it replaces earlier verdicts. middle: whether the score is the middle of a
    range. written: whether it has the form of a whole verdict: an object or a labelled score.

    span: the passage in the text. If the text is traced (traced.py), the passage in its original.
    field: where an object has the score.
    """

    rank: int
    place: int
    score: float | None
    borrowed: bool = False
    corrects: bool = False
    middle: bool = False
    written: bool = False
    span: tuple[int, int] = (0, 0)
    field: Field | None = None


def number_of_field(
    value: object, scale: Scale, letters: Mapping[str, float] | None
) -> float | None:
    """The number in a field of a structured reply, such as 2, "2", "2 (Good)", "2/5", "Good" or
    "two".
    """
    if isinstance(value, Mapping):
        value = _lone_number(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finite(value)
    if not isinstance(value, str):
        return None
    value = value[:LONGEST_END]
    alone = verdict_alone(value.strip(), scale, letters)
    if alone is not None:
        return alone
    if not_verdicts.REFUSAL.match(value):
        return None
    if own := [verdict for verdict in evidence_in(value, scale, letters) if not verdict.borrowed]:
        best = max(own)
        return (
            None
            if any(verdict.rank == best.rank and verdict.score != best.score for verdict in own)
            else best.score
        )
    value = without_verdicts_of_none(value, percent=False)
    leading = forms.LEADING_NUMBER.match(value)
    return read_number(leading["n"]) if leading else None


def _lone_number(fields: Mapping[str, object]) -> float | None:
    """The only number of an object such as `{"stars": 4, "of": "clarity"}`; None for a schema such
    as `{"type": "integer", "default": 3}`.
    """
    if fields.get("type") in _SCHEMA_TYPES or "enum" in fields:
        return None
    numbers = [value for value in fields.values() if isinstance(value, int | float)]
    return numbers[0] if len(numbers) == 1 else None


def evidence_in(
    text: str, scale: Scale, letters: Mapping[str, float] | None, least: int = forms.ASIDE
) -> Iterator[Evidence]:
    """Everything in a text that is given as a verdict, even if it is off the scale.

    least: forms of numbers with a lower rank are not looked for, to save time.
    """
    if not text.strip():
        return
    text = ranges_in_digits(text)
    blank = without_verdicts_of_none(text, percent=scale.high == 100)
    text, middles = _with_middles(traced_like(blank, text), scale)
    around = Surroundings(text)
    left = verdict_alone(text.strip(), scale, letters)
    if left is not None:
        begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
        span = span_of(text, begin, end)
        yield Evidence(forms.TIED, begin, left, middle=bool(middles), span=span)
    verdicts = [*_numbers_in(text, scale, least), *_labels_in(text, scale, letters or {})]
    if not verdicts:
        return  # what is quoted takes longer
    labels = _labels_of(scale)
    unquoted = blanked(not_verdicts.QUOTED_LINE, blanked(not_verdicts.QUOTATION, text))
    for rank, match, group, score, end in verdicts:
        start = match.start(group)
        borrowed = (
            unquoted[match.start()] != text[match.start()]
            or around.borrowed(start)
            or (match[0].startswith("<") and around.borrowed(match.start()))  # <score>2</score>
            or not_verdicts.DOUBTED.match(text, match.end())
        )
        if rank in (forms.OF_TOP, forms.TIED):
            rank = _weighed(rank, around, start)
        written = rank in (forms.TIED, forms.FINAL) and not_verdicts.is_labelled(text, match, start)
        middle, span = start in middles, span_of(text, match.start(), end)
        yield Evidence(
            rank, start, score, bool(borrowed), middle=middle, written=written, span=span
        )
        if rank >= forms.OF_TOP and not borrowed:
            yield from _meant_instead(around, match.end(group), labels)


def _meant_instead(
    around: Surroundings, end: int, labels: Mapping[str, float]
) -> Iterator[Evidence]:
    """The score that replaces the score before it, if the words after that score say so."""
    meant = around.instead(end, tuple(labels))
    if not meant:
        return
    group = "label" if meant["n"] is None else "n"
    begin, end = meant.span(group)
    score = labels.get(meant[group].casefold()) if group == "label" else read_number(meant[group])
    span = span_of(around.text, begin, end)
    yield Evidence(forms.TIED, begin, score, corrects=True, span=span)


def _weighed(rank: int, around: Surroundings, place: int) -> int:
    """The rank of a score, adjusted by the words before it: lower for a possibility, higher for a
    conclusion.
    """
    if around.conditional(place):
        return forms.OTHER
    return forms.FINAL if around.concludes(place) else rank


def _with_middles(text: str, scale: Scale) -> tuple[str, set[int]]:
    """Replace each range in a text by its middle (`10-15` by 12.5); also return the positions of
    the middles.

    Some ranges are blanked out instead: ranges that name several levels, ranges that span more than
    a quarter of the scale and so say too little, and ranges that count something.
    """
    if not _TWO_NUMBERS.search(text) or not RANGE.search(text):
        return text, set()
    middles: set[int] = set()
    ends = (scale.low, scale.high)
    allowed = tops(scale)
    widest = (
        0.0 if None in ends or scale.levels else (float(ends[1] or 0) - float(ends[0] or 0)) / 4
    )
    middle_of = partial(_middle_of, scale=scale, allowed=allowed, widest=widest, middles=middles)
    return replaced(RANGE, middle_of, text), middles


def _middle_of(
    match: Any, *, scale: Scale, allowed: set[float], widest: float, middles: set[int]
) -> str:
    """The text that replaces a match of RANGE: the middle, whose position is added to `middles`;
    blanks if the range is not to be read as a score; the text itself if it is no range.
    """
    ends = _ends_of(match, allowed)
    if ends is None:
        return str(match[0])
    low, high = ends
    allowed_both = scale.allows(low) and scale.allows(high)
    if match["counted"] is not None or high - low > widest or not allowed_both:
        return " " * len(match[0])
    middles.add(match.start())
    return f"{(low + high) / 2:g}".ljust(len(match[0]))


def _ends_of(match: Any, allowed: set[float]) -> tuple[float, float] | None:
    """The ends of a range, the lower end first; None if it is not a range, or if it is out of a
    maximum that is not allowed.
    """
    low, high = read_number(match["low"]), read_number(match["high"])
    if low is None or high is None:
        return None
    if match["either"] and low > high:
        low, high = high, low
    written_tops = [read_number(top) for top in (match["low_top"], match["top"]) if top]
    if low >= high or any(allowed and top not in allowed for top in written_tops):
        return None
    return low, high


def verdict_alone(text: str, scale: Scale, letters: Mapping[str, float] | None) -> float | None:
    """The verdict of a text that is nothing but a verdict, such as `2`, `**Good**`, `(B)`,
    `Assistant B`, `two` or `2 Good`.
    """
    bare = _HEADING.sub("", text).strip(" \t\n\"'*_`()[].:。")
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
    """The number that a text consists of, in digits or as a word up to ten; None for any other
    text.

    >>> read_number("Four"), read_number("3,5"), read_number("1,000")
    (4.0, 3.5, None)
    """
    if _THOUSANDS.fullmatch(text) or _CODE.match(text):
        return None  # 1,000: a thousand, which is on no scale; 03: a date or a code
    word = text.lower()
    if word in forms.NUMBER_WORDS:
        return forms.NUMBER_WORDS[word]
    if word in forms.NUMBER_WORDS_ELSEWHERE:
        return forms.NUMBER_WORDS_ELSEWHERE[word]
    try:
        return finite(float(text.replace("\N{MINUS SIGN}", "-").replace(",", ".")))
    except ValueError:
        return None


def finite(value: float) -> float | None:
    """The value as a float; None if it is too large for one, infinite or NaN."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# the rank, the match, the group that holds the score, the score, the end of the passage
_Found = tuple[int, Any, str | int, float, int]


def _numbers_in(text: str, scale: Scale, least: int) -> Iterator[_Found]:
    """Each number that is given as a verdict, and the label next to it. Numbers out of another
    scale's maximum are left out.
    """
    allowed = tops(scale)
    for rank, pattern, of_noun in _patterns_for(text, least):
        for match in pattern.finditer(text, overlapped=True):
            number, top = read_number(match["n"]), match.groupdict().get("top")
            if number is None or (top and allowed and read_number(top) not in allowed):
                continue
            ranked = _rank_in_text(rank, match, text, of_noun)
            named = not_verdicts.NAMED.match(text, match.end("n"))
            if named and (beside := verdict_alone(named["label"], scale, None)) is not None:
                yield ranked, match, "n", beside, named.end("label")
            yield ranked, match, "n", number, match.end()
    for match in forms.STARS.finditer(text):
        yield (
            forms.TIED,
            match,
            0,
            len(forms.STAR.findall(match[0])) + (0.5 if match["half"] else 0.0),
            match.end(),
        )


def _rank_in_text(rank: int, match: Any, text: str, of_noun: bool) -> int:
    """The rank of a number's form in this text: lower in brackets, the highest if the number is
    called final or overall.
    """
    begin = match.start()
    if rank != forms.FINAL and not_verdicts.IN_BRACKETS.search(text, max(0, begin - 1000), begin):
        return forms.OTHER if rank in (forms.OF_TOP, forms.TIED) else forms.ASIDE
    names_all = of_noun and forms.NAMES_THE_WHOLE.search(match[0])
    return forms.FINAL if match.groupdict().get("final") or names_all else rank


def _patterns_for(text: str, least: int) -> Iterator[tuple[int, Any, bool]]:
    """The forms in which a text may give a number: rank, pattern, and whether the pattern begins
    with a noun of another language.
    """
    lowered = text.lower()
    nouns = words_in(lowered, "nouns")
    if not (nouns or forms.ANY_NUMBER.search(text) or words_in(lowered, "numbers")):
        return
    for form in forms.FORMS:
        if form.rank >= least and form.begins.search(text):
            yield form.rank, form.pattern, False
    if nouns:
        yield forms.TIED, forms.noun_pattern(nouns), True
    yield from _patterns_of_last_line(text)
    if lowered.count(" for ") > 1 and forms.ONE_OF_EACH.search(text):
        yield forms.TIED, forms.FOR_EACH, False
    if forms.ONE_OF_BOTH.search(text):
        yield forms.TIED, forms.OF_BOTH, False
    if forms.ANY_STAR.search(text):
        yield forms.TIED, forms.COUNTED_STARS, False


def _patterns_of_last_line(text: str) -> Iterator[tuple[int, Any, bool]]:
    """The forms that a text's last line suggests: a line that begins with a name, or one that ends
    with aspects.
    """
    last = text.rstrip().rpartition("\n")[2]
    if forms.NAMED_LINE_BEGINS.search(text):
        yield forms.TIED if forms.NAMED_LINE.match(last) else forms.OTHER, forms.NAMED_LINE, False
    aspects = forms.aspects_in(last)
    if aspects and not last[aspects[-1].end() :].strip(" \t.;,|*_"):
        yield forms.TIED, forms.ASPECT, False


def of_criterion(text: str, criterion: str) -> str:
    """The text without the scores for other aspects on a line that names the criterion as one of
    several.
    """
    asked = criterion.strip().casefold()
    lines = text.split("\n")
    for row, line in enumerate(lines):
        aspects = forms.aspects_in(line) if asked in line.casefold() else []
        if any(aspect["name"].strip().casefold() == asked for aspect in aspects):
            for aspect in reversed(aspects):
                if aspect["name"].strip().casefold() != asked:
                    begin, end = aspect.span("n")
                    line = line[:begin] + " " * (end - begin) + line[end:]
            lines[row] = line
    return "\n".join(lines)


def tops(scale: Scale) -> set[float]:
    """The maxima that a score may be out of, as in `4/5`; empty for a scale without an end."""
    if scale.levels:
        return {max(scale.values)}
    return set() if scale.high is None else {scale.high}


def _labels_in(text: str, scale: Scale, letters: Mapping[str, float]) -> Iterator[_Found]:
    """Each label of the scale and each letter that is given as a verdict."""
    if letters:
        for match in forms.letter_pattern(tuple(letters)).finditer(text):
            yield forms.TIED, match, "letter", letters[match["letter"]], match.end()
    labels = _labels_of(scale)
    folded = text.casefold()
    if not any(label in folded for label in labels):
        return  # the pattern takes longer to say so
    answering = _answers(text.lower(), tuple(labels))
    if any(answering):
        answered = _answered_pattern(tuple(labels), *answering)
        yield from _held_or_not(answered.finditer(text), labels, scale)
        text = blanked(answered, text)
    text = blanked(forms.enumeration_of(tuple(labels)), text)
    for match in forms.label_pattern(tuple(labels)).finditer(text):
        value = labels.get(match["label"].casefold())  # letters can match that do not fold alike
        if value is None:
            continue
        rank = forms.OTHER if match["bold"] else forms.TIED
        if match["final"]:
            rank = forms.FINAL
        yield rank, match, "label", value, match.end()


def _held_or_not(
    matches: Iterator[Any], labels: Mapping[str, float], scale: Scale
) -> Iterator[_Found]:
    """Each label that a word confirms. If there are two levels and a word denies one, the other
    label.
    """
    for match in matches:
        value = labels.get(match["label"].casefold())
        others = [level.value for level in scale.levels if level.value != value]
        if value is not None and match["yes"]:
            yield forms.TIED, match, "label", value, match.end()
        elif value is not None and match["no"] and len(others) == 1:
            yield forms.TIED, match, "label", others[0], match.end()


def _labels_of(scale: Scale) -> dict[str, float]:
    """Label in lower case -> value, for labels that are not numbers."""
    levels = [level for level in scale.levels if read_number(level.label) is None]
    return {level.label.casefold(): level.value for level in levels}


def _answers(lowered: str, labels: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words for yes, for no and for neither that a text in lower case may contain, except words
    that are labels.
    """
    keys = ("yes", "no", "neither")
    listed = [(*words_in(lowered, key, "en"), *words_in(lowered, key)) for key in keys]
    return [tuple(word for word in listed_words if word not in labels) for listed_words in listed]


@lru_cache(maxsize=256)
def _answered_pattern(
    labels: tuple[str, ...], yes: tuple[str, ...], no: tuple[str, ...], neither: tuple[str, ...]
) -> Any:
    """The pattern of a label with a word that says whether it holds: `Present: no.` | `Present
    (no)`.
    """
    of_each = {"yes": yes, "no": no, "neither": neither}
    says = [f"(?P<{key}>{pattern_of(of) if of else '(?!)'})" for key, of in of_each.items()]
    return regex.compile(
        rf"(?i)(?<!\w)(?P<label>{any_of(labels)})[\"'*_`)\]]*"
        r"\s?(?:[:=?(：？（]|\s[-\N{EN DASH}\N{EM DASH}]\s)[\s\"'*_`(]*"
        rf"(?:{'|'.join(says)})[\"'*_`)）]*\s*(?=[.,;!\n。、]|\Z)"
    )
