"""What people would say on average, estimated from a few labels and a judge."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="correct",
    summary="Estimate people's means from few labels and a judge.",
    group="Trust",
    position=5,
    function="metal.questions.correct.verb:correct",
    run="metal.questions.correct.run:CorrectedScores",
    page="metal.questions.correct.page:PAGE",
    ending="-corrected",
    doing="correcting",
    examples="""
        metal correct datasets/mlqe --labels 40
        metal correct datasets/news runs/news-judges -c task_quality --json | jq .corrected
    """,
)
