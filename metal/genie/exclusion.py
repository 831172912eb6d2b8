"""A dataset without the ratings of some people, with a count of what each of them loses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from metal.data.dataset import Dataset
from metal.errors import UsageError
from metal.genie.gold_questions import without_unused_names

EXCLUSIONS = ("rater", "language", "criterion", "ratings", "why")


@dataclass(frozen=True)
class Exclusion:
    """The people left out. why: rater -> reasons. dropped: a row (rater, language, criterion, ratings) each.

    method: the rule that named them, for signatures and settings. outputs: how many lost a rating.
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
        """One line per person, for warnings and reports."""
        counts = self.dropped.groupby("rater", observed=True)["ratings"].sum().to_dict()
        return [
            f"{name} is excluded as noisy ({'; '.join(reasons)}): {int(counts.get(name, 0)):,} ratings dropped"
            for name, reasons in self.why.items()
        ]


def without(dataset: Dataset, noisy: Mapping[str, tuple[str, ...]], method: str) -> tuple[Dataset, Exclusion]:
    """The dataset without the ratings of its noisy people, and an account of it. LLM judges and metrics stay.

    noisy: rater -> reasons. Raises UsageError when no person would be left.
    """
    people = {name for name, rater in dataset.raters.items() if rater.kind == "human"}
    why = {name: reasons for name, reasons in noisy.items() if name in people}
    if why and people <= set(why):
        raise UsageError(
            f"dataset {dataset.card.name}: all {len(people)} people are noisy by their test questions; without them "
            "there is nobody to compare with. Look at the questions with `metal.monitor(...)`"
        )
    table = dataset.ratings
    dropped = table[table["rater"].isin(list(why))]
    counts = dropped.groupby(["rater", "language", "criterion"], observed=True).size().rename("ratings").reset_index()
    exclusion = Exclusion(method, dict(sorted(why.items())), counts, int(dropped["output"].nunique()))
    return _without_raters(dataset, set(why)), exclusion


def only_people(dataset: Dataset, people: Collection[str]) -> Dataset:
    """The dataset with only these people's ratings; judges and metrics stay."""
    return _without_raters(
        dataset, {name for name, rater in dataset.raters.items() if rater.kind == "human" and name not in people}
    )


def _without_raters(dataset: Dataset, names: Collection[str]) -> Dataset:
    if not names:
        return dataset
    kept = without_unused_names(dataset.ratings[~dataset.ratings["rater"].isin(list(names))])
    raters = {name: rater for name, rater in dataset.raters.items() if name not in names}
    return replace(dataset, raters=raters, ratings=kept)
