"""The tables of adjudication: each judge compared with people, and how far adjudicators agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from metal.data.ratings import NOT_ASKED
from metal.questions.adjudicate.between import SIDES
from metal.questions.adjudicate.compute import (
    AGREED,
    LEVEL,
    BadEnd,
    JudgeBeside,
    Truth,
    bad_end,
    credit,
    difference,
    ratio,
    weights_of,
)
from metal.questions.adjudicate.draw import Case
from metal.questions.adjudicate.forms import Drawn
from metal.questions.adjudicate.plan import Decision
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED
from metal.questions.adjudicate.verdicts import if_wrong, items_needed, verdict
from metal.stats.intervals import share_interval
from metal.stats.measured import Measured

FIGURES = (
    "difference",
    "if_random",
    "if_crowd",
    "recall",
    "recall_of_people",
    "precision",
    "precision_of_people",
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
NONE = (math.nan, math.nan)
AGREEMENT = ("language", "criterion", "first", "second", "both", "same", "differ")

RIGHT = (
    "language",
    "criterion",
    "rater",
    "kind",
    "right",
    "right_low",
    "right_high",
    "decided",
    "drawn",
    "ambiguous",
    "undefined",
)
COLUMNS = {"adjudicated": ADJUDICATED, "right": RIGHT, "sides": SIDES, "adjudicators": AGREEMENT}
TABLE_OF = {DISPUTED: "adjudicated", AMBIGUOUS: "right", BETWEEN: "sides"}

_Given = Mapping[str, Sequence[Decision]]  # by task


def truth_of(case: Case, tasks: Mapping[str, str], by_task: _Given) -> Truth:
    """What adjudicators said about the case's items.

    tasks: output -> task, for the drawn outputs.
    """
    values = case.cell.matrix.values
    right = np.full((len(case.rated), len(values)), np.nan)
    first = right.copy()
    for item, output in enumerate(case.cell.matrix.outputs):
        sets = [
            (each.answer, *each.also)
            for each in by_task.get(tasks.get(output, ""), ())
            if each.answer is not None
        ]
        if sets:
            right[item] = np.mean([np.isin(values, answers) for answers in sets], axis=0)
            first[item] = np.mean([values == answers[0] for answers in sets], axis=0)
    return Truth(right, first)


def judge_rows(
    case: Case, drawn: Sequence[Drawn], by_task: _Given, margin: float
) -> Iterator[dict[str, Any]]:
    """A row for each judge of a case.

    drawn: the drawn outputs of this case.
    """
    truth = truth_of(case, {each.output: each.task for each in drawn}, by_task)
    for judge in case.cell.judges:
        at = case.asked(judge)
        if len(at):
            beside = case.beside(judge)
            of_judge = Truth(truth.right[at], truth.first[at])
            disputed = {case.cell.matrix.outputs[item] for item in at[beside.disputed]}
            yield {
                "language": case.cell.language,
                "criterion": case.cell.criterion.name,
                "judge": judge,
                **_figures(beside, of_judge, margin),
                **_counts([each for each in drawn if each.output in disputed], by_task),
            }


def _figures(beside: JudgeBeside, truth: Truth, margin: float) -> dict[str, Any]:
    """The columns with the verdict on a judge and its figures."""
    compared, bad = difference(beside, truth.right), bad_end(beside, truth)
    says, reason = verdict(compared, bad, margin)
    erring = {
        name: if_wrong(beside, truth.right, with_crowd=crowd)
        for name, crowd in (("if_random", False), ("if_crowd", True))
    }
    needed = items_needed(compared, margin)
    row: dict[str, Any] = {"verdict": says, "reason": reason}
    for name, figure in ({"difference": compared.figure} | erring).items():
        row |= _columns(name, figure, (figure.low(), figure.high()) if figure else NONE)
    row |= _of_bad_end(bad)
    return row | {
        "decided": compared.decided,
        "disputed": compared.disputed,
        "items": compared.items,
        "items_needed": needed if math.isfinite(needed) else math.nan,
        "undefined": compared.undefined and f"difference: {compared.undefined}",
    }


def _counts(drawn: Sequence[Drawn], by_task: _Given) -> dict[str, int]:
    """The numbers of decisions that came back.

    drawn: the drawn outputs that are disputed for a judge.
    """
    opinions = [by_task.get(each.task, ()) for each in drawn]
    return {
        "drawn": len(drawn),
        "undecidable": sum(map(_undecidable, opinions)),
        "adjudicators": len({each.adjudicator for each in chain.from_iterable(opinions)}),
    }


def _undecidable(decisions: Sequence[Decision]) -> bool:
    """Whether everybody who looked at an output said that it cannot be decided."""
    return bool(decisions) and all(each.answer is None for each in decisions)


def _of_bad_end(bad: BadEnd | None) -> dict[str, float]:
    """The columns with recall and precision; their intervals stay between 0 and 1."""
    if bad is None:
        figures: Sequence[tuple[Measured | None, float]] = [(None, 0.0)] * 4
    else:
        figures = [
            (bad.recall, bad.items),
            (bad.recall_of_people, bad.items),
            (bad.precision, bad.called),
            (bad.precision_of_people, bad.called_by_people),
        ]
    row: dict[str, float] = {}
    for name, (figure, items) in zip(FIGURES[3:], figures, strict=True):
        row |= _columns(name, figure, _share_limits(figure, items))
    return row


def _share_limits(figure: Measured | None, items: float) -> tuple[float, float]:
    """The ends of a share's interval, which stay between 0 and 1."""
    if figure is None:
        return NONE
    sources = min(int(figure.df) + 1, math.ceil(items))
    return share_interval(figure.value, figure.error**2, items, sources, LEVEL)


def _columns(name: str, figure: Measured | None, limits: tuple[float, float]) -> dict[str, float]:
    value = math.nan if figure is None else figure.value
    return {name: value, f"{name}_low": limits[0], f"{name}_high": limits[1]}


def rater_rows(case: Case, drawn: Sequence[Drawn], by_task: _Given) -> Iterator[dict[str, Any]]:
    """How often each person and judge is right on the outputs on which all people differ.

    drawn: the drawn outputs of this case.
    """
    truth = truth_of(case, {each.output: each.task for each in drawn}, by_task)
    cell, strata = case.cell, case.ambiguous
    decided = (strata != AGREED) & truth.decided
    weights = np.where(decided, weights_of(strata, decided), 0.0)
    for rater in (*cell.people, *cell.judges):
        codes = cell.by_judge(rater)
        asked = decided & (codes != NOT_ASKED)
        right = np.where(asked, credit(codes[:, None], truth.right)[:, 0], 0.0)
        sources = len(np.unique(cell.matrix.sources[asked]))
        share, undefined = None, "right: fewer than two sources are decided"
        if sources >= 2:
            df = sources - 1
            share = ratio(weights, cell.matrix.sources, df, right, asked.astype(float))
            undefined = ""
        number = int(asked.sum())
        yield {
            "language": cell.language,
            "criterion": cell.criterion.name,
            "rater": rater,
            "kind": "judge" if rater in cell.judges else "person",
            **_columns("right", share, _share_limits(share, number)),
            "decided": number,
            "drawn": len(drawn),
            "ambiguous": int((strata != AGREED).sum()),
            "undefined": undefined,
        }


def agreement_rows(drawn: Mapping[str, Drawn], by_task: _Given) -> Iterator[dict[str, Any]]:
    """How often two adjudicators decided an output alike, by criterion and language.

    Decisions are alike if one adjudicator says that the other's answer would do as well.
    """
    pairs: dict[tuple[str, str, str, str], list[bool]] = {}
    for task, decisions in by_task.items():
        by_name = sorted(decisions, key=lambda each: each.adjudicator)
        output = drawn[task]
        for first, second in combinations(by_name, 2):
            key = (output.language, output.criterion, first.adjudicator, second.adjudicator)
            pairs.setdefault(key, []).append(first.agrees(second))
    for key, same in sorted(pairs.items()):
        differ = len(same) - sum(same)
        yield dict(zip(AGREEMENT, (*key, len(same), sum(same) / len(same), differ), strict=True))
