"""`metal leaderboard`: generators ranked by people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from metal.cli import options


@click.command(short_help="Rank generators by people.")
@options.dataset
@options.more_ratings
@click.option("--out", type=click.Path(path_type=Path), help="Run folder to write. [default: runs/DATASET-leaderboard]")
@click.option(
    "--reference",
    default="",
    metavar="PEOPLE",
    help="Whose ratings count: group=crowd, or rater=A1,A2. [default: all people]",
)
@options.names("--criteria", "-c", what="Criteria that count, also for overall; default all whose scale has ends.")
@options.names("--languages", "-l", what="Languages; default all, together and each.")
@click.option(
    "--by",
    "slices",
    multiple=True,
    type=click.Choice(["language", "criterion"]),
    help="Show a ranking for each of these as well (all are in the tables).",
)
@click.option(
    "--aggregate",
    default="mean",
    show_default=True,
    type=click.Choice(["mean", "majority"]),
    help="How several labels of one output become its score.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Score N sources a language, at random by --seed and the same for every generator. [default: all]",
)
@click.option("--with-judges", is_flag=True, help="Put LLM judges beside people, as metrics are.")
@options.bootstrap
@options.permutations
@options.exclude_noisy
@options.seed
@options.as_json
@options.force
def leaderboard(
    dataset: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    slices: tuple[str, ...],
    as_json: bool,
    force: bool,
    **given: Any,
) -> None:
    """Rank the generators of DATASET by what people gave their outputs.

    Scores are shares of the scale, 0 the worst and 1 the best: five Likert levels are 0, .25, .5, .75, 1. Labels of
    an output are averaged, then outputs; overall is the mean of the criteria. Beside a score stand its 95% interval by
    source, its standard error and what that is at most, and a cluster: within one, nobody is shown to be worse than
    its first, by paired permutation tests on shared sources. Generators that different groups of people rated are not
    compared: --reference takes one group. Automatic metrics stand beside, on the same outputs.

    \b
    A generator that joins needs ratings of its own outputs only:
      1. add its outputs to DATASET
      2. metal annotate export DATASET --to html --generators NAME --sample 300
      3. metal annotate import DATASET ANSWERS...
      4. metal leaderboard DATASET --sample 300

    The sample is drawn by --seed; growing it keeps the sources that were in it. RATINGS are run folders (from `metal
    judge` and `metal score`) whose ratings are added. Everything is also written to the run folder: report.html,
    tables/ as CSV, JSON and Parquet, run.toml.

    \b
    Examples:
      metal leaderboard datasets/cnndm --reference group=crowd
      metal leaderboard datasets/pariksha --by language
      metal leaderboard datasets/news runs/news-scores --sample 300 --with-judges
    """
    import json

    from metal.data.folders import check_new
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy
    from metal.genie.leaderboard.cautions import about_size
    from metal.genie.leaderboard.leaderboard import leaderboard as run
    from metal.genie.leaderboard.settings import LeaderboardSettings
    from metal.runs.leaderboard_run import write_leaderboard
    from metal.runs.manifest import manifest
    from metal.runs.parts import records
    from metal.show.terminal import console as show
    from metal.show.terminal import leaderboard_text

    out = out or Path("runs") / f"{dataset.resolve().name}-leaderboard"
    check_new(out, force=force)
    settings = LeaderboardSettings(**given)
    whole_dataset = options.load(dataset, ratings)
    loaded, excluded = without_noisy(whole_dataset, dataset, ratings, settings.exclude_noisy)
    with show.progress("ranking") as advance:
        found = run(loaded, settings, advance)
    told = warnings_of_tests(whole_dataset, dataset, ratings)
    board = found.tables["leaderboard"]
    main = board[(board["criterion"] == found.main) & (board["language"] == board["language"].iloc[0])]
    sizes = about_size(main["sources"].tolist(), found.people)
    found = with_exclusions(replace(found, warnings=(*found.warnings, *sizes)), excluded, told)
    raters = (*found.people, *found.beside)
    about = manifest("leaderboard", loaded, [dataset, *ratings], settings.to_dict(), raters, found.signature)
    write_leaderboard(out, found, loaded, about, force=force)
    if as_json:
        whole: dict[str, Any] = {"signature": found.signature, "run": str(out), "main": found.main}
        whole |= {"warnings": list(found.warnings)}
        whole |= {name: records(table) for name, table in found.tables.items()}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    leaderboard_text.show_leaderboard(found, loaded, dataset, slices)
    show.say(f"Report: {out / 'report.html'}", wrap=False)
    show.say(f"Written to {out}: report.html, tables/ (CSV, JSON, Parquet), run.toml", wrap=False)
