"""Whether a judge is right as often as a person, decided by somebody who knows."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="adjudicate report",
    summary="Have forty disputed outputs decided by somebody who knows.",
    group="Trust",
    position=0,
    function="metal.questions.adjudicate.verb_report:adjudicate_report",
    run="metal.questions.adjudicate.run:Adjudicated",
    page="metal.questions.adjudicate.page:PAGE",
    verb="metal.cli.adjudications:adjudicate",
    ending="-report",
    doing="comparing with the answers",
    examples="""
        metal adjudicate report runs/mine-adjudicate returned/*.json
        metal adjudicate report runs/mine-adjudicate --json | jq .adjudicated
    """,
)
