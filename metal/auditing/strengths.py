"""Generators ranked by the pairs that they win: according to people, to each judge, and to people
and all judges together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import judges_of
from metal.auditing.figures import columns, undefined_note
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.pairs import swapped_pairs
from metal.data.people import people_named
from metal.data.records import FIRST, SECOND, TIE, Estimate
from metal.errors import Undefined
from metal.stats.davidson import Strengths, davidson
from metal.stats.ranks import Pairs

PEOPLE, TOGETHER = "people", "people and judges"


def strength_rows(dataset: Dataset, settings: AuditSettings) -> Iterator[dict[str, Any]]:
    """For each language and criterion, a row for each compared generator in each ranking: that of
    people, that of each judge, and that of people and all judges together.

    points: the expected share of points in comparisons with each of the others, where a tie is half
    a point. strength: the log odds against a generator of mean strength, by Davidson's model; if
    the order of showing varied, the model corrects for it. Intervals are over sources. rank: by
    strength; equal generators share a rank. rank_low, rank_high: the ranks left open by two-sided
    tests of all pairs, corrected over all pairs (metal.stats.ranks). wins, ties, comparisons:
    counts of answers.
    """
    people, judges = people_named(dataset, settings.reference), judges_of(dataset, settings)
    by = {
        PEOPLE: people,
        **{judge: (judge,) for judge in judges},
        **({TOGETHER: (*people, *judges)} if judges else {}),
    }
    table = comparisons(dataset, settings)
    if table.empty:
        return
    for (criterion, language), cell in table.groupby(
        ["criterion", "language"], observed=True, sort=False
    ):
        for name, raters in by.items():
            rows = cell[cell["rater"].isin(raters)]
            if len(rows):
                for row in _ranked(rows):
                    yield {"language": language, "criterion": criterion, "rater": name, **row}


def comparisons(dataset: Dataset, settings: AuditSettings) -> pd.DataFrame:
    """The answers to pairs whose generators are known, with the columns first, second, score and
    shown.

    shown: 1 if the first output was shown first, -1 if the second was, 0 if unknown.
    """
    pairs = {
        name: output for name, output in dataset.outputs.items() if output.first and output.second
    }
    kept = dataset.ratings["score"].isin((FIRST, SECOND, TIE)) & dataset.ratings["output"].isin(
        list(pairs)
    )
    for column, wanted in (("criterion", settings.criteria), ("language", settings.languages)):
        kept &= dataset.ratings[column].isin(wanted) if wanted else True
    comparing = [name for name, criterion in dataset.criteria.items() if criterion.scale.compares]
    table = dataset.ratings[kept & dataset.ratings["criterion"].isin(comparing)]
    swapped = swapped_pairs(dataset)
    both = {*swapped, *swapped.values()}
    orders = dict.fromkeys(both, 1) | dict.fromkeys(swapped, -1)
    names = table["output"].astype(object)
    return table.assign(
        first=names.map(lambda name: pairs[name].first),
        second=names.map(lambda name: pairs[name].second),
        shown=names.map(lambda name: orders.get(name, 0)).astype(np.int64),
    )


def _ranked(rows: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
    """The figures of each generator in these answers, the strongest generator first."""
    names = sorted({*rows["first"], *rows["second"]})
    code_of = {name: code for code, name in enumerate(names)}
    first, second = (
        rows[side].map(code_of).to_numpy(dtype=np.int64) for side in ("first", "second")
    )
    outcome = rows["score"].to_numpy(dtype=np.int64)
    sources = pd.factorize(rows["source"].astype(object))[0]
    counted = _counted(first, second, outcome, len(names))
    try:
        fit = davidson(first, second, outcome, rows["shown"].to_numpy(), sources, len(names))
    except Undefined as reason:
        figures = {
            "points": Estimate.undefined(str(reason)),
            "strength": Estimate.undefined(str(reason)),
        }
        for code, name in enumerate(names):
            places = {
                "rank": np.nan,
                "rank_low": np.nan,
                "rank_high": np.nan,
                "undefined": undefined_note(figures),
            }
            yield {"generator": name, **counted[code], **columns(figures), **places}
        return
    either_way = np.minimum(2 * np.minimum(fit.better, fit.better.T), 1.0)
    for code, ranks in Pairs(fit.better < fit.better.T, either_way).in_order(fit.strength):
        yield {
            "generator": names[code],
            **counted[code],
            **ranks,
            **columns(_figures(fit, code)),
            "undefined": "",
        }


def _counted(first: Any, second: Any, outcome: Any, players: int) -> list[dict[str, int]]:
    """The numbers of wins, ties and comparisons of each generator."""
    sides = ((first, outcome == FIRST), (second, outcome == SECOND))
    wins = sum(np.bincount(side, won, players) for side, won in sides)
    ties = sum(np.bincount(side, outcome == TIE, players) for side, _ in sides)
    met = np.bincount(first, minlength=players) + np.bincount(second, minlength=players)
    counts = zip(wins, ties, met, strict=True)  # type: ignore[arg-type]
    return [{"comparisons": int(m), "wins": int(w), "ties": int(t)} for w, t, m in counts]


def _figures(fit: Strengths, code: int) -> dict[str, Estimate]:
    points, half = float(fit.points[code]), float(fit.points_half[code])
    strength, width = float(fit.strength[code]), float(fit.half[code])
    return {
        "points": Estimate(points, max(0.0, points - half), min(1.0, points + half)),
        "strength": Estimate(strength, strength - width, strength + width),
    }
