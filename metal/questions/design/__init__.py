"""How many ratings a verdict or a score needs."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="design",
    summary="Plan how many items and people you need, and the cost.",
    group="Build",
    position=3,
    function="metal.questions.design.verb:design",
    run="metal.questions.design.run:Design",
    page="metal.questions.design.page:PAGE",
    verb="metal.cli.analyses:design",
    ending="-design",
    doing="planning",
    more="""
        The run folder gets report.html with charts, tables/ as CSV, JSON and Parquet, and run.toml.
    """,
    examples="""
        metal design datasets/pariksha -l hi -c task_quality
        metal design datasets/news runs/news-judges --width 0.1 --pay 0.5
        metal design datasets/cnndm --reference group=crowd -k 1,3,5 --json | jq .needs
        metal design datasets/mlqe --for scores
    """,
    unit="%",
)
