"""Which outputs somebody who knows is to look at: some on which judge and people differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import NOT_ASKED
from metal.questions.adjudicate.compute import Flags, JudgeBeside, draw, strata_of
from metal.stats.patterns import Codes, Numbers


@dataclass(frozen=True)
class Case:
    """A criterion in a language, with the judges that are to be told from its people."""

    cell: AuditCell

    @cached_property
    def rated(self) -> Flags:
        """(items,) whether a person answered."""
        return np.asarray((self.cell.by_people >= 0).any(axis=1))

    def asked(self, judge: str) -> Codes:
        """The places of the items that a judge was asked about and a person rated."""
        return np.flatnonzero(self.rated & (self.cell.by_judge(judge) != NOT_ASKED))

    def beside(self, judge: str) -> JudgeBeside:
        """The judge beside people, on the items of `asked`."""
        at, cell = self.asked(judge), self.cell
        return JudgeBeside(
            cell.by_judge(judge)[at], cell.by_people[at], cell.matrix.sources[at], cell.bad_end
        )

    @cached_property
    def strata(self) -> Codes:
        """(items,) the strata of all judges together: an item is disputed if it is for one."""
        disputed, names_bad = (np.zeros(len(self.rated), dtype=bool) for _ in range(2))
        for judge in self.cell.judges:
            at, beside = self.asked(judge), self.beside(judge)
            disputed[at] |= beside.disputed
            names_bad[at] |= beside.names_bad
        return strata_of(disputed, names_bad)

    def drawn(self, items: int, seed: int) -> Numbers:
        """(items,) the probability of each drawn item; 0 of those that were not drawn."""
        where = f"{self.cell.criterion.name}\0{self.cell.language}"
        rng = np.random.default_rng([seed, *blake2b(where.encode(), digest_size=8).digest()])
        return draw(self.strata, items, rng)

    def answers_to(self, item: int) -> Counter[int]:
        """How many people and judges gave each answer to an item, by code."""
        cell = self.cell
        given = [*cell.by_people[item], *(cell.by_judge(judge)[item] for judge in cell.judges)]
        return Counter(int(code) for code in given if code >= 0)


def cases(dataset: Dataset, settings: AuditSettings) -> Iterator[Case]:
    """The cases of a dataset in which a judge was asked what a person rated. Scores without levels
    are no answers that could be right.
    """
    for cell in cells(dataset, settings):
        case = Case(cell)
        if any(len(case.asked(judge)) for judge in cell.judges):
            yield case


def without_levels(dataset: Dataset, settings: AuditSettings) -> Sequence[str]:
    """The criteria that are asked for and have no levels."""
    wanted = settings.criteria or dataset.criteria
    return [
        criterion.title
        for name, criterion in dataset.criteria.items()
        if name in wanted and not criterion.scale.levels
    ]
