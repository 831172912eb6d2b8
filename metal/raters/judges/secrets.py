"""API keys: read them from the environment, and remove them from all that is written, in case a
provider echoes them.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from metal.errors import UsageError
from metal.raters.judges.call import Reply
from metal.raters.judges.models import Model

HIDDEN = b"[key hidden]"
SHORTEST = 4  # a shorter value is not a key, and removing it would damage texts
LONG = 8  # shorter values are removed as whole words only
# of JSON, JSON in JSON, addresses
_ESCAPE = re.compile(rb'\\+u00([0-7][0-9a-fA-F])|\\+([/"])|%([0-7][0-9a-fA-F])')


class Secrets:
    """Values that must not be written anywhere, not even in the escaped forms of JSON and
    addresses, or in base64.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        kept = {
            value
            for value in values
            if len(value) >= SHORTEST and value not in ("true", "false", "null")
        }
        written = {
            form
            for value in kept
            for form in (value.encode(), json.dumps(value)[1:-1].encode(), *_in_base64(value))
        }
        self._values = {value: _pattern(value) for value in sorted(written, key=len, reverse=True)}

    @classmethod
    def of(cls, models: Iterable[Model]) -> Secrets:
        """The keys of these models, the values of their headers, and all variables of the
        environment that look like keys.
        """
        models = list(models)
        keys = [os.environ.get(model.api_key_env, "").strip() for model in models]
        for model in models:
            for name, value in model.sent_headers().items():
                # others are words: "beta", "v1.0"
                if len(value) >= LONG or model.headers[name].startswith("$"):
                    keys.append(value)
        return cls([*keys, *known_keys()])

    def __or__(self, other: Secrets) -> Secrets:
        """The secrets of both together."""
        both = Secrets()
        values = self._values | other._values
        both._values = {value: values[value] for value in sorted(values, key=len, reverse=True)}
        return both

    def hidden(self, text: bytes) -> bytes:
        """The text, as bytes, without the secrets; the same object if it contains none."""
        plain = (
            _ESCAPE.sub(_letter, text)
            if b"\\u00" in text or b"\\/" in text or b"%" in text
            else b""
        )
        for value, pattern in self._values.items():
            if value in text or value in plain:
                text = pattern.sub(HIDDEN, text)
        return text

    def without(self, reply: Reply) -> Reply:
        """The reply without the secrets. If it is then no longer JSON, it becomes a JSON string."""
        raw = self.hidden(reply.raw)
        if raw != reply.raw:
            try:
                json.loads(raw)
            except ValueError:
                raw = json.dumps(raw.decode("utf-8", "replace")).encode()
        text, model, fingerprint = map(
            self.hidden_text, (reply.text, reply.model, reply.fingerprint)
        )
        return replace(reply, text=text, raw=raw, model=model, fingerprint=fingerprint)

    def hidden_text(self, text: str) -> str:
        """The text without the secrets."""
        return self.hidden(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def hide_in(self, path: Path) -> None:
        """Remove the secrets from a file, if it contains any."""
        with path.open("rb") as lines:
            if all(self.hidden(line) == line for line in lines):
                return
        partial = path.with_name(f".{path.name}.part")
        with path.open("rb") as lines, partial.open("wb") as file:
            file.writelines(map(self.hidden, lines))
        os.replace(partial, path)


def _letter(escape: re.Match[bytes]) -> bytes:
    code, itself, percent = escape.groups()
    return itself or bytes([int(code or percent, 16)])


def _pattern(value: bytes) -> re.Pattern[bytes]:
    """The pattern of a value, in which each letter may be escaped."""
    letters = []
    for letter in value:
        code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{letter:02x}").encode()
        itself = re.escape(bytes([letter]))
        letters.append(
            rb"(?:\\*%b|\\+u00%b|%%%b)" % (itself, code, code)
            if letter in b'/"'
            else rb"(?:%b|\\+u00%b|%%%b)" % (itself, code, code)
        )
    expression = b"".join(letters)
    if len(value) < LONG:  # `\n` before it is no part of a word
        expression = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))%b(?![A-Za-z0-9])" % expression
    return re.compile(expression)


def _in_base64(value: str) -> Iterator[bytes]:
    """The part of the base64 that is the same for every text with this value; for short values, the
    base64 of the value alone.
    """
    for before in range(3 if len(value) >= LONG else 1):
        encoded = base64.b64encode(bytes(before) + value.encode())
        ends = (before + len(value.encode())) % 3
        part = (
            encoded[(0, 2, 3)[before] : {0: None, 1: -3, 2: -2}[ends]]
            if len(value) >= LONG
            else encoded.rstrip(b"=")
        )
        yield from {part, part.translate(bytes.maketrans(b"+/", b"-_"))}


def key_from_environment(names: Iterable[str], whose: str) -> str:
    """The key in the first of these environment variables that is set. Raises UsageError if none is
    set.
    """
    wanted = list(filter(None, names))
    for name in wanted:
        if os.environ.get(name, "").strip():
            # a line break that came from a file does not belong to it
            return os.environ[name].strip()
    raise UsageError(
        f"{whose} needs a key in the environment variable {' or '.join(wanted)}, which is not set"
    )


def known_keys() -> list[str]:
    """The values of all environment variables that look like keys of any service. API keys may be
    short.
    """
    endings = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
    named = (
        (name.upper(), value.strip())
        for name, value in os.environ.items()
        if name.upper().endswith(endings)
    )
    return [
        value
        for name, value in named
        if len(value) >= (1 if name.endswith("API_KEY") else LONG) and " " not in value
    ]
