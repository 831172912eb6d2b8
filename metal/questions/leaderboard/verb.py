"""`metal.leaderboard`: rank generators by people's ratings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Unpack

from metal.api.options import (
    Names,
    Progress,
    documented_by,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.questions.leaderboard.settings import LeaderboardSettings

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.leaderboard.run import Leaderboard


@documented_by(LeaderboardSettings)
def leaderboard(
    data: Data,
    *ratings: Ratings,
    reference: str = "",
    criteria: Names = (),
    languages: Names = (),
    aggregate: Literal["mean", "majority"] = "mean",
    sample: int | None = None,
    with_judges: bool = False,
    corrected: str = "",
    permutations: int = 1000,
    exclude_noisy: str = "",
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Leaderboard:
    """Rank the generators of `data` by people's scores for their outputs.

    Scores are shares of the scale, 0 the worst and 1 the best: five Likert levels are 0, .25, .5,
    .75, 1. On a scale without ends, such as MQM, scores are means in the units of the criterion.
    The labels of an output are averaged, then the outputs; overall is the mean of the criteria
    whose scales have ends. Each score comes with its 95% interval by source, its standard error
    with an upper bound (only if the scale has ends), and the range of ranks that the ratings allow
    (`2 to 4`). Ranks use two-sided paired tests on shared sources, corrected over all pairs: all
    ranges hold together with 95% confidence. Generators rated by different groups of people are not
    compared; `reference` selects one group. Automatic metrics are shown beside the scores, on the
    same outputs. `corrected` adds people's means as estimated from a judge's ratings of all sources
    and people's ratings of some. These means do not affect ranks.

    `seed` decides which sample is drawn; a larger sample keeps the sources of a smaller one.
    `ratings` are run folders (from `metal.judge` and `metal.score`) whose ratings are added.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The leaderboard: its tables as DataFrames, plots, the page. Nothing is written before
        `save`.

    Raises:
        UsageError: If people rated nothing, or only criteria whose levels have no order.

    Example:
        metal.leaderboard("datasets/news", "runs/news-judges", corrected=True).leaderboard
    """
    from metal.auditing.settings import AuditSettings
    from metal.building.store import read_drawn
    from metal.data.pairs import originals
    from metal.genie.exclusion import warnings_of_tests, with_exclusions, without_noisy
    from metal.questions.correct.compared import with_corrected
    from metal.questions.leaderboard.cautions import about_one_person
    from metal.questions.leaderboard.compute import leaderboard as ranked
    from metal.questions.leaderboard.run import Leaderboard

    settings = settings_of(LeaderboardSettings, locals())
    inputs = load(data, ratings, reading)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    dataset, left_out = originals(dataset)
    result = ranked(dataset, settings, progress or no_progress)
    if corrected:
        by = AuditSettings(
            (corrected,), settings.criteria, settings.languages, reference, seed=seed
        )
        drawn = {
            source: float(entry["probability"])
            for source, entry in read_drawn(inputs.folder).items()
        }
        board = with_corrected(result.tables["leaderboard"], dataset, by, drawn)
        result = replace(result, tables={**result.tables, "leaderboard": board})
    result = replace(
        result, warnings=(*result.warnings, *about_one_person(result.people), *left_out)
    )
    result = with_exclusions(
        result, excluded, warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    )
    raters = (*result.people, *result.beside)
    manifest = inputs.manifest("leaderboard", dataset, settings.to_dict(), raters, result.signature)
    return Leaderboard.of(result, dataset, manifest, raters)
