"""What a command may replace: only what the same verb wrote, and never what cannot be made again.

A folder is written completely or not at all. What `force` replaces is kept next to it, in a single
copy. The same holds for what a repetition of the same work replaces, unless the files are the same.
A message says so; it goes to TELL, which the command line sets, otherwise to the log.
"""

from __future__ import annotations

import filecmp
import logging
import os
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from metal.data.files import (
    REPLACED,
    aside_name,
    exchange,
    held,
    in_one_step,
    put_aside,
    recover,
    write_new,
)
from metal.data.holdings import LEFT, first_row, is_empty, maker_of, others, title, treasures
from metal.errors import UsageError

TELL: ContextVar[Callable[[str], None]] = ContextVar(
    "TELL", default=logging.getLogger("metal").warning
)
BY_HAND = "Give another `out`, or move what is there away by hand"


def check_new(folder: Path, maker: str = "", *, force: bool = False, again: bool = False) -> None:
    """Raise UsageError if `folder` exists and may not be replaced, or cannot be written.

    maker: the verb that will write it. force: whether the user wants to replace what this verb
    wrote. again: whether it repeats the same work, which needs no consent from the user.
    """
    recover(folder)
    _check_free(folder, maker, force=force, again=again)
    _check_can_be_written(folder)


def _check_free(
    folder: Path, maker: str, *, force: bool, again: bool, successor: Path | None = None
) -> None:
    """Raise UsageError if `folder` exists and may not be replaced (see check_new).

    successor: the folder that will replace it. Until the successor exists, a repetition of the same
    work is assumed to give the same files.
    """
    if not folder.exists():
        return
    if again and not force and successor is None:
        successor = folder
    problem = refusal(folder, maker, keeping=force or not again, successor=successor)
    if problem:
        raise UsageError(problem)
    if not (force or again):
        raise UsageError(f"{folder} exists; give another `out`, or `force=True` to replace it")
    if not os.access(folder, os.W_OK):  # another user's: it could be moved away, but not removed
        raise UsageError(f"{folder} cannot be written to; change its rights, or give another `out`")


def _check_can_be_written(folder: Path) -> None:
    """Raise UsageError if nothing can be created at `folder`, which is found out by trying."""
    target = folder.resolve()
    nearest = next(parent for parent in target.parents if parent.exists())
    trial = nearest / _partial(target).name
    try:
        trial.mkdir()
        trial.rmdir()
    except FileExistsError:  # it is being filled
        return
    except OSError as error:
        why = f"{nearest}: {(error.strerror or str(error)).lower()}"
        raise UsageError(
            f"{folder} cannot be written ({why}); give another `out`, or change its rights"
        ) from None


def refusal(
    folder: Path, maker: str, *, keeping: bool = True, successor: Path | None = None
) -> str:
    """One line on why this verb does not replace the folder's contents, and what to do; empty if it
    may replace them.

    keeping: whether the old version is kept even if the new one is the same, so that the name for
    the copy has to be free. successor: the folder that will replace it, if that is known.
    """
    if not folder.is_dir():
        return f"{folder} exists and is a file; give a folder as `out`"
    if is_empty(folder):
        return ""
    holds = treasures(folder, successor)
    if maker_of(folder) != maker or not maker:
        what = title(folder) + (f" and holds {holds}" if holds else "")
        return f"{folder} is {what}; it is not replaced. {BY_HAND}"
    if holds:
        more = f'`metal.{maker}(resume="{folder}")` continues it. ' if "a journal" in holds else ""
        return f"{folder} holds {holds} and is not replaced. {more}{BY_HAND}"
    kept = keeping or others(folder) or (successor and not _holds_all(successor, folder))
    return _refusal_of_kept(folder, maker, successor) if kept else ""


def _holds_all(successor: Path, folder: Path) -> bool:
    """Whether every file of a folder is also in its successor, with the same bytes."""
    files = (
        path
        for path in folder.rglob("*")
        if path.name not in LEFT and (path.is_symlink() or not path.is_dir())
    )
    pairs = ((path, successor / path.relative_to(folder)) for path in files)
    return all(other.is_file() and filecmp.cmp(path, other, shallow=False) for path, other in pairs)


def _refusal_of_kept(folder: Path, maker: str, successor: Path | None) -> str:
    """Why the copy left by an earlier replacement must not be deleted; empty if it may be deleted,
    or if there is none.
    """
    kept = kept_name(folder)
    if kept.is_symlink():
        return f"{folder} would be kept as {kept}, which is a link. Move {kept} away by hand first"
    if not kept.exists() or (kept.is_dir() and is_empty(kept)):
        return ""
    own = kept.is_dir() and maker_of(kept) == maker
    lost = (
        (treasures(kept, successor) or ", ".join(others(kept)[:3]))
        if own
        else "work of another kind"
    )
    if not lost:
        return ""
    return (
        f"{folder} would be kept as {kept}, which holds {lost} and is not removed. Move {kept} away"
        " by hand first"
    )


def remedy(folder: Path, maker: str) -> str:
    """What to do about a folder that is in the way: `force=True` is suggested only if it works."""
    return (
        "give another `out`"
        if refusal(folder, maker)
        else "give another `out`, or `force=True` to replace it"
    )


def kept_name(folder: Path) -> Path:
    """The path under which the replaced version of `folder` is kept."""
    named = (
        folder
        if folder.name and folder.name != ".." and not folder.is_symlink()
        else folder.resolve()
    )
    return named.with_name(named.name + REPLACED)


@contextmanager
def new_folder(
    folder: Path, maker: str = "", *, force: bool = False, again: bool = False
) -> Iterator[Path]:
    """A folder to fill; it becomes `folder` only if the block ends without an error (see
    check_new).

    The replaced folder is kept, unless a repetition of the same work gave the same files.
    """
    recover(folder)
    _check_free(folder, maker, force=force, again=again)
    target = folder.resolve()
    with filled(target) as partial:
        yield partial
        # Another process may have been faster; and only now it is known whether anything changes.
        _check_free(folder, maker, force=force, again=again, successor=partial)
        if not target.exists():
            os.replace(partial, target)
        elif not is_empty(target) and (force or not _holds_all(partial, target)):
            _change(target, partial, keep=True)
            tell_of_kept(folder)
        else:
            _change(target, partial, keep=False)


@contextmanager
def rewritten(folder: Path) -> Iterator[Path]:
    """A folder to fill with a new version of `folder`, which it replaces if the block ends without
    an error.
    """
    recover(folder)
    target = folder.resolve()
    with filled(target) as partial:
        yield partial
        if target.exists():
            _change(target, partial, keep=False)
        else:
            os.replace(partial, target)


@contextmanager
def filled(target: Path) -> Iterator[Path]:
    """A folder next to `target` to fill; it is deleted after the block unless it was renamed."""
    partial = _partial(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(0o700 if target.exists() else 0o777)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _partial(target: Path) -> Path:
    """The path of the folder that is filled before it becomes `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _change(target: Path, partial: Path, *, keep: bool) -> None:
    """Replace `target` with `partial`. Whenever the process is killed, either both folders remain,
    or the folder that must be kept.
    """
    shutil.copymode(target, partial)
    with held(target, "LOCK_EX"):
        if not keep:
            exchange(target, partial)
            return
        old = aside_name(target, target)
        os.rename(partial, old)
        if not in_one_step(target, old):
            os.rename(old, partial)
            os.rename(target, old)
            os.rename(partial, target)
        put_aside(old, target)


@contextmanager
def kept_parts(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Keep a copy of these files and folders in `folder` while the block replaces them; other files
    in it stay.
    """
    target = folder.resolve()
    parts = [target / name for name in names if (target / name).exists()]
    if not parts:
        yield
        return
    with filled(target) as partial:
        for part in parts:
            copy = shutil.copytree if part.is_dir() else shutil.copy2
            copy(part, partial / part.name)
        old = aside_name(target, partial)
        os.rename(partial, old)
    try:
        yield
    finally:
        put_aside(old, target)
        tell_of_kept(folder)


def tell_of_kept(*places: Path) -> None:
    """Say where replaced folders or files are kept, and how to bring them back."""
    names, commands = [], []
    for path in places:
        kept = kept_name(path)
        path = kept.with_name(kept.name.removesuffix(REPLACED))
        spare, number = path.with_name(f"{path.name}.new"), 1
        while os.path.lexists(spare):
            number += 1
            spare = path.with_name(f"{path.name}.new-{number}")
        names.append(typed(path))
        commands.append(f"mv {typed(path)} {typed(spare)} && mv {typed(kept)} {typed(path)}")
    replaced = f"{names[0]} was replaced; to bring it back:"
    if len(names) > 1:
        replaced = f"{' and '.join(names)} were replaced; to bring them back:"
    TELL.get()(f"{replaced} {' && '.join(commands)}")


def typed(path: Path) -> str:
    """The path as a word of a shell command."""
    return shlex.quote(str(path) if not str(path).startswith("-") else f"./{path}")


# ---------------------------------------------------------------- files

FILE_MARKS = ("dataset.toml", "run.toml")


def check_new_file(path: Path, is_ours: Callable[[Path], bool], *, force: bool = False) -> None:
    """Raise UsageError if `path` exists and may not be replaced, is a folder, or is in one of
    METAL's folders.

    is_ours: whether the existing file looks like one that the same verb wrote.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a file")
    if any((path.parent / name).is_file() for name in FILE_MARKS):
        raise UsageError(f"{path.parent} is a dataset or run of METAL; choose a file elsewhere")
    if not path.exists():
        return
    if path.stat().st_size and not is_ours(path):
        raise UsageError(f"{path} was not written by this command, and is not replaced. {BY_HAND}")
    kept = kept_name(path)
    if (
        kept.is_symlink()
        or kept.is_dir()
        or (kept.exists() and kept.stat().st_size and not is_ours(kept))
    ):
        raise UsageError(
            f"{path} would be kept as {kept}, but METAL did not write what is there. Move {kept}"
            " away by hand first"
        )
    if not force:
        raise UsageError(f"{path} exists; give another `out`, or `force=True` to replace it")


@contextmanager
def kept_file(path: Path) -> Iterator[None]:
    """Keep a copy of the file that the block replaces."""
    spare = path.with_name(f".{path.name}.{os.getpid()}.before")
    existed = path.is_file()
    if existed:
        shutil.copy2(path, spare)
    try:
        yield
        if existed:
            os.replace(spare, kept_name(path))
            tell_of_kept(path)
    finally:
        spare.unlink(missing_ok=True)


def check_kept_files(places: Collection[Path]) -> None:
    """Raise UsageError if copies of files in one of METAL's folders would replace something that
    METAL did not write.
    """
    for kept in map(kept_name, places):
        if kept.is_symlink() or kept.is_dir():
            raise UsageError(
                f"The old version would be kept as {kept}, which exists. Move {kept} away first"
            )


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file; one copy of an existing file with other content is kept.

    Raises UsageError if `path` is a folder, or if something else has the name of the copy.
    """
    content = content.encode() if isinstance(content, str) else content
    if path.is_dir():
        raise UsageError(f"{path} is a folder instead of a file; move it away")
    if differs(path, content):
        check_kept_files([path])
        with kept_file(path):
            write_new(path, content)
    else:
        write_new(path, content)


def differs(path: Path, content: bytes) -> bool:
    """Whether there is a file that has another content."""
    return path.is_file() and path.read_bytes() != content


def heads(path: Path) -> list[str]:
    """The column names in the first line of a CSV file."""
    with path.open("rb") as file:
        return first_row(file.readline(100_000).decode("utf-8-sig", "replace"))
