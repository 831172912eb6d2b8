"""Convert the scores of a merged dataset to the scales of the dataset that it joins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.ratings import EXPECTED, off_scale
from metal.data.records import Scale
from metal.data.text import first_few
from metal.errors import DataError

NARROW = 0.05  # share of a scale, below which incoming scores may be on another


def on_our_scales(
    base: Dataset, incoming: Dataset, facts: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """The incoming facts with scores on base's scales, and for each criterion a line on answers
    that fell between two levels.
    """
    lines: list[str] = []
    score, reason = (
        facts["score"].to_numpy(copy=True),
        facts["reason"].astype(object).to_numpy(copy=True),
    )
    for name in [name for name in incoming.criteria if name in base.criteria]:
        ours, theirs = base.criteria[name].scale, incoming.criteria[name].scale
        rows = np.flatnonzero((facts["criterion"] == name).to_numpy() & ~np.isnan(score))
        if None not in (ours.low, theirs.low) and (ours.low, ours.high) != (
            theirs.low,
            theirs.high,
        ):
            problem = f"its scales differ: {theirs.describe()} into {ours.describe()}"
            raise DataError(f"criterion {name}", problem, "Rename it in one of the two")
        values = _by_label(ours, theirs, set(np.unique(score[rows]).tolist()), name)
        score[rows] = pd.Series(score[rows]).replace(values).to_numpy()
        off = rows[off_scale(score[rows], ours)]
        declared = (
            []
            if values
            else [*theirs.values, *(end for end in (theirs.low, theirs.high) if end is not None)]
        )
        _check_same_scale(name, ours, np.append(score[rows], declared), len(off) * 2 > len(rows))
        kept = np.delete(score[rows], np.searchsorted(rows, off))
        lines += _about_narrow(name, ours, kept)
        if len(off):
            shown = first_few([f"{value:g}" for value in np.unique(score[off])])
            lines.append(
                f"{name}: {len(off)} scores lie between two levels and count as missing answers:"
                f" {shown}"
            )
            reason[off] = [f"off scale: {value:g}" for value in score[off]]
            score[off] = np.nan
        if EXPECTED in facts and values:  # a mean of values that are others here
            facts.loc[facts["criterion"] == name, EXPECTED] = np.nan
    return facts.assign(score=score, reason=pd.Categorical(reason)), lines


def _about_narrow(name: str, ours: Scale, scores: np.ndarray[Any, Any]) -> list[str]:
    """A note on scores that use so little of a scale that they may be on another scale."""
    ends = ours.ends
    if ours.levels or not ends or len(np.unique(scores)) < 2:
        return []
    if np.ptp(scores) >= NARROW * (ends[1] - ends[0]):
        return []
    return [
        f"{name}: incoming scores lie between {scores.min():g} and {scores.max():g} on"
        f" a scale from {ends[0]:g} to {ends[1]:g}; "
        f'if they are on another scale, name it (`ranges="{name}=0-1"`) or move them (`shifts`)'
    ]


def _by_label(ours: Scale, theirs: Scale, used: set[float], name: str) -> dict[float, float]:
    """{their value: our value} of each level, if levels are words that both have; empty if values
    have to be compared.

    Raises DataError for words that our scale does not have, unless the values are the same.
    """
    by_word = {level.label.casefold(): level.value for level in ours.levels}
    worded = [
        level
        for level in theirs.levels
        if level.value in used and level.label != f"{level.value:g}"
    ]
    unknown = [level.label for level in worded if level.label.casefold() not in by_word]
    if unknown and theirs.values != ours.values:
        problem = f"answer {unknown[0]!r} is not on the dataset's scale ({ours.describe()})"
        remedy = (
            f'Name a word for each of its numbers with `levels="{name}=..."`'
            if ours.levels
            else "Write numbers in the file"
        )
        raise DataError(f"criterion {name}", problem, remedy)
    return {} if unknown else {level.value: by_word[level.label.casefold()] for level in worded}


def _check_same_scale(
    name: str, ours: Scale, scores: np.ndarray[Any, Any], mostly_off: bool
) -> None:
    """Raise DataError if scores lie beyond the ends of our scale, or if most of them lie between
    its levels.
    """
    low, high = (min(ours.values), max(ours.values)) if ours.levels else (ours.low, ours.high)
    if low is None or high is None:
        return
    beyond = scores[(scores < low) | (scores > high)]
    if not len(beyond) and not mostly_off:
        return
    shift = low - scores.min()
    shown = first_few(
        [
            f"{score:g}"
            for score in np.unique(beyond if len(beyond) else scores[off_scale(scores, ours)])
        ]
    )
    remedy = "Rename the criterion in one of the two, or leave these scores empty"
    if shift and not off_scale(scores + shift, ours).any():
        remedy = f'If only their starting points differ, give `shifts="{name}={shift:g}"`'
    if len(beyond) and len(np.unique(beyond)) == 1:
        remedy += f'; if it stands for no answer, in a table `missing="{name}={shown}"`'
    raise DataError(
        f"criterion {name}",
        f"scores that are not on the dataset's scale ({ours.describe()}): {shown}",
        remedy,
    )
