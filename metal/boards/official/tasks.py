"""The tasks of a table: each rater's value, and each rater's lead over every other rater when their
scores are exchanged.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np

from metal.boards.official.layout import STATISTICS, Layout, LayoutTask
from metal.boards.official.scores import LanguageScores
from metal.data.text import plural
from metal.errors import Undefined
from metal.stats.grouped import (
    ItemGroups,
    kendall_by_group,
    kendall_c_by_group,
    kendall_like,
    pairwise_accuracy_by_group,
    pairwise_difference_pearson,
    pearson_by_group,
    spearman_by_group,
    tied_threshold,
)
from metal.stats.pairwise import soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.perm_both import (
    leads_by_outcome,
    leads_by_score,
    p_of_leads,
    soft_accuracy_leads,
    williams,
)
from metal.stats.permutation import flip_count, pearson_leads

# Draws of soft pairwise accuracy: three digits are equal from one seed to another.
SOFT_DRAWS = 10_000
BY_GROUP = {
    "pearson": pearson_by_group,
    "spearman": spearman_by_group,
    "kendall": kendall_by_group,
    "kendall-c": kendall_c_by_group,
    "pairwise-accuracy": pairwise_accuracy_by_group,
}
OVER_GROUPS: Mapping[str, Callable[[Numbers, Numbers, ItemGroups], Numbers]] = {
    "kendall-like": kendall_like,
    "pairwise-difference-pearson": pairwise_difference_pearson,
}
CONSTANT = "constant scores"
TIES, SOFT = "pairwise-accuracy-with-ties", "soft-pairwise-accuracy"


@dataclass(frozen=True)
class TableTask:
    """A task of a table. number: counts from 1. criterion: the criterion of people's scores, by
    language if each language has its own. languages: the languages that the task compares together.
    weight: its share of the average.
    common: whether only what every rater scored is compared.
    """

    number: int
    rule: LayoutTask
    criterion: str
    languages: tuple[str, ...]
    weight: float
    common: bool = False


@dataclass(frozen=True)
class TaskItems:
    """What a task compares, complete: gold (items,), scores (raters, items), group after group."""

    gold: Numbers
    raters: tuple[str, ...]
    scores: Numbers
    groups: ItemGroups
    table: tuple[Numbers, Numbers] | None = None  # (generators, sources), (raters, ...)
    left_out: int = 0


@dataclass(frozen=True)
class TaskFigures:
    """The figures of a task. values: rater -> value; undefined: rater -> why it has none. left_out:
    items that some rater lacks. epsilon: rater -> the largest difference that counts as a tie.
    leads: (first, second) -> (swaps,), the better first. barred: rater -> why it is not compared at
    all.
    """

    task: TableTask
    items: int
    groups: int
    values: Mapping[str, float]
    undefined: Mapping[str, str]
    left_out: int = 0
    epsilon: Mapping[str, float] = field(default_factory=dict)
    leads: Mapping[tuple[str, str], Numbers] = field(default_factory=dict)
    williams: Mapping[tuple[str, str], float] = field(default_factory=dict)
    barred: Mapping[str, str] = field(default_factory=dict)

    @property
    def order(self) -> list[str]:
        """The raters with a value, the best first; by name if they are equal."""
        return sorted(self.values, key=lambda name: (-self.values[name], name))

    @property
    def lowest(self) -> float:
        """The smallest value that the statistic can have; the largest is 1."""
        return STATISTICS[self.task.rule.statistic][1]

    def share(self, rater: str) -> float:
        """A value as a share of the statistic's range."""
        return (self.values[rater] - self.lowest) / (1 - self.lowest)

    def lead(self, first: str, second: str) -> Numbers:
        """(swaps,) how far the first leads the second."""
        if (first, second) in self.leads:
            return self.leads[first, second]
        return -self.leads[second, first]

    def p(self, first: str, second: str) -> float:
        """The one-sided p-value that the first rater agrees better with people than the second."""
        return float(p_of_leads(self.lead(first, second)[None])[0])


def tasks_of(
    layout: Layout, languages: Sequence[str], criteria: Sequence[str] = ("",)
) -> list[TableTask]:
    """The tasks of a table of some languages: first the tasks of all languages together, then those
    of each language, with each criterion in turn.

    >>> both = LayoutTask("pairwise-accuracy", "generators", together=True)
    >>> layout = Layout("mine", "Mine", ("mqm",), (LayoutTask("pearson", "outputs"), both))
    >>> [(task.languages, task.weight) for task in tasks_of(layout, ["en-de", "zh-en"])]
    [(('en-de', 'zh-en'), 0.5), (('en-de',), 0.25), (('zh-en',), 0.25)]
    """
    wanted: list[tuple[LayoutTask, str, tuple[str, ...]]] = []
    together = [rule for rule in layout.tasks if rule.together]
    apart = [rule for rule in layout.tasks if not rule.together]
    for criterion in criteria:
        wanted += [(rule, criterion, tuple(languages)) for rule in together]
        for language in languages:
            wanted += [(rule, criterion, (language,)) for rule in apart]
    total = sum(rule.weight * len(of) for rule, _, of in wanted)
    return [
        TableTask(number, rule, criterion, of, rule.weight * len(of) / total, layout.common)
        for number, (rule, criterion, of) in enumerate(wanted, 1)
    ]


Scores = Mapping[tuple[str, str], LanguageScores]  # by language and criterion


@dataclass(frozen=True)
class TaskValues:
    """What a task compares, and each rater's value. See `TaskFigures`."""

    items: TaskItems
    values: Mapping[str, float]
    undefined: Mapping[str, str]
    epsilon: Mapping[str, float]

    @property
    def order(self) -> list[str]:
        """The raters with a value, the best first; by name if they are equal."""
        return sorted(self.values, key=lambda name: (-self.values[name], name))


def task_values(task: TableTask, scores: Scores, seed: int) -> TaskValues:
    """Each rater's value, without tests."""
    parts = [scores[language, task.criterion] for language in task.languages]
    items, undefined = _items(task, parts)
    values: dict[str, float] = {}
    epsilon: dict[str, float] = {}
    for name, own in zip(items.raters, items.scores, strict=True):
        try:
            values[name], tied = _value(task, items, own, name, seed)
        except Undefined as error:
            undefined[name] = str(error)
            continue
        if tied is not None:
            epsilon[name] = tied
    return TaskValues(items, values, undefined, epsilon)


def task_figures(task: TableTask, scores: Scores, seed: int, permutations: int) -> TaskFigures:
    """The figures of a task. permutations: the number of permutations in each test of two
    raters.
    """
    valued = task_values(task, scores, seed)
    items, order = valued.items, valued.order
    rows = [items.raters.index(name) for name in order]
    table = (items.table[0], items.table[1][rows]) if items.table else None
    ordered = TaskItems(items.gold, tuple(order), items.scores[rows], items.groups, table)
    leads = np.zeros((0, 1))
    if len(order) > 1:
        rng = np.random.default_rng([seed, task.number])
        leads = _leads(task, ordered, valued.epsilon, rng, flip_count(permutations))
    return TaskFigures(
        task,
        len(items.gold),
        len(items.groups.starts),
        valued.values,
        valued.undefined,
        items.left_out,
        valued.epsilon,
        dict(zip(combinations(order, 2), leads, strict=True)),
        dict(_williams(task, ordered)),
        dict(ChainMap(*(dict(scores[each, task.criterion].barred) for each in task.languages))),
    )


def _items(task: TableTask, parts: Sequence[LanguageScores]) -> tuple[TaskItems, dict[str, str]]:
    """What a task compares, and the reason why some raters are left out."""
    raters = sorted({name for part in parts for name in part.raters})
    undefined: dict[str, str] = {}
    gold, group = list[Numbers](), list[Codes]()
    of_raters: dict[str, list[Numbers]] = {name: [] for name in raters}
    left_out = 0
    for number, part in enumerate(parts):
        own_gold, own_scores, own_group = _of_language(task, part)
        if task.common:
            answered = ~np.isnan(own_scores)
            shared = answered[answered.any(axis=1)].all(axis=0)
            left_out += int((~shared).sum())
            own_gold, own_group = own_gold[shared], own_group[shared]
            own_scores = own_scores[:, shared]
        gold.append(own_gold)
        group.append(own_group if len(parts) == 1 else np.full(len(own_gold), number))
        by_rater = dict(zip(part.raters, own_scores, strict=True))
        for name in raters:
            reason = _lacking(by_rater.get(name), task, part, name)
            if reason:
                undefined.setdefault(name, reason)
            else:
                of_raters[name].append(by_rater[name])
    complete = tuple(name for name in raters if name not in undefined)
    groups = ItemGroups.of(np.concatenate(group))
    together = np.array([np.concatenate(of_raters[name]) for name in complete])
    joined = groups.sorted(together.reshape(len(complete), len(groups.order)))
    table = parts[0].table(complete) if task.rule.statistic == SOFT else None
    items = TaskItems(
        groups.sorted(np.concatenate(gold)), complete, joined, groups, table, left_out
    )
    return items, undefined


def _lacking(scores: Numbers | None, task: TableTask, part: LanguageScores, rater: str) -> str:
    """Why a rater cannot be compared in a language; empty if it can."""
    if scores is None:
        return f"no scores in {part.language}"
    missing = int(np.isnan(scores).sum())
    if not missing:
        return ""
    if task.rule.statistic == SOFT:
        return _lacking_outputs(part, rater)
    return f"no score for {missing:,} of {plural(len(scores), task.rule.level[:-1])}"


def _lacking_outputs(part: LanguageScores, rater: str) -> str:
    """How many generators have outputs that people scored and a rater did not."""
    scored = ~np.isnan(part.gold)
    missing = scored & np.isnan(part.scores[part.raters.index(rater)])
    lacking = missing.any(axis=1)
    count = f"{int(lacking.sum()):,} of {plural(int(scored.any(axis=1).sum()), 'generator')}"
    which = "any output" if (missing == scored)[lacking].all() else "some outputs"
    return f"no score for {which} of {count}"


def _of_language(task: TableTask, part: LanguageScores) -> tuple[Numbers, Numbers, Codes]:
    """The gold scores (items,), the raters' (raters, items), and the group of each item."""
    if task.rule.level == "generators" and task.rule.statistic != SOFT:
        rated = ~np.isnan(part.gold_of_generators)
        gold, scores = part.gold_of_generators[rated], part.scores_of_generators[:, rated]
        return gold, scores, np.zeros(len(gold), dtype=np.int64)
    rated = ~np.isnan(part.gold)
    group_of = {
        "all": np.zeros((1, 1), dtype=np.int64),
        "source": np.arange(part.gold.shape[1])[None],
        "generator": np.arange(len(part.gold))[:, None],
        "document": part.document[None],
        "domain": part.domain[None],
    }
    group = np.broadcast_to(group_of[task.rule.by], part.gold.shape)[rated]
    return part.gold[rated], part.scores[:, rated], group


def _value(
    task: TableTask, items: TaskItems, own: Numbers, name: str, seed: int
) -> tuple[float, float | None]:
    """A rater's value, and the largest difference that counts as a tie. Raises Undefined."""
    statistic = task.rule.statistic
    if statistic == TIES:
        best = tied_threshold(items.gold, own, items.groups)
        return best.accuracy, best.epsilon
    if statistic == SOFT:
        people, tables = items.table or (items.gold, items.scores)
        rng = np.random.default_rng([seed, task.number])
        table = tables[items.raters.index(name)]
        return soft_pairwise_accuracy(people, table, rng, resamples=SOFT_DRAWS).accuracy, None
    value = float(_statistic(task, items)(own))
    if np.isnan(value):
        raise Undefined(CONSTANT if len(items.gold) > 1 else f"one {task.rule.level[:-1]}")
    return value, None


def _statistic(task: TableTask, items: TaskItems) -> Callable[[Numbers], Numbers]:
    """A function of (..., items) scores: a mean over groups, or over all pairs if languages are
    taken together.
    """
    if task.rule.statistic in OVER_GROUPS:
        return lambda sets: OVER_GROUPS[task.rule.statistic](items.gold, sets, items.groups)
    by_group = BY_GROUP[task.rule.statistic]
    sizes = items.groups.sizes
    weight = sizes * (sizes - 1) / 2 if task.rule.together else np.ones(len(sizes))

    def mean(sets: Numbers) -> Numbers:
        values = by_group(items.gold, sets, items.groups)
        defined = ~np.isnan(values)
        total = np.where(defined, values * weight, 0.0).sum(axis=-1)
        return np.asarray(ratio(total, (defined * weight).sum(axis=-1)))

    return mean


def _leads(
    task: TableTask,
    items: TaskItems,
    epsilon: Mapping[str, float],
    rng: np.random.Generator,
    swaps: int,
) -> Numbers:
    """(pairs, swaps) leads of every two raters, in the order of the items' raters."""
    rule = task.rule
    if rule.statistic == TIES:
        outcomes = [
            _outcomes(items, own, epsilon[name])
            for name, own in zip(items.raters, items.scores, strict=True)
        ]
        return leads_by_outcome(np.array(outcomes), rng, swaps)
    if rule.statistic == SOFT:
        people, tables = items.table or (items.gold, items.scores)
        shared = ~np.isnan(people).any(axis=0)
        return soft_accuracy_leads(people[:, shared], tables[:, :, shared], rng, swaps)
    if (rule.statistic, rule.level, rule.by) == ("pearson", "outputs", "all"):
        return pearson_leads(items.gold, items.scores, rng, resamples=swaps - 1)
    costly = rule.level == "outputs"
    return leads_by_score(_statistic(task, items), items.scores, rng, swaps, early=costly)


def _outcomes(items: TaskItems, own: Numbers, epsilon: float) -> Numbers:
    """(pairs,) how much each pair of outputs adds to a rater's accuracy."""
    first, second = items.groups.listed
    wanted, gaps = items.gold[first] - items.gold[second], own[first] - own[second]
    right = np.where(np.abs(gaps) > epsilon, wanted * gaps > 0, wanted == 0)
    sizes = items.groups.sizes
    weight = ratio(1.0, sizes * (sizes - 1) / 2 * (sizes > 1).sum())
    return np.asarray(right * weight[items.groups.which[first]])


def _williams(task: TableTask, items: TaskItems) -> Iterator[tuple[tuple[str, str], float]]:
    """Each pair of raters with the p-value of Williams' test, if the task is a single Pearson
    correlation.
    """
    if task.rule.statistic != "pearson" or len(items.groups.starts) != 1 or not items.raters:
        return
    together = np.vstack([items.gold, items.scores])
    r = np.atleast_2d(np.corrcoef(together))
    test = partial(williams, items=len(items.gold))
    for i, j in combinations(range(len(items.raters)), 2):
        p = test(r[0, i + 1], r[0, j + 1], r[i + 1, j + 1])
        yield (items.raters[i], items.raters[j]), p
