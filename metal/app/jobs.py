"""Commands that the app starts: each is a process of its own, with the output that a terminal would
show.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import filelock
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from metal.app.library import Library, NoSuchPage
from metal.app.templating import respond

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"
SHOWN = 20_000  # bytes of the output's end
SECONDS_TO_STOP = 5  # of judges, which wait for the calls in flight
PREFIX, HELD = "metal-view-", "held"  # of the private folder's name; the file locked meanwhile
INTERRUPTED = (130, -signal.SIGINT)


@dataclass(frozen=True)
class AppJob:
    """A command that is running or has ended.

    arguments: those of `metal`, or of another of METAL's programs; typed is then the command that
    does the same. output: the file with what it prints. started: seconds of time.monotonic.
    before: the page from which it was started, below the app's address; may be empty.
    """

    key: str
    arguments: tuple[str, ...]
    output: Path
    process: subprocess.Popen[bytes]
    typed: str = ""
    before: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def command(self) -> str:
        """The command line as somebody would type it."""
        return self.typed or shlex.join(["metal", *self.arguments])

    @property
    def state(self) -> str:
        """RUNNING, DONE, FAILED or STOPPED."""
        code = self.process.poll()
        if code is None:
            return RUNNING
        if code in INTERRUPTED:
            return STOPPED
        return FAILED if code else DONE

    @property
    def says(self) -> str:
        """The end of what it has printed so far."""
        with self.output.open("rb") as file:
            file.seek(max(self.output.stat().st_size - SHOWN, 0))
            return file.read().decode("utf-8", "replace")

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self.started

    @property
    def out(self) -> str:
        """The folder that it writes, below the app's folder; empty if it names none."""
        named = [
            word.removeprefix("--out=") for word in self.arguments if word.startswith("--out=")
        ]
        return named[0] if named else ""

    @property
    def paths(self) -> list[str]:
        """Its arguments that may be paths: the values of options, and what is no option."""
        values = [word.partition("=")[2] if word[:1] == "-" else word for word in self.arguments]
        return [value for value in values if value and "\0" not in value]

    def stop(self) -> None:
        """Interrupt it, as Ctrl-C does: a judge ends the calls in flight and can be resumed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)


class Jobs:
    """The commands that were started since the app began, by key.

    root: the folder in which they run.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._jobs: dict[str, AppJob] = {}
        clear_left_over(Path(tempfile.gettempdir()))
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        # others see the file only when it is locked
        self._lock = filelock.FileLock(self.folder / f"{HELD}-new")
        self._lock.acquire()
        with suppress(OSError):  # where open files cannot be renamed, others leave the folder
            os.replace(self.folder / f"{HELD}-new", self.folder / HELD)

    @property
    def folder(self) -> Path:
        """A private folder for the files of the app; it is deleted when the app ends."""
        return Path(self._folder.name)

    def start(
        self,
        arguments: Sequence[str],
        *,
        program: str = "metal",
        typed: str = "",
        before: str = "",
    ) -> AppJob:
        """Start `metal ARGUMENTS`, or another of METAL's programs, in the root folder.

        Text that a person typed must not be read as an option: write `--name=value`, and paths
        after `--`.
        """
        key = secrets.token_hex(6)
        output = self.folder / f"{key}.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603  no shell, and METAL's own program
                [sys.executable, "-m", program, *arguments],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
                start_new_session=True,
            )
        self._jobs[key] = job = AppJob(key, tuple(arguments), output, process, typed, before)
        return job

    def at_work_on(self, folder: Path) -> AppJob | None:
        """A running command that reads or writes a folder, or something in it; None without one."""
        for job in self.all():
            if job.state == RUNNING and any(
                (self.root / named).resolve().is_relative_to(folder.resolve())
                for named in job.paths
            ):
                return job
        return None

    def job(self, key: str) -> AppJob:
        """The job with a key. Raises NoSuchPage."""
        if key not in self._jobs:
            raise NoSuchPage(
                "There is no such command here; an earlier `metal view` may have started it"
            )
        return self._jobs[key]

    def all(self) -> list[AppJob]:
        """Every job, the last one first."""
        return list(reversed(self._jobs.values()))

    def close(self) -> None:
        """Interrupt what is running, and delete the private folder."""
        until = time.monotonic() + SECONDS_TO_STOP
        try:
            for job in self._jobs.values():
                job.stop()
            for job in self._jobs.values():
                with suppress(subprocess.TimeoutExpired):  # it ends its calls by itself
                    job.process.wait(max(until - time.monotonic(), 0))
        finally:
            self._lock.release()
            self._folder.cleanup()


def clear_left_over(folder: Path) -> None:
    """Delete the private folders of this user's apps that were killed: nobody holds their lock."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError, filelock.Timeout):
            state = left.lstat()
            foreign = hasattr(os, "getuid") and state.st_uid != os.getuid()
            if foreign or not stat.S_ISDIR(state.st_mode):
                continue
            held = (left / HELD).lstat()  # a folder without it is just being made
            if stat.S_ISREG(held.st_mode):
                with filelock.FileLock(left / HELD, timeout=0):
                    shutil.rmtree(left, ignore_errors=True)


def job_page(request: Request) -> Response:
    """Show a command: what it prints, and where its result is."""
    jobs: Jobs = request.app.state.jobs
    library: Library = request.app.state.library
    job = jobs.job(request.path_params["key"])
    result = job.out if job.state == DONE and job.out in library.folders() else ""
    says = job.says.replace(f"{jobs.root.resolve()}{os.sep}", "")  # as a command there names it
    content = {"job": job, "state": job.state, "result": result, "says": says}
    return respond(request, "job.html", content)


def stop_job(request: Request) -> Response:
    """Interrupt a command."""
    job = request.app.state.jobs.job(request.path_params["key"])
    job.stop()
    return RedirectResponse(f"{request.scope['root_path']}/job/{job.key}", 303)


ROUTES = [
    Route("/job/{key}", job_page, name="job"),
    Route("/job/{key}/stop", stop_job, methods=["POST"]),
]
