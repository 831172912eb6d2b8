"""Folders that METAL writes: whole or not at all, and never over something that is not its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metal.errors import UsageError


def check_new(folder: Path, *, force: bool = False) -> None:
    """Raises UsageError when `folder` exists and force is not given, or is no folder of METAL's."""
    if not folder.exists():
        return
    ours = any((folder / name).is_file() for name in ("dataset.toml", "run.toml"))
    if not force:
        raise UsageError(f"{folder} exists; give another --out, or --force to replace it")
    if not folder.is_dir() or (any(folder.iterdir()) and not ours):
        raise UsageError(f"{folder} is no dataset or run of METAL's; it is not replaced. Give another --out")


@contextmanager
def new_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill that takes its place under `folder` only when the block ends well (see check_new)."""
    check_new(folder, force=force)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        if folder.exists():
            old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
            os.replace(folder, old)
            os.replace(partial, folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
