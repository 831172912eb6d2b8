"""What a terminal shows, as GitHub Markdown.

Texts of models and people stay plain text, and mention no GitHub users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from metal.data.text import printable_sentence
from metal.show.view import Paragraph, TableView

MOST_COLUMNS = 9  # of a table that can be turned
_MARKUP = re.compile(r"([\\`*_\[\]<>&|~$])")
# of people, issues and the web
_LINKS = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_OPENS_A_BLOCK = re.compile(r"^(\d*)(?=[-+=#.)])")
APART = "&#8203;"  # a space without width


def markdown(parts: Iterable[TableView | Paragraph]) -> str:
    """Paragraphs and tables as Markdown, separated by blank lines."""
    blocks = (_paragraph(part) if isinstance(part, Paragraph) else _table(part) for part in parts)
    return "\n\n".join(filter(None, blocks)) + "\n"


def one_line(text: str) -> str:
    """Text on one line, escaped so that Markdown shows it unchanged."""
    line = " ".join(printable_sentence(text).split())
    return _LINKS.sub(APART, _MARKUP.sub(r"\\\1", line))


def _paragraph(part: Paragraph) -> str:
    if part.copied:
        line = " ".join(printable_sentence(part.text).split())
        fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
        blank = " " * (len(fence) > 1)  # not shown
        return f"{fence}{blank}{line}{blank}{fence}"
    text = _OPENS_A_BLOCK.sub(r"\1\\", one_line(part.text))
    return f"**{text}**" if part.strong and text else text


def _table(part: TableView) -> str:
    if part.turns and len(part.columns) > max(MOST_COLUMNS, len(part.rows)):
        part = part.turned()
    rows = [[_cell(cell.text, cell.below, cell.mark) for cell in row] for row in part.rows]
    lines = [list(map(one_line, part.columns)), ["---"] * len(part.columns), *rows]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([f"**{one_line(part.title)}**", drawn, *map(one_line, part.remarks)])


def _cell(text: str, below: str, mark: str) -> str:
    marked = f"**{one_line(text)}**" if mark in ("strong", "good") else one_line(text)
    return "<br>".join([marked, *map(one_line, below.splitlines())])
