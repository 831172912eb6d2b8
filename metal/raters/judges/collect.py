"""Collect a plan's results from a journal: the best record for each question, statistics of calls,
and ratings.

Verdicts are read again from the replies, so a better reader also improves answers that are already
paid for.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from metal.data.files import whole_text
from metal.data.progress import Progress, divided, followed, no_progress
from metal.data.records import NOT_TOLD, Rater, Rating
from metal.raters.judges.call import VERDICT, Question, RunPlan
from metal.raters.judges.journal import FAILED, INCOMPLETE, REJECTED, read_line, scan
from metal.raters.judges.models import Model
from metal.raters.judges.plan import NO_TEXT, JudgingPlan, JudgingQuestion, asked_as, rater_name
from metal.raters.judges.prices import Price
from metal.raters.judges.prompts import Prompt

FAILED_AS = "failed: "  # prefix of the reason for a call that can still be made again
# of the records of a question: the best counts, of equals the last
RANKS = {VERDICT: 3, INCOMPLETE: 2, FAILED: 0}

Asked = TypeVar("Asked", bound=Question)


@dataclass
class CallStatistics:
    """Statistics of the calls with one model and prompt, over all sessions of a run.

    kinds: counts of ratings by kind: VERDICT, or why there is none. failed: how many calls were
    given up; they are made again if the run is resumed. failures: the messages of calls given up;
    kept_bodies: the bytes that arrived for these calls, which may have been paid for. retried,
    asked_again: numbers of calls. wavering: verdicts with another score in the reply. unsure: why
    verdicts lack a requested probability. reused: answers taken from other runs. batched: the
    tokens of the batch service ("in", "out"). uncounted: replies without token counts from the
    provider. seconds: the time of each reply.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    kept_bodies: int = 0
    retried: int = 0
    asked_again: int = 0
    wavering: int = 0
    unsure: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    batched: Counter[str] = field(default_factory=Counter)
    uncounted: int = 0
    not_asked: int = 0
    seconds: array[float] = field(default_factory=lambda: array("f"))
    versions: Counter[str] = field(default_factory=Counter)
    sent: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)

    @property
    def heard(self) -> bool:
        """Whether there is a reply, from this run or taken from another run."""
        return bool(self.replies or self.reused)

    @property
    def answered(self) -> int:
        """How many verdicts, or texts, the replies contain."""
        return self.kinds[VERDICT]

    def cost(self, price: Price | None, batch_price: Price | None = None) -> float | None:
        """The cost of all replies in US dollars; None without a price. batch_price: the price of
        batched replies, if it differs.
        """
        if not price:
            return None
        batched = self.batched["in"], self.batched["out"]
        direct = price.cost(self.tokens_in - batched[0], self.tokens_out - batched[1])
        return direct + (batch_price or price).cost(*batched)

    def latency(self, percent: float) -> float | None:
        """The seconds within which this percentage of replies arrived; None without replies."""
        return (
            float(np.percentile(np.frombuffer(self.seconds, dtype=np.float32), percent))
            if self.seconds
            else None
        )

    def count(self, record: Mapping[str, Any]) -> None:
        """Count the journal record of a reply or failure."""
        if "reused" in record:
            self.reused += 1
        else:
            self.retried += bool(record.get("retries"))
            self.asked_again += record.get("ask", 1) > 1
            if "text" in record:
                self._count_reply(record)
        if record["kind"] == FAILED:
            self.failures[": ".join(filter(None, (record.get("why"), record.get("said"))))] += 1
            self.kept_bodies += "body" in record
        if "text" in record:
            self.versions[f"{record['model']} {record['fingerprint']}".strip() or NOT_TOLD] += 1
            self.sent = record["sent"]

    def _count_reply(self, record: Mapping[str, Any]) -> None:
        self.replies += 1
        if record["seconds"] is not None:
            self.seconds.append(record["seconds"])
        tokens_in, tokens_out = (tokens or 0 for tokens in record["tokens"])
        self.uncounted += None in record["tokens"]
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        if "batch" in record:
            self.batched.update({"in": tokens_in, "out": tokens_out})


@dataclass(frozen=True)
class JournalIndex:
    """A journal and where its best records are. places: key -> four times the line's offset, plus
    the record's rank.

    statistics: the name of a judge or generator -> statistics of its calls.
    """

    path: Path
    places: Mapping[bytes, int]
    statistics: Mapping[str, CallStatistics]

    def records(self, questions: Iterable[Asked]) -> Iterator[tuple[Asked, dict[str, Any] | None]]:
        """Each question with its best record; None if there is none."""
        with self.path.open("rb") as file:
            for question in questions:
                offset = self.places.get(bytes.fromhex(question.key))
                if offset is None:
                    yield question, None
                    continue
                file.seek(offset // 4)
                yield question, read_line(self.path, file.readline(), offset // 4)


def failure_reason(record: Mapping[str, Any]) -> str:
    """Why the question of this record has no reply; empty if it has one."""
    if "why" not in record:
        return ""
    return str(record["why"]) if record["kind"] != FAILED else FAILED_AS + str(record["why"])


def index_journal(plan: RunPlan, path: Path) -> JournalIndex:
    """Read a journal for the questions of a plan. Raises DataError for a damaged journal."""
    names = plan.names
    statistics = {name: CallStatistics() for name in names.values()}
    places: dict[bytes, int] = {}
    for name, kind, offset, line in scan(path):
        record = read_line(path, line, offset)
        if kind == REJECTED:
            for (model, _), judge in names.items():
                if model == record["judge"]:
                    statistics[judge].rejected[record["parameter"]] = record["said"]
            continue
        rank = RANKS.get(kind, 1)
        key = bytes.fromhex(name)
        if rank >= places.get(key, 0) % 4:
            places[key] = offset * 4 + rank
        judge = names.get((record.get("judge", ""), record.get("prompt", "")), "")
        if judge:
            statistics[judge].count(record)
    return JournalIndex(path, places, statistics)


def verdicts_to_reuse(
    plan: RunPlan, journals: Iterable[Path], settled: set[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """(key, line) of each verdict in other runs' journals that answers an open question of the
    plan.
    """
    wanted = {
        bytes.fromhex(question.key) for model in plan.models for question in plan.questions(model)
    } - settled
    for path in journals:
        for name, kind, _, line in scan(path):
            key = bytes.fromhex(name)
            if kind == VERDICT and key in wanted:
                wanted.discard(key)
                yield key, line


# ---------------------------------------------------------------- ratings


@dataclass(frozen=True)
class Collected:
    """The results that a journal contains for a judging plan."""

    plan: JudgingPlan
    index: JournalIndex

    def ratings(self, progress: Progress = no_progress) -> Iterator[Rating]:
        """A rating for every criterion of every question, in the plan's order. Updates the
        statistics.

        progress: called with the number of questions done.
        """
        models = self.plan.models
        for model, advance in zip(models, divided(progress, *[1] * len(models)), strict=True):
            records = self.index.records(self.plan.questions(model))
            for question, record in followed(records, advance, self.plan.questions_per_model):
                name = rater_name(model, question.prompt, question.sample)
                statistics = self.index.statistics[rater_name(model, question.prompt)]
                if record is None:
                    statistics.not_asked += 1
                    continue
                statistics.failed += failure_reason(record).startswith(FAILED_AS)
                for criterion in question.criteria:
                    judged, reason, comment, wavering = _read(record, question, criterion)
                    score = None if judged is None else question.rated(criterion, judged)
                    statistics.kinds[VERDICT if score is not None else reason] += 1
                    statistics.wavering += wavering
                    rating = Rating(question.output.output, criterion, name, score, reason, comment)
                    if judged is not None and model.gives_probabilities:
                        confidence, expected, why = question.probabilities(
                            criterion, judged, record["reply"]
                        )
                        statistics.unsure.update([why] if why else [])
                        rating = replace(rating, confidence=confidence, expected=expected)
                    yield rating
            yield from self._without_text(model)

    def _without_text(self, model: Model) -> Iterator[Rating]:
        empty = [output for output in self.plan.outputs if not output.has_text]
        for prompt in self.plan.prompts:
            for criterion in self.plan.criteria:
                for sample in range(1, self.plan.repeat + 1):
                    for output in empty:
                        self.index.statistics[rater_name(model, prompt)].kinds[NO_TEXT] += 1
                        yield Rating(
                            output.output,
                            criterion,
                            rater_name(model, prompt, sample),
                            None,
                            NO_TEXT,
                        )

    def raters(self) -> list[Rater]:
        """The judges as raters, with the settings sent, the parameters rejected, and the model
        versions that answered.
        """
        raters = []
        for model in self.plan.models:
            for prompt in self.plan.prompts:
                identity = self._about(model, prompt)
                base = rater_name(model, prompt)
                for sample in range(1, self.plan.repeat + 1):
                    repeated = {"repeats": base, "sample": sample} if sample > 1 else {}
                    name = rater_name(model, prompt, sample)
                    raters.append(
                        Rater(name, "llm", model.family or model.name, identity | repeated)
                    )
        return raters

    def _about(self, model: Model, prompt: Prompt) -> dict[str, Any]:
        statistics = self.index.statistics[rater_name(model, prompt)]
        identity = asked_as(model, prompt, self.plan.criteria)
        if prompt.language:
            english = rater_name(model, replace(prompt, language=""))
            identity |= {"prompt_language": prompt.language, "translation_of": english}
        facts = {
            "sent": dict(statistics.sent),
            "rejected": dict(statistics.rejected),
            "versions": dict(statistics.versions.most_common()),
            "flipped": [name for name in self.plan.criteria if prompt.rubrics[name].flipped],
        }
        identity |= {name: fact for name, fact in facts.items() if fact}
        dollars = statistics.cost(model.price, model.batch_price)
        if dollars is not None and statistics.replies and not statistics.uncounted:
            # as many as a call has criteria
            ratings = statistics.replies * len(self.plan.calls(prompt)[0])
            identity["dollars_per_thousand"] = 1000 * dollars / ratings
        return identity


def _read(
    record: Mapping[str, Any], question: JudgingQuestion, criterion: str
) -> tuple[float | None, str, str, bool]:
    """The score or the reason why there is none, the comment, and whether the verdict wavers."""
    reason = failure_reason(record)
    if reason:
        return None, reason, "", False
    verdict = question.verdict(record["text"], record["ending"], criterion)
    comment = verdict.justification or ("" if verdict.score is not None else record["text"])
    return verdict.score, verdict.reason, whole_text(comment), verdict.wavering
