"""What a reader hands over: the parts of a dataset, before they are checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from metal.dataset import Card, Dataset, assemble
from metal.errors import UsageError
from metal.records import Criterion, Output, Rater, Source


@dataclass(frozen=True)
class Draft:
    """The parts of a dataset as read. facts: see metal.ratings.tidy_facts.

    notes: what the reader changed, left out or found odd, one line each, with counts.
    """

    card: Card
    criteria: tuple[Criterion, ...]
    sources: tuple[Source, ...]
    outputs: tuple[Output, ...]
    raters: tuple[Rater, ...]
    facts: pd.DataFrame
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def assemble(self, where: Path) -> Dataset:
        """The checked dataset. where: the file that messages about single ratings name."""
        return assemble(
            self.card,
            self.criteria,
            self.sources,
            self.outputs,
            self.raters,
            self.facts,
            where=where,
            extra=self.extra,
        )


def only_file(path: Path, pattern: str) -> Path:
    """`path` itself if it is a file, else the one file in it that matches. Raises UsageError otherwise."""
    if path.is_file():
        return path
    found = sorted(path.glob(pattern))
    if len(found) != 1:
        raise UsageError(f"{path}: {len(found)} files named {pattern} there; give the released file itself")
    return found[0]
