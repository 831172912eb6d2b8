"""`metal.view_bundle`: the readable part of the app as files for any web server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated

from metal.api.options import Option, Progress, StrPath, documented, no_progress
from metal.data.files import write_new
from metal.data.holdings import BUNDLE, BUNDLE_MARK
from metal.data.missing import no_such
from metal.data.replacing import FILE_MARKS, check_new, new_folder
from metal.data.stored_texts import texts_in_file
from metal.errors import UsageError
from metal.version import __version__

OF_CELL = 3  # outputs with a page where nothing else is asked for


@dataclass(frozen=True)
class Bundle:
    """What was written.

    index: the page to open first. pages, size: the number of pages, and their size in bytes.
    outputs: the number of outputs that have a page of their own. left_out: why a run has no page,
    by its name in the index. notes: what the bundle does not have, in sentences, as its index says.
    """

    index: Path
    pages: int
    size: int
    outputs: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


@documented
def view_bundle(
    folder: StrPath = ".",
    *,
    out: Annotated[StrPath, Option("Folder to write.")],
    hide_texts: Annotated[
        bool, Option("Leave out texts, comments, messages and replies; scores and ids stay.")
    ] = False,
    outputs: Annotated[
        int,
        Option(
            "How many outputs of each language and criterion have a page, starting with the "
            "largest differences; 0 for all.",
            metavar="N",
            least=0,
        ),
    ] = OF_CELL,
    force: Annotated[
        bool, Option("Replace an earlier bundle in `out`; it is kept as NAME.replaced.")
    ] = False,
    progress: Progress | None = None,
) -> Bundle:
    """Write the datasets and runs of `folder` as web pages for others.

    The pages are plain files: put them on any web server, or open index.html from the disk. The
    index lists all runs and can be searched; it links to each run's page and to lists of its
    outputs. Those with the largest differences have a page with texts, scores, messages and
    replies. Absolute paths, addresses of servers and API keys are not in the pages.

    Args:
        folder: Where the datasets and runs are.
        progress: Called with the number of folders done and of all folders.

    Returns:
        What was written, and what was left out.

    Raises:
        UsageError: If there is no such folder, or `out` holds anything but an earlier bundle or is
            in a dataset or run.

    Example:
        metal.view_bundle("runs", out="site", hide_texts=True)
    """
    from metal.app.bundling import Bundling
    from metal.app.library import Library

    start, target = Path(folder), Path(out)
    if not start.is_dir():
        raise no_such(start, "folder")
    for parent, mark in product(target.resolve().parents, FILE_MARKS):
        if (parent / mark).is_file():
            raise UsageError(f"{target} is in {parent}, a dataset or run; give another `out`")
    check_new(target, BUNDLE, force=force)
    with new_folder(target, BUNDLE, force=force) as partial, texts_in_file():
        bundling = Bundling(Library(start), partial, hide_texts, outputs)
        bundling.write(progress or no_progress)
        pages = [*partial.rglob("*.html")]
        card = f"pages = {len(pages)}\nhides_texts = {str(hide_texts).lower()}\n"
        write_new(partial / BUNDLE_MARK, f"# Written by metal {__version__}\n{card}")
        size = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    return Bundle(
        target / "index.html",
        len(pages),
        size,
        bundling.outputs,
        bundling.left_out,
        tuple(bundling.notes),
    )
