"""Events of OpenAI Evals, as `oaieval` records them: a specification, then a line per event.

sampling what a model was asked (`prompt`) and wrote (`sampled`); for a sample that a model grades,
first the output, then the grader's reply metrics `choice` and `score` of the grader, or numbers by
name match whether the output is right

The grader is the last of `completion_fns`, and its criterion has the eval's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.data.files import read_jsonl
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.values import is_number, language_in, mapping
from metal.data.tables.harnesses import marks_of

INVALID = "__invalid__"  # the choice where the grader's reply has none
CORRECTNESS = "correctness"


@dataclass
class _Sample:
    """The events of a sample."""

    sampled: list[Mapping[str, Any]] = field(default_factory=list)
    metrics: list[Mapping[str, Any]] = field(default_factory=list)
    matches: list[Mapping[str, Any]] = field(default_factory=list)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the events of a run."""
    records = [record for _, record in read_jsonl(path)]
    spec = next((mapping(each["spec"]) for each in records if "spec" in each), {})
    gathered = HarnessRows("OpenAI Evals")
    samples = _samples(gathered, records)
    listed = spec.get("completion_fns")
    models = [str(name) for name in listed] if isinstance(listed, list) else []
    name = str(spec.get("base_eval") or spec.get("eval_name") or "score")
    grader = f"{models[-1]}/{name}" if models else name
    for source, sample in samples.items():
        item = _item(source, sample, models)
        for match in sample.matches:
            who = {"rater": "match", "kind": "metric", "criterion": CORRECTNESS}
            gathered.add(None, **item, **who, score=match.get("correct"), reason="no result")
        for metrics in sample.metrics:
            if "choice" in metrics:
                _add_choice(gathered, metrics, item, sample, grader, name)
            else:
                _add_numbers(gathered, metrics, item)
        if not sample.matches and not sample.metrics:
            gathered.leave_out("samples without a score")
    gathered.say_scale(name, directions="higher")  # an eval's choices are scored so
    return gathered.draft(options, path)


def _samples(gathered: HarnessRows, records: Iterable[Mapping[str, Any]]) -> dict[str, _Sample]:
    """The samples by id, in order of the first event of each."""
    samples: dict[str, _Sample] = {}
    for record in records:
        if "type" not in record:  # the specification, the report
            continue
        kind, data = str(record["type"])[:40], mapping(record.get("data"))
        sample = samples.setdefault(str(record.get("sample_id")), _Sample())
        lists = {"sampling": sample.sampled, "metrics": sample.metrics, "match": sample.matches}
        if kind in lists:
            lists[kind].append(data)
        else:
            gathered.leave_out(f"events of type {kind}")
    return samples


def _item(source: str, sample: _Sample, models: Sequence[str]) -> dict[str, Any]:
    first = sample.sampled[0] if sample.sampled else {}
    metadata = first.get("metadata")
    expected = next((match.get("expected") for match in sample.matches), None)
    return {
        "source": source,
        "output": source,
        "generator": models[0] if models else None,
        "source_text": _alone(first.get("prompt")),
        "text": _alone(first.get("sampled")),
        "language": language_in(metadata, first),
        "reference": expected,
    }


def _alone(value: Any) -> Any:
    """The only text in a list, or the content of its only message; other values unchanged."""
    if isinstance(value, list) and len(value) == 1:
        return mapping(value[0]).get("content", value[0])
    return value


def _add_choice(
    gathered: HarnessRows,
    metrics: Mapping[str, Any],
    item: Mapping[str, Any],
    sample: _Sample,
    grader: str,
    name: str,
) -> None:
    """Add a grader's choice, with its reply. name: the eval's name, which is also the
    criterion's.
    """
    score, choice = metrics.get("score"), metrics.get("choice")
    if not is_number(score):
        score = choice
    if choice == INVALID:
        score = None
    own = {"rater": grader, "kind": "llm", "criterion": name, "score": score}
    own |= {"reason": "no choice in the reply"}
    if len(sample.sampled) > 1:
        own["comment"] = _alone(sample.sampled[-1].get("sampled"))
    gathered.add(None, **item, **own)


def _add_numbers(
    gathered: HarnessRows, metrics: Mapping[str, Any], item: Mapping[str, Any]
) -> None:
    for name, value in metrics.items():
        if is_number(value):
            own = {"rater": name, "kind": "metric", "criterion": name}
            gathered.add(None, **item, **own, score=value)


FORMAT = Format(
    "events of OpenAI Evals (JSONL)",
    read,
    OPTIONS,
    keys=marks_of("openai-evals"),
)
