"""Every Eval Ever (schema 0.3): a record of a model's results, and a record for each sample.

data/COLLECTION/DEVELOPER/MODEL/UUID.json            results of a model, with their metrics
data/COLLECTION/DEVELOPER/MODEL/UUID_samples.jsonl   a line for each sample and result
raters/                                              METAL's sidecar: who rated, and how

A record has one score for a sample, and no rater. Read without a sidecar, the rater is the metric,
or the judges that the metric's configuration names. The sidecar, a folder beside `data`, is

- a dataset folder, as `metal export --to every-eval-ever` writes it: everything but the texts that
  the records have (`metal_output` in a record's metadata is the output's id); or
- raters.jsonl and ratings.jsonl (or .csv, .parquet) alone: ratings that are added to the records.
  Outputs are called SAMPLE_ID/MODEL_ID there; dataset.toml has criteria that the records lack.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metal.data.dataset import Dataset, load_dataset, with_parts, with_ratings
from metal.data.dataset_lines import read_criteria
from metal.data.files import read_json, read_jsonl, read_toml
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.values import (
    as_text,
    is_number,
    language_in,
    mapping,
    objects,
    prefixed,
)
from metal.data.holdings import RECORDS, SIDECAR
from metal.data.ratings import facts_in
from metal.data.records import Source
from metal.data.tables.first_names import content_ending
from metal.data.tables.harnesses import marks_of
from metal.data.text import first_few, plural
from metal.errors import DataError, UsageError

NAME = "Every Eval Ever"
VERSION = "0.3.0"  # of the schema
SAMPLES = "_samples.jsonl"
OUTPUT = "metal_output"  # in a record's metadata: the output's id
CRITERION, OF_PEOPLE = "metal_criterion", "metal_people"  # in the details of a metric
PEOPLE = "people"  # the rater whose scores are the means of people
UNKNOWN_LEVEL = -1.0
MOST = 1e300  # of an end of a scale; beyond it there is none
# Options of a table that mean nothing where a sidecar says everything.
_OF_TABLES = (
    *("columns", "levels", "measures", "ranges", "shifts", "directions"),
    *("language", "kinds", "groups", "missing"),
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a folder of records, the results of a model, or a file of samples."""
    files = list(_samples_in(path))
    sidecar = path / SIDECAR
    if (sidecar / "outputs.jsonl").is_file():
        asked = [name for name in _OF_TABLES if options.get(name)]
        if asked:
            raise UsageError(
                f"`{asked[0]}` is only for records without a sidecar; leave it out, because "
                f"{sidecar} has this already"
            )
        return _with_texts(load_dataset(sidecar), files, sidecar)
    draft = _Records(path).draft(files, options)
    if (sidecar / "raters.jsonl").is_file():
        return _with_ratings(draft, sidecar)
    return draft


def _samples_in(path: Path) -> Iterator[Path]:
    """The files of samples. Raises DataError if there are none."""
    if path.is_file():
        samples = [
            path if content_ending(path) == ".jsonl" else path.with_name(path.stem + SAMPLES)
        ]
    else:
        inside = (file.relative_to(path).parts for file in path.rglob(f"*{SAMPLES}"))
        samples = [path.joinpath(*parts) for parts in sorted(inside) if parts[0] != SIDECAR]
    samples = [file for file in samples if file.is_file()]
    if not samples:
        remedy = f"Ratings are of single outputs: add the samples, UUID{SAMPLES}"
        raise DataError(path, f"records of {NAME} without samples", remedy)
    yield from samples


# ---------------------------------------------------------------- records without a sidecar


@dataclass(frozen=True)
class _Result:
    """Whose scores the samples of a result are, and on which criterion."""

    criterion: str
    rater: str
    kind: str
    unknown_level: bool = False


@dataclass
class _Records:
    """Records as they are read: {(evaluation, result): what it is}."""

    path: Path
    gathered: HarnessRows = field(default_factory=lambda: HarnessRows(NAME))
    results: dict[tuple[str, str], _Result] = field(default_factory=dict)
    times: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def draft(self, files: Sequence[Path], options: Mapping[str, Any]) -> Draft:
        """The draft of all samples."""
        for file in files:
            self._add_results(file)
        samples = [sample for file in files for _, sample in read_jsonl(file)]
        texts: dict[str, set[str]] = defaultdict(set)
        for sample in samples:
            texts[str(sample.get("sample_id"))].add(str(mapping(sample.get("input")).get("raw")))
        for sample in samples:
            alone = len(texts[str(sample.get("sample_id"))]) == 1
            self._add(sample, alone)
        draft = self.gathered.draft(options, self.path)
        raters = (
            replace(rater, about={**rater.about, "panel": True}) if rater.rater == PEOPLE else rater
            for rater in draft.raters
        )
        return replace(draft, raters=tuple(raters))

    def _add_results(self, file: Path) -> None:
        """Note what the results of a model are, if they lie beside its samples."""
        beside = file.with_name(f"{file.name.removesuffix(SAMPLES)}.json")
        if not beside.is_file():
            return
        record = mapping(read_json(beside, f"a record of {NAME}"))
        results = objects(record.get("evaluation_results"))
        names = Counter(str(result.get("evaluation_name")) for result in results)
        for result in results:
            name = str(result.get("evaluation_name"))
            metric = mapping(result.get("metric_config"))
            called = str(metric.get("metric_name") or metric.get("metric_id") or "")
            details = mapping(metric.get("additional_details"))
            criterion = name if names[name] == 1 or not called else f"{name}/{called}"
            criterion = str(details.get(CRITERION) or criterion)
            unknown = metric.get("score_type") == "levels" and bool(metric.get("has_unknown_level"))
            what = _Result(criterion, *_rater(metric, details, called or name), unknown)
            evaluation = str(record.get("evaluation_id"))
            for key in (result.get("evaluation_result_id"), name):
                self.results.setdefault((evaluation, str(key)), what)
            self._say_scale(criterion, metric)

    def _say_scale(self, criterion: str, metric: Mapping[str, Any]) -> None:
        """Declare the scale that a metric's configuration describes."""
        if isinstance(lower := metric.get("lower_is_better"), bool):
            direction = "lower" if lower else "higher"
            self.gathered.say_scale(criterion, directions=direction)
        if metric.get("score_type") == "binary":
            self.gathered.say_scale(criterion, levels="0<1")
            return
        ends = [metric.get("min_score"), metric.get("max_score")]
        finite = [end for end in ends if isinstance(end, int | float) and abs(end) < MOST]
        if len(finite) == 2 and finite[0] < finite[1]:
            self.gathered.say_scale(criterion, ranges=finite)

    def _add(self, sample: Mapping[str, Any], alone: bool) -> None:
        """Add the score of a sample. alone: whether all samples of its id have one input."""
        evaluation = str(sample.get("evaluation_id"))
        name = str(sample.get("evaluation_name") or NAME)
        keys = [(evaluation, str(sample.get("evaluation_result_id"))), (evaluation, name)]
        result = next((self.results[key] for key in keys if key in self.results), None)
        extracted = objects(sample.get("answer_attribution"))
        methods = [each.get("extraction_method") for each in extracted]  # which name the metric
        result = result or _Result(name, str(next(filter(None, methods), name)), "metric")
        identity = str(sample.get("sample_id"))
        source = identity if alone else f"{name}/{identity}"
        output = f"{source}/{sample.get('model_id')}"
        self.times[output, result.criterion, result.rater] += 1
        if (time := self.times[output, result.criterion, result.rater]) > 1:
            output += f"#{time}"
        metadata = mapping(sample.get("metadata"))
        asked = mapping(sample.get("input"))
        score, reason = _score(sample, result)
        references = asked.get("reference")
        self.gathered.add(
            prefixed("metadata", metadata),
            rater=result.rater,
            kind=result.kind,
            criterion=result.criterion,
            score=score,
            reason=reason,
            output=metadata.get(OUTPUT) or output,
            source=source,
            generator=sample.get("model_id"),
            language=language_in(metadata),
            source_text=asked.get("raw"),
            reference=references[0] if isinstance(references, list) and references else None,
            text=_text(sample),
        )


def _rater(metric: Mapping[str, Any], details: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Whose scores those of a metric are, and the kind of this rater: the judges, if there are
    any.
    """
    if details.get(OF_PEOPLE):
        return PEOPLE, "human"
    configured = objects(mapping(metric.get("llm_scoring")).get("judges"))
    models = [mapping(judge.get("model_info")) for judge in configured]
    judges = [str(model.get("id") or model.get("name")) for model in models]
    return (" + ".join(judges), "llm") if judges else (name, "metric")


def _score(sample: Mapping[str, Any], result: _Result) -> tuple[Any, str]:
    """The score of a sample, or None and the reason why there is none."""
    score = mapping(sample.get("evaluation")).get("score")
    if error := as_text(sample.get("error")):
        return None, error[:200]
    if not is_number(score):
        return None, "no score"
    if result.unknown_level and score == UNKNOWN_LEVEL:
        return None, "unknown level"
    return score, ""


def _text(sample: Mapping[str, Any]) -> str | None:
    """What the model wrote: its answers, or its turns of a conversation."""
    answers = mapping(sample.get("output")).get("raw")
    if not isinstance(answers, list):
        turns = objects(sample.get("messages"))
        answers = [turn.get("content") for turn in turns if turn.get("role") == "assistant"]
    texts = [answer for answer in answers if isinstance(answer, str)]
    return "\n\n".join(texts) or None


# ---------------------------------------------------------------- the sidecar


def _with_ratings(draft: Draft, sidecar: Path) -> Draft:
    """The records with the ratings of a sidecar added."""
    dataset = draft.assemble(sidecar)
    card = sidecar / "dataset.toml"
    described = mapping(read_toml(card).get("criteria")) if card.is_file() else {}
    criteria = {**read_criteria(described, card), **dataset.criteria}
    dataset = with_parts(dataset, criteria=criteria.values())
    rated = with_ratings(dataset, sidecar)
    added = len(rated.ratings) - len(dataset.ratings)
    raters = len(rated.raters) - len(dataset.raters)
    note = f"{plural(added, 'rating')} by {plural(raters, 'rater')} of the sidecar added"
    return _draft_of(rated, (*draft.notes, note))


def _with_texts(dataset: Dataset, files: Sequence[Path], sidecar: Path) -> Draft:
    """The dataset of a sidecar with the texts of the records."""
    outputs, sources = dict(dataset.outputs), dict(dataset.sources)
    unknown: list[str] = []
    filled: set[str] = set()
    for file in files:
        for row, sample in read_jsonl(file):
            name = str(mapping(sample.get("metadata")).get(OUTPUT))
            if name not in outputs:
                unknown.append(f"{file.name} row {row + 1}")
                continue
            filled.add(name)
            outputs[name] = replace(outputs[name], text=_text(sample) or "")
            source = outputs[name].source
            sources[source] = _filled_source(sources[source], mapping(sample.get("input")))
    notes = []
    if unknown:
        notes.append(
            f"{plural(len(unknown), 'record')} left out, because the sidecar lacks their outputs:"
            f" {first_few(unknown, 3)}"
        )
    extra = dict(dataset.extra)
    missing = _recorded(extra.pop(RECORDS, {}), sidecar) - len(filled)
    if missing > 0:
        notes.append(
            f"{plural(missing, 'output')} without a text, because their records are missing"
        )
    return _draft_of(replace(dataset, outputs=outputs, sources=sources, extra=extra), notes)


def _recorded(table: object, sidecar: Path) -> int:
    """How many outputs have a record, according to the sidecar."""
    count = mapping(table).get("outputs", 0)
    if not isinstance(count, int):
        raise DataError(
            sidecar / "dataset.toml", f"{RECORDS}.outputs is {count!r}", "Export the records again"
        )
    return count


def _filled_source(source: Source, asked: Mapping[str, Any]) -> Source:
    """The source with the text and the references of a record."""
    text, references = asked.get("raw"), asked.get("reference")
    listed = references if isinstance(references, list) else []
    return replace(
        source,
        text=text if isinstance(text, str) else "",
        references=tuple(each for each in listed if isinstance(each, str)),
    )


def _draft_of(dataset: Dataset, notes: Sequence[str]) -> Draft:
    """A dataset as the draft of a reader."""
    return Draft(
        dataset.card,
        tuple(dataset.criteria.values()),
        tuple(dataset.sources.values()),
        tuple(dataset.outputs.values()),
        tuple(dataset.raters.values()),
        dataset.ratings.loc[:, facts_in(dataset.ratings)],
        tuple(notes),
        dataset.extra,
        generator_scores=dataset.generator_scores,
    )


_DEEP = ("data/*/*/*/", "*/*/*/", "*/*/")  # where records are, seen from the folders above
FORMAT = Format(
    "records of Every Eval Ever with their samples, and METAL's sidecar of raters",
    read,
    OPTIONS,
    (
        *((f"{folders}*{SAMPLES}", ('"answer_attribution"',)) for folders in (*_DEEP, "*/", "")),
        *((f"{folders}*.json", ('"evaluation_results"',)) for folders in _DEEP),
    ),
    marks_of("every-eval-ever"),
)
