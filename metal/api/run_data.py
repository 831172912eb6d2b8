"""The ratings from which an earlier run was made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.api.read import Data, Inputs, load, reading_of
from metal.data.run_toml import named_by
from metal.errors import UsageError


def inputs_of_run(run: Path, recorded: Mapping[str, Any], data: Data | None = None) -> Inputs:
    """Load the ratings from which a run was made: its dataset and the runs that were added to it.

    recorded: the dataset's entry in run.toml. data: the dataset, if it is somewhere else now.
    Raises UsageError if the dataset is not there.
    """
    here = Path.cwd()
    names = [recorded["path"], *recorded.get("more", ())]
    paths = [named_by(run, str(name)).absolute() for name in names]
    if data is None and not paths[0].exists():
        raise UsageError(
            f"{run}: its data {recorded['path']} are not here; say where they are with `data`"
        )
    # as commands name them: a page need not tell whose disk it was made on
    first, *more = [path.relative_to(here) if path.is_relative_to(here) else path for path in paths]
    return load(first if data is None else data, more, reading_of(run))
