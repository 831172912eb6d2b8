"""First figures of a judges' run that is still at work: what the judges answer, and how often as
people do.

They are counts of the answers so far, without intervals; an audit replaces them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from metal.data.dataset import Dataset
from metal.data.people import people_in
from metal.data.records import SWAPPED, Criterion, Output, with_swapped
from metal.errors import MetalError
from metal.raters.judges.functions import direct_prompt
from metal.raters.judges.plan import JudgingQuestion
from metal.raters.judges.prompts import Prompt
from metal.running.job import read_request
from metal.running.judging import JudgeRequest
from metal.running.judging_parts import find_criteria, judged_outputs
from metal.running.prompting import load_prompts


@dataclass
class AnswerCounts:
    """The answers of one judge on one criterion in one language.

    scores: how often each score was given. outputs: how many answers are on outputs with a person's
    score. same, pairs: how many pairs of a person and the judge on such an output have equal
    scores, and how many such pairs there are. people_same, people_pairs: the same for all pairs of
    two
    people on these outputs.
    """

    scores: Counter[float] = field(default_factory=Counter)
    outputs: int = 0
    same: int = 0
    pairs: int = 0
    people_same: int = 0
    people_pairs: int = 0

    def add(self, score: float, people: Mapping[float, int]) -> None:
        """Count an answer. people: how many people gave each score to the same output."""
        self.scores[score] += 1
        number = sum(people.values())
        if number:
            self.outputs += 1
            self.same += people.get(score, 0)
            self.pairs += number
            self.people_same += sum(times * (times - 1) // 2 for times in people.values())
            self.people_pairs += number * (number - 1) // 2

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        names = ("outputs", "same", "pairs", "people_same", "people_pairs")
        sums = [getattr(self, name) + getattr(other, name) for name in names]
        return AnswerCounts(self.scores + other.scores, *sums)


class FirstFigures:
    """Counts the answers of a run, from its records.

    Nothing that the run names is imported or asked: a run may come from somebody else.

    path: where the dataset is. counts: by judge, criterion and language. why: the reason why there
    are none.

    Raises UsageError or DataError for a damaged run.toml.
    """

    def __init__(self, run: Path, path: Path, dataset: Dataset | None) -> None:
        self.request, self.settings = read_request(run, "judge", JudgeRequest)
        self.counts: dict[tuple[str, str, str], AnswerCounts] = {}
        self.criteria: Mapping[str, Criterion] = {}
        self.why = ""
        self._outputs: Mapping[str, Output] = {}
        self._prompts: dict[str, Prompt] = {}
        if dataset is None:
            self.why = f"the dataset {path} cannot be read"
            return
        self._dataset = dataset
        try:
            self._find_prompts(path, dataset)
        except MetalError as error:
            self.why = str(error)

    def _find_prompts(self, path: Path, dataset: Dataset) -> None:
        """Find what the judges are asked, so that their replies can be read."""
        asked = find_criteria(self.request, path, dataset)
        self.criteria = asked.criteria
        outputs = judged_outputs(asked)
        swapped = [each.swapped.output for each in outputs.values()] if asked.pairs else []
        self._outputs = with_swapped(outputs, swapped)
        wanted = asked.criteria.values()
        direct = direct_prompt(wanted, flip=self.request.flip)
        self._prompts = {direct.name: direct}
        # judges that get no prompt have runs of their own
        if self.settings.get("prompt_hashes") and not self._are_direct():
            languages = {output.language for output in outputs.values()}
            for prompt in load_prompts(self.request, wanted, asked.folders, languages, asked.pairs):
                self._prompts[prompt.name] = prompt

    def _are_direct(self) -> bool:
        return all(name.startswith(" ") for name in self.settings["prompt_hashes"])

    def clear(self) -> None:
        """Forget all answers."""
        self.counts.clear()

    @cached_property
    def people(self) -> Mapping[tuple[str, str], Mapping[float, int]]:
        """How many people gave each score, by output and criterion."""
        ratings = self._dataset.ratings
        ratings = ratings[ratings["rater"].isin(people_in(self._dataset.raters))]
        keys = ["output", "criterion", "score"]
        sizes = ratings.dropna(subset=["score"]).groupby(keys, observed=True).size()
        people: dict[tuple[str, str], Mapping[float, int]] = {}
        same: dict[Any, Mapping[float, int]] = {}  # each once, as few differ
        each = [(*cast(tuple[str, str, float], key), int(size)) for key, size in sizes.items()]
        for of_item, rows in groupby(each, itemgetter(0, 1)):
            counts = tuple((score, number) for *_, score, number in rows)
            people[of_item] = same.setdefault(counts, dict(counts))
        return people

    def count(self, record: Mapping[str, Any]) -> None:
        """Count a record that has a verdict; repeated questions count once."""
        output = self._outputs.get(record.get("output", ""))
        prompt = self._prompts.get(record.get("prompt", ""))
        if output is None or prompt is None or record.get("sample", 1) != 1:
            return
        asked = record["criteria"] if "criteria" in record else [record["criterion"]]
        criteria = tuple(name for name in asked if name in self.criteria)
        question = JudgingQuestion(
            "", output, "", criteria, prompt.spoken(output.language), 1, 0, 0, {}
        )
        judge = f"{record['judge']}/{prompt.name}" if prompt.name else str(record["judge"])
        rated = output.of if output.condition == SWAPPED else output.output
        for criterion in criteria:
            verdict = question.verdict(record["text"], record["ending"], criterion)
            if verdict.score is not None:
                cell = judge, criterion, output.language
                score = question.rated(criterion, verdict.score)
                self.counts.setdefault(cell, AnswerCounts()).add(
                    score, self.people.get((rated, criterion), {})
                )

    def by_criterion(self) -> dict[tuple[str, str], AnswerCounts]:
        """The counts of all languages together, by judge and criterion."""
        totals: dict[tuple[str, str], AnswerCounts] = {}
        for (judge, criterion, _), counts in sorted(self.counts.items()):
            totals[judge, criterion] = totals.get((judge, criterion), AnswerCounts()) + counts
        return totals
