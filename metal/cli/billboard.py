"""`metal billboard`: raters ranked by how they agree with people, generators by the raters that agree best."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from metal.cli import options
from metal.cli.billboard_apply import apply
from metal.cli.billboard_crowd import crowd
from metal.cli.billboard_references import references
from metal.cli.with_default import WithDefault


@click.command("billboard")
@options.dataset
@options.more_ratings
@click.option("--out", type=click.Path(path_type=Path), help="Run folder to write. [default: runs/DATASET-board]")
@click.option(
    "--reference",
    default="",
    metavar="PEOPLE",
    help="Whom to agree with: group=expert, or rater=A1,A2. Everybody else is a rater. [default: all people]",
)
@options.names("--criteria", "-c", what="Criteria, or overall; default all, and overall.")
@options.names("--languages", "-l", what="Languages; default all, together and each.")
@options.names("--raters", "-r", what="Raters on the board; default all in the data.")
@click.option(
    "--by",
    "slices",
    multiple=True,
    type=click.Choice(["language", "criterion", "generator"]),
    help="Show the correlations by this as well (all are in the tables).",
)
@click.option("--common", is_flag=True, help="Compare on the outputs that every rater scored.")
@options.names("--members", what="Kinds of rater the ensemble is made of. [default: metric]")
@click.option(
    "--nonzero", default=3, show_default=True, type=click.IntRange(1, 50), metavar="K", help="Members of the ensemble."
)
@click.option("--alpha", type=float, help="The lasso's alpha. [default: from the interval that gives K members]")
@click.option(
    "--alpha-rule",
    "rule",
    default="smallest",
    show_default=True,
    type=click.Choice(["smallest", "middle"]),
    help="Which alpha of the interval.",
)
@options.names("--human", what="Generators that are people, for overrating.")
@click.option(
    "--family", "families", multiple=True, metavar="GENERATOR=FAMILY", help="Whose model a generator is, e.g. gpt."
)
@options.exclude_noisy
@click.option("--at", type=click.IntRange(min=1), metavar="VERSION", help="The board as it was at this version.")
@options.bootstrap
@options.permutations
@options.seed
@options.as_json
@options.force
def board(
    dataset: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    slices: tuple[str, ...],
    members: tuple[str, ...],
    human: tuple[str, ...],
    families: tuple[str, ...],
    at: int | None,
    as_json: bool,
    force: bool,
    **given: Any,
) -> None:
    """Rank the raters of DATASET by how they agree with people, and its generators by the raters that agree best.

    Raters are automatic metrics, LLM judges, other people (a group counts as one) and baselines. They are ranked by
    instance-level Pearson correlation with the mean of the reference people; beside it stand its 95% interval, rank
    correlations, correlation between generators, soft pairwise accuracy, pairwise accuracy with ties, and clusters of
    raters that permutation tests cannot tell apart. A sparse ensemble of metrics is fitted and shown as it does on
    generators that it has not seen. Where people are among the generators, the board says who overrates machines.

    RATINGS are run folders (from `metal judge` and `metal score`, or an audit's) whose ratings are added. Everything
    is also written to the run folder: report.html, tables/ as CSV, JSON and Parquet, ensembles.json, run.toml.

    DATASET keeps its history in board/: it gets a new version whenever its data change or something is submitted
    (`metal submit`), and --at shows what it was like.

    \b
    Examples:
      metal billboard datasets/cnndm --reference group=expert
      metal billboard datasets/news runs/news-judges runs/news-scores --by language
      metal billboard datasets/cnndm --reference group=expert -c coherence --common
    """
    from metal.boards.board import billboard as run
    from metal.boards.settings import BoardSettings
    from metal.boards.store import keep_settings, open_board, store_ensembles, stored_ensembles
    from metal.cli.import_ import pair
    from metal.data.folders import check_new
    from metal.genie.excluding import warnings_of_tests, with_exclusions, without_noisy
    from metal.runs.board_run import write_board
    from metal.runs.manifest import manifest
    from metal.runs.parts import records
    from metal.show.terminal import billboard_text
    from metal.show.terminal import console as show

    out = out or Path("runs") / f"{dataset.resolve().name}-board"
    check_new(out, force=force)
    opened = open_board(dataset, at)
    settings = BoardSettings(
        members=members or ("metric",),
        human_generators=human,
        families=dict(pair("--family", text) for text in families),
        version=opened.version,
        **given,
    )
    whole_board = options.with_runs(opened.dataset, ratings)
    loaded, excluded = without_noisy(whole_board, dataset, ratings, settings.exclude_noisy)
    with show.progress("ranking") as advance:
        found = run(loaded, settings, stored=stored_ensembles(dataset), progress=advance)
    told = warnings_of_tests(whole_board, dataset, ratings)
    found = with_exclusions(found, excluded, told)
    kept = opened.recorded and store_ensembles(dataset, list(found.ensembles.values()))
    if at is None and kept:
        keep_settings(dataset, settings)
    about = manifest("billboard", loaded, [dataset, *ratings], settings.to_dict(), found.raters, found.signature)
    write_board(out, found, loaded, about, opened.entries[: opened.version], force=force)
    if as_json:
        whole: dict[str, Any] = {"signature": found.signature, "run": str(out), "version": opened.version}
        whole |= {"warnings": list(found.warnings), "ensembles": found.ensembles}
        whole |= {name: records(table) for name, table in found.tables.items()}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    billboard_text.show_board(found, loaded, slices)
    if not kept:
        show.say(f"{dataset} cannot be written: this version and its ensembles are in {out} only")
    show.say(f"Report: {out / 'report.html'}", wrap=False)
    show.say(f"Written to {out}: report.html, tables/ (CSV, JSON, Parquet), ensembles.json, run.toml", wrap=False)


@click.command("history", short_help="What joined when.")
@options.dataset
@options.as_json
def history(dataset: Path, as_json: bool) -> None:
    """Show the versions of DATASET: what joined, what was withdrawn, when its data changed."""
    import json

    from metal.boards.store import open_board
    from metal.show.terminal import console as show

    opened = open_board(dataset)
    if as_json:
        click.echo(json.dumps([entry.to_dict() for entry in opened.entries], indent=1, ensure_ascii=False))
        return
    rows = [
        [
            str(entry.version),
            entry.what,
            entry.name or opened.base.card.name,
            entry.by or "",
            entry.at[:16].replace("T", " "),
        ]
        for entry in opened.entries
    ]
    show.table(f"Versions of {opened.base.card.name}", ["version", "what", "name", "by", "when (UTC)"], rows, keep=3)


billboard = WithDefault(default=board, short_help="Rank judges, people and metrics, and generators.")
for verb in (crowd, references, apply, history):
    billboard.add_command(verb)
