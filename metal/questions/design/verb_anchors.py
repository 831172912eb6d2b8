"""`metal.design_anchors`: which contents the people of every language should rate to become
comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Languages, Option, Seed, StrPath, documented, names
from metal.data.languages import check_languages
from metal.errors import UsageError, check_known

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Ratings
    from metal.data.dataset import Dataset


@dataclass(frozen=True, repr=False)
class Anchors:
    """The contents drawn from a dataset. needed: a row for each language and criterion, with the
    contents that it needs; table: a row for each group by score from which contents were drawn.
    file: where the sources are kept.
    """

    dataset: Dataset
    needed: pd.DataFrame
    table: pd.DataFrame
    file: Path
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{int(self.table['drawn'].sum()):,} contents drawn: {self.file}>"


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
        int, Option("Draw this many instead. [default: what `half_width` needs]", "-n", least=0)
    ] = 0,
    judge: Annotated[
        str, Option("Spread the contents over this judge's scores. [default: people's]")
    ] = "",
    seed: Seed = 0,
    force: Annotated[bool, Option("Replace an earlier draw.", rare=True)] = False,
) -> Anchors:
    """Draw contents for people of every language to rate, to compare how severe they are.

    A gap between a judge and people may come from the people: those of one language can be more
    severe than others. Anchors are contents that exist in every language and that each panel rates.
    With them `metal.bias_language` measures the judge's bias, whoever the people are. Anchors are
    drawn from bad to good, by fifths of a judge's or people's scores.

    METAL draws as many as are needed to make the interval of the difference between two panels'
    severity as narrow as `half_width`, in the language and criterion that needs most. It estimates
    this from how far people disagree in the data, or from anchors already rated.

    annotation/drawn.jsonl records the sources, as for `metal.sample_labels`;
    `metal.annotate_export(..., drawn=True)` hands them out. A larger number keeps the sources of a
    smaller one.

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

    from metal.api.read import folder_of, with_runs
    from metal.building.store import DRAWN as FILE
    from metal.building.store import FOLDER, note_drawn
    from metal.data.dataset import dataset_to_change
    from metal.data.people import people_named
    from metal.questions.bias.conditions import pivot_of
    from metal.questions.design.anchors import ANCHORS, anchor_contents, anchor_rows, draw_anchors

    folder = Path(data)
    with dataset_to_change(folder) as before:
        dataset = with_runs(before, [folder_of(run) for run in ratings])
        judges = sorted(name for name, rater in dataset.raters.items() if rater.kind != "human")
        check_known("judge", [judge] if judge else [], judges)
        check_languages(names(languages), dataset.languages)
        codes = tuple(names(languages) or dataset.languages)
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
    few = number > len(shared)
    warnings = (
        [
            f"{number:,} contents are needed, but only {len(shared):,} exist in every language, so"
            " all of these are drawn"
        ]
        if few
        else []
    )
    return Anchors(dataset, needed, pd.DataFrame(groups), folder / FOLDER / FILE, tuple(warnings))
