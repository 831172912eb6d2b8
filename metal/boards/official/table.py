"""The table of a shared task: a dataset and a layout in, tables out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import nearly_tied
from metal.boards.official.layout import Layout
from metal.boards.official.scores import LanguageScores, gold_scores, language_scores
from metal.boards.official.tasks import Scores, TaskFigures, task_figures, task_values, tasks_of
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.languages import check_languages
from metal.data.people import judges_in, people_in
from metal.data.progress import Progress, followed
from metal.data.text import first_few, plural
from metal.errors import UsageError, check_known
from metal.stats.perm_both import averaged_leads, cluster_ranks, p_of_leads

RANKING = ("rank", "rater", "kind", "baseline", "average", "average_rank", "tasks", "undefined")
TASKS = (
    *(
        "task",
        "languages",
        "criterion",
        "statistic",
        "level",
        "by",
        "weight",
        "rater",
        "rank",
        "value",
    ),
    *("tie_epsilon", "items", "groups", "undefined"),
)
COMPARISONS = ("task", "first", "second", "lead", "p", "p_williams")
EVERY = "*"  # as `gold`: every criterion that people scored
AVERAGE = 0  # the task that stands for the average in `comparisons`


@dataclass(frozen=True)
class TableChoices:
    """The options of a table.

    gold: a criterion to use instead of the layout's. raters: further raters in the table, or all of
    its raters if the layout names none. exact: whether floats are compared as they are.
    """

    layout: Layout
    gold: str = ""
    languages: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    exact: bool = False
    permutations: int = 1000
    seed: int = 0


def official_table(dataset: Dataset, choices: TableChoices, progress: Progress) -> Analysed:
    """The ranking by average, each task's figures, every two raters compared, and notes.

    Raises UsageError if there is nothing to compare, UnknownName for names that do not occur.
    """
    layout = choices.layout
    languages, notes = _languages(dataset, choices)
    raters, more = _raters(dataset, choices)
    criteria = _criteria(dataset, choices, languages)
    scores = _scores(dataset, layout, criteria, raters)
    exact = choices.exact or layout.exact
    notes += [*more, *_about_scores(scores)]
    used = scores if exact else {key: each.rounded() for key, each in scores.items()}
    names = list(dict.fromkeys(name for _, name in criteria))
    figures = [
        task_figures(task, used, choices.seed, choices.permutations)
        for task in followed(tasks_of(layout, languages, names), progress)
    ]
    if not any(each.values for each in figures):
        reasons = [reason for each in figures for reason in each.undefined.values()]
        raise UsageError(f"layout {layout.name}: no rater has a value; {first_few(reasons, 1)}")
    notes += [*_about_rounding(scores, figures, choices, exact), *_about_common(figures)]
    notes += _about_raters(figures, raters)
    if layout.remark:
        notes.insert(0, f"{layout.name}: {layout.remark}")
    averages, ranks, compared = _averages(figures)
    rows = list(chain.from_iterable(map(_task_rows, figures)))
    compared += chain.from_iterable(map(_comparisons, figures))
    tasks = pd.DataFrame(rows, columns=[*TASKS])
    tables = {
        "ranking": _ranking(dataset, layout, figures, raters, averages, ranks),
        "tasks": tasks.assign(rank=tasks["rank"].astype("Int64")),
        "comparisons": pd.DataFrame(compared, columns=[*COMPARISONS]),
    }
    return Analysed(tables, tuple(notes))


def _languages(dataset: Dataset, choices: TableChoices) -> tuple[list[str], list[str]]:
    """The languages of the table, in string order, and notes."""
    check_languages(choices.languages, dataset.languages)
    layout = choices.layout
    if choices.languages:
        return sorted(set(choices.languages)), []
    own = [language for language in dataset.languages if language in layout.languages]
    if not own:
        note = f"{layout.name} is for other languages; its tasks are applied to all of the data"
        return list(dataset.languages), [note] if layout.languages else []
    notes = []
    if lacking := sorted(set(layout.languages) - set(own)):
        notes.append(f"{layout.name} also has {first_few(lacking, 16)}, which are not in the data")
    if others := sorted(set(dataset.languages) - set(own)):
        notes.append(f"not in {layout.name} and left out: {first_few(others)} (`languages`)")
    return own, notes


def _raters(dataset: Dataset, choices: TableChoices) -> tuple[list[str], list[str]]:
    """The raters of the table, and notes."""
    judges = judges_in(dataset.raters)
    check_known("rater", choices.raters, judges)
    if not judges:
        raise UsageError(
            f"dataset {dataset.card.name}: no judge or metric to compare; `metal.leaderboard(...)`"
            " ranks generators by people's ratings, `ratings` adds a run of judges or metrics"
        )
    if not choices.layout.raters:
        return [*choices.raters] or judges, []
    called = {name: _called(dataset, name) for name in judges}
    own = [name for name in judges if called[name] in choices.layout.raters]
    if not own and not choices.raters:
        note = f"none of {choices.layout.name}'s raters is in the data: all raters are ranked"
        return judges, [note]
    kept = [name for name in judges if name in own or name in choices.raters]
    return kept, [*_about_lists(choices.layout, called, kept)]


def _about_lists(layout: Layout, called: Mapping[str, str], kept: Sequence[str]) -> Iterator[str]:
    """Notes on raters of the data that the table lacks, and on raters of the layout's list that the
    data lack.
    """
    if left_out := [name for name in called if name not in kept]:
        yield (
            f"{plural(len(left_out), 'rater')} of the data not in {layout.name}'s list, and left"
            f" out: {first_few(left_out, 8)}; `raters` adds some"
        )
    if missing := sorted(set(layout.raters) - set(called.values())):
        yield f"{layout.name} also has {first_few(missing, 8)}"


def _called(dataset: Dataset, rater: str) -> str:
    """The name of a metric without its references."""
    return str(dataset.raters[rater].about.get("metric") or rater)


def _criteria(
    dataset: Dataset, choices: TableChoices, languages: Sequence[str]
) -> dict[tuple[str, str], str]:
    """The criterion of people's scores, by language and by the name that tasks use for it. The name
    is empty if each language has its own criterion.
    """
    layout, scored = choices.layout, _scored_by_people(dataset)
    own = {language: layout.language(language).gold for language in languages}
    wanted = (choices.gold,) if choices.gold else layout.gold
    if EVERY in wanted:
        wanted = tuple(scored)
    criteria = {(language, name): name for name in wanted for language in languages}
    if len(wanted) == 1:
        criteria = {
            (language, ""): choices.gold or own[language] or wanted[0] for language in languages
        }
    check_known("criterion", [choices.gold] * bool(choices.gold), scored)
    for name in criteria.values():
        if scored and name not in scored:
            raise UsageError(
                f"layout {layout.name} compares with people's scores on {name!r}, but these data"
                f" have them on {first_few(scored)}. Compare with those: `gold={scored[0]!r}`"
            )
    return criteria


def _scored_by_people(dataset: Dataset) -> list[str]:
    """The criteria on which people gave scores, in their declared order."""
    people = people_in(dataset.raters)
    own = dataset.ratings[dataset.ratings["rater"].isin(people)]
    rated = {*own["criterion"].astype(str).unique()}
    return [name for name in dataset.criteria if name in rated]


def _scores(
    dataset: Dataset,
    layout: Layout,
    criteria: Mapping[tuple[str, str], str],
    raters: Sequence[str],
) -> dict[tuple[str, str], LanguageScores]:
    """The scores by language and criterion."""
    gold = {name: gold_scores(dataset, name, raters) for name in dict.fromkeys(criteria.values())}
    return {
        (language, key): language_scores(dataset, layout, language, gold[name])
        for (language, key), name in criteria.items()
    }


def _about_scores(scores: Scores) -> list[str]:
    """Notes on raters whose generator scores are means although others gave such scores."""
    notes = []
    for (language, _), each in scores.items():
        own = [name for name, mean in zip(each.raters, each.of_means, strict=True) if not mean]
        means = [name for name in each.raters if name not in own]
        if own and means:
            note = "no scores of generators; their outputs' means are taken"
            notes.append(f"{language}: {first_few(means)}: {note}")
    return list(dict.fromkeys(notes))


def _about_rounding(
    scores: Scores,
    figures: Sequence[TaskFigures],
    choices: TableChoices,
    exact: bool,
) -> list[str]:
    """Notes on figures that change if people's scores that differ only in their last digits count
    as equal.
    """
    notes = []
    for (language, criterion), each in scores.items():
        columns = np.broadcast_to(np.arange(each.gold.shape[1]), each.gold.shape)
        apart = nearly_tied(each.gold.ravel(), columns.ravel())
        if not apart:
            continue
        other = {(language, criterion): each.rounded() if exact else each}
        change = _change(figures, other, choices.seed)
        case = f"{language} {criterion}".strip()
        sentence = (
            f"{case}: {plural(apart, 'pair')} of people's scores of one source differ only by"
            " rounding, like -25.2 and -25.200000000000003."
        )
        if exact:
            sentence += " WMT compares them exactly, so they are not tied; if they were rounded,"
        else:
            sentence += " They count as tied; if they were compared exactly (`exact`),"
        notes.append(f"{sentence} values would change by up to {change:.2g}")
    return notes


def _change(figures: Sequence[TaskFigures], other: Scores, seed: int) -> float:
    """The largest change of a value if a language has these other scores."""
    changes = [0.0]
    for own in figures:
        keys = {(language, own.task.criterion) for language in own.task.languages}
        if own.task.rule.level == "outputs" and keys <= set(other):
            values = task_values(own.task, other, seed).values
            changes += [abs(value - values[name]) for name, value in own.values.items()]
    return max(changes)


def _about_common(figures: Sequence[TaskFigures]) -> list[str]:
    """Notes on what is left out because at least one rater lacks it."""
    notes = []
    for each in figures:
        if each.left_out:
            what = plural(each.items + each.left_out, each.task.rule.level[:-1])
            case = first_few([*each.task.languages, *filter(None, [each.task.criterion])])
            note = f"{each.left_out:,} of {what} left out, because not every rater scored them"
            notes.append(f"{case}: {note}")
    return list(dict.fromkeys(notes))


def _about_raters(figures: Sequence[TaskFigures], raters: Sequence[str]) -> list[str]:
    """Notes on raters without an average, with the reason."""
    reasons: dict[str, list[str]] = {}
    for name in raters:
        reason = _why_no_average(figures, name)
        if reason:
            reasons.setdefault(reason, []).append(name)
    return [f"no average: {first_few(names)} ({reason})" for reason, names in reasons.items()]


def _why_no_average(figures: Sequence[TaskFigures], rater: str) -> str:
    for each in figures:
        if rater not in each.values:
            lacking = f"no scores in {first_few(each.task.languages)}"
            return each.undefined.get(rater) or each.barred.get(rater) or lacking
    return ""


def _averages(
    figures: Sequence[TaskFigures],
) -> tuple[dict[str, float], dict[str, int], list[dict[str, Any]]]:
    """Average and rank of the raters that have a value in every task, and the rows that compare
    them.
    """
    averages: dict[str, float] = {}
    for name in figures[0].values:
        if not _why_no_average(figures, name):
            averages[name] = sum(each.task.weight * each.share(name) for each in figures)
    order = sorted(averages, key=lambda name: (-averages[name], name))
    weights = [each.task.weight / (1 - each.lowest) for each in figures]
    p = np.full((len(order), len(order)), np.nan)
    rows = []
    for i, j in combinations(range(len(order)), 2):
        first, second = order[i], order[j]
        leads = averaged_leads([each.lead(first, second)[None] for each in figures], weights)
        p[i, j] = p_of_leads(leads)[0]
        rows.append(
            {
                "task": AVERAGE,
                "first": first,
                "second": second,
                "lead": averages[first] - averages[second],
                "p": p[i, j],
                "p_williams": np.nan,
            }
        )
    return averages, dict(zip(order, cluster_ranks(p), strict=True)), rows


def _ranks(figures: TaskFigures) -> dict[str, int]:
    """The rank of each rater in a task, which is the rank of its cluster."""
    order = figures.order
    p = np.full((len(order), len(order)), np.nan)
    for i, j in combinations(range(len(order)), 2):
        p[i, j] = figures.p(order[i], order[j])
    return dict(zip(order, cluster_ranks(p), strict=True))


def _ranking(
    dataset: Dataset,
    layout: Layout,
    figures: Sequence[TaskFigures],
    raters: Sequence[str],
    averages: Mapping[str, float],
    ranks: Mapping[str, int],
) -> pd.DataFrame:
    """A row for each rater, the highest average first; raters without an average come last."""
    in_tasks = [_ranks(each) for each in figures]
    rows: list[dict[str, Any]] = []
    for name in raters:
        mean_rank = sum(
            each.task.weight * of.get(name, np.nan)
            for each, of in zip(figures, in_tasks, strict=True)
        )
        rows.append(
            {
                "rank": ranks.get(name),
                "rater": name,
                "kind": dataset.raters[name].kind,
                "baseline": _called(dataset, name) in layout.baselines,
                "average": averages.get(name, np.nan),
                "average_rank": mean_rank,
                "tasks": sum(name in each.values for each in figures),
                "undefined": _undefined("average", _why_no_average(figures, name)),
            }
        )
    rows.sort(key=lambda row: (row["rank"] is None, -row["average"], row["rater"]))
    table = pd.DataFrame(rows, columns=[*RANKING])
    return table.assign(rank=table["rank"].astype("Int64"))


def _undefined(figure: str, reason: str) -> str:
    return f"{figure}: {reason}" if reason else ""


def _task_rows(figures: TaskFigures) -> Iterator[dict[str, Any]]:
    """A row for each rater of a task, the best first."""
    task, ranks = figures.task, _ranks(figures)
    for name in [*ranks, *sorted(figures.undefined)]:
        yield {
            "task": task.number,
            "languages": " ".join(task.languages),
            "criterion": task.criterion,
            "statistic": task.rule.statistic,
            "level": task.rule.level,
            "by": task.rule.by,
            "weight": task.weight,
            "rater": name,
            "rank": ranks.get(name),
            "value": figures.values.get(name, np.nan),
            "tie_epsilon": figures.epsilon.get(name, np.nan),
            "items": figures.items,
            "groups": figures.groups,
            "undefined": _undefined("value", figures.undefined.get(name, "")),
        }


def _comparisons(figures: TaskFigures) -> Iterator[dict[str, Any]]:
    """Every two raters of a task, the better first."""
    for first, second in figures.leads:
        yield {
            "task": figures.task.number,
            "first": first,
            "second": second,
            "lead": figures.values[first] - figures.values[second],
            "p": figures.p(first, second),
            "p_williams": figures.williams.get((first, second), np.nan),
        }
