"""API keys: read from the environment, and removed from everything that is written, in case a provider echoes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from metal.errors import UsageError
from metal.raters.judges.models import Model

HIDDEN = b"[key hidden]"
SHORTEST = 8  # a shorter value is not a key, and removing it would damage texts


class Secrets:
    """Values that must not be written anywhere."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        written = {value for value in values if len(value) >= SHORTEST}
        written |= {json.dumps(value)[1:-1] for value in written}
        self._values = sorted((value.encode() for value in written), key=len, reverse=True)

    @classmethod
    def of(cls, models: Iterable[Model]) -> Secrets:
        """The keys of these models, the values of their headers, and all that looks like a key in the environment."""
        named = [
            value
            for model in models
            for value in (os.environ.get(model.api_key_env, "").strip(), *model.sent_headers().values())
        ]
        return cls([*named, *known_keys()])

    def __or__(self, other: Secrets) -> Secrets:
        """The values of both."""
        both = Secrets()
        both._values = sorted({*self._values, *other._values}, key=len, reverse=True)
        return both

    def hidden(self, text: bytes) -> bytes:
        """The text without them."""
        for value in self._values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return text

    def hide_in(self, path: Path) -> None:
        """Remove them from a file, if any are in it."""
        with path.open("rb") as lines:
            if not any(self.hidden(line) is not line for line in lines):
                return
        partial = path.with_name(f".{path.name}.part")
        with path.open("rb") as lines, partial.open("wb") as file:
            file.writelines(map(self.hidden, lines))
        os.replace(partial, path)


def key_from_environment(names: Iterable[str], whose: str) -> str:
    """The key in the first of these environment variables that is set. Raises UsageError when none is."""
    wanted = [name for name in names if name]
    for name in wanted:
        if os.environ.get(name, "").strip():
            return os.environ[name].strip()  # a line break that came from a file does not belong to it
    raise UsageError(f"{whose} needs a key in the environment variable {' or '.join(wanted)}, which is not set")


def known_keys() -> list[str]:
    """The values of all environment variables that look like keys, for any service."""
    endings = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
    values = (value.strip() for name, value in os.environ.items() if name.upper().endswith(endings))
    return [value for value in values if len(value) >= 16 and " " not in value]
