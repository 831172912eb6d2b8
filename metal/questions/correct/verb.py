"""`metal.correct`: what people would say on average, from a judge's ratings of all outputs and
people's of some.
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
        Names, Option("Criteria. [default: all with ordered levels or scores]", "-c")
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
            "Use people's ratings of only N random sources per language.",
            least=0,
        ),
    ] = 0,
    labelled: Annotated[
        Literal["random", "drawn", "test"] | None,
        Option(
            "How the labelled sources were chosen: at random, by `metal.sample_labels`, or as a "
            "separate test set. [default: by `metal.sample_labels` if it drew some; else assumed "
            "random, with a warning]",
            choices=("random", "drawn", "test"),
        ),
    ] = None,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> CorrectedScores:
    """Estimate people's mean for each generator from a few of their labels and a judge's ratings of
    all outputs.

    A judge's mean alone is biased, and its interval does not show it; people's mean of a few labels
    has a wide interval. Together they estimate people's mean with a valid interval, which is
    narrower the better judge and people agree (prediction-powered inference, PPI++): the judge's
    mean on all sources, weighted, plus a correction from the sources that people labelled. METAL
    shows beside it the means by people only and by the judge only, the judge's bias, and how many
    labels without the judge are worth as much as one label with it. METAL also says where the judge
    is not worth its cost.

    The labelled sources must be a random subset. If the judge's answers to them are distributed
    differently from the rest, nothing is corrected. Sources drawn by `metal.sample_labels` are
    weighted by the probabilities kept in the dataset. Use `labelled="test"` if people rated a
    separate test set: METAL then corrects shares of classes for the mistakes that the judge makes
    there (Rogan and Gladen).

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are runs of `metal.judge`.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The tables `corrected` (with the rank of each generator and the ranks that it may have),
        `differences` (of generators, on the same sources) and `classes`, and the page, as shares of
        the scale: 0 its low end, 1 its high end. Nothing is written before `save`.

    Raises:
        UsageError: If nothing was rated by people and a judge, or `labelled="drawn"` without a
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
        raise UsageError(
            f"{inputs.folder} has no drawn sources; draw some with `metal.sample_labels`"
        )
    drawn = chances if labelled in (None, "drawn") and not labels else {}
    analysis = corrected(
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
        *analysis.warnings,
        *_doubts(dataset, chosen, drawn, analysis.tables["corrected"]),
    )
    signed = {key: value for key, value in asked.items() if value}
    if drawn:
        signed["labelled"] = (
            f"drawn@{hashlib.sha256(repr(sorted(drawn.items())).encode()).hexdigest()[:4]}"
        )
    took_part = [*analysis.tables["corrected"]["judge"], *analysis.tables["classes"]["judge"]]
    return inputs.result(
        CorrectedScores, dataset, asked, replace(analysis, warnings=warnings), took_part, signed
    )


def _doubts(
    dataset: Dataset, labelled: str, drawn: dict[str, float], table: pd.DataFrame
) -> Iterator[str]:
    """Notes on doubts about how people's sources were chosen."""
    rated = dataset.ratings[(dataset.ratings["kind"] == "human") & dataset.ratings["score"].notna()]
    languages = {dataset.sources[source].language for source in drawn if source in dataset.sources}
    of_people = set(map(str, rated.loc[rated["language"].isin(languages), "source"].unique()))
    if others := len(of_people - {*drawn}):
        yield f"{others:,} sources that people rated were not drawn, so their labels are not used"
    if waiting := len({*drawn} - of_people):
        yield (
            f"{waiting:,} of {len(drawn):,} drawn sources have no label yet: the labelled ones"
            " stand for them"
        )
    if labelled == "not said" and (table["undefined"] == "").any():
        yield (
            "it is not known how people's sources were chosen, and corrected means hold only for"
            ' a random subset: pass `labelled="random"` if it is one, `labelled="test"` if it'
            " is a separate test set"
        )
