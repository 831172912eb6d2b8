"""Find which of an item's fields holds the text that was rated, and which hold the text's input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.data.tables.names import GUESSES, plain


def texts_in(fields: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The source's text and the output's. The output is the field with a name of outputs or, if
    there is none, the last field. The source is made of all other fields or, if some of these have
    names of sources, only of those.
    """
    texts = {name: field for name, field in fields.items() if field is not None}
    named = [name for name in texts if plain(name) in GUESSES["text"]]
    chosen = (named or list(texts))[-1:]
    others = [name for name in texts if name not in chosen]
    inputs = [name for name in others if plain(name) in GUESSES["source_text"]] or others
    asked = [str(texts[name]) for name in inputs]
    return "\n\n".join(asked) or None, texts[chosen[0]] if chosen else None
