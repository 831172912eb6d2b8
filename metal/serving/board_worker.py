"""The worker of boards: runs submissions, and makes pages where a board has changed, as a process
of its own.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import metal
from metal.errors import MetalError
from metal.serving.board_making import make_pages, state_of
from metal.serving.boards import (
    SUBMISSION,
    WITHDRAWAL,
    NoSuchBoard,
    ServedBoard,
    all_boards,
    board_of,
    note_pages,
)
from metal.serving.jobs import LEASE, PAGES, ServingJob, claim, finish, renew
from metal.serving.ledger import ServingLedger
from metal.serving.submissions import fail, run_submission, run_withdrawal, tidy

PAUSE = 1.0  # seconds between two looks
REST = 4.0  # times as long as pages took, a board rests
DEFECT = "METAL has a defect; the server's terminal says more"


class BoardWorker:
    """What a worker does, one look after the other. root: the server's folder."""

    def __init__(self, ledger: ServingLedger, root: Path, lease: float = LEASE) -> None:
        self.ledger, self.root, self.lease = ledger, root, lease
        self.name = secrets.token_hex(8)
        self._rests: dict[str, float] = {}

    def look(self) -> bool:
        """Run a job if there is one, and make the pages of boards that changed; return whether
        there was a job.
        """
        job = claim(self.ledger, self.name, self.lease)
        if job:
            with self._held(job):
                problem = self._run(job)
            finish(self.ledger, job, self.name, problem)
        tidy(self.ledger, self.root)
        for board in all_boards(self.ledger):
            self._refresh(board)
        return job is not None

    @contextmanager
    def _held(self, job: ServingJob) -> Iterator[None]:
        """Renew the claim on a job while it runs."""
        done = threading.Event()

        def renewing() -> None:
            while not done.wait(self.lease / 3):
                renew(self.ledger, job, self.name, self.lease)

        thread = threading.Thread(target=renewing, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _run(self, job: ServingJob) -> str:
        runs: Mapping[str, Callable[[ServingLedger, Path, ServingJob], str]] = {
            SUBMISSION: run_submission,
            WITHDRAWAL: run_withdrawal,
            PAGES: run_pages,
        }
        try:
            return runs[job.kind](self.ledger, self.root, job)
        except MetalError as error:
            problem = str(error)
        except Exception:
            traceback.print_exc()
            problem = DEFECT
        if job.kind == SUBMISSION:
            fail(self.ledger, job, problem)
        return problem

    def _refresh(self, board: ServedBoard) -> None:
        """Make the newest pages of a board, if its files have changed."""
        began = time.monotonic()
        if began < self._rests.get(board.id, 0.0):
            return
        folder = board.folder(self.root)
        seen = state_of(folder)
        if seen == board.seen:
            return
        version, problem = None, ""
        try:
            metal.billboard_history(folder)  # a change of the data becomes a version
            seen = state_of(folder)
            version = make_pages(self.root, board)
        except MetalError as error:
            problem = str(error).replace(str(folder), board.dataset)
        except Exception:
            traceback.print_exc()
            problem = DEFECT
        note_pages(self.ledger, board.id, seen, version, problem)
        now = time.monotonic()
        self._rests[board.id] = now + REST * (now - began)


def run_pages(ledger: ServingLedger, root: Path, job: ServingJob) -> str:
    """Make the pages of an earlier version."""
    try:
        board = board_of(ledger, str(job.content["board"]))
    except NoSuchBoard:
        return ""
    make_pages(root, board, int(job.content["at"]))
    return ""


def main() -> None:
    """The process that `metal serve` starts; it ends with the server, or when it is told to."""
    parent = int(sys.argv[2])  # not getppid(): the server may have ended already
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends this
    root = Path(sys.argv[1])
    ledger = ServingLedger(root, os.environ.get("METAL_DATABASE", ""))
    os.chdir(root)  # pages name datasets as they are called from there
    worker = BoardWorker(ledger, Path())
    while os.getppid() == parent:
        at_work = False
        try:
            at_work = worker.look()
        except Exception:  # it goes on: the next submission must not wait for somebody to look
            traceback.print_exc()
        if not at_work:
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
