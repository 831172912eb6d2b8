"""Names of metrics: `chrf`, `bleu(tokenize=zh)`. What is printed can be read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from metal.errors import UnknownName, UsageError

Value = str | int | float | bool

_NAME = re.compile(r"\s*(?P<name>[^()\"]*?)\s*(?:\((?P<options>.*)\))?\s*", re.DOTALL)
_OPTION = re.compile(r"\s*(?P<key>[\w-]+)\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\",()]*?))\s*(?:,|$)")
_COMMA_OUTSIDE = re.compile(r",(?![^(]*\))")
_YES_NO = {"yes": True, "no": False}


@dataclass(frozen=True)
class Asked:
    """A name and the options that were given with it, as text."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def fill(self, **defaults: Value | tuple[str, ...]) -> tuple[str, dict[str, Value]]:
        """The name as it prints, with the options that differ from their defaults, and the values of all options.

        defaults: an option and its value, whose type it has, or the tuple of its choices, the first being the default.
        Raises UnknownName for other options and choices, UsageError for a value of another type.
        """
        for key in self.options:
            if key not in defaults:
                raise UnknownName(f"metric {self.name}: option", key, defaults)
        values: dict[str, Value] = {}
        shown = []
        for key, default in defaults.items():
            usual = default[0] if isinstance(default, tuple) else default
            values[key] = self._read(key, default) if key in self.options else usual
            if values[key] != usual:
                shown.append(f"{key}={_written(values[key])}")
        return self.name + (f"({', '.join(shown)})" if shown else ""), values

    def _read(self, key: str, default: Value | tuple[str, ...]) -> Value:
        text = self.options[key]
        if isinstance(default, tuple):
            if text not in default:
                raise UnknownName(f"metric {self.name}: {key}", text, default)
            return text
        if isinstance(default, str):
            return text
        try:
            return _YES_NO[text] if isinstance(default, bool) else type(default)(text)
        except (KeyError, ValueError):
            wanted = {bool: "yes or no", int: "a whole number", float: "a number"}[type(default)]
            raise UsageError(f"metric {self.name}: {key}={text!r}: write {wanted}") from None


def read_name(text: str) -> Asked:
    """The name and the options in `text`. Raises UsageError with an example where it has neither form."""
    parts = _NAME.fullmatch(text)
    if not parts or not parts["name"]:
        raise UsageError(f"metric {text!r}: write a name, or a name with options: bleu(tokenize=zh)")
    options: dict[str, str] = {}
    at, inside = 0, (parts["options"] or "").strip()
    while at < len(inside):
        option = _OPTION.match(inside, at)
        if not option or option["key"] in options:
            raise UsageError(
                f'metric {text!r}: options are KEY=VALUE, each once, with commas between; quote odd values: KEY="a,b"'
            )
        options[option["key"]] = option["plain"] if option["quoted"] is None else option["quoted"]
        at = option.end()
    return Asked(parts["name"], options)


def split_names(text: str) -> list[str]:
    """The names in `chrf,bleu(tokenize=zh, smooth=none),rouge-l`; commas inside brackets are not between names."""
    return [name.strip() for name in _COMMA_OUTSIDE.split(text) if name.strip()]


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text if isinstance(value, int) or re.fullmatch(r"[^\",()\s]+", text) else f'"{text}"'
