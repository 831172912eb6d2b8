"""A cell of the audit: all ratings by people and judges on one criterion in one language."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import Any

import numpy as np

from metal.auditing.alternatives import Alternatives, with_alternatives
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.languages import check_languages
from metal.data.people import judges_in, people_named, who_saw, without
from metal.data.progress import counted_as
from metal.data.ratings import ALSO, NOT_ASKED, UNANSWERED, CodeMatrix
from metal.data.records import Criterion, Level
from metal.errors import UsageError, check_known
from metal.stats.aggregate import MODELS, NOBODY, TIE, aggregate, agreement_case
from metal.stats.answers import answers_of_matrix
from metal.stats.dawid_skene import DawidSkene, dawid_skene
from metal.stats.mace import Mace, mace
from metal.stats.patterns import Codes, Numbers
from metal.stats.skill import standardised

MIN_PANELS = 30  # items with two people, for people to be compared with each other
MOST_LEFT_OUT = 20  # people who are left out in turn; of more, one hardly matters
PANEL = 3  # METAL's panel; a larger one does not raise the number of ratings an item needs


def worst_level(criterion: Criterion, named: str) -> Level | None:
    """The level at the bad end, which a judge must find; None if the criterion has none.

    Of two nominal levels such as Absent and Present, the second is the worst if lower is better. If
    higher is better, no level is the worst, because `higher` is also the default of a criterion
    without a direction.

    Args:
        criterion: The criterion that was asked about.
        named: A nominal level that the user calls the worst; "" for none.
    """
    levels, lower_is_better = criterion.scale.levels, criterion.direction == "lower"
    if not levels:
        return None
    if criterion.scale.measure != "nominal":
        return levels[-1] if lower_is_better else levels[0]
    by_name = next((level for level in levels if level.label == named), None)
    if by_name is None and len(levels) == 2 and lower_is_better:
        return max(levels, key=lambda level: level.value)
    return by_name


@dataclass(frozen=True)
class AuditCell:
    """A language and criterion. Arrays have one row for each output that anybody rated.

    rows: the positions of the cell's ratings in the dataset's table. saw: for each judge whose
    answers people saw, who these people are (`metal.data.people.who_saw`).
    """

    language: str
    criterion: Criterion
    matrix: CodeMatrix
    rows: Codes
    people: tuple[str, ...]
    judges: tuple[str, ...]
    groups: Mapping[str, str]  # the group of each person
    settings: AuditSettings
    alternatives: Alternatives | None = None  # not yet chosen from for the judge of this cell
    saw: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """How many classes the scale has."""
        return len(self.criterion.scale.levels)

    @property
    def ordered(self) -> bool:
        """Whether the scale has an order, so that it has a middle and distances."""
        return self.criterion.scale.measure != "nominal"

    @cached_property
    def shared(self) -> dict[Any, Any]:
        """A cache of results that the figures of several judges share."""
        return {}

    @cached_property
    def values(self) -> Numbers:
        """(levels,) the value of each class."""
        return self.matrix.values

    @property
    def continuous(self) -> bool:
        """Whether the criterion has scores and no classes."""
        return not self.criterion.scale.levels

    @property
    def by_scores(self) -> bool:
        """Whether verdicts use scores on a line rather than classes."""
        return self.continuous or (self.settings.standardise and self.ordered)

    def scores(self, raters: Sequence[str]) -> Numbers:
        """(items, raters) scores, NaN without a score; with the setting `standardise`, each rater's
        scores have mean 0 and spread 1.
        """
        scores = self.values_of(self.matrix.of(raters))
        return standardised(scores) if self.settings.standardise else scores

    def values_of(self, codes: Codes) -> Numbers:
        """The values of class codes; NaN for codes that are not a class."""
        return np.asarray(np.where(codes >= 0, np.append(self.values, np.nan)[codes], np.nan))

    @property
    def bad_end(self) -> int | None:
        """The position of the worst class; None if the criterion has none."""
        worst = worst_level(self.criterion, self.settings.bad)
        return None if worst is None else self.criterion.scale.levels.index(worst)

    @cached_property
    def by_people(self) -> Codes:
        """(items, people) the class codes of people's answers."""
        return np.asarray(np.maximum(self.matrix.of(self.people), UNANSWERED))

    def by_judge(self, judge: str) -> Codes:
        """(items,) the class codes of one judge's answers."""
        return self.matrix.of([judge])[:, 0]

    def aided(self, judges: Collection[str]) -> tuple[str, ...]:
        """The people who saw the answers of one of these judges before they rated."""
        seen = set().union(*(self.saw.get(judge, ()) for judge in judges))
        return tuple(person for person in self.people if person in seen)

    def unaided(self, *judges: str) -> AuditCell:
        """The cell without people who saw an answer of these judges before they rated.

        A judge may be compared only with the people who did not see its answers.
        """
        aided = self.aided(judges)
        if not aided:
            return self
        key = "unaided", aided
        if key not in self.shared:
            self.shared[key] = replace(self, people=tuple(without(self.people, aided)))
        cell: AuditCell = self.shared[key]
        return cell

    def seen_by(self, judge: str) -> AuditCell:
        """The cell as it would be if this were its only judge.

        People who saw the judge's answers are left out. If the scale was derived from the answers,
        levels that only other judges gave are left out, too.
        """
        if self.aided([judge]):
            return self.unaided(judge).seen_by(judge)
        if self.alternatives is not None:
            matrix = self.alternatives.chosen(self.matrix, (*self.people, judge))
            return replace(self, matrix=matrix, alternatives=None).seen_by(judge)
        levels = np.array([level.judges_only for level in self.criterion.scale.levels], dtype=bool)
        if not levels.any():
            return self
        key = "seen by", judge
        if key not in self.shared:
            own = self.matrix.of([*self.people, judge])
            kept = np.flatnonzero(~levels | np.isin(np.arange(len(levels)), own))
            code_of = np.full(len(levels) + 2, UNANSWERED, dtype=self.matrix.codes.dtype)
            code_of[kept], code_of[NOT_ASKED] = np.arange(len(kept)), NOT_ASKED
            scale = self.criterion.scale
            scale = replace(scale, levels=tuple(scale.levels[code] for code in kept))
            matrix = replace(
                self.matrix, codes=code_of[self.matrix.codes], values=self.matrix.values[kept]
            )
            self.shared[key] = replace(
                self, criterion=replace(self.criterion, scale=scale), matrix=matrix
            )
        cell: AuditCell = self.shared[key]
        return cell

    @cached_property
    def ratings_per_item(self) -> Codes:
        """(items,) how many people gave an answer."""
        return np.asarray((self.by_people >= 0).sum(axis=1))

    @cached_property
    def usual_panel(self) -> int:
        """The most common number of people per item, the larger on a tie; 0 without people."""
        rated = self.ratings_per_item[self.ratings_per_item > 0]
        if not len(rated):
            return 0
        frequency = np.bincount(rated)
        return int(np.flatnonzero(frequency == frequency.max())[-1])

    @cached_property
    def min_raters(self) -> int:
        """The number of people that an item needs to count in this cell."""
        return self.settings.min_raters or max(
            1 if self.one_person else 2, min(PANEL, self.usual_panel)
        )

    @property
    def one_person(self) -> bool:
        """Whether nearly all items have one person, so that the judge can only be compared with
        that person's label.
        """
        return self.usual_panel < 2 and int((self.ratings_per_item >= 2).sum()) < MIN_PANELS

    @cached_property
    def complete(self) -> Codes:
        """(items,) whether enough people answered."""
        return np.asarray(self.ratings_per_item >= self.min_raters)

    @cached_property
    def truth(self) -> Codes:
        """(items,) the people's aggregate class.

        It is TIE or NOBODY if there is none: NOBODY for incomplete items and for scores without
        classes. If people are split over a pair, neither output is better, and the class is `tie`.

        A model (Dawid-Skene, MACE) is fitted once, to all of the people's ratings in the cell,
        including those of incomplete items, because they tell something about the raters. Resamples
        keep the label that an item has here.
        """
        if self.continuous:
            return np.full(len(self.complete), NOBODY)
        rule = self.settings.aggregate
        labels = (
            self.model.labels
            if self.model
            else aggregate(self.by_people, self.values, rule, ordered=self.ordered)
        )
        tie = self.criterion.scale.tie
        if tie is not None:
            labels = np.where(labels == TIE, tie, labels)
        return np.where(self.complete, labels, NOBODY)

    @cached_property
    def model(self) -> DawidSkene | Mace | None:
        """The fitted model if a model gives the aggregate class; otherwise None."""
        if self.settings.aggregate not in MODELS:
            return None
        answers = answers_of_matrix(self.by_people, self.levels)
        return dawid_skene(answers) if self.settings.aggregate == "dawid-skene" else mace(answers)

    @property
    def truth_without_one(self) -> list[Codes]:
        """`truth` with each person left out in turn; empty with fewer than three people, or more
        than MOST_LEFT_OUT.
        """
        if "truth_without_one" not in self.shared:
            settings = replace(self.settings, min_raters=max(self.settings.min_raters - 1, 0))
            each = self.people if 3 <= len(self.people) <= MOST_LEFT_OUT else ()
            rest = (tuple(name for name in self.people if name != left_out) for left_out in each)
            self.shared["truth_without_one"] = [
                replace(self, people=people, settings=settings).truth for people in rest
            ]
        truths: list[Codes] = self.shared["truth_without_one"]
        return truths

    @cached_property
    def rated(self) -> Codes:
        """The sources over which judges are resampled: one for each item that people rated.

        The cells of a language usually have the same number of sources; they then share their
        draws.
        """
        return np.asarray(self.matrix.sources[self.ratings_per_item > 0])

    @cached_property
    def case(self) -> Codes:
        """(items,) the agreement case of complete items; -1 for incomplete ones."""
        return np.where(self.complete, agreement_case(self.by_people, self.levels), -1)

    def seats_of(self, people: Collection[str]) -> list[int]:
        """The positions of some people among the people of the cell."""
        return [seat for seat, person in enumerate(self.people) if person in people]

    def judged(self, judge: str) -> Codes:
        """The positions of the items that the judge was asked about and that have an aggregate
        class.
        """
        return np.flatnonzero((self.truth >= 0) & (self.by_judge(judge) != NOT_ASKED))

    def dropped(self, judge: str | None = None) -> dict[str, int]:
        """How many items that people rated do not count, by reason.

        For a judge, the items it was not asked about are counted too.
        """
        rated = self.ratings_per_item > 0
        counts = {
            "incomplete": int((rated & ~self.complete).sum()),
            "tied": int((self.truth == TIE).sum()),
        }
        if judge is not None:
            asked = self.by_judge(judge) != NOT_ASKED
            counts["not asked"] = int(((self.truth >= 0) & ~asked).sum())
        return {reason: count for reason, count in counts.items() if count}


def cells(
    dataset: Dataset, settings: AuditSettings, *, continuous: bool = False
) -> Iterator[AuditCell]:
    """The cells of a dataset: criteria in their declared order, then languages in string order.

    continuous: include criteria without levels, whose scores are not classes. Raises UnknownName
    for a judge, criterion or language that does not occur, and UsageError if no rater is left.
    """
    _check_names(dataset, settings)
    people, judges = people_named(dataset, settings.reference), judges_of(dataset, settings)
    groups = {name: dataset.raters[name].group for name in people}
    table = dataset.ratings.filter(items=["source", "output", "rater", "score", ALSO])
    saw = who_saw(dataset.raters, people)
    grouped = _rows_of_cells(dataset, {*people, *judges})
    criteria = [
        name
        for name, criterion in dataset.criteria.items()
        if (continuous or criterion.scale.levels)
        and name in (settings.criteria or dataset.criteria)
    ]
    cases = product(criteria, settings.languages or dataset.languages)
    for name, language in counted_as([case for case in cases if case in grouped], "cells"):
        criterion, rows = dataset.criteria[name], grouped[name, language]
        matrix, alternatives = with_alternatives(table.iloc[rows], criterion, people)
        yield AuditCell(
            language,
            criterion,
            matrix,
            rows,
            tuple(name for name in people if name in matrix.raters),
            tuple(name for name in judges if name in matrix.raters),
            groups,
            settings,
            alternatives,
            saw,
        )


def _check_names(dataset: Dataset, settings: AuditSettings) -> None:
    """Raise UnknownName for a judge, criterion, language or label that does not occur."""
    judges = sorted(judges_in(dataset.raters))
    check_known("judge", settings.judges, judges)
    check_known("criterion", settings.criteria, dataset.criteria)
    check_languages(settings.languages, dataset.languages)
    _check_bad(dataset, settings)


def _check_bad(dataset: Dataset, settings: AuditSettings) -> None:
    """Raise UnknownName or UsageError for a label at the bad end that no nominal criterion has."""
    wanted = settings.criteria or dataset.criteria
    scales = [dataset.criteria[name].scale for name in wanted]
    ordered = chain.from_iterable(scale.levels for scale in scales if scale.measure != "nominal")
    nominal = chain.from_iterable(scale.levels for scale in scales if scale.measure == "nominal")
    labels = [level.label for level in nominal]
    if settings.bad not in labels and settings.bad in {level.label for level in ordered}:
        raise UsageError(
            f"`bad`: the levels of {settings.bad!r} are ordered, so the bad end is the lowest"
            " level, or the highest if lower is better; leave out `bad`, which is for labels"
            " without an order"
        )
    check_known("label", filter(None, [settings.bad]), labels)


def _rows_of_cells(dataset: Dataset, raters: Collection[str]) -> dict[tuple[str, str], Codes]:
    """The positions of these raters' ratings in the table, for each criterion and language, in the
    table's order.
    """
    rater, criterion, language = (
        dataset.ratings[name].cat for name in ("rater", "criterion", "language")
    )
    wanted = rater.categories.isin(list(raters))
    rows = (
        np.flatnonzero(wanted[rater.codes.to_numpy()])
        if len(wanted)
        else np.zeros(0, dtype=np.int64)
    )
    count = max(len(language.categories), 1)
    cell = (criterion.codes.to_numpy().astype(np.int32) * count + language.codes.to_numpy())[rows]
    rows = rows[np.argsort(cell, kind="stable")].astype(np.int32)
    ends = np.cumsum(np.bincount(cell, minlength=len(criterion.categories) * count))
    return {
        (
            str(criterion.categories[index // count]),
            str(language.categories[index % count]),
        ): of_cell
        for index, of_cell in enumerate(np.split(rows, ends[:-1]))
        if len(of_cell)
    }


def repeats_of(dataset: Dataset, judge: str) -> tuple[str, ...]:
    """The raters that hold this judge's answers when it was asked again."""
    return tuple(
        name for name, rater in dataset.raters.items() if rater.about.get("repeats") == judge
    )


def judges_of(dataset: Dataset, settings: AuditSettings) -> tuple[str, ...]:
    """The judges to audit: LLM judges first, then metrics, then baselines, each in string order.

    The repeated answers of a judge do not count as another judge, unless they are named.
    """
    order = {"llm": 0, "metric": 1, "baseline": 2}
    judges = [rater for rater in dataset.raters.values() if rater.kind in order]
    if settings.judges:
        judges = [rater for rater in judges if rater.rater in settings.judges]
    else:
        judges = [rater for rater in judges if rater.about.get("repeats") not in dataset.raters]
    return tuple(
        judge.rater for judge in sorted(judges, key=lambda judge: (order[judge.kind], judge.rater))
    )
