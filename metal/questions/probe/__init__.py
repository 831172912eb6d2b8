"""What judges are blind to."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="probe report",
    summary="Test judges with planted errors, without people.",
    group="Trust",
    position=3,
    function="metal.questions.probe.verb:probe_report",
    run="metal.questions.probe.run:ProbeReport",
    page="metal.questions.probe.page:PAGE",
    verb="metal.cli.probes:probe",
    ending="-report",
    doing="comparing outputs",
    examples="""
        metal probe report datasets/mine-probes runs/mine-probes-judges
        metal probe report datasets/mine-probes runs/mine-probes-judges --json | jq .probes
    """,
    unit="%",
)
