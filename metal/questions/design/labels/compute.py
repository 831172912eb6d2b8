"""How many labels a corrected score needs with the help of a judge, and whether the judge is worth
its cost; planned from a pilot.

If n of N sources are labelled, the variance is sd^2 / n (1 - rho^2 (1 - n / N)). The judge explains
the share rho^2 of the variance of people's labels, in so far as it rated other sources too. rho is
taken at its lower bound, so that a lucky pilot does not promise too much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.progress import Progress, followed
from metal.data.text import plural
from metal.errors import UsageError
from metal.questions.correct.compute import ALL, LEAST, SourceMeans, source_means
from metal.questions.design.search import fewest
from metal.questions.design.settings import LabelSettings
from metal.stats.significance import t_quantile

BOUND = 0.8  # one-sided, of rho
LEAST_PILOT = 10  # labelled sources
MOST_LABELS = 1_000_000
LABELS = (
    *(
        "language",
        "criterion",
        "judge",
        "pilot",
        "sd",
        "rho",
        "rho_low",
        "saved_at_most",
        "pays",
        "labels",
        "sources",
    ),
    *("labels_alone", "half_width", "usd", "usd_alone", "undefined"),
)


@dataclass(frozen=True)
class Pilot:
    """What a pilot shows about a cell.

    sources: how many sources the judge rates. label: the price of a label per source, in USD; 1 if
    no pay is known. judged: the price of the judge per source, in USD.
    """

    sd: float
    rho: float
    rho_low: float
    sources: int
    label: float
    judged: float

    @property
    def share(self) -> float:
        """The share of the judge's sources to label so that the cost is least; 0 if the judge is
        already paid.
        """
        squared = self.rho_low**2
        return (
            min(math.sqrt(self.judged * (1 - squared) / (self.label * squared)), 1.0)
            if squared
            else 1.0
        )

    @property
    def pays(self) -> bool:
        """Whether labels with the judge's help are cheaper than labels alone."""
        return self.rho_low**2 > 4 * self.label * self.judged / (self.label + self.judged) ** 2

    def alone(self) -> Pilot:
        """The pilot as if there were no judge."""
        return replace(self, rho_low=0.0, judged=0.0)

    def variance(self, labels: float) -> float:
        """The variance of the corrected mean with this many labels."""
        labelled = min(self.share if self.judged else labels / self.sources, 1.0)
        return self.sd**2 / labels * (1 - self.rho_low**2 * (1 - labelled))

    def half_width(self, labels: int) -> float:
        """The half-width of the 95% interval; infinite with fewer than 3 labels."""
        return (
            t_quantile(0.975, labels - 2) * math.sqrt(self.variance(labels))
            if labels > 2
            else math.inf
        )

    def labels_for(self, half_width: float) -> int:
        """The fewest labels that a corrected score allows and whose interval is no wider
        than this.
        """
        return fewest(lambda labels: self.half_width(labels) <= half_width, LEAST, MOST_LABELS)

    def price(self, labels: float) -> float:
        """The price in USD of this many labels, including the judge."""
        return labels * (self.label + (self.judged / self.share if self.judged else 0.0))

    @property
    def weight(self) -> float:
        """The weight of the cell when languages share a budget (Neyman): the square root of a
        label's variance divided by its price.
        """
        return math.sqrt(
            self.sd**2
            * (1 - self.rho_low**2 * (1 - (self.share if self.judged else 0)))
            / self.price(1)
        )


def plan_labels(
    dataset: Dataset, settings: AuditSettings, asked: LabelSettings, *, progress: Progress
) -> Analysed:
    """Plan from the ratings in the data the labels needed for a half-width, or the half-width that
    a budget gives.

    Returns the table `labels`, a row for each language, criterion and judge. Raises UsageError if
    there is no judge, or nothing that people and a judge rated.
    """
    every = [
        cell
        for cell in cells(dataset, settings, continuous=True)
        if cell.criterion.scale.ends and cell.people
    ]
    rows: list[tuple[dict[str, Any], Pilot | None]] = []
    for cell in followed(every, progress):
        generators = [dataset.outputs[output].generator for output in cell.matrix.outputs]
        for judge in cell.judges:
            means = source_means(cell, judge, generators)
            rows.append(_pilot(cell, judge, means.get(ALL) or next(iter(means.values())), asked))
    if not rows:
        raise UsageError(
            "no criterion with bounds was rated by people and a judge: nothing to plan from"
        )
    planned = [row | _plan(row, pilot, rows, asked) if pilot else row for row, pilot in rows]
    table = pd.DataFrame(planned, columns=list(LABELS))
    return Analysed({"labels": table}, asked.prices.warnings)


def _pilot(
    cell: AuditCell, judge: str, sources: SourceMeans, asked: LabelSettings
) -> tuple[dict[str, Any], Pilot | None]:
    """The row of a cell with its figures from the pilot, and the Pilot; None if there are too few
    data.
    """
    people, judged = sources.people, ~np.isnan(sources.judge)
    both = judged & ~np.isnan(people)
    row = dict.fromkeys(LABELS, math.nan) | {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": judge,
        "pilot": int(both.sum()),
        "pays": False,
        "undefined": "",
    }
    if both.sum() < LEAST_PILOT:
        return (
            row
            | {
                "undefined": (
                    f"labels: {int(both.sum())} sources with people and judge, {LEAST_PILOT} needed"
                )
            },
            None,
        )
    labels, answers = people[both], sources.judge[both]
    sd = float(labels.std(ddof=1))
    if sd == 0:
        return (
            row | {"undefined": "labels: people gave all sources of the pilot the same score"},
            None,
        )
    rho = float(np.corrcoef(labels, answers)[0, 1]) if answers.std() > 0 else 0.0
    near = math.atanh(min(abs(rho), 1 - 1e-9)) if rho > 0 else 0.0
    low = max(math.tanh(near - NormalDist().inv_cdf(BOUND) / math.sqrt(len(labels) - 3)), 0.0)
    outputs = len(cell.matrix.sources) / len(np.unique(cell.matrix.sources))
    people_each = float(cell.ratings_per_item[cell.ratings_per_item > 0].mean())
    price = 1.0 if asked.prices.pay is None else asked.prices.cost(1, 1)["usd"]
    number = asked.sources or int(judged.sum())
    pilot = Pilot(sd, rho, low, number, outputs * people_each * price, outputs * asked.judge_price)
    return (
        row
        | {
            "sd": sd,
            "rho": rho,
            "rho_low": low,
            "saved_at_most": 1 / max(1 - rho**2, 1e-9),
        },
        pilot,
    )


def _plan(
    row: Mapping[str, Any],
    pilot: Pilot,
    rows: list[tuple[dict[str, Any], Pilot | None]],
    asked: LabelSettings,
) -> dict[str, Any]:
    """Fill in the labels of a row, with the judge if it is worth its cost, or the reason why there
    are none.

    rows: the rows of all cells.
    """
    chosen = pilot if pilot.pays else pilot.alone()
    if asked.budget is None:
        labels, alone = (way.labels_for(asked.half_width) for way in (chosen, pilot.alone()))
        if labels > pilot.sources and not pilot.judged:
            available = plural(pilot.sources, "source")
            reason = f"labels: {alone:,} are needed without a judge, but there are {available}"
            return {"labels_alone": alone, "undefined": reason}
        if labels >= alone:
            chosen, labels = pilot.alone(), alone
    else:
        spent = _spent(asked.budget, row, chosen, rows)
        labels = int(spent / chosen.price(1))
        alone = int(spent / pilot.alone().price(1))
    if labels < LEAST:
        needed = f"but a corrected score needs {LEAST}"
        return {"undefined": f"labels: the budget gives {labels}, {needed}"}
    priced = {}
    if asked.prices.pay is not None:
        priced = {"usd": chosen.price(labels), "usd_alone": alone * pilot.label}
    pays = chosen.rho_low > 0
    sources = pilot.sources if pays else labels
    if chosen.judged:
        sources = math.ceil(labels / chosen.share)
    figures = {"pays": pays, "labels": labels, "sources": sources, "labels_alone": alone}
    return figures | {"half_width": chosen.half_width(labels)} | priced


def _spent(
    budget: float,
    row: Mapping[str, Any],
    chosen: Pilot,
    rows: list[tuple[dict[str, Any], Pilot | None]],
) -> float:
    """The part of the budget that a cell gets, when all cells of its criterion and judge
    share it.
    """
    each = [
        other if other.pays else other.alone()
        for case, other in rows
        if other and all(case[key] == row[key] for key in ("criterion", "judge"))
    ]
    total = sum(part.weight * part.price(1) for part in each)
    return budget * chosen.weight * chosen.price(1) / total
