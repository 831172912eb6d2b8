"""The scores that a table's tasks compare, in one language: people's, and every other rater's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import CriterionScores, criterion_scores, without_rounding
from metal.boards.official.layout import Layout
from metal.boards.overrating import human_generators
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.data.generator_scores import of_whole
from metal.data.people import people_in
from metal.data.records import METRIC_SCORE
from metal.data.text import first_few, listed
from metal.errors import UsageError
from metal.stats.patterns import Codes, Flags, Numbers, ratio, sums_and_counts


@dataclass(frozen=True)
class LanguageScores:
    """Scores in one language, higher is better; NaN without a score.

    gold: (generators, sources), scores: (raters, generators, sources). gold_of_generators:
    (generators,), scores_of_generators: (raters, generators): as given, else the means of their
    outputs. of_means: (raters,) whether a rater's are such means. document, domain: (sources,)
    codes. barred: the other raters, each with the reason why it is not compared.
    """

    language: str
    generators: tuple[str, ...]
    raters: tuple[str, ...]
    gold: Numbers
    scores: Numbers
    gold_of_generators: Numbers
    scores_of_generators: Numbers
    of_means: Flags
    document: Codes
    domain: Codes
    barred: Mapping[str, str] = field(default_factory=dict)

    def table(self, raters: Sequence[str]) -> tuple[Numbers, Numbers]:
        """People's (generators, sources) and raters' (raters, generators, sources) scores, of
        generators that people scored.
        """
        rated = np.asarray(~np.isnan(self.gold).all(axis=1))
        rows = [self.raters.index(name) for name in raters]
        return self.gold[rated], self.scores[rows][:, rated]

    def rounded(self) -> LanguageScores:
        """The same scores without their last digits, so that scores that differ only by rounding
        become equal.
        """
        return replace(
            self,
            gold=without_rounding(self.gold),
            scores=np.array([*map(without_rounding, self.scores)]).reshape(self.scores.shape),
            gold_of_generators=without_rounding(self.gold_of_generators),
            scores_of_generators=np.array(
                [*map(without_rounding, self.scores_of_generators)]
            ).reshape(self.scores_of_generators.shape),
        )


@dataclass(frozen=True)
class GoldScores:
    """People's and raters' scores of the outputs of all languages on one criterion.

    means: (1 + raters, outputs), people first. of_generators: the scores of generators, with what
    they are on a scale where higher is better.
    """

    criterion: str
    raters: tuple[str, ...]
    means: Numbers
    of_generators: pd.DataFrame
    people: tuple[str, ...]


def gold_scores(dataset: Dataset, criterion: str, raters: Sequence[str]) -> GoldScores:
    """The scores on a criterion. Raises UsageError if people gave none.

    raters: the raters to compare. If a rater has no score on the criterion, its score for all
    criteria counts, as metrics have one.
    """
    people = people_in(dataset.raters)
    rows = {**dict.fromkeys(people, 0), **{name: row for row, name in enumerate(raters, 1)}}
    scores = criterion_scores(dataset, rows, len(raters) + 1)
    if criterion not in scores or not scores[criterion].counts[0].any():
        rated = [name for name, part in scores.items() if part.counts[0].any()]
        remedy = f"set `gold` to one of {first_few(rated)}" if rated else "people rated nothing"
        raise UsageError(f"people have no scores on {criterion!r} to compare with; {remedy}")
    means = scores[criterion].means
    if METRIC_SCORE.name in scores:
        of_all = scores[METRIC_SCORE.name].means
        means[1:] = np.where(np.isnan(means[1:]), of_all[1:], means[1:])
    return GoldScores(
        criterion,
        tuple(raters),
        means,
        _of_generators(dataset, criterion, scores),
        tuple(people),
    )


def _of_generators(
    dataset: Dataset, criterion: str, scores: Mapping[str, CriterionScores]
) -> pd.DataFrame:
    """The scores of whole generators, on the criterion and on that of metrics."""
    table = of_whole(dataset.generator_scores)
    own = table["criterion"].isin([criterion, METRIC_SCORE.name]).to_numpy()
    table = table[own].astype(dict.fromkeys(("language", "generator", "rater"), str))
    lower = [
        name
        for name in scores
        if name in dataset.criteria and dataset.criteria[name].direction == "lower"
    ]
    sign = np.where(table["criterion"].isin(lower), -1.0, 1.0)
    return table.assign(score=table["score"].to_numpy() * sign)


def language_scores(
    dataset: Dataset, layout: Layout, language: str, gold: GoldScores
) -> LanguageScores:
    """What is compared in a language: the generators that the layout compares and people scored,
    and the raters whose references it allows.
    """
    outputs = [
        (number, output)
        for number, output in enumerate(dataset.outputs.values())
        if output.language == language
    ]
    generators = _compared(dataset, layout, language, {each.generator for _, each in outputs})
    source_place: dict[str, int] = {}
    for _, output in outputs:
        source_place.setdefault(output.source, len(source_place))
    compared = [(number, each) for number, each in outputs if each.generator in generators]
    columns = np.array([number for number, _ in compared], dtype=np.int64)
    cells = np.array(
        [
            generators.index(each.generator) * len(source_place) + source_place[each.source]
            for _, each in compared
        ],
        dtype=np.int64,
    )
    barred = _barred(dataset, layout, language, gold.raters)
    allowed = np.array([name not in barred for name in gold.raters], dtype=bool)
    raters = tuple(compress(gold.raters, allowed))
    rows = gold.means[np.append(True, allowed)][:, columns]
    tables = _tables(rows, cells, (len(generators), len(source_place)))
    as_given = _given(gold, language, generators, raters)
    of_means = np.asarray(np.isnan(as_given).all(axis=1))
    of_generators = np.where(of_means[:, None], mean_of_last(tables), as_given)
    sources = [dataset.sources[source] for source in source_place]
    return LanguageScores(
        language,
        tuple(generators),
        raters,
        tables[0],
        tables[1:],
        of_generators[0],
        of_generators[1:],
        of_means[1:],
        np.unique([source.document for source in sources], return_inverse=True)[1],
        np.unique([source.domain for source in sources], return_inverse=True)[1],
        barred,
    )


def standard_reference(dataset: Dataset, layout: Layout, language: str) -> str:
    """The reference that metrics may use: the layout's, or else the dataset's; empty if metrics may
    use any.
    """
    declared: Any = dataset.extra.get("evalset", {})
    of_language = declared.get(language, {}) if isinstance(declared, dict) else {}
    own = of_language.get("standard_reference", "") if isinstance(of_language, dict) else ""
    return layout.language(language).reference or str(own)


def _compared(dataset: Dataset, layout: Layout, language: str, having: set[str]) -> list[str]:
    """The generators that are compared, in string order."""
    rules = layout.language(language)
    left_out = {standard_reference(dataset, layout, language), *rules.without}
    if not rules.people:
        left_out |= {*human_generators(dataset, BoardSettings())}
    return sorted(having - left_out)


def _barred(
    dataset: Dataset, layout: Layout, language: str, raters: Sequence[str]
) -> dict[str, str]:
    """The raters that use another reference than the standard one, each with the reason."""
    reference = standard_reference(dataset, layout, language)
    barred = {}
    for name in raters:
        used = dataset.raters[name].about.get("references", {})
        own = used.get(language, ()) if isinstance(used, dict) else ()
        others = sorted({*map(str, own)} - {reference})
        if reference and others:
            barred[name] = (
                f"it uses the reference {listed(others)}; in {language} the table has only metrics"
                f" that use {reference} or none"
            )
    return barred


def _tables(rows: Numbers, cells: Codes, shape: tuple[int, int]) -> Numbers:
    """(raters, generators, sources) means of scores (raters, outputs). cells: the place of each
    output in a table.
    """
    tables = np.empty((len(rows), *shape))
    for table, scores in zip(tables, rows, strict=True):
        scored = ~np.isnan(scores)
        table[:] = ratio(*sums_and_counts(cells[scored], scores[scored], *shape))
    return tables


def mean_of_last(tables: Numbers) -> Numbers:
    """(...,) means of (..., sources), NaN without any.

    >>> mean_of_last(np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.5, nan]
    """
    scored = ~np.isnan(tables)
    return np.asarray(ratio(np.where(scored, tables, 0.0).sum(axis=-1), scored.sum(axis=-1)))


def _given(
    gold: GoldScores, language: str, generators: Sequence[str], raters: Sequence[str]
) -> Numbers:
    """(1 + raters, generators) the scores of whole generators given by people and by each rater. If
    several people gave one, it is their mean.
    """
    table = gold.of_generators
    own = table[table["language"] == language]
    rows = []
    for who in (gold.people, *((rater,) for rater in raters)):
        means = own[own["rater"].isin(who)].groupby("generator")["score"].mean()
        rows.append(means.reindex(list(generators)).to_numpy(dtype=np.float64))
    return np.array(rows)
