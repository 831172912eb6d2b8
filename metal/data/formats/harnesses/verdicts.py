"""Harnesses that give each score a verdict, passed or failed: the verdict is the judge's answer
where people answered yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.values import is_number
from metal.data.text import first_few

LEVELS = "0=fail,1=pass"
YES_OR_NO = frozenset({0.0, 1.0})


@dataclass
class Verdicts:
    """The verdict on each rating, by its place among the gathered rows."""

    passed: dict[int, bool] = field(default_factory=dict)

    def note(self, gathered: HarnessRows, passed: Any) -> None:
        """Keep whether the rating that was added last passed; anything but a boolean is ignored."""
        if isinstance(passed, bool):
            self.passed[len(gathered.rows) - 1] = passed

    def apply(self, gathered: HarnessRows) -> None:
        """Where people answered a criterion with 0 and 1 only, replace judges' scores between them
        by their verdicts; declare the levels of criteria that have only 0 and 1, or one of the
        two as their verdicts say. A note says whose
        scores were replaced.
        """
        replaced: dict[str, None] = {}
        for criterion in dict.fromkeys(row["criterion"] for row in gathered.rows):
            of_people = scores_in(gathered, criterion, "human").values()
            of_judges = scores_in(gathered, criterion, "llm")
            of_metrics = scores_in(gathered, criterion, "metric")
            if of_people and {*of_people} <= YES_OR_NO and not {*of_judges.values()} <= YES_OR_NO:
                if not of_judges.keys() <= self.passed.keys():
                    continue
                for number in of_judges:
                    gathered.rows[number]["score"] = int(self.passed[number])
                    replaced[f"{gathered.rows[number]['rater']} ({criterion})"] = None
                of_judges = scores_in(gathered, criterion, "llm")
            scores = {*of_people, *of_judges.values(), *of_metrics.values()}
            of_machines = {**of_judges, **of_metrics}
            if scores == YES_OR_NO or (
                of_machines and scores < YES_OR_NO and self._are(of_machines)
            ):
                gathered.say_scale(criterion, levels=LEVELS, directions="higher")
        if replaced:
            gathered.notes.append(
                "people answered with 0 and 1, so pass or fail is read as the judge's answer, not"
                f" its score: {first_few([*replaced])}"
            )

    def _are(self, scores: Mapping[int, float]) -> bool:
        """Whether scores, by their places among the rows, are the verdicts: 1 passed, 0 failed."""
        return all(self.passed.get(number) == score for number, score in scores.items())


def scores_in(gathered: HarnessRows, criterion: str, kind: str) -> Mapping[int, float]:
    """The scores that raters of a kind gave on a criterion, by their places among the rows."""
    scores: dict[int, float] = {}
    for number, row in enumerate(gathered.rows):
        if (row["criterion"], row["kind"]) == (criterion, kind) and is_number(row.get("score")):
            scores[number] = float(row["score"])
    return scores


def direction_of(cases: Sequence[tuple[float, float, bool]]) -> str:
    """The direction that the cases (score, threshold, passed) show: higher if scores at or above
    the threshold pass, lower if scores at or below it pass; "" if the cases do not decide it.
    """
    higher = all((score >= threshold) == passed for score, threshold, passed in cases)
    lower = all((score <= threshold) == passed for score, threshold, passed in cases)
    if higher == lower:
        return ""
    return "higher" if higher else "lower"
