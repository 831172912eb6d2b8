"""A leaderboard of generators by people's ratings (GENIE, section 6).

It has scores with their uncertainty, which generators are shown to be better, automatic metrics,
and what still has to be rated. Scores are shares of the scale, from 0 to 1; those of a scale
without ends are means in the units of the criterion.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import main_criterion
from metal.data.dataset import Dataset
from metal.data.languages import check_languages, language_name
from metal.data.people import people_in, people_named
from metal.data.progress import Progress, followed, no_progress
from metal.errors import UsageError, check_known
from metal.genie.output_scores import (
    ALL_LANGUAGES,
    DIGITS,
    OVERALL,
    OWN,
    Outputs,
    OutputScores,
    output_scores,
    scores_of_each,
    sources_chosen,
    together,
)
from metal.questions.leaderboard.beside import beside_rows, coverage_rows, raters_beside
from metal.questions.leaderboard.cautions import about_a_ranking, about_overall, about_people
from metal.questions.leaderboard.generator_scores import Groups, rank
from metal.questions.leaderboard.settings import LeaderboardSettings, signature
from metal.stats.patterns import Codes

COLUMNS = {
    "leaderboard": (
        *("language", "criterion", "rank", "rank_low", "rank_high", "generator", "human"),
        *("score", "score_low", "score_high", "scale", "mean"),
        *(
            "standard_error",
            "worst_error",
            "outputs",
            "sources",
            "languages",
            "ratings",
            "people",
            "unanswered",
        ),
        *("corrected", "corrected_low", "corrected_high", "undefined"),
    ),
    "comparisons": (
        *(
            "language",
            "criterion",
            "first",
            "second",
            "sources",
            "difference",
            "p",
            "p_adjusted",
            "undefined",
        ),
    ),
    "beside": (
        *(
            "language",
            "criterion",
            "rater",
            "kind",
            "generator",
            "score",
            "scale",
            "outputs",
            "asked",
            "coverage",
        ),
    ),
    "coverage": (
        *(
            "language",
            "generator",
            "sources",
            "sources_rated",
            "outputs",
            "outputs_rated",
            "outputs_to_rate",
        ),
        "without_text",
    ),
}


UNORDERED = (
    "its levels have no order (nominal), so none of them is the best; make it ordinal if they have"
    " an order"
)


@dataclass(frozen=True)
class LeaderboardTables:
    """The results of a leaderboard.

    tables: by name, with the columns of COLUMNS. main: the criterion shown first. people: the
    people whose ratings count. counted: the criteria by which generators are ranked. left_out:
    rated criteria whose levels have no order. beside: metrics and judges.
    """

    main: str
    people: tuple[str, ...]
    counted: tuple[str, ...]
    left_out: tuple[str, ...]
    beside: tuple[str, ...]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]
    signature: str


def leaderboard(
    dataset: Dataset,
    settings: LeaderboardSettings | None = None,
    progress: Progress = no_progress,
) -> LeaderboardTables:
    """Make the leaderboard of a dataset.

    It ranks all languages together, if there are several, then each language. In each it ranks by
    every criterion that people rated, then by `overall`, the mean for each output of the criteria
    whose scales have ends. Criteria whose levels have no order are left out.

    Raises UnknownName for a criterion, language, group or person that does not occur, UsageError if
    the people rated nothing that could be scored.
    """
    settings = settings or LeaderboardSettings()
    people = _people(dataset, settings)
    check_languages(settings.languages, dataset.languages)
    languages = tuple(dict.fromkeys(settings.languages)) or dataset.languages
    sample = (
        None
        if settings.sample is None
        else sources_chosen(dataset.sources.values(), settings.sample, settings.seed)
    )
    outputs = Outputs.of(dataset, languages, sample)
    scores, left_out = _counted(
        dataset, settings, output_scores(dataset, outputs, people, settings.aggregate)
    )
    slices = {ALL_LANGUAGES: np.isin(outputs.language, languages)} if len(languages) > 1 else {}
    slices |= {language: outputs.language == language for language in languages}
    by_rater = scores_of_each(
        dataset, outputs, raters_beside(dataset, with_judges=settings.with_judges)
    )
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    groups = Groups.among(dataset, people)
    warnings, first = _warnings_of_settings(dataset, settings, left_out), list[str]()
    for language, items in followed(slices.items(), progress):
        of_language = language_name(language) if language else "all languages"
        cells = _cells(scores, items)
        of_people: list[list[str]] = []
        for cell in cells:
            ranking = rank(cell, outputs, items, groups, settings.seed, settings.permutations)
            head = {"language": language, "criterion": cell.criterion}
            for row in ranking.rows:
                mean = _mean(dataset, cell, row["score"])
                human = _human(dataset, row["generator"])
                rows["leaderboard"].append(head | row | {"mean": mean, "human": human})
            rows["comparisons"] += [head | pair for pair in ranking.pairs]
            title = f"{of_language}, {dataset.called(cell.criterion)}"
            of_people.append(about_people(ranking, title))
            if cell is cells[-1]:  # the others' are in the tables
                warnings += about_a_ranking(ranking, title)
                first += of_people[-1] or chain.from_iterable(of_people)
        rows["beside"] += beside_rows(dataset, outputs, items, cells, language, by_rater)
        rows["coverage"] += coverage_rows(dataset, outputs, items, [*scores.values()], language)
        warnings += about_overall(cells, items, language)
    if not rows["leaderboard"]:
        raise UsageError(_nothing_rated(dataset, settings))
    tables = {
        name: pd.DataFrame(rows[name], columns=[*columns]) for name, columns in COLUMNS.items()
    }
    return LeaderboardTables(
        main_criterion(tables["leaderboard"]["criterion"].tolist()),
        people,
        tuple(scores),
        left_out,
        tuple(by_rater),
        tables,
        tuple(dict.fromkeys([*first, *warnings])),
        signature(dataset.identity, settings),
    )


# ---------------------------------------------------------------- who and what


def _people(dataset: Dataset, settings: LeaderboardSettings) -> tuple[str, ...]:
    if not settings.reference and not people_in(dataset.raters):
        raise UsageError(
            f"dataset {dataset.card.name} has no ratings by people yet;"
            " `metal.annotate_export(...)` hands its outputs out, `metal.annotate_import(...)`"
            " takes the answers back"
        )
    return people_named(dataset, settings.reference)


def _counted(
    dataset: Dataset, settings: LeaderboardSettings, rated: Mapping[str, OutputScores]
) -> tuple[dict[str, OutputScores], tuple[str, ...]]:
    """The criteria that count, and the rated criteria that do not because their levels have no
    order.
    """
    unordered = tuple(
        name
        for name in rated
        if dataset.criteria[name].scale.ends is None and rated[name].scale != OWN
    )
    scores = {name: score for name, score in rated.items() if name not in unordered}
    for name in settings.criteria:
        if name in unordered:
            raise UsageError(f"criterion {name!r}: {UNORDERED}")
        check_known("criterion that the people rated", [name], scores)
    if not scores:
        _check_no_pairs(dataset)
        why = f": {unordered[0]!r}: {UNORDERED}" if unordered else ""
        raise UsageError(_nothing_rated(dataset, settings) + why)
    wanted = settings.criteria or tuple(scores)
    return {name: score for name, score in scores.items() if name in wanted}, unordered


def _check_no_pairs(dataset: Dataset) -> None:
    """Raise UsageError if all outputs are pairs, whose generators the audit ranks."""
    if all(output.is_pair for output in dataset.outputs.values()):
        problem = f"dataset {dataset.card.name}: people compared outputs in pairs, and scored none"
        raise UsageError(
            f"{problem}; `metal.audit(...)` ranks the generators by the pairs they won"
        )


def _nothing_rated(dataset: Dataset, settings: LeaderboardSettings) -> str:
    people = f"the people ({settings.reference})" if settings.reference else "the people"
    message = f"dataset {dataset.card.name}: {people} rated nothing that can be scored"
    if settings.languages:
        message += f" in {', '.join(settings.languages)}"
    if settings.sample:
        message += f" among the {settings.sample} sources per language of `sample`"
    return message


def _human(dataset: Dataset, generator: str) -> bool:
    """Whether dataset.toml says that a generator is human."""
    generators = dataset.extra.get("generators", {})
    entry = generators.get(generator, {}) if isinstance(generators, Mapping) else {}
    return isinstance(entry, Mapping) and entry.get("kind") == "human"


def _mean(dataset: Dataset, cell: OutputScores, score: float) -> float:
    """A generator's mean in the units of the criterion; NaN for several criteria together."""
    if cell.scale == OWN:
        return score
    if cell.criteria > 1 or cell.criterion not in dataset.criteria:
        return math.nan
    return round(dataset.criteria[cell.criterion].score_at(score), DIGITS)


def _cells(scores: Mapping[str, OutputScores], items: Codes) -> list[OutputScores]:
    """The rankings on these outputs: by each rated criterion, and overall if several of their
    scales have ends.
    """
    rated = [part for part in scores.values() if not np.isnan(part.score[items]).all()]
    shares = [part for part in rated if part.scale != OWN]
    if len(shares) < 2 or OVERALL in scores:
        return rated
    overall = together(shares)
    return [*rated, *([overall] if not np.isnan(overall.score[items]).all() else [])]


def _warnings_of_settings(
    dataset: Dataset, settings: LeaderboardSettings, left_out: Sequence[str]
) -> list[str]:
    warnings = [f"criterion {name!r} is left out: {UNORDERED}" for name in left_out]
    if settings.sample is not None:
        counts = Counter(source.language for source in dataset.sources.values())
        warnings += [
            (
                f"{language_name(language)}: `sample={settings.sample}` takes all of its {count}"
                " sources"
            )
            for language, count in sorted(counts.items())
            if count < settings.sample
        ]
    return warnings
