"""`metal annotate export`: tasks for people, in any form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metal.api.annotate import annotate_export
from metal.cli.verb import DATASET, verb
from metal.data.plugins import plugins


@verb(
    annotate_export,
    DATASET,
    name="export",
    short_help="Write tasks for people.",
    required=("to",),  # `metal annotate html` is the short way
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
)
def export(data: Path, **options: Any) -> None:
    _export(data, **options)


for form in export.params:
    if form.name == "to":
        form.type = click.Choice(list(plugins("metal.forms")))


@verb(
    annotate_export,
    DATASET,
    name="html",
    short_help="Write a rating page for each person.",
    without=("to",),
)
def html(data: Path, **options: Any) -> None:
    _export(data, to="html", **options)


html.help = """Write one HTML file for each person: open it, rate, download the answers, send them back.

No server and no network is needed; answers are saved on the device as people go. The same as
`metal annotate export --to html`, whose help explains the options.

\b
Example:
  metal annotate html datasets/mine -l sw --raters 3
"""


def _export(data: Path, **options: Any) -> None:
    from metal.show.terminal import annotation_text

    inside = annotation_text.is_inside(data)
    annotation_text.show_handed_out(annotate_export(data, say=say, **options), inside=inside)


def say(text: str) -> None:
    """Print what a public function says, in words of the command line."""
    from metal.cli import as_typed
    from metal.show.terminal import console

    console.say(as_typed(text))
