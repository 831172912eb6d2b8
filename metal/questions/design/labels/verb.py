"""`metal.design_labels`: how many labels a corrected score needs, and whether the judge pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Judges,
    Languages,
    Names,
    Option,
    Progress,
    documented,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.design.labels.run import LabelPlan


@documented
def design_labels(
    data: Data,
    *ratings: Ratings,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all whose scale has ends.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str, Option("Whose labels: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    half_width: Annotated[
        float, Option("Of the 95% interval of a mean that you want, as a share of the scale.")
    ] = 0.05,
    budget: Annotated[
        float | None, Option("In its place: what all languages may cost together.", metavar="USD")
    ] = None,
    sources: Annotated[
        int,
        Option(
            "That the judge rates in each language. [default: those it has rated; with"
            " `judge_price` what costs least]",
            metavar="N",
            least=0,
        ),
    ] = 0,
    pay: Annotated[
        float | None, Option("For one task: one person rates one output.", metavar="USD")
    ] = None,
    judge_price: Annotated[
        float, Option("For the judge to rate one output; 0 where it has been paid.", metavar="USD")
    ] = 0.0,
    seconds: Annotated[float | None, Option("A task takes.", rare=True)] = None,
    fee: Annotated[
        float, Option("The platform's share of the pay, on top of it.", rare=True)
    ] = 0.2,
    min_hourly: Annotated[
        float, Option("Least pay of an hour; below, a warning.", metavar="USD", rare=True)
    ] = 15.0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> LabelPlan:
    """Plan how many labels by people `metal.correct` needs beside a judge, from those there are: a
    pilot.

    For each language, criterion and judge: the labels whose corrected mean has an interval as
    narrow as `half_width`, and as many as that takes without a judge. Or what a `budget` gives,
    spread over the languages so that their intervals are narrowest together (Neyman). Where the
    judge does not pay, that is said: then label at random. How well the judge goes with people is
    taken at the lower bound of what the pilot shows.

    With `pay` and `judge_price` the plan also says how many sources the judge should rate for each
    label.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.
    progress: called with the parts done and the parts in all.

    Returns the table `labels` and the page. Nothing is written before `save`. Raises UsageError
    where people and a judge rated nothing in common.
    """
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import one_item_per_pair
    from metal.questions.design.cells import Prices
    from metal.questions.design.labels.compute import LabelSettings, plan_labels
    from metal.questions.design.labels.run import LabelPlan

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset = one_item_per_pair(inputs.dataset)
    prices = Prices(pay, seconds, fee, 0.0, min_hourly)
    asked = LabelSettings(half_width, budget, sources, judge_price, prices)
    made = plan_labels(dataset, settings, asked, progress=progress or no_progress)
    plain = {"reference": reference, **asked.to_dict()}
    about = {key: value for key, value in plain.items() if value and key != "prices"}
    signed = {"design": "labels", **about, "pay": pay or "", "fee": fee if pay else ""}
    return inputs.result(LabelPlan, dataset, plain, made, made.tables["labels"]["judge"], signed)
