"""From the journal to ratings: a row for each output, criterion and judge.

Verdicts are read again from the replies, so that a better reply parser helps answers that are already paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metal.data.files import whole_text
from metal.data.records import Rater, Rating
from metal.raters.judges.call import VERDICT
from metal.raters.judges.models import Model
from metal.raters.judges.plan import NO_TEXT, JudgingPlan, JudgingQuestion, rater_name
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.run_statistics import JournalIndex, failure_reason


@dataclass(frozen=True)
class Collected:
    """What a journal contains of a judging plan."""

    plan: JudgingPlan
    index: JournalIndex

    def ratings(self) -> Iterator[Rating]:
        """A rating for every question of the plan that was asked, in the plan's order. Counts into the statistics."""
        for model in self.plan.models:
            for question, record in self.index.records(self.plan.questions(model)):
                name = rater_name(model, question.prompt, question.sample)
                statistics = self.index.statistics[rater_name(model, question.prompt)]
                if record is None:
                    statistics.not_asked += 1
                    continue
                score, reason, comment, wavering = _read(record, question)
                if score is not None:
                    score = question.prompt.rubrics[question.criterion].score(score)
                statistics.kinds[VERDICT if score is not None else reason] += 1
                statistics.wavering += wavering
                yield Rating(question.output.output, question.criterion, name, score, reason, comment)
            yield from self._without_text(model)

    def _without_text(self, model: Model) -> Iterator[Rating]:
        empty = [output for output in self.plan.outputs if not output.text.strip()]
        for prompt in self.plan.prompts:
            for criterion in self.plan.criteria:
                for sample in range(1, self.plan.repeat + 1):
                    for output in empty:
                        self.index.statistics[rater_name(model, prompt)].kinds[NO_TEXT] += 1
                        yield Rating(output.output, criterion, rater_name(model, prompt, sample), None, NO_TEXT)

    def raters(self) -> list[Rater]:
        """The judges as raters, with what was sent, what was rejected, and the model versions that answered."""
        raters = []
        for model in self.plan.models:
            for prompt in self.plan.prompts:
                about = self._about(model, prompt)
                base = rater_name(model, prompt)
                for sample in range(1, self.plan.repeat + 1):
                    repeated = {"repeats": base, "sample": sample} if sample > 1 else {}
                    name = rater_name(model, prompt, sample)
                    raters.append(Rater(name, "llm", model.family or model.name, about | repeated))
        return raters

    def _about(self, model: Model, prompt: Prompt) -> dict[str, Any]:
        statistics = self.index.statistics[rater_name(model, prompt)]
        about = model.described() | {
            "prompt": prompt.name,
            "prompt_hash": {criterion: prompt.digest(criterion) for criterion in self.plan.criteria},
        }
        facts = {
            "sent": dict(statistics.sent),
            "rejected": dict(statistics.rejected),
            "versions": dict(statistics.versions.most_common()),
            "flipped": [name for name in self.plan.criteria if prompt.rubrics[name].flipped],
        }
        about |= {name: fact for name, fact in facts.items() if fact}
        dollars = statistics.cost(model.price, model.batch_price)
        if dollars is not None and statistics.replies and not statistics.uncounted:
            about["dollars_per_thousand"] = 1000 * dollars / statistics.replies  # one reply for each rating
        return about


def _read(record: Mapping[str, Any], question: JudgingQuestion) -> tuple[float | None, str, str, bool]:
    """Score, reason for none, comment, and whether the verdict contradicts itself."""
    reason = failure_reason(record)
    if reason:
        return None, reason, "", False
    verdict = question.verdict(record["text"], record["ending"])
    comment = verdict.justification or ("" if verdict.score is not None else record["text"])
    return verdict.score, verdict.reason, whole_text(comment), verdict.wavering
