"""Logs of inspect_ai: an `.eval` file, a folder of them, a log as JSON (`inspect log dump`), and
the table that `samples_df` makes of them.

FILE.eval    a zip: header.json, samples/ID_epoch_N.json; _journal/start.json of a run that died
FILE.json    the same as one object: eval, samples, ...

Each scorer is a rater, an epoch is a repeat, and a person is the author of an edited score. What
the scorers did is in the samples' events: a scorer that asks a model is a judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.files import json_in, read_json
from metal.data.formats import Draft, Format, down_to
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.archive import Archive
from metal.data.formats.harnesses.inspect_scores import (
    MOST_REASON,
    InspectScore,
    Scorers,
    add_scores,
    scores_of,
)
from metal.data.formats.harnesses.inspect_table import EDIT, gathered_from
from metal.data.formats.harnesses.values import language_in, mapping, objects, prefixed
from metal.data.progress import counted_as
from metal.data.ratings import FRAME
from metal.data.tables.files import is_table
from metal.data.tables.files import read_frame as read_table
from metal.data.tables.first_names import content_ending, first_names, is_zip, named_ending
from metal.data.tables.harnesses import marks_of
from metal.data.text import first_few, plural
from metal.errors import DataError

NO_LOG = "Write it with `inspect log dump`, or export `samples_df` as CSV"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")
_ATTACHED = "attachment://"


@dataclass(frozen=True)
class InspectLog:
    """A log: where it lies, and its header, without samples."""

    path: Path
    header: Mapping[str, Any]

    @property
    def evaluation(self) -> Mapping[str, Any]:
        """What was run: task, model, ..."""
        return mapping(self.header.get("eval"))

    @property
    def size(self) -> int:
        """The number of samples."""
        if not _is_packed(self.path):
            return len(objects(self.header.get("samples")))
        with Archive(self.path) as archive:
            return sum(map(bool, map(_SAMPLE.fullmatch, archive.names)))

    def samples(self) -> Iterator[Mapping[str, Any]]:
        """The samples, one at a time."""
        if not _is_packed(self.path):
            yield from objects(self.header.get("samples"))
            return
        with Archive(self.path) as archive:
            names = list(filter(_SAMPLE.fullmatch, archive.names))
            for name in counted_as(names, "samples"):
                sample = _object_in(archive, name)
                beside = name.removesuffix("sample.json") + "metadata.json"
                if beside != name and beside in archive:
                    sample = {**sample, "metadata": _object_in(archive, beside)}
                yield sample


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a log, a folder of logs, or a table of samples."""
    packed = is_zip(path) and named_ending(path) != ".xlsx"
    if path.is_file() and is_table(path) and content_ending(path) != ".json" and not packed:
        samples = read_table(path)
        return gathered_from(samples).draft(options, path, samples.attrs.get("notes", ()))
    every, no_logs = _logs_in(path)
    logs = _latest(every)
    gathered = HarnessRows(f"inspect_ai{_version(logs)}", EDIT)
    gathered.notes += _left_out(every, logs, no_logs)
    if len(logs) > 1:
        gathered.notes.append(f"{plural(len(logs), 'log')} read")
    scorers, scores = Scorers(), list[InspectScore]()
    asked = _Asked(logs)
    for log in logs:
        status = log.header.get("status")
        if status != "success":
            gathered.notes.append(
                f"{log.path.name}: the run's status is {str(status)!r}, not success"
            )
        of_log: list[InspectScore] = []
        without: list[tuple[dict[str, Any], dict[str, Any], set[tuple[str, str]], str]] = []
        for sample in log.samples():
            item, further = asked.item(log, sample)
            _note_scorers(sample, scorers)
            rated = _scores(sample, item, further)
            of_log += rated
            error = mapping(sample.get("error")).get("message")
            reason = f"error: {error}"[:MOST_REASON] if error else "not scored"
            without.append((item, further, {score.answered for score in rated}, reason))
            gathered.add_people(sample.get("metadata"), further, **item)
        scores += [*of_log, *_lacking(of_log, without)]
    add_scores(gathered, scores, scorers)
    return gathered.draft(options, path)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of `samples_df`."""
    return gathered_from(frame).draft({"name": "ratings", **options}, FRAME)


# ---------------------------------------------------------------- files


def _logs_in(path: Path) -> tuple[list[InspectLog], list[str]]:
    """The log, or all logs in a folder and its folders, `.eval` files and JSON; and the names of
    JSON files there that are no logs.
    """
    if not path.is_dir():
        return [_log_in(path)], []
    of_json = {file for pattern in down_to("*.json") for file in path.glob(pattern)}
    packed = {file for pattern in down_to("*.eval") for file in path.glob(pattern)}
    no_logs = {file for file in of_json if not FORMAT.has_keys(first_names(file))}
    files = sorted((packed | of_json) - no_logs)
    if not files:
        raise DataError(path, "no log of inspect_ai in this folder", NO_LOG)
    logs = [_log_in(file) for file in files]
    return logs, sorted(str(file.relative_to(path)) for file in no_logs)


def _log_in(file: Path) -> InspectLog:
    log = InspectLog(file, _header(file))
    if not log.evaluation:
        raise DataError(file, "no log of inspect_ai (no key 'eval')", NO_LOG)
    return log


def _left_out(
    every: Collection[InspectLog], logs: Collection[InspectLog], no_logs: Sequence[str]
) -> Iterator[str]:
    """Notes on which files of a folder are not read."""
    if no_logs:
        files = plural(len(no_logs), "JSON file")
        yield f"{files} left out for not being logs of inspect_ai: {first_few(no_logs)}"
    read_ones = {log.path for log in logs}
    if earlier := [log.path.name for log in every if log.path not in read_ones]:
        count = plural(len(earlier), "log")
        yield f"{count} left out, because another log has the same task id: {first_few(earlier)}"


def _is_packed(file: Path) -> bool:
    """Whether a log is a zip. A damaged `.eval` file counts as a zip, so that it is refused as
    one.
    """
    return file.suffix == ".eval" or is_zip(file)


def _header(file: Path) -> Mapping[str, Any]:
    if not _is_packed(file):
        return mapping(read_json(file, "a log of inspect_ai"))
    with Archive(file) as archive:
        for name in ("header.json", "_journal/start.json"):
            if name in archive:
                return _object_in(archive, name)
    return {}


def _object_in(archive: Archive, name: str) -> Mapping[str, Any]:
    member = f"{archive.path}: {name}"
    content = json_in(archive.read(name), member, "Write the log again")
    if not isinstance(content, dict):
        raise DataError(member, "no JSON object", "Write the log again")
    return content


def _latest(logs: Iterable[InspectLog]) -> list[InspectLog]:
    """The logs to read: of each task's id only the last log, because runs may be tried again; of
    several copies of a run only the one with most samples.
    """
    by_task: dict[str, InspectLog] = {}
    for log in sorted(logs, key=lambda log: (str(log.evaluation.get("created")), log.size)):
        by_task[str(log.evaluation.get("task_id") or log.path)] = log
    return list(by_task.values())


def _version(logs: Iterable[InspectLog]) -> str:
    versions = {
        str(mapping(log.evaluation.get("packages")).get("inspect_ai") or "") for log in logs
    }
    return f" {versions.pop()}" if len(versions) == 1 else ""


# ---------------------------------------------------------------- samples


class _Asked:
    """What distinguishes outputs: the sample's id and, if there are several tasks or models, the
    task and the model.
    """

    def __init__(self, logs: Iterable[InspectLog]) -> None:
        self.tasks = {str(log.evaluation.get("task")) for log in logs}
        self.models = {str(log.evaluation.get("model")) for log in logs}
        self.repeats: Counter[str] = Counter()

    def item(
        self, log: InspectLog, sample: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The roles of a sample, and its metadata."""
        evaluation, metadata = log.evaluation, sample.get("metadata")
        source = str(sample.get("id"))
        if len(self.tasks) > 1:
            source = f"{evaluation.get('task')}/{source}"
        output = source
        if len(self.models) > 1:
            output = f"{source}/{evaluation.get('model')}"
        self.repeats[output] += 1
        target = sample.get("target")
        item = {
            "source": source,
            "output": output,
            "generator": evaluation.get("model"),
            "language": language_in(metadata, evaluation.get("task_args")),
            "source_text": _input(sample),
            "text": _completion(sample),
            "reference": target[0] if isinstance(target, list) and len(target) == 1 else target,
            "repeat": self.repeats[output],
        }
        return item, prefixed("metadata", metadata)


def _input(sample: Mapping[str, Any]) -> Any:
    """The text of the input; if the input is a single message, only its content."""
    asked = sample.get("input")
    if isinstance(asked, list) and len(asked) == 1:
        content = mapping(asked[0]).get("content")
        asked = content if isinstance(content, str) else asked
    return _attached(asked, sample)


def _completion(sample: Mapping[str, Any]) -> Any:
    output = mapping(sample.get("output"))
    if isinstance(output.get("completion"), str):
        return _attached(output["completion"], sample)
    choices = objects(output.get("choices"))
    message = mapping(choices[0].get("message")) if choices else {}
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part["text"]) for part in objects(content) if "text" in part)
    return _attached(content, sample)


def _attached(text: Any, sample: Mapping[str, Any]) -> Any:
    """The long text for which a value stands that the log keeps among the sample's attachments;
    other values stay unchanged.
    """
    if isinstance(text, str) and text.startswith(_ATTACHED):
        return mapping(sample.get("attachments")).get(text.removeprefix(_ATTACHED), text)
    return text


def _scores(
    sample: Mapping[str, Any], item: Mapping[str, Any], further: Mapping[str, Any]
) -> list[InspectScore]:
    scores: list[InspectScore] = []
    for scorer, score in mapping(sample.get("scores")).items():
        fields = dict(score) if isinstance(score, dict) else {"value": score}
        fields["explanation"] = _attached(fields.get("explanation"), sample)
        scores += scores_of(item, further, scorer, fields)
    return scores


def _lacking(
    scores: Iterable[InspectScore],
    samples: Iterable[tuple[dict[str, Any], dict[str, Any], set[tuple[str, str]], str]],
) -> Iterator[InspectScore]:
    """A missing score for each scorer that scored other samples of the log, but not this one.
    Raters whose scores METAL wrote into the log need not have rated everything.

    samples: the roles, the metadata, what was scored, and the reason why the rest was not.
    """
    every = dict.fromkeys(score.answered for score in scores if not score.kind)
    for item, further, answered, reason in samples:
        for scorer, key in every:
            if (scorer, key) not in answered:
                yield InspectScore(item, further, scorer, None, None, reason, key)


def _note_scorers(sample: Mapping[str, Any], scorers: Scorers) -> None:
    """Note which scorers ran and which of them asked a model, by the sample's events: spans, or in
    old logs steps.
    """
    scorer_of: dict[str, str] = {}
    step = ""
    for event in objects(sample.get("events")):
        kind = event.get("event")
        name = str(event.get("name")) if event.get("type") == "scorer" else ""
        if kind == "span_begin":
            outer = scorer_of.get(str(event.get("parent_id")), "")
            scorer_of[str(event.get("id"))] = name or outer
        elif kind == "step" and event.get("type") == "scorer":
            step = name if event.get("action") == "begin" else ""
        elif kind == "model":
            name = step or scorer_of.get(str(event.get("span_id")), "")
            scorers.asking |= {name} - {""}
        scorers.seen |= {name} - {""}
    for scorer, score in mapping(sample.get("scores")).items():
        scorers.note_score(scorer, mapping(score))


FORMAT = Format(
    "logs of inspect_ai: .eval files or a folder of them, JSON, tables of samples_df",
    read,
    OPTIONS,
    marks=tuple((pattern, ()) for pattern in down_to("*.eval")),
    keys=marks_of("inspect"),
    read_frame=read_frame,
    in_folders=down_to("*.json"),
)
