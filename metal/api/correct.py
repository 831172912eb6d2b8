"""`metal.correct`: what people would say on average, from a judge on all outputs and people on some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from metal.api.options import Judges, Languages, Names, Option, Progress, Seed, documented, names, no_progress
from metal.api.read import load

if TYPE_CHECKING:
    from metal.api.correct_result import CorrectedScores
    from metal.api.read import Data, Ratings


@documented
def correct(
    data: Data,
    *ratings: Ratings,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all whose levels have an order, and scores.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str, Option("Correct towards these people: group=expert, or rater=A1,A2. [default: all]", metavar="PEOPLE")
    ] = "",
    labels: Annotated[
        int, Option("Take people's ratings of N random sources a language only, as if there were no more.", least=0)
    ] = 0,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> CorrectedScores:
    """Estimate what people would give each generator on average, from few of their labels and a judge on all outputs.

    A judge's mean alone is biased, and its interval does not say so; people's mean of few labels is wide. Together they
    give people's mean with an interval that holds, narrower the better the judge goes with people (prediction-powered
    inference, PPI++): the judge's mean on all sources, weighted, and corrected by where people were asked. Beside it:
    people only, judge only, the judge's bias, and how many labels one with the judge is worth. Where the judge does not
    pay, that is said.

    The labelled sources have to be a random subset of all: where the judge scores them otherwise than the rest, nothing
    is corrected.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`; `ratings` are runs
    of `metal.judge`. progress: called with the parts done and the parts in all.

    Returns the tables `corrected` and `differences` (of generators, on the same sources) and the page, as shares of the
    scale: 0 its low end, 1 its high end. Nothing is written before `save`.
    """
    from metal import __version__
    from metal.api.correct_result import CorrectedScores
    from metal.auditing.corrected import corrected
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import one_item_per_pair
    from metal.data.text import signature_line

    inputs = load(data, ratings)
    dataset = one_item_per_pair(inputs.dataset)
    settings = AuditSettings(
        judges=names(judges), criteria=names(criteria), languages=names(languages), reference=reference, seed=seed
    )
    made = corrected(dataset, settings, labels=labels, progress=progress or no_progress)
    asked = {"reference": reference, "labels": labels, "seed": seed}
    about = {"data": dataset.identity, **{key: value for key, value in asked.items() if value}}
    took_part = sorted(set(made.tables["corrected"]["judge"]))
    signed = signature_line({"metal": __version__, **about})
    manifest = inputs.manifest("correct", dataset, asked, took_part, signed).to_dict()
    return CorrectedScores(dataset.card.name, manifest, dataset.criteria, dataset.raters, made.tables, made.warnings)
