"""`metal serve` and `metal study`: studies in which people rate in their browsers."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.verb import CommandGroup, Other, WithDefault, verb
from metal.cli.view import ENDINGS
from metal.data.languages import language_name
from metal.data.text import plural
from metal.show.terminal import console


@verb(
    metal.serve,
    name="serve",
    examples="""
        metal serve
        metal serve datasets --port 8000
        metal serve --host 0.0.0.0 --https --database postgresql+psycopg://metal@db/metal
    """,
)
def app(folder: Path | None, **options: Any) -> None:
    served = metal.serve(folder or ".", **options)
    if served.first:
        console.say(served.owner, wrap=False)
        note = "That is the owner's link, which is shown once: whoever has it runs the studies."
    else:
        console.say(f"{served.address}/owner", wrap=False)
        note = "The owner's link is that of the first start; `metal serve token` makes a new one."
    console.aside(f"{note} Ctrl-C ends the server.")
    for ending in ENDINGS:
        if signal.getsignal(ending) == signal.SIG_DFL:  # ignored under nohup
            signal.signal(ending, signal.default_int_handler)
    try:
        served.wait()
    except KeyboardInterrupt:
        served.stop()


@verb(
    metal.serve_backup,
    short_help="Write a copy of the ledger, while the server is at work.",
    examples="""
        metal serve backup ledger.db
    """,
)
def backup(out: Path, **options: Any) -> None:
    console.say(f"{metal.serve_backup(out, **options)}: written", wrap=False)


@verb(
    metal.serve_restore,
    short_help="Put a copy in the ledger's place.",
    examples="""
        metal serve restore ledger.db
    """,
)
def restore(file: Path, **options: Any) -> None:
    console.say(f"{metal.serve_restore(file, **options)}: restored", wrap=False)


@verb(
    metal.serve_token,
    short_help="Make a new owner's link.",
    examples="""
        metal serve token
    """,
)
def token(**options: Any) -> None:
    console.say(metal.serve_token(**options), wrap=False)
    console.aside("Put it after the server's address. Links made before let nobody in any more.")


serve = WithDefault(default=app, others=(Other(app, meant=lambda args: not args),))
for command in (backup, restore, token):
    serve.add_command(command)


@verb(
    metal.study_new,
    name="new",
    short_help="Make a study of a dataset.",
    examples="""
        metal study new datasets/news --people 3
        metal study new datasets/news --languages hi,ta --test-questions 5%+5% --consent consent.txt
    """,
)
def new(data: Path, **options: Any) -> None:
    study, links = metal.study_new(data, say=console.aside, **options)
    parts = ", ".join(map(language_name, study.languages))
    does = "decide" if study.settings.of_forms else "rate"
    console.say(f"{study.id}: people {does} {study.dataset} in {parts}", wrap=False)
    for person, path in links:
        click.echo(f"{person}\t{path}")
    if links:
        console.aside(
            "Each link, after the server's address, is one person's key; they are not shown again."
        )
    console.aside("Next: `metal serve`, in the same folder; its pages make links as well.")


@verb(
    metal.study_ls,
    name="ls",
    short_help="List studies and how far they are.",
    examples="""
        metal study ls
    """,
)
def ls(**options: Any) -> None:
    studies = metal.study_ls(**options)
    for row in studies:
        of = f"{row['answered']:,} of {plural(row['answers'], 'answer')}"
        console.say(f"{row['study']}  {row['state']}  {of}  {row['dataset']}", wrap=False)
    if not studies:
        console.say("There is no study; `metal study new DATASET` makes one.")


study = CommandGroup(name="study", short_help="Make and list the studies of a server.")
for command in (new, ls):
    study.add_command(command)
