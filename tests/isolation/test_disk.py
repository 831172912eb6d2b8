"""What a program of a stranger writes: never more than it may, and nothing of it stays."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from metal.raters.isolation.disk import clear
from tests.isolation.container import in_container
from tests.isolation.test_hostile import program_of
from tests.saying import tells

Write = Callable[[str], Path]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it may write nothing")

SYSTEMS: dict[str, tuple[str, ...]] = {"as it is": (), "no namespaces": ("namespaces",)}
NOWHERE = ("namespaces", "counting")
OWN, COUNTED = "4 MB per file, 8 MB and 500 files at a time", "60 kB per file and 128 files in all"
LIMITS = {"disk_mb": 8, "file_mb": 4, "files": 500, "seconds": 120}

HOLDING = {
    "in a folder that nobody may list": """
os.makedirs('hidden', 0o300, exist_ok=True)
fd = os.open(f'hidden/{number}', os.O_CREAT | os.O_RDWR)
size = os.write(fd, bytes(4 << 20))
os.close(fd)""",
    "mapped, without a name": """
fd = os.open('file', os.O_CREAT | os.O_RDWR)
os.unlink('file')
size = os.write(fd, bytes(4 << 20))
held.append(mmap.mmap(fd, 4096))
os.close(fd)""",
    "never named": """
fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
size = os.write(fd, bytes(4 << 20))
held.append(mmap.mmap(fd, 4096))
os.close(fd)""",
    "in a socket": """
fd = os.open('file', os.O_CREAT | os.O_RDWR)
os.unlink('file')
size = os.write(fd, bytes(4 << 20))
socket.send_fds(pair[0], [b'x'], [fd])
os.close(fd)""",
    "below a path that is too long": """
if not number:
    for _ in range(20): os.mkdir('d' * 250); os.chdir('d' * 250)
fd = os.open(str(number), os.O_CREAT | os.O_RDWR)
size = os.write(fd, bytes(4 << 20))
os.close(fd)""",
    "in a burst": """
fd = os.open(str(number), os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 4 << 20)
size = 4 << 20
os.close(fd)""",
    "beyond the end": """
fd = os.open(str(number), os.O_CREAT | os.O_RDWR)
start, length = ctypes.c_long(0), ctypes.c_long(40 << 20)
ctypes.CDLL(None).syscall(285 if os.uname().machine == 'x86_64' else 47, fd, 1, start, length)
size = os.fstat(fd).st_blocks * 512 or 1
os.close(fd)""",
    "by a control": """
fd = os.open(str(number), os.O_CREAT | os.O_RDWR)
try: fcntl.ioctl(fd, 0x4030582A, struct.pack('=hhiqqiI16x', 0, 0, 0, 0, 40 << 20, 0, 0))
except OSError: pass
size = os.fstat(fd).st_blocks * 512 or 1
os.close(fd)""",
    "in the files it was given": """
size = os.pwrite(0, bytes(1 << 20), number << 20)""",
}
HOLD = """
import ctypes, fcntl, mmap, os, socket, struct
held, pair = [], socket.socketpair()
def score(output):
    total = 0
    for number in range(2000):
        try:
            {make}
        except OSError:
            break
        total += size
        if total >= 40 << 20: break
    return total / (1 << 20)
"""


@pytest.mark.parametrize("how", HOLDING)
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_it_holds_is_within_the_limit(
    how: str, system: str, program: Write, tmp_path: Path, filtered: None
) -> None:
    path = program(HOLD.format(make=HOLDING[how].strip().replace("\n", "\n            ")))
    answer = in_container(path, tmp_path / "temporary", SYSTEMS[system], limits=LIMITS)
    assert float(answer) <= 8
    assert not list((tmp_path / "temporary").iterdir())


MAKING = {
    "files": "open(str(number), 'w').close()",
    "folders": "os.mkdir(str(number))",
    "folders in folders": "os.mkdir('d')\nos.chdir('d')",
    "links": "os.symlink('/', str(number))",
    "links to one file": "open('file', 'a').close()\nos.link('file', str(number))",
    "what the kernel leaves of a name": (
        "open('0', 'a').close() if not number else None\n"
        "names = str(number).encode(), str(number + 1).encode()\n"
        "if ctypes.CDLL(None).renameat2(-100, names[0], -100, names[1], 4): raise OSError(28, '')"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", MAKING)
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_it_makes_is_counted(
    what: str, system: str, program: Write, tmp_path: Path, filtered: None
) -> None:
    path = program(
        HOLD.format(make=f"size = 1 << 10\n{MAKING[what]}".replace("\n", "\n            "))
    )
    answer = in_container(path, tmp_path / "temporary", SYSTEMS[system], limits=LIMITS)
    assert float(answer) * 1024 <= 500
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("system", "deed", "reason", "limit"),
    [
        ("as it is", "big", "[Errno 27] File too large", OWN),
        ("as it is", "many", "[Errno 28] No space left on device", OWN),
        ("as it is", "mapped", "it was ended by SIGBUS", OWN),
        ("no namespaces", "big", "[Errno 27] File too large", COUNTED),
        ("no namespaces", "many", "[Errno 28] No space left on device", COUNTED),
    ],
)
def test_the_reason_names_the_limit(
    system: str, deed: str, reason: str, limit: str, program: Write, tmp_path: Path, filtered: None
) -> None:
    deeds = {
        "big": "with open('file', 'wb') as f: f.write(bytes(5 << 20))",
        "many": "for number in range(600): open(str(number), 'w').close()",
        "mapped": (
            "for number in range(3):\n"
            "    fd = os.open(str(number), os.O_CREAT | os.O_RDWR); os.ftruncate(fd, 4 << 20)\n"
            "    with mmap.mmap(fd, 4 << 20) as m: m[:] = bytes(4 << 20)"
        ),
    }
    answer = in_container(
        program(program_of(deeds, "import mmap")),
        tmp_path / "temporary",
        SYSTEMS[system],
        deed,
        LIMITS,
    )
    if system == "as it is" and "grants it no file system" in answer:
        pytest.skip("this system grants a program no file system of its own")
    assert reason in answer
    assert f"(it may write {limit}" in answer
    assert "\n" not in answer


ORDINARY = """
import os, pathlib, tempfile
def score(output):
    home = pathlib.Path.home() / ".cache" / "package"
    home.mkdir(parents=True)
    (home / "table.json").write_text("[1, 2]")
    with tempfile.NamedTemporaryFile("w+") as file, tempfile.TemporaryDirectory() as folder:
        file.write(output)
        file.flush()
        os.rename(home / "table.json", pathlib.Path(folder) / "moved")
        with open(os.devnull, "w") as nothing:
            nothing.write("x")
        size = len(pathlib.Path(file.name).read_text())
        return size + len(os.listdir(folder)) + len(os.listdir("."))
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_program_that_keeps_a_cache_works(system: str, program: Write, tmp_path: Path) -> None:
    answer = in_container(program(ORDINARY), tmp_path / "temporary", SYSTEMS[system], "three")
    assert float(answer) == 5 + 1 + 3


@pytest.mark.slow
def test_where_nothing_holds_it_writes_nothing(
    program: Write, tmp_path: Path, filtered: None
) -> None:
    deeds = {
        "file": "with open('file', 'w') as f: f.write('x')",
        "folder": "os.mkdir('folder')",
        "link": "os.symlink('/', 'link')",
        "nothing": "with open(os.devnull, 'w') as f: f.write('x')",
    }
    path = program(program_of(deeds))
    for refused in (NOWHERE, (*NOWHERE, "Landlock")):
        for deed in ("file", "folder", "link"):
            answer = in_container(path, tmp_path / "temporary", refused, deed)
            assert tells(answer, "it may write nothing"), deed
        assert in_container(path, tmp_path / "temporary", refused, "nothing") == "1.0"
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [
        (("namespaces",), "60 kB per file and 4,096 files"),
        (NOWHERE, "writes nothing"),
    ],
)
def test_protections_say_what_it_may_write(
    refused: tuple[str, ...], sentence: str, tmp_path: Path, filtered: None
) -> None:
    assert sentence in in_container(None, tmp_path / "temporary", refused)


# ---------------------------------------------------------------- clearing


def test_a_folder_is_cleared_whatever_lies_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "of a stranger"
    below = folder
    for name in (f"{folder.name}-1", f"{folder.name}-2", "x" * 200, "y" * 200):
        below = below / name
        below.mkdir(parents=True)
        (below / "file").write_text("x", encoding="utf-8")
    (folder / "outside").symlink_to(tmp_path)
    start = os.getcwd()
    try:
        os.chdir(below)
        for _ in range(30):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        os.mkdir("closed", 0o300)
        Path("closed/file").write_text("x", encoding="utf-8")
        os.mkdir("none", 0)
    finally:
        os.chdir(start)
    for closed in (folder / f"{folder.name}-1", folder):
        closed.chmod(0o300)
    assert clear(folder, time.monotonic() + 600) == ""
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_cleared_is_said_with_the_command_that_does(tmp_path: Path) -> None:
    folder = tmp_path / "of a stranger"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "file").write_text("x", encoding="utf-8")
    message = clear(folder, time.monotonic() - 1)
    command = message.partition("`")[2].partition("`")[0]
    assert tells(message, "some files", "deleted")
    assert os.system(command) == 0
    assert not folder.exists()


# ---------------------------------------------------------------- beside the disk


def test_it_yields_to_other_programs(program: Write, tmp_path: Path) -> None:
    path = program("import os\ndef score(output):\n    return os.getpriority(os.PRIO_PROCESS, 0)")
    answer = in_container(path, tmp_path / "temporary", ())
    assert float(answer) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)


@pytest.mark.slow
def test_odd_files_and_what_concerns_others_are_refused(
    program: Write, tmp_path: Path, filtered: None
) -> None:
    deeds = {
        "setuid": "os.close(os.open('file', os.O_CREAT | os.O_WRONLY, 0o4755))",
        "setgid": "os.mknod('file', 0o102755)",
        "named pipe": "os.mkfifo('pipe')",
        "all disks": "if ctypes.CDLL(None).syncfs(1) != 0: raise PermissionError",
        "watched": (
            "libc = ctypes.CDLL(None)\n"
            "if libc.inotify_add_watch(libc.inotify_init(), b'/', 4095) < 0: raise PermissionError"
        ),
    }
    path = program(program_of(deeds, "import ctypes"))
    for deed in deeds:
        answer = in_container(path, tmp_path / "temporary", (), deed)
        assert answer.startswith("the metric raised PermissionError"), deed
