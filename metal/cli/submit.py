"""`metal submit`: a generator or a metric joins a board, or is withdrawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

board = click.argument("board", type=click.Path(path_type=Path))
by = click.option("--by", default="", help="Who submits it. [default: anonymous]")


@click.group(short_help="Add a generator or a metric to a board.")
def submit() -> None:
    """Add a generator or a metric to BOARD, a dataset folder that `metal billboard` ranks.

    Every submission is a new version of the board. Nothing that joined is ever changed or deleted: it can be withdrawn,
    and `metal billboard BOARD --at VERSION` shows the board as it was.
    """


@submit.command(short_help="A generator: its outputs.")
@board
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The generator's name on the board.")
@by
@click.option("--human", is_flag=True, help="People wrote these.")
@click.option("--family", default="", help="Whose model it is (gpt, gemini, ...), for self-preference.")
@click.option("--allow-missing", is_flag=True, help="Take outputs for some of the sources only.")
@click.option(
    "--scores", type=click.Path(path_type=Path), metavar="FILE", help="Their scores by metrics that cannot be run here."
)
def generator(board: Path, outputs: Path, **given: Any) -> None:
    """Add the generator whose outputs are in OUTPUTS: a text for each source of BOARD.

    OUTPUTS is JSONL, CSV, TSV, Parquet or XLSX with the columns source and text (Billboard's seg_id and hyp do as
    well). All sources of the languages in it have to be there once. Every metric of the board that can be run here
    scores them: METAL's own, and programs that were submitted. Scores by others, such as COMET in its own environment,
    are handed in with --scores: a table with the column source and one for each metric, as on the board (higher is
    better). The rest are named.

    \b
    Example:
      metal submit generator datasets/cnndm outputs.jsonl --name my-model --by 'A. Researcher'
    """
    _submit("generator", board, outputs, **given)


@submit.command(short_help="A metric: a program, or scores.")
@board
@click.argument("metric", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The metric's name on the board.")
@by
@click.option(
    "--direction",
    type=click.Choice(["higher", "lower"]),
    help="Which scores are better. [default: as the program says]",
)
@click.option("--function", default="score", show_default=True, help="The program's function.")
@click.option("--signature", default="", metavar="TEXT", help="What scores of a table depend on: model, version.")
@click.option("--reads", type=click.Path(path_type=Path), multiple=True, help="A file or folder the program may read.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True, help="Its time."
)
@click.option("--memory", type=click.IntRange(min=64), default=4096, show_default=True, help="Its memory in MB.")
def metric(board: Path, metric: Path, **given: Any) -> None:
    """Add a metric: METRIC is a program (metric.py), or a table of scores (CSV, TSV, JSONL, Parquet, XLSX).

    A program is a Python file with a function score(output, ...) as `metal metric --help` shows. It runs in a process
    of its own, with a limit on time and memory, and, as far as this system allows, without a network and without any
    file but its own, those of --reads and Python's. It is kept with the board, and scores generators that join later.

    A table has the columns output and score, or source, generator and score.

    \b
    Examples:
      metal submit metric datasets/cnndm metric.py --name mine --by 'A. Researcher'
      metal submit metric datasets/cnndm comet.csv --name comet --signature 'Unbabel/wmt22-comet-da'
    """
    _submit("metric", board, metric, **given)


@submit.command(short_help="Take a submission off the board.")
@board
@click.argument("name")
@by
def withdraw(board: Path, name: str, by: str) -> None:
    """Take the submission NAME off BOARD. It stays in the history, and in every version it was part of."""
    _submit("withdraw", board, name, by=by)


def _submit(what: str, board: Path, *arguments: Any, **given: Any) -> None:
    """Call submit_generator, submit_metric or submit_withdraw, and print what came of it and where it stands now."""
    from metal.api import submit as api
    from metal.show.terminal import console as show
    from metal.show.terminal.billboard_text import standing_lines

    with show.progress("submitting") as advance:
        result: api.Submitted = getattr(api, f"submit_{what}")(board, *arguments, progress=advance, **given)
    if result.protections:
        show.say("Run apart: " + "; ".join(result.protections))
    show.say(f"{result.board} is at version {result.version}: {result.what} {result.name}", bold=True)
    for line in result.lines:
        show.say(f"  {line}")
    if not result.by_settings:
        show.say("  ranked against all its people, as no `metal billboard` with --reference has said against whom")
    standing = list(standing_lines(result.ranked, result.name, result.earlier_ensembles)) if result.ranked else []
    for line in standing if result.ranked else [f"not ranked: {result.not_ranked}"]:
        show.say(f"  {line}")
    if result.what == "generator" and not any("generators by" in line for line in standing):
        show.say(
            "  no rank: no rater that generators are ranked by scored it. Hand in scores with --scores (withdraw it "
            f"first), or let metrics join that score all generators: metal score {board} --metric chrf --into"
        )
    show.say(f"Next: metal billboard {board}", wrap=False)
