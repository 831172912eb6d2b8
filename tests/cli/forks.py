"""`metal` as processes that start at once: forks of one process that has the heavy imports done.

Each is a process of its own, with its own environment, that can be sent any signal; exit codes and
output are those of `metal` started by hand. At its end it collects what the command left behind, so
that whatever is unclosed says so, but does not take down what it was forked with, which would first
copy all of it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SLOWEST = 240.0  # seconds; a command that takes longer counts as hanging

STARTER = """
import atexit, gc, importlib, json, os, pkgutil, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import metal.cli
for module in pkgutil.walk_packages(metal.__path__, "metal."):
    # judges bring the libraries of all providers
    if not module.name.startswith(("metal.__main__", "metal.raters.judges.")):
        importlib.import_module(module.name)
import metal.raters.judges.baselines, metal.raters.judges.runner, openai, aiohttp
import metal.raters.judges.providers.openai_batch
import metal.raters.judges.batch.run
import babel.dates, babel.numbers, filelock, openpyxl, pandas, pyarrow.parquet, rich.progress, rich.table
import sacrebleu.metrics, scipy.optimize, scipy.special, scipy.stats, tenacity, tiktoken
import metal.data.dataset
from metal.data.files import bundled
metal.show.terminal.stages.QUIET_EVERY = float("inf")  # what takes longer on a busy machine prints no more
metal.data.dataset.load_dataset(bundled("datasets/demo"))
pages = metal.show.pages.templates()
for template in pages.list_templates(["html"]):
    pages.get_template(template)
warnings.resetwarnings()
gc.collect()
gc.freeze()  # else each child's first collection writes to, and so copies, all that is loaded here

def reap(pid, code):
    status = os.waitpid(pid, 0)[1]
    with open(code + ".part", "w") as file:
        file.write(str(os.waitstatus_to_exitcode(status)))
    os.replace(code + ".part", code)

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where tests are started with nohup, SIGINT in the background
signal.signal(signal.SIGINT, signal.default_int_handler)
for line in sys.stdin:
    wish = json.loads(line)
    pid = os.fork()
    if not pid:
        break
    threading.Thread(target=reap, args=(pid, wish["code"]), daemon=True).start()
    print(pid, flush=True)
else:
    sys.exit()
for number, name in ((0, wish["in"]), (1, wish["out"]), (2, wish["err"])):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
os.chdir(wish["cwd"])
os.environ.clear()
os.environ.update(wish["env"])
sys.argv = ["metal", *wish["arguments"]]
code = 0
try:
    metal.cli.main()
except SystemExit as ended:
    code = ended.code or 0
threading._shutdown()
atexit._run_exitfuncs()
gc.collect()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""  # noqa: E501


@dataclass
class Done:
    """How a process ended; a code below 0 is the signal that killed it."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Standard output on one line, words apart by one space."""
        return " ".join(self.out.split())


@dataclass
class Started:
    """A running `metal`."""

    pid: int
    files: dict[str, Path]

    @property
    def over(self) -> bool:
        return self.files["code"].exists()

    def send(self, number: int) -> None:
        """A signal; nothing when it has ended, be it in this moment."""
        with suppress(ProcessLookupError):
            if not self.over:
                os.kill(self.pid, number)

    def wait(self, seconds: float = SLOWEST) -> Done:
        until = time.monotonic() + seconds
        while not self.over:
            if time.monotonic() > until:
                self.send(signal.SIGKILL)
                raise AssertionError(
                    f"metal did not end in {seconds} s: {self.files['err'].read_text()}"
                )
            time.sleep(0.005)
        # not there where it was killed before it opened them
        files = [self.files[name] for name in ("out", "err")]
        out, err = (file.read_text("utf-8", "replace") if file.exists() else "" for file in files)
        return Done(int(self.files["code"].read_text()), out, err)


@dataclass
class Metal:
    """Starts `metal` in a folder, with an environment of its own."""

    pipe: subprocess.Popen[str]
    logs: Path
    cwd: Path = ROOT
    env: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def at(self, cwd: Path, env: Mapping[str, str]) -> Metal:
        return Metal(self.pipe, self.logs, cwd, dict(env), self.numbers)

    def start(self, *arguments: object, typed: str = "") -> Started:
        """typed: what it reads from standard input."""
        number = next(self.numbers)
        files = {name: self.logs / f"{number}.{name}" for name in ("in", "out", "err", "code")}
        files["in"].write_text(typed, encoding="utf-8")
        wish: dict[str, Any] = {name: str(path) for name, path in files.items()}
        wish |= {"arguments": [*map(str, arguments)], "cwd": str(self.cwd), "env": self.env}
        to, back = self.pipe.stdin, self.pipe.stdout
        assert to
        assert back
        to.write(json.dumps(wish) + "\n")
        to.flush()
        return Started(int(back.readline()), files)

    def __call__(
        self, *arguments: object, expect: int = 0, seconds: float = SLOWEST, typed: str = ""
    ) -> Done:
        done = self.start(*arguments, typed=typed).wait(seconds)
        assert done.code == expect, done.out + done.err
        assert "Traceback" not in done.err
        assert "Unclosed" not in done.err
        return done

    def refused(self, *arguments: object) -> str:
        """The one line that it says when it exits with 2 before anything is done."""
        done = self(*arguments, expect=2)
        assert done.err.startswith("metal: "), done.err
        assert done.err.count("\n") == 1, done.err
        return done.err


class Killer:
    """Kills a process when a server of the test gets the n-th request since its start, however slow
    the machine is.

    The server calls `strikes` for every request, in its own thread.
    """

    def __init__(self) -> None:
        self.starting = threading.Lock()
        self.left = 0

    def start(self, metal: Metal, *arguments: object, requests: int) -> Started:
        with self.starting:
            self.left = requests
            self.victim = metal.start(*arguments)
        return self.victim

    def strikes(self) -> bool:
        """Count a request; whether its process was killed for it. What becomes of the request is
        the server's.
        """
        with self.starting:
            self.left -= 1
            if self.left == 0:
                self.victim.send(signal.SIGKILL)
            return self.left == 0


def by_itself(
    *arguments: object, cwd: Path, env: Mapping[str, str], first: str = "", **more: Any
) -> Done:
    """`metal` in a process that is no fork; first: code that it runs before."""
    command = [
        sys.executable,
        "-c",
        f"{first}\nfrom metal.cli import main; main()",
        *map(str, arguments),
    ]
    ended = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=SLOWEST, **more
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)


@cache
def shared() -> Metal:
    """One for all tests of this process; it ends with the process."""
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(starter())


@contextmanager
def starter() -> Iterator[Metal]:
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as logs:
        pipe = subprocess.Popen(
            [sys.executable, "-c", STARTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            yield Metal(pipe, Path(logs))
        finally:
            pipe.communicate()


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without keys and addresses of whoever runs the tests."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "TMPDIR", "SSL_CERT_FILE")
        if name in os.environ
    }
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"} | more
