"""Names of folders, as commands that run in the app's folder have them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path


def typed_path(folder: Path, root: Path) -> str:
    """The folder as a command in the root folder names it."""
    return str(folder.relative_to(root) if folder.is_relative_to(root) else folder)


def free_name(root: Path, name: str, taken: Collection[str] = ()) -> str:
    """The name itself if it is free. If a folder below the root or in `taken` has it, the name with
    the first free number.
    """
    number, free = 1, name
    while free in taken or (root / free).exists():
        number += 1
        free = f"{name}-{number}"
    return free
