"""`metal.billboard_layout`: the table of a shared task."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import (
    Names,
    Option,
    Permutations,
    Progress,
    Seed,
    documented,
    names,
    no_progress,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.official.run import OfficialTable


@documented
def billboard_layout(
    data: Data,
    *ratings: Ratings,
    layout: Annotated[
        str,
        Option(
            "The table: wmt23, wmt24, wmt25, summarization, or a TOML file.", metavar="NAME|FILE"
        ),
    ],
    gold: Annotated[
        str,
        Option(
            "Criterion of the people's scores to compare with. [default: the layout's]",
            metavar="CRITERION",
        ),
    ] = "",
    languages: Annotated[
        Names, Option("Languages. [default: the layout's that the data have]", "-l")
    ] = (),
    raters: Annotated[
        Names, Option("Raters to add to the layout's list. [default: none]", "-r")
    ] = (),
    exact: Annotated[
        bool,
        Option(
            "Compare scores as floats, as WMT does: -25.200000000000003 does not tie with -25.2."
            " [default: as the layout says; WMT's do]"
        ),
    ] = False,
    permutations: Permutations = 1000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> OfficialTable:
    """Make the usual table of WMT (wmt23, wmt24, wmt25) or of papers on summarization.

    The table ranks the raters of `data` by the tasks and weights of `layout`. Each task compares
    raters with people's scores in one language, or in all together: by system (generators) or by
    segment (outputs), all together or within each source, generator, document or domain. The
    average weighs the tasks, each as a share of the range of its statistic. Ranks
    are WMT's significance clusters: a rater begins a new cluster if one of the current cluster is
    shown to be better (PERM-BOTH, p at most 0.05, not corrected for many pairs).

    As WMT does it, the reference that metrics use is not compared itself; people among the
    generators only where the layout says so; and a rater has a value in a task only if it scored
    everything that people did. Scores that a rater gave to whole generators count as they are; for
    others, METAL takes the means of their outputs.

    Args:
        data: A dataset folder, an EvalSet folder of WMT, a table of ratings, or a dataset from
            `metal.read`; `ratings` are runs whose ratings are added.
        progress: Called with the tasks done and the tasks in all.

    Returns:
        The tables `ranking`, `tasks` and `comparisons`, and the page. Nothing is written before
        `save`.

    Raises:
        UsageError: If there is nothing to compare.
        UnknownName: For a layout or another name that does not exist.
        DataError: For a fault in a layout of your own.

    Example:
        metal.billboard_layout("wmt23-metrics", layout="wmt23").ranking
    """
    from metal.boards.official.layout import find_layout
    from metal.boards.official.table import TableChoices, official_table
    from metal.questions.official.run import OfficialTable

    found_layout = find_layout(layout)
    inputs = load(data, ratings, reading)
    choices = TableChoices(
        found_layout,
        gold,
        names(languages),
        names(raters),
        exact,
        permutations,
        seed,
    )
    analysed = official_table(inputs.dataset, choices, progress or no_progress)
    tasks = hashlib.sha256(repr(found_layout).encode()).hexdigest()[:8]
    asked = {
        "layout": found_layout.name,
        "title": found_layout.title,
        "source": found_layout.source,
        "gold": gold or ", ".join(found_layout.gold),
        "languages": list(names(languages)),
        "raters": list(names(raters)),
        "exact": exact or found_layout.exact,
        "permutations": permutations,
        "seed": seed,
    }
    signed = {
        "layout": f"{found_layout.name}@{tasks}",
        "gold": asked["gold"],
        "langs": "+".join(names(languages)),
        "raters": "+".join(names(raters)),
        "exact": "yes" if asked["exact"] else "",
        "perm": permutations,
        "seed": seed,
    }
    ranked = analysed.tables["ranking"]["rater"]
    return inputs.result(OfficialTable, inputs.dataset, asked, analysed, ranked, signed)
