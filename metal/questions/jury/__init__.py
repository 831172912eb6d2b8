"""Several judges combined into one."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="jury",
    summary="Combine several judges into one.",
    group="Judges",
    function="metal.questions.jury.verb:jury",
    run="metal.questions.jury.run:Jury",
    page="metal.questions.jury.page:PAGE",
    ending="-jury",
    doing="combining",
    examples="""
        metal jury datasets/news runs/news-judges
        metal jury datasets/news runs/news-judges -j gpt-4o/detailed,llama/detailed --by weights
    """,
    files="report.html, tables/ (CSV, JSON, Parquet), run.toml, ratings.parquet",
)
