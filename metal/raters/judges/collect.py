"""From the journal to ratings: a row an output, criterion and judge.

Verdicts are read again from the replies, so that a better reader helps answers that are paid for already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metal.data.json_files import whole_text
from metal.data.records import Rater, Rating
from metal.raters.judges.call import VERDICT
from metal.raters.judges.models import Model
from metal.raters.judges.plan import NO_TEXT, Call, Plan, rater_name
from metal.raters.judges.tally import Found, why_none


@dataclass(frozen=True)
class Collected:
    """What a journal holds of a plan of judging."""

    plan: Plan
    found: Found

    def ratings(self) -> Iterator[Rating]:
        """A rating for every call of the plan that was made, in the plan's order. Counts into the tallies."""
        for model in self.plan.models:
            for call, record in self.found.records(self.plan.calls(model)):
                name = rater_name(model, call.prompt, call.sample)
                tally = self.found.tallies[rater_name(model, call.prompt)]
                if record is None:
                    tally.not_asked += 1
                    continue
                score, reason, comment, wavering = _verdict(record, call)
                if score is not None:
                    score = call.prompt.rubrics[call.criterion].score(score)
                tally.kinds[VERDICT if score is not None else reason] += 1
                tally.wavering += wavering
                yield Rating(call.output.output, call.criterion, name, score, reason, comment)
            yield from self._without_text(model)

    def _without_text(self, model: Model) -> Iterator[Rating]:
        empty = [output for output in self.plan.outputs if not output.text.strip()]
        for prompt in self.plan.prompts:
            for criterion in self.plan.criteria:
                for sample in range(1, self.plan.repeat + 1):
                    for output in empty:
                        self.found.tallies[rater_name(model, prompt)].kinds[NO_TEXT] += 1
                        yield Rating(output.output, criterion, rater_name(model, prompt, sample), None, NO_TEXT)

    def raters(self) -> list[Rater]:
        """The judges as raters; what was sent, rejected and said of versions is kept with them."""
        found = []
        for model in self.plan.models:
            for prompt in self.plan.prompts:
                tally = self.found.tallies[rater_name(model, prompt)]
                about = model.described() | {
                    "prompt": prompt.name,
                    "prompt_hash": {criterion: prompt.digest(criterion) for criterion in self.plan.criteria},
                }
                about |= {"sent": dict(tally.sent)} if tally.sent else {}
                about |= {"rejected": dict(tally.rejected)} if tally.rejected else {}
                about |= {"versions": dict(tally.versions.most_common())} if tally.versions else {}
                flipped = [name for name in self.plan.criteria if prompt.rubrics[name].flipped]
                about |= {"flipped": flipped} if flipped else {}
                dollars = tally.cost(model.price, model.batch_price)
                if dollars is not None and tally.replies and not tally.uncounted:
                    about["dollars_per_thousand"] = 1000 * dollars / tally.replies  # replies, one a rating
                base = rater_name(model, prompt)
                for sample in range(1, self.plan.repeat + 1):
                    repeated = {"repeats": base, "sample": sample} if sample > 1 else {}
                    name = rater_name(model, prompt, sample)
                    found.append(Rater(name, "llm", model.family or model.name, about | repeated))
        return found


def _verdict(record: Mapping[str, Any], call: Call) -> tuple[float | None, str, str, bool]:
    """Score, reason for none, comment, and whether the reply wavered."""
    why = why_none(record)
    if why:
        return None, why, "", False
    verdict = call.verdict(record["text"], record["ending"])
    comment = verdict.justification or ("" if verdict.score is not None else record["text"])
    return verdict.score, verdict.reason, whole_text(comment), verdict.wavering
