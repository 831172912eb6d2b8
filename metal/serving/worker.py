"""A worker: brings answers into the datasets, beside the server, as a process of its own.

Several workers may be at work on one ledger: a dataset's lock lets one at a time write into it, and
who comes second finds nothing new.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from metal.errors import MetalError
from metal.serving.agreeing import note_agreement
from metal.serving.keeping import TROUBLE, Refusal, keep, note_trouble
from metal.serving.leaving import let_go
from metal.serving.ledger import DiskFull, ServingLedger
from metal.serving.recovering import recover
from metal.serving.studies import Forms, Study, all_studies
from metal.serving.watching import note_look

PAUSE = 1.0  # seconds between two looks
REST = 4.0  # times as long as an import took, a study rests: large datasets are written less often


class KeepingWorker:
    """What a worker does, one look after the other."""

    def __init__(self, ledger: ServingLedger, root: Path) -> None:
        self.ledger, self.root, self.forms = ledger, root, Forms(ledger)
        self._rests: dict[str, float] = {}
        self._refused: dict[str, frozenset[Refusal]] = {}

    def look(self) -> None:
        """Bring in the new answers of every study that does not rest."""
        for study in all_studies(self.ledger):
            began = time.monotonic()
            if began < self._rests.get(study.id, 0.0):
                continue
            trouble = self._trouble(study)
            with suppress(DiskFull):  # then the terminal has said it
                note_trouble(self.ledger, study.id, trouble)
            note_look(self.root)
            now = time.monotonic()
            self._rests[study.id] = now + REST * (now - began)
        note_look(self.root)

    def _trouble(self, study: Study) -> str:
        """Bring in the new answers of a study; return what prevents it, empty if nothing does.
        Whatever it is, the other studies go on.
        """
        try:
            recover(self.ledger, self.forms, self.root, study)
            gone = let_go(self.ledger, self.root, study)
            earlier = self._refused.get(study.id, frozenset())
            kept = keep(self.ledger, self.forms, self.root, study, earlier)
            self._refused[study.id] = kept.refused or earlier
            if gone and not kept.number and not study.settings.of_forms:
                note_agreement(self.ledger, self.root, study)
        except MetalError as error:
            problem = str(error)
        except Exception as error:  # hostile files break libraries in ways of their own
            problem = f"{study.dataset} cannot be read or written ({type(error).__name__}: {error})"
            if problem != study.figures.get(TROUBLE):
                traceback.print_exc()
        else:
            return ""
        if problem != study.figures.get(TROUBLE):  # once, not every second
            print(f"study {study.id}: {problem}", file=sys.stderr, flush=True)
        return problem


def main() -> None:
    """The process that `metal serve` starts; it ends with the server, or when it is told to."""
    parent = int(sys.argv[2])  # not getppid(): the server may have ended already
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends this
    root = Path(sys.argv[1])
    worker = KeepingWorker(ServingLedger(root, os.environ.get("METAL_DATABASE", "")), root)
    while os.getppid() == parent:
        try:
            worker.look()
        except Exception:  # it goes on: the next answers must not wait for somebody to look
            traceback.print_exc()
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
