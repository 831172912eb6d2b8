"""The parent's side: start a child, hear what it answers, and end it and all it started."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import metal
from metal.errors import UsageError

# The child finds packages where the parent does. Nothing of the child's folder or environment is on its path.
START = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); sys.path[:] = request['path']; "
    "from metal.raters.isolation.child import main; main(request)"
)
KEPT = 2000  # bytes of what a program prints that are kept
AFTERWARDS = 1.0  # seconds to end in, after the last answer


@dataclass(frozen=True)
class Limits:
    """What a stranger's program may use.

    seconds: by the clock, for a run over all texts. memory_mb, file_mb: of memory, and of each file it writes. Memory
    counts as the system counts addresses: libraries with many threads ask for more than they use.
    """

    seconds: float = 600
    memory_mb: int = 4096
    file_mb: int = 64

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds > 0 and self.memory_mb > 0 and self.file_mb > 0):
            raise UsageError(f"limits of {self.seconds} s, {self.memory_mb} MB, {self.file_mb} MB; give more than 0")


@dataclass(frozen=True)
class ChildReply:
    """What came from a child: its answers, how it ended (as subprocess has it), and the last it printed.

    late, flooded: it was ended because its time was up, or because it answered more bytes than it may.
    """

    answers: bytes
    code: int
    printed: str
    late: bool = False
    flooded: bool = False


def ask(request: Mapping[str, Any], items: Iterable[Mapping[str, Any]], limits: Limits, most: int) -> ChildReply:
    """Have a child carry out a request over some items; `most` is how many bytes it may answer.

    When this returns or raises, Ctrl-C included, the child has ended. Raises UsageError where there can be none.
    """
    if os.name != "posix":
        raise UsageError("programs of others run on Linux and macOS only: here nothing would hold them back")
    with _private_folder() as folder, tempfile.TemporaryFile() as given:
        receiving, sending = os.pipe()
        try:
            own = {"answers": sending, "parent": os.getpid(), "path": child_path(), "limits": asdict(limits)}
            given.writelines(json.dumps(line).encode("ascii") + b"\n" for line in ({**request, **own}, *items))
            given.seek(0)
            child = _start(given, sending, folder)
        except BaseException:
            os.close(receiving)
            raise
        finally:
            os.close(sending)
        try:
            answers, printed, late, flooded = _listen(child, receiving, time.monotonic() + limits.seconds, most)
        finally:
            code = _end(child)
            os.close(receiving)
    return ChildReply(answers, code, printed.decode("utf-8", "replace"), late, flooded)


def child_path() -> list[str]:
    """Where the child looks for packages: absolute, METAL's own folder among it."""
    return list(dict.fromkeys([os.path.abspath(entry) for entry in sys.path] + [str(Path(metal.__path__[0]).parent)]))


def _start(given: IO[bytes], sending: int, folder: Path) -> subprocess.Popen[bytes]:
    # Not -I: it would ignore PYTHONHASHSEED. With an environment of our own, -s and -P are all else that it does.
    return subprocess.Popen(  # noqa: S603  (Python itself, with code of ours)
        [sys.executable, "-s", "-P", "-c", START],
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(sending,),
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,
    )


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's environment except where the linker finds libraries, which Python itself may need."""
    variables = {"PATH": os.defpath, "LANG": "C.UTF-8", "USER": "metric", "HOME": str(folder), "TMPDIR": str(folder)}
    variables |= {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return variables | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _listen(
    child: subprocess.Popen[bytes], receiving: int, deadline: float, most: int
) -> tuple[bytes, bytes, bool, bool]:
    """Answers, what was printed last, whether the time was up, whether there were too many answers."""
    assert child.stdout is not None
    answers, printed = bytearray(), b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(receiving, selectors.EVENT_READ)
        waiting.register(child.stdout, selectors.EVENT_READ)
        answering = True
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(answers), printed, answering, False
            for key, _ in waiting.select(left):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    waiting.unregister(key.fileobj)
                if key.fd != receiving:
                    printed = (printed + chunk)[-KEPT:]
                    continue
                answers += chunk
                if len(answers) > most:
                    return b"", printed, False, True
                if not chunk:
                    answering = False
                    deadline = min(deadline, time.monotonic() + AFTERWARDS)
    return bytes(answers), printed, False, False


def _end(child: subprocess.Popen[bytes]) -> int:
    """End a child and its process group; how it ended."""
    assert child.stdout is not None
    with suppress(ProcessLookupError, PermissionError):  # it is not reaped yet, so the group is still its own
        os.killpg(child.pid, signal.SIGKILL)
    code = child.wait()
    child.stdout.close()
    return code


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A new folder that is deleted at the end, whatever a stranger left in it."""
    folder = Path(tempfile.mkdtemp(prefix="metal-metric-"))
    try:
        yield folder
    finally:
        _clear(folder)


def _clear(folder: Path) -> None:
    """Delete a folder level by level: folders in folders may be too deep for recursion, and for a path."""
    moved = 0
    with suppress(OSError):
        while inside := [entry.path for entry in _without_files(folder)]:
            for path in inside:
                for entry in _without_files(Path(path)):
                    moved += 1
                    os.rename(entry.path, folder / f"{os.path.basename(folder)}-{moved}")
                os.rmdir(path)
        folder.rmdir()


def _without_files(folder: Path) -> list[os.DirEntry[str]]:
    """The folders in a folder, after everything else in it was deleted."""
    with os.scandir(folder) as scan:
        entries = list(scan)
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    for entry in entries:
        if entry not in folders:
            os.unlink(entry.path)
    return folders
