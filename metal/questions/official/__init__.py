"""The table of a shared task: WMT's official results, or any other declared tasks."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="billboard layout",
    summary="Make the usual table of a field: WMT, summarization.",
    group="Rank",
    function="metal.questions.official.verb:billboard_layout",
    run="metal.questions.official.run:OfficialTable",
    page="metal.questions.official.page:PAGE",
    verb="metal.cli.board:billboard",
    ending="-table",
    doing="computing tasks",
    unit="tasks",
    examples="""
        metal billboard wmt23-metrics --layout wmt23
        metal billboard datasets/wmt --layout wmt24 -l en-de -r my-metric
        metal billboard datasets/summaries --layout summarization
        metal billboard datasets/news --layout layouts/ours.toml --gold coherence
    """,
)
