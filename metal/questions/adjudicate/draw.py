"""Choose the outputs that somebody who knows should look at: some of those on which judge and
people differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import NOT_ASKED
from metal.questions.adjudicate.compute import JudgeBeside, Sets, strata_of
from metal.stats.patterns import Codes, Flags


@dataclass(frozen=True)
class Case:
    """A criterion in a language, with its people and the judges to compare with them."""

    cell: AuditCell

    @cached_property
    def rated(self) -> Flags:
        """(items,) whether a person answered."""
        return np.asarray((self.cell.by_people >= 0).any(axis=1))

    def asked(self, judge: str) -> Codes:
        """The positions of the items that the judge was asked about, and that were rated by people
        who did not see the judge's answers.
        """
        rated = self.cell.unaided(judge).ratings_per_item > 0
        return np.flatnonzero(rated & (self.cell.by_judge(judge) != NOT_ASKED))

    def beside(self, judge: str) -> JudgeBeside:
        """The judge and these people, on the items of `asked`."""
        at = self.asked(judge)
        return replace(self._alone(judge), named_bad=self._named[1][at], sets=self._sets(judge))

    def _alone(self, judge: str) -> JudgeBeside:
        """The judge and these people, as if the draw were for this judge alone."""
        at, cell = self.asked(judge), self.cell.unaided(judge)
        return JudgeBeside(
            cell.by_judge(judge)[at], cell.by_people[at], cell.matrix.sources[at], cell.bad_end
        )

    def _sets(self, judge: str) -> Sets | None:
        """The answers of people in `beside` who say that other answers would do as well."""
        sets = self.cell.alternatives
        if sets is None:
            return None
        at, people = self.asked(judge), self.cell.unaided(judge).people
        column_of = {rater: number for number, rater in enumerate(self.cell.matrix.raters)}
        row_of = np.full(len(self.rated), -1)
        row_of[at] = np.arange(len(at))
        person_of = np.full(len(column_of), -1)
        person_of[[column_of[person] for person in people]] = np.arange(len(people))
        rows, persons = row_of[sets.items], person_of[sets.columns]
        counted = (rows >= 0) & (persons >= 0)
        return Sets(rows[counted], persons[counted], sets.allowed[counted])

    @cached_property
    def _named(self) -> tuple[Flags, Flags]:
        """(items,) whether an item is disputed for any judge, and whether anybody gave the bad
        end's label.
        """
        disputed, names_bad = (np.zeros(len(self.rated), dtype=bool) for _ in range(2))
        for judge in self.cell.judges:
            at, beside = self.asked(judge), self._alone(judge)
            disputed[at] |= beside.disputed
            names_bad[at] |= beside.names_bad
        return disputed, names_bad

    @cached_property
    def strata(self) -> Codes:
        """(items,) the strata for all judges together: an item is disputed if it is disputed for
        one of them.
        """
        return strata_of(*self._named)

    @cached_property
    def ambiguous(self) -> Codes:
        """(items,) the strata if only items on which all people differ count as disputed; other
        items are AGREED.
        """
        by_person = np.sort(self.cell.by_people, axis=1)
        alike = (by_person[:, 1:] == by_person[:, :-1]) & (by_person[:, 1:] >= 0)
        differ = (self.cell.ratings_per_item >= 2) & ~alike.any(axis=1)
        return strata_of(differ, np.asarray((by_person == self.cell.bad_end).any(axis=1)))

    def answers_to(self, item: int) -> Counter[int]:
        """How many people and judges gave each answer to an item, by code of the answer."""
        cell = self.cell
        answers = [*cell.by_people[item], *(cell.by_judge(judge)[item] for judge in cell.judges)]
        return Counter(int(code) for code in answers if code >= 0)


def cases(dataset: Dataset, settings: AuditSettings) -> Iterator[Case]:
    """The cases of a dataset, with the answer that each person chose, whatever else would do.

    Criteria without levels are left out, because no score on a line is exactly right.
    """
    for cell in cells(dataset, settings):
        as_given = cell.matrix
        if cell.alternatives is not None:
            as_given = cell.alternatives.as_given(cell.matrix)
        yield Case(replace(cell, matrix=as_given))


def with_judges(dataset: Dataset, settings: AuditSettings) -> Iterator[Case]:
    """The cases in which a judge was asked about outputs that a person rated."""
    for case in cases(dataset, settings):
        if any(len(case.asked(judge)) for judge in case.cell.judges):
            yield case


def generator_of(seed: int, *names: str) -> np.random.Generator:
    """A random generator seeded by these names."""
    digest = blake2b("\0".join(names).encode(), digest_size=8).digest()
    return np.random.default_rng([seed, *digest])


def without_levels(dataset: Dataset, settings: AuditSettings) -> Sequence[str]:
    """The requested criteria that have no levels."""
    wanted = settings.criteria or dataset.criteria
    return [
        criterion.title
        for name, criterion in dataset.criteria.items()
        if name in wanted and not criterion.scale.levels
    ]
