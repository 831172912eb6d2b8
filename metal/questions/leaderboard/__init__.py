"""Generators ranked by people."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="leaderboard",
    summary="Rank generators by people's ratings.",
    group="Rank",
    position=1,
    function="metal.questions.leaderboard.verb:leaderboard",
    run="metal.questions.leaderboard.run:Leaderboard",
    page="metal.questions.leaderboard.page:PAGE",
    ending="-leaderboard",
    doing="ranking",
    slices=("language", "criterion"),
    sliced="a ranking for each of these",
    more="""
        \b
        A generator that joins needs ratings of its own outputs only:
          1. add its outputs to DATASET
          2. metal annotate export DATASET --to html --generators NAME --sample 300
          3. metal annotate import DATASET ANSWERS...
          4. metal leaderboard DATASET --sample 300

        Everything is also written to the run folder: report.html, tables/ as CSV, JSON and
        Parquet, run.toml.
    """,
    examples="""
        metal leaderboard datasets/cnndm --reference group=crowd
        metal leaderboard datasets/pariksha --by language
        metal leaderboard datasets/news runs/news-scores --sample 300 --with-judges
    """,
    unit="rankings",
)
