"""`metal gate`: compare judges with an earlier run, in two runs, in a gate's run or in a stream;
`metal gate init`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.analysis import check_one_way, show_run
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, PATH, VERBOSE, Other, WithDefault, verb
from metal.cli.verb import out as out_option
from metal.data.replacing import check_new, check_new_file, replace_file
from metal.data.tables.files import is_table
from metal.data.text import without_ending
from metal.show.terminal import console
from metal.show.view import Paragraph

MOST_STREAMS = 8
MOST_E = 1_000_000
AT_THE_END = (VERBOSE, AS_JSON, AS_MARKDOWN, FORCE)


def _compare(
    function: Callable[..., Any],
    run: Path,
    out: Path | None,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    force: bool,
    junit: Path | None = None,
    **options: Any,
) -> None:
    """Print what has changed and save it, by default to runs/RUN-VERB; the verdict of a gate
    becomes the exit code.
    """
    from metal.runs.parts import command_of
    from metal.show.pages import page

    check_one_way(as_json, as_markdown)
    ending = function.__name__
    name = without_ending(run.name) if run.is_file() else run.resolve().name
    folder = out or Path("runs") / f"{name}-{ending}"
    again = command_of(folder) == ending
    check_new(folder, ending, force=force, again=again)
    if junit:
        check_new_file(junit, _is_junit, force=True)
    with console.progress("comparing"):
        result = function(run=run, **options)
    with console.progress("drawing") as advance:
        result.write(folder, page, force=force, again=again, progress=advance)
    if junit:
        replace_file(junit, result.junit())
    gated = function is metal.gate
    show_run(result, folder, verbose, as_json, as_markdown, facts=result.more_facts())
    if gated:
        sys.exit(result.exit_code)


def _is_junit(path: Path) -> bool:
    return b"<testsuite" in path.read_bytes()[:500]


diff = verb(
    metal.diff,
    out_option("runs/RUN-diff"),
    *AT_THE_END,
    examples="""
        metal gate runs/today runs/last-week
        metal gate runs/new-model runs/old-model -j openai:gpt-4.1/detailed=openai:gpt-4o/detailed
    """,
)(partial(_compare, metal.diff))
gated = verb(
    metal.gate,
    out_option("runs/RUN-gate"),
    click.Option(
        ["--junit"], type=PATH, metavar="FILE", help="Also write the result as JUnit XML."
    ),
    *AT_THE_END,
    more="""
        Exit code 0: equivalent; 1: worse or different; 2: the gate, the run or the anchors cannot be used;
        3: undecided.
    """,  # noqa: E501
    examples="""
        metal gate init datasets/anchors runs/baseline
        metal gate gate.toml runs/today --junit gate.xml
    """,
)(partial(_compare, metal.gate))


@verb(
    metal.gate_init,
    short_help="Write a gate: anchors, baseline and margins.",
    examples="metal gate init datasets/anchors runs/baseline --margin 0.1 --mean-margin 0.1",
)
def init(out: Path, **options: Any) -> None:
    with console.progress("reading"):
        lines = metal.gate_init(out=out, **options)
    console.say(f"Written: {out}", wrap=False)
    for line in lines:
        console.say(line)


@verb(
    metal.gate_watch,
    AS_JSON,
    short_help="Watch a judge in use, batch by batch.",
    more="Exit code 0: no drift; 1: an alarm.",
    examples="metal gate --watch gate.toml runs/today --state watch.jsonl",
)
def watch(as_json: bool, **options: Any) -> None:
    from metal.data.languages import language_name
    from metal.data.text import count, figure, name, plural

    with console.progress("watching"):
        watched = metal.gate_watch(**options)
    if as_json:
        summary = {
            "headline": watched.headline,
            "promise": watched.promise,
            "threshold": watched.threshold,
        }
        print_json(summary | {"streams": watched.streams})
    else:
        console.show(Paragraph(watched.headline, strong=True))
        begun = watched.begun
        judged = ["judge"] if begun["judge"].nunique() > 1 else []
        rows = [
            [
                row["what"],
                *(name(row[key]) for key in judged),
                name(language_name(row["language"])),
                name(watched.titles[row["criterion"]]),
                figure(row["e_value"], ",.2f") if row["e_value"] < MOST_E else f">{MOST_E:,}",
                count(row["alarm"] or None),
                count(row["steps"]),
                figure(row["mean"]),
                figure(row["least"]),
            ]
            for row in begun.to_dict("records")
        ]
        heads = [
            "what",
            *judged,
            "language",
            "criterion",
            "e-value",
            "alarm at",
            "steps",
            "mean",
            "least",
        ]
        note = f"The {MOST_STREAMS} of {len(rows)} that are nearest to an alarm; --json has all."
        console.table(
            "Streams",
            heads,
            rows[:MOST_STREAMS],
            keep=3 + len(judged),
            note=note if rows[MOST_STREAMS:] else "",
        )
        console.say(
            f"{plural(watched.taken, 'step')} taken now. An e-value of {watched.threshold:,.0f} is"
            " an alarm."
        )
        console.say(watched.promise)
    sys.exit(watched.exit_code)


def _are_runs(args: Sequence[str]) -> bool:
    """Whether the arguments name runs or tables, but no gate file."""
    named = [Path(arg) for arg in args if Path(arg).exists()]
    return bool(named) and all(path.is_dir() or is_table(path) for path in named)


gate = WithDefault(
    default=gated, others=(Other(watch, "--watch"), Other(diff, meant=_are_runs)), name="gate"
)
gate.add_command(init)
