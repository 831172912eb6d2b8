"""The parent's side of a child's disk: the folder in which it writes, and how many files it makes.

A child with its own file system leaves the folder empty. For any other child, files are counted:
before each call that makes a file, folder or link, the kernel asks this process (calls.py).
"""

from __future__ import annotations

import errno
import os
import select
import shlex
import socket
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from metal.raters.isolation.calls import numbers_here
from metal.raters.isolation.limits import FOLDER, Disk

# Of linux/seccomp.h: a question is struct seccomp_notif, an answer is struct seccomp_notif_resp.
RECEIVE, SEND = 0xC0502100, 0xC0182101
QUESTION_SIZE = 80
QUESTION = "=Q8xi"  # its id, the process and flags, the number of the call
ANSWER = "=QqiI"  # the question's id, a value, an error, flags
LET_IT = 1  # the flag with which the call is carried out
CLEARING = 5.0  # seconds that a folder may be cleared for, also when a child's time is up


class Creations:
    """Counts the files that a child makes (a folder counts as several) and refuses more than
    allowed.
    """

    def __init__(self, listener: int, most: int) -> None:
        self.listener = listener
        self.most = most
        self.made = 0
        self.folder_calls = numbers_here("mkdir", "mkdirat")

    def answer(self) -> bool:
        """Answer a question of the kernel, if any. Return False once there will be no more."""
        waiting = select.poll()
        waiting.register(self.listener, select.POLLIN)
        events = dict(waiting.poll(0)).get(self.listener, 0)
        if events & select.POLLIN:
            with suppress(OSError):  # whoever asked has ended
                self._answer()
            return True
        return not events

    def _answer(self) -> None:
        import fcntl  # not on Windows, where there are no children

        question = bytearray(QUESTION_SIZE)
        fcntl.ioctl(self.listener, RECEIVE, question)
        number, call = struct.unpack_from(QUESTION, question)
        self.made += FOLDER if call in self.folder_calls else 1
        if self.made > self.most:
            answer = struct.pack(ANSWER, number, 0, -errno.ENOSPC, 0)
        else:
            answer = struct.pack(ANSWER, number, 0, 0, LET_IT)
        fcntl.ioctl(self.listener, SEND, answer)

    def close(self) -> None:
        os.close(self.listener)


def tell(control: int, disk: Disk, listener: int | None) -> None:
    """Tell the parent where the child writes, and hand over the listener. Closes both
    descriptors.
    """
    with socket.socket(fileno=control) as channel:
        descriptors = [] if listener is None else [listener]
        socket.send_fds(channel, [disk.encode("ascii")], descriptors)
    if listener is not None:
        os.close(listener)


def hear(channel: socket.socket, most: int) -> tuple[Disk, Creations | None]:
    """What a child reported about its disk. If it ended before it reported, it cannot write
    anything.
    """
    message, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    disk = Disk(message.decode("ascii")) if message else Disk.NONE
    return disk, Creations(descriptors[0], most) if descriptors else None


# ---------------------------------------------------------------- the folder


def private_folder() -> Path:
    """A new folder that only its user may enter."""
    return Path(tempfile.mkdtemp(prefix="metal-metric-")).resolve()


def clear(folder: Path, until: float) -> str:
    """Delete a child's folder with everything in it; return a sentence about what could not be
    deleted.

    until: a time on the monotonic clock. Folders may be nested too deeply for recursion or for a
    path, and may be unreadable. So the function goes level by level: it gives the user access to
    each folder, and moves the folders inside it up.
    """
    name = os.urandom(8).hex()  # the stranger's files are not called that
    moved = 0
    with suppress(OSError):
        folder.chmod(0o700)
        while inside := _without_files(folder, until):
            for path in inside:
                for deeper in _without_files(path, until):
                    moved += 1
                    os.rename(deeper, folder / f"{name}-{moved}")
                os.rmdir(path)
        folder.rmdir()
        return ""
    quoted = shlex.quote(str(folder))
    command = f"chmod -R u+rwX {quoted}; rm -rf {quoted}"
    return f"some files that it wrote could not be deleted; delete them with `{command}`"


def _without_files(folder: Path, until: float) -> list[Path]:
    """Delete everything in a folder except folders that are not empty; make these accessible to
    their user, and return them.

    Raises TimeoutError (an OSError) when the time is up.
    """
    _check_time(until)
    with os.scandir(folder) as scan:
        entries = list(scan)
    folders = []
    for entry in entries:
        _check_time(until)
        path = Path(entry.path)
        if not entry.is_dir(follow_symlinks=False):
            path.unlink()
        elif not _deleted(path):
            path.chmod(0o700)
            folders.append(path)
    return folders


def _deleted(folder: Path) -> bool:
    """Delete a folder if it is empty; return whether it was deleted."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _check_time(until: float) -> None:
    if time.monotonic() > until:
        raise TimeoutError
