"""Samples of lm-eval (`lm_eval --log_samples`): a document per line, a column per metric; or the
folder that `--output_path` names, with a folder for each model.

MODEL/samples_TASK_TIME.jsonl doc_id, doc, target, arguments, resps, filter, metrics, ...
MODEL/results_TIME.json model_name, higher_is_better (optional)

In a folder, the last samples of each task and model are read. Metrics are raters of their own
criteria. Metrics that lm-eval computes over all documents, such as BLEU, have lists in the samples;
these lists are left out.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from metal.data.files import parse_json, read_jsonl
from metal.data.formats import Draft, Format, down_to
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.values import language_in, mapping, objects, prefixed
from metal.data.tables.first_names import content_ending, first_names
from metal.data.tables.harnesses import marks_of
from metal.data.tables.names import is_machine
from metal.data.text import first_few, plural
from metal.errors import DataError

NO_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"}
NO_METRICS |= {"metrics", "doc_hash", "prompt_hash", "target_hash", "task_id", "multimodal"}
IN_DOCUMENTS = "give the documents numbers called human_METRIC"
IN_FOLDERS = down_to("samples_*.jsonl")
OF_RESULTS = {"results", "configs", "n-shot"}
_NAME = re.compile(r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+))?")
MOST_BYTES = 1 << 26  # of results


@dataclass(frozen=True)
class SampledTask:
    """A file of samples: its task and time, and the results of the same run."""

    path: Path
    task: str
    time: str
    results: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path) -> SampledTask:
        """The samples in a file, described by its name and the results beside it."""
        named = _NAME.fullmatch(path.stem)
        task, time = (named["task"], named["time"]) if named else (path.stem, None)
        return cls(path, task, time or "", _results_beside(path))

    @property
    def model(self) -> Any:
        """The model's name or, if it is missing, the folder's name."""
        return self.results.get("model_name") or self.path.parent.name


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of samples, a file of results that has samples beside it, or a folder with
    both.
    """
    gathered = HarnessRows("lm-eval", IN_DOCUMENTS)
    every = [SampledTask.of(file) for file in _files_in(path)]
    tasks = _latest(every)
    if earlier := [each.path.name for each in every if each not in tasks]:
        count = plural(len(earlier), "file")
        gathered.notes.append(
            f"{count} of samples left out, because a later file has the same task and model: "
            f"{first_few(earlier)}"
        )
    several_tasks = len({each.task for each in tasks}) > 1
    several_models = len({each.model for each in tasks}) > 1
    for sampled in tasks:
        model = sampled.model if path.is_dir() else sampled.results.get("model_name")
        inside = f"{sampled.task}/" if several_tasks else ""
        _add_samples(gathered, sampled.path, model, inside, beside=several_models)
    _say_directions(gathered, [each.results for each in tasks])
    return gathered.draft(options, path)


def _add_samples(
    gathered: HarnessRows, path: Path, model: Any, inside: str, *, beside: bool
) -> None:
    """Add the samples in a file. inside: the task, put before the numbers of documents if there are
    several tasks; beside: whether other models answered the same documents.
    """
    samples = _samples(path)
    filters = {str(sample.get("filter")) for sample in samples}
    for sample in samples:
        doc = mapping(sample.get("doc"))
        number = sample.get("doc_id")
        source = None if number is None else f"{inside}{number}"
        item = {
            "source": source,
            "output": f"{source}/{model}" if beside else None,
            "source_text": next(iter(next(iter(_arguments(sample)), [])), None),
            "text": _response(sample),
            "language": language_in(doc, sample),
            "generator": model,
            "reference": sample.get("target"),
        }
        further = prefixed("doc", doc)
        for metric in _metrics(sample):
            value = sample.get(metric)
            if not isinstance(value, bool | int | float | None):
                gathered.leave_out(f"values of {metric} that are not numbers")
                continue
            rater = f"{metric}/{sample.get('filter')}" if len(filters) > 1 else metric
            kind = "llm" if is_machine(metric) else "metric"
            own = {"rater": rater, "kind": kind, "criterion": metric, "reason": "no value"}
            gathered.add(further, **item, **own, score=value)
        gathered.add_people(doc, further, **item)


# ---------------------------------------------------------------- files


def _files_in(path: Path) -> list[Path]:
    """The files of samples: the path itself, those beside results, or all in a folder. Raises
    DataError if there are none.
    """
    if path.is_dir():
        files = sorted({file for pattern in IN_FOLDERS for file in path.glob(pattern)})
    elif first_names(path) >= OF_RESULTS:
        time = glob.escape(path.stem.removeprefix("results_"))
        files = sorted(path.parent.glob(f"samples_*{time}.jsonl"))
    else:
        files = [path]
    if not files:
        remedy = "Run lm_eval with --log_samples and --output_path; its results are only means"
        raise DataError(path, "no samples of lm-eval (samples_TASK_TIME.jsonl) there", remedy)
    return files


def _latest(every: Iterable[SampledTask]) -> list[SampledTask]:
    """The last samples of each task and model."""
    last: dict[tuple[str, str], SampledTask] = {}
    for sampled in sorted(every, key=lambda sampled: (sampled.time, sampled.path)):
        last[sampled.task, str(sampled.model)] = sampled
    return sorted(last.values(), key=lambda sampled: sampled.path)


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
    """The text that the model wrote, before filters; for multiple choice, the likeliest choice."""
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
    """The results that lie beside the samples. If there are several, those of the same run."""
    files = sorted(path.parent.glob("results_*.json"))
    same = [file for file in files if path.stem.endswith(file.stem.removeprefix("results_"))]
    chosen = same or (files if len(files) == 1 else [])
    for file in chosen[:1]:
        with suppress(OSError, UnicodeDecodeError, json.JSONDecodeError):
            if file.stat().st_size <= MOST_BYTES:
                return mapping(parse_json(file.read_text(encoding="utf-8")))
    return {}


def _say_directions(gathered: HarnessRows, results: Iterable[Mapping[str, Any]]) -> None:
    """Declare which end of a metric is better, where all tasks of the results agree."""
    directions: dict[str, set[Any]] = {}
    by_task = [mapping(each.get("higher_is_better")).values() for each in results]
    for of_task in chain.from_iterable(by_task):
        for metric, higher in mapping(of_task).items():
            directions.setdefault(metric, set()).add(higher is True)
            if not isinstance(higher, bool):
                directions[metric].add(None)
    for metric, higher in directions.items():
        if len(higher) == 1:
            gathered.say_scale(metric, directions="higher" if higher == {True} else "lower")


FORMAT = Format(
    "samples of lm-eval: metrics per document (JSONL), or its folder of them",
    read,
    OPTIONS,
    keys=marks_of("lm-eval"),
    in_folders=IN_FOLDERS,
)
