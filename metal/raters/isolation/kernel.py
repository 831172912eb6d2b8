"""Linux: what this process and every process that it starts give up for good.

They give up privileges, the network and the disk, as far as the system allows, and files
(Landlock). The filter of system calls (seccomp) is in calls.py.

Landlock only takes rights away. It cannot prevent a process from checking whether a path exists. It
also leaves open what the filter of system calls closes: sockets of every kind, other processes,
owners, permissions and dates of files, memory that no limit counts, and actions of an
administrator.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NEW_USERS, NEW_NETWORK, NEW_IPC, NEW_MOUNTS = 0x10000000, 0x40000000, 0x08000000, 0x00020000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
NICENESS = 5
CAPABILITIES = 64
CAPABILITIES_VERSION = 0x20080522


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


# ---------------------------------------------------------------- privileges and network


def die_with(parent: int) -> None:
    """Let this process be killed when the parent ends, however it ends."""
    libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def yield_to_others() -> None:
    """Let other programs have the processors first, and be ended first if memory runs out."""
    os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def leave_network() -> bool:
    """Move to a network namespace whose only interface is down. Return False if the system does not
    allow this.
    """
    user, group = os.geteuid(), os.getegid()
    unshare = getattr(libc(), "unshare", None)
    if unshare is None or unshare(NEW_USERS | NEW_NETWORK | NEW_IPC) != 0:
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with suppress(OSError):  # then the user has no name, and nothing else changes
            Path("/proc/self", name).write_text(text, encoding="ascii")
    return True


MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 1 << 1, 1 << 2, 1 << 14, 1 << 18


def own_file_system(folder: Path, megabytes: int, files: int) -> bool:
    """Mount an empty file system in memory over a folder, visible only to this process, and change
    to it.

    The file system has a fixed size. Everything in it counts, even files without a name and folders
    that cannot be listed. It disappears with the process. Returns False if the system does not
    allow this. It is allowed to root, and to any user if leave_network created a user namespace.
    """
    system = libc()
    unshare = getattr(system, "unshare", None)
    if unshare is None or unshare(NEW_MOUNTS) != 0:
        return False
    if system.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) != 0:
        return False
    options = f"size={megabytes}m,nr_inodes={files},mode=0700".encode("ascii")
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    if system.mount(b"metal", os.fsencode(folder), b"tmpfs", flags, options) != 0:
        return False
    os.chdir(folder)
    return True


def give_up_privileges() -> None:
    """Give up all capabilities, and every way to get new ones. Root is then an ordinary user who
    owns root's files.
    """
    system = libc()
    for number in range(CAPABILITIES):
        system.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if hasattr(system, "capset"):
        system.capset(struct.pack("=Ii", CAPABILITIES_VERSION, 0), bytes(24))
    system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


# ---------------------------------------------------------------- files


# the same numbers on every machine Python runs on, Alpha apart
CREATE, ADD_RULE, RESTRICT = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1

WRITE, READ, LIST, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = 1 | WRITE | READ | TRUNCATE | 1 << 15  # others are of folders only
# by the version that added them
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11  # devices, sockets and named pipes: made nowhere
NOT_GIVEN = 1 | SPECIAL | 1 << 15  # nor is anything executed, or a device steered
TCP = 1 << 0 | 1 << 1  # to bind and to connect
SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals stay among those shut in


def landlock_version() -> int:
    """The version of Landlock here; 0 if there is none."""
    return max(0, system_call(CREATE, None, 0, ASK_VERSION))


def shut_in(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """From now on, allow only these files, and files in these folders, to be opened. Paths that do
    not exist are skipped.

    Returns the version of Landlock, 0 if nothing was done. Version 4 also blocks TCP; version 6
    also blocks signals to other processes and abstract sockets. The process must have given up new
    privileges.
    """
    version = landlock_version()
    if version == 0:
        return 0
    rights = ALL_RIGHTS[max(earlier for earlier in ALL_RIGHTS if earlier <= version)]
    fields = [rights]
    if version >= 4:
        fields.append(TCP)
    if version >= 6:
        fields.append(SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = system_call(CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return 0
    try:
        for path in readable:
            _allow(rules, path, READ | LIST)
        for path in writable:
            _allow(rules, path, rights & ~NOT_GIVEN)
        return version if system_call(RESTRICT, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= rights if path.is_dir() else FILE_RIGHTS
        system_call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    call = libc().syscall
    call.restype = ctypes.c_long
    result: int = call(
        ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    )
    return result
