"""`metal.design`: ratings to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from metal.api.options import (
    Bad,
    ExcludeNoisy,
    Keep,
    Languages,
    Margin,
    Names,
    Option,
    PeopleFloor,
    Progress,
    Seed,
    documented,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.design.run import Design


@documented
def design(
    data: Data,
    *ratings: Ratings,
    judges: Annotated[
        Names,
        Option(
            "Judges to plan for; default the LLM judges in the data.", "-j", aliases=("--judge",)
        ),
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all that people rated.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str, Option("Whose ratings: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    by: Annotated[
        Literal["auto", "group", "rater", "day", "round"],
        Option(
            "What makes a population of raters; day and round are keys of raters.jsonl.",
            choices=("auto", "group", "rater", "day", "round"),
            rare=True,
        ),
    ] = "auto",
    raters: Annotated[
        Sequence[int],
        Option(
            "People per item, to plan for. [default: the usual number for verdicts, 1 up to it for"
            " scores; at most 5]",
            "-k",
            metavar="N[,N]",
        ),
    ] = (),
    width: Annotated[
        float, Option("Of the 95% interval of a generator's score that you want.")
    ] = 0.05,
    power: Annotated[float, Option("Of a verdict.")] = 0.8,
    margin: Margin = 0.1,
    keep: Keep = 0.7,
    people_floor: PeopleFloor = 0.2,
    bad: Bad = "",
    thorough: Annotated[bool, Option("Simulate instead of a formula; takes minutes.")] = False,
    rounds: Annotated[
        int, Option("Of every simulation; verdicts are simulated in a fifth.", rare=True)
    ] = 500,
    pay: Annotated[
        float | None, Option("For one task: one person rates one output.", metavar="USD")
    ] = None,
    seconds: Annotated[
        float | None, Option("A task takes. [default: the median that forms have measured]")
    ] = None,
    fee: Annotated[
        float, Option("The platform's share of the pay, on top of it.", rare=True)
    ] = 0.2,
    test_share: Annotated[
        float, Option("Share of all tasks that are test questions.", rare=True)
    ] = 0.1,
    min_hourly: Annotated[
        float, Option("Least pay of an hour; below, a warning.", metavar="USD", rare=True)
    ] = 15.0,
    exclude_noisy: ExcludeNoisy = "",
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Design:
    """Plan the next ratings of `data` from those it has. `ratings` are run folders whose ratings
    are added.

    First, what a budget of labels is best spent on: one label each for many items (unilabelling) or
    several for few (multilabelling), the scale as rated or binary, mean or majority, and how far
    populations of raters differ.

    Then, for each language and criterion, how many items with how many people each are needed so
    that an audit finds with `power` that a judge is like a person, or at least informative: each
    judge in the data, and one that answers like a person. And how many so that the 95% interval of
    a generator's score is narrower than `width`. A formula gives the number from the standard
    errors of now, with an 80% interval, since the ratings there are are a sample; `thorough=True`
    simulates it, drawing the sources that were rated again and again. With `pay` and `seconds`,
    what that costs at the upper end.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.
    progress: called with the simulations done and all of them.

    Returns the study: its tables as DataFrames, plots, the page. Nothing is written before `save`.
    """
    from metal.genie.exclusion import with_exclusions, without_noisy
    from metal.questions.design.cells import DesignSettings, Prices
    from metal.questions.design.run import Design, measured_seconds
    from metal.questions.design.study import design as planned

    asked = locals()
    inputs = load(data, ratings, reading)
    seconds = seconds if seconds is not None else measured_seconds(inputs.folder)
    prices = Prices(pay, seconds, fee, test_share, min_hourly)
    settings = settings_of(DesignSettings, asked, raters=tuple(raters), prices=prices)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    result = with_exclusions(planned(dataset, settings, progress=progress or no_progress), excluded)
    manifest = inputs.manifest(
        "design", dataset, settings.to_dict(), result.raters, result.signature
    )
    return Design.of(result, dataset, manifest, result.raters)
