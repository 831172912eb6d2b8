"""Outputs that two raters score most differently, and which of the two agrees with somebody who
sees neither score.

Half of the outputs are those that the first rater puts much higher than the second, half are the
reverse. They are mixed, and the adjudicators call each good or bad. Source: Billboard (Kasai et al.
2022), 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.settings import AuditSettings
from metal.boards.cells import criterion_scores, unordered
from metal.data.dataset import Dataset
from metal.data.grouping import grouped
from metal.data.people import people_in
from metal.data.records import METRIC_SCORE, Criterion
from metal.errors import UsageError, check_known
from metal.questions.adjudicate.compute import LEVEL
from metal.questions.adjudicate.draw import generator_of
from metal.questions.adjudicate.forms import Drawn, Questionnaire
from metal.questions.adjudicate.plan import Decision
from metal.questions.adjudicate.samples import Drawing, PlannedCase, Sample, task_of
from metal.stats.intervals import share_interval
from metal.stats.patterns import Codes, Numbers

PEOPLE = "people"  # all of them, unless a rater has this name
GOOD = 1.0
TOO_FEW = "sides: fewer than two sources are decided"
ENDS = ("first", "second")
SIDES = (
    "language",
    "criterion",
    *ENDS,
    *(f"{end}_{what}" for end in ENDS for what in ("higher", "good")),
    "sides",
    "sides_low",
    "sides_high",
    "undecidable",
    "drawn",
    "adjudicators",
    "undefined",
)


@dataclass(frozen=True)
class RankedTwice:
    """The scores of two raters for the outputs of a case that both scored.

    Attributes:
        outputs: Their names, in string order.
        apart: (outputs,) how much higher the first rater scores each output.
    """

    language: str
    criterion: Criterion
    outputs: tuple[str, ...]
    apart: Numbers


def members(dataset: Dataset, name: str) -> tuple[str, ...]:
    """The raters that a name stands for: a rater, a group of people, or all people. Raises
    UnknownName.
    """
    people = people_in(dataset.raters)
    groups = grouped(people, lambda person: dataset.raters[person].group)
    groups = {PEOPLE: people} | {group: names for group, names in groups.items() if group}
    check_known("rater", [name], [*dataset.raters, *groups])
    return (name,) if name in dataset.raters else tuple(groups[name])


def compared(
    dataset: Dataset, settings: AuditSettings, pair: Sequence[str]
) -> Iterator[RankedTwice]:
    """The cases in which both raters scored outputs. A metric's score counts for every criterion.

    Raises UnknownName for an unknown rater, UsageError if a rater is in both.
    """
    first, second = (members(dataset, name) for name in pair)
    if shared := sorted({*first} & {*second}):
        raise UsageError(f"`between`: {shared[0]} is in both; name two different raters")
    check_known("criterion", settings.criteria, dataset.criteria)
    row_of = dict.fromkeys(first, 0) | dict.fromkeys(second, 1)
    means = {
        name: scores.means
        for name, scores in criterion_scores(dataset, row_of, 2).items()
        if name not in unordered(dataset)
    }
    of_metrics = means.pop(METRIC_SCORE.name, None)
    if of_metrics is not None:
        means = {name: np.where(np.isnan(own), of_metrics, own) for name, own in means.items()}
        both_metrics = not np.isnan(of_metrics).all(axis=1).any()
        means = {METRIC_SCORE.name: of_metrics} if both_metrics else means
    languages = np.array([output.language for output in dataset.outputs.values()])
    names = np.array([*dataset.outputs])
    for name, scores in means.items():
        if settings.criteria and name not in settings.criteria:
            continue
        for language in settings.languages or dataset.languages:
            both = np.flatnonzero((languages == language) & ~np.isnan(scores).any(axis=0))
            both = both[np.argsort(names[both])]
            if len(both):
                criterion = dataset.criteria[name]
                apart = _apart(scores[:, both], on_levels=bool(criterion.scale.levels))
                yield RankedTwice(language, criterion, tuple(map(str, names[both])), apart)


def _apart(scores: Numbers, *, on_levels: bool) -> Numbers:
    """(outputs,) how much higher the first of two raters scores each output.

    On levels this is the difference of the scores; otherwise it is the difference of ranks, as
    shares of the outputs, because each rater may have a scale of its own.
    """
    by_rater = pd.DataFrame(scores.T)
    placed = by_rater if on_levels else by_rater.rank(pct=True)
    return (placed[0] - placed[1]).to_numpy()


def between(
    dataset: Dataset, settings: AuditSettings, drawing: Drawing, pair: Sequence[str]
) -> Iterator[Sample]:
    """Draw outputs, half of them from each end."""
    for case in compared(dataset, settings, pair):
        name, language = case.criterion.name, case.language
        ends = {
            higher: _most_apart(apart, generator_of(settings.seed, name, language))
            for higher, apart in zip(pair, (case.apart, -case.apart), strict=True)
        }
        drawn = [
            Drawn(task_of(dataset, drawing, output, name), output, name, language, 1.0, higher)
            for higher, items in ends.items()
            for output in (case.outputs[item] for item in items[: drawing.items // 2])
        ]
        differ = sum(map(len, ends.values()))
        planned = PlannedCase(language, name, len(case.outputs), differ, len(drawn), 0)
        yield planned, Questionnaire(language, case.criterion, tuple(drawn))


def _most_apart(apart: Numbers, rng: np.random.Generator) -> Codes:
    """The positions of values above 0, the largest first; equal values in random order."""
    shuffled = rng.permutation(len(apart))
    falling = shuffled[np.argsort(-apart[shuffled], kind="stable")]
    return falling[apart[falling] > 0]


def sides_rows(
    dataset: Dataset,
    pair: Sequence[str],
    drawn: Mapping[str, Drawn],
    by_task: Mapping[str, Sequence[Decision]],
) -> Iterator[dict[str, Any]]:
    """A row for each case: how many outputs of each end are good, and how often that agrees with
    the first rater.

    If adjudicators differ on an output, each counts in part.
    """
    cases = grouped(drawn.values(), lambda each: (each.language, each.criterion))
    for (language, criterion), of_case in cases.items():
        decisions = [by_task.get(each.task, ()) for each in of_case]
        good = np.array(list(map(_share_good, decisions)))
        decided = ~np.isnan(good)
        first = np.array([each.higher == pair[0] for each in of_case])
        sides = np.where(first, good, 1 - good)[decided]
        sources = np.array([dataset.outputs[each.output].source for each in of_case])[decided]
        yield {
            "language": language,
            "criterion": criterion,
            **dict(zip(ENDS, pair, strict=True)),
            "first_higher": int((decided & first).sum()),
            "first_good": float(good[decided & first].sum()),
            "second_higher": int((decided & ~first).sum()),
            "second_good": float(good[decided & ~first].sum()),
            **_share(sides, sources),
            "undecidable": sum(map(bool, decisions)) - int(decided.sum()),
            "drawn": len(of_case),
            "adjudicators": len({each.adjudicator for each in chain.from_iterable(decisions)}),
        }


def _share_good(decisions: Sequence[Decision]) -> float:
    """The share of adjudicators who call an output good; NaN if nobody decided on it."""
    answers = [each.answer == GOOD for each in decisions if each.answer is not None]
    return float(np.mean(answers)) if answers else math.nan


def _share(sides: Numbers, sources: Codes) -> dict[str, Any]:
    """The mean with its interval over sources; undefined for fewer than two."""
    names, source = np.unique(sources, return_inverse=True)
    share, low, high, undefined = math.nan, math.nan, math.nan, TOO_FEW
    if len(names) >= 2:
        share, number, undefined = float(sides.mean()), len(names), ""
        by_source = np.bincount(source, weights=sides - share) / len(sides)
        variance = float((by_source**2).sum()) * number / (number - 1)
        low, high = share_interval(share, variance, len(sides), number, LEVEL)
    return {"sides": share, "sides_low": low, "sides_high": high, "undefined": undefined}
