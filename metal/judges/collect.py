"""From the journal to ratings: a row an output, criterion and judge, and what each judge's calls were like.

Verdicts are read again from the replies, so that a better reader helps answers that are paid for already.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metal.json_files import whole_text
from metal.judges.call import VERDICT, Questions
from metal.judges.journal import read_line, scan
from metal.judges.lines import FAILED, REJECTED
from metal.judges.models import Model, Price
from metal.judges.plan import NO_TEXT, Call, Plan, rater_name
from metal.records import Rater, Rating

FAILED_AS = "failed: "  # how the reason of a call begins that can still be asked again


@dataclass
class Tally:
    """What one judge's calls were like, over all sessions of a run."""

    kinds: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    asked_again: int = 0
    wavering: int = 0
    reused: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
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
        """Ratings with a score."""
        return self.kinds[VERDICT]

    def cost(self, price: Price | None) -> float | None:
        """US dollars of all replies, where the price is known."""
        return price.cost(self.tokens_in, self.tokens_out) if price else None

    def latency(self, percent: float) -> float | None:
        """Seconds that so many percent of replies took at most; None without replies."""
        return float(np.percentile(np.frombuffer(self.seconds, dtype=np.float32), percent)) if self.seconds else None


@dataclass(frozen=True)
class Collected:
    """A journal, looked through: where the best line for each key is, and what each judge's calls were like."""

    plan: Plan
    path: Path
    places: Mapping[bytes, int]  # key -> four times the place in the file, plus the rank of what stands there
    tallies: Mapping[str, Tally]

    def ratings(self) -> Iterator[Rating]:
        """A rating for every call of the plan that was made, in the plan's order. Counts into the tallies."""
        if not self.plan.models:  # baselines alone leave no journal
            return
        with self.path.open("rb") as file:
            for model in self.plan.models:
                for call in self.plan.calls(model):
                    place = self.places.get(bytes.fromhex(call.key))
                    name = rater_name(model, call.prompt, call.sample)
                    tally = self.tallies[rater_name(model, call.prompt)]
                    if place is None:
                        tally.not_asked += 1
                        continue
                    file.seek(place // 4)
                    record = read_line(self.path, file.readline(), place // 4)
                    score, reason, comment, wavering = self._verdict(record, call)
                    if score is not None:
                        score = call.prompt.rubrics[call.criterion].score(score)
                    tally.kinds[VERDICT if score is not None else reason] += 1
                    tally.wavering += wavering
                    yield Rating(call.output.output, call.criterion, name, score, reason, comment)
                yield from self._without_text(model)

    def _verdict(self, record: Mapping[str, Any], call: Call) -> tuple[float | None, str, str, bool]:
        if "why" in record:
            lasting = record["kind"] != FAILED
            return None, record["why"] if lasting else FAILED_AS + record["why"], "", False
        verdict = call.verdict(record["text"], record["ending"])
        comment = verdict.justification or ("" if verdict.score is not None else record["text"])
        return verdict.score, verdict.reason, whole_text(comment), verdict.wavering

    def _without_text(self, model: Model) -> Iterator[Rating]:
        empty = [output for output in self.plan.outputs if not output.text.strip()]
        for prompt in self.plan.prompts:
            for criterion in self.plan.criteria:
                for sample in range(1, self.plan.repeat + 1):
                    for output in empty:
                        self.tallies[rater_name(model, prompt)].kinds[NO_TEXT] += 1
                        yield Rating(output.output, criterion, rater_name(model, prompt, sample), None, NO_TEXT)

    def raters(self) -> list[Rater]:
        """The judges as raters; what was sent, rejected and said of versions is kept with them."""
        found = []
        for model in self.plan.models:
            for prompt in self.plan.prompts:
                tally = self.tallies[rater_name(model, prompt)]
                about = model.described() | {
                    "prompt": prompt.name,
                    "prompt_hash": {criterion: prompt.digest(criterion) for criterion in self.plan.criteria},
                }
                about |= {"sent": dict(tally.sent)} if tally.sent else {}
                about |= {"rejected": dict(tally.rejected)} if tally.rejected else {}
                about |= {"versions": dict(tally.versions.most_common())} if tally.versions else {}
                flipped = [name for name in self.plan.criteria if prompt.rubrics[name].flipped]
                about |= {"flipped": flipped} if flipped else {}
                base = rater_name(model, prompt)
                for sample in range(1, self.plan.repeat + 1):
                    repeated = {"repeats": base, "sample": sample} if sample > 1 else {}
                    name = rater_name(model, prompt, sample)
                    found.append(Rater(name, "llm", model.family or model.name, about | repeated))
        return found


def collect(plan: Plan, path: Path) -> Collected:
    """Look through a journal. Raises DataError for a damaged one."""
    names = {(model.name, prompt.name): rater_name(model, prompt) for model in plan.models for prompt in plan.prompts}
    tallies = {name: Tally() for name in names.values()}
    places: dict[bytes, int] = {}
    for key, kind, place, line in scan(path):
        record = read_line(path, line, place)
        if kind == REJECTED:
            _note_rejected(record, names, tallies)
            continue
        rank = 3 if kind == VERDICT else 1 if kind == FAILED else 2
        known = bytes.fromhex(key)
        if rank >= places.get(known, 0) % 4:
            places[known] = place * 4 + rank
        tally = tallies.get(names.get((record.get("judge", ""), record.get("prompt", "")), ""))
        if tally is not None:
            _note_call(record, kind, tally)
    return Collected(plan, path, places, tallies)


def _note_rejected(
    record: Mapping[str, Any], names: Mapping[tuple[str, str], str], tallies: Mapping[str, Tally]
) -> None:
    for (model, _), name in names.items():
        if model == record["judge"]:
            tallies[name].rejected[record["parameter"]] = record["said"]


def _note_call(record: Mapping[str, Any], kind: str, tally: Tally) -> None:
    if "reused" in record:
        tally.reused += 1
    else:
        tally.retried += bool(record.get("retries"))
        tally.asked_again += record.get("ask", 1) > 1
        if "text" in record:
            tally.seconds.append(record["seconds"])
            tally.uncounted += None in record["tokens"]
            tally.tokens_in += record["tokens"][0] or 0
            tally.tokens_out += record["tokens"][1] or 0
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
