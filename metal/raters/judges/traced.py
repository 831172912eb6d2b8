"""Texts whose characters know where they stood in the reply that the text was made from.

The reader removes thoughts, blanks and objects from a reply before it looks for a verdict. To say
where in the reply the verdict is, passages.py lets it read a Traced text in the same steps. Each
step that changes the length of a text uses `replaced` or `joined`. They do the same to a plain
string, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex


class Traced(str):
    """A text that was made from another, the original.

    begins, ends: for each character, the span of the original that it stands for.
    """

    __slots__ = ("begins", "ends")

    begins: Sequence[int]
    ends: Sequence[int]

    def __new__(cls, text: str, begins: Sequence[int], ends: Sequence[int]) -> Traced:
        traced = super().__new__(cls, text)
        traced.begins, traced.ends = begins, ends
        return traced

    @classmethod
    def original(cls, text: str) -> Traced:
        """A text whose characters stand for themselves."""
        return cls(text, range(len(text)), range(1, len(text) + 1))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        piece = super().__getitem__(key)
        if isinstance(key, slice):
            return Traced(piece, self.begins[key], self.ends[key])
        return piece

    def strip(self, chars: str | None = None, /) -> str:
        begin = len(self) - len(self.lstrip(chars))
        return self[begin : max(begin, len(self.rstrip(chars)))]


def joined(pieces: Sequence[str]) -> str:
    """The pieces as one text. If only some pieces are traced, each of the others stands for the end
    of the piece before it.
    """
    if not any(isinstance(piece, Traced) for piece in pieces):
        return "".join(pieces)
    begins: list[int] = []
    ends: list[int] = []
    for piece in pieces:
        if isinstance(piece, Traced):
            begins += piece.begins
            ends += piece.ends
        else:
            last = ends[-1] if ends else 0
            begins += [last] * len(piece)
            ends += [last] * len(piece)
    return Traced("".join(pieces), begins, ends)


def replaced(pattern: Any, by: str | Callable[[Any], str], text: str) -> str:
    """The text with each match of a pattern replaced. Each character of a replacement stands for
    the whole match.
    """
    if not isinstance(text, Traced):
        return str(pattern.sub(by, text))
    pieces, done = [], 0
    for match in pattern.finditer(text):
        begin, end = match.span()
        new = by if isinstance(by, str) else by(match)
        pieces.append(text[done:begin])
        if new == match[0]:
            pieces.append(text[begin:end])
        else:
            first, last = text.begins[begin], text.ends[end - 1]
            pieces.append(Traced(new, [first] * len(new), [last] * len(new)))
        done = end
    pieces.append(text[done:])
    return joined(pieces)


def traced_like(text: str, other: str) -> str:
    """The text, traced in the same way as another text of the same length; unchanged if that text
    is not traced.
    """
    return Traced(text, other.begins, other.ends) if isinstance(other, Traced) else text


def span_of(text: str, begin: int, end: int) -> tuple[int, int]:
    """The span of the original for which a part of a text stands, without blanks around it; the
    part's own span if the text is not traced.
    """
    if not isinstance(text, Traced):
        return begin, end
    part = text[begin:end].strip()
    if not isinstance(part, Traced) or not part:
        return 0, 0
    return part.begins[0], part.ends[-1]
