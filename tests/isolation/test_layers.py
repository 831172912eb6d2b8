"""Each layer by itself, so that none hides that another one does nothing."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from metal.raters.isolation import Limits, isolated_metric
from metal.raters.isolation.asking import child_path
from metal.raters.isolation.calls import MACHINES, REFUSED, SOMETIMES_REFUSED, filter_for, numbers
from metal.raters.isolation.limits import Disk
from metal.raters.metrics import Item, scored
from tests.saying import tells

# of x86-64, of other machines
HEADERS = ["x86_64-linux-gnu/asm/unistd_64.h", "asm-generic/unistd.h"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")


def tried(layer: str, deed: str) -> str:
    """What a process says that has one layer and does a deed: `done`, the exception's name, or `no
    layer`.
    """
    code = f"""
import os, signal, socket, sys
sys.path[:] = {child_path()!r}
from pathlib import Path
from metal.raters.isolation.calls import refuse_system_calls
from metal.raters.isolation.kernel import give_up_privileges, leave_network, shut_in
from metal.raters.isolation.limits import Disk
if not ({layer}):
    print("no layer")
    sys.exit()
try:
    {deed}
    print("done")
except OSError as error:
    print(type(error).__name__)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240
    )
    return result.stdout.strip() or result.stderr


LANDLOCK = "give_up_privileges() or shut_in([Path('/usr')], [])"
FILTER = "give_up_privileges() or refuse_system_calls(Disk.OWN)"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]  # type: ignore[misc]


def test_landlock_alone_shuts_files(landlock: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x", encoding="utf-8")
    assert tried("True", f"open({str(path)!r}).close()") == "done"
    for deed in (f"open({str(path)!r})", f"open({str(path)!r}, 'a')", f"os.unlink({str(path)!r})"):
        assert tried(LANDLOCK, deed) == "PermissionError"
    assert tried(LANDLOCK, "os.listdir('/usr')") == "done"


def test_landlock_alone_shuts_tcp(landlock: int, port: int) -> None:
    if landlock < 4:
        pytest.skip(f"Landlock {landlock} knows no TCP")
    deed = f"socket.create_connection(('127.0.0.1', {port})).close()"
    assert (tried("True", deed), tried(LANDLOCK, deed)) == ("done", "PermissionError")


def test_landlock_alone_keeps_signals_in(landlock: int) -> None:
    if landlock < 6:
        pytest.skip(f"Landlock {landlock} does not keep signals in")
    assert tried("True", "os.kill(os.getppid(), 0)") == "done"
    assert tried(LANDLOCK, "os.kill(os.getppid(), 0)") == "PermissionError"


def test_a_network_of_its_own_is_none(port: int) -> None:
    deed = f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"
    result = tried("leave_network()", deed)
    if result == "no layer":
        pytest.skip("this system does not let its users leave the network")
    assert (tried("True", deed), result) == ("done", "OSError")


@pytest.mark.slow
def test_the_filter_alone_shuts_the_network_and_other_processes(
    filtered: None, tmp_path: Path
) -> None:
    our = str(tmp_path)
    for deed in (
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "os.fork()",
        "os.kill(os.getppid(), 0)",
        "os.pidfd_open(os.getppid())",
        f"os.chmod({our!r}, 0o777)",
        f"os.utime({our!r})",
        "os.memfd_create('x')",
        "__import__('fcntl').fcntl(0, 8, os.getppid())",
        "__import__('fcntl').ioctl(0, 0x8902, b'1234')",
    ):
        assert (deed, tried(FILTER, deed)) == (deed, "PermissionError")
    for deed in (
        "socket.socketpair()",
        "os.kill(os.getpid(), 0)",
        "__import__('threading').Thread().start()",
        "__import__('fcntl').fcntl(0, 3)",
    ):
        assert (deed, tried(FILTER, deed)) == (deed, "done")


def test_a_filter_is_a_program_the_kernel_takes_on_every_machine() -> None:
    for (machine, column), disk in product(MACHINES.values(), Disk):
        program = filter_for(machine, column, os.getpid(), disk)
        assert len(program) < 4096
        assert program[-1][0] == 0x06
        for place, (code, yes, no, operand) in enumerate(program):
            assert len(struct.pack("=HBBI", code, yes, no, operand)) == 8
            if code in (0x15, 0x35, 0x45):
                assert place + 1 + max(yes, no) < len(program)


def test_no_system_call_is_listed_twice() -> None:
    listed = REFUSED + SOMETIMES_REFUSED
    # a break at both ends of each table
    assert len(numbers(listed)) == listed.count(";") + len(listed.split("\n")) - 3
    for column in (0, 1):
        own = [call[column] for call in numbers(listed).values() if call[column] >= 0]
        assert len(own) == len(set(own))


@pytest.mark.parametrize("header", HEADERS)
def test_system_calls_have_the_numbers_of_the_kernels_headers(header: str) -> None:
    path = Path("/usr/include", header)
    if not path.is_file():
        pytest.skip("the kernel's headers are not installed")
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text(encoding="utf-8"))
    theirs = {name: int(number) for name, number in defined}
    newest = max(theirs.values())  # headers of an older kernel lack the newest calls
    for name, call in numbers(REFUSED + SOMETIMES_REFUSED).items():
        number = call[HEADERS.index(header)]
        assert (name, theirs.get(name, -1)) == (name, number if number <= newest else -1)


def test_not_even_root_keeps_privileges(tmp_path: Path, filtered: None) -> None:
    path = tmp_path / "metric.py"
    code = """
def score(output):
    with open("/proc/self/status") as lines:
        found = dict(line.partition(":")[::2] for line in lines)
    return found[output].strip()
"""
    path.write_text(code, encoding="utf-8")
    asked = ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb", "NoNewPrivs", "Seccomp")
    result = scored(isolated_metric(path, limits=Limits(120)), [Item(name) for name in asked])
    capabilities = dict(zip(asked, (item.reason for item in result), strict=True))
    assert (capabilities.pop("NoNewPrivs"), capabilities.pop("Seccomp")) == ("1", "2")
    if os.geteuid() != 0:
        del capabilities["CapBnd"]  # an upper bound of what nobody can get any more
    assert {int(item, 16) for item in capabilities.values()} == {0}


def test_where_a_system_offers_nothing_it_is_said() -> None:
    """As on a Mac: limits hold, and words for the rest say what is open."""
    code = f"""
import os, sys
sys.path[:] = {child_path()!r}
sys.platform = "darwin"
from pathlib import Path
from metal.raters.isolation.child import confine
from metal.raters.isolation import Limits
print(*confine(Limits(), Path.cwd(), [], os.getppid()), sep="\\n")
open(os.devnull).close()
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    message = result.stdout.splitlines()
    assert message[0].startswith("network: open")
    assert tells(message[1], "files:", "like its user")
    assert message[2].endswith("not protected here")
    assert tells(message[3], "processes:", "end with it, unless")
    assert tells(message[4], "signals: it can end")
    assert message[5] == "memory: 4,096 MB"
