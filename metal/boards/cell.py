"""A cell of the board: the scores of the reference people and of every other rater on one criterion in one language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metal.stats.patterns import Codes, Numbers, ratio


@dataclass(frozen=True)
class BoardRater:
    """A row of the board. people: the members of a group of people. about: as in raters.jsonl."""

    name: str
    kind: str
    group: str
    people: tuple[str, ...] = ()
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ScaleEnds:
    """The ends of the people's scale, None where it has none."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class BoardCell:
    """One criterion x language. All scores are higher-is-better.

    human: (items,) mean of the reference people, NaN where none of them rated. scores: (raters, items), NaN without a
    score. outputs, source: (items,) places in the dataset; items are in string order of the outputs. generator:
    (items,) codes into `generators`. alone, others: (ratings,) each reference person's score, and the mean of the
    others'. criteria: how many were combined.
    """

    criterion: str
    language: str
    scale: ScaleEnds
    human: Numbers
    scores: Numbers
    raters: tuple[BoardRater, ...]
    outputs: Codes
    generator: Codes
    source: Codes
    generators: tuple[str, ...]
    alone: Numbers
    others: Numbers
    criteria: int = 1

    @property
    def place(self) -> dict[str, str]:
        """Language and criterion, as the first columns of a table."""
        return {"language": self.language, "criterion": self.criterion}

    def row_of(self, rater: BoardRater) -> dict[str, Any]:
        """The first columns of a rater's row in a table."""
        return {**self.place, "rater": rater.name, "kind": rater.kind, "group": rater.group}

    @cached_property
    def rated(self) -> Codes:
        """(items,) whether reference people rated it."""
        return ~np.isnan(self.human)

    def of(self, name: str) -> Numbers:
        """(items,) the scores of one rater."""
        return np.asarray(self.scores[[rater.name for rater in self.raters].index(name)])

    def by_generator(self, scores: Numbers) -> Numbers:
        """(generators, sources) from (items,): the mean where a generator has several outputs of a source."""
        sources, column = self._source_places
        given = ~np.isnan(scores)
        place = (self.generator * sources + column)[given]
        size = len(self.generators) * sources
        counts = np.bincount(place, minlength=size).astype(np.float64)
        means: Numbers = ratio(np.bincount(place, scores[given], minlength=size), counts)
        return means.reshape(len(self.generators), sources)

    def sources(self, items: Codes) -> int:
        """How many sources some items (a mask) have."""
        return int((np.bincount(self._source_places[1][items]) > 0).sum())

    @cached_property
    def _source_places(self) -> tuple[int, Codes]:
        """How many sources there are, and (items,) the place of each item's among them."""
        names, place = np.unique(self.source, return_inverse=True)
        return len(names), place

    def only_rated(self) -> BoardCell:
        """The cell with the items that people rated, and the generators that have one."""
        cell = self.only(self.rated)
        used, codes = np.unique(cell.generator, return_inverse=True)
        return replace(cell, generator=codes, generators=tuple(cell.generators[place] for place in used))

    def only(self, items: Codes) -> BoardCell:
        """The cell with these items (a mask)."""
        if items.all():
            return self
        return replace(
            self,
            human=self.human[items],
            scores=self.scores[:, items],
            outputs=self.outputs[items],
            generator=self.generator[items],
            source=self.source[items],
        )

    def with_rater(self, rater: BoardRater, scores: Numbers) -> BoardCell:
        """The cell with one more rater."""
        return replace(self, raters=(*self.raters, rater), scores=np.vstack([self.scores, scores]))
