"""`metal.compare`: generators side by side (METAL Table 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metal.api.inputs import Folder, as_names, load

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset


@dataclass(frozen=True)
class Comparison:
    """Generators side by side. table: a row per language, criterion, rater and generator. warnings: people left out."""

    table: pd.DataFrame
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Comparison({self.table['generator'].nunique()} generators, {len(self.table)} rows in .table)"


def compare(
    dataset: Folder | Dataset,
    ratings: Folder | Iterable[Folder] = (),
    *,
    generators: str | Iterable[str] = (),
    raters: str | Iterable[str] = (),
    criteria: str | Iterable[str] = (),
    languages: str | Iterable[str] = (),
    exclude_noisy: str | bool = "",
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Mean score of each generator by rater and criterion, as METAL's Table 4.

    Only sources count for which every compared generator has an output that the rater scored: means over different
    sources must not be compared. Fewer generators usually share more sources.

    ratings: run folders whose ratings are added. generators, criteria, languages: empty for all. raters: `people` is
    the mean over people; empty for people and all judges. exclude_noisy: leave out people who fail the test questions,
    by this model (True for the default). resamples: of the 95% interval by source.

    The table has language, criterion, rater, generator, sources (shared), sources_left_out, mean, mean_low, mean_high,
    undefined (the reason where no source is shared; the mean is NaN then) and signature. Raises UnknownName for a name
    that does not occur, UsageError with fewer than two generators.
    """
    from metal.auditing.compare import CompareSettings
    from metal.auditing.compare import compare as table_of

    loaded, warnings = load(dataset, ratings, exclude_noisy)
    settings = CompareSettings(
        as_names(generators), as_names(raters), as_names(criteria), as_names(languages), resamples, seed
    )
    return Comparison(table_of(loaded, settings), warnings)
