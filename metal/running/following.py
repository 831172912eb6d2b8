"""How far a run that asks models has come, also while another process works on it.

Everything is read from the run's folder. A journal only grows, so each look reads what was added
since the look before. The state of a run of 100,000 calls takes some 15 MB of memory.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any, TypeGuard

from metal.data.at_work import can_stop, worker_of
from metal.data.run_summary import FINISHED, STOPPED, WAITING, is_running
from metal.data.run_toml import RUN_TOML, read_run_toml
from metal.errors import DataError
from metal.raters.judges.batch.ledger import FILE as LEDGER
from metal.raters.judges.batch.ledger import read_ledger
from metal.raters.judges.call import VERDICT
from metal.raters.judges.cluster.shards import journals
from metal.raters.judges.collect import RANKS, CallStatistics
from metal.raters.judges.journal import FAILED, REJECTED, read_line
from metal.raters.judges.prices import Price
from metal.running.job import MAX_COST, PLANNED

Record = Mapping[str, Any]
Settled = tuple[
    str, str, str
]  # how a question stands: its judge, the kind of reply, the cause of failure
RUNNING = "running"  # besides the states of a summary
PIECE = 4 * 2**20  # bytes that are read at once
LONGEST = 2**28  # bytes of a line
WINDOW = 60.0  # seconds over which the rate is measured
LETTERS = 300  # of a provider's message
REPLY = b',"reply":'


@dataclass(frozen=True)
class JudgeProgress:
    """How far one judge (a model with a prompt) has come.

    answered: calls with an answer that was read. without: calls whose reply has no answer, by
    reason. failures: calls without a reply, by cause; they are made again if the run is resumed.
    messages: for each cause, what the provider said last. retried: replies that needed more than
    one request. cost: in US dollars; None if the price or the tokens of a reply are not known.
    reused: answers taken from other runs.
    """

    judge: str
    model: str
    answered: int
    without: Mapping[str, int]
    failures: Mapping[str, int]
    messages: Mapping[str, str]
    retried: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    reused: int

    @property
    def done(self) -> int:
        """Calls with a reply."""
        return self.answered + sum(self.without.values())

    @property
    def failed(self) -> int:
        """Calls without a reply."""
        return sum(self.failures.values())


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come.

    state: FINISHED, RUNNING, STOPPED or WAITING (for batches). totals: the number of calls to each
    model; empty if run.toml does not say it. began: when the process that works on the run began,
    in seconds since 1970; None if that is not known. stoppable: whether that process can be asked
    to stop. rate: replies a second; None if none has come yet. read: the share of the journal that
    has been read. damaged: lines that METAL did not write. not_made: calls that a run that has
    ended did not make. max_cost: the most dollars that the last session allowed the run to cost.
    """

    state: str
    judges: tuple[JudgeProgress, ...]
    totals: Mapping[str, int]
    began: float | None
    stoppable: bool
    rate: float | None
    read: float
    damaged: int
    not_made: int
    max_cost: float | None

    @property
    def done(self) -> int:
        """Calls with a reply."""
        return sum(judge.done for judge in self.judges)

    @property
    def failed(self) -> int:
        """Calls without a reply."""
        return sum(judge.failed for judge in self.judges)

    @property
    def total(self) -> int | None:
        """The number of calls; None if it is not known."""
        return sum(self.totals.values()) if self.totals else None

    @property
    def cost(self) -> float | None:
        """What all replies cost so far, in US dollars; None if the price of some is not known."""
        costs = [judge.cost for judge in self.judges]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this rate; None if unknown."""
        if self.state != RUNNING or not self.rate or self.total is None:
            return None
        return max(self.total - self.done - self.failed, 0) / self.rate


class RunFollower:
    """Follows one run.

    counting: called with each record that brings a question its first verdict. restarting: called
    before everything is read again, because the run was replaced.
    """

    def __init__(
        self,
        folder: Path,
        counting: Callable[[Record], None] = lambda record: None,
        restarting: Callable[[], None] = lambda: None,
    ) -> None:
        self.folder, self.counting, self.restarting = folder, counting, restarting
        self._forget()

    def _forget(self) -> None:
        self._read: dict[Path, int] = {}  # bytes of each journal
        self._files: dict[Path, int] = {}  # their inodes
        self._best: dict[bytes, Settled] = {}
        self._same: dict[Settled, Settled] = {}  # each once, as a million questions share it
        self._messages: dict[tuple[str, str], str] = {}  # judge, cause -> the provider's words
        self._models: dict[str, str] = {}
        self._counts: dict[str, CallStatistics] = {}
        self._kinds: Counter[Settled] = Counter()
        self._recent: deque[float] = deque()
        self._newest = 0.0
        self._damaged = 0
        self._settings: tuple[tuple[int, int], Mapping[str, Any]] = ((0, 0), {})

    def look(self, seconds: float = inf) -> RunProgress:
        """Read what is new, for about so many seconds at most, and say how far the run is.

        Raises DataError for a damaged run.toml.
        """
        until = time.monotonic() + seconds
        running = is_running(self.folder)  # before the journal, which then has all of it
        sizes = self._sizes()
        for path, size in sizes.items():
            while self._read[path] < size and self._read_piece(path):
                if time.monotonic() > until:
                    break
        read = sum(self._read.values()) / max(sum(sizes.values()), 1) if sizes else 1.0
        return self._progress(running, min(read, 1.0))

    def _sizes(self) -> dict[Path, int]:
        """The size of each journal. If one is gone or was replaced, everything is read again."""
        states = {path: path.stat() for path in journals(self.folder) if path.is_file()}
        for path, inode in self._files.items():
            state = states.get(path)
            if state is None or state.st_ino != inode or state.st_size < self._read[path]:
                self.restarting()
                self._forget()
                break
        for path, state in states.items():
            self._files[path] = state.st_ino
            self._read.setdefault(path, 0)
        return {path: state.st_size for path, state in states.items()}

    def _read_piece(self, path: Path) -> bool:
        """Read some whole lines; return whether there were any."""
        with path.open("rb") as file:
            file.seek(self._read[path])
            piece = file.read(PIECE)
            if b"\n" not in piece:
                piece += file.readline(LONGEST)
        lines = piece[: piece.rfind(b"\n") + 1]
        for line in filter(None, lines.split(b"\n")):
            self._count_line(path, line)
        self._read[path] += len(lines)
        return bool(lines)

    def _count_line(self, path: Path, line: bytes) -> None:
        """Count a line; one that METAL did not write is only counted as damaged."""
        head, raw, _ = line.partition(REPLY)  # the raw reply, the longest part, is not needed
        try:
            record = read_line(path, head + b"}" if raw else line)
            self._count(record)
        except (DataError, LookupError, TypeError, ValueError, AttributeError):
            self._damaged += 1

    def _count(self, record: Record) -> None:
        kind = str(record["kind"])
        if kind == REJECTED:
            return
        key, model = bytes.fromhex(record["key"]), str(record["judge"])
        judge = f"{model}/{prompt}" if (prompt := record.get("prompt", "")) else model
        counts = self._counts.setdefault(judge, CallStatistics())
        counts.count(record)
        for kept in (counts.failures, counts.versions):  # of other people's words, without a limit
            kept.clear()
        del counts.seconds[:]
        self._models[judge] = model
        if "text" in record:
            self._note_time(record)
        self._settle(key, judge, kind, record)

    def _settle(self, key: bytes, judge: str, kind: str, record: Record) -> None:
        """Take a record as the best of its question, unless an earlier one is better."""
        before = self._best.get(key)
        if before is not None and RANKS.get(kind, 1) < RANKS.get(before[1], 1):
            return
        cause = str(record.get("why", "")) if kind == FAILED else ""
        if cause:
            self._messages[judge, cause] = str(record.get("said", ""))[:LETTERS]
        standing = judge, kind, cause
        self._best[key] = self._same.setdefault(standing, standing)
        self._kinds[standing] += 1
        if before is not None:
            self._kinds[before] -= 1
        if kind == VERDICT and (before is None or before[1] != VERDICT):
            self.counting(record)

    def _note_time(self, record: Record) -> None:
        if "reused" in record:
            return
        at = datetime.fromisoformat(record["at"]).timestamp()
        self._newest = max(self._newest, at)
        self._recent.append(at)
        while self._recent and self._recent[0] < self._newest - WINDOW:
            self._recent.popleft()

    def _progress(self, running: bool, read: float) -> RunProgress:
        settings = self._read_settings()
        worker = worker_of(self.folder) if running else None
        began = worker.began if worker else None
        state: Mapping[str, Any] = settings.get("state", {})
        return RunProgress(
            self._state(running, state),
            tuple(self._of_judge(judge, settings) for judge in sorted(self._counts)),
            _totals(settings),
            began,
            worker is not None and can_stop(self.folder),
            self._rate(time.time(), began) if running else None,
            read,
            self._damaged,
            state.get("not_asked", 0),
            settings.get(MAX_COST),
        )

    def _read_settings(self) -> Mapping[str, Any]:
        """The settings in run.toml, which is read again only if it was written again."""
        path = self.folder / RUN_TOML
        state = path.stat() if path.is_file() else None
        written = (state.st_ino, state.st_mtime_ns) if state else (0, 0)
        if written != self._settings[0]:
            self._settings = written, read_run_toml(self.folder)["settings"]
        return self._settings[1]

    def _state(self, running: bool, state: Mapping[str, Any]) -> str:
        if running:
            return RUNNING
        if (self.folder / LEDGER).is_file() and any(
            batch.open for batch in read_ledger(self.folder)
        ):
            return WAITING
        return FINISHED if state.get("complete") else STOPPED

    def _rate(self, now: float, began: float | None) -> float | None:
        """Replies a second in the last minute, or since the process began if that was later."""
        recent = [at for at in self._recent if at >= max(now - WINDOW, began or 0.0)]
        if not recent:
            return None
        return len(recent) / max(now - max(now - WINDOW, began or recent[0]), 1.0)

    def _of_judge(self, judge: str, settings: Mapping[str, Any]) -> JudgeProgress:
        counts, model = self._counts[judge], self._models[judge]
        replies: Counter[str] = Counter()
        failures: Counter[str] = Counter()
        for (name, kind, cause), number in self._kinds.items():
            if name == judge and number:
                (failures if kind == FAILED else replies)[cause or kind] += number
        answered = replies.pop(VERDICT, 0)
        planned = settings.get(PLANNED, {})
        entry = planned.get(model, {}) if isinstance(planned, dict) else {}
        price = _price(entry, "")
        cost = None if counts.uncounted else counts.cost(price, _price(entry, "batch_"))
        return JudgeProgress(
            judge,
            model,
            answered,
            replies,
            failures,
            {cause: self._messages.get((judge, cause), "") for cause in failures},
            counts.retried + counts.asked_again,
            counts.tokens_in,
            counts.tokens_out,
            cost,
            counts.reused,
        )


def _totals(settings: Mapping[str, Any]) -> dict[str, int]:
    """The number of calls to each model, as the run's process wrote it."""
    planned = settings.get(PLANNED, {})
    if not isinstance(planned, dict):
        return {}
    totals = {}
    for model, entry in planned.items():
        calls = entry.get("calls") if isinstance(entry, dict) else None
        if type(calls) is int and calls >= 0:
            totals[model] = calls
    return totals


def _price(entry: Any, prefix: str) -> Price | None:
    """The price of a model in an entry of run.toml; None if it has none."""
    if not isinstance(entry, dict):
        return None
    price_in, price_out = (entry.get(f"{prefix}{name}") for name in ("input", "output"))
    if _is_price(price_in) and _is_price(price_out):
        return Price(float(price_in), float(price_out))
    return None


def _is_price(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value < inf
