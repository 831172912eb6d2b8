"""`metal.design_labels`: how many labels a corrected score needs, and whether a judge is worth its
cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Names,
    Option,
    Progress,
    documented_by,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.questions.design.settings import LabelSettings, Prices

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.design.labels.run import LabelPlan


@documented_by(AuditSettings, LabelSettings, Prices)
def design_labels(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Annotated[Names, Option("Criteria. [default: all with bounded scales]", "-c")] = (),
    languages: Names = (),
    reference: Annotated[
        str, Option("Whose labels: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    half_width: float = 0.05,
    budget: float | None = None,
    sources: int = 0,
    pay: float | None = None,
    judge_price: float = 0.0,
    seconds: Annotated[
        float | None, Option("Seconds per task.", least=0, open_ends=True, rare=True)
    ] = None,
    fee: float = 0.2,
    min_hourly: float = 15.0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> LabelPlan:
    """Plan how many people's labels `metal.correct` needs with the help of a judge.

    The plan is based on the existing labels, which serve as a pilot. For each language, criterion
    and judge, it gives the number of labels that make the interval of the corrected mean as narrow
    as `half_width`, and the number needed without a judge. With a `budget` it spreads the labels
    over the languages so that the intervals, taken together, are as narrow as possible (Neyman). It
    says where the judge is not worth its cost: there, draw the sources to label at random. To be
    safe, agreement between judge and people is taken at the lower bound of what the pilot shows.

    With `pay` and `judge_price` the plan also says how many sources the judge should rate for each
    label.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are run folders whose ratings are added.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The table `labels` and the page. Nothing is written before `save`.

    Raises:
        UsageError: If people and a judge rated nothing in common.

    Example:
        metal.design_labels("datasets/news", "runs/news-judges", half_width=0.05).labels
    """
    from metal.data.pairs import one_item_per_pair
    from metal.questions.design.labels.compute import plan_labels
    from metal.questions.design.labels.run import LabelPlan

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset = one_item_per_pair(inputs.dataset)
    prices = Prices(pay, seconds, fee, 0.0, min_hourly)
    asked = LabelSettings(half_width, budget, sources, judge_price, prices)
    plan = plan_labels(dataset, settings, asked, progress=progress or no_progress)
    plain = {"reference": reference, **asked.to_dict()}
    set_options = {key: value for key, value in plain.items() if value and key != "prices"}
    signed = {"design": "labels", **set_options, "pay": pay or "", "fee": fee if pay else ""}
    return inputs.result(LabelPlan, dataset, plain, plan, plan.tables["labels"]["judge"], signed)
