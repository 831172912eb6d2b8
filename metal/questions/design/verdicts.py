"""Future verdicts: cells are simulated from the existing ratings, and the rules of a verdict are
applied to them.

Sources are drawn with replacement, with the answers of the people who rated them. The judge is one
from the data, or an imagined one like a person. Its answers are drawn so that it makes mistakes as
people do, with each person left out in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.standing import careless_people
from metal.auditing.verdict import Verdict, verdict
from metal.data.ratings import NOT_ASKED, CodeMatrix
from metal.errors import Undefined
from metal.questions.design.labels.sampling import draw_panels
from metal.stats.patterns import Codes, Numbers, class_counts, ratio

NEW_JUDGE = "a judge like a person"
# of a label beside a person, so as not to weigh more than one that is often given
LEAST_WEIGHT = 10.0
# labels of a person, spread like all labels, that are added where a class is the others'
SMOOTHING = 0.5
_CLOSE, _STEPS = 1e-3, 500  # of the fit
# class codes of a judge, from versions and places of items
Answer = Callable[[Codes, Codes], Codes]


class SimulatedVerdicts:
    """Simulated cells with any number of sources, with `size` people per item and a judge.

    items: the items that have this many people and that the judge was asked about. sources: the
    sources of these items. dropped: the items with fewer people. Raises Undefined if there are no
    items, and for a judge like a person if items have one person.
    """

    def __init__(self, cell: AuditCell, judge: str, size: int, rng: np.random.Generator) -> None:
        cell = cell.unaided(judge)
        self.cell, self.judge, self.rng = cell, judge, rng
        alike = judge == NEW_JUDGE
        asked = cell.ratings_per_item > 0 if alike else cell.by_judge(judge) != NOT_ASKED
        keep = np.flatnonzero(asked & (cell.ratings_per_item >= size))
        keep = keep[np.argsort(cell.matrix.sources[keep], kind="stable")]
        self.items, self.dropped = (
            len(keep),
            int((asked & (cell.ratings_per_item > 0)).sum()) - len(keep),
        )
        if not self.items:
            raise Undefined(
                f"no item was rated by {'' if alike else 'the judge and '}{size} or more people"
            )
        people = cell.by_people[keep]
        panels = draw_panels(people >= 0, size, rng)
        self._people = np.where(panels, people, NOT_ASKED)  # (versions, items, people)
        if not alike:
            self._answer = self._by_judge(keep)
        else:
            self._answer = self._scores() if cell.by_scores else self._labels()
        self._of_source = np.unique(cell.matrix.sources[keep], return_counts=True)[1]
        self.sources = len(self._of_source)

    def _by_judge(self, keep: Codes) -> Answer:
        answers = self.cell.by_judge(self.judge)[keep]
        return lambda version, row: answers[row]

    def _labels(self) -> Answer:
        """The answers of an imagined judge like a person; careless people do not serve as its
        model.
        """
        far = list(careless_people(self.cell).people) if self._people.shape[2] > 2 else []
        people = np.delete(self._people, far, axis=2)
        chances = like_a_person(people.reshape(-1, people.shape[2]), self.cell.levels)
        upto = np.cumsum(chances.reshape(*people.shape[:2], -1), axis=-1)[..., :-1]
        return lambda version, row: (self.rng.random((len(row), 1)) > upto[version, row]).sum(
            axis=1
        )

    def _scores(self) -> Answer:
        """The scores of an imagined judge like a person, if there are no classes: the nearest of
        the scores that people gave.
        """
        values = self.cell.values
        scores = np.where(self._people >= 0, values[self._people], np.nan)
        expected, errors = one_more(scores.reshape(-1, scores.shape[2]))
        expected = expected.reshape(scores.shape[:2])
        between = (values[1:] + values[:-1]) / 2

        def answer(version: Codes, row: Codes) -> Codes:
            drawn = expected[version, row] + self.rng.choice(errors, len(row))
            return np.asarray(np.searchsorted(between, drawn))

        return answer

    def draw(self, sources: int) -> Iterator[Verdict]:
        """An endless series of verdicts on this many sources, drawn again each time."""
        starts = np.cumsum(self._of_source) - self._of_source
        while True:
            picked = self.rng.integers(self.sources, size=sources)
            each = self._of_source[picked]
            source = np.repeat(np.arange(sources), each)
            row = np.repeat(starts[picked] - (np.cumsum(each) - each), each) + np.arange(
                len(source)
            )
            version = self.rng.integers(len(self._people), size=len(row))
            yield verdict(self._cell(version, row, source), self.judge, ranges=False)

    def pilots(self, most: int) -> Iterator[AuditCell]:
        """The existing items, each once; several versions if panels or the judge's answers are
        drawn.
        """
        row = np.arange(self.items)
        source = np.repeat(np.arange(self.sources), self._of_source)
        versions = len(self._people)
        number = most if self.judge == NEW_JUDGE else min(most, versions)
        for version in range(number):
            yield self._cell(np.full(self.items, version % versions), row, source)

    def _cell(self, version: Codes, row: Codes, source: Codes) -> AuditCell:
        codes = np.column_stack([self._people[version, row], self._answer(version, row)]).astype(
            np.int32
        )
        names = (*self.cell.people, self.judge)
        matrix = CodeMatrix(
            codes, source, (), names, np.zeros((0, len(names)), np.int32), self.cell.matrix.values
        )
        return replace(self.cell, matrix=matrix, judges=(self.judge,))


def like_a_person(people: Codes, levels: int) -> Numbers:
    """(items, levels) the probability of each answer from a judge that agrees with people as well
    as a person does.

    people: (items, people) codes, negative without an answer. The chances are proportional to
    exp(sum_t w(t) l(t, y)), where w are the most frequent labels of the others (metal.stats.seats),
    averaged over the person left out, and l is fitted by scaling until the judge finds and mistakes
    every class of the others as often as people do, with equal weight for each person. Raises
    Undefined if no item has two people.
    """
    votes = class_counts(people, levels)
    shares = votes.sum(axis=0) / max(votes.sum(), 1)
    near, weights, wanted = np.zeros(votes.shape), np.zeros(votes.shape), np.zeros((levels, levels))
    for seat in range(people.shape[1]):
        answers = people[:, [seat]] == np.arange(levels)
        others = others_labels(people, seat, votes) * answers.any(axis=1, keepdims=True)
        items = others.sum(axis=0)
        alike = 1 / np.maximum(items, LEAST_WEIGHT)
        confusion = (others.T @ answers + SMOOTHING * shares) / (items[:, None] + SMOOTHING)
        near, weights = near + others, weights + others * alike
        wanted += confusion * (items * alike)[:, None]
    if not near.any():
        raise Undefined("items have one person, so how much people differ is unknown")
    kinds, kind = np.unique(
        near / np.maximum(near.sum(axis=1, keepdims=True), 1e-12), axis=0, return_inverse=True
    )
    weight = np.stack([np.bincount(kind.ravel(), column, len(kinds)) for column in weights.T])
    logits = np.zeros((levels, levels))
    for _ in range(_STEPS):
        scores = kinds @ logits
        chances = np.exp(scores - scores.max(axis=1, keepdims=True)) * shares
        chances /= chances.sum(axis=1, keepdims=True)
        step = np.log(
            np.maximum(ratio(wanted, weight @ chances), 1e-12),
            where=wanted > 0,
            out=np.zeros_like(wanted),
        )
        logits += step
        if np.abs(step).max() < _CLOSE:
            break
    return np.asarray(chances[kind.ravel()])


def others_labels(people: Codes, person: int, votes: Codes) -> Numbers:
    """(items, levels) the weight of each label as the most frequent one of all people but one; 0 if
    there is none.

    people: (items, people) codes; votes: (items, levels) how many people gave each.
    """
    rest = votes - (people[:, [person]] == np.arange(votes.shape[1]))
    top = rest.max(axis=1, keepdims=True)
    modal = (rest == top) & (top > 0)
    return np.asarray(modal / np.maximum(modal.sum(axis=1, keepdims=True), 1))


def one_more(scores: Numbers) -> tuple[Numbers, Numbers]:
    """The score expected from one more person, (items,), and errors to add to it, drawn from
    people's own errors.

    scores: (items, people), NaN without one. Let b be the variance between items, w the variance
    within items, and m the mean of an item's k people. One more person's score is expected at m,
    shrunk towards the mean of all items by the factor w / (k b + w), with the variance w + b w / (k
    b + w). It then relates to each person's score as people's scores relate to each other. Raises
    Undefined like `like_a_person`.
    """
    people = (~np.isnan(scores)).sum(axis=1)
    if not (people > 1).any():
        raise Undefined("items have one person, so how much people differ is unknown")
    mean, every = np.nansum(scores, axis=1) / people, np.nanmean(scores)
    away = scores - mean[:, None]
    within = float(np.nansum(away**2) / (people - 1).sum())
    between = max(float(np.nanvar(scores)) - within, 0.0)
    size = float(people.mean())
    expected = every + (mean - every) * between * people / np.maximum(
        between * people + within, 1e-12
    )
    errors = (away * np.sqrt(people / np.maximum(people - 1, 1))[:, None])[
        (people > 1)[:, None] & ~np.isnan(scores)
    ]
    return expected, errors * math.sqrt(1 + between / max(size * between + within, 1e-12))
