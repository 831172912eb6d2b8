"""Texts that models wrote."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="generate",
    summary="Write good and bad summaries.",
    group="Build",
    position=1,
    function="metal.questions.generate.verb:generate",
    run="metal.questions.generate.run:GeneratedTexts",
    page="metal.questions.generate.page:PAGE",
    verb="metal.cli.judging:generate",
)
