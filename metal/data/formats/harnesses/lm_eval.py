"""Samples of lm-eval (`lm_eval --log_samples`): a document per line, a column per metric.

samples_TASK_TIME.jsonl    doc_id, doc, target, arguments, resps, filtered_resps, filter, metrics
results_TIME.json          model_name, higher_is_better (optional, beside it)

Metrics are raters of their own criteria. What lm-eval computes over all documents, such as BLEU,
has lists in the samples, which are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from metal.data.files import parse_json, read_jsonl
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.values import language_in, mapping, objects, prefixed
from metal.data.tables.first_names import content_ending
from metal.data.tables.harnesses import marks_of
from metal.data.tables.names import is_machine

NO_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"}
NO_METRICS |= {"metrics", "doc_hash", "prompt_hash", "target_hash", "task_id", "multimodal"}
IN_DOCUMENTS = "give the documents numbers called human_METRIC"
MOST_BYTES = 1 << 26  # of results


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the samples of a task, JSONL or a JSON list of the same objects."""
    gathered = HarnessRows("lm-eval", IN_DOCUMENTS)
    samples = _samples(path)
    filters = {str(sample.get("filter")) for sample in samples}
    results = _results_beside(path)
    _say_directions(gathered, results)
    for sample in samples:
        doc = mapping(sample.get("doc"))
        item = {
            "source": sample.get("doc_id"),
            "source_text": next(iter(next(iter(_arguments(sample)), [])), None),
            "text": _response(sample),
            "language": language_in(doc, sample),
            "generator": results.get("model_name"),
            "reference": sample.get("target"),
        }
        further = prefixed("doc", doc)
        for metric in _metrics(sample):
            value = sample.get(metric)
            if not isinstance(value, bool | int | float | None):
                gathered.leave_out(f"values of {metric}, which no number is")
                continue
            rater = f"{metric}/{sample.get('filter')}" if len(filters) > 1 else metric
            kind = "llm" if is_machine(metric) else "metric"
            own = {"rater": rater, "kind": kind, "criterion": metric, "reason": "no value"}
            gathered.add(further, **item, **own, score=value)
        gathered.add_people(doc, further, **item)
    return gathered.draft(options, path)


def _samples(path: Path) -> list[Mapping[str, Any]]:
    if content_ending(path) == ".json":
        from metal.data.files import read_json

        return objects(read_json(path, "a list of lm-eval's samples"))
    return [record for _, record in read_jsonl(path)]


def _metrics(sample: Mapping[str, Any]) -> list[str]:
    """The names of the sample's metrics; older files do not list them."""
    listed = sample.get("metrics")
    if isinstance(listed, list):
        return [name for name in listed if isinstance(name, str)]
    return [name for name in sample if name not in NO_METRICS]


def _arguments(sample: Mapping[str, Any]) -> list[list[Any]]:
    """The arguments of each request, in order: the prompt, and what follows it."""
    arguments = sample.get("arguments")
    if isinstance(arguments, list):
        return [list(each) for each in arguments if isinstance(each, list)]
    requests = [each for each in mapping(arguments).values() if isinstance(each, dict)]
    return [list(request.values()) for request in requests]


def _response(sample: Mapping[str, Any]) -> Any:
    """The text that the model wrote, before filters; of choices the likeliest."""
    responses = sample.get("resps")
    if not isinstance(responses, list) or not responses:
        return None
    firsts = [each[0] if isinstance(each, list) and each else each for each in responses]
    if isinstance(firsts[0], str):
        return firsts[0]
    choices = [request[1:2] for request in _arguments(sample)]
    with suppress(TypeError, ValueError, IndexError, KeyError):  # other shapes have no likeliest
        likelihoods = [float(each[0]) for each in firsts]
        best = max(range(len(choices)), key=likelihoods.__getitem__)
        return choices[best][0] if len(likelihoods) == len(choices) > 1 else None
    return None


def _results_beside(path: Path) -> Mapping[str, Any]:
    """The results that lie beside the samples, of the same run if there are several."""
    files = sorted(path.parent.glob("results_*.json"))
    same = [file for file in files if path.stem.endswith(file.stem.removeprefix("results_"))]
    chosen = same or (files if len(files) == 1 else [])
    for file in chosen[:1]:
        with suppress(OSError, UnicodeDecodeError, json.JSONDecodeError):
            if file.stat().st_size <= MOST_BYTES:
                return mapping(parse_json(file.read_text(encoding="utf-8")))
    return {}


def _say_directions(gathered: HarnessRows, results: Mapping[str, Any]) -> None:
    """Declare which end of a metric is better, where all tasks of the results agree."""
    directions: dict[str, set[Any]] = {}
    for of_task in mapping(results.get("higher_is_better")).values():
        for metric, higher in mapping(of_task).items():
            directions.setdefault(metric, set()).add(higher is True)
            if not isinstance(higher, bool):
                directions[metric].add(None)
    for metric, higher in directions.items():
        if len(higher) == 1:
            gathered.say_scale(metric, directions="higher" if higher == {True} else "lower")


FORMAT = Format(
    "samples of lm-eval: metrics per document (JSONL)",
    read,
    OPTIONS,
    keys=marks_of("lm-eval"),
)
