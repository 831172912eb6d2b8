"""How a run shows its progress where nothing else was asked for: a bar in a terminal or notebook, else silence."""

from __future__ import annotations

import sys

from metal.running.asking import Callbacks


def default_callbacks() -> Callbacks:
    """A bar a model where somebody is looking; nobody is asked."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return Callbacks()
    from metal.show.terminal import console
    from metal.show.terminal.asking_text import progress

    return Callbacks(say=console.say, watch=progress)
