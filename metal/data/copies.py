"""Files that a command adds to a folder that may contain other files, such as pictures for a paper.

Files that are replaced are first copied to a folder next to it; only the latest copy is kept. That
folder lists what METAL put there, so that a user's folder of the same name is never mistaken for
it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from metal.data.files import aside_name, put_aside, write_new
from metal.data.holdings import LEFT, digest
from metal.data.replacing import TELL, differs, filled, kept_name, typed
from metal.errors import UsageError

COPIED = ".copied.json"  # what METAL put into a folder of copies: each file's name and digest


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write these files into a folder that may contain other files.

    Files that change are first copied to a folder next to it; only the latest copy is kept. Raises
    UsageError if the folder for copies contains something else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    changed = [name for name, content in contents.items() if differs(folder / name, content)]
    if changed:
        _keep_files(folder, changed)
    for name, content in contents.items():
        write_new(folder / name, content)
    if changed:
        files = "1 file in {} was" if len(changed) == 1 else f"{len(changed)} files in {{}} were"
        command = f"cp {typed(kept_name(folder))}/* {typed(folder)}"
        TELL.get()(f"{files.format(folder)} replaced; to bring back what was there: {command}")


def _keep_files(folder: Path, names: Collection[str]) -> None:
    """Copy files to the folder for copies, if that name is free or the folder has an
    earlier copy.
    """
    kept, target = kept_name(folder), folder.resolve()
    if os.path.lexists(kept) and (kept.is_symlink() or not kept.is_dir()):
        raise UsageError(
            f"The old version would be kept as {kept}, which exists. Move {kept} away first"
        )
    if foreign := _not_put_there(kept):
        raise UsageError(
            f"{kept} holds {foreign[0]} and is not replaced. Move {kept} away by hand first"
        )
    with filled(target) as partial:
        for name in names:
            shutil.copy2(folder / name, partial / name)
        digests = {name: digest((partial / name).read_bytes()) for name in names}
        (partial / COPIED).write_text(json.dumps(digests), encoding="utf-8")
        old = aside_name(target, partial)
        os.rename(partial, old)
    put_aside(old, target)


def _not_put_there(kept: Path) -> list[str]:
    """The names in a folder for copies that METAL did not put there, or whose content has
    changed.
    """
    entries = [] if not kept.is_dir() else sorted(kept.iterdir())
    copied: dict[str, str] = {}
    with suppress(OSError, ValueError):
        copied = dict(json.loads((kept / COPIED).read_text(encoding="utf-8")))
    return [
        path.name
        for path in entries
        if path.name not in LEFT | {COPIED}
        and not (path.is_file() and copied.get(path.name) == digest(path.read_bytes()))
    ]
