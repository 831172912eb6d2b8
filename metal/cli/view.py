"""`metal view`: the local app, until it is interrupted."""

from __future__ import annotations

import getpass
import os
import socket
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import click

import metal
from metal.cli.verb import verb
from metal.show.terminal import console

OPEN = click.Option(
    ["--open/--no-open", "open_it"],
    default=True,
    help="Open the browser; on a remote machine it is not opened.",
)


@verb(
    metal.view,
    OPEN,
    examples="""
        metal view
        metal view runs --no-open
    """,
)
def view(folder: Path | None, port: int | None, open_it: bool) -> None:
    shown = metal.view(folder or ".", port=port)
    number = urlsplit(shown.address).port
    console.say(shown.address, wrap=False)
    remote = "SSH_CONNECTION" in os.environ
    if remote:
        line = f"ssh -N -L {number}:127.0.0.1:{number} {getpass.getuser()}@{socket.gethostname()}"
        console.aside(f"From your own machine, run this first: {line}")
    elif open_it and not webbrowser.open(shown.address):
        console.aside("No browser could be opened; open the address in one.")
    console.aside("Ctrl-C ends it.")
    try:
        shown.wait()
    except KeyboardInterrupt:
        shown.stop()
