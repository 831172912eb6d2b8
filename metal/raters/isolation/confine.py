"""What a process gives up before a stranger's program runs in it, and in words what that came to."""

from __future__ import annotations

import os
import resource
import site
import sys
from collections.abc import Sequence
from pathlib import Path

import metal
from metal.errors import UsageError
from metal.raters.isolation.files import shut_in
from metal.raters.isolation.limits import Limits
from metal.raters.isolation.privileges import die_with, give_up_privileges, leave_network
from metal.raters.isolation.system_calls import refuse_system_calls

# What programs in Python read of a system: libraries, time zones, locales, how many cores there are.
SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/gnu/store", "/sys/devices/system"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/locale.alias"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/filesystems", "/dev/urandom", "/dev/random", "/dev/zero"),
)
NOWHERE = Path("/dev/null")
OPEN_FILES = 256


def confine(limits: Limits, folder: Path, readable: Sequence[Path], parent: int) -> list[str]:
    """Shut this process in for good; `folder` is where it may write.

    Returns a sentence for each protection, also for those that this system does not give. Raises UsageError where
    the process has threads, which would stay outside.
    """
    network = files = calls = False
    version = 0
    if sys.platform == "linux":
        if len(os.listdir("/proc/self/task")) > 1:
            raise UsageError("a thread is running before the program; no package may start one when Python starts")
        die_with(parent)
        network = leave_network()
        give_up_privileges()
        version = shut_in([*python_folders(), *map(Path, SYSTEM), *readable], [folder, NOWHERE])
        files = version > 0
    memory = limit_resources(limits)
    if sys.platform == "linux":
        calls = refuse_system_calls()
    return [
        _network(calls, network, version),
        "files: it reads Python, system libraries, its own file and what it was given; it writes in a folder of its "
        "own, which is deleted"
        if files
        else "files: it reads and writes whatever its user may; this system offers no Landlock",
        "owners, permissions and dates of files stay as they are"
        if calls
        else "owners, permissions and dates of its user's files are not protected here",
        "processes: it starts none"
        if calls
        else "processes: those it starts end with it, unless they leave its process group",
        "signals: it reaches no other process"
        if calls or version >= 6
        else "signals: it can end other processes of its user",
        f"memory: {limits.memory_mb:,} MB" if memory else "memory: not limited, this system does not allow it",
        f"time: {limits.seconds:,g} s; files: {limits.file_mb:,} MB each; environment: none of its user's",
    ]


def _network(calls: bool, network: bool, version: int) -> str:
    if calls or network:
        return "network: none"
    if version >= 4:
        return "network: no TCP; UDP, and so names of hosts, are open here"
    return "network: open, this system offers no way to shut it"


def python_folders() -> list[Path]:
    """Where Python, installed packages and METAL lie. Other folders on Python's path may hold anybody's files."""
    prefixes = [Path(prefix) for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}]
    installed = {*site.getsitepackages(), site.getusersitepackages()}
    packages = [Path(entry) for entry in sys.path if entry in installed or Path(entry).name.endswith("-packages")]
    return [*prefixes, *packages, Path(metal.__path__[0])]


def limit_resources(limits: Limits) -> bool:
    """Set what the system counts; whether memory is among it."""
    megabyte = 1 << 20
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits.file_mb * megabyte)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    # A second line behind the clock of the parent, should that be gone: seconds are counted on every core.
    _limit(resource.RLIMIT_CPU, (int(limits.seconds) + 1) * (os.cpu_count() or 1))
    return _limit(resource.RLIMIT_AS, limits.memory_mb * megabyte)


def _limit(what: int, most: int) -> bool:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(what, (most, most))
    except (ValueError, OSError):
        return False
    return True
