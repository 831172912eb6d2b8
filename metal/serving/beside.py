"""The workers beside the server: processes that are started again if they end by themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

LOOKS, REST = 0.5, 2.0  # seconds between two looks, and before a worker is started again


class AttendedWorker:
    """A worker at work, until `stop()`: a module of metal.serving as a process. The address of the
    database, which may hold a password, goes to it by its environment.

    Each process has a folder of its own for temporary files, which is deleted when it has ended: a
    worker that is killed leaves nothing that a submitted program wrote.
    """

    def __init__(self, module: str, folder: Path, database: str) -> None:
        self._command = [sys.executable, "-m", f"metal.serving.{module}", str(folder.resolve())]
        self._command.append(str(os.getpid()))
        self._environment = {**os.environ, "METAL_DATABASE": database}
        self._over = threading.Event()
        self.process = self._start()
        self._thread = threading.Thread(target=self._attend, daemon=True)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.scratch = tempfile.mkdtemp(prefix="metal-worker-")
        environment = {**self._environment, "TMPDIR": self.scratch}
        return subprocess.Popen(  # noqa: S603
            self._command, env=environment, stdin=subprocess.DEVNULL
        )

    def _attend(self) -> None:
        while not self._over.wait(LOOKS):
            if self.process.poll() is not None:
                shutil.rmtree(self.scratch, ignore_errors=True)
                if not self._over.wait(REST):
                    self.process = self._start()

    def stop(self) -> None:
        """End the worker."""
        self._over.set()
        self._thread.join()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)
