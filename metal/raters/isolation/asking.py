"""The parent's side of a child process: starting it, asking it, listening to it, and ending it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import metal
from metal.errors import UsageError
from metal.raters.isolation.disk import CLEARING, Creations, clear, hear, private_folder
from metal.raters.isolation.limits import Disk, Limits

# The child finds packages where the parent does. Nothing of the child's folder or environment is on
# its path.
START = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); sys.path[:] ="
    " request['path']; from metal.raters.isolation.child import main; main(request)"
)
KEPT = 2000  # bytes of what a program prints that are kept
AFTERWARDS = 1.0  # seconds to end in, after the last answer
LOOKS = 50  # a second, at its threads


@dataclass(frozen=True)
class ChildReply:
    """What a child returned: its answers, its exit status (in subprocess's terms), and its last
    output.

    late: whether it was ended because its time was up. flooded: whether it was ended because it
    answered more bytes than allowed. excess: another limit that it exceeded. disk: where it could
    write. left: a sentence about files that could not be deleted.
    """

    answers: bytes
    code: int
    printed: str
    late: bool = False
    flooded: bool = False
    excess: str = ""
    disk: Disk = Disk.NONE
    left: str = ""


def ask(
    request: Mapping[str, Any], items: Iterable[Mapping[str, Any]], limits: Limits, most: int
) -> ChildReply:
    """Have a child carry out a request over some items. most: how many bytes it may answer.

    When this returns or raises, even by Ctrl-C, the child has ended. Raises UsageError if no child
    can be started.
    """
    if os.name != "posix":
        raise UsageError(
            "submitted programs run on Linux and macOS only: METAL cannot isolate them here"
        )
    until = time.monotonic() + limits.seconds
    folder = private_folder()
    left = ""
    try:
        reply = _asked(request, items, limits, most, folder, until)
    finally:
        left = clear(folder, max(until, time.monotonic() + CLEARING))
    return replace(reply, left=left)


def _asked(
    request: Mapping[str, Any],
    items: Iterable[Mapping[str, Any]],
    limits: Limits,
    most: int,
    folder: Path,
    until: float,
) -> ChildReply:
    receiving, sending = os.pipe()
    ours, childs = socket.socketpair()
    with ours, os.fdopen(receiving, "rb", buffering=0) as answers:
        try:
            own = {"answers": sending, "control": childs.fileno(), "parent": os.getpid()}
            lines = ({**request, **own, "path": child_path(), "limits": asdict(limits)}, *items)
            with _given(lines, folder) as lines_file:
                child = _start(lines_file, (sending, childs.fileno()), folder)
        finally:
            os.close(sending)
            childs.close()
        listening = _Listening(child, answers, ours, limits, most, until)
        try:
            reply = listening.to_the_end()
        finally:
            code = _end(child)
            listening.close()
    return replace(reply, code=code)


def child_path() -> list[str]:
    """The absolute paths where the child looks for packages, including METAL's own folder."""
    return list(
        dict.fromkeys([*map(os.path.abspath, sys.path), str(Path(metal.__path__[0]).parent)])
    )


def _given(lines: Iterable[Mapping[str, Any]], folder: Path) -> IO[bytes]:
    """A nameless read-only file with these lines, which no child can write to."""
    path = folder / "given"
    with path.open("xb") as file:
        file.writelines(json.dumps(line).encode("ascii") + b"\n" for line in lines)
    opened = path.open("rb")
    path.unlink()
    return opened


def _start(lines_file: IO[bytes], passed: tuple[int, ...], folder: Path) -> subprocess.Popen[bytes]:
    # Not -I: it would ignore PYTHONHASHSEED. With an environment of our own, -s and -P are all else
    # that it does.
    return subprocess.Popen(  # noqa: S603  (Python itself, with code of ours)
        [sys.executable, "-s", "-P", "-c", START],
        stdin=lines_file,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=passed,
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,
    )


def _environment(folder: Path) -> dict[str, str]:
    """The child's environment. Of the user's variables, it has only the paths of the linker,
    because Python itself may need them.
    """
    variables = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "USER": "metric",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    variables |= {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return variables | {
        name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ
    }


class _Listening:
    """Collects what a child says until it ends or exceeds a limit; its exit code comes later."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        answers: IO[bytes],
        control: socket.socket,
        limits: Limits,
        most: int,
        until: float,
    ) -> None:
        assert child.stdout is not None
        self.child, self.control = child, control
        self.limits, self.most, self.until = limits, most, until
        self.answers, self.printed, self.disk = bytearray(), b"", Disk.NONE
        self.creations: Creations | None = None
        self.answering = self.printing = True
        self.waiting = selectors.DefaultSelector()
        self._wait_for(answers, self._hear_answers)
        self._wait_for(child.stdout, self._hear_prints)
        self._wait_for(control, self._hear_disk)

    def to_the_end(self) -> ChildReply:
        while self.answering or self.printing:
            left = self.until - time.monotonic()
            if left <= 0:
                return self._reply(late=self.answering)
            if excess := self._excess():
                return self._reply(excess=excess)
            for key, _ in self.waiting.select(min(left, 1 / LOOKS)):
                key.data(key.fd)
            if len(self.answers) > self.most:
                self.answers.clear()
                return self._reply(flooded=True)
        return self._reply()

    def close(self) -> None:
        self.waiting.close()
        if self.creations:
            self.creations.close()

    def _wait_for(
        self, source: int | IO[bytes] | socket.socket, hear: Callable[[int], None]
    ) -> None:
        self.waiting.register(source, selectors.EVENT_READ, hear)

    def _reply(self, *, late: bool = False, flooded: bool = False, excess: str = "") -> ChildReply:
        printed = self.printed.decode("utf-8", "replace")
        return ChildReply(bytes(self.answers), 0, printed, late, flooded, excess, self.disk)

    def _hear_answers(self, descriptor: int) -> None:
        chunk = os.read(descriptor, 1 << 16)
        self.answers += chunk
        if not chunk:
            self.waiting.unregister(descriptor)
            self.answering = False
            self.until = min(self.until, time.monotonic() + AFTERWARDS)

    def _hear_prints(self, descriptor: int) -> None:
        chunk = os.read(descriptor, 1 << 16)
        self.printed = (self.printed + chunk)[-KEPT:]
        if not chunk:
            self.waiting.unregister(descriptor)
            self.printing = False

    def _hear_disk(self, descriptor: int) -> None:
        self.waiting.unregister(descriptor)
        self.disk, self.creations = hear(self.control, self.limits.files_counted)
        if self.creations:
            self._wait_for(self.creations.listener, self._count)

    def _count(self, descriptor: int) -> None:
        assert self.creations is not None
        if not self.creations.answer():
            self.waiting.unregister(descriptor)

    def _excess(self) -> str:
        """The limit that a child exceeds, which can only be threads; empty if none."""
        with suppress(OSError):
            if Path("/proc", str(self.child.pid), "task").stat().st_nlink - 2 > self.limits.threads:
                return f"it began more than {self.limits.threads:,} threads"
        return ""


def _end(child: subprocess.Popen[bytes]) -> int:
    """End a child and its process group; return how it ended."""
    assert child.stdout is not None
    # it is not reaped yet, so the group is still its own
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    code = child.wait()
    child.stdout.close()
    return code
