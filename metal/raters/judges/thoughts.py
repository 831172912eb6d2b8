"""Remove what does not belong to the answer in a reply: invisible characters, and the model's
thoughts.

Models put their thoughts between marks: `<think> ... </think>`, `[THINK]`, `<|begin_of_thought|>`.
New models bring new marks, so METAL has no list of marks. At the beginning of a reply, any mark
opens a thought, unless its name is that of an answer (`<score>`), of HTML or of a chat template, or
it contains only a number. Elsewhere, a mark opens or closes a thought if its name is about
thinking. A thought that is never closed goes on to the end of the reply; if a thought is closed but
never opened, everything before the closing mark is thought.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import regex

from metal.raters.judges.reply_words import pattern_of, words_of
from metal.raters.judges.traced import joined, replaced

# Characters without width, the frame of a keycap, and marks of direction; an override of direction
# changes what is seen, and stays.
_UNSEEN = regex.compile("[\u200b\u200e\u200f\u061c\u2060\u2066-\u2069\ufeff]|\ufe0f?\u20e3")
_CHANNEL = regex.compile(r"<\|(?:channel|start)\|>")
_FINAL_CHANNEL = regex.compile(
    r"<\|channel\|>\s*final\b[^<]{0,99}(?:<\|constrain\|>[^<]{0,99})?<\|message\|>"
)
_CHANNEL_MARK = regex.compile(r"<\|\w{1,20}\|>")
_MARK = regex.compile(
    r"(?<![\"'`“‘«])(?:(?P<shape><\|?|\[|◁)(?P<slash>/?)(?P<name>\p{L}[\w:.-]{0,40}+)(?:\|?>|\]|▷)|(?P<name>assistantfinal))"
)
# What is left of them, and of chat templates: <|START_RESPONSE|>, </s>
_SPECIAL = regex.compile(r"<\|/?\w{1,40}\|>|</?(?:bos|eos|pad|(?:start|end)_of_turn)>|\A<s>|</s>\Z")
_BEGINS = regex.compile(r"(?i)^(?:begin|start)(?:_of)?_")
_ENDS = regex.compile(r"(?i)^end(?:_of)?_")
_PARTS = regex.compile(r"[_:.-]|(?<=\p{Ll})(?=\p{Lu})")
_THINKING = regex.compile(
    "|".join(map(regex.escape, [*words_of("thoughts", "marks"), *words_of("reasons", "marks")]))
)
_REASONS = regex.compile("|".join(map(regex.escape, words_of("reasons", "marks"))))
_ANSWERS, _FORMATTING = set(words_of("answers", "marks")), set(words_of("formatting", "marks"))
_NOT_BLANK = regex.compile(r"\S")
_BARE_NUMBER = regex.compile(r"[\s\d.,/*]*")
_STATUS = (
    r"(?:http|error|status)\W{0,3}[45]\d\d\b|[45]\d\d\W{1,3}(?:error|too\s+many|service|internal)"
)
_SERVICE_ERROR = regex.compile(
    r"(?i)\W*(?:(?:error|sorry|api|server|the|request|failed|exception|message)\W+){0,4}"
    rf"(?:{pattern_of(words_of('errors', 'services'))}|{_STATUS})"
)


class _Mark(NamedTuple):
    """A mark in a reply. name: its name without the part that says that it begins or ends
    something.
    """

    start: int
    end: int
    name: str
    closes: bool
    thinks: bool


def plain(text: str) -> str:
    """The text without invisible characters."""
    return replaced(_UNSEEN, "", text).strip()


def is_service_error(text: str) -> bool:
    """Whether the text opens with a message from a service rather than from a judge, such as that a
    limit is reached.
    """
    return _SERVICE_ERROR.match(text) is not None


def without_thoughts(text: str) -> str:
    """The plain reply without the model's thoughts; empty if it has only thoughts."""
    return _without_marked(plain(text), reasons=False)


def aloud(text: str) -> str:
    """The plain reply without thoughts, but with reasons that the model gave on purpose, such as
    `<explanation>`.
    """
    return _without_marked(plain(text), reasons=True)


def _without_marked(bare: str, reasons: bool) -> str:
    if _CHANNEL.match(bare):
        ends = [match.end() for match in _FINAL_CHANNEL.finditer(bare)]
        return replaced(_CHANNEL_MARK, " ", bare[ends[-1] :]).strip() if ends else ""
    marks = [mark for mark in _marks(bare) if not (reasons and _REASONS.search(mark.name))]
    return replaced(_SPECIAL, " ", _outside_thoughts(bare, marks)).strip()


def _outside_thoughts(bare: str, marks: Sequence[_Mark]) -> str:
    """The text without the parts that marks show to be thoughts."""
    closings: dict[str, list[_Mark]] = {}
    for mark in marks:
        if mark.closes:
            closings.setdefault(mark.name, []).append(mark)
    kept: list[str] = []
    done = 0
    for mark in marks:
        if mark.start < done:
            continue
        if mark.closes:  # what it closes was not opened
            if mark.thinks:
                kept, done = [], mark.end
            continue
        later = closings.get(mark.name, [])
        at = bisect_left(later, mark.end, key=lambda each: each.start)
        closing = later[at] if at < len(later) else None
        first = _NOT_BLANK.search(bare, done)
        opens = not kept and first is not None and first.start() == mark.start
        if _is_thought(bare, mark, closing, opens):
            if mark.start > done:
                kept.append(bare[done : mark.start])
            done = closing.end if closing else len(bare)
    kept.append(bare[done:])
    return joined(kept)


def _is_thought(text: str, mark: _Mark, closing: _Mark | None, opens: bool) -> bool:
    """Whether a mark opens a thought. opens: whether only thoughts come before it."""
    if mark.thinks:
        return closing is not None or opens or text[mark.start - 1] == "\n"
    in_square = text[mark.start] == "["
    holds_number = closing is not None and _BARE_NUMBER.fullmatch(text, mark.end, closing.start)
    return opens and not in_square and not holds_number


def _marks(text: str) -> Iterator[_Mark]:
    """The marks of a reply that may open or close a thought, except those inside JSON at its
    beginning.
    """
    opened: dict[str, str] = {}
    for match in _MARK.finditer(text, _end_of_json(text)):
        written = str(match["name"])
        name = _ENDS.sub("", _BEGINS.sub("", written)).lower()
        parts = {part.lower() for part in _PARTS.split(name)}
        if not parts.isdisjoint(_ANSWERS) or name in _FORMATTING or written.lower() in _FORMATTING:
            continue
        if written == "assistantfinal":
            yield _Mark(match.start(), match.end(), name, closes=True, thinks=True)
            continue
        numbered = name.rstrip("0123456789")
        # <unused94> ... <unused95>: of marks that are counted, the next one closes.
        closes = (
            bool(match["slash"]) or bool(_ENDS.match(written)) or opened.get(numbered, name) != name
        )
        opened.setdefault(numbered, name)
        yield _Mark(match.start(), match.end(), numbered, closes, bool(_THINKING.search(name)))


def _end_of_json(text: str) -> int:
    """The position at which the JSON at the beginning of a reply ends. It is the end of the reply
    if the JSON is broken, and 0 if the reply does not begin with JSON.
    """
    if not text.startswith(("{", "[{", "```")):
        return 0
    begin = regex.search(r"[{\[]", text)
    if begin is None:
        return 0
    try:
        return _end(text, begin.start())
    except (ValueError, RecursionError):
        return len(text)


def _end(text: str, begin: int) -> int:
    decoder: Any = json.JSONDecoder(strict=False)
    return int(decoder.raw_decode(text, begin)[1])
