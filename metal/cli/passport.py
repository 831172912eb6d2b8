"""`metal passport`: write the passport of an audit's judges to a run folder with a page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.analysis import check_one_way, save_of_run
from metal.cli.printing import print_json, show_parts
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, verb
from metal.cli.verb import out as out_option
from metal.show.terminal import console


@verb(
    metal.passport,
    out_option("runs/RUN-passport"),
    VERBOSE,
    AS_JSON,
    AS_MARKDOWN,
    FORCE,
    examples="""
        metal passport runs/demo
        metal passport runs/news runs/news-bias --days 90 --out runs/news-passport
        metal judge datasets/more -j openai:gpt-4o --require runs/news-passport
    """,
)
def passport(
    run: Path,
    runs: tuple[Path, ...],
    out: Path | None,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    force: bool,
    **options: Any,
) -> None:
    from metal.runs.passport import FILE
    from metal.show.markdown import markdown
    from metal.show.pages import screen

    check_one_way(as_json, as_markdown)
    issue = partial(metal.passport, run, *runs, **options)
    issued, folder = save_of_run("passport", run, out, force, lambda progress: issue())
    if as_json:
        print_json(issued.content)
        return
    if as_markdown:
        click.echo(markdown(screen(issued, verbose=verbose)), nl=False)
        return
    show_parts(screen(issued, verbose=verbose))
    console.say(f"Passport: {folder / FILE}", wrap=False)
    click.echo(f"SHA-256: {issued.content['sha256']}")
    console.say(f"Report: {folder / 'report.html'}", wrap=False)
