"""Which of an item's fields is the text that was rated, and which are what it was written for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.data.tables.names import GUESSES, plain


def texts_in(fields: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The source's text and the output's. The output's is the field with such a name, else the last
    one; the others are the source's, or those of them whose name says so.
    """
    texts = {name: field for name, field in fields.items() if field is not None}
    named = [name for name in texts if plain(name) in GUESSES["text"]]
    chosen = (named or list(texts))[-1:]
    others = [name for name in texts if name not in chosen]
    inputs = [name for name in others if plain(name) in GUESSES["source_text"]] or others
    asked = [str(texts[name]) for name in inputs]
    return "\n\n".join(asked) or None, texts[chosen[0]] if chosen else None
