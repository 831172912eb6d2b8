"""Folders that METAL writes: as a whole or not at all, and never over something that is not its own."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from metal.errors import UsageError


def recover(folder: Path) -> None:
    """Remove what a killed process left beside `folder`; if it died while replacing it, put the old folder back."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.*"):
        _, process, ending = left.name.rsplit(".", 2)
        if ending not in ("part", "old") or not process.isdigit() or _alive(int(process)):
            continue
        if ending == "old" and not folder.exists():
            os.replace(left, folder)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


OURS = ("dataset.toml", "run.toml")  # a folder with one of these is METAL's


def check_new(folder: Path, *, force: bool = False, marks: tuple[str, ...] = OURS) -> None:
    """Raises UsageError when `folder` exists, unless force is given and it is empty or holds a file of `marks`."""
    recover(folder)
    if not folder.exists():
        return
    if not force:
        raise UsageError(f"{folder} exists; give another `out`, or `force=True` to replace it")
    replaceable = folder.is_dir() and (not any(folder.iterdir()) or any((folder / name).is_file() for name in marks))
    if not replaceable:
        raise UsageError(f"{folder} is not what would be written there; it is not replaced. Give another `out`")


def check_new_file(path: Path, *, force: bool = False) -> None:
    """Raises UsageError when `path` exists and force is not given, is a folder, or is in a folder of METAL's."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a file")
    if any((path.parent / name).is_file() for name in OURS):
        raise UsageError(f"{path.parent} is a dataset or run of METAL's; give a file elsewhere")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; give another `out`, or `force=True` to replace it")


@contextmanager
def new_folder(folder: Path, *, force: bool = False, marks: tuple[str, ...] = OURS) -> Iterator[Path]:
    """A folder to fill; it becomes `folder` only when the block ends well (see check_new)."""
    check_new(folder, force=force, marks=marks)
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


def copy_others(folder: Path, target: Path, names: Collection[str]) -> None:
    """Copy the entries of `folder` to `target`, except those of these names; links stay links."""
    for entry in folder.iterdir():
        if entry.name in names:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name, follow_symlinks=False)


def check_outside(folder: Path) -> None:
    """Raises UsageError when the working directory is in a folder that is to be replaced: it would be gone."""
    if Path.cwd().is_relative_to(folder.resolve()):
        raise UsageError(f"{folder} is written anew as a whole; go to a folder outside of it and name it from there")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """One process at a time reads `folder` to replace it; others wait. The lock ends with the process, however it ends.

    A process that holds it can take it again.
    """
    import filelock

    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"metal-{os.getuid() if hasattr(os, 'getuid') else 0}-{name}.lock"
    with filelock.FileLock(place, is_singleton=True):
        yield


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write; it becomes `path` only when the block ends well."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in every OSError of the block; that of a full disk does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
