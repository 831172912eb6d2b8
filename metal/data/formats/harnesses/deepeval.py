"""DeepEval: a test run (`testCases[].metricsData[]`), or the results of `evaluate()`
(`test_results[].metrics_data[]`), which spell the same fields in two ways.

A metric with a model is a judge: `Correctness [GEval]` of gpt-4o is the judge `gpt-4o/GEval` on the
criterion Correctness. Other metrics are metrics. DeepEval has no people; numbers in a case's
metadata whose names are people's are theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metal.data.files import read_json
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.values import language_in, mapping, objects, prefixed
from metal.data.tables.harnesses import marks_of

METHOD = re.compile(r"(.+?) \[([^\[\]]+)\]")  # Correctness [GEval]
CASES = ("testCases", "conversationalTestCases", "test_results")


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a test run, the results of an evaluation, or a list of cases."""
    content = read_json(path, "a test run or results of DeepEval")
    gathered = HarnessRows("DeepEval")
    cases = objects(content)
    for name in CASES:
        cases += objects(mapping(content).get(name))
    for number, case in enumerate(cases):
        _add(gathered, case, number)
    return gathered.draft(options, path)


def _add(gathered: HarnessRows, case: Mapping[str, Any], number: int) -> None:
    metadata = _field(case, "metadata") or _field(case, "additional_metadata")
    written = _field(case, "actual_output")
    item = {
        "output": _field(case, "name") or f"test_case_{number}",
        "source_text": _field(case, "input"),
        "text": _turns(case) if written is None else written,
        "language": language_in(metadata),
        "reference": _field(case, "expected_output"),
    }
    further = prefixed("metadata", metadata)
    metrics = objects(_field(case, "metrics_data"))
    if not metrics:
        gathered.leave_out("test cases without a metric")
    for metric in metrics:
        _add_metric(gathered, metric, item, further)
    gathered.add_people(metadata, further, **item)


def _add_metric(
    gathered: HarnessRows,
    metric: Mapping[str, Any],
    item: Mapping[str, Any],
    further: Mapping[str, Any],
) -> None:
    name = str(metric.get("name") or "metric")
    named = METHOD.fullmatch(name)
    criterion, method = (named[1], named[2]) if named else (name, "")
    model = _field(metric, "evaluation_model")
    judge = f"{model}/{method}" if method else model
    own = {"rater": judge if model else name, "criterion": criterion}
    own |= {"kind": "llm" if model else "metric", "comment": metric.get("reason")}
    own |= {"score": metric.get("score"), "reason": metric.get("error") or "no score"}
    gathered.add(further, **item, **own)


def _field(case: Mapping[str, Any], name: str) -> Any:
    """The field in either spelling: `actual_output`, `actualOutput`."""
    first, *others = name.split("_")
    return case.get(name, case.get(first + "".join(map(str.capitalize, others))))


def _turns(case: Mapping[str, Any]) -> Any:
    """The turns of a conversation, as messages."""
    turns = [
        {"role": t.get("role"), "content": t.get("content")} for t in objects(case.get("turns"))
    ]
    return turns or None


FORMAT = Format(
    "test runs and results of DeepEval (JSON)",
    read,
    OPTIONS,
    keys=marks_of("deepeval"),
)
