"""What a metric is: the texts it gets, the number or reason it gives, and what is known of it beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from metal.data.records import DIRECTIONS, Direction, Output, Source
from metal.errors import DataError
from metal.raters.metrics.names import Asked

Need = Literal["references", "source"]
Answer = float | str  # a score, or in words why there is none


@dataclass(frozen=True)
class Item:
    """A text to score, with what it may be compared with. language: BCP-47, or a pair; empty where unknown."""

    text: str
    references: tuple[str, ...] = ()
    source: str = ""
    language: str = ""

    @classmethod
    def of(cls, output: Output, source: Source) -> Item:
        """An output of a dataset."""
        return cls(output.text, source.references, source.text, output.language)


@dataclass(frozen=True)
class Scored:
    """A score, or the reason why there is none; never both, never neither."""

    score: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.score is None) != bool(self.reason) or (self.score is not None and not math.isfinite(self.score)):
            raise DataError("score", f"{self.score} with reason {self.reason!r}", "a number, or None with a reason")


@dataclass(frozen=True)
class Metric:
    """A way to score texts.

    name      as it prints and is found again: `chrf`, `bleu(tokenize=zh)`
    score     items to answers, one each, in their order. It gets no item without text, or without what it needs;
              where not `multi_reference`, each item has one reference
    needs     "references", "source", both or nothing
    low, high ends of its range; None where it has none
    signature whatever may change its scores: settings, versions, models
    multi_reference  whether it is defined for several references; else the best over the references is taken
    descriptive      whether it says what a text is like, not how good it is; direction then says how it is listed
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
            raise DataError("metric", f"name {self.name!r}", "give it a name without spaces around it")
        if self.direction not in DIRECTIONS:
            raise DataError(
                f"metric {self.name}", f"direction {self.direction!r}", "say 'higher' or 'lower' (is better)"
            )
        if unknown := [need for need in self.needs if need not in ("references", "source")]:
            raise DataError(f"metric {self.name}", f"needs {unknown[0]!r}", "a metric needs 'references' or 'source'")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise DataError(f"metric {self.name}", f"range {self.low} to {self.high}", "the first end is the lower one")

    @property
    def best(self) -> float | None:
        """The better end of the range; None where it has no end there, or none is better."""
        if self.descriptive:
            return None
        return self.high if self.direction == "higher" else self.low

    def better(self, scores: Sequence[float]) -> float:
        """The best of some scores."""
        return max(scores) if self.direction == "higher" else min(scores)


@dataclass(frozen=True)
class MetricFactory:
    """A metric that takes options: opened by the name it is asked for, listed without being opened.

    summary: what it is, in one line. open: the metric for a name with options; raises UnknownName for options it does
    not have, MissingExtra where its libraries are missing. extra: the extra of metal-eval that brings them.
    """

    summary: str
    open: Callable[[Asked], Metric]
    extra: str = ""
