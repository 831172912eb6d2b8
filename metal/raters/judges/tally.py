"""What a journal holds of a plan's calls: the best line for each, and what they were like, by model and prompt."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from metal.raters.judges.call import VERDICT, Question, Questions
from metal.raters.judges.journal import read_line, scan
from metal.raters.judges.lines import FAILED, REJECTED
from metal.raters.judges.models import Price

FAILED_AS = "failed: "  # how the reason of a call begins that can still be asked again

Asked = TypeVar("Asked", bound=Question)


@dataclass
class Tally:
    """What the calls of one model and prompt were like, over all sessions of a run."""

    kinds: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    asked_again: int = 0
    wavering: int = 0
    reused: int = 0
    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    batched: Counter[str] = field(default_factory=Counter)  # of the tokens, those through the batch service: in, out
    uncounted: int = 0  # replies whose tokens the provider did not tell
    not_asked: int = 0
    seconds: array[float] = field(default_factory=lambda: array("f"))
    versions: Counter[str] = field(default_factory=Counter)
    sent: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Calls given up, to be made when the run is resumed."""
        return sum(count for kind, count in self.kinds.items() if kind.startswith(FAILED_AS))

    @property
    def answered(self) -> int:
        """Calls whose reply holds what was asked for."""
        return self.kinds[VERDICT]

    def cost(self, price: Price | None, batch_price: Price | None = None) -> float | None:
        """US dollars of all replies, where the price is known. batch_price: of batched ones, where it is another."""
        if not price:
            return None
        batched = self.batched["in"], self.batched["out"]
        direct = price.cost(self.tokens_in - batched[0], self.tokens_out - batched[1])
        return direct + (batch_price or price).cost(*batched)

    def latency(self, percent: float) -> float | None:
        """Seconds that so many percent of replies took at most; None without replies."""
        return float(np.percentile(np.frombuffer(self.seconds, dtype=np.float32), percent)) if self.seconds else None


@dataclass(frozen=True)
class Found:
    """A journal, looked through. places: key -> four times the place of its best line, plus the rank of that line."""

    path: Path
    places: Mapping[bytes, int]
    tallies: Mapping[str, Tally]

    def records(self, calls: Iterable[Asked]) -> Iterator[tuple[Asked, dict[str, Any] | None]]:
        """Each call with its best line; None where there is none."""
        with self.path.open("rb") as file:
            for call in calls:
                place = self.places.get(bytes.fromhex(call.key))
                if place is None:
                    yield call, None
                    continue
                file.seek(place // 4)
                yield call, read_line(self.path, file.readline(), place // 4)


def why_none(record: Mapping[str, Any]) -> str:
    """Why the call of this line brought no reply; empty when it brought one."""
    if "why" not in record:
        return ""
    return str(record["why"]) if record["kind"] != FAILED else FAILED_AS + str(record["why"])


def look_up(plan: Questions, path: Path) -> Found:
    """Look through a journal. Raises DataError for a damaged one."""
    tallies = {name: Tally() for name in plan.names.values()}
    places: dict[bytes, int] = {}
    for key, kind, place, line in scan(path):
        record = read_line(path, line, place)
        if kind == REJECTED:
            _note_rejected(record, plan.names, tallies)
            continue
        rank = 3 if kind == VERDICT else 1 if kind == FAILED else 2
        known = bytes.fromhex(key)
        if rank >= places.get(known, 0) % 4:
            places[known] = place * 4 + rank
        tally = tallies.get(plan.names.get((record.get("judge", ""), record.get("prompt", "")), ""))
        if tally is not None:
            _note_call(record, tally)
    return Found(path, places, tallies)


def _note_rejected(
    record: Mapping[str, Any], names: Mapping[tuple[str, str], str], tallies: Mapping[str, Tally]
) -> None:
    for (model, _), name in names.items():
        if model == record["judge"]:
            tallies[name].rejected[record["parameter"]] = record["said"]


def _note_call(record: Mapping[str, Any], tally: Tally) -> None:
    if "reused" in record:
        tally.reused += 1
    else:
        tally.retried += bool(record.get("retries"))
        tally.asked_again += record.get("ask", 1) > 1
        if "text" in record:
            tally.replies += 1
            if record["seconds"] is not None:
                tally.seconds.append(record["seconds"])
            tally.uncounted += None in record["tokens"]
            tally.tokens_in += record["tokens"][0] or 0
            tally.tokens_out += record["tokens"][1] or 0
            if "batch" in record:
                tally.batched.update({"in": record["tokens"][0] or 0, "out": record["tokens"][1] or 0})
    if "text" in record:
        tally.versions[f"{record['model']} {record['fingerprint']}".strip() or "not told"] += 1
        tally.sent = record["sent"]


def lines_to_reuse(plan: Questions, journals: Iterable[Path], settled: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(key, line) of the verdicts in other runs' journals that answer calls of the plan still open."""
    wanted = {bytes.fromhex(call.key) for model in plan.models for call in plan.calls(model)} - settled
    for path in journals:
        for key, kind, _, line in scan(path):
            known = bytes.fromhex(key)
            if kind == VERDICT and known in wanted:
                wanted.discard(known)
                yield known, line
