"""Figures of judges compared with people: METAL's Table 3, and what F1 alone hides.

A figure of the table of judges is one `Statistic` in STATISTICS; other packages add theirs in the
same way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.figures import (
    Resampled,
    Sums,
    column_names,
    columns,
    dropped_note,
    few_of_a_second_class,
    krippendorff_alpha,
    of_the_most_active,
    range_columns,
    undefined_note,
)
from metal.auditing.in_order import NAMES as OF_ORDER
from metal.auditing.in_order import order_figures
from metal.auditing.settings import MIN_RATED
from metal.auditing.standing import Standing
from metal.data.plugins import load_plugin, plugins
from metal.data.ratings import UNANSWERED
from metal.data.records import Estimate
from metal.errors import Undefined, UsageError
from metal.stats import agreement
from metal.stats.agreement import (
    Disagreement,
    cohen_disagreement,
    cohen_kappa,
    constant_margins,
    macro_f1,
    percent_agreement,
    quadratic_disagreement,
    weighted_f1,
)
from metal.stats.alternative_annotator import (
    EPSILON,
    AlternativeAnnotatorTest,
    alternative_annotator_test,
)
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.intervals import balanced_items
from metal.stats.patterns import Numbers, margin_features, margins_of, one_hot, ratio, total
from metal.stats.significance import clustered_mean
from metal.stats.skill import moments

ONE_CLASS = "one class on both sides"


class JudgedItems:
    """The items of a cell from which a judge's figures are computed: those with an aggregate class
    that it was asked about.

    truth, answers: (items,) the class codes of the people's aggregate and of the judge; UNANSWERED
    without an answer. codes: (items, 2) both. drawn: the patterns of codes, resampled. margins:
    (..., 3, levels) margins of the answered items. strict: margins of all items, with a missing
    answer counted as wrong. lead: weighted F1 minus the weighted F1 of always giving the people's
    most frequent class.
    """

    def __init__(self, cell: AuditCell, judge: str, bootstrap: SourceBootstrap) -> None:
        levels = cell.levels
        self.cell, self.judge, self.bootstrap = cell, judge, bootstrap
        self.items = cell.judged(judge)
        self.truth = cell.truth[self.items]
        self.answers = np.maximum(cell.by_judge(judge)[self.items], UNANSWERED)
        self.codes = np.column_stack([self.truth, self.answers])
        self.drawn = Resampled(self.codes, cell.matrix.sources[self.items], bootstrap, cell.rated)
        truth, answers = self.drawn.rows.T
        features = np.column_stack(
            [margin_features([(truth, answers)], levels), one_hot(truth, levels)]
        )
        sums = self.drawn.sums(lambda weights: total(weights, features)).then(
            lambda sums: sums.reshape(*sums.shape[:-1], 4, levels)
        )
        # Unanswered items have no second rating, so they must not shape the chance agreement
        # either.
        self.margins = sums.then(lambda sums: sums[..., :3, :])
        self.strict = sums.then(lambda sums: sums[..., [0, 3, 2], :])
        # No closure over this object: what refers to itself keeps its arrays until the collector
        # comes round.
        most_frequent = int(np.bincount(self.truth, minlength=1).argmax())
        self.majority = self.margins.then(lambda margins: constant_margins(margins, most_frequent))
        self.lead = self.margins.then(
            lambda margins: (
                weighted_f1(margins) - weighted_f1(constant_margins(margins, most_frequent))
            )
        )

    def share(self, statistic: Callable[[Numbers], Numbers], of: Sums | None = None) -> Estimate:
        """A share computed from the margins, with its interval."""
        return self.drawn.share(statistic, "no answer", of or self.margins)

    def estimate(self, statistic: Callable[[Numbers], Numbers], of: Sums | None = None) -> Estimate:
        """A figure computed from the margins that is not a share, with its bootstrap interval."""
        return self.drawn.estimate(statistic, "no answer", of or self.margins)

    def beyond_chance(
        self,
        disagreement: Callable[[Numbers], Disagreement],
        few: str = "",
        of: Sums | None = None,
        items: float = 0,
    ) -> Estimate:
        """Agreement beyond chance, with its interval."""
        return self.drawn.beyond_chance(disagreement, ONE_CLASS, of or self.margins, few, items)

    @property
    def few(self) -> str:
        """The reason why chance agreement cannot be known; empty if it can."""
        hits, truths, answers = self.margins.observed
        return few_of_a_second_class(int(truths.sum()), int(hits[(truths + answers).argmax()]))


def classes_worth(drawn: Resampled, margins: Sums) -> tuple[float, float]:
    """The number of independent items that macro F1 can be worth: the largest possible, and that if
    all sources agree.

    The size of a class is half the sum of its truths and answers, in items or in sources
    (metal.stats.intervals.balanced_items).
    """
    times = drawn.alone.times
    sources = np.tensordot(times, margins.alone[:, 1:] > 0, axes=1)
    return balanced_items(margins.observed[1:].sum(axis=0) / 2), balanced_items(
        sources.sum(axis=0) / 2
    )


def macro(judged: JudgedItems) -> Estimate:
    """Macro F1, with Wilson's interval at the number of items that a mean over classes is worth."""
    if not judged.margins.observed.any():
        return judged.share(macro_f1)
    items, alike = classes_worth(judged.drawn, judged.margins)
    return judged.drawn.share(macro_f1, "no answer", judged.margins, items, alike)


def gwet_disagreement(margins: Numbers) -> Disagreement:
    """The disagreement behind Gwet's AC1, where the judge and the aggregate form a panel of two."""
    hits, truths, answers = np.moveaxis(margins, -2, 0)
    items, share = (
        truths.sum(axis=-1),
        ratio(truths + answers, 2 * truths.sum(axis=-1, keepdims=True)),
    )
    expected = (share * (1 - share)).sum(axis=-1) / (margins.shape[-1] - 1)
    return Disagreement(ratio(items - hits.sum(axis=-1), items), 1 - expected)


def quadratic_kappa(judged: JudgedItems) -> Estimate:
    """Cohen's kappa with squared distances between the values of the levels, if the scale has an
    order.
    """
    values = judged.cell.values
    if not judged.cell.ordered:
        return Estimate.undefined("nominal scale", judged.drawn.n)
    truth, answers = (np.where(codes >= 0, values[codes], np.nan) for codes in judged.drawn.rows.T)
    features = moments(truth - values.min(), answers - values.min())
    sums = judged.drawn.sums(lambda weights: total(weights, features))
    span = float(values.max() - values.min())
    return judged.beyond_chance(
        lambda added: quadratic_disagreement(added, span), judged.few, sums, math.inf
    )


def leniency(judged: JudgedItems) -> Estimate:
    """How much higher the judge scores than the people, in units of the scale: its score minus
    their mean.

    It is computed over the outputs that two or more people rated, because a single person's mean is
    as lenient as that person. If hardly any output has two people, it is computed over those with
    one.
    """
    cell, answers = judged.cell, judged.cell.by_judge(judged.judge)
    if not cell.ordered:
        return Estimate.undefined("nominal scale", judged.drawn.n)
    counted = (answers >= 0) & (cell.ratings_per_item >= (1 if cell.one_person else 2))
    people = np.where(cell.by_people >= 0, cell.values[cell.by_people], 0.0).sum(axis=1)
    higher = np.where(counted, cell.values[answers], np.nan) - ratio(people, cell.ratings_per_item)
    better = higher if cell.criterion.direction == "higher" else -higher
    test = clustered_mean(better, cell.matrix.sources, judged.bootstrap)
    if not test.n:
        return Estimate.undefined("no answer to an output that two people rated")
    method = f"percentile bootstrap over {test.sources} sources"
    shown = test.mean[:1] if math.isnan(test.mean.low) else test.mean
    return Estimate(*shown, n=test.n, method=method)


def difference_to_people(judged: JudgedItems) -> Estimate:
    """The judge's weighted F1 minus the leave-one-out human ceiling, paired on the same items.

    The same sources are drawn for the judge and for people. All judges of these items have the same
    human ceiling.
    """
    difference = _difference(judged, weighted_f1)
    estimate = judged.drawn.estimate(np.asarray, "no human ceiling", difference)
    return replace(estimate, caveats=of_the_most_active(judged.cell.by_people[judged.items]))


def macro_difference_to_people(judged: JudgedItems) -> Estimate:
    """The judge's macro F1 minus that of people, with Student's t on the jackknife variance over
    sources.
    """
    difference = _difference(judged, macro_f1)
    estimate = judged.drawn.jackknifed(np.asarray, "no human ceiling", difference)
    return replace(estimate, caveats=of_the_most_active(judged.cell.by_people[judged.items]))


def _difference(judged: JudgedItems, f1: Callable[[Numbers], Numbers]) -> Sums:
    """The F1 of the judge minus that of each person, both measured against the majority of the
    other people.
    """
    of_judge, of_people = judged.margins.then(f1), _ceiling(judged, f1)
    return Sums(
        lambda: of_judge.observed - of_people.observed,
        lambda: of_judge.resamples - of_people.resamples,
        lambda: of_judge.without_one - of_people.without_one,
    )


def _ceiling(judged: JudgedItems, f1: Callable[[Numbers], Numbers]) -> Sums:
    """F1 of each person against the others, averaged; computed once for all judges of
    these items.
    """
    cell, items = judged.cell, judged.items
    key = (items.tobytes(), judged.bootstrap, f1)
    if key not in cell.shared:
        drawn = Resampled(
            cell.by_people[items], cell.matrix.sources[items], judged.bootstrap, cell.rated
        )
        raters = agreement.raters_with(drawn.observed, drawn.rows, MIN_RATED)
        cell.shared[key] = drawn.sums(
            lambda weights: agreement.leave_one_out(weights, drawn.rows, cell.levels, raters, f1)
        )
    ceiling: Sums = cell.shared[key]
    return ceiling


@dataclass(frozen=True)
class Statistic:
    """A figure of the table of judges. Its name is that of its columns, or of its entry point.

    figure: a function that computes it for one judge in one cell. title: the heading of its column.
    definition: what it means, for the page of an audit; METAL's own figures are defined there
    together. form: how it is written (figure, percent or signed). direction: which end is better;
    empty if neither is. shown: whether the table of all figures has it. later: whether runs of
    version 0.1 lack it.
    """

    figure: Callable[[JudgedItems], Estimate]
    title: str
    definition: str = ""
    form: str = "figure"
    direction: str = "higher"
    shown: bool = True
    later: bool = False


STATISTICS: Mapping[str, Statistic] = {
    "weighted_f1": Statistic(lambda judged: judged.share(weighted_f1), "weighted F1"),
    "strict_f1": Statistic(lambda judged: judged.share(weighted_f1, judged.strict), "strict F1"),
    "kappa": Statistic(
        lambda judged: judged.beyond_chance(cohen_disagreement, judged.few), "kappa"
    ),
    "kappa_quadratic": Statistic(quadratic_kappa, "quadratic kappa"),
    "percent_agreement": Statistic(
        lambda judged: judged.share(percent_agreement), "agreement", form="percent"
    ),
    "macro_f1": Statistic(macro, "macro F1"),
    "gwet_ac1": Statistic(lambda judged: judged.beyond_chance(gwet_disagreement), "Gwet's AC1"),
    "alpha": Statistic(
        lambda judged: krippendorff_alpha(judged.drawn, judged.cell.criterion), "alpha"
    ),
    "majority_f1": Statistic(
        lambda judged: judged.share(weighted_f1, judged.majority),
        "F1 of the most frequent class",
        shown=False,
    ),
    "lead_over_majority": Statistic(
        lambda judged: judged.estimate(np.asarray, judged.lead),
        "lead over most frequent class",
        form="signed",
    ),
    "difference_to_people": Statistic(difference_to_people, "difference to people", form="signed"),
    "macro_f1_difference": Statistic(
        macro_difference_to_people, "difference to people, macro F1", form="signed", later=True
    ),
    "leniency": Statistic(leniency, "more lenient than people by", form="signed", direction=""),
}
OF_TEST = ("winning_rate", "advantage", "epsilon")
COLUMNS = (
    *("language", "criterion", "judge", "asked", "answered", "coverage", "sources", "dropped"),
    *(
        *column_names(STATISTICS),
        *(f"{name}_{end}" for name in ("weighted_f1", "kappa") for end in ("least", "most")),
    ),
    *("leniency_items", *column_names(OF_ORDER), "order_items", "lead_p"),
    *(*(f"alt_test_{name}" for name in OF_TEST), "alt_test_passed", "undefined", "signature"),
)
ADDED = "metal.statistics"


def added_statistics() -> dict[str, Statistic]:
    """The statistics that other packages offer under `metal.statistics`, by name.

    Raises UsageError if one of them has the name of one of COLUMNS.
    """
    for name, point in plugins(ADDED).items():
        if name in COLUMNS:
            raise UsageError(
                f"the statistic {point.value} has the name of METAL's own {name!r}; rename its"
                " entry point"
            )
    return {name: load_plugin(ADDED, "statistic", name) for name in plugins(ADDED)}


def epsilon_for(cell: AuditCell) -> float:
    """The price of a person (epsilon): the setting, else the value for the group of most people
    (experts 0.2, crowd 0.1, others 0.15).
    """
    if cell.settings.epsilon is not None:
        return cell.settings.epsilon
    common = Counter(cell.groups[person] for person in cell.people).most_common(1)
    return EPSILON.get(common[0][0] if common else "", EPSILON["skilled"])


def _test(cell: AuditCell, judge: str) -> tuple[AlternativeAnnotatorTest | None, str]:
    """The alternative annotator test; or None and the reason why it cannot be run."""
    codes = cell.by_judge(judge)
    try:
        test = alternative_annotator_test(
            np.where(cell.by_people >= 0, cell.values[cell.by_people], np.nan),
            np.where(codes >= 0, cell.values[codes], np.nan),
            epsilon=epsilon_for(cell),
            closeness="distance" if cell.ordered else "agreement",
            wilcoxon=cell.settings.wilcoxon,
        )
    except Undefined as error:
        return None, str(error)
    return test, ""


def judge_row(judged: JudgedItems, beside: Standing) -> dict[str, Any]:
    """One row of the table of judges (COLUMNS and what was added, without the signature).

    beside: the judge compared with people, as in its verdict. The column lead_p has the one-sided
    p-value for lead_over_majority above 0.
    """
    cell, judge = judged.cell, judged.judge
    statistics = {**STATISTICS, **added_statistics()}
    figures = {name: statistic.figure(judged) for name, statistic in statistics.items()}
    order = order_figures(beside)
    test, test_reason = _test(cell, judge)
    p = judged.drawn.p_value(judged.lead)
    lead_p = 1 - p / 2
    if judged.drawn.n and judged.lead.observed > 0:
        lead_p = p / 2
    without_one = [
        margins_of(truth, cell.by_judge(judge), cell.levels) for truth in cell.truth_without_one
    ]
    asked, answered = judged.drawn.n, int((judged.answers >= 0).sum())
    reasons = [undefined_note({**figures, **order})]
    if test_reason:
        reasons.append(f"alt_test: {test_reason}")
    passed = {True: "yes", False: "no", None: ""}
    return {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": judge,
        "asked": asked,
        "answered": answered,
        "coverage": answered / asked if asked else float("nan"),
        "sources": judged.drawn.n_sources,
        "dropped": dropped_note(cell.dropped(judge)),
        **columns(figures),
        **range_columns("weighted_f1", map(weighted_f1, without_one)),
        **range_columns("kappa", map(cohen_kappa, without_one)),
        "leniency_items": figures["leniency"].n,
        **columns(order),
        "order_items": beside.items,
        "lead_p": lead_p,
        **{f"alt_test_{name}": getattr(test, name, float("nan")) for name in OF_TEST},
        "alt_test_passed": passed[getattr(test, "passed", None)],
        "undefined": "; ".join(filter(None, reasons)),
    }
