"""Single files of an EvalSet folder, which cannot be read alone."""

from __future__ import annotations

import os
from pathlib import Path

from metal.errors import UsageError

SCORES = ("human-scores", "metric-scores")
PARTS = ("sources", "references", "documents", "system-outputs", *SCORES)
ENDINGS = (".score", ".rating")  # of scores by segment and by system, and of marked errors
OTHERS = (".csv", ".tsv", ".xlsx", ".parquet")  # of tables, which no such folder has


def check_whole(path: Path) -> None:
    """Raise UsageError for a file or subfolder of an EvalSet folder, or a file of scores from
    one.
    """
    if path.suffix in OTHERS:
        return
    for folder in list(path.absolute().parents)[:3]:
        inside = path.absolute().relative_to(folder).parts[0]
        scored = any((folder / name).is_dir() for name in SCORES)
        if inside in PARTS and scored and (folder / "sources").is_dir():
            root = folder if path.is_absolute() else Path(os.path.relpath(folder))
            raise UsageError(
                f"{path} is part of a test set of WMT, {root}: its texts and scores are in several"
                f" files that belong together. Give the folder: {root}"
            )
    if path.suffix in ENDINGS:
        raise UsageError(
            f"{path}: scores without the names of the segments; these are in other files of the"
            " test set of WMT. Put a metric's scores into metric-scores/LP/ and people's into"
            " human-scores/, beside sources/ and system-outputs/, and give the folder of all"
        )
