"""The figures of an audit as other libraries compute them: of judges, people and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd

from metal.questions.verify import libraries
from metal.questions.verify.alternative import alternative_annotator
from metal.questions.verify.libraries import (
    KRIPPENDORFF,
    SCIPY,
    SKLEARN,
    STATSMODELS,
    Recomputed,
)
from metal.questions.verify.panels import Panel, by_vote
from metal.questions.verify.seats import beside_the_rest, of_seats

Row = Mapping[str, Any]
Figures = dict[str, Recomputed]

LEAST_RATED = 10  # ratings of a person who is compared one by one
MOST_RATERS, STANDING_IN = 200, 50  # of more people than this, those with the most ratings
LEAST_SCORES = 30  # of a person whose correlation is one of those averaged
UNEVEN = "statsmodels needs equally many ratings of every output"
TOO_LARGE = "too many outputs and values for krippendorff's arrays"


def of_judge(panel: Panel, row: Row, left_out: Sequence[str]) -> Iterator[tuple[str, Recomputed]]:
    """The figures of a judge on classes.

    left_out: the people whom its verdict leaves out.
    """
    judge = str(row["judge"])
    scores = panel.judges[judge]
    judged = panel.labels.notna() & panel.asked[judge]
    answered = judged & scores.notna()
    truth, answer = panel.codes(panel.labels[answered]), panel.codes(scores[answered])
    every, with_gaps = panel.codes(panel.labels[judged]), panel.codes(scores[judged])
    commonest = max(sorted({*every}), key=every.count, default=0)
    n = len(truth)

    def by(library: str, value: float) -> Recomputed:
        return Recomputed(value, library, n)

    weighted = libraries.f1(truth, answer)
    majority = libraries.f1(truth, [commonest] * n)
    yield "weighted_f1", by(SKLEARN, weighted)
    yield "macro_f1", by(SKLEARN, libraries.f1(truth, answer, average="macro"))
    yield "strict_f1", by(SKLEARN, libraries.f1(every, with_gaps))
    yield "percent_agreement", by(SKLEARN, libraries.accuracy(truth, answer))
    yield "majority_f1", by(SKLEARN, majority)
    yield "lead_over_majority", by(SKLEARN, weighted - majority)
    yield "kappa", by(SKLEARN, libraries.kappa(truth, answer))
    if panel.ordered:
        table = np.zeros((len(panel.levels), len(panel.levels)))
        np.add.at(table, (truth, answer), 1.0)
        yield "kappa_quadratic", by(STATSMODELS, libraries.quadratic_kappa(table, panel.levels))
        if "order_items" in row:  # not in runs of METAL 0.1
            yield from of_seats(panel, judge, left_out, int(row["order_items"]))
    both = np.stack([panel.labels[answered].to_numpy(float), scores[answered].to_numpy(float)])
    yield "alpha", _alpha(panel, both)
    for name, value, items in alternative_annotator(panel, judge, row["alt_test_epsilon"]):
        yield f"alt_test_{name}", Recomputed(value, f"{SCIPY}, {STATSMODELS}", items)


def _alpha(panel: Panel, scores: Any) -> Recomputed:
    """Krippendorff's alpha of scores (raters, items)."""
    measure = panel.criterion.scale.measure
    domain = panel.levels or sorted(set(scores[~np.isnan(scores)].tolist()))
    value = libraries.alpha(scores, measure, domain) if scores.size else math.nan
    large = scores.size > 0 and scores.shape[1] * len(domain) ** 2 > libraries.LARGEST
    return Recomputed(value, KRIPPENDORFF, scores.shape[1], TOO_LARGE if large else "")


def of_people(panel: Panel) -> Iterator[tuple[str, Recomputed]]:
    """The figures of how far the people of a cell agree."""
    twice = panel.people[panel.ratings >= 2]
    if not (panel.ordered and panel.settings.get("standardise")):  # else of standardised scores
        yield "alpha", _alpha(panel, twice.to_numpy().T)
    if not panel.levels:
        return
    yield "fleiss_kappa", _fleiss(panel, twice)
    usual = panel.people[panel.ratings == max(panel.usual, 2)]
    yield "table_6_kappa", _fleiss(panel, usual)
    complete = panel.people[panel.complete]
    agreement = libraries.accuracy(*_pairs(panel, complete))
    yield "percent_agreement", Recomputed(agreement, SKLEARN, len(complete))
    ceilings = {"pairwise_f1": _pairwise, "leave_one_out_f1": _left_out}
    if by_vote(panel.settings) and not panel.one_person:
        ceilings |= {"against_all_f1": _against_all}
    for name, compare in ceilings.items():
        yield name, Recomputed(_mean(compare(panel, complete)), SKLEARN, len(complete))


def _pairs(panel: Panel, complete: pd.DataFrame) -> tuple[list[int], list[int]]:
    """The two sides of all pairs of ratings of the same output; each pair occurs in both orders."""
    first, second = [], []
    for row in complete.to_numpy().tolist():
        codes = panel.codes([score for score in row if score == score])
        for left, right in permutations(codes, 2):
            first.append(left)
            second.append(right)
    return first, second


def _mean(values: Iterable[float]) -> float:
    """The mean of the values that are defined; NaN without any."""
    defined = [value for value in values if value == value]
    return sum(defined) / len(defined) if defined else math.nan


def _fleiss(panel: Panel, scores: pd.DataFrame) -> Recomputed:
    """Fleiss' kappa over outputs, if all outputs have equally many ratings."""
    table = np.array([(scores == level).sum(axis=1) for level in panel.levels]).T
    if len(table) and len(set(table.sum(axis=1).tolist())) > 1:
        return Recomputed(math.nan, STATSMODELS, len(table), UNEVEN)
    return Recomputed(libraries.fleiss(table), STATSMODELS, len(table))


def _compared(complete: pd.DataFrame) -> list[str]:
    """The people who are compared one by one."""
    number = complete.notna().sum()
    people = list(map(str, complete))
    enough = [name for name in people if number[name] >= LEAST_RATED]
    people = enough if len(enough) > 1 else people
    if len(people) > MOST_RATERS:
        people = sorted(sorted(people, key=lambda name: -number[name])[:STANDING_IN])
    return people


def _one_f1(panel: Panel, truth: pd.Series, answer: pd.Series) -> float:
    both = truth.notna() & answer.notna()
    return libraries.f1(panel.codes(truth[both]), panel.codes(answer[both]))


def _pairwise(panel: Panel, complete: pd.DataFrame) -> Iterator[float]:
    people = _compared(complete)
    pairs = list(combinations(people, 2))
    if len(people) == 3:  # METAL's paper goes round
        pairs[1:] = [(people[1], people[2]), (people[2], people[0])]
    for first, second in pairs:
        yield _one_f1(panel, complete[first], complete[second])


def _left_out(panel: Panel, complete: pd.DataFrame) -> Iterator[float]:
    for person in _compared(complete):
        others = complete.drop(columns=person)
        votes = pd.DataFrame({level: (others == level).sum(axis=1) for level in panel.levels})
        clear = votes.eq(votes.max(axis=1), axis=0).sum(axis=1) == 1
        settled = votes.idxmax(axis=1).where(clear & (others.notna().sum(axis=1) >= 2))
        yield _one_f1(panel, settled.astype(float), complete[person])


def _against_all(panel: Panel, complete: pd.DataFrame) -> Iterator[float]:
    for person in _compared(complete):
        yield _one_f1(panel, panel.labels[panel.complete], complete[person])


def of_scores(panel: Panel, row: Row, left_out: Sequence[str]) -> Iterator[tuple[str, Recomputed]]:
    """The figures of a judge on scores without classes.

    They are means over the people with whom the judge is compared, where each person faces the mean
    of the others.
    """
    sides = beside_the_rest(panel, row["judge"], left_out, int(row["answered"]), LEAST_SCORES)
    by: dict[str, tuple[str, Callable[..., float]]] = {
        "correlation": (SCIPY, libraries.pearson),
        "rmse": (SKLEARN, libraries.root_mean_squared),
    }
    for name, (library, compute) in by.items():
        for whose, answers in (("", 1), ("person_", 2)):
            values = [compute(side[0], side[answers]) for side in sides if len(side) > answers]
            yield f"{whose}{name}", Recomputed(_mean(values), library, int(row["answered"]))
