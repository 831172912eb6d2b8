"""Programs that mean harm: each is an error of one line, or its deed comes to nothing."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from metal.errors import DataError, UsageError
from metal.raters.isolation import isolated_metric
from metal.raters.isolation.asking import ChildReply, _end
from metal.raters.metrics import Item, Metric, find_metric, scored
from tests.cli.forks import SLOWEST
from tests.cli.runs import until
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
        path.name: (
            path.read_bytes() if path.is_file() else b"",
            path.lstat().st_mode,
            path.lstat().st_mtime,
        )
        for path in [folder, *folder.iterdir()]
    }


def program_of(deeds: Mapping[str, str], before: str = "") -> str:
    """A program whose function does the deed that the text names, and gives 1 when it worked."""
    cases = "".join(
        f"    if output == {name!r}:\n"
        + "".join(f"        {line}\n" for line in lines.splitlines())
        for name, lines in deeds.items()
    )
    return (
        f"import os, resource, signal, socket, subprocess\n{before}\ndef score(output):\n{cases}   "
        " return 1\n"
    )


def files_of(board: Path) -> str:
    return f"BOARD, FILE = {str(board)!r}, {str(board / 'history.jsonl')!r}"


READS = {
    "read": "with open(FILE) as f: f.read()",
    "list": "os.listdir(BOARD)",
    "through a link": "os.symlink(FILE, 'link')\nopen('link').read()",
    "through its own descriptors": "open(f'/proc/self/root{FILE}').read()",
    "mapped": "import mmap\nwith open(FILE) as f: mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)",
    "the parent's environment": "open(f'/proc/{os.getppid()}/environ').read()",
}
WRITES = {
    "append": "with open(FILE, 'a') as f: f.write('x')",
    "cut": "os.truncate(FILE, 0)",
    "delete": "os.unlink(FILE)",
    "new file": "with open(BOARD + '/new file', 'w') as f: f.write('x')",
    "new folder": "os.mkdir(BOARD + '/new')",
    "rename": "os.rename(FILE, BOARD + '/other')",
    "replace": "open('mine', 'w').write('x')\nos.rename('mine', FILE)",
    "link in": "os.symlink('/', BOARD + '/new')",
    "hard link out": "os.link(FILE, 'mine too')",
}
REFUSED = "the metric raised PermissionError"
REFUSED_FILE = (REFUSED, "the metric raised OSError: [Errno 18]")  # 18: a link to elsewhere
MARKS = {
    "permissions": "os.chmod(FILE, 0o644)",
    "a folder's permissions": "os.chmod(BOARD, 0o777)",
    "owner": "os.chown(FILE, 12, 12)",
    "dates": "os.utime(FILE, (1, 1))",
    "attributes": "os.setxattr(FILE, 'user.mine', b'x')",
}


def test_files_of_others_are_out_of_reach(run: Run, board: Path, landlock: int) -> None:
    before = state(board)
    deeds = {**READS, **WRITES}
    result = run(program_of(deeds, files_of(board)), tuple(deeds))
    for name, item in zip(deeds, result, strict=True):
        assert item.reason.startswith(REFUSED_FILE), name
    assert state(board) == before


def test_marks_of_files_stay(run: Run, board: Path, filtered: None) -> None:
    before = state(board)
    result = run(program_of(MARKS, files_of(board)), tuple(MARKS))
    for name, item in zip(MARKS, result, strict=True):
        assert item.reason.startswith(REFUSED), name
    assert state(board) == before


def test_the_same_deeds_succeed_where_nothing_holds_them_back(
    program: Write, board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    deeds = {**READS, **WRITES, **MARKS}
    names = [
        "read",
        "list",
        "append",
        "cut",
        "new file",
        "new folder",
        "dates",
        "permissions",
        "rename",
    ]
    path = program(program_of(deeds, files_of(board)))
    result = scored(find_metric(f"{path}:score"), [Item(name) for name in names])
    assert [item.score for item in result] == [1] * len(names)


def test_the_program_itself_and_its_folder_cannot_be_changed(program: Write, landlock: int) -> None:
    path = program("def score(output):\n    open(__file__, 'a').write('x')\n    return 1")
    before = path.read_bytes()
    metric = isolated_metric(path, readable=(path.parent,))
    assert scored(metric, [Item("a")])[0].reason.startswith("the metric raised PermissionError")
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["metric.py"]


@pytest.fixture
def servers() -> Iterator[dict[str, socket.socket]]:
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    abstract.bind(f"\0metal-test-{os.getpid()}" if sys.platform == "linux" else "")
    opened = {"tcp": tcp, "udp": udp, "unix": abstract}
    for item in opened.values():
        item.setblocking(False)
    yield opened
    for item in opened.values():
        item.close()


SENDING = {
    "tcp": "with socket.create_connection(TCP, 2): pass",
    "udp": "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.sendto(b'x', UDP)",
    "unix": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', UNIX)",
    "unix by a pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', UNIX)",
    "a name": "socket.getaddrinfo('host.invalid', 80)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
}


def test_nothing_is_sent(run: Run, servers: dict[str, socket.socket], filtered: None) -> None:
    before = "\n".join(f"{kind.upper()} = {item.getsockname()!r}" for kind, item in servers.items())
    for name, item in zip(SENDING, run(program_of(SENDING, before), tuple(SENDING)), strict=True):
        assert item.reason.startswith((REFUSED, "the metric raised gaierror")), name
    for kind, server in servers.items():
        with pytest.raises(BlockingIOError):
            server.accept() if kind == "tcp" else server.recv(10)


def test_the_same_is_sent_where_nothing_holds_it_back(
    program: Write, servers: dict[str, socket.socket]
) -> None:
    before = "\n".join(f"{kind.upper()} = {item.getsockname()!r}" for kind, item in servers.items())
    path = program(program_of(SENDING, before))
    assert scored(find_metric(f"{path}:score"), [Item("udp"), Item("tcp")])[0].score == 1
    assert servers["udp"].recv(10) == b"x"


STARTING = {
    "fork": "os.fork()",
    "fork bomb": "while True: os.fork()",
    "spawn": "os.spawnv(os.P_NOWAIT, '/bin/sleep', ['sleep', '60'])",
    "subprocess": "subprocess.run(['/bin/sleep', '60'])",
    "multiprocessing": (
        "import multiprocessing as m\nm.get_context('fork').Process(target=print).start()"
    ),
    "instead of itself": "os.execv('/bin/sleep', ['sleep', '60'])",
}
PARENT = {
    "signal": "os.kill(os.getppid(), signal.SIGTERM)",
    "signal to all": "os.kill(-1, signal.SIGTERM)",
    "signal to a group": "os.killpg(1, 0)",
    "signal by descriptor": "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGTERM)",
    "limit": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "core": "os.sched_setaffinity(os.getppid(), {0})",
    "memory": "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "its own limits": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
}


@pytest.mark.parametrize("deeds", [STARTING, PARENT], ids=["starting", "parent"])
def test_other_processes_are_out_of_reach(
    deeds: dict[str, str], run: Run, landlock: int, filtered: None
) -> None:
    for name, item in zip(deeds, run(program_of(deeds), tuple(deeds)), strict=True):
        assert item.reason.startswith(
            (REFUSED, "the metric raised ValueError: not allowed to raise")
        ), name


def test_a_signal_to_itself_is_its_own_affair(run: Run) -> None:
    code = (
        "import os, signal\ndef score(output):\n    os.kill(os.getpid(), signal.SIGTERM)\n   "
        " return 1"
    )
    with pytest.raises(UsageError, match=r"it was ended by SIGTERM .* after 0 of 1 answers"):
        run(code)


def test_memory_is_limited(run: Run) -> None:
    assert run("def score(output):\n    return len(bytearray(10 << 30))")[0].reason.startswith(
        "the metric raised MemoryError"
    )
    code = "def score(output):\n    return len(bytearray(512 << 20))"
    assert run(code)[0].score == 512 << 20
    assert "MemoryError" in run(code, memory_mb=400)[0].reason


def test_files_are_limited(run: Run) -> None:
    code = (
        "def score(output):\n    with open('big', 'wb') as f:\n        return f.write(bytes(100 <<"
        " 20))"
    )
    assert "File too large" in run(code)[0].reason


def test_threads_are_limited(run: Run) -> None:
    code = """
import threading, time
def score(output):
    threading.stack_size(65536)
    for n in range(2000): threading.Thread(target=time.sleep, args=(100,)).start()
    time.sleep(100)
"""
    with pytest.raises(UsageError, match="it began more than 512 threads"):
        run(code)


IGNORED = "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]"


@pytest.mark.parametrize(
    "code",
    ["while True: pass", f"{IGNORED}; time.sleep(1000)", "os.closerange(0, 256); time.sleep(1000)"],
)
def test_time_is_limited(code: str, run: Run) -> None:
    begun = time.monotonic()
    with pytest.raises(UsageError, match=r"not done after 1 s and was ended|after 0 of 1 answers"):
        run(f"import os, signal, time\ndef score(output):\n    {code}", seconds=1)
    assert time.monotonic() - begun < SLOWEST  # a thousand seconds were not waited for


def test_a_process_that_it_leaves_behind_ends_with_it(run: Run) -> None:
    """Where system calls are not filtered it can start one; the group is ended. Where they are,
    none is started.
    """
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(1000)\ndef score(output): return 1"
    with pytest.raises(UsageError, match=r"PermissionError|not done after 2 s"):
        run(code, seconds=2)


FAILING: dict[str, tuple[str, type[Exception], str]] = {
    "gone": ("os._exit(0)", UsageError, r"it ended itself \(code 0\) after 0 of 2 answers"),
    "said": (
        "os.write(1, b'last words'); os._exit(3)",
        UsageError,
        r"\(code 3, its last line 'last words'\)",
    ),
    "exit": ("sys.exit('enough')", UsageError, "SystemExit: enough"),
    "interrupt": ("raise KeyboardInterrupt", UsageError, "KeyboardInterrupt"),
    "more": ("answer(b'1\\n' * 5)", DataError, "7 scores for 2 texts"),
    "less": ("answer(b'1\\n'); os._exit(0)", UsageError, "after 1 of 2 answers"),
    "flood": (
        "answer(b'1' * 100_000_000)",
        UsageError,
        "it answered more than 4,096 bytes per text",
    ),
    "error": ('answer(b\'{"error": "x\\\\u0085\\\\ny"}\\n\'); os._exit(0)', UsageError, "x y"),
    "no error": ("answer(b'{\"error\": 1}\\n'); os._exit(0)", UsageError, "after 1 of 2 answers"),
    "crash": ("ctypes.string_at(0)", UsageError, "it was ended by SIGSEGV"),
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Metric:
    before = """
import ctypes, sys
def answer(what):
    for fd in range(3, 256):
        try:
            while what:
                what = what[os.write(fd, what):]
        except OSError:
            pass
"""
    path = tmp_path_factory.mktemp("failing") / "metric.py"
    path.write_text(
        program_of({name: code for name, (code, _, _) in FAILING.items()}, before), encoding="utf-8"
    )
    return isolated_metric(path)


@pytest.mark.parametrize("how", FAILING)
def test_a_run_that_fails_is_one_line(how: str, failing: Metric) -> None:
    _, error, problem = FAILING[how]
    with pytest.raises(error, match=problem) as raised:
        scored(failing, [Item("well"), Item(how)])
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


NO_NUMBER = "the metric gave no number"
ANSWERS = {
    "NaN": "no finite number",
    "-Infinity": "no finite number",
    "1e999": "no finite number",
    "9" * 400: NO_NUMBER,
    "9" * 5000: NO_NUMBER,
    "true": NO_NUMBER,
    "null": NO_NUMBER,
    "[1]": NO_NUMBER,
    "[" * 5000: NO_NUMBER,
    "no json": NO_NUMBER,
    '""': "the metric gave none",
    r'"\ud800 \n two\u0000"': "? two\0",
    '"' + "long " * 500 + '"': "long " * 39 + "lo...",
}


def test_answers_are_a_strangers(run: Run) -> None:
    code = f"""
import os
import signal
def score(output):
    for fd in range(3, 256):
        try:
            os.write(fd, {chr(10).join([*ANSWERS, ""])!r}.encode())
        except OSError:
            pass
    os._exit(0)
"""
    result = run(code, ("a",) * len(ANSWERS))
    assert [item.reason for item in result] == list(ANSWERS.values())
    assert {item.score for item in result} == {None}


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
import json, metal.raters.metrics.contract, metal.raters.isolation
json.dumps = lambda value: '{"protections": []}'
metal.raters.metrics.contract.Metric.better = None
def score(output): return 1
"""
    with pytest.raises(DataError, match="description of its"):
        run(code)
    assert run("def score(output): return 1")[0].score == 1


def test_a_signature_is_the_files_whatever_it_says(program: Write) -> None:
    code = """
import metal.raters.metrics.own as own
Metric = own.Metric
own.Metric = lambda name, summary, score, signature, **more: Metric(name, summary, score, "chrf|blake2b:0", **more)
def score(output): return 1
"""  # noqa: E501
    with pytest.raises(DataError, match="another file's signature"):
        isolated_metric(program(code))


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"needs": ["references", "x" * 9999]}, "needs 'x{197}"),
        ({"needs": "source"}, "no description"),
        ({"direction": "\n" * 9 + "up"}, "direction 'up'"),
        ({"low": 10**400}, "not two numbers"),
        ({"low": True}, "not two numbers"),
        ({"low": 2, "high": 1}, "lower end first"),
        ({"signature": 5}, "no description"),
        ({"signature": "\ud800"}, "another file's signature"),
    ],
)
def test_a_description_is_a_strangers(
    fields: dict[str, object], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metric.py"
    path.write_text("", encoding="utf-8")
    digest = hashlib.blake2b(b"", digest_size=8).hexdigest()
    entire = {
        "needs": [],
        "direction": "higher",
        "signature": f"any|blake2b:{digest}",
        "summary": 3,
        **fields,
    }
    message = json.dumps(entire).encode() + b"\n"
    monkeypatch.setattr("metal.raters.isolation.ask", lambda *_: ChildReply(message, 0, ""))
    with pytest.raises(DataError, match=problem) as raised:
        isolated_metric(path)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_whole_group_is_ended() -> None:
    """What a program leaves running where system calls are not filtered."""
    command = ["/bin/sh", "-c", "sleep 1000 & echo $!; wait"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    left = int(child.stdout.readline())
    assert _end(child) == -9
    until(lambda: not _alive(left))


STARTER = """
import sys
from pathlib import Path
from metal.raters.isolation import isolated_metric, Limits
from metal.raters.metrics import Item, scored
scored(isolated_metric(Path(sys.argv[1])), [Item(sys.argv[2])])
"""


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_it_ends_with_its_parent(how: str, program: Write, tmp_path: Path, filtered: None) -> None:
    code = (
        "import time\ndef score(output):\n    open('begun', 'w')\n    time.sleep(1000)\n   "
        " return 1"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", STARTER, program(code), "a"]
    # a shell's background job is deaf to it
    unignored = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    parent = subprocess.Popen(
        command, stderr=subprocess.PIPE, env=environment, preexec_fn=unignored
    )
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    until(lambda: _begun(children) or parent.poll() is not None)
    child = int(children.read_text())
    parent.send_signal(2 if how == "interrupted" else 9)
    parent.communicate(timeout=SLOWEST)
    until(lambda: not _alive(child))
    assert how == "killed" or not list(temporary.iterdir())  # who is killed cannot tidy up


def _begun(children: Path) -> bool:
    """Whether the one child has written its file, in a folder that only it may see."""
    with suppress(OSError):
        return any(
            Path("/proc", child, "cwd", "begun").exists() for child in children.read_text().split()
        )
    return False


def _alive(child: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
