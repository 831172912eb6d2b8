"""The child's side: it isolates itself, runs the program and answers in lines of JSON.

The request is the first line of standard input; the items follow, one per line. Answers go through
a separate pipe, so nothing that the program prints can be an answer. Once the program has begun,
nothing in this process can be trusted, so the parent treats every answer as foreign input.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import metal
from metal.errors import MetalError, UsageError
from metal.raters.isolation.calls import refuse_and_count, refuse_system_calls
from metal.raters.isolation.disk import tell
from metal.raters.isolation.kernel import (
    die_with,
    give_up_privileges,
    leave_network,
    own_file_system,
    shut_in,
    yield_to_others,
)
from metal.raters.isolation.limits import MEGABYTE, Disk, Limits
from metal.raters.metrics.contract import Item, Metric
from metal.raters.metrics.own import metric_from_file

REASON = 200  # characters of a reason that are sent
# What programs in Python read of a system: libraries, time zones, locales, how many cores there
# are.
SYSTEM = (
    *(
        "/usr",
        "/lib",
        "/lib32",
        "/lib64",
        "/bin",
        "/nix/store",
        "/gnu/store",
        "/sys/devices/system",
    ),
    *(
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/localtime",
        "/etc/locale.alias",
    ),
    *(
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/filesystems",
        "/dev/urandom",
        "/dev/random",
        "/dev/zero",
    ),
)
NOWHERE = Path("/dev/null")
OPEN_FILES = 256


def main(request: Mapping[str, Any]) -> None:
    """Carry out a request of metal.raters.isolation and end this process."""
    sys.dont_write_bytecode = True
    answers = os.fdopen(request["answers"], "w", encoding="ascii")
    os.set_inheritable(answers.fileno(), False)
    items = [
        Item(**{**fields, "references": tuple(fields["references"])})
        for fields in map(json.loads, sys.stdin.buffer)
    ]
    try:
        limits, readable = Limits(**request["limits"]), list(map(Path, request["readable"]))
        protections = confine(limits, Path.cwd(), readable, request["parent"], request["control"])
        if request["action"] == "protections":
            lines: list[Any] = [{"protections": protections}]
        elif request["action"] == "describe":
            lines = [_described(metric_from_file(request["name"]))]
        else:
            answers_of_metric = metric_from_file(request["name"]).score(items)
            lines = [
                answer[:REASON] if isinstance(answer, str) else float(answer)
                for answer in answers_of_metric
            ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
    except MetalError as error:
        text = json.dumps({"error": str(error).removeprefix(f"metric {request['name']}: ")}) + "\n"
    except BaseException as error:  # a program can raise anything, sys.exit included
        first = next(iter(str(error).splitlines()), "")
        text = json.dumps({"error": f"{type(error).__name__}: {first[:REASON]}"}) + "\n"
    answers.write(text)
    answers.flush()
    os._exit(0)  # what the program left to be done at the end is not done


def _described(metric: Metric) -> dict[str, Any]:
    """Everything about a metric except the function and its name."""
    return {
        field.name: getattr(metric, field.name)
        for field in dataclasses.fields(metric)
        if field.name not in ("name", "score")
    }


# ---------------------------------------------------------------- what is given up, and in words
# what that came to


def confine(
    limits: Limits, folder: Path, readable: Sequence[Path], parent: int, control: int | None = None
) -> list[str]:
    """Isolate this process for good.

    folder: the only folder in which the process may write. control: a socket on which the parent
    learns how writing is limited.

    Returns a sentence for each protection, including protections that this system does not offer.
    Raises UsageError if the process has threads, because these would stay unprotected.
    """
    network = calls = False
    version, disk, listener = 0, Disk.NONE, None
    if sys.platform == "linux":
        if len(os.listdir("/proc/self/task")) > 1:
            raise UsageError(
                "a thread is running before the program; no package may start one when Python"
                " starts"
            )
        die_with(parent)
        yield_to_others()
        network = leave_network()
        if own_file_system(folder, limits.disk_mb, limits.files):
            disk = Disk.OWN
        give_up_privileges()
        disk, listener, calls = _filtered(disk)
        writable = [NOWHERE] if disk is Disk.NONE else [folder, NOWHERE]
        version = shut_in([*python_folders(), *map(Path, SYSTEM), *readable], writable)
    memory = limit_resources(limits, disk)
    if control is not None:
        tell(control, disk, listener)
    return _sentences(limits, disk, network, calls, version, memory)


def _filtered(disk: Disk) -> tuple[Disk, int | None, bool]:
    """Refuse system calls; if the process has no file system of its own, also have its new files
    counted.

    Returns where the process may write, the listener, and whether calls are refused.
    """
    if disk is not Disk.OWN:
        listener = refuse_and_count()
        if listener is not None:
            return Disk.COUNTED, listener, True
    return disk, None, refuse_system_calls(disk)


def _sentences(
    limits: Limits, disk: Disk, network: bool, calls: bool, version: int, memory: bool
) -> list[str]:
    """A sentence about each protection. version: the version of Landlock, 0 if there is none."""
    reads = (
        "files: it reads Python, system libraries, its own file and the files it was given; it"
        " writes "
    )
    if version == 0:
        files = "files: it can read and write like its user, because this system has no Landlock"
    elif disk is Disk.NONE:
        files = f"{reads}nowhere"
    else:
        files = f"{reads}in a folder of its own, which is deleted"
    owners = "owners, permissions and dates of its user's files are not protected here"
    processes = "processes: its children end with it, unless they leave its process group"
    signals = "signals: it can end other processes of its user"
    if calls:
        owners = "owners, permissions and dates of files stay as they are"
        processes = "processes: it cannot start any"
    if calls or version >= 6:
        signals = "signals: it cannot send any to other processes"
    limited = "memory: not limited, because this system cannot limit it"
    if memory:
        limited = f"memory: {limits.memory_mb:,} MB"
    return [
        _network(calls, network, version),
        files,
        owners,
        processes,
        signals,
        limited,
        (
            f"time: {limits.seconds:,g} s; it writes {limits.writing(disk)}; "
            f"threads: {limits.threads:,}; environment: no variable of its user"
        ),
    ]


def _network(calls: bool, network: bool, version: int) -> str:
    if calls or network:
        return "network: none"
    if version >= 4:
        return "network: no TCP; UDP, and with it the lookup of host names, is open here"
    return "network: open; this system offers no way to close it"


def python_folders() -> list[Path]:
    """The folders of Python, of installed packages and of METAL. Other folders on Python's path are
    left out, because they may contain anybody's files.
    """
    prefixes = list(map(Path, {sys.prefix, sys.base_prefix, sys.exec_prefix}))
    installed = {*site.getsitepackages(), site.getusersitepackages()}
    packages = [
        Path(entry)
        for entry in sys.path
        if entry in installed or Path(entry).name.endswith("-packages")
    ]
    return [*prefixes, *packages, Path(metal.__path__[0])]


def limit_resources(limits: Limits, disk: Disk) -> bool:
    """Set the limits that the system enforces; return whether it enforces the limit of memory."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes(disk))
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    # A second line behind the clock of the parent, should that be gone: seconds are counted on
    # every core.
    _limit(resource.RLIMIT_CPU, (int(limits.seconds) + 1) * (os.cpu_count() or 1))
    return _limit(resource.RLIMIT_AS, limits.memory_mb * MEGABYTE)


def _limit(what: int, most: int) -> bool:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(what, (most, most))
    except (ValueError, OSError):
        return False
    return True
