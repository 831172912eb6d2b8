"""`metal.top_marks` and `metal top-marks`: the options and the help are the function's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from metal.api.options import Option, Progress, documented
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.data.analysed import Analysed
from metal.errors import UsageError
from top_marks.compute import top_shares
from top_marks.run import TopMarks

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings


@documented
def top_marks(
    data: Data,
    *ratings: Ratings,
    least: Annotated[int, Option("Leave out raters with fewer ratings.", metavar="N", least=1)] = 1,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> TopMarks:
    """Count how often each rater of `data` gives the best mark.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`;
    `ratings` are run folders whose ratings are added. progress: called with the parts done and the
    parts in all.

    Returns the table `top_marks` and the page. Raises UsageError where nobody has that many
    ratings.
    """
    inputs = load(data, ratings, reading)
    table = top_shares(inputs.dataset)
    table = table[table["ratings"] >= least]
    if table.empty:
        raise UsageError(f"nobody has `least={least}` ratings of a criterion; take fewer")
    made = Analysed({"top_marks": table}, ())
    return inputs.result(TopMarks, inputs.dataset, {"least": least}, made, table["rater"])
