"""Whether a judge has changed."""

from metal.runs.kinds import Kind

DIFF = Kind(
    command="diff",
    summary="Compare judges with an earlier run.",
    function="metal.questions.drift.verb_diff:diff",
    run="metal.questions.drift.run:Diff",
    page="metal.questions.drift.page:PAGE",
    verb="metal.cli.drift:diff",
)

GATE = Kind(
    command="gate",
    summary="Fail a build when a judge has changed.",
    group="In use",
    function="metal.questions.drift.verb_gate:gate",
    run="metal.questions.drift.run:Gate",
    page="metal.questions.drift.page:PAGE",
    verb="metal.cli.drift:gate",
)
