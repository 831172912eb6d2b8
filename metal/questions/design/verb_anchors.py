"""`metal.design_anchors`: contents that the people of every language should rate, so that their
severity can be compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Languages, Option, Seed, StrPath, documented
from metal.errors import UsageError
from metal.questions.design.drawn import DrawnSources, to_draw_from

if TYPE_CHECKING:
    from metal.api.read import Ratings


@documented
def design_anchors(
    data: StrPath,
    *ratings: Ratings,
    languages: Languages = (),
    pivot: Annotated[
        str, Option("Language to compare the others with. [default: en, else the largest]")
    ] = "",
    reference: Annotated[
        str, Option("The people: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    half_width: Annotated[
        float,
        Option(
            "Half-width of the 95% interval that you want for a difference in severity, as a share"
            " of the scale.",
            least=0,
            most=0.5,
            open_ends=True,
        ),
    ] = 0.05,
    contents: Annotated[
        int, Option("Draw this many contents. [default: what `half_width` needs]", "-n", least=0)
    ] = 0,
    judge: Annotated[
        str, Option("Spread the contents over this judge's scores. [default: people's]")
    ] = "",
    seed: Seed = 0,
    force: Annotated[bool, Option("Replace an earlier draw.", rare=True)] = False,
) -> DrawnSources:
    """Draw contents for people of every language to rate, to compare how severe they are.

    A gap between a judge and people may come from the people: those of one language can be more
    severe than others. Anchors are contents that exist in every language and that each panel rates.
    With anchors, `metal.bias_language` measures the judge's bias, whoever the people are. To
    include bad and good contents, anchors are drawn from each fifth of a judge's or people's
    scores.

    METAL draws enough contents to make the interval of the difference in severity between two
    panels as narrow as `half_width`, in the language and criterion that needs most. It estimates
    this from how far people disagree in the data, or from anchors already rated.

    annotation/drawn.jsonl records the sources, as for `metal.sample_labels`;
    `metal.annotate_export(..., drawn=True)` hands them out. A larger number keeps the sources that
    a smaller one drew.

    Args:
        data: The dataset's folder; `ratings` are run folders whose ratings are added.

    Returns:
        What is needed and what was drawn.

    Raises:
        UsageError: If no content is in every language, if it is unknown how many are needed and
            `contents` is not given, or if another draw would be lost (unless `force`).

    Example:
        metal.design_anchors("datasets/news", pivot="en", contents=60)
    """
    import pandas as pd

    from metal.building.store import note_drawn
    from metal.data.people import people_named
    from metal.questions.bias.conditions import pivot_of
    from metal.questions.design.anchors import ANCHORS, anchor_contents, anchor_rows, draw_anchors

    folder = Path(data)
    with to_draw_from(folder, ratings, judge, languages) as (dataset, codes):
        if len(codes) < 2:
            raise UsageError("anchors need two languages or more")
        pivot = pivot_of(dataset, codes, pivot)
        shared = anchor_contents(dataset, codes)
        if not shared:
            raise UsageError(
                f"no content has an output in each of {', '.join(codes)}: name the column that is"
                " equal for translations of each other (`content`), or see `metal.bias_plan`,"
                " which plans translations"
            )
        human = any(rater.kind == "human" for rater in dataset.raters.values())
        people = people_named(dataset, reference) if human or reference else ()
        rows = anchor_rows(dataset, people, codes, pivot, half_width, len(shared))
        needed = pd.DataFrame(rows, columns=list(ANCHORS))
        most = needed["contents"].max()
        if not contents and pd.isna(most):
            raise UsageError("no ratings show how far people disagree, so pass `contents`, e.g. 30")
        number = contents or int(most)
        records, groups = draw_anchors(dataset, shared, number, judge, seed)
        note_drawn(folder, records, "contents", force=force)
    few = (
        f"{number:,} contents are needed, but only {len(shared):,} exist in every language, so all"
        " of these are drawn"
    )
    warnings = (few,) if number > len(shared) else ()
    return DrawnSources(dataset, folder, "contents", pd.DataFrame(groups), warnings, needed)
