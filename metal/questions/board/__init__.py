"""Judges, people and metrics on one board, and the generators they rate."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="billboard",
    summary="Rank raters (judges, metrics) and generators; WMT's tables.",
    group="Rank",
    position=0,
    function="metal.questions.board.verb:billboard",
    run="metal.questions.board.run:Billboard",
    page="metal.questions.board.page:PAGE",
    verb="metal.cli.board:billboard",
    ending="-board",
    doing="ranking",
    slices=("language", "criterion", "generator"),
    sliced="the correlations by this",
    more="""
        Everything is also written to the run folder: report.html, tables/ as CSV, JSON and
        Parquet, ensembles.json, run.toml.
    """,
    examples="""
        metal billboard datasets/cnndm --reference group=expert
        metal billboard datasets/news runs/news-judges runs/news-scores --by language
        metal billboard datasets/cnndm --reference group=expert -c coherence --common
    """,
    files="report.html, tables/ (CSV, JSON, Parquet), ensembles.json, run.toml",
)
