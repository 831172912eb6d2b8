"""A dataset without some people's ratings: dropped everywhere, counted and named, and there again when wanted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from metal.data.dataset import Dataset
from metal.errors import UsageError


@dataclass(frozen=True)
class Exclusion:
    """Who was left out. why: by rater. dropped: rater, language, criterion, ratings; a row each.

    method: by which rule, for signatures and settings. outputs: how many lost a rating.
    """

    method: str
    why: Mapping[str, tuple[str, ...]]
    dropped: pd.DataFrame
    outputs: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """`dropped` with the reasons, for a run's tables."""
        reasons = {name: "; ".join(why) for name, why in self.why.items()}
        return self.dropped.astype({"rater": str}).assign(why=[reasons[name] for name in self.dropped["rater"]])

    @property
    def lines(self) -> list[str]:
        """A line for each, for warnings and reports."""
        counts = self.dropped.groupby("rater", observed=True)["ratings"].sum().to_dict()
        return [
            f"{name} is excluded as noisy ({'; '.join(reasons)}): {int(counts.get(name, 0)):,} ratings dropped"
            for name, reasons in self.why.items()
        ]


def without(dataset: Dataset, noisy: Mapping[str, tuple[str, ...]], method: str) -> tuple[Dataset, Exclusion]:
    """The dataset without the ratings of its noisy people, and an account of it; LLM judges and metrics stay.

    noisy: rater -> why. Raises UsageError when nobody would be left.
    """
    people = {name for name, rater in dataset.raters.items() if rater.kind == "human"}
    why = {name: reasons for name, reasons in noisy.items() if name in people}
    if why and people <= set(why):
        raise UsageError(
            f"dataset {dataset.card.name}: all {len(people)} people are noisy by their test questions; without them "
            "there is nobody to compare with. Look at the questions with `metal monitor`"
        )
    table = dataset.ratings
    gone = table["rater"].isin(list(why))
    dropped = (
        table[gone].groupby(["rater", "language", "criterion"], observed=True).size().rename("ratings").reset_index()
    )
    left = _without(dataset, set(why))
    return left, Exclusion(method, dict(sorted(why.items())), dropped, int(table["output"][gone].nunique()))


def only_people(dataset: Dataset, people: Collection[str]) -> Dataset:
    """The dataset without the people who are not among these; whoever is no person stays."""
    return _without(
        dataset, {name for name, rater in dataset.raters.items() if rater.kind == "human" and name not in people}
    )


def _without(dataset: Dataset, names: Collection[str]) -> Dataset:
    if not names:
        return dataset
    kept = dataset.ratings[~dataset.ratings["rater"].isin(list(names))].reset_index(drop=True)
    for column in kept.columns:
        if isinstance(kept[column].dtype, pd.CategoricalDtype):
            kept[column] = kept[column].cat.remove_unused_categories()
    raters = {name: rater for name, rater in dataset.raters.items() if name not in names}
    return Dataset(dataset.card, dataset.criteria, dataset.sources, dataset.outputs, raters, kept, dataset.extra)
