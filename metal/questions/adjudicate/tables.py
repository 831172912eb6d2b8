"""The tables of adjudication: each judge beside people, and how far adjudicators agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from metal.questions.adjudicate.compute import Truth, bad_end, difference
from metal.questions.adjudicate.draw import Case
from metal.questions.adjudicate.forms import Drawn
from metal.questions.adjudicate.plan import Decision
from metal.questions.adjudicate.verdicts import items_needed, verdict, with_errors
from metal.stats.interval import NO_BOUNDS, Bounds
from metal.stats.measured import Measured

FIGURES = (
    "difference",
    "if_random",
    "if_crowd",
    "found",
    "found_by_people",
    "right",
    "right_of_people",
)
ADJUDICATED = (
    "language",
    "criterion",
    "judge",
    "verdict",
    "reason",
    *(f"{figure}{end}" for figure in FIGURES for end in ("", "_low", "_high")),
    "decided",
    "undecidable",
    "drawn",
    "disputed",
    "items",
    "adjudicators",
    "items_needed",
    "undefined",
)
AGREEMENT = ("language", "criterion", "first", "second", "both", "same", "differ")

_Given = Mapping[str, Sequence[Decision]]  # by task


def truth_of(case: Case, tasks: Mapping[str, str], given: _Given) -> Truth:
    """What adjudicators said of the case's items. tasks: output -> task, of those drawn."""
    values = case.cell.matrix.values
    right = np.full((len(case.rated), len(values)), np.nan)
    first = right.copy()
    for item, output in enumerate(case.cell.matrix.outputs):
        decisions = [
            each for each in given.get(tasks.get(output, ""), ()) if each.answer is not None
        ]
        if decisions:
            own = [values == each.answer for each in decisions]
            sets = [np.isin(values, [each.answer, *each.also]) for each in decisions]
            right[item], first[item] = np.mean(sets, axis=0), np.mean(own, axis=0)
    return Truth(right, first)


def judge_rows(
    case: Case, drawn: Sequence[Drawn], given: _Given, margin: float
) -> Iterator[dict[str, Any]]:
    """A row for each judge of a case. drawn: the outputs of this case."""
    truth = truth_of(case, {each.output: each.task for each in drawn}, given)
    place = {output: item for item, output in enumerate(case.cell.matrix.outputs)}
    for judge in case.cell.judges:
        at = case.asked(judge)
        if not len(at):
            continue
        beside, of_judge = case.beside(judge), Truth(truth.right[at], truth.first[at])
        wanted = set(at[beside.disputed].tolist())
        of_these = [each for each in drawn if place[each.output] in wanted]
        whole, bad = difference(beside, of_judge.right), bad_end(beside, of_judge)
        says, reason = verdict(whole, bad, margin)
        erring = {
            name: difference(beside, with_errors(beside, of_judge.right, with_crowd=crowd)).figure
            for name, crowd in (("if_random", False), ("if_crowd", True))
        }
        figures = {
            "difference": whole.figure,
            **erring,
            "found": bad and bad.found,
            "found_by_people": bad and bad.found_by_people,
            "right": bad and bad.right,
            "right_of_people": bad and bad.right_of_people,
        }
        opinions = [decision for each in of_these for decision in given.get(each.task, ())]
        needed = items_needed(whole, margin)
        row: dict[str, Any] = {
            "language": case.cell.language,
            "criterion": case.cell.criterion.name,
            "judge": judge,
            "verdict": says,
            "reason": reason,
        }
        for name, figure in figures.items():
            row |= _bounds(figure, share=name not in FIGURES[:3]).columns(name)
        yield row | {
            "decided": whole.decided,
            "undecidable": sum(_undecidable(given.get(each.task, ())) for each in of_these),
            "drawn": len(of_these),
            "disputed": whole.disputed,
            "items": whole.items,
            "adjudicators": len({decision.adjudicator for decision in opinions}),
            "items_needed": needed if math.isfinite(needed) else math.nan,
            "undefined": f"difference: {whole.undefined}" if whole.undefined else "",
        }


def _undecidable(decisions: Sequence[Decision]) -> bool:
    """Whether everybody who looked said that it cannot be decided."""
    return bool(decisions) and all(each.answer is None for each in decisions)


def _bounds(figure: Measured | None, *, share: bool) -> Bounds:
    """With its limits, which a share has from 0 to 1."""
    if figure is None:
        return NO_BOUNDS
    low, high = figure.low(), figure.high()
    return (
        Bounds(figure.value, max(low, 0.0), min(high, 1.0))
        if share
        else Bounds(figure.value, low, high)
    )


def agreement_rows(drawn: Mapping[str, Drawn], given: _Given) -> Iterator[dict[str, Any]]:
    """How often two adjudicators decided an output alike, by criterion and language."""
    pairs: dict[tuple[str, str, str, str], list[bool]] = {}
    for task, decisions in given.items():
        by_name = sorted(decisions, key=lambda each: each.adjudicator)
        for one, other in combinations(by_name, 2):
            key = (
                drawn[task].language,
                drawn[task].criterion,
                one.adjudicator,
                other.adjudicator,
            )
            pairs.setdefault(key, []).append(one.answer == other.answer)
    for key, same in sorted(pairs.items()):
        differ = len(same) - sum(same)
        yield dict(zip(AGREEMENT, (*key, len(same), sum(same) / len(same), differ), strict=True))
