"""What judges may be used for, and until when."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="passport",
    summary="Record what judges may be used for, and until when.",
    group="Trust",
    position=6,
    function="metal.questions.passport.verb:passport",
    run="metal.questions.passport.run:Passport",
    ending="-passport",
    page="metal.questions.passport.page:PAGE",
    verb="metal.cli.passport:passport",
    doing="reading",
    unit="%",
)
