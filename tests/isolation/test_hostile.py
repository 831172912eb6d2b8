"""Programs that mean harm: each is an error of one line, or its deed comes to nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from metal.errors import DataError, UsageError
from metal.isolation import Limits, isolated_metric
from metal.metrics import Item, find_metric, scored
from tests.isolation.conftest import Run

Write = Callable[[str], Path]


@pytest.fixture
def board(tmp_path: Path) -> Path:
    folder = tmp_path / "board"
    folder.mkdir()
    (folder / "history.jsonl").write_text("first\n", encoding="utf-8")
    (folder / "id_rsa").write_text("secret", encoding="utf-8")
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int, float]]:
    return {
        path.name: (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode, path.lstat().st_mtime)
        for path in [folder, *folder.iterdir()]
    }


def deed(lines: str, board: Path) -> str:
    """A program whose function does something with BOARD and FILE, and gives 1 when it worked."""
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"import os\nBOARD, FILE = {str(board)!r}, {str(board / 'history.jsonl')!r}\ndef score(output):\n{body}    return 1\n"


READS = {
    "read": "open(FILE).read()",
    "list": "os.listdir(BOARD)",
    "through a link": "os.symlink(FILE, 'link')\nopen('link').read()",
    "through its own descriptors": "open(f'/proc/self/root{FILE}').read()",
    "mapped": "import mmap\nwith open(FILE) as f:\n    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)",
    "the parent's environment": "open(f'/proc/{os.getppid()}/environ').read()",
}
WRITES = {
    "append": "open(FILE, 'a').write('x')",
    "cut": "os.truncate(FILE, 0)",
    "delete": "os.unlink(FILE)",
    "new file": "open(BOARD + '/new', 'w').write('x')",
    "new folder": "os.mkdir(BOARD + '/new')",
    "rename": "os.rename(FILE, BOARD + '/other')",
    "replace": "open('mine', 'w').write('x')\nos.rename('mine', FILE)",
    "link in": "os.symlink('/', BOARD + '/new')",
    "hard link out": "os.link(FILE, 'mine')",
}
MARKS = {
    "permissions": "os.chmod(FILE, 0)",
    "permissions of an open file": "os.fchmod(os.open(BOARD, os.O_PATH), 0) if 0 else os.chmod(BOARD, 0)",
    "owner": "os.chown(FILE, 12, 12)",
    "dates": "os.utime(FILE, (1, 1))",
    "attributes": "os.setxattr(FILE, 'user.mine', b'x')",
}


@pytest.mark.parametrize("what", [*READS, *WRITES])
def test_files_of_others_are_out_of_reach(what: str, run: Run, board: Path, landlock: int) -> None:
    before = state(board)
    found = run(deed({**READS, **WRITES}[what], board))
    assert found[0].reason.startswith(("the metric raised PermissionError", "the metric raised OSError: [Errno 18]"))
    assert state(board) == before


@pytest.mark.parametrize("what", MARKS)
def test_marks_of_files_stay(what: str, run: Run, board: Path, filtered: None) -> None:
    before = state(board)
    assert run(deed(MARKS[what], board))[0].reason.startswith("the metric raised PermissionError")
    assert state(board) == before


@pytest.mark.parametrize("what", ["read", "list", "append", "delete", "new folder", "rename", "permissions", "dates"])
def test_the_same_deeds_succeed_where_nothing_holds_them_back(
    what: str, program: Write, board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = program(deed({**READS, **WRITES, **MARKS}[what], board))
    assert scored(find_metric(f"{path}:score"), [Item("a")])[0].score == 1


def test_the_program_itself_and_its_folder_cannot_be_changed(program: Write, landlock: int) -> None:
    path = program("def score(output):\n    open(__file__, 'a').write('x')\n    return 1")
    before = path.read_bytes()
    metric = isolated_metric(path, readable=(path.parent,))
    assert scored(metric, [Item("a")])[0].reason.startswith("the metric raised PermissionError")
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["metric.py"]


@pytest.fixture
def servers() -> dict[str, socket.socket]:
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    abstract.bind(f"\0metal-test-{os.getpid()}" if sys.platform == "linux" else "")
    opened = {"tcp": tcp, "udp": udp, "unix": abstract}
    for one in opened.values():
        one.setblocking(False)
    yield opened  # type: ignore[misc]
    for one in opened.values():
        one.close()


SENDING = {
    "tcp": "socket.create_connection(('127.0.0.1', {port}), 2)",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "unix": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {name!r})",
    "unix by a pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {name!r})",
    "a name": "socket.getaddrinfo('host.invalid', 80)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
}


@pytest.mark.parametrize("way", SENDING)
def test_nothing_is_sent(way: str, run: Run, servers: dict[str, socket.socket], filtered: None) -> None:
    kind = way.split()[0] if way.split()[0] in servers else "udp"
    address = servers[kind].getsockname()
    port, name = (address[1], "") if isinstance(address, tuple) else (0, address)
    code = f"import socket\ndef score(output):\n    {SENDING[way].format(port=port, name=name)}\n    return 1"
    raised = ("the metric raised PermissionError", "the metric raised gaierror")
    assert run(code)[0].reason.startswith(raised)
    with pytest.raises(BlockingIOError):
        servers[kind].accept() if kind == "tcp" else servers[kind].recv(10)


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()",
        "while True: os.fork()",
        "os.spawnv(os.P_NOWAIT, '/bin/sleep', ['sleep', '60'])",
        "import subprocess; subprocess.run(['/bin/sleep', '60'])",
        "import multiprocessing; multiprocessing.get_context('fork').Process(target=print).start()",
        "os.execv('/bin/sleep', ['sleep', '60'])",
    ],
)
def test_no_other_program_is_started(code: str, run: Run, landlock: int, filtered: None) -> None:
    reason = run(f"import os\ndef score(output):\n    {code}\n    return 1")[0].reason
    assert reason.startswith("the metric raised PermissionError")


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(os.getppid(), signal.SIGTERM)",
        "os.kill(-1, signal.SIGTERM)",
        "os.killpg(1, 0)",
        "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGTERM)",
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.sched_setaffinity(os.getppid(), {0})",
        "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    ],
)
def test_the_parent_is_out_of_reach(code: str, run: Run, landlock: int, filtered: None) -> None:
    found = run(f"import os, resource, signal\ndef score(output):\n    {code}\n    return 1")
    assert found[0].reason.startswith(("the metric raised PermissionError", "the metric raised ValueError"))


def test_a_signal_to_itself_is_its_own_affair(run: Run) -> None:
    code = "import os, signal\ndef score(output):\n    os.kill(os.getpid(), signal.SIGTERM)\n    return 1"
    with pytest.raises(UsageError, match="it was ended by SIGTERM .* after 0 of 1 answers"):
        run(code)


def test_memory_is_limited(run: Run) -> None:
    assert run("def score(output):\n    return len(bytearray(10 << 30))")[0].reason.startswith(
        "the metric raised MemoryError"
    )
    code = "def score(output):\n    return len(bytearray(512 << 20))"
    assert run(code)[0].score == 512 << 20
    assert "MemoryError" in run(code, memory_mb=400)[0].reason


def test_files_are_limited(run: Run) -> None:
    code = "def score(output):\n    with open('big', 'wb') as f:\n        return f.write(bytes(100 << 20))"
    assert "File too large" in run(code)[0].reason


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "time.sleep(100)",
        "signal.alarm(0); [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]; time.sleep(100)",
        "os.closerange(0, 256); time.sleep(100)",
        "[threading.Thread(target=time.sleep, args=(100,)).start() for _ in range(9)]; time.sleep(100)",
    ],
)
def test_time_is_limited(code: str, run: Run) -> None:
    begun = time.monotonic()
    with pytest.raises(UsageError, match=r"not done after 1 s and was ended|after 0 of 1 answers"):
        run(f"import os, signal, threading, time\ndef score(output):\n    {code}", seconds=1)
    assert time.monotonic() - begun < 60  # a hundred seconds were not waited for


def test_a_process_that_it_leaves_behind_ends_with_it(run: Run, tmp_path: Path) -> None:
    """Where system calls are not filtered it can start one; the group is ended. Where they are, none is started."""
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(100)\n    os._exit(0)\ndef score(output): return os.getpid()"
    with pytest.raises(UsageError, match="PermissionError|not done after 2 s"):
        run(code, seconds=2)


@pytest.mark.parametrize(
    "code, error, problem",
    [
        ("os._exit(0)", UsageError, r"it ended itself \(code 0\) after 0 of 2 answers"),
        ("print('last words'); sys.stdout.flush(); os._exit(3)", UsageError, r"\(code 3, its last line 'last words'\)"),
        ("sys.exit('enough')", UsageError, "SystemExit: enough"),
        ("raise KeyboardInterrupt", UsageError, "KeyboardInterrupt"),
        ("answer(b'1\\n' * 5)", DataError, "7 scores for 2 texts"),
        ("answer(b'1\\n'); os._exit(0)", UsageError, "after 1 of 2 answers"),
        ("answer(b'1' * 100_000_000)", UsageError, "it answered more than 4,096 bytes a text"),
        ('answer(b\'{"error": "x\\\\u001b[2J\\\\ny"}\\n\'); os._exit(0)', UsageError, "x.\\[2J y"),
        ("answer(b'{\"error\": 1}\\n'); os._exit(0)", UsageError, "after 1 of 2 answers"),
        ("ctypes.string_at(0)", UsageError, "it was ended by SIGSEGV"),
    ],
)
def test_a_run_that_fails_is_one_line(code: str, error: type[Exception], problem: str, run: Run) -> None:
    whole = f"""
import ctypes, os, sys
def answer(what):
    for fd in range(3, 256):
        try:
            while what:
                what = what[os.write(fd, what):]
        except OSError:
            pass
def score(output):
    if output == "b":
        {code}
    return 0
"""
    with pytest.raises(error, match=problem) as raised:
        run(whole, ("a", "b"))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize(
    "answer, reason",
    [
        ("NaN", "no finite number"),
        ("-Infinity", "no finite number"),
        ("1e999", "no finite number"),
        ("9" * 400, "the metric gave no number"),
        ("9" * 4000, "the metric gave no number"),
        ("true", "the metric gave no number"),
        ("null", "the metric gave no number"),
        ("[1]", "the metric gave no number"),
        ("[" * 4000, "the metric gave no number"),
        ("no json", "the metric gave no number"),
        ('""', "the metric gave none"),
        (r'"\ud800 \n two\u0000"', "? two\0"),
        ('"' + "long " * 500 + '"', "long " * 39 + "lo..."),
    ],
)
def test_answers_are_a_strangers(answer: str, reason: str, run: Run) -> None:
    code = f"""
import os
def score(output):
    for fd in range(3, 256):
        try:
            os.write(fd, {answer!r}.encode() + b"\\n")
        except OSError:
            pass
    os._exit(0)
"""
    found = run(code)[0]
    assert (found.score, found.reason) == (None, reason)


def test_surrogates_and_recursion_of_its_own(run: Run) -> None:
    code = """
def score(output):
    if output == "deep":
        return score(output)
    raise ValueError("\\ud800\\x1b[2J")
"""
    deep, odd = run(code, ("deep", "odd"))
    assert "RecursionError" in deep.reason
    assert odd.reason == "the metric raised ValueError: ?\x1b[2J"
    odd.reason.encode("utf-8")


def test_what_it_does_to_metal_it_does_to_itself(run: Run) -> None:
    code = """
import json, metal.metrics.contract, metal.isolation.metric
json.dumps = lambda value: '{"protections": []}'
metal.metrics.contract.Metric.better = None
def score(output): return 1
"""
    with pytest.raises(DataError, match="no description of its function"):
        run(code)
    assert run("def score(output): return 1")[0].score == 1


def test_a_signature_is_the_files_whatever_it_says(program: Write) -> None:
    code = """
import metal.isolation.child as child
described = child._described
child._described = lambda metric: {**described(metric), "signature": "chrf|blake2b:0000000000000000"}
def score(output): return 1
"""
    with pytest.raises(DataError, match="another file's signature"):
        isolated_metric(program(code))


STARTER = """
import sys
from pathlib import Path
from metal.isolation import isolated_metric, Limits
from metal.metrics import Item, scored
scored(isolated_metric(Path(sys.argv[1])), [Item(sys.argv[2])])
"""


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_it_ends_with_its_parent(how: str, program: Write, tmp_path: Path, filtered: None) -> None:
    """The child opens a pipe for writing, which reads as ended once no process holds it."""
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    code = "import os, time\ndef score(output):\n    os.write(1, b'begun')\n    time.sleep(100)\n    return 1"
    # What the child prints goes to the parent; that it runs is seen by its command line among the parent's children.
    parent = subprocess.Popen([sys.executable, "-c", STARTER, program(code), "a"], stderr=subprocess.PIPE)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    seen = _scoring_child(children)
    parent.send_signal(2 if how == "interrupted" else 9)
    parent.communicate(timeout=30)
    for _ in range(300):
        if not _alive(seen):
            return
        threading.Event().wait(0.05)
    pytest.fail("the child outlived its parent")


def _scoring_child(children: Path) -> int:
    """The child that sleeps in its function: the second one."""
    first = 0
    for _ in range(600):
        if found := children.read_text().split():
            first = first or int(found[0])
            if int(found[0]) != first and "sleep" in Path(f"/proc/{found[0]}/wchan").read_text():
                return int(found[0])
        threading.Event().wait(0.02)
    raise AssertionError("no child was seen")


def _alive(child: int) -> bool:
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
