"""`metal annotate`: send outputs to people, and import their ratings.

push, pull and status are for campaigns on platforms; under push and pull, each platform is a
command.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from metal.api.annotate import annotate_export, annotate_import, annotate_status
from metal.api.platforms import GROUP, platform_of
from metal.cli.verb import AS_JSON, DATASET, PATH, CommandGroup, verb
from metal.data.plugins import plugins
from metal.show.terminal import annotation_text, console


def _export(data: Path, to: str = "html", **options: Any) -> None:
    inside = annotation_text.is_inside(data)
    with console.progress("writing"):
        handed_out = annotate_export(data, to=to, **options)
    for note in handed_out.notes:
        console.say(note)
    annotation_text.show_handed_out(handed_out, inside=inside)


export = verb(
    annotate_export,
    short_help="Write tasks for people.",
    required=("to",),  # Python has a default
    examples=r"""
    metal annotate export datasets/mine --to html --template summarization \
      --add-criteria
    metal annotate export datasets/mine --to html
    metal annotate export datasets/mine --to html --test-questions
    metal annotate export datasets/mine --to xlsx -l hi --people 5 --common 10
    metal annotate export datasets/mine --to html \
      --only datasets/mine/annotation/ambiguous.csv
    metal annotate export datasets/mine --to html --generators new-model --sample 300
    """,
)(_export)
for form in export.params:
    if form.name == "to":
        form.type = click.Choice(list(plugins("metal.forms")))


html = verb(
    annotate_export, name="html", short_help="Write a rating page for each person.", without=("to",)
)(_export)
html.help = """Write one HTML file for each person: open it, rate, download the answers, send them back.

No server and no network is needed; answers are saved on the device as people go. The same as
`metal annotate export --to html`, whose help explains the options.

\b
Example:
  metal annotate export --to html datasets/mine -l sw --raters 3
"""  # noqa: E501

html.hidden = True  # an older spelling

FILES = click.Argument(["files"], nargs=-1, required=True, type=PATH)


@verb(
    annotate_import,
    DATASET,
    FILES,
    name="import",
    short_help="Import people's ratings.",
    examples="""
    metal annotate import datasets/mine returned/*.json
    metal annotate import datasets/mine answers.csv prolific_export.csv --group crowd
    """,
)
def import_(data: Path, files: tuple[Path, ...], **options: Any) -> None:
    inside = annotation_text.is_inside(data)
    with console.progress("reading"):
        report = annotate_import(data, files, **options)
    annotation_text.show_import(report, inside=inside)


EXAMPLES = {
    (
        "push",
        "mturk",
    ): (
        r"""
    metal annotate export datasets/mine --to mturk --out runs/mine-mturk
    metal annotate push mturk datasets/mine runs/mine-mturk --reward 0.25
    metal annotate push mturk datasets/mine runs/mine-mturk --reward 0.25 \
      --name en-1 -l en --country US,GB --test en.jsonl --cap 50 \
      --start "Mon-Fri 10:00 America/Los_Angeles" --production
    """
    ),
    (
        "pull",
        "mturk",
    ): (
        """
    metal annotate pull mturk datasets/mine
    metal annotate pull mturk datasets/mine --approve --exclude A2X...
    metal annotate pull mturk datasets/mine --bonus A1B...=2.50
    """
    ),
    (
        "push",
        "label-studio",
    ): (
        """
    metal annotate export datasets/mine --to label-studio
    export LABEL_STUDIO_API_KEY=...
    metal annotate push label-studio datasets/mine --url http://127.0.0.1:8080
    """
    ),
    ("pull", "label-studio"): "metal annotate pull label-studio datasets/mine",
}


class Platforms(click.Group):
    """A command for each platform; it is made when looked up, because plug-ins are listed only
    then.
    """

    def __init__(self, make: Callable[[str], click.Command], **settings: Any) -> None:
        self._make, self._made = make, dict[str, click.Command]()
        super().__init__(**settings)

    @property
    def commands(self) -> dict[str, click.Command]:
        self._made = self._made or {name: self._make(name) for name in plugins(GROUP)}
        return self._made

    @commands.setter
    def commands(self, commands: object) -> None:
        """The subcommands; the setter ignores the empty dictionary that click sets."""


def _push(name: str) -> click.Command:
    platform = platform_of(name)
    required = (
        inspect.signature(platform.push).parameters["export"].default is inspect.Parameter.empty
    )
    path = click.Path(path_type=Path, exists=True, file_okay=False)

    @verb(
        platform.push,
        DATASET,
        click.Argument(["export"], required=required, type=path),
        name=name,
        short_help=f"Post tasks on {platform.title}.",
        examples=EXAMPLES.get(("push", name), ""),
    )
    def push(data: Path, export: Path | None, **options: Any) -> None:
        with _callbacks(platform.push, "Posting") as callbacks:
            posted = platform.push(data, export, **callbacks, **options)
        if posted:
            annotation_text.show_posted(posted, name, data)

    return push


def _pull(name: str) -> click.Command:
    platform = platform_of(name)

    @verb(
        platform.pull,
        name=name,
        short_help=f"Fetch answers from {platform.title}.",
        examples=EXAMPLES.get(("pull", name), ""),
    )
    def pull(data: Path, **options: Any) -> None:
        inside = annotation_text.is_inside(data)
        with _callbacks(platform.pull, "Fetching", inside) as callbacks:
            pulled = platform.pull(data, **callbacks, **options)
        if name == "mturk":
            annotation_text.show_campaigns({name: [pulled.standing]})

    return pull


push = Platforms(
    _push,
    name="push",
    short_help="Post tasks on a platform.",
    help="""Post the tasks of a dataset on a platform; `metal annotate pull` fetches the answers.

    What was posted is kept in DATASET/annotation/campaigns/ before it counts: a push that was interrupted is
    continued by the same command, and posts nothing twice.
    """,  # noqa: E501
)
pull = Platforms(
    _pull,
    name="pull",
    short_help="Fetch answers from a platform.",
    help="""Fetch the answers to what `metal annotate push` posted, and take them into the dataset.

    A batch that is still running can be pulled any number of times.
    """,
)


@verb(
    annotate_status,
    AS_JSON,
    short_help="Show the state of campaigns on platforms.",
    examples="metal annotate status datasets/mine",
)
def status(data: Path, as_json: bool) -> None:
    campaigns = annotate_status(data)
    if as_json:
        listed = [campaign for group in campaigns.values() for campaign in group]
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
    elif any(campaigns.values()):
        annotation_text.show_campaigns(campaigns)
    else:
        console.say(f"{data} has no campaign; `metal annotate push` begins one")


@contextmanager
def _callbacks(
    function: Callable[..., Any], doing: str, inside: bool = False
) -> Iterator[dict[str, Any]]:
    """The callbacks that a function of a platform takes.

    doing: the text of the progress bar.
    """
    with ExitStack() as bar:
        advance: Callable[[int, int], None] | None = None

        def progress(done: int, total: int) -> None:
            nonlocal advance
            # not before: questions are asked first
            advance = advance or bar.enter_context(console.progress(doing))
            advance(done, total)
            if done >= total:
                bar.close()

        callbacks: dict[str, Any] = {
            "say": console.say,
            "progress": progress,
            "confirm": click.confirm if sys.stdin.isatty() else None,
            "countdown": _countdown,
            "imported": lambda report: annotation_text.show_import(report, inside=inside),
        }
        taken = inspect.signature(function).parameters
        yield {name: callback for name, callback in callbacks.items() if name in taken}


def _countdown(left: timedelta) -> None:
    """Show how long it is until the start, on one line of the terminal that is cleared at
    the end.
    """
    from metal.building.crowdsourcing.schedule import in_words

    if sys.stderr.isatty():
        text = f"{in_words(left):<24}" if left else f"{'':<24}\r"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)


@click.group(cls=CommandGroup, short_help="Send tasks to people and import their ratings.")
def annotate() -> None:
    """Send the chosen outputs of a dataset to people, and import their ratings."""


for command in (export, html, import_, push, pull, status):
    annotate.add_command(command)
