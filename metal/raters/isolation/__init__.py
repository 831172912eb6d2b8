"""A stranger's metric: a Python file (see metal.raters.metrics.own) that is run in a process of its own, shut in.

Each run is a new child: once to learn what the function is, then for the texts to score, all at once. Before the file
is run, the child gives up the network, all files but those it needs, other processes, and memory and time beyond its
limits (child.py), as far as the system allows; `protections` says what it came to here. What comes back is text,
never objects, and is checked as a stranger's. When a run is over, the child and all it started have ended.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import selectors
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import metal
from metal.data.missing import no_such
from metal.errors import DataError, UsageError
from metal.raters.metrics.contract import Answer, Item, Metric

LINE = 4096  # bytes of one answer at most
REASON = 200  # characters of a reason that are kept
NO_NUMBER = "the metric gave no number"
# The child finds packages where the parent does. Nothing of the child's folder or environment is on its path.
START = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); sys.path[:] = request['path']; "
    "from metal.raters.isolation.child import main; main(request)"
)
KEPT = 2000  # bytes of what a program prints that are kept
AFTERWARDS = 1.0  # seconds to end in, after the last answer
LOOKS = 50  # a second, at what it has on the disk and at its threads


@dataclass(frozen=True)
class Limits:
    """What a stranger's program may use.

    seconds: by the clock, for a run over all texts. memory_mb, file_mb: of memory, and of each file it writes. Memory
    counts as the system counts addresses: libraries with many threads ask for more than they use. disk_mb: of all its
    files, threads: at a time; both are looked at LOOKS times a second.
    """

    seconds: float = 600
    memory_mb: int = 4096
    file_mb: int = 64
    disk_mb: int = 256
    threads: int = 512

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and min(asdict(self).values()) > 0):
            raise UsageError(f"limits {asdict(self)}: each is more than 0")


def isolated_metric(
    program: Path, function: str = "score", *, readable: Sequence[Path] = (), limits: Limits | None = None
) -> Metric:
    """The function of a Python file as a metric, its code never run in this process.

    `readable` are files and folders beside the program's own file that it may read: word lists, a model. The metric
    has the name and the signature that metal.raters.metrics.find_metric gives the same function.

    Raises UsageError where there is no such file or function, or running the file fails; scoring raises
    UsageError where a run fails as a whole, DataError where it answers otherwise than with one score per text.
    """
    limits = limits or Limits()
    name = f"{program}:{function}"
    if not program.is_file():
        raise no_such(program, "file", f" (of metric {name})")
    if not function.isidentifier():
        raise UsageError(f"metric {name}: {function!r} is not the name of a function")
    if missing := [path for path in readable if not path.exists()]:
        raise UsageError(f"metric {name}: there is no {missing[0]}, which it should read")
    place = program.resolve()
    digest = _digest(place)
    request = {"name": f"{place}:{function}", "readable": [str(place), *(str(path.resolve()) for path in readable)]}

    def score(items: Sequence[Item]) -> list[Answer]:
        if _digest(place) != digest:
            raise DataError(f"metric {name}", "its file has changed since it was opened", "Open it again")
        reply = ask({**request, "action": "score"}, map(asdict, items), limits, LINE * (len(items) + 1))
        lines = _lines(name, reply, limits, len(items))
        if len(lines) != len(items):
            raise DataError(f"metric {name}", f"{len(lines)} scores for {len(items)} texts", "It gives one each")
        return [_answer(line) for line in lines]

    reply = ask({**request, "action": "describe"}, (), limits, 16 * LINE)
    lines = _lines(name, reply, limits, 1)
    if len(lines) != 1 or not isinstance(lines[0], dict):
        raise _odd(name, "no description of its function")
    return _described(name, f"blake2b:{digest}", lines[0], score)


def protections(limits: Limits | None = None) -> tuple[str, ...]:
    """What holds a program back on this system, a sentence each; found out by a child that shuts itself in.

    Raises UsageError where there can be no child.
    """
    limits = limits or Limits()
    reply = ask({"action": "protections", "readable": []}, (), limits, 16 * LINE)
    (answer,) = _lines("(none)", reply, limits, 1)  # no stranger's code ran for this
    return tuple(answer["protections"])


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def _lines(name: str, reply: ChildReply, limits: Limits, expected: int) -> list[Any]:
    """The values of a child's lines; None for what is not JSON. Raises UsageError where the run failed as a whole."""
    lines = [_value(line) for line in reply.answers.split(b"\n")[:-1]]  # the last has no end, and so is none
    if len(lines) == 1 and isinstance(lines[0], dict) and isinstance(lines[0].get("error"), str):
        problem = _clean(lines[0]["error"], 2 * REASON)
        memory = f" (it may use {limits.memory_mb:,} MB)" if "MemoryError" in problem else ""
        raise UsageError(f"metric {name}: {problem}{memory}")
    if reply.flooded:
        raise UsageError(f"metric {name}: it answered more than {LINE:,} bytes per text and was ended")
    if reply.late:
        raise UsageError(f"metric {name}: not done after {limits.seconds:,g} s and was ended; allow it more time")
    if reply.excess:
        raise UsageError(f"metric {name}: {reply.excess} and was ended")
    if len(lines) < expected:
        raise UsageError(f"metric {name}: {_ending(reply, limits)} after {len(lines):,} of {expected:,} answers")
    return lines


def _ending(reply: ChildReply, limits: Limits) -> str:
    if reply.code >= 0:
        last = next((line for line in reversed(reply.printed.splitlines()) if line.strip()), "")
        return f"it ended itself (code {reply.code}" + (f", its last line {_clean(last)!r})" if last else ")")
    try:
        named = signal.Signals(-reply.code).name
    except ValueError:
        named = f"signal {-reply.code}"
    return f"it was ended by {named} (it may use {limits.memory_mb:,} MB of memory)"


def _value(line: bytes) -> Any:
    if len(line) > LINE * 16:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _answer(value: Any) -> Answer:
    """A finite number as it is; else, as for any metric, in words why there is none."""
    if isinstance(value, str):
        return _clean(value) or "the metric gave none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NO_NUMBER
    try:
        number = float(value)
    except OverflowError:
        return NO_NUMBER
    return number if math.isfinite(number) else "no finite number"


def _clean(text: str, most: int = REASON) -> str:
    """One line that every encoding can hold."""
    line = " ".join(text[: 4 * most].encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _described(name: str, digest: str, fields: Mapping[str, Any], score: Any) -> Metric:
    """A metric as its own program describes it. Raises DataError for what cannot describe one."""
    low, high, needs, claimed = (fields.get(key) for key in ("low", "high", "needs", "signature"))
    for end in (low, high):
        if end is not None and (isinstance(end, bool) or not isinstance(_answer(end), float)):
            raise _odd(name, "a range that is not two numbers")
    if not isinstance(needs, list) or not isinstance(claimed, str):
        raise _odd(name, "no description of its function")
    before, version_mark, version = claimed.partition(f"|{digest}")[2].partition("|version:")
    if digest not in claimed or before:
        raise _odd(name, "another file's signature")
    return Metric(
        name,
        _clean(str(fields.get("summary"))),
        score,
        f"{name}|{digest}" + (f"{version_mark}{_clean(version)}" if version_mark else ""),
        needs=tuple(_clean(str(need)) for need in needs),  # type: ignore[misc]  # the metric checks it, and direction
        direction=_clean(str(fields.get("direction"))),  # type: ignore[arg-type]
        low=low,
        high=high,
        multi_reference=fields.get("multi_reference") is True,
    )


def _odd(name: str, problem: str) -> DataError:
    return DataError(f"metric {name}", f"it gives {problem}", "Write it as metal.raters.metrics.own says")


# ---------------------------------------------------------------- the child from outside


@dataclass(frozen=True)
class ChildReply:
    """What came from a child: its answers, how it ended (as subprocess has it), and the last it printed.

    late, flooded: it was ended because its time was up, or because it answered more bytes than it may. excess: what
    else it did more of than it may.
    """

    answers: bytes
    code: int
    printed: str
    late: bool = False
    flooded: bool = False
    excess: str = ""


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
            reply = _listen(child, receiving, folder, limits, most)
        finally:
            code = _end(child)
            os.close(receiving)
    return replace(reply, code=code)


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


def _listen(child: subprocess.Popen[bytes], receiving: int, folder: Path, limits: Limits, most: int) -> ChildReply:
    """What a child says until it ends, or until it has done more than it may; its code is not known yet."""
    assert child.stdout is not None
    answers, printed, excess, answering = bytearray(), b"", "", True
    deadline = time.monotonic() + limits.seconds

    def reply(late: bool = False) -> ChildReply:
        return ChildReply(bytes(answers), 0, printed.decode("utf-8", "replace"), late, excess=excess)

    with selectors.DefaultSelector() as waiting:
        waiting.register(receiving, selectors.EVENT_READ)
        waiting.register(child.stdout, selectors.EVENT_READ)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return reply(late=answering)
            if excess := _excess(child.pid, folder, limits):
                return reply()
            for key, _ in waiting.select(min(left, 1 / LOOKS)):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    waiting.unregister(key.fileobj)
                if key.fd != receiving:
                    printed = (printed + chunk)[-KEPT:]
                    continue
                answers += chunk
                if len(answers) > most:
                    return ChildReply(b"", 0, reply().printed, flooded=True)
                if not chunk:
                    answering = False
                    deadline = min(deadline, time.monotonic() + AFTERWARDS)
    return reply()


def _excess(process: int, folder: Path, limits: Limits) -> str:
    """What a child has too much of: threads, or files, those in its folder and those it has removed but holds open."""
    process_folder = Path("/proc", str(process))
    with suppress(OSError):
        if (process_folder / "task").stat().st_nlink - 2 > limits.threads:
            return f"it began more than {limits.threads:,} threads"
    size = 0
    for place, inside in ((folder, True), (process_folder / "fd", False)):
        for entry in _entries(place, deep=inside):
            with suppress(OSError):
                state = entry.stat(follow_symlinks=not inside)
                if inside or (stat.S_ISREG(state.st_mode) and not state.st_nlink):
                    size += max(state.st_blocks * 512, 4096)
            if size > limits.disk_mb << 20:
                return f"it wrote more than {limits.disk_mb:,} MB"
    return ""


def _entries(folder: Path, *, deep: bool) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, and with deep in those within; what is gone by now is not."""
    folders = [os.fspath(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry
                if deep and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


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
