"""`metal.leaderboard`: generators ranked by people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import (
    ExcludeNoisy,
    Names,
    Option,
    Permutations,
    Progress,
    Resamples,
    Seed,
    documented,
    names,
    no_progress,
)

if TYPE_CHECKING:
    from metal.api.inputs import Data, Ratings
    from metal.api.leaderboard_result import Leaderboard


@documented
def leaderboard(
    data: Data,
    *ratings: Ratings,
    reference: Annotated[
        str, Option("Whose ratings count: group=crowd, or rater=A1,A2. [default: all people]", metavar="PEOPLE")
    ] = "",
    criteria: Annotated[
        Names, Option("Criteria that count, also for overall; default all whose scale has ends.", "-c")
    ] = (),
    languages: Annotated[Names, Option("Languages; default all, together and each.", "-l")] = (),
    aggregate: Annotated[
        Literal["mean", "majority"],
        Option("How several labels of one output become its score.", choices=("mean", "majority")),
    ] = "mean",
    sample: Annotated[
        int | None,
        Option(
            "Score N sources a language, at random by `seed` and the same for every generator. [default: all]",
            metavar="N",
            least=1,
        ),
    ] = None,
    with_judges: Annotated[bool, Option("Put LLM judges beside people, as metrics are.")] = False,
    resamples: Resamples = 2000,
    permutations: Permutations = 1000,
    exclude_noisy: ExcludeNoisy = "",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Leaderboard:
    """Rank the generators of `data` by what people gave their outputs.

    Scores are shares of the scale, 0 the worst and 1 the best: five Likert levels are 0, .25, .5, .75, 1. Labels of
    an output are averaged, then outputs; overall is the mean of the criteria. Beside a score stand its 95% interval by
    source, its standard error and what that is at most, and a cluster: within one, nobody is shown to be worse than
    its first, by paired permutation tests on shared sources. Generators that different groups of people rated are not
    compared: `reference` takes one group. Automatic metrics stand beside, on the same outputs.

    The sample is drawn by `seed`; growing it keeps the sources that were in it. `ratings` are run folders (from
    `metal.judge` and `metal.score`) whose ratings are added.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the parts done and the parts in all.

    Returns the leaderboard: its tables as DataFrames, plots, the page. Nothing is written before `save`. Raises
    UsageError where no criterion that people rated has ends.
    """
    from metal.api.inputs import load
    from metal.api.leaderboard_result import Leaderboard
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy
    from metal.genie.leaderboard.cautions import about_size
    from metal.genie.leaderboard.leaderboard import leaderboard as ranked
    from metal.genie.leaderboard.settings import LeaderboardSettings

    settings = LeaderboardSettings(
        reference=reference,
        criteria=names(criteria),
        languages=names(languages),
        aggregate=aggregate,
        sample=sample,
        with_judges=with_judges,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        exclude_noisy=exclude_noisy,
    )
    inputs = load(data, ratings)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    result = ranked(dataset, settings, progress or no_progress)
    board = result.tables["leaderboard"]
    main = board[(board["criterion"] == result.main) & (board["language"] == board["language"].iloc[0])]
    sizes = about_size(main["sources"].tolist(), result.people)
    result = replace(result, warnings=(*result.warnings, *sizes))
    result = with_exclusions(result, excluded, warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs))
    raters = (*result.people, *result.beside)
    manifest = inputs.manifest("leaderboard", dataset, settings.to_dict(), raters, result.signature)
    return Leaderboard.of(result, dataset, manifest, raters)
