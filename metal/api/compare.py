"""`metal.compare`: generators side by side (METAL Table 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from metal.api.inputs import load
from metal.api.options import ExcludeNoisy, Languages, Names, Option, Resamples, Seed, documented, names

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.inputs import Data, Ratings


@dataclass(frozen=True, repr=False)
class Comparison:
    """Generators side by side. table: a row per language, criterion, rater and generator. warnings: people left out."""

    table: pd.DataFrame
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<comparison of {self.table['generator'].nunique()} generators: {len(self.table)} rows in .table>"


@documented
def compare(
    data: Data,
    *ratings: Ratings,
    generators: Annotated[Names, Option("Generators to compare; default all.", "-g")] = (),
    raters: Annotated[
        Names, Option("Raters; `people` is the mean over people. Default people and all judges.", "-r")
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    languages: Languages = (),
    exclude_noisy: ExcludeNoisy = "",
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Comparison:
    """Mean score of each generator by rater and criterion, as METAL's Table 4.

    Only sources count for which every compared generator has an output that the rater scored: the means of
    different sources must not be compared. Fewer `generators` usually share more sources. `ratings` are run
    folders whose ratings are added.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.

    Returns a table with language, criterion, rater, generator, sources (shared), sources_left_out, mean, mean_low,
    mean_high, undefined (the reason where no source is shared; the mean is NaN then) and signature. Raises UnknownName
    for a name that does not occur, UsageError with fewer than two generators.
    """
    from metal.auditing.paper_tables import compare as compared

    inputs = load(data, ratings)
    dataset, warnings = inputs.without_noisy(exclude_noisy)
    table = compared(
        dataset,
        generators=names(generators),
        raters=names(raters),
        criteria=names(criteria),
        languages=names(languages),
        resamples=resamples,
        seed=seed,
    )
    return Comparison(table, warnings)
