"""Whether a run's figures agree with those of well-known libraries."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="verify",
    summary="Recompute a run's figures with other libraries.",
    group="Trust",
    position=1,
    function="metal.questions.verify.verb:verify",
    run="metal.questions.verify.run:Verified",
    ending="-verify",
    page="metal.questions.verify.page:PAGE",
    verb="metal.cli.verify:verify",
    doing="recomputing",
    unit="rows",
)
