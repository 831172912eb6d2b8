"""Languages in which judges lean: score higher or lower than elsewhere for equal quality."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="bias language",
    summary="Find languages in which judges are too lenient.",
    group="Trust",
    position=2,
    function="metal.questions.bias.verb:bias_language",
    run="metal.questions.bias.run:LanguageBias",
    page="metal.questions.bias.page:PAGE",
    verb="metal.cli.bias:bias",
    ending="-bias",
    doing="comparing languages",
    examples="""
        metal bias datasets/mlqe
        metal bias datasets/pariksha -c task_quality --json | jq .language_bias
    """,
    unit="%",
)
