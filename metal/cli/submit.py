"""`metal submit`: a generator or a metric joins a board, or is withdrawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metal.boards.history import Entry
    from metal.boards.store import OpenBoard

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
    from metal.boards.submitting import submit_generator

    _report(submit_generator(board, outputs, **given), board)


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
    from metal.boards.submitting import submit_metric

    _report(submit_metric(board, metric, **given), board)


@submit.command(short_help="Take a submission off the board.")
@board
@click.argument("name")
@by
def withdraw(board: Path, name: str, by: str) -> None:
    """Take the submission NAME off BOARD. It stays in the history, and in every version it was part of."""
    from metal.boards.submitting import withdraw as take_off

    _report(take_off(board, name, by), board)


def _report(after: tuple[OpenBoard, list[str]], board: Path) -> None:
    """What came of a submission, and where it stands now."""
    from metal.show.terminal import console as show

    opened, lines = after
    entry = opened.entries[-1]
    show.say(f"{opened.base.card.name} is at version {entry.version}: {entry.what} {entry.name}", bold=True)
    for line in lines:
        show.say(f"  {line}")
    ranked = list(_standing(opened, entry))
    for line in ranked:
        show.say(f"  {line}")
    if entry.what == "generator" and not any("generators by" in line for line in ranked):
        show.say(
            "  no rank: no rater that generators are ranked by scored it. Hand in scores with --scores (withdraw it "
            f"first), or let metrics join that score all generators: metal score {board} --metric chrf --into"
        )
    show.say(f"Next: metal billboard {board}", wrap=False)


def _standing(opened: OpenBoard, entry: Entry) -> Iterator[str]:
    """The new board in a few lines: the newcomer's place, the ensemble, who is overrated."""
    from dataclasses import replace

    from metal.boards.board import billboard
    from metal.boards.cells import cells, main_criterion
    from metal.boards.store import is_told, kept_settings, store_ensembles, stored_ensembles
    from metal.errors import MetalError
    from metal.genie.excluding import without_noisy
    from metal.show.board.standing import standing_lines
    from metal.show.terminal import console as show

    if not is_told(opened.folder):
        yield "ranked against all its people, as no `metal billboard` with --reference has said against whom"
    stored = stored_ensembles(opened.folder)
    try:
        settings = kept_settings(opened.folder, opened.version)
        dataset, _ = without_noisy(opened.dataset, opened.folder, (), settings.exclude_noisy)
        shown = main_criterion([cell.criterion for cell in cells(dataset, settings)])
        settings = replace(settings, criteria=(shown,))
        with show.progress("ranking") as advance:
            found = billboard(dataset, settings, stored=stored, progress=advance)
    except MetalError as error:  # the submission stands; only its rank is not known
        yield f"not ranked: {error}"
        return
    store_ensembles(opened.folder, list(found.ensembles.values()))
    yield from standing_lines(found, entry.name, {str(one["ensemble"]) for one in stored})
