"""Read options of a table as they are typed, with knowledge of its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from metal.data.text import divided

_NEXT_PAIR = re.compile(r",(?=[^,=]+=)")


def several_pairs(text: str) -> list[str]:
    """Split `NAME=VALUE,NAME=VALUE` into its pairs; a comma begins a new pair if a name and =
    follow it. A pair in double quotes stays whole.

    >>> several_pairs("rater=who,output=id"), several_pairs("text=answer, in full")
    (['rater=who', 'output=id'], ['text=answer, in full'])
    >>> several_pairs('"Smith, J=human",gpt=llm')
    ['Smith, J=human', 'gpt=llm']
    """
    if text.startswith('"') or ',"' in text:
        pairs = list(divided(text))
        if all("=" in pair for pair in pairs):
            return pairs
    return _NEXT_PAIR.split(text)


def columns_apart(columns: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """{role: column}, with roles that were typed together (`rater=who,output=id`) taken apart if no
    column has that name.

    >>> columns_apart({"rater": "who,output=id"}, ["who", "id"])
    {'rater': 'who', 'output': 'id'}
    """
    apart: dict[str, str] = {}
    for role, column in columns.items():
        first, *others = [column] if column in names else several_pairs(column)
        apart[role] = first.strip()
        for pair in others:
            name, _, value = pair.partition("=")
            apart[name.strip()] = value.strip()
    return apart
