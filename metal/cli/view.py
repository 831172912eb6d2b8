"""`metal view`: the local app, until it is interrupted."""

from __future__ import annotations

import gc
import getpass
import os
import signal
import socket
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click

import metal
from metal.api.folders import is_listed
from metal.cli.verb import Other, WithDefault, verb
from metal.data.memory import keep_little
from metal.data.text import plural
from metal.show.terminal import console

# a terminal that is closed and `kill` end it as Ctrl-C does: private files are deleted
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# These commands run long and draw thousands of pages. Without a search for cycles they would
# keep hundreds of MB: other commands search hardly ever.
SEARCHING = (10_000, 10, 10)
# Arrow's usual allocator keeps what was freed in another thread than the one that asked for it.
POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
OPEN = click.Option(
    ["--open/--no-open", "open_it"],
    default=True,
    help="Open the browser; on a remote machine it is not opened.",
)


@verb(
    metal.view,
    OPEN,
    name="view",
    examples="""
        metal view
        metal view runs --no-open
    """,
)
def app(folder: Path | None, port: int | None, open_it: bool) -> None:
    _give_memory_back()
    wait_for(metal.view(folder or ".", port=port), open_it)


@verb(
    metal.view_bundle,
    short_help="Write the pages for others, as files for any web server.",
    examples="""
        metal view bundle --out site
        metal view bundle runs --out site --hide-texts
    """,
)
def bundle(folder: Path | None, **options: Any) -> None:
    _give_memory_back()
    with console.progress("writing", "folders") as advance:
        written = metal.view_bundle(folder or ".", progress=advance, **options)
    what = f"{plural(written.pages, 'page')}, {written.size / 1e6:,.1f} MB"
    if written.outputs:
        what += f"; {plural(written.outputs, 'output')} with a page of their own"
    console.say(f"{written.index}: {what}", wrap=False)
    for note in written.notes:
        console.say(note)


view = WithDefault(default=app, others=(Other(app, meant=lambda args: not args),))
view.add_command(bundle)


def _give_memory_back() -> None:
    """Have this process return the memory of pages that were drawn. Call it before tables are
    read.
    """
    gc.set_threshold(*SEARCHING)
    os.environ.setdefault(*POOL)
    keep_little()


def open_run_in_app(run: Path) -> None:
    """Show a run in the app: in the present folder's, if that lists it, else in its parent's."""
    folder = Path() if is_listed(run.resolve(), Path.cwd()) else run.parent
    key = run.resolve().relative_to(folder.resolve()).as_posix()
    wait_for(metal.view(folder), page=f"run/{quote(key)}")


def wait_for(shown: metal.View, open_it: bool = True, page: str = "") -> None:
    """Say where the app is, open a page of it in the browser, and wait for Ctrl-C."""
    for ending in ENDINGS:
        if signal.getsignal(ending) == signal.SIG_DFL:  # ignored under nohup
            signal.signal(ending, signal.default_int_handler)
    try:
        _say_where(shown, open_it, page)
        shown.wait()
    except KeyboardInterrupt:
        for command in shown.at_work:
            console.aside(f"Interrupted: {command}; `metal ls` says how to go on with a judge.")
    finally:
        shown.stop()


def _say_where(shown: metal.View, open_it: bool, page: str) -> None:
    number = urlsplit(shown.address).port
    console.say(f"{shown.address}{page}", wrap=False)
    if "SSH_CONNECTION" in os.environ:
        line = f"ssh -N -L {number}:127.0.0.1:{number} {getpass.getuser()}@{socket.gethostname()}"
        console.aside(f"From your own machine, run this first: {line}")
    elif open_it and not webbrowser.open(shown.once(page)):
        console.aside("No browser could be opened; open the address in one.")
    console.aside("Ctrl-C ends it.")
