"""Which contents the people of every language should rate, and how many, so that their severity can
be compared.

The difference in severity between two panels is the mean difference of their scores on the same
contents. Its variance is the variance of the difference for one content, divided by the number of
contents. METAL estimates it from contents that both panels have rated, else from how far the people
of each panel disagree (which leaves out the effect of translation).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from metal.auditing.scored_outputs import ScoredOutputs, scored_outputs
from metal.data.dataset import Dataset
from metal.data.records import Source
from metal.questions.design.labels.drawing import drawn_by_score, mean_shares
from metal.questions.design.search import fewest
from metal.stats.leniency import LEAST, RatedItems
from metal.stats.patterns import Numbers
from metal.stats.significance import t_quantile

MOST = 100_000  # contents
HALF_WIDTH = 0.05  # of the scale
SAME, NOISE = "the same contents", "people's noise"
ANCHORS = ("language", "criterion", "sd", "sd_from", "contents", "rated", "there", "undefined")


def anchor_rows(
    dataset: Dataset,
    people: Sequence[str],
    languages: Sequence[str],
    pivot: str,
    half_width: float,
    shared: int,
) -> Iterator[dict[str, Any]]:
    """The number of contents needed to compare the severity of a language's people with the
    pivot's.

    There is a row (ANCHORS) for each language except the pivot and each criterion whose scale has
    ends. The 95% interval of the difference in severity is to reach at most half_width (a share of
    the scale) to either side. shared: the number of contents that exist in every language, for the
    column `there`. The column `rated` has the number of contents that both panels have rated
    already.
    """
    for criterion in dataset.criteria.values():
        ends = criterion.scale.ends
        scored = scored_outputs(dataset, criterion, {*people}, tuple(languages)) if ends else None
        if scored is None:
            continue
        panel = scored.scores([name for name in people if name in scored.matrix.raters])
        panel[scored.condition != ""] = np.nan
        noises = [_noise(scored, panel, code) for code in range(len(languages))]
        at = languages.index(pivot)
        for code, language in enumerate(languages):
            if code == at:
                continue
            differences = _differences(scored, panel, code, at)
            same = len(differences) >= LEAST
            sd = float(differences.std(ddof=1)) if same else math.sqrt(noises[code] + noises[at])
            row = {
                "language": language,
                "criterion": criterion.name,
                "sd": sd,
                "sd_from": SAME if same else NOISE,
            }
            row |= {
                "rated": len(differences),
                "contents": math.nan,
                "there": shared,
                "undefined": "",
            }
            if math.isnan(sd):
                silent = language if math.isnan(noises[code]) else pivot
                why = (
                    f"contents: in {silent}, fewer than {LEAST} outputs were rated by two people;"
                    " have some rated as a pilot"
                )
                yield row | {"sd_from": "", "undefined": why}
                continue
            yield row | {"contents": contents_needed(sd, half_width * scored.span)}


def _noise(scored: ScoredOutputs, panel: Numbers, code: int) -> float:
    """The variance of people's mean for an output in a language, around the output's quality; NaN
    if unknown.
    """
    rows = (scored.language == code) & (~np.isnan(panel)).any(axis=1)
    several = (~np.isnan(panel[rows])).sum(axis=1) > 1
    if several.sum() < LEAST:
        return math.nan
    one_language = np.zeros(int(rows.sum()), dtype=np.int64)
    items = RatedItems(
        np.zeros(len(one_language)), panel[rows], one_language, scored.source[rows], 1
    )
    totals = items.sums[0].sum(axis=0)
    degrees = float(items.residual_df[0])
    return float(totals[6] / degrees * totals[7] / totals[0]) if degrees > 0 else math.nan


def _differences(scored: ScoredOutputs, panel: Numbers, code: int, pivot: int) -> Numbers:
    """The mean of people's scores in a language minus that in the pivot, for each content rated in
    both.
    """
    means = []
    for language in (code, pivot):
        rows = np.flatnonzero((scored.language == language) & (~np.isnan(panel)).any(axis=1))
        contents, of = np.unique(scored.content[rows], return_inverse=True)
        sums = np.bincount(of, np.nanmean(panel[rows], axis=1), len(contents)) / np.bincount(
            of, minlength=len(contents)
        )
        means.append(dict(zip(contents.tolist(), sums.tolist(), strict=True)))
    return np.array(
        [means[0][content] - means[1][content] for content in means[0] if content in means[1]]
    )


def contents_needed(sd: float, half: float) -> int:
    """The smallest number of contents whose interval has this half-width or less."""
    return fewest(
        lambda number: t_quantile(0.975, number - 1) * sd / math.sqrt(number) <= half, LEAST, MOST
    )


def anchor_contents(dataset: Dataset, languages: Collection[str]) -> dict[str, list[Source]]:
    """The contents that have, in each of the languages, an output that can be handed out, with
    their sources.
    """
    of: dict[str, dict[str, list[Source]]] = {}
    handed_out = {
        output.source for output in dataset.outputs.values() if output.chosen and not output.of
    }
    for name in sorted(handed_out):
        source = dataset.sources[name]
        of.setdefault(source.content or name, {}).setdefault(source.language, []).append(source)
    return {
        content: [source for language in languages for source in sources[language]]
        for content, sources in of.items()
        if {*languages} <= {*sources}
    }


def draw_anchors(
    dataset: Dataset, contents: dict[str, list[Source]], number: int, judge: str, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw a number of contents; return a record for each of their sources, and a row for each
    group of contents.

    The groups are fifths of the contents' mean scores, by the judge or, if none is named, by
    people, so that contents range from bad to good; contents without a score form one more group. A
    larger number keeps the contents that a smaller one drew.
    """
    human = (dataset.ratings["kind"] == "human").any()
    scores = mean_shares(dataset, judge) if judge or human else {}
    names = sorted(contents)
    values = np.array(
        [
            _mean([scores[each.source] for each in contents[name] if each.source in scores])
            for name in names
        ]
    )
    first = {contents[name][0].source: name for name in names}
    records, rows = [], []
    for stratum in drawn_by_score([dataset.sources[name] for name in first], values, number, seed):
        ends = {"from": stratum.low, "to": stratum.high}
        rows.append(ends | {"contents": stratum.size, "drawn": len(stratum.chosen)})
        facts = {"probability": stratum.probability, "seed": seed, "judge": judge, "anchor": True}
        records += [
            {"source": source.source, "language": source.language} | facts
            for name in stratum.chosen
            for source in contents[first[name]]
        ]
    return records, rows


def _mean(shares: list[float]) -> float:
    return sum(shares) / len(shares) if shares else math.nan
