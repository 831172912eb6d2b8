"""Judges against people: METAL's Table 3, with what F1 alone hides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.auditing.cells import Cell
from metal.auditing.figures import Resampled, Sums, columns, dropped_note, undefined_note
from metal.auditing.settings import MIN_RATED
from metal.data.ratings import UNANSWERED
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats import ceiling, panel
from metal.stats.alternative_annotator import (
    EPSILON,
    AlternativeAnnotatorTest,
    alternative_annotator_test,
)
from metal.stats.bootstrap import SourceBootstrap, share_at_most
from metal.stats.classification import (
    cohen_kappa,
    constant_confusion,
    macro_f1,
    percent_agreement,
    weighted_f1,
)
from metal.stats.patterns import Codes, Numbers, class_counts, confusion, find_patterns

DEFAULT_EPSILON = "skilled"
ONE_CLASS = "one class on both sides"


@dataclass(frozen=True)
class JudgeFigures:
    """Everything a verdict looks at: one judge in one cell.

    lead: weighted F1 minus that of the majority class, on the same items; lead_p: one-sided bootstrap
    p-value that it is above 0. to_people: weighted F1 minus the leave-one-out human ceiling.
    test: the alternative annotator test, None with test_reason where it could not be run.
    """

    language: str
    criterion: str
    judge: str
    asked: int
    answered: int
    sources: int
    f1: Estimate
    strict_f1: Estimate
    macro_f1: Estimate
    agreement: Estimate
    kappa: Estimate
    kappa_quadratic: Estimate
    alpha: Estimate
    gwet_ac1: Estimate
    majority_f1: Estimate
    lead: Estimate
    lead_p: float
    to_people: Estimate
    test: AlternativeAnnotatorTest | None
    test_reason: str
    answers: tuple[int, ...]
    dropped: dict[str, int]

    @property
    def coverage(self) -> float:
        """Answered share of what was asked; NaN when nothing was asked."""
        return self.answered / self.asked if self.asked else float("nan")


def judge_figures(cell: Cell, judge: str, bootstrap: SourceBootstrap) -> JudgeFigures:
    """All figures of one judge in a cell."""
    items = cell.judged(judge)
    answers = np.maximum(cell.by_judge(judge)[items], UNANSWERED)
    truth, sources = cell.truth[items], cell.matrix.sources[items]
    dropped = cell.dropped(judge)
    drawn = Resampled(np.column_stack([truth, answers]), sources, bootstrap, cell.rated)
    of_truth, of_answer = (drawn.rows[:, 0], drawn.rows[:, 1]) if len(items) else (truth, answers)
    levels = cell.levels
    strict_answer = np.where(of_answer < 0, levels, of_answer)  # unanswered is a class that is never right
    majority = int(np.bincount(truth, minlength=levels).argmax()) if len(items) else 0

    strict = drawn.sums(lambda weights: confusion(weights, of_truth, strict_answer, levels + 1))
    # Unanswered items have no second rating: they must not shape the chance agreement either.
    matrix = strict.then(lambda sums: sums[..., :levels, :levels])
    pairs = class_counts(np.stack(np.divmod(np.arange(levels**2), levels), axis=1), levels)

    def of_majority(matrix: Numbers) -> Numbers:
        return weighted_f1(constant_confusion(matrix, majority))

    def gwet_ac1(matrix: Numbers) -> Numbers:
        return panel.gwet_ac1(matrix.reshape(*matrix.shape[:-2], -1), pairs)

    lead = matrix.then(lambda sums: weighted_f1(sums) - of_majority(sums))

    def figure(statistic: Callable[[Numbers], Numbers], of: Sums = matrix) -> Estimate:
        return drawn.estimate(statistic, nothing, dropped, of)

    def chance_corrected(weights: str) -> Estimate:
        return drawn.estimate(lambda sums: cohen_kappa(sums, weights), ONE_CLASS, of=matrix)

    nothing = "no answer" if len(items) else "no items"
    test, test_reason = _test(cell, judge)
    return JudgeFigures(
        language=cell.language,
        criterion=cell.criterion.name,
        judge=judge,
        asked=len(items),
        answered=int((answers >= 0).sum()),
        sources=drawn.n_sources,
        f1=figure(weighted_f1),
        strict_f1=figure(weighted_f1, strict),
        macro_f1=figure(macro_f1),
        agreement=figure(percent_agreement),
        kappa=chance_corrected("none"),
        kappa_quadratic=(
            chance_corrected("quadratic") if cell.ordered else Estimate.undefined("nominal scale", len(items))
        ),
        alpha=_alpha(cell, truth, answers),
        gwet_ac1=drawn.estimate(gwet_ac1, nothing, of=matrix),
        majority_f1=figure(of_majority),
        lead=figure(np.asarray, lead),
        lead_p=share_at_most(lead.resamples) if drawn.n_sources > 1 else float("nan"),
        to_people=_to_people(cell, items, answers, truth, drawn, matrix, bootstrap),
        test=test,
        test_reason=test_reason,
        answers=tuple(np.bincount(answers[answers >= 0], minlength=levels).tolist()),
        dropped=dropped,
    )


def _to_people(
    cell: Cell, items: Codes, answers: Codes, truth: Codes, drawn: Resampled, matrix: Sums, bootstrap: SourceBootstrap
) -> Estimate:
    """Judge's F1 minus the leave-one-out human ceiling, paired on the same items.

    drawn, matrix: of the truth and the judge's answers. Where sources are drawn, the same sources are drawn for the
    people, whose ceiling is then the same for all judges of these items. Else all are drawn together.
    """
    if drawn.by_source:
        people = _ceiling(cell, items, bootstrap)
        if people.drawn.by_source:
            both = Sums(
                lambda: weighted_f1(matrix.observed) - people.f1.observed,
                lambda: weighted_f1(matrix.resamples) - people.f1.resamples,
            )
            return drawn.estimate(np.asarray, "no human ceiling", of=both)
    codes = np.column_stack([truth, answers, cell.by_people[items]])
    whole = Resampled(codes, cell.matrix.sources[items], bootstrap, cell.rated)
    of_truth, of_answer, rows = whole.rows[:, 0], whole.rows[:, 1], whole.rows[:, 2:]
    raters = ceiling.raters_with(whole.observed, rows, MIN_RATED)

    def difference(weights: Any) -> Numbers:
        judge = weighted_f1(confusion(weights, of_truth, of_answer, cell.levels))
        return judge - ceiling.leave_one_out(weights, rows, cell.levels, raters)

    return whole.estimate(difference, "no human ceiling")


@dataclass(frozen=True)
class _Ceiling:
    """The people of some items: f1 is each against the majority of the others."""

    drawn: Resampled
    f1: Sums


def _ceiling(cell: Cell, items: Codes, bootstrap: SourceBootstrap) -> _Ceiling:
    """The people's ceiling on these items, made once."""
    key = (items.tobytes(), bootstrap)
    if key not in cell.shared:
        drawn = Resampled(cell.by_people[items], cell.matrix.sources[items], bootstrap, cell.rated)
        raters = ceiling.raters_with(drawn.observed, drawn.rows, MIN_RATED)
        f1 = drawn.sums(lambda weights: ceiling.leave_one_out(weights, drawn.rows, cell.levels, raters))
        cell.shared[key] = _Ceiling(drawn, f1)
    found: _Ceiling = cell.shared[key]
    return found


def _alpha(cell: Cell, truth: Codes, answers: Codes) -> Estimate:
    """Krippendorff's alpha of the judge with the aggregate, at the scale's measure."""
    answered = np.flatnonzero(answers >= 0)
    patterns = find_patterns(np.column_stack([truth[answered], answers[answered]]))
    counts = class_counts(patterns.rows, cell.levels)
    try:
        value = panel.krippendorff_alpha(patterns.counts, counts, cell.values, cell.criterion.scale.measure)
    except Undefined as error:
        return Estimate.undefined(str(error), len(answered))
    return Estimate(value, n=len(answered))


def epsilon_for(cell: Cell) -> float:
    """The price of a person: as asked, else by the group of the people (experts 0.2, crowd 0.1, others 0.15)."""
    if cell.settings.epsilon is not None:
        return cell.settings.epsilon
    common = Counter(cell.groups[person] for person in cell.people).most_common(1)
    return EPSILON.get(common[0][0] if common else "", EPSILON[DEFAULT_EPSILON])


def _test(cell: Cell, judge: str) -> tuple[AlternativeAnnotatorTest | None, str]:
    people = np.where(cell.by_people >= 0, cell.values[cell.by_people], np.nan)
    codes = cell.by_judge(judge)
    answers = np.where(codes >= 0, cell.values[codes], np.nan)
    try:
        return (
            alternative_annotator_test(
                people,
                answers,
                epsilon=epsilon_for(cell),
                closeness="distance" if cell.ordered else "agreement",
                wilcoxon=cell.settings.wilcoxon,
            ),
            "",
        )
    except Undefined as error:
        return None, str(error)


def judge_row(figures: JudgeFigures) -> dict[str, Any]:
    """One row of the judges table."""
    estimates = {
        "weighted_f1": figures.f1,
        "strict_f1": figures.strict_f1,
        "kappa": figures.kappa,
        "kappa_quadratic": figures.kappa_quadratic,
        "percent_agreement": figures.agreement,
        "macro_f1": figures.macro_f1,
        "gwet_ac1": figures.gwet_ac1,
        "alpha": figures.alpha,
        "majority_f1": figures.majority_f1,
        "lead_over_majority": figures.lead,
        "difference_to_people": figures.to_people,
    }
    row: dict[str, Any] = {
        "language": figures.language,
        "criterion": figures.criterion,
        "judge": figures.judge,
        "asked": figures.asked,
        "answered": figures.answered,
        "coverage": figures.coverage,
        "sources": figures.sources,
        "dropped": dropped_note(figures.dropped),
    }
    for name, estimate in estimates.items():
        row |= columns(name, estimate, interval=name != "alpha")
    test = figures.test
    row |= {
        "lead_p": figures.lead_p,
        "alt_test_winning_rate": test.winning_rate if test else float("nan"),
        "alt_test_advantage": test.advantage if test else float("nan"),
        "alt_test_epsilon": test.epsilon if test else float("nan"),
        "alt_test_passed": "" if test is None else "yes" if test.passed else "no",
        "undefined": undefined_note(estimates) + (f"; alt_test: {figures.test_reason}" if figures.test_reason else ""),
    }
    row["undefined"] = row["undefined"].removeprefix("; ")
    return row
