"""`metal submit`: a generator or a metric joins a board, or is withdrawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import metal.api.submit as api
from metal.cli.verb import PATH, verb

BOARD = click.Argument(["board"], type=PATH)


@click.group(short_help="Add a generator or a metric to a board.")
def submit() -> None:
    """Add a generator or a metric to BOARD, a dataset folder that `metal billboard` ranks.

    Every submission is a new version of the board. Nothing that joined is ever changed or deleted: it can be withdrawn,
    and `metal billboard BOARD --at VERSION` shows the board as it was.
    """


@verb(
    api.submit_generator,
    BOARD,
    click.Argument(["outputs"], type=PATH),
    short_help="A generator: its outputs.",
    examples="metal submit generator datasets/cnndm outputs.jsonl --name my-model --by 'A. Researcher'",
)
def generator(board: Path, outputs: Path, **options: Any) -> None:
    _submit(api.submit_generator, board, outputs, **options)


@verb(
    api.submit_metric,
    BOARD,
    click.Argument(["metric"], type=PATH),
    short_help="A metric: a program, or scores.",
    examples="""
        metal submit metric datasets/cnndm metric.py --name mine --by 'A. Researcher'
        metal submit metric datasets/cnndm comet.csv --name comet --signature 'Unbabel/wmt22-comet-da'
    """,
)
def metric(board: Path, metric: Path, **options: Any) -> None:
    _submit(api.submit_metric, board, metric, **options)


@verb(api.submit_withdraw, BOARD, click.Argument(["name"]), short_help="Take a submission off the board.")
def withdraw(board: Path, name: str, **options: Any) -> None:
    _submit(api.submit_withdraw, board, name, **options)


for command in (generator, metric, withdraw):
    submit.add_command(command)


def _submit(call: Callable[..., api.Submitted], /, board: Path, *arguments: Any, **options: Any) -> None:
    """Call the public function, and print what came of it and where the submission stands now."""
    from metal.show.board.words import standing_lines
    from metal.show.terminal import console as show

    with show.progress("submitting") as advance:
        result = call(board, *arguments, progress=advance, **options)
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
