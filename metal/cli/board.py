"""`metal billboard` and its further views; `metal submit`, with which a generator or a metric joins
a board.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.cli.analysis import analysis
from metal.cli.board_views import crowd, references
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, CommandGroup, Other, Verb, WithDefault, verb
from metal.data.escaping import csv_text
from metal.data.text import recorded
from metal.runs.kinds import kind_of
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.questions.board.verb import Submitted


@verb(
    metal.billboard_apply,
    short_help="Score outputs with an ensemble.",
    more="""
        SIGNATURE is one such as ensemble.cnndm+refs.AB+version.1, or a part of it that only one ensemble has.

        \b
        OUTPUTS is one of
          a table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one
            for each member of the ensemble, scores as on the board (higher is
            better)
          a folder with ratings by the members: a dataset, or a run of `metal score`
          a table with the columns source and text, for sources of the board, which
            --board names: the members are run, where they can be

        The result is a CSV, printed unless --out names a file: output, score, and the reason where there is none.
    """,  # noqa: E501
    examples="""
        metal billboard apply ensemble.cnndm+refs.AB+version.1 runs/news-scores
        metal billboard apply ensemble.cnndm+refs.AB+version.1 new.jsonl --board datasets/cnndm
    """,
)
def apply(signature: str, outputs: Path, **options: Any) -> None:
    scores = metal.billboard_apply(signature, outputs, **options)
    table = scores.table
    if not options["out"]:
        click.echo(csv_text(table), nl=False)
        return
    without = int(table["score"].isna().sum())
    mean = f", mean {table['score'].mean():.4g}" if without < len(table) else ""
    missing = f"; {without:,} no score" if without else ""
    console.say(
        f"{scores.ensemble}: {len(table):,} outputs{mean}{missing}; written to {options['out']}"
    )


@verb(metal.billboard_history, AS_JSON, short_help="Show the board's versions.")
def history(data: Path, as_json: bool) -> None:
    versions = metal.billboard_history(data)
    if as_json:
        print_json(versions)
        return
    from metal.questions.board.page import WORDS

    rows = [
        [
            str(row["version"]),
            WORDS[row["what"]],
            row["name"],
            recorded(row["by"] or ""),
            row["at"][:16].replace("T", " "),
        ]
        for row in versions.to_dict("records")
    ]
    console.table(
        f"Versions of {data.resolve().name}",
        ["version", "what", "name", "by", "when (UTC)"],
        rows,
        keep=3,
    )


billboard = WithDefault(
    default=analysis(kind_of("billboard")),
    others=(
        Other(analysis(kind_of("billboard layout")), "--layout NAME", kept=True),
        Other(history, "--history"),
    ),
)
for command in (crowd, references, apply):
    billboard.add_command(command)


@click.group(cls=CommandGroup, short_help="Add a generator or a metric to a board.")
def submit() -> None:
    """Add a generator or a metric to BOARD, a dataset folder that `metal billboard` ranks.

    Every submission makes a new version of the board. Submissions are never changed or deleted: you
    can withdraw one, and `metal billboard BOARD --at VERSION` shows the board as it was.
    """


def _submission(function: Callable[..., Submitted], short_help: str, examples: str = "") -> Verb:
    """Make a command that prints the outcome of a submission and its rank."""

    @verb(function, short_help=short_help, examples=examples)
    def command(board: Path, **options: Any) -> None:
        with console.progress("submitting") as advance:
            result = function(board, progress=advance, **options)
        if options.get("to") or options.get("check"):
            _print_outcome(result)
        else:
            _print_submitted(result, board)

    return command


def _print_outcome(result: Submitted) -> None:
    """What a check, or a server, says of a submission."""
    console.say(f"{result.what} {result.name}: {result.not_ranked}", bold=True)
    for line in result.lines:
        console.say(f"  {line}")


def _print_submitted(result: Submitted, board: Path) -> None:
    from metal.questions.board.words import standing_lines

    if result.protections:
        console.say("Run apart: " + "; ".join(result.protections))
    console.say(
        f"{result.board} is at version {result.version}: {result.what} {result.name}", bold=True
    )
    for line in result.lines:
        console.say(f"  {line}")
    standing: list[str] = []
    if result.ranked:
        against = "all its people, since no `metal billboard` with --reference was run before"
        if result.reference:
            against = f"{result.reference}, as in the last `metal billboard` with --reference"
        console.say(f"  ranked against {against}")
        standing += standing_lines(result.ranked, result.name, result.earlier_ensembles)
        for line in standing:
            console.say(f"  {line}")
    else:
        console.say(f"  not ranked: {result.not_ranked}")
    if result.what == "generator" and not any("generators by" in line for line in standing):
        console.say(
            "  no rank: none of the raters that rank generators scored it. Hand in scores"
            " with --scores (withdraw it first), or let people rate it: metal annotate export"
            f" {board} -g {result.name}"
        )
    history = "" if result.ranked else "--history "
    console.say(f"Next: metal billboard {history}{board}", wrap=False)


for command in (
    _submission(
        metal.submit_generator,
        "A generator: its outputs.",
        """
        metal submit generator datasets/cnndm outputs.jsonl --name my-model --by 'A. Researcher'
        metal submit generator cnndm outputs.jsonl --name my-model --to https://boards.example.org
        """,
    ),
    _submission(
        metal.submit_metric,
        "A metric: a program, or scores.",
        """
        metal submit metric datasets/cnndm metric.py --name mine --by 'A. Researcher'
        metal submit metric datasets/cnndm comet.csv --name comet --signature 'Unbabel/wmt22-comet-da'
        """,  # noqa: E501
    ),
    _submission(metal.submit_withdraw, "Take a submission off the board."),
):
    submit.add_command(command)
