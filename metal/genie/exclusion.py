"""Leave noisy people out of a dataset, and warn of raters who fail test questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import pandas as pd

from metal.data.dataset import Dataset
from metal.data.people import people_in
from metal.errors import UsageError
from metal.genie.gold_questions import leak_warning, without_unused_names
from metal.genie.store import GoldQuestions, read_tests

EXCLUSIONS = ("rater", "language", "criterion", "ratings", "why")


@dataclass(frozen=True)
class Exclusion:
    """The people left out, and the ratings dropped with them.


    why: rater -> reasons. dropped: the number of ratings dropped for each rater, language and
    criterion. outputs: how many outputs lost a rating.
    """

    why: Mapping[str, tuple[str, ...]]
    dropped: pd.DataFrame
    outputs: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """The table `dropped` with the reasons, for a run's tables."""
        reasons = {name: "; ".join(why) for name, why in self.why.items()}
        return self.dropped.astype({"rater": str}).assign(
            why=[reasons[name] for name in self.dropped["rater"]]
        )

    @property
    def lines(self) -> list[str]:
        """One line per person, for warnings and reports."""
        counts = self.dropped.groupby("rater", observed=True)["ratings"].sum().to_dict()
        return [
            f"{name} is excluded as noisy ({'; '.join(reasons)}): {int(counts.get(name, 0)):,}"
            " ratings dropped"
            for name, reasons in self.why.items()
        ]


def without(dataset: Dataset, noisy: Mapping[str, tuple[str, ...]]) -> tuple[Dataset, Exclusion]:
    """Drop the ratings of noisy people from a dataset, and list what was dropped. LLM judges and
    metrics stay.

    noisy: rater -> reasons. Raises UsageError if all people are noisy.
    """
    people = set(people_in(dataset.raters))
    why = {name: reasons for name, reasons in noisy.items() if name in people}
    if why and people <= set(why):
        raise UsageError(
            f"dataset {dataset.card.name}: all {len(people)} people are noisy by their test"
            " questions; without them nobody is left to compare with. Check the questions with"
            " `metal.monitor(...)`"
        )
    table = dataset.ratings
    dropped = table[table["rater"].isin(list(why))]
    counts = (
        dropped.groupby(["rater", "language", "criterion"], observed=True)
        .size()
        .rename("ratings")
        .reset_index()
    )
    exclusion = Exclusion(dict(sorted(why.items())), counts, int(dropped["output"].nunique()))
    return _without_raters(dataset, set(why)), exclusion


def only_people(dataset: Dataset, people: Collection[str]) -> Dataset:
    """The dataset with only these people's ratings; judges and metrics stay."""
    return _without_raters(
        dataset,
        {
            name
            for name, rater in dataset.raters.items()
            if rater.kind == "human" and name not in people
        },
    )


def _without_raters(dataset: Dataset, names: Collection[str]) -> Dataset:
    if not names:
        return dataset
    kept = without_unused_names(dataset.ratings[~dataset.ratings["rater"].isin(list(names))])
    raters = {name: rater for name, rater in dataset.raters.items() if name not in names}
    return replace(dataset, raters=raters, ratings=kept)


class _Result(Protocol):
    """The result of any analysis: a frozen dataclass with tables by name, and warnings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tables(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


Result = TypeVar("Result", bound=_Result)


def with_exclusions(
    result: Result, excluded: Exclusion | None, warnings: Iterable[str] = ()
) -> Result:
    """Add a warning and a table about the people left out to a result; `warnings` come before its
    own.
    """
    lines = excluded.lines if excluded else []
    tables = {**result.tables, "exclusions": excluded.table} if excluded else result.tables
    return replace(result, warnings=(*lines, *warnings, *result.warnings), tables=tables)


# ---------------------------------------------------------------- from test questions on disk


def without_noisy(
    dataset: Dataset, folder: Path, runs: Iterable[Path], model: str
) -> tuple[Dataset, Exclusion | None]:
    """Leave noisy people out of a dataset, and list them; an empty `model` leaves out nobody.

    model: one of metal.genie.noisy. folder, runs: the dataset folder and the runs that hold the
    test questions. Raises UsageError if no person answered a test question.
    """
    if not model:
        return dataset, None
    gold = read_tests(dataset, folder, runs)
    examined = set(gold.answers["rater"].astype(str))
    if not any(
        rater.kind == "human" and name in examined for name, rater in dataset.raters.items()
    ):
        raise UsageError(
            f"`exclude_noisy`: no person answered a test question of {folder} (answers of judges"
            " do not count); hide some with"
            f" `metal.annotate_export({str(folder)!r}, test_questions=True)`"
        )
    return without(dataset, _noisy(dataset, folder, gold, model))


def warnings_of_tests(dataset: Dataset, folder: Path, runs: Iterable[Path]) -> list[str]:
    """Warn of outputs that are really test questions, and of judges that fail test questions."""
    gold = read_tests(dataset, folder, runs)
    leaks = leak_warning(dataset, gold.questions)
    noisy = _noisy(dataset, folder, gold) if len(gold.answers) else {}
    return [leaks] * bool(leaks) + [
        f"{name} fails its test questions ({'; '.join(why)}); `metal.monitor({str(folder)!r})`"
        " shows all"
        for name, why in noisy.items()
        if dataset.raters[name].kind != "human"
    ]


def _noisy(
    dataset: Dataset, folder: Path, gold: GoldQuestions, model: str = ""
) -> Mapping[str, tuple[str, ...]]:
    """Rater -> reasons, by the default model if none is named."""
    from metal.building.store import read_compared
    from metal.genie.monitoring import monitor  # which imports scipy
    from metal.genie.noisy import DEFAULT_MODEL, model_and_beta

    name, beta = model_and_beta(model or DEFAULT_MODEL)
    return monitor(
        gold.answers,
        gold.questions,
        dataset.criteria,
        dataset.raters,
        model=name,
        noisy_beta=beta,
        comparative=read_compared(folder),
    ).noisy
