"""The page of a run for the app. Large runs are drawn in a process of their own, whose memory is
given back when it ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metal.app.library import Library
from metal.app.processes import called
from metal.app.sharing import Sharing
from metal.show.pages import Links

if TYPE_CHECKING:
    from metal.runs.run import Run

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
        return _page(library.run(folder), links, sharing)
    return called(_page_in, folder, links, sharing, aside=True)


def _page_in(folder: Path, links: Links, sharing: Sharing | None) -> str:
    from metal.api.report import open_run

    return _page(open_run(folder), links, sharing)


def _page(run: Run, links: Links, sharing: Sharing | None) -> str:
    from metal.show.pages import page

    return page(sharing.of_run(run) if sharing else run, links=links)


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
