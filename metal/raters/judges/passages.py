"""Where in a judge's reply its verdict was read: the passages to mark when the reply is shown.

The reader takes the same steps as for the verdict, on a text that remembers where its characters
stood in the reply (traced.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import regex

from metal.data.records import Scale
from metal.raters.judges.candidates import Evidence
from metal.raters.judges.parts import keys_of_part, parts_on
from metal.raters.judges.reader import reading_of
from metal.raters.judges.structured import members_in
from metal.raters.judges.traced import Traced, span_of

Span = tuple[int, int]

# What surrounds a passage and is not marked: punctuation, Markdown, the dash of a list.
_EDGE = r"[\s.!?:;,。！？、，।\"'`*_|#{}]|[-\N{{EN DASH}}\N{{EM DASH}}]\s"
_LEADING = regex.compile(rf"(?:{_EDGE.format('(')})++")
_TRAILING = regex.compile(rf"(?r)(?:{_EDGE.format(')(')})++")
_REST = regex.compile(r"(?i)(?<=[a-z])[a-z]+|(?<=</)\w{1,20}>")
_PAIRS = (("(", ")"), ("{", "}"), ('"', '"'), ("**", "**"))


def passages_of(
    text: str,
    scale: Scale,
    letters: Mapping[str, float] | None = None,
    criterion: str = "",
    numbered: bool = False,
) -> tuple[Span, ...]:
    """The passages that decided the verdict of read_reply, which has the same arguments.

    Returns:
        The begin and end of each passage in the reply, in order and without overlap. A score has
        one passage: the field of an object, or the score with the words that tie it to a verdict.
        Verdicts that differ, or that are off the scale, have one each. There is none if the reply
        has no verdict.

    >>> passages_of('{"score": 2}', Scale("interval", (), 1, 5))
    ((1, 11),)
    """
    reading = reading_of(Traced.original(text), scale, letters, criterion, numbered)
    decisive = reading.decisive
    if reading.verdict.score is not None:
        decisive = _clearest(decisive)
    spans: list[Span] = []
    by_object: dict[Span, list[tuple[str, object]]] = {}
    for evidence in decisive:
        if evidence.field:
            at, key, value = evidence.field
            by_object.setdefault(at, []).append((key, value))
        else:
            spans.append(_tidy(text, evidence.span))
    for at, values in by_object.items():
        spans += _fields_in(reading.text, at, values)
    return merged(spans)


def passages_of_part(
    text: str,
    scale: Scale,
    letters: Mapping[str, float] | None,
    criterion: str,
    truncated: bool = False,
    numbered: bool = False,
) -> tuple[Span, ...]:
    """The parts of a reply that decided the verdict of read_part, which has the same arguments."""
    parts = parts_on(Traced.original(text), criterion, truncated)
    written = parts.written
    lines = {
        written.count("\n", 0, begin)
        for begin, _ in passages_of(written, scale, letters, numbered=numbered)
    }
    keys = keys_of_part(criterion)
    spans: list[Span] = []
    for line in lines:
        at, value = parts.counting[line]
        under_key = _fields_in(parts.text, at, [(key, value) for key in keys])
        naming = _fields_in(parts.text, at, [("", value)])
        spans += (under_key or naming)[:1] or [span_of(parts.text, *at)]
    return merged(spans)


def _clearest(agreeing: Sequence[Evidence]) -> Sequence[Evidence]:
    """Of evidence that agrees, the last field or labelled score; if there is none, the last."""
    shown = agreeing[-1]
    for evidence in agreeing:
        if evidence.written:
            shown = evidence
    if shown.field:
        return [shown]
    return [evidence for evidence in agreeing if evidence.place == shown.place]


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans in order; those that overlap are one."""
    apart: list[Span] = []
    for begin, end in sorted(spans):
        if apart and begin < apart[-1][1]:
            begin, end = apart[-1][0], max(end, apart.pop()[1])
        apart.append((begin, end))
    return tuple(apart)


def _tidy(text: str, span: Span) -> Span:
    """The span without the punctuation around it. If it ends inside a word or mark, that word or
    mark is included whole. If a pair of brackets or quotation marks begins or ends in it, the whole
    pair is included.
    """
    begin, end = span
    if leading := _LEADING.match(text, begin, end):
        begin = leading.end()
    if trailing := _TRAILING.match(text, begin, end):
        end = trailing.start()
    if begin >= end:
        return span
    if rest := _REST.match(text, end):
        end = rest.end()
    for opening, closing in _PAIRS:
        passage = text[begin:end]
        if opening == closing:
            is_open = passage.count(opening) % 2 == 1
        else:
            is_open = passage.count(opening) > passage.count(closing)
        if is_open and text.startswith(closing, end):
            end += len(closing)
        elif is_open and opening == closing and text.endswith(opening, 0, begin):
            begin -= len(opening)
    return begin, end


def _fields_in(text: str, at: Span, values: Sequence[tuple[str, object]]) -> list[Span]:
    """The spans of the fields with these keys and values in the object at a position. A key has no
    span if the object repeats it with another value.
    """
    wanted = {(key, json.dumps(value)) for key, value in values}
    names = {key for key, _ in values}
    return [
        span_of(text, *span)
        for key, value, span in members_in(text, at, names)
        if (key, json.dumps(value)) in wanted
    ]
