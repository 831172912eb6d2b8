"""How often each rater gives the best mark."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="top-marks",
    summary="Say how often each rater gives the best mark.",
    group="Rank",
    function="top_marks.verb:top_marks",
    run="top_marks.run:TopMarks",
    page="top_marks.page:PAGE",
    ending="-top-marks",
    doing="counting",
    examples="metal top-marks datasets/demo",
)
