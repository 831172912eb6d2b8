"""`metal.select`: find when a judge may answer alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Names,
    Option,
    Pairs,
    Progress,
    documented_by,
    names,
    no_progress,
    settings_of,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.data.dataset import Dataset
    from metal.questions.select.run import Selection


@documented_by(AuditSettings)
def select(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Annotated[Names, Option("Criteria with classes. [default: all]", "-c")] = (),
    languages: Names = (),
    reference: Annotated[
        str,
        Option(
            "Compare with these people: group=expert, or rater=A1,A2. [default: all]",
            metavar="PEOPLE",
        ),
    ] = "",
    confidence: Annotated[
        Names,
        Option(
            "Sources of confidence, in order of preference. [default: rating, repeats,"
            " orders, prompts, languages, jury]"
        ),
    ] = ("rating", "repeats", "orders", "prompts", "languages", "jury"),
    alpha: Annotated[
        float,
        Option(
            "The share of kept answers that may differ from people's.",
            least=0,
            most=1,
            open_ends=True,
        ),
    ] = 0.1,
    delta: Annotated[
        float,
        Option(
            "The chance that more answers differ, in any language.",
            least=0,
            most=1,
            open_ends=True,
        ),
    ] = 0.1,
    cascade: Annotated[
        Names, Option("Ask these judges one after another, cheapest first.", metavar="JUDGES")
    ] = (),
    costs: Annotated[
        Pairs | None,
        Option(
            "Dollars per rating, for judges and people. [default: from the judges' runs]",
            metavar="WHO=USD",
        ),
    ] = None,
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Selection:
    """Find answers that a judge can give without people: those whose confidence is above a
    threshold, with a guarantee.

    In each language, METAL tries thresholds from strict to loose, as long as it is shown that at
    most `alpha` of the kept answers differ from people's aggregate (fixed sequence of exact tests,
    Jung et al. 2025). The other answers go to the next judge of `cascade`, then to people. METAL
    also shows whether to believe the confidence (ECE, Brier, AUROC, a reliability curve, and the
    result of isotonic regression). `metal.jury` asks all judges about every output instead.

    Confidence is the probability of the answered level if ratings have a confidence.
    Otherwise it is the share of answers that agree with the judge's answer. These answers come from
    the judge asked again (`metal.judge(repeat=...)`), from pairs in both orders, other prompts or
    other languages, or from the other judges.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are runs of `metal.judge`.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The tables `selection`, `calibration` and `curve`, and the page. Nothing is written before
        `save`.

    Raises:
        UsageError: If people and a judge, or all of a cascade, rated nothing, or for an unknown
            source of confidence.

    Example:
        metal.select("datasets/news", "runs/news-judges", alpha=0.1).selection
    """
    from metal.data.analysed import Analysed
    from metal.data.pairs import one_item_per_pair, originals, swapped_pairs
    from metal.errors import check_known
    from metal.questions.select.compute import WAYS, SelectSettings, doubts, selected
    from metal.questions.select.run import Selection
    from metal.stats.bootstrap import SourceBootstrap

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset, made_of_others = originals(one_item_per_pair(inputs.dataset))
    check_known("source of confidence", names(confidence), WAYS)
    if cascade and not len(set(names(cascade))) == len(names(cascade)) > 1:
        raise UsageError(
            f"`cascade` {','.join(names(cascade))}: write two or more judges, each once, the"
            " cheapest first"
        )
    chosen = SelectSettings(
        alpha,
        delta,
        names(confidence) or WAYS,
        names(cascade),
        _dollars(dataset, costs or {}),
        {*swapped_pairs(inputs.dataset).values()},
        SourceBootstrap(resamples, seed),
    )
    tables = selected(dataset, settings, chosen, progress or no_progress)
    asked = {
        "alpha": alpha,
        "delta": delta,
        "confidence": list(chosen.ways),
        "cascade": list(chosen.cascade),
        "costs": dict(costs or {}),
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
    }
    # thresholds depend on how many languages share `delta`
    chosen_few = {"languages": settings.languages, "criteria": settings.criteria}
    asked |= {key: list(some) for key, some in chosen_few.items() if some}
    signed = {
        key: ",".join(map(str, value)) if isinstance(value, list) else value
        for key, value in asked.items()
    }
    signed["costs"] = ",".join(f"{who}={price}" for who, price in (costs or {}).items())
    analysis = Analysed(tables, (*made_of_others, *doubts(tables, alpha)))
    return inputs.result(
        Selection, dataset, asked, analysis, tables["calibration"]["judge"], signed
    )


def _dollars(dataset: Dataset, costs: Pairs) -> dict[str, float]:
    """Dollars per rating, by judge, and for `people`: the given price, else the price recorded in
    the judge's run.
    """
    from metal.errors import check_known

    check_known("judge, or people,", costs, ["people", *dataset.raters])
    per_thousand = {
        name: rater.about.get("dollars_per_thousand") for name, rater in dataset.raters.items()
    }
    prices = {
        name: float(price) / 1000 for name, price in per_thousand.items() if price is not None
    }
    for who, text in costs.items():
        try:
            prices[who] = float(text)
        except ValueError:
            raise UsageError(f"`costs` {who}={text!r}: dollars of a rating, like 0.002") from None
        if not prices[who] >= 0:
            raise UsageError(f"`costs` {who}={text!r}: dollars of a rating, 0 or more")
    return prices
