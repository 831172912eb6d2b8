"""The outputs of a leaderboard and their scores.

A score is a share of the scale: 0 is the worst, 1 the best (Criterion.share). If a scale has no
ends, scores stay in the units of the criterion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from metal.data.dataset import Dataset
from metal.data.records import Criterion, Source
from metal.errors import UsageError
from metal.stats.patterns import Codes, Numbers, ratio

OVERALL = "overall"
ALL_LANGUAGES = ""  # in tables: all languages together
Aggregation = Literal["mean", "majority"]
ScoreScale = Literal["share", "own"]
SHARE: ScoreScale = "share"  # of the scale: 0 the worst, 1 the best
OWN: ScoreScale = "own"  # the units of a criterion whose scale has no ends, or of a metric
# Means of the same numbers in another order differ beyond this many digits.
DIGITS = 12


@dataclass(frozen=True)
class Outputs:
    """The outputs of a leaderboard, in string order of their ids, so that no figure depends on the
    order of the file.

    generator: (outputs,) codes into `generators`, in string order. source: (outputs,) codes.
    language: (outputs,).
    """

    names: tuple[str, ...]
    generator: Codes
    source: Codes
    language: Codes
    generators: tuple[str, ...]

    @classmethod
    def of(
        cls, dataset: Dataset, languages: Collection[str], sources: Collection[str] | None
    ) -> Outputs:
        """Select the outputs in these languages and of these sources; None means all."""
        chosen = [
            dataset.outputs[name]
            for name in sorted(dataset.outputs)
            if dataset.outputs[name].language in languages
            and (sources is None or dataset.outputs[name].source in sources)
        ]
        names, generators, sources_of, languages_of = (
            np.array([getattr(output, name) for output in chosen], dtype=object)
            for name in ("output", "generator", "source", "language")
        )
        generator_names, generator = np.unique(generators, return_inverse=True)
        source = np.unique(sources_of, return_inverse=True)[1]
        return cls(tuple(names), generator, source, languages_of, tuple(generator_names))


@dataclass(frozen=True)
class OutputScores:
    """The scores that some raters gave the outputs on a criterion.

    score: (outputs,) higher is better; NaN if there is no score. scale: whether a score is a share
    of the criterion's scale or in the criterion's own units. turned: whether lower is better in
    these units, so that `score` is negated. output, rater: (ratings,) the output and the rater of
    each rating, as codes of the ratings table. unanswered: (outputs,) how many ratings have no
    score. criteria: the number of criteria combined.
    """

    criterion: str
    score: Numbers
    output: Codes
    rater: Codes
    unanswered: Codes
    criteria: int = 1
    scale: ScoreScale = SHARE
    turned: bool = False


@dataclass(frozen=True)
class _Ratings:
    """The ratings that some raters gave the outputs, (ratings,) each. row: of the output in
    `Outputs`; rater, criterion: codes of the ratings table.
    """

    row: Codes
    rater: Codes
    criterion: Codes
    score: Numbers


def _ratings(dataset: Dataset, outputs: Outputs, raters: Collection[str]) -> _Ratings:
    table = dataset.ratings
    row_by_name = {name: row for row, name in enumerate(outputs.names)}
    row_of = np.array(
        [row_by_name.get(name, -1) for name in table["output"].cat.categories] or [-1],
        dtype=np.int64,
    )
    chosen = np.array(
        [name in raters for name in table["rater"].cat.categories] or [False], dtype=bool
    )
    row, rater = row_of[table["output"].array.codes], table["rater"].array.codes.astype(np.int64)
    kept = np.flatnonzero((row >= 0) & chosen[rater])
    criterion = table["criterion"].array.codes.astype(np.int64)
    return _Ratings(
        row[kept], rater[kept], criterion[kept], table["score"].to_numpy(dtype=np.float64)[kept]
    )


def output_scores(
    dataset: Dataset, outputs: Outputs, raters: Collection[str], aggregate: Aggregation = "mean"
) -> dict[str, OutputScores]:
    """The scores of these raters by criterion, in declared order. Criteria on which they rated none
    of the outputs are left out. Labels without an order (nominal) give no score: all are NaN.
    """
    ratings = _ratings(dataset, outputs, raters)
    size = len(outputs.names)
    scores = {}
    for code, name in enumerate(dataset.ratings["criterion"].cat.categories):
        asked = np.flatnonzero(ratings.criterion == code)
        answered = asked[~np.isnan(ratings.score[asked])]
        if not len(answered):
            continue
        row, score = ratings.row[answered], ratings.score[answered]
        unanswered = np.bincount(ratings.row[asked], minlength=size) - np.bincount(
            row, minlength=size
        )
        criterion = dataset.criteria[name]
        own = has_own_units(criterion)
        scores[name] = OutputScores(
            name,
            _aggregated(criterion, score, row, size, aggregate),
            row,
            ratings.rater[answered],
            unanswered,
            scale=OWN if own else SHARE,
            turned=own and criterion.direction == "lower",
        )
    return {name: scores[name] for name in dataset.criteria if name in scores}


def has_own_units(criterion: Criterion) -> bool:
    """Whether scores are numbers on a scale without ends, so that they cannot be shares of a
    scale.
    """
    return criterion.scale.ends is None and not criterion.scale.levels


def _aggregated(
    criterion: Criterion, scores: Numbers, rows: Codes, size: int, aggregate: Aggregation
) -> Numbers:
    """(size,) one score per output; higher is better."""
    if has_own_units(criterion):
        shares = -scores if criterion.direction == "lower" else scores
    else:
        shares = criterion.share(scores)
    if aggregate == "majority" and criterion.scale.levels:
        labels, label = np.unique(scores, return_inverse=True)
        votes = np.bincount(rows * len(labels) + label, minlength=size * len(labels)).reshape(
            size, len(labels)
        )
        most = (votes == votes.max(axis=1, keepdims=True)) & (votes > 0)
        means = ratio(most @ criterion.share(labels), most.sum(axis=1))
    else:
        means = ratio(np.bincount(rows, shares, minlength=size), np.bincount(rows, minlength=size))
    return np.asarray(np.round(means, DIGITS))


def together(parts: Sequence[OutputScores]) -> OutputScores:
    """`overall`: the mean of each output's shares on these criteria; NaN if the output lacks a
    share.
    """
    share: Numbers = np.round(np.stack([part.score for part in parts]).mean(axis=0), DIGITS)
    complete = ~np.isnan(share)
    kept = [complete[part.output] for part in parts]
    return OutputScores(
        OVERALL,
        share,
        np.concatenate([part.output[keep] for part, keep in zip(parts, kept, strict=True)]),
        np.concatenate([part.rater[keep] for part, keep in zip(parts, kept, strict=True)]),
        np.sum([part.unanswered for part in parts], axis=0),
        len(parts),
    )


def scores_of_each(
    dataset: Dataset, outputs: Outputs, raters: Collection[str]
) -> dict[str, dict[str, Numbers]]:
    """rater -> criterion -> (outputs,) the scores as given, NaN if there is none. Raters are in the
    given order.
    """
    ratings = _ratings(dataset, outputs, raters)
    names, criteria = (dataset.ratings[key].cat.categories for key in ("rater", "criterion"))
    key = ratings.rater * max(len(criteria), 1) + ratings.criterion
    order = np.argsort(key, kind="stable")
    by_rater: dict[str, dict[str, Numbers]] = {}
    for part in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if not len(part):
            continue
        scores = np.full(len(outputs.names), np.nan)
        scores[ratings.row[part]] = ratings.score[part]
        rater, criterion = (
            str(names[ratings.rater[part[0]]]),
            str(criteria[ratings.criterion[part[0]]]),
        )
        by_rater.setdefault(rater, {})[criterion] = scores
    return {rater: by_rater[rater] for rater in raters if rater in by_rater}


def sources_chosen(sources: Iterable[Source], number: int, seed: int = 0) -> frozenset[str]:
    """Draw `number` sources of each language at random, or all if the language has fewer; return
    their ids.

    Each source has a random sort key that depends only on (seed, language, source). The first
    `number` sources of a language are chosen. So the choice does not depend on the order of lines,
    other languages or generators, and a larger number keeps what a smaller one chose. A newly added
    source can replace the last one. Raises UsageError for a number below 1. Source: GENIE, section
    6 (a subsample that is random, but fixed).
    >>> sorted(sources_chosen([Source(f"s{place}", "en") for place in range(9)], 2))
    ['s2', 's8']
    """
    if number < 1:
        raise UsageError(f"a sample of {number} sources: use 1 or more")
    by_language: dict[str, list[str]] = {}
    for source in sources:
        by_language.setdefault(source.language, []).append(source.source)
    return frozenset(
        name
        for language, names in by_language.items()
        for name in sorted(names, key=lambda name: (_place(seed, language, name), name))[:number]
    )


def _place(seed: int, language: str, source: str) -> bytes:
    """The random sort key of a source. It includes lengths, so that ("a", "bc") and ("ab", "c")
    differ.
    """
    parts = (str(seed), language, source)
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
