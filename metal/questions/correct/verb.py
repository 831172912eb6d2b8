"""`metal.correct`: what people would say on average, from a judge on all outputs and people on
some.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

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
from metal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.data.dataset import Dataset
    from metal.questions.correct.run import CorrectedScores


@documented_by(AuditSettings)
def correct(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Annotated[
        Names, Option("Criteria; default all whose levels have an order, and scores.", "-c")
    ] = (),
    languages: Names = (),
    reference: Annotated[
        str,
        Option(
            "Correct towards these people: group=expert, or rater=A1,A2. [default: all]",
            metavar="PEOPLE",
        ),
    ] = "",
    labels: Annotated[
        int,
        Option(
            "Take people's ratings of N random sources a language only, as if there were no more.",
            least=0,
        ),
    ] = 0,
    labelled: Annotated[
        Literal["random", "drawn", "test"] | None,
        Option(
            "How people's sources were chosen: at random, drawn by `metal.sample_labels`, or as a"
            " test set of its own. "
            "[default: drawn where they were, else taken as random, with a warning]",
            choices=("random", "drawn", "test"),
        ),
    ] = None,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> CorrectedScores:
    """Estimate what people would give each generator on average, from few of their labels and a
    judge on all outputs.

    A judge's mean alone is biased, and its interval does not say so; people's mean of few labels is
    wide. Together they give people's mean with an interval that holds, narrower the better the
    judge goes with people (prediction-powered inference, PPI++): the judge's mean on all sources,
    weighted, and corrected by where people were asked. Beside it: people only, judge only, the
    judge's bias, and how many labels one with the judge is worth. Where the judge does not pay,
    that is said.

    The labelled sources have to be a random subset of all: where the judge's answers to them are
    distributed otherwise than to the rest, nothing is corrected. Sources that `metal.sample_labels`
    drew count by the probabilities that it kept in the dataset. With `labelled="test"` people rated
    a test set that was chosen otherwise: then shares of classes are corrected for the mistakes that
    the judge makes there (Rogan and Gladen).

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are runs of `metal.judge`.
        progress: Called with the parts done and the parts in all.

    Returns:
        The tables `corrected` (with the rank of each generator and the ranks that it may have),
        `differences` (of generators, on the same sources) and `classes`, and the page, as shares of
        the scale: 0 its low end, 1 its high end. Nothing is written before `save`.

    Raises:
        UsageError: Where nothing was rated by people and a judge, or `labelled="drawn"` without a
            draw.

    Example:
        metal.correct("datasets/news", "runs/news-judges", labelled="drawn").corrected
    """
    from metal.building.store import read_drawn
    from metal.data.pairs import one_item_per_pair, originals
    from metal.questions.correct.compute import corrected
    from metal.questions.correct.run import CorrectedScores

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset, left_out = originals(one_item_per_pair(inputs.dataset))
    chances = {
        source: float(entry["probability"]) for source, entry in read_drawn(inputs.folder).items()
    }
    if labelled == "drawn" and not chances:
        raise UsageError(f"{inputs.folder} has no drawn sources; `metal.sample_labels` draws some")
    drawn = chances if labelled in (None, "drawn") and not labels else {}
    made = corrected(
        dataset,
        settings,
        labels=labels,
        test_set=labelled == "test",
        drawn=drawn,
        progress=progress or no_progress,
    )
    chosen = labelled or ("random" if labels else "not said")
    if drawn and not labelled:
        chosen = "drawn"
    asked = {"reference": reference, "labels": labels, "labelled": chosen, "seed": seed}
    warnings = (
        *left_out,
        *made.warnings,
        *_doubts(dataset, chosen, drawn, made.tables["corrected"]),
    )
    signed = {key: value for key, value in asked.items() if value}
    if drawn:
        signed["labelled"] = (
            f"drawn@{hashlib.sha256(repr(sorted(drawn.items())).encode()).hexdigest()[:4]}"
        )
    took_part = [*made.tables["corrected"]["judge"], *made.tables["classes"]["judge"]]
    return inputs.result(
        CorrectedScores, dataset, asked, replace(made, warnings=warnings), took_part, signed
    )


def _doubts(
    dataset: Dataset, labelled: str, drawn: dict[str, float], table: pd.DataFrame
) -> Iterator[str]:
    """What to know of how people's sources were chosen."""
    rated = dataset.ratings[(dataset.ratings["kind"] == "human") & dataset.ratings["score"].notna()]
    languages = {dataset.sources[source].language for source in drawn if source in dataset.sources}
    of_people = {
        str(source) for source in rated.loc[rated["language"].isin(languages), "source"].unique()
    }
    if others := len(of_people - {*drawn}):
        yield f"{others:,} sources that people rated were not drawn: their labels do not count"
    if waiting := len({*drawn} - of_people):
        yield (
            f"{waiting:,} of {len(drawn):,} drawn sources have no label yet: those there are stand"
            " for them"
        )
    if labelled == "not said" and (table["undefined"] == "").any():
        yield (
            "nobody said how people's sources were chosen, and corrected means hold for a random"
            ' subset only: `labelled="random"` if it is one, `labelled="test"` for a test set of'
            " its own"
        )
