"""How severe each person is compared with the people who rated the same outputs, within a
language.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metal.auditing.scored_outputs import MARGIN, ScoredOutputs
from metal.data.progress import Progress, followed
from metal.data.text import plural
from metal.errors import Undefined
from metal.stats.interval import Bounds
from metal.stats.patterns import Codes, Numbers
from metal.stats.severity import severities
from metal.stats.significance import holm

SEVERE, LENIENT = "severe", "lenient"
LEAST = 20  # outputs that a person shares with others
MOST_PEOPLE = 100
SEVERITY = (
    *("language", "criterion", "person", "says", "lower_by", "lower_by_low", "lower_by_high"),
    *("severity", "severity_low", "severity_high", "p_adjusted", "outputs", "people", "undefined"),
)


def severity_rows(
    scored: ScoredOutputs, people: Sequence[str], progress: Progress
) -> Iterator[dict[str, Any]]:
    """A row for each language and person; none for scales without levels.

    people: the people whose severity is measured.

    Only people who are linked by shared outputs form a group and are compared. Severities are
    relative to the group's mean, so they cannot be compared between groups or languages. lower_by:
    how much lower the person scores, on the scale, than somebody with the group's mean severity.
    """
    if not scored.criterion.scale.levels:
        return
    answers = scored.scores(people)
    for code, language in enumerate(followed(scored.languages, progress)):
        rows = np.flatnonzero((scored.language == code) & (scored.condition == ""))
        rated_by = ~np.isnan(answers[rows])
        shared = rated_by & (rated_by.sum(axis=1, keepdims=True) > 1)
        rated = np.flatnonzero(rated_by.any(axis=0)).tolist()
        groups = _linked(shared, [who for who in rated if shared[:, who].sum() >= LEAST])
        for who in rated:
            if not any(who in group for group in groups):
                few = (
                    f"severity: {plural(int(shared[:, who].sum()), 'output')} shared with others,"
                    f" {LEAST} needed"
                )
                yield _row(scored, language, people[who], int(shared[:, who].sum()), 0) | {
                    "undefined": few
                }
        for group in groups:
            yield from _of_group(scored, rows, answers[rows], shared, group, language, people)


def _linked(shared: Any, who: Sequence[int]) -> list[list[int]]:
    """The groups of people who share outputs, directly or through others; one person alone is no
    group.
    """
    from scipy.sparse.csgraph import connected_components

    of = shared[:, who].astype(np.int64)
    labels = connected_components(of.T @ of > 0, directed=False)[1] if who else []
    groups = [
        [who[at] for at in np.flatnonzero(labels == label).tolist()] for label in np.unique(labels)
    ]
    return [group for group in groups if len(group) > 1]


def _of_group(
    scored: ScoredOutputs,
    rows: Codes,
    answers: Numbers,
    shared: Any,
    group: Sequence[int],
    language: str,
    people: Sequence[str],
) -> Iterator[dict[str, Any]]:
    at, person = np.nonzero(shared[:, group])
    values, level = np.unique(answers[:, group][at, person], return_inverse=True)
    used, output = np.unique(at, return_inverse=True)
    _, cluster = np.unique(scored.source[rows[used]], return_inverse=True)
    blank = [
        _row(scored, language, people[who], int(shared[:, who].sum()), len(group)) for who in group
    ]
    try:
        if len(group) > MOST_PEOPLE:
            raise Undefined(
                f"{len(group)} people share outputs; {MOST_PEOPLE} are possible at most"
            )
        fitted = severities(level, output, person, cluster)
    except Undefined as error:
        yield from (row | {"undefined": f"severity: {error}"} for row in blank)
        return
    for index, (row, p) in enumerate(zip(blank, holm(fitted.p), strict=True)):
        ends = Bounds(float(fitted.severity[index]), *fitted.interval(index))
        lower = Bounds(*(fitted.below(each, values) for each in ends))
        far = p < 0.05 and abs(lower.value) > MARGIN * scored.span
        figures = ends.columns("severity") | lower.columns("lower_by")
        verdict = SEVERE if lower.value > 0 else LENIENT
        yield row | figures | {"p_adjusted": float(p), "says": verdict if far else ""}


def _row(
    scored: ScoredOutputs, language: str, person: str, outputs: int, people: int
) -> dict[str, Any]:
    head = {"language": language, "criterion": scored.criterion.name, "person": person, "says": ""}
    return (
        dict.fromkeys(SEVERITY, math.nan)
        | head
        | {
            "outputs": outputs,
            "people": people,
            "undefined": "",
        }
    )
