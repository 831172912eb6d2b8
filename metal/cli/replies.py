"""`metal replies`: show what judges were asked, and what they replied."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.analysis import check_one_way
from metal.cli.printing import print_json, show_parts
from metal.cli.verb import AS_JSON, AS_MARKDOWN, verb
from metal.show.terminal import console


@verb(
    metal.replies,
    AS_JSON,
    AS_MARKDOWN,
    examples="""
        metal replies runs/demo-judges
        metal replies runs/demo-judges sw-1/good --criterion task_quality
        metal replies runs/demo-judges --unread --language hi
    """,
)
def replies(
    run: Path, output: str | None, as_json: bool, as_markdown: bool, **options: Any
) -> None:
    from metal.show import replies as shown
    from metal.show.markdown import markdown
    from metal.show.terminal.asking_text import show_block

    check_one_way(as_json, as_markdown)
    looked_up = metal.replies(run, output or "", **options)
    if as_json:
        print_json(looked_up.to_dict())
        return
    listing = shown.table(looked_up.table, looked_up.total, "`limit=0` shows all")
    if as_markdown:
        click.echo(shown.markdown(looked_up.calls) if output else markdown([listing]), nl=False)
        return
    for note in looked_up.notes:
        console.say(f"note: {note}")
    if not looked_up.total:
        console.say("No replies of that kind.")
        return
    if not output:
        show_parts(iter([listing]))
        first = str(looked_up.table["output"].iloc[0])
        console.say(f"One in full: {shlex.join(['metal', 'replies', str(run), first])}", wrap=False)
        return
    for call in looked_up.calls:
        console.say(shown.heading(call), bold=True)
        for block in shown.blocks(call):
            show_block(*block)
    if not looked_up.calls:
        console.say(
            f"{run}: journal.jsonl has no reply about this output; here are only its ratings."
        )
        show_parts(iter([listing]))
