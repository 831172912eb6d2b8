"""Linux: which files this process can open from now on (Landlock).

It says nothing of who may read what otherwise: it takes away. It cannot hinder anyone from asking whether a path
exists, or from changing owners, permissions and dates; the latter metal.raters.isolation.system_calls refuses.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # the same numbers on every machine Python runs on, Alpha apart
ASK_VERSION = 1
PATH_BENEATH = 1

WRITE, READ, LIST, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = 1 | WRITE | READ | TRUNCATE | 1 << 15  # others are of folders only
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by the version that added them
SPECIAL = 1 << 6 | 1 << 9 | 1 << 11  # devices and sockets: made nowhere
NOT_GIVEN = 1 | SPECIAL | 1 << 15  # nor is anything executed, or a device steered
TCP = 1 << 0 | 1 << 1  # to bind and to connect
SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals stay among those shut in


def landlock_version() -> int:
    """The version of Landlock here; 0 where there is none."""
    return max(0, _call(CREATE, None, 0, ASK_VERSION))


def shut_in(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """Open nothing from now on but what lies in these files and folders. Paths that do not exist are passed over.

    Returns the version of Landlock, 0 where nothing was done. Version 4 shuts TCP too, version 6 signals to others and
    abstract sockets. The process must have given up new privileges.
    """
    version = landlock_version()
    if version == 0:
        return 0
    rights = ALL_RIGHTS[max(earlier for earlier in ALL_RIGHTS if earlier <= version)]
    fields = [rights, TCP, SCOPES][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _call(CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return 0
    try:
        for path in readable:
            _allow(rules, path, READ | LIST)
        for path in writable:
            _allow(rules, path, rights & ~NOT_GIVEN)
        return version if _call(RESTRICT, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= rights if path.is_dir() else FILE_RIGHTS
        _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: int | bytes | None) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    result: int = call(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return result
