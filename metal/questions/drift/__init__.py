"""Whether a judge is still what it was."""

from metal.runs.kinds import Kind

DIFF = Kind(
    command="diff",
    summary="Compare judges with what they were.",
    function="metal.questions.drift.verb_diff:diff",
    run="metal.questions.drift.run:Diff",
    page="metal.questions.drift.page:PAGE",
    verb="metal.cli.drift:diff",
)

GATE = Kind(
    command="gate",
    summary="Stop where a judge is no longer what it was.",
    function="metal.questions.drift.verb_gate:gate",
    run="metal.questions.drift.run:Gate",
    page="metal.questions.drift.page:PAGE",
    verb="metal.cli.drift:gate",
)
