"""`metal.design`: plan the next ratings."""

from __future__ import annotations

from collections.abc import Sequence
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
from metal.questions.design.settings import DesignSettings, Prices

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.design.run import Design


@documented_by(DesignSettings, Prices)
def design(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Names = (),
    languages: Names = (),
    reference: str = "",
    by: Literal["auto", "group", "rater", "day", "round"] = "auto",
    raters: Sequence[int] = (),
    width: float = 0.05,
    power: float = 0.8,
    margin: float = 0.1,
    keep: float = 0.7,
    people_floor: float = 0.2,
    bad: str = "",
    thorough: bool = False,
    rounds: int = 500,
    pay: float | None = None,
    seconds: float | None = None,
    fee: float = 0.2,
    test_share: float = 0.1,
    min_hourly: float = 15.0,
    exclude_noisy: str = "",
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Design:
    """Plan the next ratings of `data` from those it has.

    First the plan shows how to spend a budget of labels: one label each for many items
    (unilabelling) or several for few (multilabelling), with the scale as rated or made binary, and
    with labels combined by mean or majority. It also shows how far populations of raters differ.

    Then it shows, for each language and criterion, how many items with how many people an audit
    needs to find, with the probability `power`, that a judge is like a person or at least
    informative. It plans for each judge in the data, and for an imagined one that answers like a
    person. It also shows how many items make the 95% interval of a generator's score narrower than
    `width`. A formula uses today's standard errors, with an 80% interval; `thorough=True` simulates
    instead. With `pay` and `seconds` it gives the cost at the upper end.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are run folders whose ratings are added.
        progress: Called with the number of simulations done and of all simulations.

    Returns:
        The study: its tables as DataFrames, plots, the page. Nothing is written before `save`.

    Raises:
        UsageError: If nothing was rated by two people, or by people and a judge.

    Example:
        design = metal.design("ratings.csv", judges=["gpt-4"])
        design.needs
    """
    from metal.genie.exclusion import with_exclusions, without_noisy
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
