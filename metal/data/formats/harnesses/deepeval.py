"""DeepEval: a test run (`testCases[].metricsData[]`), or the results of `evaluate()`
(`test_results[].metrics_data[]`), which spell the same fields in two ways;
and the goldens that `metal export` writes.

A metric with a model is a judge: `Correctness [GEval]` of gpt-4o is the judge `gpt-4o/GEval` on the
criterion Correctness. Other metrics are metrics. DeepEval has no people; numbers in a case's
metadata whose names are people's are theirs. Which end of a scale is better is seen in the cases
that pass the threshold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.data.files import read_json
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.deepeval_metal import ids_of, ratings_in, records_in
from metal.data.formats.harnesses.values import (
    KnownInputs,
    is_number,
    language_in,
    mapping,
    objects,
    prefixed,
)
from metal.data.formats.harnesses.verdicts import Verdicts, direction_of, scores_in
from metal.data.tables.harnesses import marks_of

METHOD = re.compile(r"(.{1,200}?) \[([^\[\]]{1,100})\]")  # Correctness [GEval]
IN_METADATA = "give the test cases numbers called human_CRITERION in additional_metadata"
CASES = ("testCases", "conversationalTestCases", "test_results")
POINTS = 10.0  # what GEval asks the model for at most; DeepEval divides by it
LEVELS = "<".join(map(str, range(11)))


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a test run, the results of an evaluation, or a list of cases."""
    content = read_json(path, "a test run or results of DeepEval")
    cases = objects(content)
    for name in CASES:
        cases += objects(mapping(content).get(name))
    reading = _Reading(
        HarnessRows("DeepEval", IN_METADATA), mapping(mapping(content).get("hyperparameters"))
    )
    for number, case in enumerate(cases):
        reading.add(case, number)
    gathered = reading.gathered
    gathered.describe(records_in(cases), path)
    gathered.place_people(options)
    reading.say_directions()
    _in_points(gathered)
    reading.verdicts.apply(gathered)
    return gathered.draft(options, path)


class _Reading:
    """What was read so far."""

    def __init__(self, gathered: HarnessRows, hyperparameters: Mapping[str, Any]) -> None:
        self.gathered = gathered
        self.generator = hyperparameters.get("model")
        self.verdicts = Verdicts()
        self.names: Counter[str] = Counter()
        self.inputs = KnownInputs()
        self.thresholds: dict[str, list[tuple[float, float, bool]]] = {}

    def add(self, case: Mapping[str, Any], number: int) -> None:
        """Add the ratings of a test case."""
        name = str(_field(case, "name") or f"test_case_{number}")
        self.names[name] += 1
        if self.names[name] > 1:
            name = f"{name}#{self.names[name]}"
        metadata = _field(case, "metadata") or _field(case, "additional_metadata")
        written, asked = _field(case, "actual_output"), _field(case, "input")
        item = {
            "output": name,
            "source": self.inputs.source_of(name, asked or name),
            "source_text": asked,
            "text": _turns(case) if written is None else written,
            "generator": self.generator,
            "language": language_in(metadata),
            "reference": _field(case, "expected_output"),
        }
        if ids := ids_of(metadata):
            for own in ratings_in(metadata):
                self.gathered.add(**{**item, **ids}, **own)
            return
        further = prefixed("metadata", metadata)
        metrics = objects(_field(case, "metrics_data"))
        if not metrics:
            self.gathered.leave_out("test cases without a metric")
        for metric in metrics:
            self._add_metric(metric, item, further)
        self.gathered.add_people(metadata, further, **item)

    def _add_metric(
        self, metric: Mapping[str, Any], item: Mapping[str, Any], further: Mapping[str, Any]
    ) -> None:
        name = str(metric.get("name") or "metric")
        named = METHOD.fullmatch(name)
        criterion, method = (named[1], named[2]) if named else (name, "")
        model, score = _field(metric, "evaluation_model"), metric.get("score")
        judge = f"{model}/{method}" if method else model
        own = {"rater": judge if model else name, "criterion": criterion, "score": score}
        own |= {"kind": "llm" if model else "metric", "comment": metric.get("reason")}
        self.gathered.add(further, **item, **own, reason=metric.get("error") or "no score")
        passed, threshold = metric.get("success"), metric.get("threshold")
        self.verdicts.note(self.gathered, passed)
        if is_number(score) and is_number(threshold) and isinstance(passed, bool):
            case = (float(score or 0), float(threshold or 0), passed)
            self.thresholds.setdefault(criterion, []).append(case)

    def say_directions(self) -> None:
        """Declare the directions that thresholds show."""
        for criterion, cases in self.thresholds.items():
            if direction := direction_of(cases):
                self.gathered.say_scale(criterion, directions=direction)


def _in_points(gathered: HarnessRows) -> None:
    """Read the scores of GEval from 0 to 10, as its models gave them, where people answered in such
    points. Note: whose.
    """
    for criterion in dict.fromkeys(row["criterion"] for row in gathered.rows):
        points = {*scores_in(gathered, criterion, "human").values()}
        of_judges = scores_in(gathered, criterion, "llm")
        judges = {str(gathered.rows[number]["rater"]) for number in of_judges}
        in_points = points and 1 < max(points) <= POINTS and min(points) >= 0
        if not in_points or not all(judge.endswith("/GEval") for judge in judges):
            continue
        if not of_judges or max(of_judges.values()) > 1:
            continue
        for number, score in of_judges.items():
            gathered.rows[number]["score"] = round(score * POINTS, 9)
        points |= {*scores_in(gathered, criterion, "llm").values()}
        if all(score.is_integer() for score in points):
            gathered.say_scale(criterion, levels=LEVELS)
        gathered.notes.append(
            f"{criterion}: people answered in points, so GEval's scores are"
            " read in its own points from 0 to 10, which DeepEval divides by 10"
        )


def _field(case: Mapping[str, Any], name: str) -> Any:
    """The field in either spelling: `actual_output`, `actualOutput`."""
    first, *others = name.split("_")
    return case.get(name, case.get(first + "".join(map(str.capitalize, others))))


def _turns(case: Mapping[str, Any]) -> Any:
    """The turns of a conversation, as messages."""
    turns = [
        {"role": turn.get("role"), "content": turn.get("content")}
        for turn in objects(case.get("turns"))
    ]
    return turns or None


FORMAT = Format(
    "test runs and results of DeepEval (JSON)",
    read,
    OPTIONS,
    keys=marks_of("deepeval"),
)
