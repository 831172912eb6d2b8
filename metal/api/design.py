"""`metal.design`: what labels are best spent on, and how many items and people each language needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import ExcludeNoisy, Languages, Names, Option, Progress, Seed, documented, names, no_progress

if TYPE_CHECKING:
    from metal.api.design_result import Design
    from metal.api.inputs import Data, Ratings


@documented
def design(
    data: Data,
    *ratings: Ratings,
    judges: Annotated[
        Names, Option("Judges to plan for; default the LLM judges in the data.", "-j", aliases=("--judge",))
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all that people rated.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[str, Option("Whose ratings: group=expert, or rater=A1,A2.", metavar="PEOPLE")] = "",
    by: Annotated[
        Literal["auto", "group", "rater", "day", "round"],
        Option(
            "What makes a population of raters; day and round are keys of raters.jsonl.",
            choices=("auto", "group", "rater", "day", "round"),
        ),
    ] = "auto",
    raters: Annotated[
        Sequence[int],
        Option("People an item, to plan for. [default: 1 up to the usual number, at most 5]", "-k", metavar="N[,N]"),
    ] = (),
    width: Annotated[float, Option("Of the 95% interval that you want.")] = 0.05,
    power: Annotated[float, Option("Of the alternative annotator test.")] = 0.8,
    aggregate: Annotated[
        Literal["majority-or-mean", "majority-or-middle", "majority"],
        Option(
            "How people's ratings of an item become one label, for F1.",
            choices=("majority-or-mean", "majority-or-middle", "majority"),
        ),
    ] = "majority-or-mean",
    epsilon: Annotated[float | None, Option("Of that test. [default: 0.2 for experts, 0.1 crowd, else 0.15]")] = None,
    rounds: Annotated[int, Option("Of every simulation.")] = 500,
    pay: Annotated[float | None, Option("For one task: one person rates one output.", metavar="USD")] = None,
    seconds: Annotated[float | None, Option("A task takes. [default: the median that forms have measured]")] = None,
    fee: Annotated[float, Option("The platform's share of the pay, on top of it.")] = 0.2,
    test_share: Annotated[float, Option("Share of all tasks that are test questions.")] = 0.1,
    min_hourly: Annotated[float, Option("Least pay of an hour; below, a warning.", metavar="USD")] = 15.0,
    exclude_noisy: ExcludeNoisy = "",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Design:
    """Plan the next ratings of `data` from those it has. `ratings` are run folders whose ratings are added.

    First, what a budget of labels is best spent on: one label each for many items (unilabelling) or several for few
    (multilabelling), the scale as rated or binary, mean or majority, and how far populations of raters differ.

    Then, for each language and criterion, how many items with how many people each are needed so that the 95%
    interval of a judge's F1, and of a generator's score, is narrower than `width`, and so that a judge passes the
    alternative annotator test with `power`. Sources that were rated are drawn again and again, as if there were more
    like them. With `pay` and `seconds`, what that costs.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the simulations done and all of them.

    Returns the study: its tables as DataFrames, plots, the page. Nothing is written before `save`.
    """
    from metal.api.design_result import Design
    from metal.api.inputs import load
    from metal.genie.design.cost import Prices
    from metal.genie.design.settings import DesignSettings
    from metal.genie.design.study import design as planned
    from metal.genie.excluding import with_exclusions, without_noisy
    from metal.runs.design_run import measured_seconds

    inputs = load(data, ratings)
    seconds = seconds if seconds is not None else measured_seconds(inputs.folder)
    settings = DesignSettings(
        judges=names(judges),
        criteria=names(criteria),
        languages=names(languages),
        reference=reference,
        by=by,
        raters=tuple(raters),
        width=width,
        power=power,
        aggregate=aggregate,
        epsilon=epsilon,
        rounds=rounds,
        seed=seed,
        prices=Prices(pay, seconds, fee, test_share, min_hourly),
        exclude_noisy=exclude_noisy,
    )
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, inputs.runs, exclude_noisy)
    result = with_exclusions(planned(dataset, settings, progress=progress or no_progress), excluded)
    manifest = inputs.manifest("design", dataset, settings.to_dict(), result.raters, result.signature)
    return Design.of(result, dataset, manifest, result.raters)
