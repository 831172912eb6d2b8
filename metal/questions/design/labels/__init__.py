"""How many labels corrected scores need if a judge helps."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="design labels",
    summary="Plan labels for corrected scores.",
    function="metal.questions.design.labels.verb:design_labels",
    run="metal.questions.design.labels.run:LabelPlan",
    page="metal.questions.design.labels.page:PAGE",
    verb="metal.cli.analyses:design",
    ending="-labels",
    doing="planning",
    examples="""
        metal design --for scores datasets/mlqe --half-width 0.03
        metal design --for scores datasets/mlqe --budget 500 --pay 0.2 --judge-price 0.002
    """,
)
