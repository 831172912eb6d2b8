"""`metal.view`: the local app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Option, StrPath, documented
from metal.data.missing import no_such

if TYPE_CHECKING:
    from metal.app.server import View as View


@documented
def view(
    folder: StrPath = ".",
    *,
    port: Annotated[
        int | None, Option("Port. [default: 8642, or a free one]", metavar="N", least=1)
    ] = None,
) -> View:
    """Look at the datasets and runs of `folder` in the browser.

    The start page lists them. A run shows its page; each output has a page with everybody's scores,
    the messages to the judges and their raw replies. The app is for one person: it listens to this
    machine only, and its address contains a token.

    Args:
        folder: Where the datasets and runs are.

    Returns:
        The app at work; in a notebook it is shown in a frame. It ends with `stop()`, or with the
        program.

    Raises:
        UsageError: If there is no such folder, or the port cannot be used.

    Example:
        metal.view("runs")
    """
    from metal.app.server import View

    start = Path(folder)
    if not start.is_dir():
        raise no_such(start, "folder")
    return View.begin(start, port)
