"""Define a metric: the texts that it gets, the number or reason that it gives, its properties, and
its name.

Names are like `chrf` or `bleu(tokenize=zh)`; a printed name can be read back.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from metal.data.records import DIRECTIONS, Direction, Output, Source
from metal.errors import DataError, UsageError, check_known

Need = Literal["references", "source"]
NO_REFERENCE = "no reference"
Answer = float | str  # a score, or in words why there is none
Value = str | int | float | bool  # of an option

_NAME = re.compile(r"\s*(?P<name>[^()\"]*?)\s*(?:\((?P<options>.*)\))?\s*", re.DOTALL)
_OPTION = re.compile(
    r"\s*(?P<key>[\w-]+)\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\",()]*?))\s*(?:,|$)"
)
_COMMA_OUTSIDE = re.compile(r",(?![^(]*\))")
_YES_NO = {"yes": True, "no": False}


@dataclass(frozen=True)
class Item:
    """A text to score, and the texts with which it may be compared. language: BCP-47, or a pair;
    empty if unknown.
    """

    text: str
    references: tuple[str, ...] = ()
    source: str = ""
    language: str = ""

    @classmethod
    def of(cls, output: Output, source: Source) -> Item:
        """The item of a dataset's output, with all references that differ from the output."""
        references = tuple(
            reference for reference in source.references if not same_text(output.text, reference)
        )
        return cls(output.text, references, source.text, output.language)


def same_text(text: str, other: str) -> bool:
    """Whether two texts are equal, ignoring Unicode composition (NFC) and white space, but not
    case.
    """
    return plain_text(text) == plain_text(other)


@lru_cache(maxsize=512)  # outputs of one source come together
def plain_text(text: str) -> str:
    """The text in NFC, with single blanks for white space. Texts with the same plain form count as
    equal.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass(frozen=True)
class Scored:
    """A score, or the reason why there is none; exactly one of the two is set."""

    score: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.score is None) != bool(self.reason) or (
            self.score is not None and not math.isfinite(self.score)
        ):
            raise DataError(
                "score",
                f"{self.score} with reason {self.reason!r}",
                "a number, or None with a reason",
            )


@dataclass(frozen=True)
class Metric:
    """A way to score texts.

    name: the printed name, by which the metric is found again: `chrf`, `bleu(tokenize=zh)`.
    score: a function from items to answers, one for each item, in their order. It gets no item
        without text, or without what it needs. If the metric is not `multi_reference`, each item
        has one reference.
    needs: "references", "source", both or nothing.
    low, high: the ends of its range; None if there is no such end.
    signature: everything that may change its scores: settings, versions, models.
    multi_reference: whether it is defined for several references; otherwise the best score over the
        references is taken.
    descriptive: whether it says what a text is like, not how good it is; direction then only says
        how it is listed.
    """

    name: str
    summary: str
    score: Callable[[Sequence[Item]], Sequence[Answer]] = field(compare=False, repr=False)
    signature: str
    needs: tuple[Need, ...] = ("references",)
    direction: Direction = "higher"
    low: float | None = None
    high: float | None = None
    multi_reference: bool = False
    descriptive: bool = False

    def __post_init__(self) -> None:
        if not self.name or self.name != self.name.strip():
            raise DataError(
                "metric", f"name {self.name!r}", "give it a name without spaces around it"
            )
        if self.direction not in DIRECTIONS:
            raise DataError(
                f"metric {self.name}",
                f"direction {self.direction!r}",
                "say 'higher' or 'lower' (is better)",
            )
        if unknown := [need for need in self.needs if need not in ("references", "source")]:
            raise DataError(
                f"metric {self.name}",
                f"needs {unknown[0]!r}",
                "a metric needs 'references' or 'source'",
            )
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise DataError(
                f"metric {self.name}",
                f"range {self.low} to {self.high}",
                "write the lower end first",
            )

    @property
    def best(self) -> float | None:
        """The better end of the range; None if the range is open there, or if neither end is
        better.
        """
        if self.descriptive:
            return None
        return self.high if self.direction == "higher" else self.low

    def better(self, scores: Sequence[float]) -> float:
        """The best of some scores."""
        return max(scores) if self.direction == "higher" else min(scores)


# ---------------------------------------------------------------- names


@dataclass(frozen=True)
class Asked:
    """The name of a metric and the options given with it, as text."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def fill(self, **defaults: Value | tuple[str, ...]) -> tuple[str, dict[str, Value]]:
        """The printed name, which has the options that differ from their defaults, and the values
        of all options.

        defaults: option -> its default value, which also sets the type, or a tuple of choices, the
        first of which is the default. Raises UnknownName for other options and choices, UsageError
        for a value of another type.
        """
        check_known(f"metric {self.name}: option", self.options, defaults)
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
            check_known(f"metric {self.name}: {key}", [text], default)
            return text
        if isinstance(default, str):
            return text
        try:
            return _YES_NO[text] if isinstance(default, bool) else type(default)(text)
        except (KeyError, ValueError):
            wanted = {bool: "yes or no", int: "a whole number", float: "a number"}[type(default)]
            raise UsageError(f"metric {self.name}: {key}={text!r}: write {wanted}") from None


@dataclass(frozen=True)
class MetricFactory:
    """Makes a metric from a name with options. It can be listed without making the metric.

    summary: what the metric is, in one line. open: makes the metric for a name with options; raises
    UnknownName for unknown options, MissingExtra if libraries are missing. extra: the extra of
    metal-eval with these libraries.
    """

    summary: str
    open: Callable[[Asked], Metric]
    extra: str = ""


def read_name(text: str) -> Asked:
    """Read the name and the options in `text`. Raises UsageError with an example if `text` has
    another form.
    """
    parts = _NAME.fullmatch(text)
    if not parts or not parts["name"]:
        raise UsageError(
            f"metric {text!r}: write a name, or a name with options: bleu(tokenize=zh)"
        )
    options: dict[str, str] = {}
    at, inside = 0, (parts["options"] or "").strip()
    while at < len(inside):
        option = _OPTION.match(inside, at)
        if not option or option["key"] in options:
            raise UsageError(
                f"metric {text!r}: options are KEY=VALUE, each once, with commas between; quote odd"
                ' values: KEY="a,b"'
            )
        options[option["key"]] = option["plain"] if option["quoted"] is None else option["quoted"]
        at = option.end()
    return Asked(parts["name"], options)


def split_names(text: str) -> list[str]:
    """Split names at commas outside brackets: `chrf,bleu(tokenize=zh, smooth=none),rouge-l`."""
    return [name.strip() for name in _COMMA_OUTSIDE.split(text) if name.strip()]


def at_least_one(metric: str, option: str, value: Value, wanted: str = "1 or more") -> int:
    """Check that an option is a whole number of at least 1, and return it. Raises UsageError for
    any other value. wanted: what the message asks for.
    """
    if not isinstance(value, int) or value < 1:
        raise UsageError(f"metric {metric}: {option}={value}: write {wanted}")
    return value


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text if isinstance(value, int) or re.fullmatch(r"[^\",()\s]+", text) else f'"{text}"'
