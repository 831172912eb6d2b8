"""The page of a run for the app. Large runs are drawn in a process of their own, whose memory is
given back when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from metal.app.library import Library
from metal.app.sharing import Sharing
from metal.errors import DataError
from metal.runs.parts import again
from metal.show.pages import Links

LARGE = 2_000_000  # values in tables: more than 100 MB as objects


def drawn(library: Library, folder: Path, links: Links) -> str:
    """The page of a run, with links to the app's other pages."""
    return library.page(folder, lambda: page_of_run(library, folder, links))


def page_of_run(
    library: Library, folder: Path, links: Links, sharing: Sharing | None = None
) -> str:
    """The page of a run, drawn again.

    sharing: what is kept from others; None for a page of the app.
    """
    if _values(folder) <= LARGE:
        from metal.show.pages import page

        run = library.run(folder)
        return page(sharing.of_run(run) if sharing else run, links=links)
    done = subprocess.run(  # noqa: S603  no shell, and METAL's own program
        [sys.executable, "-m", "metal.app.drawing", str(folder)],
        input=json.dumps([asdict(links), sharing and asdict(sharing)]).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise DataError(folder, f"the page cannot be drawn ({last})", again("report"))
    return done.stdout.decode("utf-8")


def _values(folder: Path) -> int:
    """How many values the run's Parquet files have."""
    import pyarrow.parquet as pq

    values = 0
    for path in [*folder.glob("*.parquet"), *folder.glob("tables/*.parquet")]:
        try:
            metadata = pq.read_metadata(path)
        except (OSError, ValueError):
            return 0  # whoever opens the run says what is wrong
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            columns = map(group.column, range(group.num_columns))
            values += sum(column.num_values for column in columns)
    return values


def main() -> None:
    """Print the page of the run in the first argument. The standard input has the page's links, and
    what is kept from others.
    """
    from metal.api.report import open_run
    from metal.show.pages import page

    links, sharing = json.load(sys.stdin)
    run = open_run(sys.argv[1])
    if sharing:
        run = Sharing(**sharing).of_run(run)
    sys.stdout.buffer.write(page(run, links=Links(**links)).encode())


if __name__ == "__main__":
    main()
