"""Linux: give up what an administrator may do, and the network, as far as the system lets anyone do so."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from contextlib import suppress
from pathlib import Path

NEW_USERS, NEW_NETWORK, NEW_IPC = 0x10000000, 0x40000000, 0x08000000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAPABILITIES = 64
CAPABILITIES_VERSION = 0x20080522


def die_with(parent: int) -> None:
    """Be killed when the parent ends, however it ends."""
    _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def leave_network() -> bool:
    """Go where there is no network but an interface that is down; False where the system does not allow it."""
    user, group = os.geteuid(), os.getegid()
    unshare = getattr(_libc(), "unshare", None)
    if unshare is None or unshare(NEW_USERS | NEW_NETWORK | NEW_IPC) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with suppress(OSError):  # then the user has no name, and nothing else changes
            Path("/proc/self", name).write_text(text, encoding="ascii")
    return True


def give_up_privileges() -> None:
    """No capabilities, and no way to any: root is then a user like others, who owns root's files."""
    libc = _libc()
    for number in range(CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if hasattr(libc, "capset"):
        libc.capset(struct.pack("=Ii", CAPABILITIES_VERSION, 0), bytes(24))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
