"""Read a file as the import wizard does: an error is part of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metal.app.choices import Options, check_options
from metal.data.tables.table_columns import TableColumns, first_rows
from metal.errors import MetalError

if TYPE_CHECKING:
    import pandas as pd

    from metal.app.table_rows import TableRows
    from metal.data.dataset import Dataset


@dataclass(frozen=True)
class AsRead:
    """The result of reading a file with some options.

    dataset: None if it could not be read; error then says why. columns: those of the table; None
    for a format that is no table. warnings: what METAL noticed in the data. notes: how it was read.
    looked_at, total: the numbers of rows that were read and of all, if these were too many; else 0.
    whole: whether all rows of such a table were read, in another process.
    """

    path: Path
    options: Options
    dataset: Dataset | None = None
    columns: TableColumns | None = None
    error: MetalError | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    looked_at: int = 0
    total: int = 0
    whole: bool = False

    @property
    def done(self) -> bool:
        """Whether it could be read."""
        return self.error is None

    @property
    def size(self) -> int:
        """The number of ratings, which stands for the memory that they take."""
        return 1 if self.dataset is None else len(self.dataset.ratings)

    @property
    def sheet_like(self) -> TableColumns:
        """The columns; those of the file if it could not be read."""
        return self.columns or TableColumns({}, (), ())


def as_read(path: Path, options: Options, rows: TableRows | None = None) -> AsRead:
    """Read a file with these options. An error is part of the result, so that it can be shown
    beside the choices that lead to it.

    rows: those to look at, if not all.
    """
    from metal.api.read import draft_of
    from metal.auditing.check import lint

    reading = {option: value for option, value in options.items() if option != "format"}
    read = AsRead(path, options)
    frame = None
    if rows is not None:
        frame = reading["rows"] = rows.frame
        read = replace(read, looked_at=len(rows.frame), total=rows.total)
    try:
        check_options(options)
        draft = draft_of(path, options.get("format", ""), reading)
        dataset = draft.assemble(path)
    except MetalError as error:
        columns = columns_of_file(path, options.get("sheet", ""), frame)
        return replace(read, columns=columns, error=error)
    warnings = [finding.message for finding in lint(dataset)]
    return replace(
        read, dataset=dataset, columns=draft.columns, warnings=warnings, notes=draft.notes
    )


def columns_of_file(path: Path, sheet: str, rows: pd.DataFrame | None) -> TableColumns:
    """The columns of a file that could not be read as ratings; none if it is no table.

    rows: those that were looked at, if not all.
    """
    from metal.data.tables.files import read_frame
    from metal.data.tables.nested import flattened
    from metal.data.tables.roles import roles_of

    try:
        table = read_frame(path, sheet) if rows is None else rows.reset_index(drop=True)
        frame, _ = flattened(table.rename(columns=str), [])
        roles = roles_of(frame, (), {}, path)
    except (MetalError, OSError):
        return TableColumns({}, (), ())
    names = tuple(frame.columns)
    return TableColumns(roles, (), names, names=names, first_rows=first_rows(frame))
