"""`metal passport`: the passport of an audit's judges, in a run folder with its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.analysis import check_one_way
from metal.cli.printing import print_json, show_parts
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, verb
from metal.cli.verb import out as out_option
from metal.data.replacing import check_new, remedy
from metal.errors import UsageError
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
    from metal.runs.parts import command_of, made_from
    from metal.runs.passport import FILE
    from metal.show.markdown import markdown
    from metal.show.pages import page, screen

    check_one_way(as_json, as_markdown)
    out = out or Path("runs") / f"{run.resolve().name}-passport"
    again = command_of(out) == "passport"
    check_new(out, "passport", force=force, again=again)
    with console.progress("reading"):
        made = metal.passport(run, *runs, **options)
    if again and not (force or made_from(out, Path(made.data["path"]))):
        raise UsageError(f"{out} is a passport from other data; {remedy(out, 'passport')}")
    with console.progress("drawing") as advance:
        made.write(out, page, force=force, again=again, progress=advance)
    if as_json:
        print_json(made.content)
        return
    if as_markdown:
        click.echo(markdown(screen(made, verbose=verbose)), nl=False)
        return
    show_parts(screen(made, verbose=verbose))
    console.say(f"Passport: {out / FILE}", wrap=False)
    click.echo(f"SHA-256: {made.content['sha256']}")
    console.say(f"Report: {out / 'report.html'}", wrap=False)
