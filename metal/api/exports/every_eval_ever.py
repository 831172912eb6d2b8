"""Records of Every Eval Ever (schema 0.3) with a sidecar, which `metal.read` reads back.

    data/COLLECTION/DEVELOPER/MODEL/UUID.json            results of a generator
    data/COLLECTION/DEVELOPER/MODEL/UUID_samples.jsonl   a line for each output and criterion
    raters/                                              the sidecar, a dataset folder

A record has one score and no rater: here the mean of people's scores. The sidecar has every rating
with its rater, and everything else that a record cannot hold; the texts of recorded outputs are in
the records only.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from metal.api.exports import Exported, Target, json_text
from metal.data.dataset import Dataset, write_dataset
from metal.data.formats.harnesses.every_eval_ever import (
    CRITERION,
    NAME,
    OF_PEOPLE,
    OUTPUT,
    SAMPLES,
    VERSION,
)
from metal.data.holdings import RECORDS, SIDECAR
from metal.data.progress import Progress, followed
from metal.data.records import Criterion
from metal.data.text import first_few, plural
from metal.errors import UsageError
from metal.version import __version__

UNKNOWN = "unknown"  # the developer of a generator whose name has no /
ALL = "An output can be a record if a person scored it and no person wrote it."
# Names that no file or folder can have somewhere, or that mean something else there.
RESERVED = {"data", "con", "prn", "aux", "nul"}
RESERVED |= {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
MOST = 80  # characters of a folder's name
_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
Mean = Mapping[str, Any]  # output, criterion, score, raters


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write the records and the sidecar. Raises UsageError if no output can have a record."""
    dataset = exported.dataset
    means = _means(dataset)
    recorded = dict.fromkeys(means["output"])
    if not recorded:
        raise UsageError(
            f"{dataset.card.name}: no output can be a record of {NAME}. The one score of a"
            f" record is the mean of people's scores. {ALL}"
        )
    by_generator: dict[str, list[Mean]] = {}
    for row in means.to_dict("records"):
        mean = {str(column): value for column, value in row.items()}
        by_generator.setdefault(dataset.outputs[mean["output"]].generator, []).append(mean)
    models = _models(by_generator)
    for generator, rows in followed(by_generator.items(), progress, len(by_generator)):
        _Log(dataset, generator, models[generator]).write(path, rows)
    sidecar = path / SIDECAR
    sidecar.mkdir()
    write_dataset(_without_texts(dataset, recorded), sidecar)
    return list(_notes(dataset, recorded, models))


def _means(dataset: Dataset) -> pd.DataFrame:
    """The mean of people's scores for each output and criterion, with the number of scores. Pairs,
    probes and texts by people are left out, because a record cannot hold them.
    """
    scored = [
        name
        for name, criterion in dataset.asked.items()
        if criterion.scale.ends is not None or not criterion.scale.levels
    ]
    described: Mapping[str, Any] = dataset.extra.get("generators", {})
    people = {name for name, facts in described.items() if facts.get("kind") == "human"}
    singles = (o for o in dataset.outputs.values() if not (o.is_pair or o.condition))
    single = [output.output for output in singles if output.generator not in people]
    rows = dataset.ratings
    rows = rows[(rows["kind"] == "human") & rows["score"].notna()]
    rows = rows[rows["criterion"].isin(scored) & rows["output"].isin(single)]
    by_item = rows.groupby(["output", "criterion"], observed=True, sort=False)["score"]
    means = by_item.agg(["mean", "size"]).reset_index()
    means.columns = pd.Index(["output", "criterion", "score", "raters"])
    position = {name: number for number, name in enumerate(dataset.outputs)}
    means["output"] = means["output"].astype(str)
    means["criterion"] = means["criterion"].astype(str)
    means = means.sort_values("output", key=lambda names: names.map(position), kind="stable")
    return means.reset_index(drop=True)


def _models(generators: Iterable[str]) -> dict[str, str]:
    """A model id for each generator, as EEE spells it: DEVELOPER/MODEL, each the name of a
    folder.
    """
    models: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for name in generators:
        developer, _, model = name.rpartition("/")
        identity = f"{_folder(developer or UNKNOWN)}/{_folder(model)}"
        taken[identity.casefold()] += 1
        times = taken[identity.casefold()]
        models[name] = f"{identity}-{times}" if times > 1 else identity
    return models


def _folder(name: str) -> str:
    """A name that can be a folder's name on any system."""
    named = _NO_NAME.sub("_", name)[:MOST].strip(". ") or "_"
    return f"{named}_" if named.partition(".")[0].lower() in RESERVED else named


@dataclass(frozen=True)
class _Log:
    """The records of one generator. model: its id in Every Eval Ever."""

    dataset: Dataset
    generator: str
    model: str

    @cached_property
    def collection(self) -> str:
        """The folder of the dataset."""
        return _folder(self.dataset.card.name)

    @cached_property
    def evaluation(self) -> str:
        """The id of the evaluation, which depends on the data only."""
        return f"{self.collection}/{self.model}/{self.dataset.digest}"

    @cached_property
    def file(self) -> str:
        """The name of the files. It has the form of a random UUID, but equal data give the same
        name.
        """
        digest = hashlib.sha256(f"{self.generator}\0{self.evaluation}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def write(self, path: Path, means: list[Mean]) -> None:
        """Write the results and their samples."""
        folder = path / "data" / self.collection / self.model
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json_text(self._sample(mean)) + "\n" for mean in means]
        content = "".join(lines).encode()
        (folder / f"{self.file}{SAMPLES}").write_bytes(content)
        record = self._record(means) | {
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": f"data/{self.collection}/{self.model}/{self.file}{SAMPLES}",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(content).hexdigest(),
                "total_rows": len(lines),
            }
        }
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / f"{self.file}.json").write_text(f"{text}\n", encoding="utf-8")

    def _names(self, mean: Mean) -> tuple[str, str]:
        """The id of a result within the evaluation, and its name."""
        language = self.dataset.outputs[mean["output"]].language
        result = f"{mean['criterion']}/{language}"
        return result, f"{self.collection}.{result.replace('/', '.')}"

    def _sample(self, mean: Mean) -> dict[str, Any]:
        """The record of an output on a criterion."""
        output = self.dataset.outputs[mean["output"]]
        source = self.dataset.sources[output.source]
        asked = {"raw": source.text, "reference": list(source.references)}
        hashed = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        result, name = self._names(mean)
        criterion = self.dataset.criteria[mean["criterion"]]
        return {
            "schema_version": VERSION,
            "evaluation_id": self.evaluation,
            "model_id": self.model,
            "evaluation_name": name,
            "evaluation_result_id": result,
            "sample_id": source.source,
            "sample_hash": hashlib.sha256(hashed.encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": asked,
            "output": {"raw": [output.text] if output.text else []},
            "answer_attribution": [],  # people rated the output as it is
            "evaluation": {
                "score": float(mean["score"]),
                # in the better half of the scale; without ends there is none
                "is_correct": bool(criterion.share(float(mean["score"])) > 0.5),
            },
            "metadata": {
                "language": output.language,
                OUTPUT: output.output,
                "people": str(mean["raters"]),
            },
        }

    def _record(self, means: list[Mean]) -> dict[str, Any]:
        """The results of the generator: a mean for each criterion and language."""
        results: dict[str, list[Mean]] = {}
        for mean in means:
            results.setdefault(self._names(mean)[0], []).append(mean)
        card = self.dataset.card
        now = datetime.now(UTC).timestamp()
        return {
            "schema_version": VERSION,
            "evaluation_id": self.evaluation,
            "retrieved_timestamp": f"{now:.3f}",
            "source_metadata": {
                "source_name": card.title or card.name,
                "source_type": "evaluation_run",
                "source_organization_name": card.citation or card.title or card.name,
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "metal-eval", "version": __version__},
            "model_info": {
                "name": self.generator,
                "id": self.model,
                "additional_details": {
                    "deployment_type": UNKNOWN,
                    "model_availability": UNKNOWN,
                },
            },
            "evaluation_results": [self._result(result, of) for result, of in results.items()],
        }

    def _result(self, result: str, means: list[Mean]) -> dict[str, Any]:
        criterion = self.dataset.criteria[means[0]["criterion"]]
        scores = [float(mean["score"]) for mean in means]
        return {
            "evaluation_result_id": result,
            "evaluation_name": self._names(means[0])[1],
            "source_data": {"dataset_name": self.dataset.card.name, "source_type": "other"},
            "metric_config": _metric(criterion, f"{self.collection}.{criterion.name}"),
            "score_details": {
                "score": sum(scores) / len(scores),
                "uncertainty": {"num_samples": len(scores)},
            },
        }


def _metric(criterion: Criterion, name: str) -> dict[str, Any]:
    """A criterion as the configuration of a metric. A scale may have no ends; EEE then writes
    "Infinity", as JSON has no such number.
    """
    low, high = criterion.scale.ends or ("-Infinity", "Infinity")
    return {
        "evaluation_description": criterion.wording or criterion.title,
        "metric_id": name,
        "metric_name": criterion.title,
        "metric_kind": "human_rating",
        "lower_is_better": criterion.direction == "lower",
        "score_type": "continuous",  # a mean of levels is between them
        "min_score": low,
        "max_score": high,
        "additional_details": {
            CRITERION: criterion.name,
            OF_PEOPLE: "the mean of people's scores",
            "scale": criterion.scale.describe(),
        },
    }


def _without_texts(dataset: Dataset, recorded: Mapping[str, Any]) -> Dataset:
    """The dataset without the texts that the records have."""
    sources, outputs = dict(dataset.sources), dict(dataset.outputs)
    for name in recorded:
        outputs[name] = replace(outputs[name], text="")
        source = sources[outputs[name].source]
        sources[source.source] = replace(source, text="", references=())
    table = {RECORDS: {"schema": VERSION, "outputs": len(recorded)}}
    return replace(dataset, sources=sources, outputs=outputs, extra={**dataset.extra, **table})


def _notes(
    dataset: Dataset, recorded: Mapping[str, Any], models: Mapping[str, str]
) -> Iterator[str]:
    """What only the sidecar has, and what to do before the records are published."""
    if left := len(dataset.outputs) - len(recorded):
        yield f"{plural(left, 'output')} only in the sidecar, because a record has one score. {ALL}"
    if flat := [name for name, model in models.items() if model.startswith(f"{UNKNOWN}/")]:
        yield (
            f"{plural(len(flat), 'generator')} in {UNKNOWN}/, because {NAME} names"
            f" models DEVELOPER/MODEL: {first_few(flat, 3)}"
        )


TARGET = Target(f"records of {NAME} with a sidecar of raters", write, folder=True)
